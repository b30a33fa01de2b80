"""The vocabulary: everything a book can hold.

Theory. An *event* is a frozen value that says what happened and knows no ids. Where it
stands in which stream, when and in whose session it was written is the *entry's* business
(``loopbook.entry``). Four rules keep books readable for years:

1. Building an event is strict: a field that is not there is a mistake (``TypeError``).
2. Reading one is lenient: fields of a newer writer are kept and written back unchanged, and
   a type nobody here knows becomes an ``Unknown`` event with all its fields.
3. An event never declares an envelope field (``ENVELOPE``), save ``unit``, which the two share:
   a unit's event names the unit, and the envelope is told.
4. A shape changes only together with its ``VERSION`` and an upcast (``loopbook.entry``).

The words of the ``type`` field are the stored topic and the words of scenario files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, ValidationError

from loopbook.errors import InvalidEvent
from loopbook.run import Call, Line, Observed, RecordModel, Stop

#: What the envelope says; no event may say it too (``unit`` is shared, see rule 3).
ENVELOPE = frozenset({"at", "session", "unit", "host_ref", "line", "v", "prev", "sum"})

Scope = Literal["tests", "build", "lint", "types", "format", "manual"]
Outcome = Literal["pass", "fail", "unknown"]
Tier = Literal["none", "light", "full"]
Origin = Literal["human", "host", "child", "advisor"]
FollowUp = str | Mapping[str, JsonValue]


class Event(RecordModel):
    """What all events share: frozen, strict when built, lenient when read.

    >>> Change(summary="retry added", paths=("client.py",)).type
    'change'
    >>> Change(sumary="retry added")
    Traceback (most recent call last):
    TypeError: Change has no field 'sumary'
    """

    VERSION: ClassVar[int] = 1
    type: str


# --- the life of a loop ---------------------------------------------------------------


class LoopOpened(Event):
    """A loop begins. ``definition`` is its kind as it was then, so a replay needs no file.

    ``anchor`` is where the work starts from (a revision, an issue); ``review_tier`` is the
    least review the loop asks for.

    >>> LoopOpened(kind="fix", intent="Crash on empty input").review_tier
    'light'
    """

    type: Literal["loop_opened"] = "loop_opened"
    kind: str
    intent: str
    anchor: str | None = None
    review_tier: Tier = "light"
    definition: Mapping[str, JsonValue] | None = None


class SessionAdopted(Event):
    """Another session, the one that writes this, goes on with the loop."""

    type: Literal["session_adopted"] = "session_adopted"


class CloseDeclared(Event):
    """Somebody says the loop is done; ``claim`` is how they put it."""

    type: Literal["close_declared"] = "close_declared"
    claim: str = ""


class LoopClosed(Event):
    """The loop has ended: all met, over standing concerns, or with no judge to ask."""

    type: Literal["loop_closed"] = "loop_closed"
    outcome: Literal["met", "over_concerns", "unjudged"]


class LoopReopened(Event):
    """A closed loop goes on."""

    type: Literal["loop_reopened"] = "loop_reopened"


# --- evidence: what can move a phase ----------------------------------------------------


class Change(Event):
    """Something was written. ``resolves`` names the findings it answers.

    ``by`` (here and in the events below) is the sub-agent that did it, ``None`` the main agent.

    >>> Change(summary="bounded", paths=("client.py",), resolves=("f1",)).resolves
    ('f1',)
    """

    type: Literal["change"] = "change"
    summary: str
    paths: tuple[str, ...] = ()
    diff_summary: str | None = None
    revision: str | None = None
    resolves: tuple[str, ...] = ()
    by: str | None = None


class Check(Event):
    """A command that can vouch for the work was run, and how it ended.

    ``outcome`` is ``unknown`` where neither an exit code nor the runner's own closing line can
    be attributed to it; an unknown never votes. ``basis`` says which of the two spoke.

    >>> Check(command="pytest -k empty", outcome="fail", exit_code=1).scope
    'tests'
    """

    type: Literal["check"] = "check"
    command: str
    outcome: Outcome
    exit_code: int | None = None
    scope: Scope = "tests"
    output_tail: str | None = None
    runner: str | None = None
    basis: Literal["exit", "summary"] | None = None
    masked: bool = False
    by: str | None = None


class Finding(RecordModel):
    """One point of a review. Blockers and concerns are open until resolved; a nit never is."""

    id: str
    severity: Literal["blocker", "concern", "nit"]
    text: str


class Review(Event):
    """Somebody read the work. It is *clean* with no blocker and no concern among its findings."""

    type: Literal["review"] = "review"
    tier: Literal["light", "full"]
    findings: tuple[Finding, ...] = ()
    reviewer: str


class Decision(Event):
    """Something was settled, by the user or by the agent."""

    type: Literal["decision"] = "decision"
    text: str
    decided_by: Literal["user", "agent"]
    question: str | None = None
    resolves: tuple[str, ...] = ()
    by: str | None = None


class Source(Event):
    """Something was consulted: ``locator`` is its address, path or query."""

    type: Literal["source"] = "source"
    locator: str
    summary: str = ""
    by: str | None = None


class ChildReported(Event):
    """A child came back. It belongs to the unit of its link."""

    type: Literal["child_reported"] = "child_reported"
    child: str
    ok: bool
    summary: str = ""
    friction: str | None = None


# --- todos, units, children ---------------------------------------------------------------


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


# --- records that move nothing ------------------------------------------------------------


class Task(Event):
    """What the agent set out to do next."""

    type: Literal["task"] = "task"
    text: str


class Base(Event):
    """What the work is based on."""

    type: Literal["base"] = "base"
    text: str


class Watch(Event):
    """Something outside is being watched."""

    type: Literal["watch"] = "watch"
    text: str


class Friction(Event):
    """What got in the way; ``child`` names whose friction it is, linked or not."""

    type: Literal["friction"] = "friction"
    text: str
    child: str | None = None


# --- runs -------------------------------------------------------------------------------


class Prompted(Event):
    """A prompt opens a run. Only one of origin ``human`` opens a task and refills budgets.

    ``text`` holds at most 8,000 characters.
    """

    type: Literal["prompted"] = "prompted"
    prompt: str
    text: str
    origin: Origin = "human"


class RunSettled(Event):
    """A run has come to rest: what was said and done in it, bounded, the same for every host.

    ``path`` holds the host's entry ids, oldest first; ``final_text`` keeps the first and the
    last 4,000 characters; ``calls`` the newest 200 of ``calls_total``.

    >>> RunSettled(run="r1").stop
    'end'
    """

    type: Literal["run_settled"] = "run_settled"
    run: str
    prompt: str | None = None
    path: tuple[str, ...] = ()
    stop: Stop = "end"
    interactive: bool = True
    final_text: str = ""
    lines: tuple[Line, ...] = ()
    calls: tuple[Call, ...] = ()
    calls_total: int = Field(default=0, ge=0)
    observed: Observed = Observed.model_construct()  # calling it would build it at import


# --- advice -------------------------------------------------------------------------------


class Judged(Event):
    """A judge answered. ``read_to`` is the seq it read up to; the envelope's unit is the subject.

    Times are milliseconds, cost US dollars; ``versions`` are those of policy, state, questions, flow, fold
    and code. ``basis`` here and below is what else it takes to decide it again
    (``loopbook.advisors.basis``).
    ``asked`` counts the answers it took (two where the first was stale); tokens and cost are of all of
    them, the rest is the last one's.
    """

    type: Literal["judged"] = "judged"
    advisor: str
    run: str | None = None
    read_to: int = Field(ge=0)
    sort: Literal["away", "close"] = "away"
    packet: str = ""
    question_set: str = ""
    answers: Mapping[str, JsonValue] = Field(default_factory=dict)
    thresholds: Mapping[str, float] = Field(default_factory=dict)
    versions: Mapping[str, str] = Field(default_factory=dict)
    model_asked: str | None = None
    model_answered: str | None = None
    request_id: str | None = None
    latency_ms: float | None = None
    asked: int = Field(default=1, ge=1)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    basis: Mapping[str, JsonValue] = Field(default_factory=dict)


class Noticed(Event):
    """An advisor spoke. Appended before the words leave; ``key`` is what it must not repeat.

    ``trigger`` is the seq of the last evidence or newest loose todo it answers, ``judged`` the
    seq of the judgment it rests on (``None``: facts alone).
    """

    type: Literal["noticed"] = "noticed"
    advisor: str
    run: str | None = None
    sort: Literal["away", "close"] = "away"
    key: str
    text: str
    continues: bool = False
    trigger: int = 0
    judged: int | None = None
    concerns: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    basis: Mapping[str, JsonValue] = Field(default_factory=dict)


class PassedOver(Event):
    """An advisor did not speak, and why: silence is part of the audit.

    An answer that came to nothing (it was stale, or had lost what mattered) has cost all the same: then
    ``asked`` is how many there were, and tokens and US dollars are theirs.
    """

    type: Literal["passed_over"] = "passed_over"
    advisor: str
    run: str | None = None
    reason: str
    detail: str | None = None
    asked: int = Field(default=0, ge=0)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    basis: Mapping[str, JsonValue] = Field(default_factory=dict)


class Delivered(Event):
    """The host has handed the notice at seq ``notice`` to the agent."""

    type: Literal["delivered"] = "delivered"
    notice: int = Field(ge=1)


# --- the other streams ----------------------------------------------------------------------


class Forked(Event):
    """This stream goes on from another one's ``version``; what came before is read there."""

    type: Literal["forked"] = "forked"
    from_: str = Field(alias="from")
    version: int = Field(ge=0)


