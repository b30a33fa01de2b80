"""The flow: it speaks once, on what still holds, and leaves the reason of every silence."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Packet, answer_from
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.advisors.shape import (
    Advisor,
    AskPacket,
    Decision,
    Gate,
    PassOver,
    Say,
    Scene,
    Silence,
)
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.run import ChildState, Observed
from loopbook.settlement import Append, Ask, Flow, Heard, Settlement, Traced, close, deliver, settle
from tests.flows import CONTENT, NOON, Table, reasons
from tests.plain import Closer, Plain


def _first(table: Table) -> None:
    table.settle("r1")


def priced(usd: float) -> Answer:
    """An answer that says to go on, and what it has cost."""
    return answer_from(QUESTIONS, CONTENT)._replace(cost_usd=usd)


def _closed_first(table: Table) -> None:
    table.close()


def types(table: Table, after: int = 0) -> list[str]:
    return [entry.event.type for entry in table.entries[after:]]


# --- what is written, and in which append -------------------------------------------------------


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


# --- looking again ---------------------------------------------------------------------------------


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


def test_another_process_that_was_first_ends_the_flow_in_silence_and_both_answers_count() -> None:
    table = Table()
    table.change()
    table.thinking = [partial(_first, table)]
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
    table.thinking = [partial(_first, table)]
    table.answers = [priced(0.25), priced(0.5)]
    assert table.settle("r1").advice is None
    assert len(table.of(e.Judged)) == 1
    assert (table.state.spent.answers, table.state.spent.cost_usd) == (2, 0.75)


def test_of_a_loop_that_another_process_has_closed_nothing_is_kept_any_more() -> None:
    table = finished()
    table.thinking = [partial(_closed_first, table)]
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


# --- whose turn it is ----------------------------------------------------------------------------------


def test_once_one_has_spoken_the_others_pass_over_unasked_and_their_turn_comes_next() -> None:
    table = Table()
    table.change()
    order = (Plain("first"), SecondThought())
    came = table.settle(advisors=order)
    assert came.advice is not None
    assert came.advice.advisor == "first"
    assert reasons(came) == ["turn-taken"]
    assert not table.asked
    came = table.settle("r2", advisors=order)  # the first would repeat itself
    assert came.advice is not None
    assert came.advice.advisor == "second-thought"


def test_a_silent_one_leaves_the_turn_and_its_reason_stands() -> None:
    table = Table()
    came = table.settle(advisors=(Plain("a", "quiet"), Plain("b")))
    assert came.advice is not None
    assert came.advice.advisor == "b"
    assert reasons(came) == ["nothing-new"]


def test_a_note_for_the_user_takes_nobodys_turn_and_continues_nothing() -> None:
    table = Table()
    came = table.settle(advisors=(Plain("note", takes_turn=False), Plain("b")))
    assert [note.advisor for note in came.notes] == ["note"]
    assert not came.notes[0].continues
    assert came.advice is not None
    assert came.advice.advisor == "b"


def test_the_turn_of_a_run_stays_taken_when_it_fires_again() -> None:
    table = Table()
    table.change()
    order = (SecondThought(), Plain("facts"))
    came = table.settle("r1", Failure("timeout"), advisors=order)
    assert came.advice is not None
    assert came.advice.advisor == "facts"
    assert reasons(table.settle("r1", advisors=order)) == ["turn-taken"]
    assert table.settle("r2", advisors=order).advice


def test_two_sessions_with_two_advisors_give_a_run_one_message() -> None:
    """One's judge fails and the other's speaks: whoever asks last finds the turn taken."""
    table = Table()
    table.change()
    order = (Plain("first", "ask"), SecondThought())

    def other_session() -> None:
        flow = settle(table.state, Draft(e.RunSettled(run="r1")), order)
        step = next(flow)
        while not table.of(e.Noticed):
            step = flow.send(table.reply(step, {"ok": 0.5}))

    table.thinking = [lambda: None, other_session]
    table.answers = [Failure("timeout")]
    came = table.settle("r1", advisors=order)
    assert reasons(came) == ["judge-failed", "turn-taken"]
    assert len(table.of(e.Noticed)) == 1


def test_what_a_newer_run_was_told_is_no_message_of_the_one_before() -> None:
    table = Table()
    table.change()
    table.add(e.RunSettled(run="r1"))
    assert table.settle("r2").advice
    table.change()
    assert reasons(table.settle("r1")) == ["stale"]


def two_units() -> tuple[Table, Flow[Settlement]]:
    """The first is judged in silence, and the flow asks about the second."""
    table = Table()
    table.units("a", "b")
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")
    table.change("b")
    flow = settle(table.state, Draft(e.RunSettled(run="r1")), (SecondThought(),))
    step = next(flow)
    while not (isinstance(step, Ask) and step.packet.unit == "b"):
        step = flow.send(table.reply(step, CONTENT))
    return table, flow


def _going_on(flow: Flow[Settlement], reply: Heard) -> Flow[Settlement]:
    """A flow that has asked, from there on."""
    step = flow.send(reply)
    while True:
        sent = yield step
        try:
            step = flow.send(sent)
        except StopIteration as end:
            came: Settlement = end.value
            return came


def test_a_settle_that_died_between_two_units_goes_on_with_the_second() -> None:
    table, flow = two_units()
    flow.close()
    advice = table.settle("r1").advice
    assert advice is not None
    assert advice.unit == "b"
    assert [packet.unit for packet in table.asked] == ["a", "b"]
    assert [one.did for one in table.settle("r1").trace] == ["done before"]


def test_who_goes_on_with_the_second_unit_and_finds_it_said_leaves_only_what_he_asked() -> None:
    table, flow = two_units()
    table.add(e.Source(locator="rfc9110"))  # beside the units, for another subject
    assert table.settle("r1").advice
    before = table.state.version
    came = table.drive(_going_on(flow, Heard(priced(0.25), table.state)), {})
    assert came.advice is None
    assert types(table, before) == ["passed_over"]
    assert table.entries[-1].unit == "b"
    assert (table.state.spent.answers, table.state.spent.cost_usd) == (3, 0.25)


def test_a_settle_that_died_after_its_last_unit_is_done() -> None:
    table = Table()
    table.units("a", "b")
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")
    assert reasons(table.settle("r1")) == ["agrees"]
    before = table.state.version
    assert [one.did for one in table.settle("r1").trace] == ["done before"]
    assert table.state.version == before


# --- what comes later -------------------------------------------------------------------------------------


def test_what_only_observes_decides_at_once_and_is_asked_after_the_advice() -> None:
    table = Table()
    advisor = Plain("watcher", "observe")
    came = table.settle(advisors=(advisor,))
    assert came.advice is not None
    assert not table.asked
    (later,) = came.later
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert types(table)[-1] == "judged"
    assert len(table.of(e.Noticed)) == 1


def test_what_is_observed_is_dropped_when_its_packet_has_changed() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("watcher", "observe"),)).later
    table.change()
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert not table.of(e.Judged)


def test_what_takes_longer_is_put_off_and_delivered() -> None:
    table = Table()
    came = table.settle(advisors=(Plain("slow", "later"),))
    assert came.advice is None
    (later,) = came.later
    assert types(table)[-1] == "run_settled"
    told = table.drive(deliver(table.state, later), {"ok": 0.5})
    assert told.advice is not None
    assert types(table)[-2:] == ["judged", "noticed"]


def test_what_is_delivered_after_a_newer_run_is_stale() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("slow", "later"),)).later
    table.add(e.RunSettled(run="r2"))
    assert reasons(table.drive(deliver(table.state, later), {"ok": 0.5})) == ["stale"]
    assert not table.asked


# --- never twice, and not too much -------------------------------------------------------------------------


def test_equal_to_the_last_notice_alone_is_a_duplicate() -> None:
    table = Table()
    said = [table.settle(f"r{i}", advisors=(Plain("p", key=key),)).advice for i, key in enumerate("AABA")]
    assert [advice is not None for advice in said] == [True, False, True, True]


def test_the_same_key_on_the_same_trigger_continues_once() -> None:
    table = Table()
    said = [table.settle(f"r{i}", advisors=(Plain("p", key=key),)).advice for i, key in enumerate("ABA")]
    assert [advice is not None and advice.continues for advice in said] == [True, True, False]


@pytest.mark.parametrize("most", [0, 1, 3, None])
def test_so_many_runs_are_continued_over_all_advisors_between_two_prompts(most: int | None) -> None:
    table = Table()
    for i in range(12):
        table.change()
        table.settle(f"r{i}", advisors=(Plain("p" if i % 2 else "q", key=str(i)),), most=most)
    notices = [n for n in table.of(e.Noticed) if isinstance(n, e.Noticed)]
    assert sum(n.continues for n in notices) == (12 if most is None else most)
    assert len(notices) == (12 if most is None else most + 1), "one is said at the bound, then silence"
    table.add(e.Prompted(prompt="p", text="go on", origin="advisor"))
    assert (table.settle("x", advisors=(Plain("p", key="x"),), most=most).advice is None) == (
        most is not None
    )
    table.add(e.Prompted(prompt="p2", text="go on"))
    assert table.settle("y", advisors=(Plain("p", key="y"),), most=most).advice


def test_an_advisor_that_asks_for_ever_is_asked_about_each_subject_once() -> None:
    class Endless(Plain):
        def gate(self, state: BookState, scene: Scene) -> Gate:  # noqa: ARG002 - part of the shape
            return AskPacket(self.packet(state)._replace(unit="a"))

        def decide(self, *_: object) -> Decision:
            return Decision(Silence("agrees", unit="a"))

    table = Table()
    table.units("a", "b")
    table.settle(advisors=(Endless("e"),))
    assert len(table.asked) == 1


# --- children that are lost --------------------------------------------------------------------------------


def test_a_child_past_its_grace_is_told_lost_once() -> None:
    table = Table()
    table.add(e.ChildLinked(child="c1"))
    gone = Observed(now=NOON, children={"c1": ChildState(state="gone")})
    table.settle(e.RunSettled(run="r1", observed=gone))
    table.settle(e.RunSettled(run="r2", observed=gone))
    assert [lost.child for lost in table.of(e.ChildLost) if isinstance(lost, e.ChildLost)] == ["c1"]


def test_what_was_put_off_has_no_turn_once_another_has_spoken_for_the_run() -> None:
    table = Table()
    table.change()
    late = Plain("late", "later")
    came = table.settle(advisors=(late, SecondThought()))
    assert came.advice
    (later,) = came.later
    assert reasons(table.drive(deliver(table.state, later), {"ok": 0.9})) == ["turn-taken"]
    assert len(table.of(e.Noticed)) == 1


# --- closes ------------------------------------------------------------------------------------------------


def finished() -> Table:
    table = Table("chore")
    table.change()
    table.check()
    return table


def test_a_close_that_nothing_stands_against_is_judged_and_closed_in_one_append() -> None:
    table = finished()
    answer = table.close()
    assert (answer.closed, answer.concerns, answer.missing) == (True, (), ())
    assert types(table)[-4:] == ["close_declared", "judged", "passed_over", "loop_closed"]


def test_the_close_of_a_subagent_s_or_a_busy_session_is_judged_all_the_same() -> None:
    table = finished()
    table.add(e.RunSettled(run="r0", observed=Observed(subagent=True)))
    table.add(e.Prompted(prompt="p", text="x"))
    table.idle = False
    assert table.close().closed


def test_standing_concerns_are_in_the_answer_though_they_are_not_said_again() -> None:
    table = finished()
    first = table.close({**CONTENT, "done": 0.1})
    again = table.close({**CONTENT, "done": 0.1})
    assert first.advice
    assert again.advice is None
    assert first.concerns == again.concerns == ("not-done",)
    assert again.text == first.text
    assert not again.closed


def test_a_failed_judge_leaves_the_close_open_and_pending() -> None:
    table = finished()
    assert not table.close(Failure("timeout")).closed
    assert table.state.life.declared
    assert table.settle().advice is None
    assert table.state.life.outcome == "met"


def test_a_close_that_another_process_has_judged_is_not_judged_again() -> None:
    table = finished()
    table.thinking = [partial(_closed_first, table)]
    answer = table.close()
    assert answer.closed
    assert len(table.of(e.Judged)) == 1


def test_with_nobody_to_ask_what_is_missing_decides() -> None:
    table = Table("chore")
    table.change()
    answer = table.close(judge=False)
    assert not answer.closed
    assert answer.missing
    table.check()
    assert table.close(judge=False).closed
    assert table.state.life.outcome == "unjudged"


def test_with_a_judge_and_nobody_who_asks_it_what_is_missing_decides() -> None:
    table = Table("chore")
    table.change()
    assert not table.close(advisors=()).closed
    table.check()
    assert table.close(advisors=()).closed
    assert table.state.life.outcome == "unjudged"


FINE: dict[str, object] = {**CONTENT, "ok": 0.9}
ORDERS = pytest.mark.parametrize("first", [True, False])


def _both(other: Advisor, *, first: bool) -> tuple[Advisor, ...]:
    return (SecondThought(), other) if first else (other, SecondThought())


@ORDERS
def test_nobody_closes_a_loop_over_what_another_has_against_it(first: bool) -> None:
    table = finished()
    answer = table.close({**CONTENT, "ok": 0.1}, advisors=_both(Closer(), first=first))
    assert (answer.closed, answer.concerns) == (False, ("not-fine",))
    judged = {one.advisor for one in table.of(e.Judged) if isinstance(one, e.Judged)}
    assert judged == {"closer", "second-thought"}
    assert table.close(FINE, advisors=_both(Closer(), first=first)).closed


@ORDERS
def test_everybodys_concerns_are_in_the_answer_to_a_close(first: bool) -> None:
    table = finished()
    answer = table.close({**CONTENT, "done": 0.1, "ok": 0.1}, advisors=_both(Closer(), first=first))
    assert sorted(answer.concerns) == ["not-done", "not-fine"]
    assert "not fine" in answer.text
    assert len(answer.text.splitlines()) == 2


@ORDERS
@pytest.mark.parametrize("quiet", ["quiet", "ask"])
def test_a_loop_is_closed_once_when_all_agree_or_have_nothing_to_say(first: bool, quiet: str) -> None:
    table = finished()
    answer = table.close(FINE, advisors=_both(Closer(gate=quiet), first=first))
    assert answer.closed
    assert types(table).count("loop_closed") == 1
    assert types(table)[-1] == "loop_closed"


@ORDERS
def test_one_whose_answer_was_lost_has_not_agreed(first: bool) -> None:
    table = finished()
    table.answers = [Failure("timeout")]
    assert not table.close(FINE, advisors=_both(Closer(), first=first)).closed


@ORDERS
def test_a_pending_close_that_a_settle_judges_needs_everybody_too(first: bool) -> None:
    table = finished()
    table.add(e.CloseDeclared(claim="done"))
    table.settle("r1", {**CONTENT, "ok": 0.1}, advisors=_both(Closer(), first=first))
    assert table.state.life.outcome is None
    table.add(e.CloseDeclared(claim="done"))
    table.settle("r2", FINE, advisors=_both(Closer(), first=first))
    assert table.state.life.outcome == "met"


@ORDERS
@pytest.mark.parametrize(("ok", "closed"), [(0.9, True), (0.1, False)])
def test_a_close_waits_for_whom_it_was_put_off(first: bool, ok: float, closed: bool) -> None:
    table = finished()
    answer = table.close(FINE, advisors=_both(Closer(gate="later"), first=first))
    assert not answer.closed
    (later,) = answer.later
    table.drive(deliver(table.state, later), {"ok": ok})
    assert (table.state.life.outcome == "met") == closed


class Facts(Closer):
    """Objects to a close while no source was read; it needs nobody to ask."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:  # noqa: ARG002
        if state.work.last["source"]:
            return Decision(Silence("read", closes=True))
        return Decision(Say("read it", "unread", state.life.declared, concerns=("unread",), sort="close"))


