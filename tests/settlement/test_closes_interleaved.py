"""A close under any interleaving: several advisors, crashes, deliveries, and the work going on meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from loopbook import events as e
from loopbook.advisors.asking import Failure
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Advisor
from loopbook.entry import Draft
from loopbook.projections import position
from loopbook.settlement import Flow, Later, close, deliver, settle
from loopbook.testing import broken
from tests.plain import Closer, Facts, Plain
from tests.settlement.given import FINE, finished

#: What a judge says to whoever asks: all agree, second thought objects, the closers object, nobody answers.
_SAID = st.sampled_from([FINE, FINE, {**FINE, "done": 0.1}, {**FINE, "ok": 0.1}, Failure("timeout")])
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["close", "settle", "deliver", "dies", "change", "source", "todo", "reopen"]),
        _SAID,
        st.sampled_from([True, True, True, False]),
    ),
    max_size=14,
)
_ADVISORS = st.permutations(
    [SecondThought(), Closer("quick"), Closer("slow", "later"), Facts("facts", "now"), Plain("talker")]
).flatmap(lambda all_: st.integers(1, 5).map(lambda many: tuple(all_[:many])))


class Session:
    """What one program does to a table, with its advisors."""

    def __init__(self, advisors: Sequence[Advisor]) -> None:
        self.table = finished()
        self.advisors = advisors
        self.later: list[Later] = []
        self.runs = 0

    def take(self, step: str, said: dict[str, object] | Failure, *, judge: bool) -> None:
        table = self.table
        closed = table.state.life.outcome is not None
        if step == "reopen" and closed:
            table.add(e.LoopReopened())
        if step == "deliver":
            for later in self.later:
                table.drive(deliver(table.state, later), said)
            self.later = []
        if closed:
            return
        match step:
            case "change":
                table.add(e.Change(summary="one more", diff_summary=f"+{table.state.version}"))
                table.check()
            case "source":
                table.add(e.Source(locator="rfc9110"))
            case "todo":
                table.add(e.TodoOpened(todo=f"t{table.state.version}", subject="x", followup="issue 7"))
            case "close":
                self.later += table.close(said, judge=judge, advisors=self.advisors).later
            case "settle":
                self.settle(said, judge=judge)
            case "dies":
                self.dies(said)

    def settle(self, said: dict[str, object] | Failure, *, judge: bool = True) -> None:
        self.runs += 1
        run = f"r{self.runs}"
        self.later += self.table.settle(run, said, judge=judge, advisors=self.advisors).later

    def dies(self, said: dict[str, object] | Failure) -> None:
        """A close, or a settle, that ends at one of its yields, whichever comes up."""
        table, self.runs = self.table, self.runs + 1
        run = Draft(e.RunSettled(run=f"r{self.runs}"))
        flow: Flow[object] = close(table.state, "It is done.", self.advisors)
        if table.state.life.declared:
            flow = settle(table.state, run, self.advisors)
        with suppress(StopIteration):
            step = next(flow)
            for _ in range(table.state.version % 7):
                step = flow.send(table.reply(step, said))
        flow.close()


@given(_ADVISORS, _STEPS)
def test_no_loop_ends_over_what_anybody_has_against_it_and_none_waits_for_ever(
    advisors: tuple[Advisor, ...], steps: list[tuple[str, dict[str, object] | Failure, bool]]
) -> None:
    session = Session(advisors)
    table = session.table
    for step, said, judge in steps:
        session.take(step, said, judge=judge)
        assert broken(table.entries) == []
        if table.state.life.outcome is not None:
            assert not position(table.state).missing
            assert table.state.work.last["source"] or not any(isinstance(one, Facts) for one in advisors)
    for _ in range(
        3 if table.state.life.declared else 0
    ):  # everybody agrees from here on, and the work goes on a little
        session.take("source", FINE, judge=True)
        session.take("change", FINE, judge=True)
        session.take("settle", FINE, judge=True)
        session.take("deliver", FINE, judge=True)
    assert not table.state.life.declared
