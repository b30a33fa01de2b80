"""One advisor's turn: gate, ask, look again, write, and look again where the book has grown."""

from __future__ import annotations

from loopbook.advisors import records
from loopbook.advisors.asking import Failure, Packet
from loopbook.advisors.shape import Advisor, AskPacket, DecideNow, Decision, Gate, PassOver, Silence
from loopbook.entry import Draft, Entry
from loopbook.projections import BookState
from loopbook.settlement import closing
from loopbook.settlement.case import Asked, Case, basis_of, by_whom, judgment, plan_of, said
from loopbook.settlement.steps import ASKS, BOUND, DECIDED, Append, Ask, Flow, Heard, Later, Read, Written


def append(drafts: tuple[Draft, ...], state: BookState) -> Flow[Written]:
    written = yield Append(drafts, state.version)
    if not isinstance(written, Written):
        raise TypeError("an Append is answered with Written; send what came of it")
    return written


def read(seq: int) -> Flow[Entry]:
    entry = yield Read(seq)
    if not isinstance(entry, Entry):
        raise TypeError("a Read is answered with an Entry; send the one at that seq")
    return entry


def heard_from(case: Case, advisor: Advisor, packet: Packet) -> Flow[Heard]:
    heard = yield Ask(advisor.name, packet)
    if not isinstance(heard, Heard):
        raise TypeError("an Ask is answered with Heard; send what was answered")
    case.idle = heard.idle
    return heard


def advise(case: Case, advisor: Advisor, state: BookState, *, put_off: bool = False) -> Flow[BookState]:
    """One advisor's turn: subject after subject until it has spoken or there is none left."""
    tried = {(unit, False) for unit in case.judged(advisor, state)}
    first = True
    while True:
        if first and case.done(advisor, state):
            case.note(advisor, "done before")
            return state
        if case.run is None and case.over(state):
            return state  # somebody else has decided it
        gate = gated(case, advisor, state)
        if isinstance(gate, PassOver):
            if tried or not gate.written or state.life.outcome is not None:
                if first:
                    case.note(advisor, *(("done before",) if tried else ("passed over", gate)))
                return state
            plan = plan_of(case, advisor, state, Asked(), gate)
            state, taken = yield from append(plan.drafts, state)
            if taken:
                case.note(advisor, "passed over", gate)
                return state
            continue
        if isinstance(gate, AskPacket) and closing.heard(state, advisor, gate):
            _done_before(case, advisor, first=first)
            return state
        if isinstance(gate, AskPacket) and gate.deferred and not put_off:
            case.later.append(Later(advisor, case.scene, None, case.advisors, case.declared))
            case.note(advisor, "put off")
            return state
        subject = _subject(gate)
        if subject in tried:
            return state
        state, goes_on = yield from _decide(case, advisor, state, gate, first=first)
        if not goes_on:
            return state
        tried, first = {*tried, subject}, False


def _done_before(case: Case, advisor: Advisor, *, first: bool) -> None:
    if first:  # else the trace says already what it has done
        case.note(advisor, "done before")


def _subject(gate: AskPacket | DecideNow) -> tuple[str | None, bool]:
    """Whom a decision is about, and whether it is about a close."""
    if isinstance(gate, DecideNow):
        return gate.unit, False
    return gate.packet.unit, gate.packet.sort == "close"


def gated(case: Case, advisor: Advisor, state: BookState) -> Gate:
    """What the advisor's gate says, if it is still its turn."""
    gate = advisor.gate(state, case.scene)
    if isinstance(gate, PassOver):
        return gate
    unit = gate.unit if isinstance(gate, DecideNow) else gate.packet.unit
    if late := case.overtaken(state):
        return PassOver("stale", late, unit)
    if case.turn_taken(advisor, state):
        return PassOver("turn-taken", unit=unit)
    if state.runs.bound and isinstance(gate, AskPacket) and advisor.takes_turn and gate.packet.sort == "away":
        return PassOver(BOUND, unit=unit)  # nothing may be said of the answer, and it would have been read
    return gate


