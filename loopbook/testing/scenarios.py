"""Running scenarios: each in a fresh book, step by step, to the first difference.

Theory. A step is taken in a ``World`` and then looked at twice: for what its ``expect`` says, and for
what must always hold of any book (``watching``). The flow of advice is driven by one of ``drivers``,
chosen by ``--as``.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import NamedTuple

from loopbook.entry import Entry
from loopbook.errors import InvalidEvent, Refused, UnknownKind, UnknownUnit
from loopbook.kinds import Kind
from loopbook.limits import Options
from loopbook.testing.drivers import DRIVERS, Driver
from loopbook.testing.looks import looks
from loopbook.testing.scenario_model import As, Scenario, Step
from loopbook.testing.scenario_verbs import Crash, Race, Reload
from loopbook.testing.watching import Watch
from loopbook.testing.world import MEMORY, CannotRun, World


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


def run_scenario(
    scenario: Scenario,
    url: str | None = None,
    driver: As = "async",
    *,
    kind: Kind | None = None,
    options: Options | None = None,
) -> Result:
    """Run one scenario in a new loop of the store at ``url``, or in a store of its own.

    ``kind`` may be the loop's where it is not one of those at hand; ``options`` name the advisors.

    >>> from loopbook.testing.scenario_file import parse_scenarios
    >>> text = "{scenario: s, loop: {kind: fix, intent: i}, steps: [{wait: 1, expect: {verify: stale}}]}"
    >>> print(run_scenario(parse_scenarios(text, "a.yaml")[0]).difference)
    wait: verify: expected 'stale', seen 'none'
    """
    in_memory = not any(isinstance(step.verb, Reload | Crash | Race) for step in scenario.steps)
    with TemporaryDirectory() as folder:  # what is opened anew, or twice, must lie somewhere
        where = url or (MEMORY if in_memory else f"{folder}/book.db")
        try:
            world = World(scenario.head, where, kinds={kind.name: kind} if kind else None, options=options)
        except (Refused, UnknownKind) as wrong:
            return Result(scenario, Difference(scenario.line, "loop", str(wrong), "", ""))
        try:
            return Result(scenario, _run(scenario, world, DRIVERS[driver]))
        finally:
            world.close()


def _run(scenario: Scenario, world: World, driver: Driver) -> Difference | None:
    watch = Watch(world)
    for step in scenario.steps:
        if found := _take(world, watch, step, driver):
            return found
    told = watch.at_the_end()
    return Difference(scenario.line, "at the end", "always", "nothing wrong", told[0]) if told else None


def _take(world: World, watch: Watch, step: Step, driver: Driver) -> Difference | None:
    """Take one step and look for its first difference."""

    def differs(what: str, expected: object = "", seen: object = "") -> Difference:
        return Difference(step.line, step.word, what, str(expected), str(seen))

    wanted = step.expect.error
    try:
        before = _entries(world) if wanted is not None else ()
        watch.take(step, driver)
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
    if told := watch.wrong(step):
        return differs("always", "nothing wrong", told[0])
    try:
        return next((differs(*found) for found in looks(world, step.expect)), None)
    except (CannotRun, UnknownUnit) as wrong:
        return differs(str(wrong))


def _entries(world: World) -> tuple[Entry, ...]:
    return tuple(world.ledger.entries())
