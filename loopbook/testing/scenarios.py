"""Running scenarios: each in a fresh book, step by step, to the first difference.

Theory. A ``World`` is what a scenario plays in: books, the loop, a clock that only ``wait`` moves,
what the host says of children. A verb that writes goes through the same calls as an embedder's.
The flow of advice (settle, close, race) is driven by one of ``drivers``, chosen by ``--as``; what it
did is kept as ``Seen``, and the expectations are looked up there and in the book.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from loopbook.book import Book
from loopbook.engine import Driven
from loopbook.entry import Draft, Entry
from loopbook.errors import InvalidEvent, Refused, UnknownKind, UnknownUnit
from loopbook.events import Judged, LoopClosed, Noticed, Prompted, RunSettled
from loopbook.ledger import Ledger
from loopbook.loop import Books, Loop
from loopbook.projections import phases
from loopbook.run import Call, ChildState, Observed
from loopbook.settlement import Advice, CloseAnswer, Settlement, Traced
from loopbook.testing.drivers import DRIVERS, Died, Driver, DyingBook, Script
from loopbook.testing.scenario_model import (
    Adopt,
    Append,
    As,
    Busy,
    Close,
    Closed,
    Crash,
    Expect,
    Host,
    NewRun,
    Override,
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
    """Raised inside a run when a step cannot be taken as the scenario has it."""


class Seen(NamedTuple):
    """What the flow did in one step: what was said, the trace, the packets, the answer to a close."""

    advice: tuple[Advice, ...] = ()
    trace: tuple[Traced, ...] = ()
    asked: tuple[str, ...] = ()
    closed: CloseAnswer | None = None

    @property
    def text(self) -> str:
        """All that was said."""
        return "\n".join(advice.text for advice in self.advice)

    @property
    def quiet(self) -> str | None:
        """The reason of the last silence."""
        return next((one.reason for one in reversed(self.trace) if one.reason), None)


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
        self.idle = True
        self.crash: str | None = None
        self.seen = Seen()
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
            raise CannotRun("this step needs a loop, and none is open; give the scenario one")
        return self._loop

    @property
    def ledger(self) -> Ledger:
        """The session's current book: the loop, or with none open its own."""
        return self._loop or self.books.own(self.session)

    def adopt(self, session: str) -> None:
        """Let another session go on with the loop."""
        self._loop, self.session = self.books.adopt(self.loop.id, session), session

    def reload(self) -> None:
        """Forget all that is in memory: the loop is folded again from its store."""
        self.books.close()
        self.books = self._opened()
        self._loop = self.books.loop(self._loop.id) if self._loop else None

    def record(self, draft: Draft) -> None:
        """Write as the current session."""
        self.ledger.record(draft, session=self.session)

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


def _entries(world: World) -> tuple[Entry, ...]:
    return tuple(world.ledger.entries())


def _do(world: World, step: Step, driver: Driver) -> None:
    world.seen = Seen()
    match step.verb:
        case Settle() as verb:
            _settle(world, step, verb, driver)
        case Close() as verb:
            _declare(world, verb, driver)
        case Race(sessions=sessions):
            _race(world, sessions, driver)
        case Crash(where=where):
            world.crash = where
        case _:
            _write(world, step)


def _write(world: World, step: Step) -> None:
    """Take a step that only writes, or moves the world."""
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
        case NewRun():
            world.prompts += 1
            world.record(Draft(Prompted(prompt=f"prompt-{world.prompts}", text="another run")))
        case Busy():
            world.idle = False


def _settle(world: World, step: Step, settle: Settle, driver: Driver) -> None:
    """Let a run settle, once or twice; where the process dies, everything is opened anew."""
    run, world.idle = Draft(world.settled(settle)), True
    judge = _script(world, settle.judge, lambda: _meanwhile(world, step))
    for _ in range(2 if settle.twice else 1):
        ledger = world.ledger
        if world.crash:
            book = cast("Book", DyingBook(ledger.book, world.crash))  # it does what a flow asks of a book
            ledger = Ledger(book, ledger.stream, world.session)
        try:
            _note(world, judge, driver.one(_settling(world, ledger, run, settle.session, judge), judge))
        except Died:
            world.reload()
        world.crash = None


def _meanwhile(world: World, step: Step) -> None:
    for inner in step.during:
        _write(world, inner)


def _settling(
    world: World, ledger: Ledger, run: Draft, session: str | None, judge: Script | None
) -> Driven[Settlement]:
    by = session or world.session
    return ledger.settling(run, judge=judge is not None, session=by, idle=lambda: world.idle)