class Switched(Event):
    """An advisor was switched on or off at the host's entry ``entry``; it holds on paths with it."""

    type: Literal["switched"] = "switched"
    advisor: str
    on: bool
    entry: str | None = None


class BookChosen(Event):
    """In a session's stream: from here on its current book is ``book`` (a stream name)."""

    type: Literal["book_chosen"] = "book_chosen"
    book: str


class Catalogued(Event):
    """In the catalogue: a loop was opened, adopted, closed, reopened, scrubbed or forgotten."""

    type: Literal["catalogued"] = "catalogued"
    loop: str
    change: Literal["opened", "adopted", "closed", "reopened", "scrubbed", "forgotten"]
    kind: str | None = None
    intent: str | None = None
    outcome: str | None = None
    parent: str | None = None


class Reserved(Event):
    """In a ``once:`` stream: the one place where ``what`` of this key was used, for ever."""

    type: Literal["reserved"] = "reserved"
    what: Literal["host_ref", "todo", "unit", "finding"]
    stream: str
    seq: int = Field(ge=1)


class Scrubbed(Event):
    """Texts were taken out of this stream's past, and its chain was anchored anew. It moves nothing.

    ``seqs`` are the entries that were rewritten, of the stream ``of`` (this one, or the one it was
    forked from); ``before`` and ``after`` are the sum of the newest entry then and now, so that a
    head noted before can be told from a book that somebody changed.
    """

    type: Literal["scrubbed"] = "scrubbed"
    of: str
    seqs: tuple[int, ...]
    reason: str = ""
    before: str
    after: str


