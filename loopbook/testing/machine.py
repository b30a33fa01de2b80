"""A state machine over books: whatever happens to a loop, what must always hold holds.

Theory. A rule is a step of a scenario, so a machine does nothing that a scenario file could not say, and
what it finds is told as one: its message ends with a scenario that shows the same to
``loopbook spec run``. After each step, and for the whole book at the end, everything in ``watching`` is
looked for. Ids are few, so that they meet, and much of what is tried is refused; then the book must be
as it was. What a judge answers is a number for each question, whatever the question: a kind or an
advisor of your own is asked its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, get_args

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from loopbook.advisors.shape import Advisor
from loopbook.entry import Entry
from loopbook.errors import InvalidEvent, Refused
from loopbook.events import Event, Origin, Tier
from loopbook.kinds import Kind
from loopbook.kinds_at_hand import load_kinds
from loopbook.limits import MAX_CONTINUATIONS, Options
from loopbook.testing import moves
from loopbook.testing.alphabet import letters
from loopbook.testing.answers import Numbers
from loopbook.testing.drivers import DRIVERS
from loopbook.testing.moves import SESSIONS, Asking, Turn
from loopbook.testing.scenario_model import Expect, Head, LoopSpec, Step
from loopbook.testing.scenario_text import to_yaml
from loopbook.testing.scenario_verbs import (
    Answers,
    Close,
    Deliver,
    Flowing,
    Override,
    Reopen,
    Settle,
)
from loopbook.testing.watching import Watch
from loopbook.testing.world import MEMORY, World

#: What most steps of a judge that is asked at once are like: it agrees.
AGREES = Answers(move="advance", done=0.9, review_tier="none", quality=3.0)


def book_machine(
    *kinds: Kind | str,
    advisors: Sequence[Advisor] | None = None,
    store: str = MEMORY,
    max_continuations: int | None = MAX_CONTINUATIONS,
    evidence: Iterable[Event] = (),
) -> type[BookMachine]:
    """A state machine over loops of these kinds, by name or of your own (default: the built-in ones).

    ``advisors`` are those that may speak (default: all). In a ``store`` that outlives its process books are
    opened anew when one dies. ``evidence`` is recorded beside what the kinds themselves ask for. Run it as
    hypothesis runs one: by its ``TestCase``, or with ``run_state_machine_as_test``. Raises ``KeyError`` for
    a kind that is not there.

    >>> from hypothesis import settings
    >>> from hypothesis.stateful import run_state_machine_as_test
    >>> few = settings(max_examples=3, stateful_step_count=10, deadline=None, database=None)
    >>> run_state_machine_as_test(book_machine("chore", store="memory:"), settings=few)
    """
    known = load_kinds()
    chosen = tuple(known[kind] if isinstance(kind, str) else kind for kind in kinds or known)

    class Machine(BookMachine):
        KINDS = chosen
        OPTIONS = Options(advisors=advisors, max_continuations=max_continuations)
        STORE = store
        EVIDENCE = tuple(evidence)

    return Machine


class BookMachine(RuleBasedStateMachine):
    """What ``book_machine`` makes machines of; claims of your own are invariants over its ``entries``."""

    KINDS: ClassVar[tuple[Kind, ...]] = ()
    OPTIONS: ClassVar[Options] = Options()
    STORE: ClassVar[str] = MEMORY
    EVIDENCE: ClassVar[tuple[Event, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.runs = 0
        self.letters: tuple[Event, ...] = ()

    @initialize(
        kind=st.runner().flatmap(lambda machine: st.sampled_from(machine.KINDS)),
        tier=st.sampled_from(get_args(Tier)),
        judge=st.sampled_from((*[True] * 7, False)),
        units=st.sampled_from(((), (), moves.UNITS)),
    )
    def begin(self, kind: Kind, tier: Tier, judge: bool, units: tuple[str, ...]) -> None:
        """A loop is opened, with units that are started or none."""
        spec = LoopSpec(kind=kind.name, intent="Add a retry", review_tier=tier)
        self.head = Head(scenario="what the state machine found", loop=spec, steps=[])
        if judge:
            self.head = self.head.model_copy(update={"judge": AGREES})
        self.letters = (*letters(kind), *self.EVIDENCE)
        kinds = {one.name: one for one in self.KINDS}
        self.world = World(self.head, self.STORE, kinds=kinds, options=self.OPTIONS)
        self.watch = Watch(self.world)
        for step in moves.started(units):
            self.take(step)

    # --- what is recorded -------------------------------------------------------------------

    @rule(events=st.lists(moves.own("letters"), min_size=1, max_size=3), unit=moves.units())
    def evidence(self, events: list[Event], unit: str | None) -> None:
        """Evidence, of the loop or of a unit."""
        for event in events:
            self.take(moves.evidence(event, unit))

    @rule(step=moves.records())
    def record(self, step: Step) -> None:
        """What moves no phase by itself: todos, units, notes."""
        self.take(step)

    @rule(step=moves.of_children())
    def child(self, step: Step) -> None:
        """A child goes out and comes back, also late or twice; what the host says of it; the clock."""
        self.take(step)

    @rule(origin=st.sampled_from(get_args(Origin)))
    def prompt(self, origin: Origin) -> None:
        """A prompt opens a run."""
        self.take(moves.prompt(origin))

    # --- what is asked ----------------------------------------------------------------------

    @rule(turns=st.lists(moves.turns(), min_size=1, max_size=4), unit=moves.units())
    def work(self, turns: list[Turn], unit: str | None) -> None:
        """Run after run leaves evidence and comes to rest."""
        self._go_on()
        for turn in turns:
            self.take(moves.evidence(turn.event, unit))
            self.settle(Settle(), Asking(turn.numbers))

    @rule(event=moves.own("letters"), unit=moves.units(), verb=moves.settles(), asking=moves.asking())
    def turn(self, event: Event, unit: str | None, verb: Settle, asking: Asking) -> None:
        """A run leaves evidence and comes to rest, whatever happens meanwhile."""
        self._go_on()
        self.take(moves.evidence(event, unit))
        self.settle(verb, asking)

    @rule(verb=moves.settles(), asking=moves.asking())
    def settle(self, verb: Settle, asking: Asking) -> None:
        """A run comes to rest and leaves nothing."""
        self.runs += 1
        self.ask("settle", verb.model_copy(update={"run": f"r{self.runs}"}), asking)

    @precondition(lambda self: self.runs)
    @rule(asking=moves.asking(), session=st.sampled_from(SESSIONS))
    def settle_again(self, asking: Asking, session: str) -> None:
        """The newest run is settled again."""
        self.ask("settle", Settle(run=f"r{self.runs}", session=session), asking)

    @rule(asking=moves.asking())
    def close(self, asking: Asking) -> None:
        """A close is declared."""
        self._go_on()
        self.ask("close", Close(claim="It is done."), asking)

    @precondition(lambda self: self.world.later)
    @rule(asking=moves.asking())
    def deliver(self, asking: Asking) -> None:
        """What was put off is asked."""
        self.ask("deliver", Deliver(), asking)

    # --- what happens to the process --------------------------------------------------------

    @rule(step=moves.of_processes())
    def process(self, step: Step) -> None:
        """A process dies in the next flow, all that is in memory is lost, another session goes on."""
        self.take(step)

    def _go_on(self) -> None:
        if self.watch.closed:
            self.take(Step("reopen", Reopen(value=True)))

    # --- taking a step ----------------------------------------------------------------------

    def ask(self, word: str, verb: Settle | Close | Deliver, asking: Asking) -> None:
        """Take a step in which a judge is asked; it is kept with the answers that were heard in it."""
        if self.head.judge and asking.fails:
            verb = verb.model_copy(update={"judge": Override(fails=asking.fails)})
        during, before = (
            tuple(moves.of_run(step, f"r{self.runs}") for step in steps)
            for steps in (asking.during, asking.before)
        )
        answering = self.world.answering = Numbers(asking.numbers)
        self.take(Step(word, verb, during=during, before_append=before), answering)

    def take(self, step: Step, answering: Numbers | None = None) -> None:
        """Take a step, and look for what must not be. Raises ``AssertionError`` with a scenario of it."""
        self.steps.append(step)
        try:
            wrong = self._taken(step)
        except Exception as error:
            error.add_note(f"It is raised in:\n\n{self.scenario()}")
            raise
        finally:
            self.world.answering = None
            if answering and answering.said:
                self.steps[-1] = moves.answered(self.steps[-1], answering.as_judge())
        self._none(wrong)

    def _taken(self, step: Step) -> list[str]:
        before = len(self.watch.entries)
        try:
            self.watch.take(step, DRIVERS["host"])
        except (Refused, InvalidEvent):
            self.steps[-1] = step._replace(expect=Expect(error=""))
            told = self.watch.wrong()
            if len(self.watch.entries) > before and not isinstance(step.verb, Flowing):
                told.append(f"{step.word} was refused and has written")
            return told
        return self.watch.wrong(step)

    def _none(self, wrong: list[str]) -> None:
        if wrong:
            raise AssertionError("\n".join([*wrong, "", "It happens in:", "", self.scenario()]))

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries of the book so far."""
        return self.watch.entries if hasattr(self, "watch") else ()

    def scenario(self) -> str:
        """What was done so far, as a scenario file."""
        return to_yaml(self.head, self.steps)

    def teardown(self) -> None:
        """The whole book is read anew, and decided again."""
        if not hasattr(self, "watch"):
            return
        try:
            self.world.reload()
            self._none([*self.watch.wrong(), *self.watch.at_the_end()])
        finally:
            self.world.close()