class Content(Closer):
    """Agrees to every close in words of its own."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        came = super().decide(state, packet, answer)
        return came if isinstance(answer, Failure) else Decision(Silence("fine", closes=True))


SLOW = (Closer("one", gate="later"), Closer("other", gate="later"))


@pytest.mark.parametrize(("others", "closed"), [((0.9, 0.9), True), ((0.9, 0.1), False), ((0.1, 0.9), False)])
def test_a_close_that_was_put_off_for_several_is_one_when_all_of_them_agree(
    others: tuple[float, float], closed: bool
) -> None:
    table = finished()
    answer = table.close(FINE, advisors=SLOW)
    assert answer.pending
    for later, ok in zip(answer.later, others, strict=True):
        table.drive(deliver(table.state, later), {"ok": ok})
    assert (table.state.life.outcome == "met") == closed
    assert not table.state.life.declared, "all have been heard: it is decided"
    first = "agrees" if others[0] > 0.5 else "objects"
    assert [one.pending for one in table.of(e.Judged) if isinstance(one, e.Judged)] == [first, None]


def test_what_was_put_off_may_be_delivered_by_anybody_in_any_order_and_once() -> None:
    table = finished()
    one, other = table.close(FINE, advisors=SLOW).later
    for later in (other, other, one):
        assert table.state.life.outcome is None
        table.drive(deliver(table.state, later), {"ok": 0.9})
    assert len(table.asked) == 2, "who has been heard is not asked the same again"
    assert table.state.life.outcome == "met"


def test_what_an_older_close_put_off_decides_no_newer_one() -> None:
    table = finished()
    order = (SecondThought(), Closer(gate="later"))
    (older,) = table.close(FINE, advisors=order).later
    table.change(summary="two")
    table.check()
    answer = table.close({**CONTENT, "done": 0.1}, advisors=order)
    assert answer.concerns == ("not-done",)
    table.drive(deliver(table.state, older), {"ok": 0.9})
    assert table.state.life.outcome is None
    (newer,) = answer.later
    table.drive(deliver(table.state, newer), {"ok": 0.9})
    assert table.state.life.outcome is None, "somebody objects"


def test_what_was_agreed_at_once_counts_when_whom_it_was_put_off_for_has_nothing_to_say() -> None:
    """Its gate asked at the close and passes over at the delivery."""
    table = finished()
    slow = Closer("slow", gate="later")
    (later,) = table.close(FINE, advisors=(Closer("quick"), slow)).later
    slow.kind = "quiet"
    table.drive(deliver(table.state, later), {})
    assert table.state.life.outcome == "met"


@ORDERS
def test_who_agreed_to_other_work_is_asked_again(first: bool) -> None:
    """While the other one is asked, the work moves on: what second thought agreed to is not that work."""
    table = finished()
    order = _both(Closer(), first=first)

    def moves() -> None:
        table.add(e.Change(summary="two", diff_summary="+1"))
        table.check()

    table.thinking = [lambda: None, moves]
    assert table.close(FINE, advisors=order).closed
    asked = [packet for packet in table.asked if packet.unit is None and "close_claim" in packet.state]
    assert len(asked) == 2
    assert asked[0].digest != asked[1].digest


@ORDERS
@pytest.mark.parametrize("lost", [0, 1])
def test_a_close_about_which_one_could_not_be_heard_stays_pending_until_the_next_run(
    first: bool, lost: int
) -> None:
    table = finished()
    order = _both(Closer(), first=first)
    table.answers = [FINE, Failure("timeout")] if lost else [Failure("timeout")]
    answer = table.close(FINE, advisors=order)
    assert (answer.closed, answer.pending) == (False, True)
    before = len(table.asked)
    table.settle("r1", FINE, advisors=order)
    assert table.state.life.outcome == "met"
    assert len(table.asked) == before + 1, "who was heard is not asked the same again"


@ORDERS
@pytest.mark.parametrize("at", range(4))
def test_a_close_that_died_anywhere_is_judged_on_by_the_next_run(first: bool, at: int) -> None:
    table = finished()
    order = _both(Closer(), first=first)
    flow = close(table.state, "It is done.", order)
    step = next(flow)
    for _ in range(at):
        step = flow.send(table.reply(step, FINE))
    flow.close()
    if not table.state.life.declared:
        table.add(e.CloseDeclared(claim="It is done."))
    table.settle("r1", FINE, advisors=order)
    assert table.state.life.outcome == "met"
    assert len(table.of(e.LoopClosed)) == 1


@pytest.mark.parametrize("at", range(6))
def test_whatever_is_appended_before_its_end_a_close_to_which_all_agree_is_one(at: int) -> None:
    table = finished()
    table.before_append = [*[lambda: None] * at, lambda: table.add(e.Watch(text="ci"))]
    assert table.close(FINE, advisors=(Closer("one"), Closer("quiet", gate="quiet"))).closed


def test_who_objects_on_facts_alone_holds_a_close_while_the_facts_do() -> None:
    facts = Facts("facts", gate="now")
    table = finished()
    assert not table.close(FINE, advisors=(Closer(), facts)).closed
    assert table.state.life.declared
    table.settle("r1", FINE, advisors=(Closer(), facts))
    assert table.state.life.outcome is None
    table.add(e.Source(locator="rfc9110"))
    table.settle("r2", FINE, advisors=(Closer(), facts))
    assert table.state.life.outcome == "met"


def test_a_run_has_one_message_also_where_the_first_was_about_a_close() -> None:
    table = finished()
    table.add(e.CloseDeclared(claim="It is done."))
    order = (Closer(), Plain("p"))
    flow = settle(table.state, Draft(e.RunSettled(run="r1")), order)
    step = next(flow)
    while not table.of(e.Noticed):
        step = flow.send(table.reply(step, {"ok": 0.1}))
    flow.close()
    table.settle("r1", {"ok": 0.1}, advisors=order)
    assert [one.advisor for one in table.of(e.Noticed) if isinstance(one, e.Noticed)] == ["closer"]


class Until(Closer):
    """Asks about a close until a source was read."""

    def gate(self, state: BookState, scene: Scene) -> Gate:
        return PassOver("nothing-new") if state.work.last["source"] else super().gate(state, scene)


def test_a_close_that_whoever_was_waited_for_has_nothing_more_to_say_of_is_one() -> None:
    table = finished()
    table.thinking = [lambda: None, lambda: table.add(e.Source(locator="rfc9110"))]
    answer = table.close(FINE, advisors=(Closer(), Until("until")))
    assert [one.pending for one in table.of(e.Judged) if isinstance(one, e.Judged)] == ["agrees"]
    assert answer.closed


def test_who_speaks_of_other_things_holds_no_close() -> None:
    table = finished()
    assert table.close(FINE, advisors=(Closer(), Plain("p"))).closed


def test_a_lone_agreement_ends_a_loop_in_its_own_append() -> None:
    table = finished()
    assert table.close(FINE).closed
    assert [one.pending for one in table.of(e.Judged) if isinstance(one, e.Judged)] == [None]


def test_a_run_that_broke_off_leaves_a_close_to_who_is_not_heard_about_such_a_run() -> None:
    table = finished()
    table.add(e.CloseDeclared(claim="It is done."))
    table.settle(e.RunSettled(run="r1", stop="error"), FINE, advisors=(SecondThought(), Closer()))
    assert table.state.life.outcome is None
    table.settle("r2", FINE, advisors=(SecondThought(), Closer()))
    assert table.state.life.outcome == "met"


def test_where_there_is_no_judge_who_needs_one_is_not_waited_for() -> None:
    table = finished()
    assert table.close(FINE, judge=False, advisors=(SecondThought(), Closer())).closed


class Elsewhere(Closer):
    """Is asked about a close, and speaks of something else."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:  # noqa: ARG002
        return Decision(Say("by the way", "k", 0))


