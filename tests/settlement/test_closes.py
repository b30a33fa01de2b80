"""A declared close, by the one advisor there is."""

from __future__ import annotations

from functools import partial

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Decision, Say
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.run import Observed
from loopbook.settlement import (
    close,
    settle,
)
from tests.flows import CONTENT, Table
from tests.plain import Closer
from tests.settlement.given import closed_first, finished, types


class Pressing(Closer):
    """Objects to every close, by its key, and would have the run go on."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:  # noqa: ARG002
        concerns = (f"{self.name}-concern",)
        return Decision(Say(self.key, self.key, state.life.declared, True, concerns, sort="close"))


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
    table.thinking = [partial(closed_first, table)]
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


def test_a_close_is_judged_unless_it_is_said_that_nobody_can() -> None:
    table = Table("chore")
    table.change()
    table.check()
    assert table.drive(close(table.state, "It is done.", (SecondThought(),)), CONTENT).closed
    assert len(table.of(e.Judged)) == 1
    table.add(e.LoopReopened())
    assert table.drive(close(table.state, "It is done.", (SecondThought(),), judge=False), CONTENT).closed
    assert len(table.of(e.Judged)) == 1


def test_a_close_that_meets_a_growing_book_is_declared_once() -> None:
    table = Table("chore")
    table.change()
    table.check()
    table.before_append = [lambda: table.add(e.Watch(text="ci"))]
    assert table.close().closed
    assert len(table.of(e.CloseDeclared)) == 1


def test_the_answer_to_a_close_is_all_that_stands_against_it_a_line_each_and_no_run_goes_on() -> None:
    table = Table("chore")
    answer = table.close(advisors=(Pressing("one", key="not yet"), Pressing("two", key="not so")))
    assert (answer.concerns, answer.text) == (("one-concern", "two-concern"), "not yet\nnot so")
    assert answer.advice is not None
    assert not answer.advice.continues
    assert [one.continues for one in table.of(e.Noticed) if isinstance(one, e.Noticed)] == [False, False]
    again = table.close(advisors=(Pressing("one", key="not yet"), Pressing("two", key="not so")))
    assert (again.concerns, again.text) == (answer.concerns, answer.text), "said before, and it stands"
    assert len(table.of(e.Noticed)) == 2


@pytest.mark.parametrize("kind", ["chore", "change"])
def test_a_run_that_refuses_a_pending_close_in_silence_is_told_what_comes_next(kind: str) -> None:
    """The judge agrees and something is missing: nobody but this run would hear of it."""
    table = Table(kind)
    table.change()
    if kind == "chore":
        table.check()
        table.add(e.TodoOpened(todo="t", subject="docs"))
    assert table.close(Failure("timeout")).pending
    came = table.settle("r1")
    assert came.advice is not None
    assert came.advice.continues
    assert came.advice.text.startswith("next: ")
    assert [packet.sort for packet in table.asked] == ["close", "close", "away"]
    assert not table.state.life.declared
    assert [one.reason for one in table.settle("r2").trace] == ["nothing-new"]


def test_a_run_that_died_between_a_refused_close_and_what_comes_next_is_told_when_it_settles_again() -> None:
    table = Table("change")
    table.change()
    table.add(e.CloseDeclared(claim="It is done."))
    flow = settle(table.state, Draft(e.RunSettled(run="r1")), (SecondThought(),))
    step = next(flow)
    while len(table.asked) < 2:
        step = flow.send(table.reply(step, CONTENT))
    flow.close()
    assert len(table.of(e.Judged)) == 1
    again = table.settle("r1")
    assert again.advice is not None
    assert again.advice.text.startswith("next: verify")


def test_a_run_that_refuses_a_close_as_before_is_judged_as_any_other_too() -> None:
    table = Table("change")
    table.change()
    assert table.close({**CONTENT, "done": 0.1}).concerns == ("not-done",)
    table.add(e.CloseDeclared(claim="It is done."))
    table.change(summary="two")
    table.add(e.CloseDeclared(claim="It is done now."))
    came = table.settle("r1", {**CONTENT, "done": 0.1})
    assert came.advice is not None
    assert [packet.sort for packet in table.asked] in (["close", "close"], ["close", "close", "away"])


def test_a_run_that_closes_its_loop_is_asked_nothing_more() -> None:
    table = finished()
    table.add(e.CloseDeclared(claim="It is done."))
    table.settle("r1")
    assert table.state.life.outcome == "met"
    assert len(table.asked) == 1


def test_an_objection_to_a_pending_close_lets_the_run_that_it_is_judged_in_end() -> None:
    table = Table("chore")
    table.add(e.CloseDeclared(claim="It is done."))
    came = table.settle("r1", advisors=(Pressing("one"),))
    assert came.advice is not None
    assert not came.advice.continues
    assert table.state.runs.continuations == 0


def test_a_close_is_not_bound_by_how_many_runs_have_gone_on() -> None:
    table = Table("chore")
    table.change()
    table.settle("r1", most=0)
    assert table.state.runs.bound
    assert table.close(advisors=(Pressing("one"),)).text == "k"
    assert len(table.of(e.Noticed)) == 2


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_whatever_is_appended_while_a_close_is_judged_all_are_heard_about_it(at: int) -> None:
    table = Table("chore")
    table.change()
    table.check()
    table.before_append = [*[lambda: None] * at, lambda: table.add(e.Watch(text="ci"))]
    answer = table.close({"ok": 0.9}, advisors=(Closer("one"), Closer("two"), Closer("three")))
    assert answer.closed
    assert len(table.of(e.Judged)) == 3
    assert len(table.of(e.LoopClosed)) == 1
