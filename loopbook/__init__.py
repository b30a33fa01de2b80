"""loopbook: one append-only book per agent loop.

``import loopbook`` stays light: names are imported when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers know as true; importing it would cost more than all the rest
if TYPE_CHECKING:
    from loopbook.books import Books as Books
    from loopbook.events import Accept as Accept
    from loopbook.events import Base as Base
    from loopbook.events import BookChosen as BookChosen
    from loopbook.events import Catalogued as Catalogued
    from loopbook.events import Change as Change
    from loopbook.events import Check as Check
    from loopbook.events import ChildDropped as ChildDropped
    from loopbook.events import ChildLinked as ChildLinked
    from loopbook.events import ChildLost as ChildLost
    from loopbook.events import ChildReported as ChildReported
    from loopbook.events import CloseDeclared as CloseDeclared
    from loopbook.events import Decision as Decision
    from loopbook.events import Delivered as Delivered
    from loopbook.events import Event as Event
    from loopbook.events import Finding as Finding
    from loopbook.events import FollowUp as FollowUp
    from loopbook.events import Forked as Forked
    from loopbook.events import Friction as Friction
    from loopbook.events import Judged as Judged
    from loopbook.events import LoopClosed as LoopClosed
    from loopbook.events import LoopOpened as LoopOpened
    from loopbook.events import LoopReopened as LoopReopened
    from loopbook.events import Noticed as Noticed
    from loopbook.events import Origin as Origin
    from loopbook.events import Outcome as Outcome
    from loopbook.events import PassedOver as PassedOver
    from loopbook.events import Prompted as Prompted
    from loopbook.events import Reserved as Reserved
    from loopbook.events import Review as Review
    from loopbook.events import RunSettled as RunSettled
    from loopbook.events import Scope as Scope
    from loopbook.events import Scrubbed as Scrubbed
    from loopbook.events import SessionAdopted as SessionAdopted
    from loopbook.events import Source as Source
    from loopbook.events import Switched as Switched
    from loopbook.events import Task as Task
    from loopbook.events import Tier as Tier
    from loopbook.events import TodoCompleted as TodoCompleted
    from loopbook.events import TodoDropped as TodoDropped
    from loopbook.events import TodoFollowupSet as TodoFollowupSet
    from loopbook.events import TodoOpened as TodoOpened
    from loopbook.events import UnitAdded as UnitAdded
    from loopbook.events import UnitDone as UnitDone
    from loopbook.events import UnitDropped as UnitDropped
    from loopbook.events import UnitStarted as UnitStarted
    from loopbook.events import Unknown as Unknown
    from loopbook.events import Watch as Watch
    from loopbook.judges.scripted import Scripted as Scripted
    from loopbook.judges.system_one import SystemOne as SystemOne
    from loopbook.limits import Options as Options
    from loopbook.loop import Loop as Loop
    from loopbook.run import Call as Call
    from loopbook.run import Line as Line
    from loopbook.run import Observed as Observed

__version__ = "0.1.0"

__all__ = [
    "Accept", "Base", "BookChosen", "Books", "Call", "Catalogued", "Change", "Check", "ChildDropped",
    "ChildLinked", "ChildLost", "ChildReported", "CloseDeclared", "Decision", "Delivered", "Event",
    "Finding", "FollowUp", "Forked", "Friction", "Judged", "Line", "Loop", "LoopClosed", "LoopOpened",
    "LoopReopened", "Noticed", "Observed", "Options", "Origin", "Outcome", "PassedOver", "Prompted",
    "Reserved", "Review", "RunSettled", "Scope", "Scripted", "Scrubbed", "SessionAdopted", "Source",
    "Switched", "SystemOne", "Task", "Tier", "TodoCompleted", "TodoDropped", "TodoFollowupSet",
    "TodoOpened", "UnitAdded", "UnitDone", "UnitDropped", "UnitStarted", "Unknown", "Watch",
]  # fmt: skip


#: Where the names are that are no events.
_ELSEWHERE = {
    "Books": "loopbook.books",
    "Call": "loopbook.run",
    "Line": "loopbook.run",
    "Loop": "loopbook.loop",
    "Observed": "loopbook.run",
    "Options": "loopbook.limits",
    "Scripted": "loopbook.judges.scripted",
    "SystemOne": "loopbook.judges.system_one",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'loopbook' has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "loopbook.events")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
