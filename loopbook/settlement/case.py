"""One settle or close under way, and what is written of a verdict.

Theory. What may be said is decided here, on the state that the append is conditional on: whether it
was the last thing said, and whether the run may go on. A notice and the judgment that it rests on
are of one append. With each goes what came from outside (``Basis``), so that whoever has the entries
before it can decide it again (``again``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from loopbook.advisors import records
from loopbook.advisors.asking import Answer, Cost, Failure, Packet, cost_of, to_json
from loopbook.advisors.basis import Basis
from loopbook.advisors.records import By
from loopbook.advisors.shape import Advisor, AskPacket, Decision, PassOver, Policy, Say, Scene, Silence
from loopbook.entry import Draft
from loopbook.events import LoopClosed, Opinion
from loopbook.projections import BookState, units
from loopbook.projections.life import FACTS
from loopbook.projections.state import FOLD_VERSION
from loopbook.settlement import closing
from loopbook.settlement.steps import BOUND, FLOW_VERSION, Advice, Later, Traced


class Case:
    """One settle or close under way: the scene, and what has come of it so far.

    ``declared`` is the seq of the close that it is about, where it is about one alone.
    """

    def __init__(
        self,
        scene: Scene,
        max_continuations: int | None,
        advisors: Sequence[Advisor] = (),
        declared: int = 0,
    ) -> None:
        self.scene = scene
        self.advisors = tuple(advisors)
        self.turns = tuple(advisor for advisor in advisors if advisor.takes_turn)
        self.declared = declared
        self.others: bool | None = None
        self.run = scene.run.run if scene.run else None
        self.max_continuations = max_continuations
        self.idle = True
        self.taken = False
        self.advice: Advice | None = None
        self.notes: list[Advice] = []
        self.concerns: tuple[str, ...] = ()
        self.standing = ""
        self.trace: list[Traced] = []
        self.later: list[Later] = []

    def awaits_others(self, advisor: Advisor, state: BookState) -> bool:
        """Whether somebody else has yet to be heard about the pending close; in a replay it is known."""
        if self.others is not None:
            return self.others
        others = [one for one in self.advisors if one.name != advisor.name]
        return closing.awaited(state, self.scene, others)

    def overtaken(self, state: BookState) -> str | None:
        """Why it is too late for this run: the session is busy, or another run has begun or come to rest.
        A close is judged inside its run."""
        if self.scene.run is None:
            return None
        if not self.idle:
            return "busy"
        last = state.runs.last
        return "newer-run" if state.runs.open or last is None or last.run != self.run else None

    def done(self, advisor: Advisor, state: BookState) -> bool:
        """Whether the book holds all that this advisor makes of this run.

        Not where a unit was judged in silence: whoever did may have died before the next one's turn.
        """
        if not any(one.run == self.run and advisor.name in one.gated for one in state.runs.settled):
            return False
        judged = self.judged(advisor, state)
        return not judged or None in judged or self.spoken(state, advisor)

    def judged(self, advisor: Advisor, state: BookState) -> set[str | None]:
        """The subjects that this advisor has judged for the run."""
        judged = [pair for one in state.runs.settled if one.run == self.run for pair in one.judged]
        return {unit for name, unit in judged if name == advisor.name}

    def spoken(self, state: BookState, *advisors: Advisor) -> bool:
        """Whether one of these has spoken for the run, about whatever."""
        spoke = {name for one in state.runs.settled if one.run == self.run for name in one.spoke}
        return any(advisor.name in spoke for advisor in advisors)

    def turn_taken(self, advisor: Advisor, state: BookState) -> bool:
        """Whether somebody had the one message of this run, in this process or another."""
        if self.run is None:  # whoever is asked about a close is heard
            return False
        return advisor.takes_turn and (self.taken or self.spoken(state, *self.turns))

    def over(self, state: BookState) -> bool:
        """Whether nothing can be decided any more: the loop was closed, or the close was decided, or
        declared anew."""
        return state.life.outcome is not None or (self.run is None and state.life.declared != self.declared)

    def note(
        self,
        advisor: Advisor,
        did: str,
        about: PassOver | Silence | Say | None = None,
        *,
        judged: bool = False,
    ) -> None:
        """One more line of the trace."""
        unit = about.unit if about else None
        reason, detail = (
            (None, None) if about is None or isinstance(about, Say) else (about.reason, about.detail)
        )
        self.trace.append(Traced(advisor.name, did, unit, reason, detail, judged))


class Plan(NamedTuple):
    """What is to be written, and what it says; ``bound`` stands beside it, ``judged`` before it."""

    drafts: tuple[Draft, ...]
    says: Say | Silence | PassOver
    wanted: Say | Silence | None = None
    bound: bool = False
    judged: bool = False
    goes_on: bool = False


class Asked(NamedTuple):
    """What was last asked, and what came of it; ``costs`` are of all answers there were, stale ones too,
    and ``packets`` the digests of all that was asked."""

    packet: Packet | None = None
    answer: Answer | Failure | None = None
    costs: tuple[Cost, ...] = ()
    packets: tuple[str, ...] = ()

    def then(self, packet: Packet, answer: Answer | Failure) -> Asked:
        """The same once one more was asked."""
        took = cost_of([answer]) if isinstance(answer, Answer) else answer.took  # what failed may have cost
        costs = self.costs if took is None else (*self.costs, took)
        return Asked(packet, answer, costs, (*self.packets, packet.digest))


def policy_of(advisor: Advisor) -> Policy:
    """What an advisor decides by, with the versions of the flow and the fold that it is part of."""
    policy = Policy(*advisor.policy())
    return policy._replace(versions={**policy.versions, "flow": FLOW_VERSION, "fold": str(FOLD_VERSION)})


def by_whom(case: Case, advisor: Advisor) -> By:
    """Who decides, about which run, and by what."""
    return By(advisor.name, case.run, policy_of(advisor))


def basis_of(case: Case, state: BookState, policy: Policy, asked: Asked) -> Basis:
    """What came from outside into a decision that rests on no judgment."""
    answer = asked.answer
    return Basis(
        versions=policy.versions,
        thresholds=policy.thresholds,
        settings=policy.settings,
        packets=asked.packets,
        at_close=asked.packet is not None and asked.packet.sort == "close",
        answers=to_json(answer) if isinstance(answer, Answer) else {},
        failure=answer.kind if isinstance(answer, Failure) else "",
        judge=case.scene.judge,
        idle=case.idle,
        declared=0 if case.declared == state.life.declared else case.declared,
    )


def plan_of(
    case: Case, advisor: Advisor, state: BookState, asked: Asked, verdict: Decision | PassOver | AskPacket
) -> Plan:
    """The entries of a verdict; judgment and what came of it are of one append."""
    by = by_whom(case, advisor)
    basis = basis_of(case, state, by.policy, asked)
    if isinstance(verdict, AskPacket):  # the state has moved under the answer once too often
        verdict = PassOver("stale", "moved", unit=verdict.packet.unit)
    if isinstance(verdict, PassOver):
        return Plan((records.passed_over(by, verdict, basis, asked.costs),), verdict)
    wanted, packet, answer = verdict.outcome, asked.packet, asked.answer
    others = bool(state.life.declared) and case.awaits_others(advisor, state)
    opinion = opinion_of(wanted)
    head: tuple[Draft, ...] = ()
    if verdict.judged and packet is not None and isinstance(answer, Answer):
        pending = opinion if others and packet.sort == "close" else None
        head = (judgment(case, by, asked, packet, answer, read_to=state.version, pending=pending),)
        basis = Basis()
    says, bound = held(case, advisor, state, wanted) if isinstance(wanted, Say) else Held(wanted)
    if isinstance(says, Silence) and opinion == "objects" and not head:
        says = says._replace(detail=FACTS)  # said before, and it decides the close all the same
    if isinstance(says, Say):
        basis = basis._replace(max_continuations=case.max_continuations)
        drafts = (*head, records.noticed(by, says, state.version + 1 if head else None, basis))
        if bound:
            drafts += (records.passed_over(by, Silence(BOUND, unit=says.unit), Basis()),)
    else:
        says = says if packet is None else says._replace(sort=packet.sort)
        drafts = (*head, records.passed_over(by, says, basis, () if head else asked.costs))
        of_close = opinion == "agrees" or (bool(head) and packet is not None and packet.sort == "close")
        if of_close and not others and closing.agreed(state, {advisor.name: opinion}):
            drafts += (Draft(LoopClosed(outcome="met")),)
    goes_on = isinstance(says, Silence) and bool(head)
    return Plan(drafts, says, wanted, bound, bool(head), goes_on)


def opinion_of(wanted: Say | Silence) -> Opinion:
    """What an advisor makes of a close, by what it would say."""
    if isinstance(wanted, Say):
        return "objects" if wanted.sort == "close" else "neither"
    return "agrees" if wanted.closes else "neither"


def judgment(
    case: Case,
    by: By,
    asked: Asked,
    packet: Packet,
    answer: Answer,
    *,
    read_to: int,
    pending: Opinion | None = None,
    observed: bool = False,
) -> Draft:
    """The answer to go by, as it is kept."""
    basis = Basis(
        settings=by.policy.settings,
        packets=asked.packets if len(asked.packets) > 1 else (),
        judge=case.scene.judge,
        observed=observed,
    )
    kept = records.Kept(asked.costs, read_to, pending)
    return records.judged(by, packet, answer, kept, basis)


class Held(NamedTuple):
    """What may be said; ``bound``: and it is the last, for as many runs were continued as may be."""

    says: Say | Silence
    bound: bool = False


def held(case: Case, advisor: Advisor, state: BookState, say: Say) -> Held:
    """What may be said of what an advisor would say."""
    before = units.heard(state, say.unit, advisor.name)
    last = before.close if say.sort == "close" else before.away
    if last is not None and last.key == say.key:
        return Held(Silence("duplicate", unit=say.unit))
    if say.sort == "close" or case.run is None or not advisor.takes_turn:
        return Held(say._replace(continues=False))
    if state.runs.bound:
        return Held(Silence(BOUND, unit=say.unit))
    if not say.continues:
        return Held(say)
    spent, most = state.runs.continuations, case.max_continuations
    if most is not None and spent >= most:
        return Held(say._replace(continues=False), bound=True)
    again = (say.key, say.trigger) in state.runs.continued
    return Held(say._replace(continues=not again))


def said(case: Case, advisor: Advisor, plan: Plan, before: int) -> None:
    """What the flow knows once a verdict stands in the book, after version ``before``."""
    says = plan.says
    if isinstance(plan.wanted, Say) and plan.wanted.sort == "close":
        case.concerns += plan.wanted.concerns
        case.standing = "\n".join(filter(None, (case.standing, plan.wanted.text)))
    if not isinstance(says, Say):
        case.note(advisor, "silent" if isinstance(says, Silence) else "passed over", says, judged=plan.judged)
        return
    seq = before + 1 + plan.judged
    advice = Advice(says.text, says.continues, advisor.name, seq, says.unit, says.concerns)
    if advisor.takes_turn:
        case.advice = case.advice or advice
    else:
        case.notes.append(advice)
    case.note(advisor, "spoke", says, judged=plan.judged)
    if plan.bound:
        case.note(advisor, "silent", Silence(BOUND, unit=says.unit))
