"""What is open until it is ended: todos, units, children."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from loopbook.events.base import Event, FollowUp
from loopbook.run import RecordModel


class TodoOpened(Event):
    """A todo. It is *loose* while open with no valid follow-up (``projections.todos``)."""

    type: Literal["todo_opened"] = "todo_opened"
    todo: str
    subject: str
    followup: FollowUp | None = None


class TodoFollowupSet(Event):
    """Where a todo goes on outside this loop."""

    type: Literal["todo_followup_set"] = "todo_followup_set"
    todo: str
    followup: FollowUp


class TodoCompleted(Event):
    """A todo is done."""

    type: Literal["todo_completed"] = "todo_completed"
    todo: str


class TodoDropped(Event):
    """A todo will not be done, and why."""

    type: Literal["todo_dropped"] = "todo_dropped"
    todo: str
    why: str


class UnitAdded(Event):
    """A part of the loop with a phase machine of its own once there are two."""

    type: Literal["unit_added"] = "unit_added"
    unit: str
    subject: str


class UnitStarted(Event):
    """Work on a unit has begun."""

    type: Literal["unit_started"] = "unit_started"
    unit: str


class UnitDone(Event):
    """A unit is done."""

    type: Literal["unit_done"] = "unit_done"
    unit: str


class UnitDropped(Event):
    """A unit will not be done, and why."""

    type: Literal["unit_dropped"] = "unit_dropped"
    unit: str
    why: str


class Accept(RecordModel):
    """A check the host reruns before it takes a child's result; ``timeout_sec`` in seconds."""

    command: str
    timeout_sec: float = Field(default=600, ge=0)


class ChildLinked(Event):
    """The loop sent a child out. Linked again after its report, it is out again."""

    type: Literal["child_linked"] = "child_linked"
    child: str
    host: str = ""
    unit: str | None = None
    session_file: str | None = None
    accept: Accept | None = None


class ChildDropped(Event):
    """Nobody waits for this child any more, and why."""

    type: Literal["child_dropped"] = "child_dropped"
    child: str
    why: str


class ChildLost(Event):
    """The child is gone, past its grace, unreported. Appended once, by the engine."""

    type: Literal["child_lost"] = "child_lost"
    child: str
