"""A close and the runs about it: what one says of the other, whichever session asks and in whatever order."""

from __future__ import annotations

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Decision, Gate, PassOver, Say, Scene, Silence
from loopbook.projections import BookState
from loopbook.settlement import Settlement, Traced
from tests.flows import CONTENT, Table
from tests.plain import Closer, Facts, Plain
from tests.settlement.given import FINE, ORDERS, both, finished


class NeedsJudge(Closer):
    """Passes over where there is no judge to ask."""

    def gate(self, state: BookState, scene: Scene) -> Gate:
        return super().gate(state, scene) if scene.judge else PassOver("no-judge", written=False)


@ORDERS
@pytest.mark.parametrize("rewritten", [True, False])
def test_a_settle_without_a_judge_ends_no_close_about_which_somebody_was_not_heard(
    first: bool, rewritten: bool
) -> None:
    table = finished()
    order = both(NeedsJudge(), first=first)
    table.answers = [FINE, Failure("timeout")]
    assert table.close(FINE, advisors=order).pending
    if rewritten:
        table.add(e.Change(summary="all", diff_summary="+999"))
        table.check()
    table.settle("r1", judge=False, advisors=order)
    assert table.state.life.outcome is None
    assert table.state.life.declared


def test_a_close_that_the_facts_refused_is_refused_for_whoever_does_not_know_them() -> None:
    """A session that has not that advisor, as the command line has none of one's own."""
    table = finished()
    assert table.close(FINE, advisors=(SecondThought(), Facts("facts", gate="now"))).concerns == ("unread",)
    for run in ("r1", "r2"):
        table.settle(run, FINE, advisors=(SecondThought(),))
    assert table.state.life.outcome is None
    assert table.close(FINE, advisors=(SecondThought(),)).closed, "declared anew, by whom it is nothing to"


class NoTodos(Closer):
    """Objects to a close while a todo is open; it needs nobody to ask."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:  # noqa: ARG002
        if state.todos:
            return Decision(Say("todo", "todo", state.life.declared, concerns=("todo",), sort="close"))
        return Decision(Silence("none open", closes=True))


@pytest.mark.parametrize("first", [True, False])
def test_facts_that_come_to_object_while_another_is_asked_refuse_the_close(first: bool) -> None:
    table = finished()
    facts = NoTodos("facts", gate="now")
    table.thinking = [lambda: table.add(e.TodoOpened(todo="t", subject="x", followup="issue 7"))]
    order = (facts, Closer()) if first else (Closer(), facts)
    answer = table.close(FINE, advisors=order)
    assert (answer.closed, answer.pending, answer.concerns) == (False, False, ("todo",))
    assert [one.pending for one in table.of(e.Judged) if isinstance(one, e.Judged)] == ["agrees"]


def test_where_the_facts_have_come_to_object_nobody_is_asked_about_a_pending_close() -> None:
    table = finished()
    order = (Closer(), NoTodos("facts", gate="now"))
    assert table.close(Failure("timeout"), advisors=order).pending
    table.add(e.TodoOpened(todo="t", subject="x", followup="issue 7"))
    before = len(table.asked)
    came = table.settle("r1", FINE, advisors=order)
    assert came.advice is not None
    assert came.advice.concerns == ("todo",)
    assert len(table.asked) == before
    assert not table.state.life.declared


def test_at_a_close_all_are_heard_in_the_order_given() -> None:
    came = finished().close(FINE, advisors=(Plain("p"), Closer()))
    assert list(dict.fromkeys(one.advisor for one in came.trace)) == ["p", "closer"]


def test_whoever_objected_and_is_asked_again_may_agree() -> None:
    table = finished()
    order = (SecondThought(), Closer(gate="later"))
    (later,) = table.close({**CONTENT, "done": 0.1}, advisors=order).later
    assert [stance.opinion for stance in table.state.life.stances.values()] == ["objects"]
    table.add(e.Change(summary="two", diff_summary="+1"))
    table.check()
    table.settle("r1", FINE, advisors=order)
    assert table.state.life.stances["second-thought"].opinion == "agrees"
    assert later.declared == table.state.life.declared


def test_a_close_that_was_judged_while_a_run_was_asked_about_it_makes_the_answer_what_it_is() -> None:
    table = Table()
    table.change()
    table.add(e.CloseDeclared(claim="done"))

    def other_session() -> None:
        table.close(FINE)

    table.thinking = [other_session]
    came = table.settle("r1", FINE)
    assert came.trace[-1] == Traced("second-thought", "passed over", None, "nothing-new")
    assert table.state.life.declared == 0


def test_a_run_whose_judge_failed_is_asked_again_though_a_close_was_judged_since() -> None:
    table = Table("chore")
    table.change()
    table.settle("r1", Failure("timeout"))
    table.change(summary="two")
    assert not table.close(FINE).closed
    table.change(summary="three")
    came: Settlement = table.settle("r1")
    assert came.advice is not None
    assert came.advice.text.startswith("next: verify")


def test_whoever_objected_on_facts_at_a_close_passes_a_run_over_for_its_reason() -> None:
    table = finished()
    table.add(e.RunSettled(run="r1"))
    advisor = Facts("facts", gate="now")
    assert not table.close(advisors=(advisor,)).closed
    advisor.kind = "quiet"
    assert table.settle("r1", advisors=(advisor,)).trace == (
        Traced("facts", "passed over", None, "nothing-new"),
    )


def test_who_is_asked_about_a_pending_close_comes_before_whoever_always_has_something_to_say() -> None:
    table = finished()
    assert table.close(Failure("timeout")).pending
    came = table.settle("r1", advisors=(Plain("talker"), SecondThought()))
    assert table.state.life.outcome == "met"
    assert [one.advisor for one in came.trace if one.did == "asked"] == ["second-thought"]


def test_a_talker_takes_the_turn_of_a_run_and_no_more() -> None:
    table = finished()
    table.add(e.RunSettled(run="r1"))
    assert table.close({**CONTENT, "done": 0.1}).concerns == ("not-done",)
    came = table.settle("r1", advisors=(Plain("p"),))
    assert came.advice is not None
