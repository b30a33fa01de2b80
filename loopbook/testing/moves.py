"""The steps that a state machine takes, as strategies: few ids, so that they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar, get_args

from hypothesis import strategies as st

from loopbook.events import (
    Accept,
    Base,
    ChildDropped,
    ChildLinked,
    ChildReported,
    Event,
    Friction,
    Origin,
    Task,
    TodoCompleted,
    TodoDropped,
    TodoFollowupSet,
    TodoOpened,
    UnitAdded,
    UnitDone,
    UnitDropped,
    UnitStarted,
    Watch,
)
from loopbook.run import Stop
from loopbook.testing.scenario_model import Step, step_of
from loopbook.testing.scenario_verbs import (
    Adopt,
    Append,
    Busy,
    Closed,
    Crash,
    Flowing,
    Fork,
    Host,
    HostChild,
    Jump,
    NewRun,
    Override,
    Prompt,
    Race,
    Reload,
    Settle,
    Snapshot,
    ToolUse,
    Wait,
    Where,
)

T = TypeVar("T")
UNITS = ("a", "b")
SESSIONS = ("s1", "s2", "s3")
#: The numbers that answers are made of: the first option or lowest level is as likely as all others.
NUMBERS = (0.0, 0.1, 0.2, 0.5, 0.7, 0.99)
_CHILDREN = ("c1", "c2")
_TODOS = ("t1", "t2")
WHERE: tuple[Where, ...] = get_args(Where)
#: The run of the settle that a step happens during.
SAME = "the same"


class Asking(NamedTuple):
    """What a judge is like in one step: its numbers, the kind of its failure, and what somebody else does
    while it thinks and before its answer is written."""

    numbers: tuple[float, ...]
    fails: str | None = None
    during: tuple[Step, ...] = ()
    before: tuple[Step, ...] = ()


class Turn(NamedTuple):
    """A piece of evidence, and the numbers of the judge that is asked about it."""

    event: Event
    numbers: tuple[float, ...]


def own(name: str) -> st.SearchStrategy[Event]:
    """One of the events that the machine has under a name."""
    return st.runner().flatmap(lambda machine: st.sampled_from(getattr(machine, name)))


def numbers() -> st.SearchStrategy[tuple[float, ...]]:
    """Numbers to make answers of."""
    return st.tuples(*[st.sampled_from(NUMBERS)] * 4)


def turns() -> st.SearchStrategy[Turn]:
    """Evidence, and what its judge says."""
    return st.builds(Turn, own("letters"), numbers())


def asking() -> st.SearchStrategy[Asking]:
    """A judge that thinks, with whatever happens meanwhile."""
    meanwhile = st.lists(inner(own("letters")), max_size=2).map(tuple)
    fails = st.sampled_from((None, None, None, "timeout"))
    return st.builds(Asking, numbers(), fails, meanwhile, meanwhile)


def settles() -> st.SearchStrategy[Settle]:
    """A run that comes to rest, mostly well; now and then a sub-agent's."""
    tools: Sequence[tuple[ToolUse, ...]] = (
        *[()] * 8,
        (ToolUse(name="goal_wait"),),
        (ToolUse(name="subagent"),),
        (ToolUse(name="subagent", child="c1"),),
        (ToolUse(name="subagent", input='{"child": "c1"}'),),
    )
    stops = st.sampled_from(("end", "end", "end", *get_args(Stop)))
    tool, session = st.sampled_from(tools), st.sampled_from(SESSIONS)
    twice = st.sampled_from((False, False, False, True))
    subagent = st.sampled_from((*[False] * 7, True))
    return st.builds(Settle, stop=stops, tools=tool, session=session, subagent=subagent, twice=twice)


def evidence(event: Event, unit: str | None = None) -> Step:
    """Evidence is recorded."""
    return Step("evidence", Append(event, unit))


def prompt(origin: Origin = "human") -> Step:
    """A prompt opens a run."""
    return Step("prompt", Prompt(text="go on", origin=origin))