class Unsure(Closer):
    """Is asked about a close, and makes nothing of it."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:  # noqa: ARG002
        return Decision(Silence("unsure"))


def test_what_each_makes_of_a_close_stands_in_its_judgment() -> None:
    table = finished()
    order = (Closer("yes"), Closer("no"), Elsewhere("elsewhere"), Unsure("unsure"), Closer("last"))
    table.answers = [FINE, {"ok": 0.1}, FINE, FINE, FINE]
    assert not table.close(advisors=order).closed
    assert [one.pending for one in table.of(e.Judged) if isinstance(one, e.Judged)] == [
        "agrees", "objects", "neither", "neither", None,
    ]  # fmt: skip


def test_a_stance_that_another_session_has_taken_meanwhile_counts_and_the_answer_is_stale() -> None:
    table = finished()
    one = Closer("one")

    def other_session() -> None:
        digest = one.packet(table.state).digest
        read_to = table.state.version
        table.add(e.Judged(advisor="one", read_to=read_to, sort="close", packet=digest, pending="agrees"))

    table.thinking = [other_session]
    answer = table.close({"ok": 0.1}, advisors=(one, Until("until")))
    assert Traced("one", "passed over", None, "stale", "decided") in answer.trace
    assert answer.concerns == ("not-fine",), "the other one's alone"


def test_what_is_observed_twice_is_kept_once() -> None:
    table = Table()
    (later,) = table.settle("r1", advisors=(Plain("p", "observe"),)).later
    table.drive(deliver(table.state, later), {"ok": 0.5})
    version = table.state.version
    assert table.drive(deliver(table.state, later), {"ok": 0.5}).trace == (Traced("p", "done before"),)
    assert table.state.version == version


def test_at_a_close_nobody_lets_a_run_go_on() -> None:
    table = finished()
    for number in range(12):
        table.close(FINE, advisors=(Plain("p", key=str(number)),))
    assert not any(one.continues for one in table.of(e.Noticed) if isinstance(one, e.Noticed))
    assert table.state.runs.continuations == 0


def test_a_newer_declared_close_is_the_one_that_is_judged() -> None:
    table = finished()
    table.thinking = [lambda: table.add(e.CloseDeclared(claim="Now it is."))]
    answer = table.close(FINE)
    assert (answer.closed, answer.pending) == (False, False)
    table.settle("r1", FINE)
    assert table.state.life.outcome == "met"


def test_one_s_own_words_of_agreement_close_a_loop_too() -> None:
    table = finished()
    assert table.close(FINE, advisors=(SecondThought(), Content("own"))).closed
    assert len(table.of(e.LoopClosed)) == 1


# --- under any interleaving --------------------------------------------------------------------------------

_MOVES = st.sampled_from(["advance", "back", "ask_user"])
_STEPS = st.lists(
    st.sampled_from(["change", "check", "todo", "settle", "crash", "conflict", "prompt", "fail"]), max_size=25
)


def _crashed(table: Table, run: str, said: dict[str, object]) -> None:
    """A settle that ends where it asks, or at its end."""
    flow = settle(table.state, Draft(e.RunSettled(run=run)), (SecondThought(),))
    with suppress(StopIteration):
        step = next(flow)
        while not isinstance(step, Ask):
            step = flow.send(table.reply(step, said))
    flow.close()


def _take(table: Table, step: str, i: int, said: dict[str, object]) -> None:
    match step:
        case "change":
            table.change(summary=f"{i}")
        case "check":
            table.check()
        case "todo":
            table.add(e.TodoOpened(todo=f"t{i}", subject="later"))
        case "prompt":
            table.add(e.Prompted(prompt=f"p{i}", text="go on"))
        case "conflict":
            table.before_append = [lambda: table.add(e.Watch(text="ci"))] * 3
            table.settle(f"r{i}", said)
            table.before_append = []
        case "crash":
            _crashed(table, f"r{i}", said)
            table.settle(f"r{i}", said)
        case "fail":
            table.settle(f"r{i}", Failure("timeout"))
        case _:
            table.settle(f"r{i}", said)


@given(_STEPS, st.lists(_MOVES, min_size=1, max_size=5))
def test_no_two_notices_in_a_row_are_equal_and_none_shares_a_judgment(
    steps: list[str], moves: list[str]
) -> None:
    table = Table()
    for i, step in enumerate(steps):
        _take(table, step, i, {**CONTENT, "move": moves[i % len(moves)]})
    notices = [n for n in table.of(e.Noticed) if isinstance(n, e.Noticed)]
    assert all(a.key != b.key for a, b in pairwise(notices))
    assert len({n.judged for n in notices}) == len(notices)
    continued = 0
    for entry in table.entries:
        if isinstance(entry.event, e.Prompted):
            continued = 0
        elif isinstance(entry.event, e.Noticed):
            continued += entry.event.continues
        assert continued <= 8


def test_a_flow_says_what_it_was_answered_wrongly() -> None:
    table = Table()
    flow = settle(table.state, Draft(e.RunSettled(run="r")), ())
    next(flow)
    with pytest.raises(TypeError, match="Written"):
        flow.send(None)  # type: ignore[arg-type]  # the mistake is the point
    with pytest.raises(TypeError, match="settled run"):
        next(settle(table.state, Draft(e.Task(text="x")), ()))
