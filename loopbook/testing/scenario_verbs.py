"""The verbs of scenario files: what a step can do.

Theory. Most verbs only write an event: these are rows of ``EVENT_VERBS`` and become an ``Append`` that
already holds the event, so the vocabulary's own strictness is the file's. The rest are small models of
their own (``VERBS``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from loopbook.events import EVIDENCE, Event, Origin, Tier
from loopbook.run import Stop

#: The longest wait a step may ask for, in seconds: thirty years.
MAX_WAIT = 1e9


class Model(BaseModel):
    """A frozen value in which an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Answers(Model):
    """What the judge answers; an answer left out is lost."""

    move: Literal["advance", "back", "ask_user"] | None = None
    done: float | None = Field(default=None, ge=0, le=1)
    review_tier: Tier | None = None
    quality: float | None = Field(default=None, ge=0, le=3)


class Override(Answers):
    """A step's own answers, those to other questions under ``answers``; or the judge fails, with this
    kind of failure."""

    answers: Mapping[str, str | float] = Field(default_factory=dict)
    fails: str | None = None


# --- verbs ----------------------------------------------------------------------------


class Append(NamedTuple):
    """Write this event. Every verb of ``EVENT_VERBS`` is one."""

    event: Event
    unit: str | None = None


class Prompt(Model):
    """A prompt opens a run."""

    text: str
    origin: Origin = "human"


class HostChild(Model):
    """What the host says of a child; ``last_write_ago`` in seconds before the step."""

    state: Literal["out", "gone", "unknown"]
    last_write_ago: float | None = Field(default=None, ge=-MAX_WAIT, le=MAX_WAIT)


class Host(Model):
    """From now on the host says this of these children."""

    children: Mapping[str, HostChild]


class ToolUse(Model):
    """A tool the run called with an ``input``; ``child`` is the id it dispatched, if it did."""

    name: str
    input: str = ""
    child: str | None = None


class Flowing(Model):
    """What a judge is asked in. ``during`` happens while it thinks, ``before_append`` just before what
    comes of it is written: both once, by somebody else."""

    judge: Override | None = None
    during: tuple[object, ...] = ()
    before_append: tuple[object, ...] = ()


class Settle(Flowing):
    """A run settles, perhaps a ``subagent``'s; ``twice`` fires it twice. One that is named again is settled
    again."""

    run: str | None = None
    session: str | None = None
    tools: tuple[ToolUse, ...] = ()
    stop: Stop = "end"
    subagent: bool = False
    twice: bool = False


class Close(Flowing):
    """A close is declared."""

    claim: str = ""


class Deliver(Flowing):
    """What settles have put off is asked now."""


class Closed(Model):
    """The loop is closed: with nothing missing, or ``anyway``."""

    anyway: bool = False


class Reopen(Model):
    """A closed loop goes on."""

    value: Literal[True]


class Wait(Model):
    """The clock moves by so many seconds; it moves only so."""

    seconds: float = Field(ge=0, le=MAX_WAIT)


class Jump(Model):
    """The clock is set, by so many seconds from where it was; backwards, where negative."""

    seconds: float = Field(ge=-MAX_WAIT, le=MAX_WAIT)


class Reload(Model):
    """All in-memory state is dropped; the book is read again from its store."""

    value: Literal[True]


Where = Literal["before-append", "after-append", "after-settled"]


class Crash(Model):
    """The process of the next settle, close or deliver dies there: before or after what it decides is
    written, or as soon as the run is."""

    where: Where


class Fork(Model):
    """The session goes on in a fork of the loop."""

    value: Literal[True]


class Snapshot(Model):
    """The state is kept beside the book: a reload begins with it."""

    value: Literal[True]


class Adopt(Model):
    """Another session adopts the book and becomes the current one."""

    session: str


class Race(Model):
    """These sessions settle one run at once, from one version."""

    sessions: tuple[str, ...] = Field(min_length=2)


class NewRun(Model):
    """Inside ``during``: another run starts."""

    value: Literal[True]


class Busy(Model):
    """Inside ``during``: the session is no longer idle."""

    value: Literal[True]


Verb = (
    Append
    | Prompt
    | Host
    | Settle
    | Close
    | Closed
    | Reopen
    | Deliver
    | Wait
    | Jump
    | Reload
    | Crash
    | Fork
    | Snapshot
    | Adopt
    | Race
    | NewRun
    | Busy
)

#: Verbs with a model of their own, and the field that takes the verb's value where it is no mapping
#: of the model's fields.
VERBS: Mapping[str, tuple[type[Model], str | None]] = {
    "prompt": (Prompt, None),
    "host": (Host, "children"),
    "settle": (Settle, None),
    "close": (Close, None),
    "closed": (Closed, None),
    "reopen": (Reopen, "value"),
    "deliver": (Deliver, None),
    "wait": (Wait, "seconds"),
    "clock": (Jump, "seconds"),
    "reload": (Reload, "value"),
    "crash": (Crash, "where"),
    "fork": (Fork, "value"),
    "snapshot": (Snapshot, "value"),
    "adopt": (Adopt, "session"),
    "race": (Race, "sessions"),
}
#: Verbs that stand only inside ``during`` or ``before_append``; ``NO_DURING`` may not stand there.
DURING_VERBS: Mapping[str, tuple[type[Model], str | None]] = {
    "new_run": (NewRun, "value"),
    "busy": (Busy, "value"),
}
NO_DURING = frozenset({"race", "crash", "wait", "clock", "reload", "fork", "snapshot", "deliver"})


class EventVerb(NamedTuple):
    """A verb that writes an event.

    ``type`` is the event's, or the set of those the step itself may name. ``scalar`` is the field
    that takes a verb's value that is no mapping; ``names`` are fields that the file calls otherwise.
    """

    type: str | frozenset[str]
    scalar: str | None = None
    names: Mapping[str, str] = {}


_TODO = {"id": "todo"}
_UNIT = {"id": "unit"}
EVENT_VERBS: Mapping[str, EventVerb] = {
    "evidence": EventVerb(EVIDENCE),
    "record": EventVerb(frozenset({"task", "base", "watch", "friction"})),
    "todo": EventVerb("todo_opened", names=_TODO),
    "followup": EventVerb("todo_followup_set", names={**_TODO, "value": "followup"}),
    "todo_done": EventVerb("todo_completed", scalar="id", names=_TODO),
    "todo_dropped": EventVerb("todo_dropped", names=_TODO),
    "unit": EventVerb("unit_added", names=_UNIT),
    "unit_started": EventVerb("unit_started", scalar="id", names=_UNIT),
    "unit_done": EventVerb("unit_done", scalar="id", names=_UNIT),
    "unit_dropped": EventVerb("unit_dropped", names=_UNIT),
    "link": EventVerb("child_linked"),
    "report": EventVerb("child_reported"),
    "child_dropped": EventVerb("child_dropped"),
}