def _declare(world: World, close: Close, driver: Driver) -> None:
    """Let a close be declared."""
    judge = _script(world, close.judge)
    answer = driver.one(
        world.loop.closing(close.claim, judge=judge is not None, session=world.session), judge
    )
    _note(world, judge, answer)


def _race(world: World, sessions: tuple[str, ...], driver: Driver) -> None:
    """Let several sessions, each with the store opened for itself, settle one run at once."""
    run, world.idle = Draft(world.settled(Settle())), True
    judge = _script(world, None, together=len(sessions))
    opened = [Books.open(world.books.url, session=by, clock=world.clock) for by in sessions]
    try:
        ledgers = [Ledger(books.book, world.ledger.stream, books.session) for books in opened]
        flows = [_settling(world, ledger, run, ledger.session, judge) for ledger in ledgers]
        for came in driver.race(flows, judge):
            _note(world, judge, came)
    finally:
        for books in opened:
            books.close()


def _script(
    world: World, override: Override | None, during: Callable[[], None] = lambda: None, together: int = 1
) -> Script | None:
    """The judge of a step; nobody where neither the scenario nor the step has one."""
    if world.head.judge is None and override is None:
        return None
    return Script(world.head.judge, override, during, together)


def _note(world: World, judge: Script | None, came: Settlement | CloseAnswer) -> None:
    """Add to what was seen in this step."""
    advice = (came.advice,) if came.advice else ()
    asked = tuple(json.dumps(packet.state, ensure_ascii=False) for packet in judge.asked) if judge else ()
    closed = came if isinstance(came, CloseAnswer) else None
    world.seen = Seen((*world.seen.advice, *advice), (*world.seen.trace, *came.trace), asked, closed)


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
    yield from _advice_looks(world.seen, expect)
    if wanted := expect.phase:
        position = phases.position(world.ledger.state, wanted.unit)
        if wanted.current not in (None, position.current):
            yield "phase.current", repr(wanted.current), repr(position.current)
        if wanted.next not in (None, position.next):
            yield "phase.next", repr(wanted.next), repr(position.next)
        missing = "; ".join(position.missing)
        if wanted.missing is not None and wanted.missing not in missing:
            yield "phase.missing", f"{wanted.missing!r} in it", repr(missing)
    for what, wanted_value, see in _PLAIN:
        if (value := wanted_value(expect)) is not None and value != (seen := see(world)):
            yield what, repr(value), repr(seen)


def _advice_looks(seen: Seen, expect: Expect) -> Iterable[Look]:
    """What differs in what was said and asked."""
    for words, there, text in (
        (expect.says, True, seen.text),
        (expect.not_says, False, seen.text),
        (expect.asked, True, "\n".join(seen.asked)),
        (expect.asked_not, False, "\n".join(seen.asked)),
    ):
        what = "said" if text is seen.text else "asked"
        for word in words:
            if (word in text) is not there:
                yield what, f"{word!r} {'in' if there else 'not in'} it", repr(text)
    if expect.concerns is not None:
        concerns = seen.closed.concerns if seen.closed else ()
        if sorted(expect.concerns) != sorted(concerns):
            yield "concerns", repr(expect.concerns), repr(concerns)


def _count(kind: type[Noticed] | type[Judged]) -> Callable[[World], int]:
    return lambda world: sum(isinstance(entry.event, kind) for entry in world.ledger.entries())


def _judged_unit(world: World) -> str | None:
    return next((one.unit for one in reversed(world.seen.trace) if one.judged), None)


#: Expectations that are one value: the word, what is expected, what is seen.
_PLAIN: tuple[tuple[str, Callable[[Expect], object], Callable[[World], object]], ...] = (
    ("judged", lambda expect: expect.judged, lambda world: any(one.judged for one in world.seen.trace)),
    ("speaks", lambda expect: expect.speaks, lambda world: bool(world.seen.advice)),
    (
        "continues",
        lambda expect: expect.continues,
        lambda world: any(one.continues for one in world.seen.advice),
    ),
    ("quiet", lambda expect: expect.quiet, lambda world: world.seen.quiet),
    ("unit", lambda expect: expect.unit, _judged_unit),
    ("verify", lambda expect: expect.verify, lambda world: phases.verify_state(world.ledger.state)),
    ("closed", lambda expect: expect.closed, lambda world: world.ledger.state.life.outcome is not None),
    ("notices", lambda expect: expect.notices, _count(Noticed)),
    ("judgments", lambda expect: expect.judgments, _count(Judged)),
)
