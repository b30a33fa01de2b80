"""The flow to the letter: what each decision leaves in the trace and in the book beside its notice."""

from __future__ import annotations

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Chosen, Failure, Likely, Noul, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import DecideNow, Gate, Scene
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.settlement import Advice, Ask, Later, Settlement, Traced, close, deliver, settle
from tests.flows import CONTENT, Table
from tests.plain import Plain


class Watcher(Plain):
    """Says nothing more of what it observes, which is about a unit; asks nobody where there is no judge."""

    def packet(self, state: BookState) -> Packet:
        return Packet({"changes": state.work.last["change"]}, {"ok": Noul("Is it?", "yes", "no")}, "a")

    def gate(self, state: BookState, scene: Scene) -> Gate:
        return DecideNow(observe=self.packet(state) if scene.judge else None)


def observing(table: Table) -> Later:
    """What a watcher has put off, once its advice has gone."""
    (later,) = table.settle(advisors=(Watcher("watcher"),)).later
    return later


def units() -> Table:
    table = Table()
    table.units("a", "b")
    return table


# --- what only observes --------------------------------------------------------------------------------


def test_an_answer_that_is_only_kept_is_traced_and_says_of_whom_it_was() -> None:
    table = units()
    later = observing(table)
    came = table.drive(deliver(table.state, later), {"ok": 0.5})
    assert came == Settlement(
        trace=(Traced("watcher", "asked", "a", ""), Traced("watcher", "observed", judged=True)),
        later=(),
        notes=(),
    )
    assert table.entries[-1].unit == "a"
    (judged,) = table.of(e.Judged)
    assert isinstance(judged, e.Judged)
    assert (judged.advisor, judged.run, judged.basis["observed"]) == ("watcher", "r1", True)


@pytest.mark.parametrize(
    ("answer", "reason", "detail", "asked", "cost"),
    [
        (Failure("timeout", "8 s"), "judge-failed", "timeout", 0, None),
        (Answer({"ok": Likely(0.5)}, cost_usd=0.25), "stale", "moved", 1, 0.25),
    ],
)
def test_what_could_not_be_observed_is_kept_with_its_reason_and_cost(
    answer: Answer | Failure, reason: str, detail: str, asked: int, cost: float | None
) -> None:
    table = units()
    later = observing(table)
    table.answers = [answer]
    table.thinking = [table.change if reason == "stale" else lambda: None]
    came = table.drive(deliver(table.state, later), {})
    assert came.trace[1:] == (Traced("watcher", "silent", "a", reason, detail),)
    (silence,) = table.of(e.PassedOver)
    assert isinstance(silence, e.PassedOver)
    assert (silence.advisor, silence.run, silence.reason, silence.detail) == ("watcher", "r1", reason, detail)
    assert (silence.asked, silence.cost_usd) == (asked, cost)
    assert silence.basis["observed"] is True
    assert table.entries[-1].unit == "a"


def test_what_is_observed_of_a_closed_loop_is_dropped() -> None:
    table = units()
    later = observing(table)
    table.add(e.LoopClosed(outcome="over_concerns"))
    before = table.state.version
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert table.state.version == before


def test_a_grown_book_is_looked_at_again_before_what_was_observed_is_kept() -> None:
    table = units()
    later = observing(table)
    table.before_append = [table.change]
    came = table.drive(deliver(table.state, later), {"ok": 0.5})
    assert [one.reason for one in came.trace] == ["", "stale"]


# --- what is delivered ---------------------------------------------------------------------------------


def test_what_is_delivered_counts_as_what_is_said_at_once() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("slow", "later"),)).later
    table.add(e.Noticed(advisor="other", run="r0", key="x", text="x", continues=True))
    came = table.drive(deliver(table.state, later, max_continuations=1), {"ok": 0.5})
    assert came.advice is not None
    assert not came.advice.continues
    assert [one.reason for one in came.trace] == ["", None, "bound"]


def test_a_note_that_is_delivered_is_a_note() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("slow", "later", takes_turn=False),)).later
    came = table.drive(deliver(table.state, later), {"ok": 0.5})
    note = Advice("slow speaks", continues=False, advisor="slow", seq=table.state.version)
    assert (came.advice, came.notes, came.later) == (None, (note,), ())


