"""The shape of an advisor.

Theory. An advisor is two pure functions of a book's state. ``gate`` says whether there is anything
to decide about a run: *pass over*, with a reason; *decide now*, on facts; or *ask* this packet.
``decide`` says what comes of the answer, of a failure, or of no question at all: something to say,
or a silence with its reason. What is the same for all of them (whose turn it is, that nothing is
said twice, how many runs are continued) is not theirs; it is the flow's (``loopbook.settlement``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from loopbook.advisors.asking import Answer, Failure, Packet, Sort
from loopbook.events import RunSettled
from loopbook.projections import BookState


class Scene(NamedTuple):
    """What a gate is told beside the state: the settled run (``None``: a close was declared, inside
    its run), and whether there is a judge to ask."""

    run: RunSettled | None
    judge: bool = True


class PassOver(NamedTuple):
    """Nothing to decide, and why. One that is not ``written`` leaves no trace in the book."""

    reason: str
    detail: str | None = None
    unit: str | None = None
    written: bool = True


class DecideNow(NamedTuple):
    """Facts are enough. ``observe`` is a packet to ask once the advice has gone, only to know."""

    unit: str | None = None
    observe: Packet | None = None


class AskPacket(NamedTuple):
    """Ask this. ``deferred``: it may take longer than a settle lasts, so it is delivered later."""

    packet: Packet
    deferred: bool = False


Gate = PassOver | DecideNow | AskPacket


class Say(NamedTuple):
    """Something to say about ``unit`` (``None``: the loop).

    ``key`` is what must not be said twice in a row, ``trigger`` the seq of the last evidence or
    newest loose todo that it answers. ``concerns``, ``todos`` and ``units`` are the ids it names.
    """

    text: str
    key: str
    trigger: int
    continues: bool = False
    concerns: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    unit: str | None = None
    sort: Sort = "away"


class Silence(NamedTuple):
    """Nothing to say, and why. At a close ``closes`` tells that nothing stands in its way."""

    reason: str
    detail: str | None = None
    unit: str | None = None
    closes: bool = False
    sort: Sort = "away"


class Decision(NamedTuple):
    """What comes of an answer. ``judged``: it was an answer to go by, and is kept as a judgment."""

    outcome: Say | Silence
    judged: bool = True


class Policy(NamedTuple):
    """What an advisor decides by, as it is kept: its thresholds, the versions of its rules and words, and
    those of its settings that are not what that version has by itself."""

    thresholds: Mapping[str, float] = {}
    versions: Mapping[str, str] = {}
    settings: Mapping[str, JsonValue] = {}


class Advisor(Protocol):
    """Whoever has an opinion on a run."""

    @property
    def name(self) -> str:
        """The name its decisions stand under."""

    @property
    def takes_turn(self) -> bool:
        """Whether it competes for the one message of a settle; a note that only the user sees does not."""

    def gate(self, state: BookState, scene: Scene) -> Gate:
        """Whether there is something to decide. While the work is the same, so is the packet: what another
        answer or a notice adds to the book is no part of it."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        """What comes of it, on a state at which the gate gives the same packet.

        Of a failure, whatever the state has come to; the packet then says of whom it was, and is empty.
        """

    def policy(self) -> Policy:
        """What it decides by, as it is kept with its decisions: whoever makes one by the same policy must
        have one that decides the same."""
