"""Whose turn it is to speak, and how often."""

from __future__ import annotations

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Failure
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import (
    AskPacket,
    Decision,
    Gate,
    Scene,
    Silence,
)
from loopbook.entry import Draft
from loopbook.projections import BookState
from loopbook.run import ChildState, Observed
from loopbook.settlement import Ask, Flow, Heard, Settlement, deliver, settle
from tests.flows import CONTENT, NOON, Table, reasons
from tests.plain import Plain
from tests.settlement.given import priced, types

# --- whose turn it is ------------------------------------------------------------------------------------


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


# --- never twice, and not too much -----------------------------------------------------------------------


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


# --- children that are lost ------------------------------------------------------------------------------


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
