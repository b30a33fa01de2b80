"""The flow: it speaks once, on what still holds, and leaves the reason of every silence."""

from __future__ import annotations

from functools import partial

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import AskPacket, DecideNow, Decision, Gate, Say, Scene, Silence
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.settlement import Append, Traced, settle
from tests.flows import CONTENT, Table, reasons
from tests.plain import Plain
from tests.settlement.given import closed_first, finished, first, priced, types

# --- what is written, and in which append ----------------------------------------------------------------


def test_judgment_and_notice_are_of_one_append_after_the_run() -> None:
    table = Table()
    table.change()
    flow = settle(table.state, Draft(e.RunSettled(run="r1")), (SecondThought(),))
    first = next(flow)
    assert isinstance(first, Append)
    assert [draft.event.type for draft in first.drafts] == ["run_settled"]
    reads = flow.send(table.reply(first, CONTENT))
    asks = flow.send(table.reply(reads, CONTENT))
    last = flow.send(table.reply(asks, CONTENT))
    assert isinstance(last, Append)
    assert [draft.event.type for draft in last.drafts] == ["judged", "noticed"]


def test_a_notice_rests_on_the_judgment_before_it_and_the_judgment_read_up_to_itself() -> None:
    table = Table()
    table.change()
    advice = table.settle().advice
    assert advice is not None
    judged, noticed = table.entries[-2:]
    assert isinstance(judged.event, e.Judged)
    assert isinstance(noticed.event, e.Noticed)
    assert judged.event.read_to == judged.seq - 1
    assert noticed.event.judged == judged.seq
    assert advice.seq == noticed.seq
    assert judged.event.packet == table.asked[0].digest
    assert judged.event.question_set == table.asked[0].question_set
    assert judged.event.answers["move"] == {
        "choice": "advance",
        "probabilities": {"advance": 1.0},
        "confidence": 1.0,
    }
    assert set(judged.event.versions) == {"policy", "state", "questions", "flow", "fold", "code"}


def test_a_run_is_settled_once_however_often_it_fires() -> None:
    table = Table()
    table.change()
    assert table.settle().advice
    before = table.state.version
    again = table.settle()
    assert again.advice is None
    assert [one.did for one in again.trace] == ["done before"]
    assert table.state.version == before


@pytest.mark.parametrize("reason", ["failed", "stale"])
def test_a_failed_or_stale_answer_lets_the_same_run_be_asked_again(reason: str) -> None:
    table = Table()
    table.change()
    if reason == "failed":
        assert reasons(table.settle(said=Failure("timeout", "8 s"))) == ["judge-failed"]
        (silence,) = table.of(e.PassedOver)
        assert isinstance(silence, e.PassedOver)
        assert silence.detail == "timeout"
    else:
        table.idle = False
        assert reasons(table.settle()) == ["stale"]
        table.idle = True
    assert table.settle().advice


def test_a_run_left_undecided_by_a_crash_is_decided_when_it_fires_again() -> None:
    table = Table()
    table.change()
    table.add(e.RunSettled(run="r1"))
    assert table.settle("r1").advice


def test_a_run_that_another_one_has_overtaken_is_stale_and_nobody_is_asked() -> None:
    table = Table()
    table.change()
    table.add(e.RunSettled(run="r1"))
    table.add(e.RunSettled(run="r2"))
    assert reasons(table.settle("r1")) == ["stale"]
    assert not table.asked


def test_nothing_is_written_to_a_closed_loop() -> None:
    table = Table()
    table.change()
    table.add(e.LoopClosed(outcome="over_concerns"))
    before = table.state.version
    assert reasons(table.settle(advisors=(SecondThought(), Plain("p", "quiet")))) == [
        "no-loop",
        "nothing-new",
    ]
    assert table.state.version == before


# --- looking again ---------------------------------------------------------------------------------------


def test_an_append_that_finds_the_book_grown_looks_again_and_the_answer_holds() -> None:
    table = Table()
    table.change()
    table.before_append = [
        lambda: None,
        lambda: table.add(e.Watch(text="ci")),
        lambda: table.add(e.Watch(text="ci")),
    ]
    assert table.settle().advice
    assert len(table.asked) == 1
    assert types(table)[-4:] == ["watch", "watch", "judged", "noticed"]


def test_a_grown_book_with_another_packet_is_asked_once_more_then_stale() -> None:
    table = Table()
    table.change()
    table.thinking = [lambda: table.change(summary="two"), lambda: table.change(summary="three")]
    assert reasons(table.settle()) == ["stale"]
    assert len(table.asked) == 2
    assert not table.of(e.Judged)


def test_a_conflict_that_changes_the_packet_is_asked_once_more() -> None:
    table = Table()
    table.change()
    table.before_append = [lambda: None, table.check]
    advice = table.settle().advice
    assert advice is not None
    assert advice.text.startswith("next: review")
    assert len(table.asked) == 2


