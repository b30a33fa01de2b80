"""A declared close: who has yet to be heard about it, and when it is one.

Theory. A close is pending from when it is declared until it is decided. Every advisor that has something
to ask about it takes a *stance*, in one settle or several, in any process; it stands while that advisor
would ask the same, so whoever agreed to other work is asked again. The judgment of the last one decides
the close: the loop ends where somebody agrees, nobody objects and nothing is missing, and else it stays
open until a close is declared again. Where the facts alone object nobody needs to be asked: that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loopbook.advisors.shape import Advisor, AskPacket, DecideNow, Say, Scene
from loopbook.events import Opinion
from loopbook.projections import BookState, position


def awaited(state: BookState, scene: Scene, advisors: Iterable[Advisor]) -> bool:
    """Whether any of these has yet to be heard about the pending close."""
    return any(_awaited(state, scene, one) for one in advisors)


def _awaited(state: BookState, scene: Scene, advisor: Advisor) -> bool:
    """Whatever this run is: one that has nothing to say about it may have something about the close."""
    asks: list[str] = []
    judge = scene.judge or scene.run is not None  # for one settle there may be none: the next one has it
    for gate in (advisor.gate(state, scene), advisor.gate(state, Scene(None, judge))):
        if isinstance(gate, DecideNow) and _objects(advisor, state):
            return True
        if isinstance(gate, AskPacket) and gate.packet.sort == "close":
            asks.append(gate.packet.digest)
    stance = state.life.stances.get(advisor.name)
    return bool(asks) and (stance is None or stance.packet not in asks)


def overtaken(state: BookState, scene: Scene, advisor: Advisor) -> bool:
    """Whether an advisor has a stance, and would ask something else by now."""
    stance = state.life.stances.get(advisor.name)
    return stance is not None and _awaited(state, scene, advisor)


def objects(state: BookState, scene: Scene, advisor: Advisor) -> bool:
    """Whether an advisor has something against the pending close on facts alone."""
    return isinstance(advisor.gate(state, scene), DecideNow) and _objects(advisor, state)


def _objects(advisor: Advisor, state: BookState) -> bool:
    said = advisor.decide(state, None, None).outcome
    return isinstance(said, Say) and said.sort == "close"


def heard(state: BookState, advisor: Advisor, gate: AskPacket) -> bool:
    """Whether an advisor has a stance on the pending close, and would ask the same."""
    stance = state.life.stances.get(advisor.name)
    return gate.packet.sort == "close" and stance is not None and stance.packet == gate.packet.digest


def agreed(state: BookState, also: Mapping[str, Opinion] | None = None) -> bool:
    """Whether the loop ends if nobody else is to be heard: by what stands, and what is made of it now."""
    stances = {by: one.opinion for by, one in state.life.stances.items()}
    said = {*{**stances, **(also or {})}.values()}
    agree = "agrees" in said and "objects" not in said
    return agree and bool(state.life.declared) and not position(state).missing
