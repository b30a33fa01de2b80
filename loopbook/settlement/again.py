"""Deciding again: what the flow would write on a state, given what had come from outside.

Theory. Nothing is decided here. The look and the plan are the flow's own (``turns``, ``case``); only who
is asked is not: what was asked and answered then is handed to them. So a rule that changes, changes here
too, and a book that was written by another one shows it.
"""

from __future__ import annotations

from typing import NamedTuple

from loopbook.advisors.asking import Answer, Cost, Failure, Packet, Sort
from loopbook.advisors.basis import Basis
from loopbook.advisors.shape import Advisor, AskPacket, DecideNow, Scene
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.settlement.case import Asked, Case, plan_of
from loopbook.settlement.steps import ASKS
from loopbook.settlement.turns import look, observed


class Then(NamedTuple):
    """What there was beside the state: the scene, what came from outside, and the answer.

    ``unit`` is whom it was decided about; ``taken``: another advisor had spoken for the run; ``others``
    had yet to be heard about the close.
    """

    scene: Scene
    basis: Basis
    answer: Answer | Failure | None = None
    unit: str | None = None
    taken: bool = False
    others: bool = False


def again(state: BookState, advisor: Advisor, then: Then) -> tuple[Draft, ...] | Packet:
    """What is written on ``state``: nothing where nothing was open to decide, the packet where the judge
    would be asked (again) instead."""
    declared = then.basis.declared or state.life.declared
    case = Case(then.scene, then.basis.max_continuations, declared=declared)
    case.others, case.idle = then.others, then.basis.idle
    case.taken = then.taken
    asked = _asked(state, advisor, then)
    if then.basis.observed:
        return (observed(case, advisor, state, asked)[0],) if asked.packet else ()
    verdict = look(case, advisor, state, asked, first=True)
    if verdict is None:
        return ()
    if isinstance(verdict, AskPacket) and len(asked.packets) < ASKS:
        return verdict.packet
    return plan_of(case, advisor, state, asked, verdict).drafts


def _asked(state: BookState, advisor: Advisor, then: Then) -> Asked:
    """What had been asked. A book holds the digest of a packet: it is the gate's packet on this state, or
    another one that no state has any more, for which an empty one stands."""
    if not then.basis.packets or then.answer is None:
        return Asked()
    digest = then.basis.packets[-1]
    gate = advisor.gate(state, then.scene)
    now = (
        gate.packet if isinstance(gate, AskPacket) else gate.observe if isinstance(gate, DecideNow) else None
    )
    sort: Sort = "close" if then.basis.at_close else "away"
    packet = now if now is not None and now.digest == digest else Packet({}, {}, then.unit, sort)
    return Asked(packet, then.answer, (Cost(),), then.basis.packets)