def test_who_has_nothing_to_decide_any_more_leaves_no_trace_where_he_leaves_none() -> None:
    """Between its look and its append the work moves on, and its gate with it."""
    table = Table()
    advisor = Plain("p")

    def moves() -> None:
        table.change()
        advisor.kind = "gone"

    table.before_append = [lambda: None, moves]
    came = table.settle("r1", advisors=(advisor,))
    assert came.trace == (Traced("p", "done before"),)
    assert types(table)[-2:] == ["run_settled", "change"]


def test_another_process_that_was_first_ends_the_flow_in_silence_and_both_answers_count() -> None:
    table = Table()
    table.change()
    table.thinking = [partial(first, table)]
    table.answers = [priced(0.25), priced(0.5)]
    came = table.settle("r1")
    assert came.advice is None
    assert came.trace[-1] == Traced("second-thought", "passed over", None, "stale", "decided")
    assert len(table.of(e.Noticed)) == len(table.of(e.Judged)) == 1
    assert (table.state.spent.answers, table.state.spent.cost_usd) == (2, 0.75)


def test_another_process_that_was_silent_of_the_same_unit_leaves_the_slower_one_s_cost() -> None:
    table = Table()
    table.units("a", "b")
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")
    table.thinking = [partial(first, table)]
    table.answers = [priced(0.25), priced(0.5)]
    assert table.settle("r1").advice is None
    assert len(table.of(e.Judged)) == 1
    assert (table.state.spent.answers, table.state.spent.cost_usd) == (2, 0.75)


def test_an_answer_about_a_unit_that_another_session_judged_in_silence_is_stale_whoever_spoke_since() -> None:
    """Meanwhile the other one has gone on, and somebody has spoken for the run."""
    table = Table()
    table.units("a", "b")
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")

    def other_session() -> None:
        table.settle("r1")
        table.add(e.Noticed(advisor="p", run="r1", key="k", text="x"))

    table.thinking = [other_session]
    came = table.settle("r1", advisors=(Plain("p", "quiet"), SecondThought()))
    assert came.trace[-1] == Traced("second-thought", "passed over", "a", "stale", "decided")


class ThenTheOther(Plain):
    """Is silent about unit a, which it asks about, and then speaks of unit b on facts."""

    def gate(self, state: BookState, scene: Scene) -> Gate:  # noqa: ARG002 - part of the shape
        return DecideNow("b") if state.spent.answers else AskPacket(self.packet(state)._replace(unit="a"))

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        if packet is not None:
            return Decision(Silence("fine", unit="a"))
        came = super().decide(state, packet, answer).outcome
        assert isinstance(came, Say)
        return Decision(came._replace(unit="b"), judged=False)


def test_who_spoke_of_the_next_unit_in_another_session_meanwhile_says_and_writes_nothing_more() -> None:
    table, order = Table(), (ThenTheOther("p"),)
    table.units("a", "b")

    def other_session() -> None:
        table.settle("r1", {"ok": 0.5}, advisors=order)

    table.before_append = [lambda: None, lambda: None, other_session]
    came = table.settle("r1", {"ok": 0.5}, advisors=order)
    assert came.advice is None
    assert came.trace[-1] == Traced("p", "done before")
    assert [one.unit for one in table.entries[-3:]] == ["a", "a", "b"]


def test_of_a_loop_that_another_process_has_closed_nothing_is_kept_any_more() -> None:
    table = finished()
    table.thinking = [partial(closed_first, table)]
    assert table.close().closed
    assert types(table)[-1] == "loop_closed"


@pytest.mark.parametrize("event", [e.Prompted(prompt="p", text="x"), e.RunSettled(run="r2")])
def test_a_newer_run_makes_the_answer_stale(event: e.Event) -> None:
    table = Table()
    table.change()
    table.thinking = [lambda: table.add(event)]
    assert reasons(table.settle()) == ["stale"]


def test_a_loop_that_is_closed_while_the_judge_thinks_hears_nothing() -> None:
    table = Table()
    table.change()
    table.thinking = [lambda: table.add(e.LoopClosed(outcome="over_concerns"))]
    assert table.settle(advisors=(Plain("p", "ask"), SecondThought())).advice is None
    assert types(table)[-1] == "loop_closed"


def test_a_silent_unit_lets_the_settle_go_on_to_the_next_and_one_that_spoke_does_not() -> None:
    table = Table()
    table.units("a", "b", "c")
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")
    table.change("b")
    table.add(e.Decision(text="keep the name", decided_by="user"), "c")
    advice = table.settle().advice
    assert advice is not None
    assert advice.unit == "b"
    assert [packet.unit for packet in table.asked] == ["a", "b"]
