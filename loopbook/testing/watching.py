"""What must always hold of a world, looked for after each of its steps.

Theory. The entries alone show most of it (``always``). Beside them the world knows what was acknowledged,
and can ask a book what it has come to: that is the fold of its entries, whoever reads it, and nothing
that was read before is ever different or gone. What a judge's failure brings about is compared with what
the same state would have come to with no judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from loopbook.advisors.shape import Advisor, Policy
from loopbook.audit.replay import replay
from loopbook.engine import ADVISORS
from loopbook.entry import Draft, Entry
from loopbook.events import Noticed
from loopbook.judges import Failure
from loopbook.projections import BookState
from loopbook.settlement import CloseAnswer, Flow, Settlement, close, settle
from loopbook.testing.always import Always
from loopbook.testing.drivers import Driver
from loopbook.testing.play import take
from loopbook.testing.scenario_model import Step
from loopbook.testing.scenario_verbs import Busy, Close, Flowing, Settle
from loopbook.testing.sheet import Sheet
from loopbook.testing.world import World


class Watch:
    """Watches a world. ``entries`` are those of its book so far."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.entries: list[Entry] = []
        options = world.books.options
        self._advisors: tuple[Advisor, ...] = tuple(
            ADVISORS if options.advisors is None else options.advisors
        )
        beside = frozenset(one.name for one in self._advisors if not one.takes_turn)
        self._always = Always(options.max_continuations, beside=beside)
        self.wrong()

    @property
    def closed(self) -> bool:
        """Whether the loop is closed."""
        return self._always.state.life.outcome is not None

    def take(self, step: Step, driver: Driver) -> None:
        """Take a step. Raises what ``take`` does."""
        take(self.world, step, driver)

    def wrong(self, step: Step | None = None) -> list[str]:
        """What must not be of what is new in the book; ``step``: the one that was taken."""
        new = list(self.world.ledger.entries(after=len(self.entries)))
        before = self._always.state
        told = [what for entry in new for what in self._always.look(entry)]
        if new and self.entries and new[0].prev != self.entries[-1].sum:
            told.append(f"seq {new[0].seq}: what came before it is not what it was")
        self.entries += new
        told += self._lost()
        if self.world.ledger.state != self._always.state:
            told.append(f"the state at {self._always.state.version} is not the fold of the entries")
        if step is not None and isinstance(step.verb, Flowing):
            told += self._for_want_of_a_judge(step, before, new)
            told += self._to_a_busy_session(step)
        return told

    def _lost(self) -> Iterator[str]:
        """What was acknowledged and is not there."""
        for entry in self.world.acknowledged:
            if entry.seq > len(self.entries) or self.entries[entry.seq - 1].sum != entry.sum:
                yield f"seq {entry.seq}: {entry.event.type} was acknowledged and is not there"
        self.world.acknowledged.clear()

    def _for_want_of_a_judge(self, step: Step, before: BookState, new: list[Entry]) -> Iterator[str]:
        """What was said because the judge failed, and would not be with no judge."""
        verb = step.verb
        if not (isinstance(verb, Settle | Close) and verb.judge and verb.judge.fails):
            return
        if step.during or step.before_append:
            return  # the state it was said on is another one
        could = self._with_no_judge(verb, before)
        for entry in new:
            said = entry.event
            if isinstance(said, Noticed) and (said.advisor, said.key) not in could:
                why = "says for want of an answer what it would not say with no judge"
                yield f"seq {entry.seq}: {said.advisor} {why}"

    def _to_a_busy_session(self, step: Step) -> Iterator[str]:
        """What was said though the session was busy by then, and nobody else settled anything."""
        inner = (*step.during, *step.before_append)
        if isinstance(step.verb, Close) or any(isinstance(one.verb, Flowing) for one in inner):
            return
        if not self.world.idle and any(isinstance(one.verb, Busy) for one in step.during):
            of_close = {entry.seq for entry in self.entries if getattr(entry.event, "run", None) is None}
            yield from (
                f"{one.advisor} speaks although the session is busy"
                for one in self.world.seen.advice
                if one.seq not in of_close  # a close is judged inside its run, busy as it is
            )

    def _with_no_judge(self, verb: Settle | Close, state: BookState) -> set[tuple[str, str]]:
        """Who would have said what on a state, had there been no judge."""
        run, advisors = self.world.run, self._advisors

        def flow(now: BookState) -> Flow[Settlement | CloseAnswer]:
            if isinstance(verb, Close) or run is None:
                return (yield from close(now, "", advisors, judge=False))
            return (yield from settle(now, Draft(run), advisors, judge=False))

        _, sheet = Sheet(state, tuple(self.entries[: state.version])).drive(
            flow, lambda _: Failure("no-judge")
        )
        said = (entry.event for entry in sheet.entries[state.version :])
        return {(one.advisor, one.key) for one in said if isinstance(one, Noticed)}

    def at_the_end(self) -> list[str]:
        """What must not be of the whole book: read from its beginning, and every decision decided again."""
        told = []
        if list(self.world.ledger.entries()) != self.entries:
            told.append("the entries are not what they were")
        decided = replay(self.entries, {one.name: _itself(one) for one in self._advisors}).decisions
        differ = (one for one in decided if one.verdict.outcome != "same")
        return told + [f"seq {one.seq}: decided again, it is not the same: {one.verdict}" for one in differ]


def _itself(advisor: Advisor) -> Callable[[Policy], Advisor]:
    """The maker of an advisor whose policy does not change while a world lasts."""
    return lambda _: advisor
