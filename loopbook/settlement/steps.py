"""What a flow yields, what it is sent, and what it ends with."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeVar

from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.shape import Advisor, Scene
from loopbook.entry import Draft, Entry
from loopbook.projections import BookState
from loopbook.projections.runs import BOUND

__all__ = [
    "ASKS", "BOUND", "DECIDED", "FLOW_VERSION", "Advice", "Append", "Ask", "CloseAnswer", "Flow",
    "Heard", "Later", "Read", "Settlement", "Traced", "Written",
]  # fmt: skip

#: How often one decision is asked: once, and once more on another packet.
ASKS = 2
#: The detail of an answer that came when another session had decided the same.
DECIDED = "decided"
#: Grows with every change of what the flow itself decides: what is a duplicate, what continues, what is
#: stale. It is kept with each decision.
FLOW_VERSION = "3"


class Append(NamedTuple):
    """Write these, if the book still stands at version ``after``."""

    drafts: tuple[Draft, ...]
    after: int


class Written(NamedTuple):
    """What came of an ``Append``: the newest state, and whether the drafts were taken."""

    state: BookState
    taken: bool


class Read(NamedTuple):
    """Read the entry at a seq; it is answered with that entry."""

    seq: int


class Ask(NamedTuple):
    """Ask a judge, for an advisor."""

    advisor: str
    packet: Packet


class Heard(NamedTuple):
    """What came of an ``Ask``: the answer, the newest state, and whether the session is still idle."""

    answer: Answer | Failure
    state: BookState
    idle: bool = True


class Advice(NamedTuple):
    """What to tell the agent. ``seq`` is the notice's; ``continues``: its run should go on."""

    text: str
    continues: bool
    advisor: str
    seq: int
    unit: str | None = None
    concerns: tuple[str, ...] = ()


class Traced(NamedTuple):
    """One thing an advisor did: ``passed over``, ``asked``, ``spoke``, ``silent``, ``put off`` or
    ``done before``; ``judged`` tells whether it left a judgment."""

    advisor: str
    did: str
    unit: str | None = None
    reason: str | None = None
    detail: str | None = None
    judged: bool = False


class Later(NamedTuple):
    """What is asked after the settle. ``observe`` is a packet whose answer is only kept; ``advisors`` are
    those who share the turn; ``declared`` is the seq of the close that it is about, if it is one."""

    advisor: Advisor
    scene: Scene
    observe: Packet | None = None
    advisors: tuple[Advisor, ...] = ()
    declared: int = 0


class Settlement(NamedTuple):
    """What came of a settled run. ``notes`` are for the user alone."""

    advice: Advice | None = None
    trace: tuple[Traced, ...] = ()
    later: tuple[Later, ...] = ()
    notes: tuple[Advice, ...] = ()


class CloseAnswer(NamedTuple):
    """What a declared close comes to. ``concerns`` are the ids of what stands against it, said now or
    before (``text``: in words), by whomever; ``missing`` is what the record lacks. ``advice`` is the first
    that was said; ``later`` is what was put off. ``pending``: not everybody could be heard, and what is
    delivered, or the next settled run, may close the loop yet."""

    closed: bool
    concerns: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    text: str = ""
    advice: Advice | None = None
    trace: tuple[Traced, ...] = ()
    later: tuple[Later, ...] = ()
    pending: bool = False


T = TypeVar("T")
Flow = Generator[Append | Read | Ask, Written | Entry | Heard, T]
