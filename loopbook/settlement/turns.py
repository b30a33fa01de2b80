"""One advisor's turn: gate, ask, look again, write, and look again where the book has grown."""

from __future__ import annotations

from loopbook.advisors import records
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.shape import Advisor, AskPacket, DecideNow, Decision, Gate, PassOver, Silence
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.settlement.case import Asked, Case, plan_of, said
from loopbook.settlement.steps import ASKS, Append, Ask, Flow, Heard, Later, Written


def append(drafts: tuple[Draft, ...], state: BookState) -> Flow[Written]:
    written = yield Append(drafts, state.version)
    if not isinstance(written, Written):
        raise TypeError("an Append is answered with Written; send what came of it")
    return written


def heard_from(case: Case, advisor: Advisor, packet: Packet) -> Flow[Heard]:
    heard = yield Ask(advisor.name, packet)
    if not isinstance(heard, Heard):
        raise TypeError("an Ask is answered with Heard; send what was answered")
    case.idle = heard.idle
    return heard


def advise(case: Case, advisor: Advisor, state: BookState, *, put_off: bool = False) -> Flow[BookState]:
    """One advisor's turn: subject after subject until it has spoken or there is none left."""
    tried: set[str | None] = set()
    while True:
        if not tried and case.been(advisor, state):
            case.note(advisor, "done before")
            return state
        if case.run is None and case.over(state):
            return state
        gate = _gate(case, advisor, state)
        if isinstance(gate, PassOver):
            if tried or not gate.written or state.life.outcome is not None:
                if not tried:
                    case.note(advisor, "passed over", gate)
                return state
            state, taken = yield from append((records.passed_over(advisor, case.run, gate),), state)
            if taken:
                case.note(advisor, "passed over", gate)
                return state
            continue
        if isinstance(gate, AskPacket) and gate.deferred and not put_off:
            case.later.append(Later(advisor, case.scene))
            case.note(advisor, "put off")
            return state
        unit = gate.unit if isinstance(gate, DecideNow) else gate.packet.unit
        if unit in tried:
            return state
        state, goes_on = yield from _decide(case, advisor, state, gate, first=not tried)
        if not goes_on:
            return state
        tried.add(unit)


def _gate(case: Case, advisor: Advisor, state: BookState) -> Gate:
    """What the advisor's gate says, if it is still its turn."""
    gate = advisor.gate(state, case.scene)
    if isinstance(gate, PassOver):
        return gate
    unit = gate.unit if isinstance(gate, DecideNow) else gate.packet.unit
    if case.overtaken(state):
        return PassOver("stale", unit=unit)
    if advisor.takes_turn and case.advice is not None:
        return PassOver("turn-taken", unit=unit)
    return gate


def _decide(
    case: Case, advisor: Advisor, state: BookState, gate: AskPacket | DecideNow, *, first: bool
) -> Flow[tuple[BookState, bool]]:
    """Ask if there is something to ask, decide on the newest state, and write it down; whether the
    advisor may go on to its next subject."""
    packet: Packet | None = None
    answer: Answer | Failure | None = None
    asks = 0
    heard: list[Answer] = []
    verdict: Verdict = (
        gate if isinstance(gate, AskPacket) else _look(case, advisor, state, None, None, first=first)
    )
    while verdict is not None:
        if isinstance(verdict, AskPacket) and asks < ASKS:
            packet, asks = verdict.packet, asks + 1
            case.note(advisor, "asked", Silence("", unit=packet.unit))
            answer, state, _ = yield from heard_from(case, advisor, packet)
            heard += [answer] if isinstance(answer, Answer) else []
        else:
            plan = plan_of(case, advisor, state, Asked(packet, answer, heard), verdict)
            before = state.version
            state, taken = yield from append(plan.drafts, state)
            if taken:
                said(case, advisor, plan, before)
                if isinstance(gate, DecideNow) and gate.observe is not None:
                    case.later.append(Later(advisor, case.scene, gate.observe))
                return state, plan.goes_on
        verdict = _look(case, advisor, state, packet, answer, first=first)
    case.note(advisor, "done before")
    return state, False


#: What another look comes to: a decision, a silence, another packet, or nothing that is still open.
Verdict = Decision | PassOver | AskPacket | None


def _look(
    case: Case,
    advisor: Advisor,
    state: BookState,
    packet: Packet | None,
    answer: Answer | Failure | None,
    *,
    first: bool,
) -> Verdict:
    """Look again on the newest state. The same packet, and the answer holds."""
    if case.over(state) or (first and case.been(advisor, state)):
        return None
    unit = packet.unit if packet else None
    if case.overtaken(state):
        return PassOver("stale", unit=unit)
    if isinstance(answer, Failure):
        return advisor.decide(state, packet, answer)
    gate = advisor.gate(state, case.scene)
    match gate:
        case PassOver():
            return gate if gate.written else None
        case AskPacket() if packet is None or gate.packet.digest != packet.digest:
            return gate
        case DecideNow() if packet is not None:
            return PassOver("stale", unit=unit)
    return advisor.decide(state, packet, answer)


def observe(case: Case, advisor: Advisor, packet: Packet) -> Flow[None]:
    """Ask and keep the answer, while the advisor would still ask the same; nothing is said."""
    case.note(advisor, "asked", Silence("", unit=packet.unit))
    answer, state, _ = yield from heard_from(case, advisor, packet)
    while not state.life.outcome:
        gate = advisor.gate(state, case.scene)
        same = (
            isinstance(gate, DecideNow) and gate.observe is not None and gate.observe.digest == packet.digest
        )
        why = Silence("stale", unit=packet.unit)
        if isinstance(answer, Failure):
            why = Silence("judge-failed", answer.kind, packet.unit)
            draft = records.passed_over(advisor, case.run, why)
        elif same:
            draft = records.judged(advisor, case.run, packet, (answer,), state.version)
        else:
            draft = records.passed_over(advisor, case.run, why, (answer,))
        state, taken = yield from append((draft,), state)
        if taken:
            judged = same and isinstance(answer, Answer)
            case.note(advisor, "observed" if judged else "silent", None if judged else why, judged=judged)
            return
