"""A declared close that several advisors are asked about."""

from __future__ import annotations

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import (
    Decision,
    Gate,
    PassOver,
    Say,
    Scene,
    Silence,
)
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.settlement import Traced, close, deliver, settle
from tests.flows import CONTENT, Table
from tests.plain import Closer, Facts, Plain
from tests.settlement.given import FINE, ORDERS, both, finished, types


@ORDERS
def test_nobody_closes_a_loop_over_what_another_has_against_it(first: bool) -> None:
    table = finished()
    answer = table.close({**CONTENT, "ok": 0.1}, advisors=both(Closer(), first=first))
    assert (answer.closed, answer.concerns) == (False, ("not-fine",))
    judged = {one.advisor for one in table.of(e.Judged) if isinstance(one, e.Judged)}
    assert judged == {"closer", "second-thought"}
    assert table.close(FINE, advisors=both(Closer(), first=first)).closed


@ORDERS
def test_everybodys_concerns_are_in_the_answer_to_a_close(first: bool) -> None:
    table = finished()
    answer = table.close({**CONTENT, "done": 0.1, "ok": 0.1}, advisors=both(Closer(), first=first))
    assert sorted(answer.concerns) == ["not-done", "not-fine"]
    assert "not fine" in answer.text
    assert len(answer.text.splitlines()) == 2


@ORDERS
@pytest.mark.parametrize("quiet", ["quiet", "ask"])
def test_a_loop_is_closed_once_when_all_agree_or_have_nothing_to_say(first: bool, quiet: str) -> None:
    table = finished()
    answer = table.close(FINE, advisors=both(Closer(gate=quiet), first=first))
    assert answer.closed
    assert types(table).count("loop_closed") == 1
    assert types(table)[-1] == "loop_closed"


@ORDERS
def test_one_whose_answer_was_lost_has_not_agreed(first: bool) -> None:
    table = finished()
    table.answers = [Failure("timeout")]
    assert not table.close(FINE, advisors=both(Closer(), first=first)).closed


@ORDERS
def test_a_pending_close_that_a_settle_judges_needs_everybody_too(first: bool) -> None:
    table = finished()
    table.add(e.CloseDeclared(claim="done"))
    table.settle("r1", {**CONTENT, "ok": 0.1}, advisors=both(Closer(), first=first))
    assert table.state.life.outcome is None
    table.add(e.CloseDeclared(claim="done"))
    table.settle("r2", FINE, advisors=both(Closer(), first=first))
    assert table.state.life.outcome == "met"


@ORDERS
@pytest.mark.parametrize(("ok", "closed"), [(0.9, True), (0.1, False)])
def test_a_close_waits_for_whom_it_was_put_off(first: bool, ok: float, closed: bool) -> None:
    table = finished()
    answer = table.close(FINE, advisors=both(Closer(gate="later"), first=first))
    assert not answer.closed
    (later,) = answer.later
    table.drive(deliver(table.state, later), {"ok": ok})
    assert (table.state.life.outcome == "met") == closed


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
    order = both(Closer(), first=first)

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
    order = both(Closer(), first=first)
    table.answers = [FINE, Failure("timeout")] if lost else [Failure("timeout")]
    answer = table.close(FINE, advisors=order)
    assert (answer.closed, answer.pending) == (False, True)
    if lost:
        again = table.settle("r0", Failure("timeout"), advisors=order)
        assert Traced(order[0].name, "done before") in again.trace
    before = len(table.asked)
    table.settle("r1", FINE, advisors=order)
    assert table.state.life.outcome == "met"
    assert len(table.asked) == before + 1, "who was heard is not asked the same again"


@ORDERS
@pytest.mark.parametrize("at", range(4))
def test_a_close_that_died_anywhere_is_judged_on_by_the_next_run(first: bool, at: int) -> None:
    table = finished()
    order = both(Closer(), first=first)
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


def test_where_the_facts_object_nobody_is_asked_and_the_close_is_refused() -> None:
    facts = Facts("facts", gate="now")
    table = finished()
    for said in ("spoke", "silent"):
        answer = table.close(FINE, advisors=(Closer(), facts))
        assert (answer.closed, answer.pending, answer.concerns) == (False, False, ("unread",))
        assert answer.text == "read it"
        assert [one.did for one in answer.trace] == [said]
    assert not table.asked
    table.settle("r1", FINE, advisors=(Closer(),))
    assert table.state.life.outcome is None
    table.add(e.Source(locator="rfc9110"))
    assert table.close(FINE, advisors=(Closer(), facts)).closed


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


def test_who_makes_nothing_of_a_close_leaves_it_to_those_who_agree() -> None:
    table = finished()
    assert table.close(FINE, advisors=(Closer("yes"), Unsure("unsure"))).closed
    assert len(table.of(e.LoopClosed)) == 1


def test_but_somebody_must_agree() -> None:
    table = finished()
    answer = table.close(FINE, advisors=(Unsure("unsure"),))
    assert (answer.closed, answer.pending, answer.text) == (False, False, "")


def test_facts_alone_may_close_a_loop() -> None:
    table = finished()
    table.add(e.Source(locator="rfc9110"))
    assert table.close(advisors=(Facts("facts", gate="now"),)).closed
    assert table.state.life.outcome == "met"
    assert types(table)[-2:] == ["passed_over", "loop_closed"]


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


def test_what_was_said_at_a_close_is_no_message_of_the_run_it_was_declared_in() -> None:
    table = finished()
    table.add(e.RunSettled(run="r1"))
    assert table.close({"ok": 0.1}, advisors=(Closer(),)).advice
    came = table.settle("r1", advisors=(Plain("p"), Closer()))
    assert came.advice is not None
    assert came.advice.advisor == "p"


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