def _decide(
    case: Case, advisor: Advisor, state: BookState, gate: AskPacket | DecideNow, *, first: bool
) -> Flow[tuple[BookState, bool]]:
    """Ask if there is something to ask, decide on the newest state, and write it down; whether the
    advisor may go on to its next subject."""
    asked = Asked()
    while (verdict := look(case, advisor, state, asked, first=first)) is not None:
        if isinstance(verdict, AskPacket) and len(asked.packets) < ASKS:
            case.note(advisor, "asked", Silence("", unit=verdict.packet.unit))
            answer, state, _ = yield from heard_from(case, advisor, verdict.packet)
            asked = asked.then(verdict.packet, answer)
            continue
        plan = plan_of(case, advisor, state, asked, verdict)
        before = state.version
        state, taken = yield from append(plan.drafts, state)
        if taken:
            said(case, advisor, plan, before)
            if isinstance(gate, DecideNow) and gate.observe is not None:
                case.later.append(Later(advisor, case.scene, gate.observe))
            return state, plan.goes_on
    case.note(advisor, "done before")
    return state, False


#: What another look comes to: a decision, a silence, another packet, or nothing that is still open.
Verdict = Decision | PassOver | AskPacket | None


def look(case: Case, advisor: Advisor, state: BookState, asked: Asked, *, first: bool) -> Verdict:
    """Look on the newest state, again where something was asked. The same packet, and the answer holds."""
    packet, answer = asked.packet, asked.answer
    if case.over(state) or (case.done(advisor, state) if first else case.spoken(state, advisor)):
        return beaten(state, asked)
    if packet is not None and packet.sort == "away" and packet.unit in case.judged(advisor, state):
        return beaten(state, asked)  # another session was silent about it, for this run
    if packet is None:
        gate = gated(case, advisor, state)
    elif late := case.overtaken(state):
        return PassOver("stale", late, packet.unit)
    elif case.turn_taken(advisor, state):
        return PassOver("turn-taken", unit=packet.unit)
    elif isinstance(answer, Failure):
        return advisor.decide(state, Packet({}, {}, packet.unit, packet.sort), answer)
    else:
        gate = advisor.gate(state, case.scene)
    match gate:
        case PassOver() if gate.written or packet is None:
            return gate if gate.written else None
        case AskPacket() if closing.heard(state, advisor, gate):
            return beaten(state, asked)
        case AskPacket() if packet is None or gate.packet.digest != packet.digest:
            return gate
        case PassOver() | DecideNow() if packet is not None:
            return PassOver("stale", "moved", packet.unit)
    return advisor.decide(state, packet, answer)


def beaten(state: BookState, asked: Asked) -> PassOver | None:
    """Somebody else has decided it. Who asked all the same says so, where the book takes it: it has cost."""
    if asked.packet is None or state.life.outcome is not None:
        return None
    return PassOver("stale", DECIDED, asked.packet.unit)


def observe(case: Case, advisor: Advisor, state: BookState, packet: Packet) -> Flow[None]:
    """Ask and keep the answer, while the advisor would still ask the same; nothing is said."""
    if packet.unit in case.judged(advisor, state):
        case.note(advisor, "done before")
        return
    case.note(advisor, "asked", Silence("", unit=packet.unit))
    answer, state, _ = yield from heard_from(case, advisor, packet)
    while not state.life.outcome:
        draft, why = observed(case, advisor, state, Asked().then(packet, answer))
        state, taken = yield from append((draft,), state)
        if taken:
            case.note(advisor, "silent" if why else "observed", why, judged=why is None)
            return


def observed(case: Case, advisor: Advisor, state: BookState, asked: Asked) -> tuple[Draft, Silence | None]:
    """What is kept of an answer that only observes, and why it is no judgment."""
    packet, answer = asked.packet, asked.answer
    assert packet is not None
    assert answer is not None
    by, gate = by_whom(case, advisor), advisor.gate(state, case.scene)
    if isinstance(answer, Failure):
        why = Silence("judge-failed", answer.kind, packet.unit)
    elif packet.unit in case.judged(advisor, state):
        why = Silence("stale", DECIDED, packet.unit)
    elif isinstance(gate, DecideNow) and gate.observe is not None and gate.observe.digest == packet.digest:
        kept = judgment(case, by, asked, packet, answer, read_to=state.version, observed=True)
        return kept, None
    else:
        why = Silence("stale", "moved", packet.unit)
    basis = basis_of(case, state, by.policy, asked)._replace(observed=True)
    return records.passed_over(by, why, basis, asked.costs), why