_TODO_EVENTS = [
    event
    for todo in _TODOS
    for event in (
        TodoOpened(todo=todo, subject=f"do {todo}"),
        TodoOpened(todo=todo, subject=f"do {todo}", followup="issue 7"),
        TodoFollowupSet(todo=todo, followup="issue 8"),
        TodoFollowupSet(todo=todo, followup=" "),
        TodoCompleted(todo=todo),
        TodoDropped(todo=todo, why="gone"),
    )
]
_UNIT_EVENTS = [
    event
    for unit in UNITS
    for event in (
        UnitAdded(unit=unit, subject=f"part {unit}"),
        UnitStarted(unit=unit),
        UnitStarted(unit=unit),
        UnitDone(unit=unit),
        UnitDropped(unit=unit, why="gone"),
    )
]
_CHILD_EVENTS = [
    event
    for child in _CHILDREN
    for event in (
        *(ChildLinked(child=child, unit=unit) for unit in (None, *UNITS)),
        ChildLinked(child=child, accept=Accept(command="pytest")),
        *[ChildReported(child=child, ok=True, summary="done")] * 3,
        ChildReported(child=child, ok=False, summary="gave up", friction="no compiler"),
        *[ChildDropped(child=child, why="too long")] * 3,
    )
]
_NOTES: list[Event] = [
    Task(text="look"),
    Base(text="main"),
    Watch(text="ci"),
    Friction(text="slow", child="c1"),
]


def started(names: Sequence[str]) -> Iterator[Step]:
    """Units are added and started."""
    yield from (step_of(UnitAdded(unit=name, subject=f"part {name}")) for name in names)
    yield from (step_of(UnitStarted(unit=name)) for name in names)


def units() -> st.SearchStrategy[str | None]:
    """Whose evidence it is: the loop's, mostly."""
    return st.sampled_from((None, None, *UNITS))


def _recorded(*groups: list[Event]) -> st.SearchStrategy[Step]:
    return st.one_of(*map(st.sampled_from, groups)).map(step_of)


def records() -> st.SearchStrategy[Step]:
    """What moves no phase by itself: todos, units, notes."""
    return _recorded([*_TODO_EVENTS], [*_UNIT_EVENTS], _NOTES)


def of_children() -> st.SearchStrategy[Step]:
    """Children that go out and come back, what the host says of them, and the clock: on, and by jumps."""
    said = st.builds(
        HostChild,
        state=st.sampled_from(("out", "gone", "unknown")),
        last_write_ago=st.sampled_from((None, 5.0, 30.0, 31.0, 700.0, -5.0)),
    )
    hosts = st.builds(
        lambda child, state: Step("host", Host(children={child: state})), st.sampled_from(_CHILDREN), said
    )
    waits = st.sampled_from((1.0, 31.0, 700.0)).map(lambda seconds: Step("wait", Wait(seconds=seconds)))
    jumps = st.sampled_from((-3600.0, 86400.0)).map(lambda seconds: Step("clock", Jump(seconds=seconds)))
    return st.one_of(_recorded([*_CHILD_EVENTS]), _recorded([*_CHILD_EVENTS]), hosts, waits, jumps)


def of_processes() -> st.SearchStrategy[Step]:
    """What happens to processes and sessions; and the end by hand."""
    crashes = tuple(Step("crash", Crash(where=where)) for where in WHERE)
    races = tuple(Step("race", Race(sessions=sessions)) for sessions in (SESSIONS, SESSIONS[:2]))
    adopts = tuple(Step("adopt", Adopt(session=session)) for session in SESSIONS)
    reload, keep = Step("reload", Reload(value=True)), Step("snapshot", Snapshot(value=True))
    fork = Step("fork", Fork(value=True))
    ends = tuple(Step("closed", Closed(anyway=anyway)) for anyway in (False, True))
    return st.sampled_from((*crashes, *races, *adopts, reload, reload, keep, fork, *ends))


def inner(events: st.SearchStrategy[Event]) -> st.SearchStrategy[Step]:
    """What somebody else does while a judge thinks, or just before its answer is written."""
    others = (
        Step("new_run", NewRun(value=True)),
        *[Step("busy", Busy(value=True))] * 2,
        Step("settle", Settle(run=SAME, session="s2")),
        Step("settle", Settle(run="another", session="s3")),
        Step("closed", Closed(anyway=True)),
        *map(prompt, get_args(Origin)[:2]),
    )
    seldom = st.one_of(records(), _recorded([*_CHILD_EVENTS]))
    return st.one_of(events.map(evidence), seldom, st.sampled_from(others), st.sampled_from(others))


def of_run(step: Step, run: str) -> Step:
    """A step that happens during the settle of a run."""
    verb = step.verb
    if isinstance(verb, Settle) and verb.run == SAME:
        return step._replace(verb=verb.model_copy(update={"run": run}))
    return step


def answered(step: Step, judge: Override) -> Step:
    """A step, and those within it, with the answers that were given in it."""
    verb = step.verb
    if isinstance(verb, Flowing) and not (verb.judge and verb.judge.fails):
        verb = verb.model_copy(update={"judge": judge})
    return step._replace(
        verb=verb,
        during=tuple(answered(one, judge) for one in step.during),
        before_append=tuple(answered(one, judge) for one in step.before_append),
    )
