"""Running scenarios: each in a fresh book, step by step, to the first difference.

Theory. A ``World`` is what a scenario plays in: books, the loop, a clock that only ``wait`` moves,
what the host says of children. A verb that writes goes through the same calls as an embedder's.
What needs the flow of advice (settle, close, race, crash) is the *driver's* business, chosen by
``--as``. This version has no advisor: its one driver writes what a host would write (the
settled run), and says of every step that needs more that it cannot be run. Such a scenario has
not passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from loopbook.entry import Draft
from loopbook.errors import InvalidEvent, Refused, UnknownKind, UnknownUnit
from loopbook.events import Judged, LoopClosed, Noticed, Prompted, RunSettled
from loopbook.loop import Books, Loop
from loopbook.projections import phases
from loopbook.run import Call, ChildState, Observed
from loopbook.testing.scenario_model import (
    ADVICE,
    Adopt,
    Append,
    As,
    Closed,
    Crash,
    Expect,
    Host,
    Prompt,
    Race,
    Reload,
    Reopen,
    Scenario,
    Settle,
    Step,
    Wait,
)

#: When every scenario begins.
START = datetime(2030, 1, 1, tzinfo=UTC)
NEEDS_ADVISOR = "this step needs the second-thought advisor, which is not part of this version"
#: Variables that make a session a sub-agent's when one of them is set and not empty.
SUBAGENT = ("PI_SUBAGENT_ID", "PI_SUBAGENT_CHILD")


class Difference(NamedTuple):
    """Where what was seen first left what was expected."""

    line: int
    step: str
    what: str
    expected: str
    seen: str

    def __str__(self) -> str:
        if not self.expected:
            return f"{self.step}: {self.what}"
        return f"{self.step}: {self.what}: expected {self.expected}, seen {self.seen}"


class Result(NamedTuple):
    """A scenario that was run; it has passed when there is no difference."""

    scenario: Scenario
    difference: Difference | None

    @property
    def passed(self) -> bool:
        """Whether every step did what was expected."""
        return self.difference is None


class CannotRun(Exception):
    """Raised inside a run when a step needs what this version does not have."""


class Clock:
    """A clock that stands still until somebody waits."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> None:
        """Move it on."""
        self.now += timedelta(seconds=seconds)


class World:
    """What one scenario plays in. ``url`` must outlive a reload: ``memory:`` does not."""

    def __init__(self, scenario: Scenario, url: str) -> None:
        self.head = scenario.head
        self.clock = Clock()
        self.children: dict[str, ChildState] = {}
        self.session = self.head.session
        self.runs = 0
        self.prompts = 0
        self._url = url
        self.books = self._opened()
        self._loop: Loop | None = None
        if spec := self.head.loop:
            self._loop = self.books.start(
                spec.kind, spec.intent, anchor=spec.anchor, review_tier=spec.review_tier
            )

    def _opened(self) -> Books:
        return Books.open(self._url, session=self.session, clock=self.clock)

    @property
    def loop(self) -> Loop:
        """The open loop."""
        if self._loop is None:
            raise CannotRun(
                "with no loop open this step needs the session's own book, which is not part of this version"
            )
        return self._loop

    def adopt(self, session: str) -> None:
        """Let another session go on with the loop."""
        self._loop, self.session = self.books.adopt(self.loop.id, session), session

    def reload(self) -> None:
        """Forget all that is in memory: the loop is folded again from its store."""
        loop_id = self.loop.id
        self.books.close()
        self.books = self._opened()
        self._loop = self.books.loop(loop_id)

    def record(self, draft: Draft) -> None:
        """Write as the current session."""
        self.loop.record(draft, session=self.session)

    def settled(self, settle: Settle) -> RunSettled:
        """The settled run as a host would hand it in."""
        self.runs += 1
        run = settle.run or f"run-{self.runs}"
        calls = tuple(
            Call(ref=f"{run}-{i}", tool=tool.name, kind="agent" if tool.child else "other", child=tool.child)
            for i, tool in enumerate(settle.tools)
        )
        observed = Observed(
            now=self.clock.now,
            children=dict(self.children),
            subagent=any(self.head.env.get(name) for name in SUBAGENT),
        )
        return RunSettled(run=run, stop=settle.stop, calls=calls, calls_total=len(calls), observed=observed)

    def close(self) -> None:
        """Put the books away."""
        self.books.close()


class Driver(Protocol):
    """One way to drive the flow of advice: what ``--as`` chooses among."""

    def take(self, world: World, step: Step) -> None:
        """Take a step that is the flow's (settle, close, crash, race), or raise ``CannotRun``."""


class NoAdvisor:
    """Writes what a host would write; what an advisor would have to answer cannot be run."""

    def take(self, world: World, step: Step) -> None:
        """Append a settled run once, however often it fires; refuse everything else."""
        settle = step.verb
        if not isinstance(settle, Settle):
            raise CannotRun(NEEDS_ADVISOR)
        settled = world.settled(settle)
        draft = Draft(settled, host_ref=f"settled:{settled.run}")
        for _ in range(2 if settle.twice else 1):
            world.loop.record(draft, session=settle.session or world.session)
        if world.head.judge or settle.judge or settle.during or step.expect.model_fields_set & ADVICE:
            raise CannotRun(NEEDS_ADVISOR)


DRIVERS: Mapping[As, Driver] = {"async": NoAdvisor(), "blocking": NoAdvisor(), "host": NoAdvisor()}


