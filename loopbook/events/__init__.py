"""The vocabulary: everything a book can hold.

Theory. An *event* is a frozen value that says what happened and knows no ids. Where it
stands in which stream, when and in whose session it was written is the *entry's* business
(``loopbook.entry``). Four rules keep books readable for years:

1. Building an event is strict: a field that is not there is a mistake (``TypeError``).
2. Reading one is lenient: fields of a newer writer are kept and written back unchanged, and
   a type nobody here knows becomes an ``Unknown`` event with all its fields.
3. An event never declares an envelope field (``ENVELOPE``), save ``unit``, which the two share:
   a unit's event names the unit, and the envelope is told.
4. A shape changes only together with its ``VERSION`` and an upcast (``loopbook.encoding``).

The words of the ``type`` field are the stored topic and the words of scenario files.
"""

from __future__ import annotations

from loopbook.events.advice import Delivered, Judged, Noticed, Opinion, PassedOver
from loopbook.events.base import ENVELOPE, Event, FollowUp, Origin, Outcome, Scope, Tier
from loopbook.events.building import build_event
from loopbook.events.evidence import (
    Base,
    Change,
    Check,
    ChildReported,
    Decision,
    Finding,
    Friction,
    Review,
    Source,
    Task,
    Watch,
)
from loopbook.events.items import (
    Accept,
    ChildDropped,
    ChildLinked,
    ChildLost,
    TodoCompleted,
    TodoDropped,
    TodoFollowupSet,
    TodoOpened,
    UnitAdded,
    UnitDone,
    UnitDropped,
    UnitStarted,
)
from loopbook.events.loops import CloseDeclared, LoopClosed, LoopOpened, LoopReopened, SessionAdopted
from loopbook.events.runs import Prompted, RunSettled
from loopbook.events.streams import BookChosen, Catalogued, Forked, Reserved, Scrubbed, Switched, Unknown
from loopbook.events.vocabulary import BY_TYPE, EVIDENCE, AnyEvent, Known

__all__ = [
    "BY_TYPE", "ENVELOPE", "EVIDENCE", "Accept", "AnyEvent", "Base", "BookChosen", "Catalogued",
    "Change", "Check", "ChildDropped", "ChildLinked", "ChildLost", "ChildReported", "CloseDeclared",
    "Decision", "Delivered", "Event", "Finding", "FollowUp", "Forked", "Friction", "Judged", "Known",
    "LoopClosed", "LoopOpened", "LoopReopened", "Noticed", "Opinion", "Origin", "Outcome", "PassedOver",
    "Prompted", "Reserved", "Review", "RunSettled", "Scope", "Scrubbed", "SessionAdopted", "Source",
    "Switched", "Task", "Tier", "TodoCompleted", "TodoDropped", "TodoFollowupSet", "TodoOpened",
    "UnitAdded", "UnitDone", "UnitDropped", "UnitStarted", "Unknown", "Watch", "build_event",
]  # fmt: skip
