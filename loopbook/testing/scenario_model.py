"""Scenario files as values: what a scenario, a step and an expectation may say.

Theory. A step is one verb with an optional ``expect`` beside it. Most verbs only write an event:
these are rows of ``EVENT_VERBS`` and become an ``Append`` that already holds the event, so the
vocabulary's own strictness is the file's. The rest are small models of their own (``VERBS``).
Nothing here reads a file or runs a step; ``scenario_file`` and ``scenarios`` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from loopbook.events import EVIDENCE, Event, Origin, Tier
from loopbook.run import Stop

#: The longest wait a step may ask for, in seconds: thirty years.
MAX_WAIT = 1e9

Quiet = Literal[
    "no-loop", "subagent", "no-judge", "failed-run", "waiting", "child-out", "not-waiting-unit",
    "nothing-new", "duplicate", "agrees", "stale", "judge-failed", "turn-taken", "bound",
]  # fmt: skip
VerifyWord = Literal["none", "stale", "failing", "passing", "unknown"]
As = Literal["async", "blocking", "host"]


class Model(BaseModel):
    """A frozen value in which an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


# --- the head of a scenario ---------------------------------------------------------------


class LoopSpec(Model):
    """The loop that is open when the scenario begins."""

    kind: str
    intent: str
    anchor: str | None = None
    review_tier: Tier = "light"


class Answers(Model):
    """What the judge answers; an answer left out is lost."""

    move: Literal["advance", "back", "ask_user"] | None = None
    done: float | None = Field(default=None, ge=0, le=1)
    review_tier: Tier | None = None
    quality: float | None = Field(default=None, ge=0, le=3)


class Override(Answers):
    """A step's own answers; or the judge fails, with this kind of failure."""

    fails: str | None = None


class Head(Model):
    """A scenario as it stands in its file, its steps still to be read."""

    scenario: str = Field(min_length=1)
    loop: LoopSpec | None = None
    session: str = "s1"
    judge: Answers | None = None
    env: Mapping[str, str] = Field(default_factory=dict)
    steps: list[object]


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
    """A tool the run called; ``child`` is the id it dispatched, if it did."""

    name: str
    child: str | None = None


class Settle(Model):
    """A run settles; ``during`` happens while the judge thinks; ``twice`` fires it twice."""

    run: str | None = None
    session: str | None = None
    tools: tuple[ToolUse, ...] = ()
    stop: Stop = "end"
    judge: Override | None = None
    during: tuple[object, ...] = ()
    twice: bool = False


class Close(Model):
    """A close is declared."""

    claim: str = ""
    judge: Override | None = None


class Closed(Model):
    """The loop is closed: with nothing missing, or ``anyway``."""

    anyway: bool = False


class Reopen(Model):
    """A closed loop goes on."""

    value: Literal[True]


class Wait(Model):
    """The clock moves by so many seconds; it moves only so."""

    seconds: float = Field(ge=0, le=MAX_WAIT)


class Reload(Model):
    """All in-memory state is dropped; the book is read again from its store."""

    value: Literal[True]


class Crash(Model):
    """The next settle's process dies there."""

    where: Literal["before-append", "after-append"]


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
    | Wait
    | Reload
    | Crash
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
    "wait": (Wait, "seconds"),
    "reload": (Reload, "value"),
    "crash": (Crash, "where"),
    "adopt": (Adopt, "session"),
    "race": (Race, "sessions"),
}
#: Verbs that stand only inside a settle's ``during``; ``NO_DURING`` may not stand there.
DURING_VERBS: Mapping[str, tuple[type[Model], str | None]] = {
    "new_run": (NewRun, "value"),
    "busy": (Busy, "value"),
}
NO_DURING = frozenset({"settle", "close", "race", "crash", "wait", "reload"})


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


# --- what must be seen ------------------------------------------------------------------


class PhaseExpect(Model):
    """Where the machine stands; ``missing`` is a substring, ``unit`` whose machine it is."""

    current: str | None = None
    next: str | None = None
    missing: str | None = None
    unit: str | None = None


class Expect(Model):
    """What must hold after a step; a key left out is not looked at."""

    judged: bool | None = None
    speaks: bool | None = None
    continues: bool | None = None
    quiet: Quiet | None = None
    says: tuple[str, ...] = ()
    not_says: tuple[str, ...] = ()
    unit: str | None = None
    phase: PhaseExpect | None = None
    verify: VerifyWord | None = None
    closed: bool | None = None
    concerns: tuple[str, ...] | None = None
    notices: int | None = Field(default=None, ge=0)
    judgments: int | None = Field(default=None, ge=0)
    asked: tuple[str, ...] = ()
    asked_not: tuple[str, ...] = ()
    error: str | None = None


class Step(NamedTuple):
    """One step: the word it stands under, what it does, what must be seen, and its 1-based line."""

    word: str
    verb: Verb
    expect: Expect
    line: int
    during: tuple[Step, ...] = ()


class Scenario(NamedTuple):
    """One scenario: ``file`` as it was given, ``line`` where its document begins."""

    head: Head
    steps: tuple[Step, ...]
    file: str
    line: int

    @property
    def name(self) -> str:
        """What the scenario says of itself."""
        return self.head.scenario