class Unknown(Event):
    """An event of a type this loopbook does not know; every field is kept as it was read."""

    type: str


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


def build_event(fields: Mapping[str, object]) -> Event:
    """Build an event from what a person or program wrote: strict, unlike reading one from a book.

    ``fields`` hold the type word and the event's own fields, as in JSON. Raises ``InvalidEvent``,
    which tells where in the mapping it went wrong, also for a field that no such event has.

    >>> build_event({"type": "change", "summary": "retry added", "paths": ["client.py"]}).paths
    ('client.py',)
    """
    word = fields.get("type")
    cls = BY_TYPE.get(word) if isinstance(word, str) else None
    if cls is None:
        raise InvalidEvent(f"there is no event of type {word!r}", ("type",))
    names = {field.alias or name for name, field in cls.model_fields.items()}
    for name in fields:
        if name not in names:
            raise InvalidEvent(f"{word} has no field {name!r}", (name,))
    try:
        event = cls.model_validate(fields)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        what = f"{where} is missing" if first["type"] == "missing" else f"{where}: {first['msg']}"
        raise InvalidEvent(f"{word}: {what}", first["loc"]) from None
    for loc in _unknown_fields(event):
        raise InvalidEvent(f"{word} has no field {'.'.join(map(str, loc))!r}", loc)
    return event


def _unknown_fields(value: object, loc: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, RecordModel):
        yield from ((*loc, name) for name in value.model_extra or ())
        for name in type(value).model_fields:
            yield from _unknown_fields(getattr(value, name), (*loc, name))
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from _unknown_fields(item, (*loc, place))