def run_scenario(scenario: Scenario, url: str | None = None, driver: As = "async") -> Result:
    """Run one scenario in a new loop of the store at ``url``, or in a store of its own.

    >>> from loopbook.testing.scenario_file import parse_scenarios
    >>> text = "{scenario: s, loop: {kind: fix, intent: i}, steps: [{wait: 1, expect: {verify: stale}}]}"
    >>> print(run_scenario(parse_scenarios(text, "a.yaml")[0]).difference)
    wait: verify: expected 'stale', seen 'none'
    """
    if url is not None:
        return _run(scenario, url, DRIVERS[driver])
    if not any(isinstance(step.verb, Reload | Crash | Race) for step in scenario.steps):
        return _run(scenario, "memory:", DRIVERS[driver])
    with TemporaryDirectory() as folder:  # what is opened anew, or twice, must lie somewhere
        return _run(scenario, f"{folder}/book.db", DRIVERS[driver])


def _run(scenario: Scenario, url: str, driver: Driver) -> Result:
    try:
        world = World(scenario, url)
    except (Refused, UnknownKind) as wrong:
        return Result(scenario, Difference(scenario.line, "loop", str(wrong), "", ""))
    try:
        found = (found for step in scenario.steps if (found := _take(world, step, driver)))
        return Result(scenario, next(found, None))
    finally:
        world.close()


def _take(world: World, step: Step, driver: Driver) -> Difference | None:
    """Take one step and look for its first difference."""

    def differs(what: str, expected: object = "", seen: object = "") -> Difference:
        return Difference(step.line, step.word, what, str(expected), str(seen))

    wanted = step.expect.error
    try:
        before = _entries(world) if wanted is not None else ()
        _do(world, step, driver)
    except CannotRun as wrong:
        return differs(str(wrong))
    except (Refused, InvalidEvent) as wrong:
        if wanted is None:
            return differs("outcome", "the step to be taken", f"it was refused: {wrong}")
        if wanted not in str(wrong):
            return differs("error", repr(wanted), repr(str(wrong)))
        if before != _entries(world):
            return differs("book", "no new entry after a refusal", "the book has changed")
    else:
        if wanted is not None:
            return differs("error", repr(wanted), "the step was taken")
    try:
        return next((differs(*found) for found in _looks(world, step.expect)), None)
    except (CannotRun, UnknownUnit) as wrong:
        return differs(str(wrong))


def _entries(world: World) -> tuple[object, ...]:
    return tuple(world.loop.entries())


def _do(world: World, step: Step, driver: Driver) -> None:
    match step.verb:
        case Append(event, unit):
            world.record(Draft(event, unit=unit))
        case Prompt(text=text, origin=origin):
            world.prompts += 1
            world.record(Draft(Prompted(prompt=f"prompt-{world.prompts}", text=text, origin=origin)))
        case Host(children=children):
            for name, child in children.items():
                ago = child.last_write_ago
                written = None if ago is None else world.clock.now - timedelta(seconds=ago)
                world.children[name] = ChildState(state=child.state, last_write=written)
        case Wait(seconds=seconds):
            world.clock.wait(seconds)
        case Reload():
            world.reload()
        case Adopt(session=session):
            world.adopt(session)
        case Reopen():
            world.loop.reopen()
        case Closed(anyway=anyway):
            _close(world, anyway=anyway)
        case _:
            driver.take(world, step)


def _close(world: World, *, anyway: bool) -> None:
    """End the loop: over what stands, or, asked by nobody, only when nothing is missing."""
    position = phases.position(world.loop.state)
    if position.missing and not anyway:
        raise Refused(
            f"the loop stays open: {'; '.join(position.missing)}; nothing was written; close it anyway"
        )
    world.record(Draft(LoopClosed(outcome="over_concerns" if anyway else "unjudged")))


Look = tuple[str, object, object]


def _looks(world: World, expect: Expect) -> Iterable[Look]:
    """What differs from the expectation, in the order it is looked at."""
    if expect.model_fields_set & ADVICE:
        raise CannotRun(NEEDS_ADVISOR)
    if wanted := expect.phase:
        position = phases.position(world.loop.state, wanted.unit)
        if wanted.current not in (None, position.current):
            yield "phase.current", repr(wanted.current), repr(position.current)
        if wanted.next not in (None, position.next):
            yield "phase.next", repr(wanted.next), repr(position.next)
        missing = "; ".join(position.missing)
        if wanted.missing is not None and wanted.missing not in missing:
            yield "phase.missing", f"{wanted.missing!r} in it", repr(missing)
    for what, wanted_value, see in _PLAIN:
        if (value := wanted_value(expect)) is not None and value != (seen := see(world.loop)):
            yield what, repr(value), repr(seen)


def _count(kind: type[Noticed] | type[Judged]) -> Callable[[Loop], int]:
    return lambda loop: sum(isinstance(entry.event, kind) for entry in loop.entries())


#: Expectations that are one value: the word, what is expected, what is seen.
_PLAIN: tuple[tuple[str, Callable[[Expect], object], Callable[[Loop], object]], ...] = (
    ("verify", lambda expect: expect.verify, lambda loop: phases.verify_state(loop.state)),
    ("closed", lambda expect: expect.closed, lambda loop: loop.state.life.outcome is not None),
    ("notices", lambda expect: expect.notices, _count(Noticed)),
    ("judgments", lambda expect: expect.judgments, _count(Judged)),
)
