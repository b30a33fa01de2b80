"""One settle or close under way, and what is written of a verdict.

Theory. What may be said is decided here, on the state that the append is conditional on: whether it
was the last thing said, and whether the run may go on. A notice and the judgment that it rests on
are of one append.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from loopbook.advisors import records
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.shape import Advisor, AskPacket, Decision, PassOver, Say, Scene, Silence
from loopbook.entry import Draft
from loopbook.events import LoopClosed
from loopbook.projections import BookState, units
from loopbook.projections.state import Heard as Before
from loopbook.settlement.steps import BOUND, Advice, Later, Traced


class Case:
    """One settle or close under way: the scene, and what has come of it so far."""

    def __init__(self, scene: Scene, max_continuations: int | None) -> None:
        self.scene = scene
        self.run = scene.run.run if scene.run else None
        self.max_continuations = max_continuations
        self.idle = True
        self.advice: Advice | None = None
        self.notes: list[Advice] = []
        self.concerns: tuple[str, ...] = ()
        self.standing = ""
        self.trace: list[Traced] = []
        self.later: list[Later] = []

    def overtaken(self, state: BookState) -> bool:
        """Whether another run has begun or come to rest, or the session is busy. A close is judged
        inside its run."""
        if self.scene.run is None:
            return False
        last = state.runs.last
        return not self.idle or state.runs.open > 0 or last is None or last.run != self.run

    def been(self, advisor: Advisor, state: BookState) -> bool:
        """Whether the book holds what this advisor made of this run."""
        return any(one.run == self.run and advisor.name in one.gated for one in state.runs.settled)

    def over(self, state: BookState) -> bool:
        """Whether nothing can be decided any more: the loop was closed, or somebody judged the close."""
        return state.life.outcome is not None or (self.run is None and not state.life.declared)

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
    """What is to be written, and what it says; ``judged`` counts the judgment before it."""

    drafts: tuple[Draft, ...]
    says: Say | Silence | PassOver
    wanted: Say | None = None
    beside: bool = False
    judged: bool = False
    goes_on: bool = False


class Asked(NamedTuple):
    """What was last asked, and what came of it; ``heard`` are all answers there were, stale ones too."""

    packet: Packet | None
    answer: Answer | Failure | None
    heard: Sequence[Answer] = ()


def plan_of(
    case: Case, advisor: Advisor, state: BookState, asked: Asked, verdict: Decision | PassOver | AskPacket
) -> Plan:
    """The entries of a verdict; judgment and what came of it are of one append."""
    if isinstance(verdict, AskPacket):  # the state has moved under the answer once too often
        verdict = PassOver("stale", unit=verdict.packet.unit)
    if isinstance(verdict, PassOver):
        return Plan((records.passed_over(advisor, case.run, verdict, asked.heard),), verdict)
    head: tuple[Draft, ...] = ()
    if verdict.judged and asked.packet is not None and isinstance(asked.answer, Answer):
        head = (records.judged(advisor, case.run, asked.packet, asked.heard, state.version),)
    wanted = verdict.outcome
    says, beside = held(case, advisor, state, wanted) if isinstance(wanted, Say) else (wanted, False)
    if isinstance(says, Say):
        drafts = (*head, records.noticed(advisor, case.run, says, state.version + 1 if head else None))
        if beside:
            drafts += (records.passed_over(advisor, case.run, Silence(BOUND, unit=says.unit)),)
    else:
        drafts = (*head, records.passed_over(advisor, case.run, says, () if head else asked.heard))
        if says.closes:
            drafts += (Draft(LoopClosed(outcome="met")),)
    goes_on = isinstance(says, Silence) and bool(head) and says.unit is not None
    return Plan(drafts, says, wanted if isinstance(wanted, Say) else None, beside, bool(head), goes_on)


def held(case: Case, advisor: Advisor, state: BookState, say: Say) -> tuple[Say | Silence, bool]:
    """What may be said of what an advisor would say, and whether the bound stands beside it."""
    unit = units.subject_of(state, say.unit)
    about = state.loop if unit is None else state.units[unit].about
    before = about.heard.get(advisor.name, Before())
    last = before.close if say.sort == "close" else before.away
    if last is not None and last.key == say.key:
        return Silence("duplicate", unit=say.unit, sort=say.sort), False
    if say.sort == "close" or not advisor.takes_turn:
        return say._replace(continues=False), False
    if state.runs.bound:
        return Silence(BOUND, unit=say.unit), False
    if not say.continues:
        return say, False
    spent, most = state.runs.continuations, case.max_continuations
    if most is not None and spent >= most:
        return say._replace(continues=False), True
    again = (say.key, say.trigger) in state.runs.continued
    return say._replace(continues=not again), False


def said(case: Case, advisor: Advisor, plan: Plan, before: int) -> None:
    """What the flow knows once a verdict stands in the book, after version ``before``."""
    says = plan.says
    if plan.wanted is not None and plan.wanted.sort == "close":
        case.concerns, case.standing = plan.wanted.concerns, plan.wanted.text
    if not isinstance(says, Say):
        case.note(advisor, "silent" if isinstance(says, Silence) else "passed over", says, judged=plan.judged)
        return
    seq = before + 1 + plan.judged
    advice = Advice(says.text, says.continues, advisor.name, seq, says.unit, says.concerns)
    if advisor.takes_turn:
        case.advice = advice
    else:
        case.notes.append(advice)
    case.note(advisor, "spoke", says, judged=plan.judged)
    if plan.beside:
        case.note(advisor, "silent", Silence(BOUND, unit=says.unit))