def test_what_is_put_off_is_traced() -> None:
    table = Table()
    came = table.settle(advisors=(Plain("slow", "later"),))
    assert came.trace == (Traced("slow", "put off"),)
    assert came.later[0].scene.run == e.RunSettled(run="r1")


# --- what stands in the trace --------------------------------------------------------------------------


def test_a_settle_tells_what_was_asked_and_said() -> None:
    table = units()
    table.change("a")
    came = table.settle()
    assert came.trace == (
        Traced("second-thought", "asked", "a", ""),
        Traced("second-thought", "spoke", "a", judged=True),
    )
    assert came.advice is not None
    assert came.advice.unit == "a"


def test_a_silence_after_a_judgment_is_traced_with_it() -> None:
    table = Table()
    table.add(e.Source(locator="x"))
    assert table.settle().trace[1:] == (Traced("second-thought", "silent", None, "agrees", judged=True),)


def test_a_loop_that_is_not_there_is_passed_over_and_not_written() -> None:
    table = Table(opened=False)
    assert table.settle().trace == (Traced("second-thought", "passed over", None, "no-loop"),)
    assert [entry.event.type for entry in table.entries] == ["run_settled"]


def test_what_answers_cost_that_came_to_nothing_is_kept() -> None:
    table = Table()
    table.change()
    table.thinking = [lambda: table.change(summary="two"), lambda: table.change(summary="three")]
    said = {"move": Chosen("advance")}
    table.answers = [Answer(said, cost_usd=0.25, input_tokens=7), Answer(said, cost_usd=0.5, input_tokens=7)]
    table.settle()
    (silence,) = table.of(e.PassedOver)
    assert isinstance(silence, e.PassedOver)
    assert (silence.asked, silence.cost_usd, silence.input_tokens) == (2, 0.75, 14)


def test_a_judgment_keeps_who_answered_and_what_it_took() -> None:
    table = Table()
    table.change()
    table.thinking = [lambda: table.change(summary="two")]
    said = {"move": Chosen("advance")}
    kept = {
        "model_asked": "m", "model_answered": "m-1", "request_id": "r", "latency_ms": 12.5, "cost_usd": 0.5,
        "input_tokens": 7, "output_tokens": 3,
    }  # fmt: skip
    first = Answer(said, cost_usd=0.25, input_tokens=1, output_tokens=1)
    table.answers = [first, Answer(said, **kept)]  # type: ignore[arg-type]  # fields of an answer
    table.settle()
    (judged,) = table.of(e.Judged)
    assert isinstance(judged, e.Judged)
    assert judged.asked == 2
    for name, value in {**kept, "cost_usd": 0.75, "input_tokens": 8, "output_tokens": 4}.items():
        assert getattr(judged, name) == value, name
    assert judged.basis == {"packets": [packet.digest for packet in table.asked]}


def test_what_an_advisor_is_set_to_is_kept_with_its_judgment_and_what_is_usual_is_not() -> None:
    table = Table()
    table.change()
    table.settle()
    table.change(summary="two")
    table.settle("r2", advisors=(SecondThought(waiting_tools=frozenset({"sleep"})),))
    assert [one.basis for one in table.of(e.Judged) if isinstance(one, e.Judged)] == [
        {}, {"settings": {"waiting_tools": ["sleep"]}},
    ]  # fmt: skip


def test_an_ask_tells_for_whom_it_is_and_takes_no_other_answer() -> None:
    table = Table()
    table.change()
    table.add(e.RunSettled(run="r1"))
    flow = settle(table.state, Draft(e.RunSettled(run="r1")), (SecondThought(),))
    asked = flow.send(table.reply(next(flow), {}))
    assert isinstance(asked, Ask)
    assert asked.advisor == "second-thought"
    with pytest.raises(TypeError, match=r"^an Ask is answered with Heard; send what was answered$"):
        flow.send(table.entries[0])


# --- closes --------------------------------------------------------------------------------------------


def test_a_close_is_judged_unless_it_is_said_that_nobody_can() -> None:
    table = Table("chore")
    table.change()
    table.check()
    assert table.drive(close(table.state, "It is done.", (SecondThought(),)), CONTENT).closed
    assert len(table.of(e.Judged)) == 1


def test_a_close_that_meets_a_growing_book_is_declared_once() -> None:
    table = Table("chore")
    table.change()
    table.check()
    table.before_append = [lambda: table.add(e.Watch(text="ci"))]
    assert table.close().closed
    assert len(table.of(e.CloseDeclared)) == 1
