"""All events: the union, and what is looked up in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from loopbook.events.advice import Delivered, Judged, Noticed, PassedOver
from loopbook.events.base import Event
from loopbook.events.evidence import (
    Base,
    Change,
    Check,
    ChildReported,
    Decision,
    Friction,
    Review,
    Source,
    Task,
    Watch,
)
from loopbook.events.items import (
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
from loopbook.events.streams import BookChosen, Catalogued, Forked, Reserved, Scrubbed, Switched

AnyEvent = (
    LoopOpened | SessionAdopted | CloseDeclared | LoopClosed | LoopReopened
    | Change | Check | Review | Decision | Source | ChildReported
    | TodoOpened | TodoFollowupSet | TodoCompleted | TodoDropped
    | UnitAdded | UnitStarted | UnitDone | UnitDropped
    | ChildLinked | ChildDropped | ChildLost
    | Task | Base | Watch | Friction
    | Prompted | RunSettled
    | Judged | Noticed | PassedOver | Delivered
    | Forked | Switched | BookChosen | Catalogued | Reserved | Scrubbed
)  # fmt: skip

#: The one discriminated union: what JSON Schemas and validation of a whole event are made from.
Known = Annotated[AnyEvent, Field(discriminator="type")]

#: Every known event class by its type word.
BY_TYPE: Mapping[str, type[Event]] = {str(cls.model_fields["type"].default): cls for cls in AnyEvent.__args__}

#: The types that can move a phase and trigger a judgment.
EVIDENCE = frozenset({"change", "check", "review", "decision", "source", "child_reported"})
