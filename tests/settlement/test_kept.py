"""What each decision leaves in the trace and in the book, to the letter."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import pytest
from pydantic import JsonValue

from loopbook import events as e
from loopbook.advisors.asking import Answer, Chosen, Cost, Failure, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import AskPacket, DecideNow, Decision, Gate, Say, Scene, Silence
from loopbook.entry import Draft
from loopbook.limits import Thresholds
from loopbook.projections import FOLD_VERSION, BookState
from loopbook.settlement import (
    Append,
    Ask,
    Read,
    Settlement,
    Traced,
    Written,
    settle,
)
from loopbook.settlement.case import policy_of
from tests.flows import CONTENT, Table
from tests.plain import Closer, Plain
from tests.settlement.given import units


class Turning(Plain):
    """Asks about unit a, until it has something else to say."""

    def packet(self, state: BookState) -> Packet:
        return super().packet(state)._replace(unit="a")


class OfUnit(Plain):
    """Decides on facts about unit a, and would have the run go on."""

    def gate(self, state: BookState, scene: Scene) -> Gate:  # noqa: ARG002 - part of the shape
        return DecideNow(unit="a")

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        came = super().decide(state, packet, answer)
        assert isinstance(came.outcome, Say)
        return came._replace(outcome=came.outcome._replace(unit="a"))


def basis(table: Table, advisor: str = "second-thought") -> dict[str, JsonValue]:
    """What an advisor's newest silence rests on."""
    silences = [one for one in table.of(e.PassedOver) if isinstance(one, e.PassedOver)]
    return {**[one for one in silences if one.advisor == advisor][-1].basis}


def table_packet(table: Table, claim: str | None = None) -> str:
    """The digest of what second thought would ask now, or once a close is declared."""
    if claim is not None:
        table = copy(table)
        table.entries = [*table.entries]
        table.add(e.CloseDeclared(claim=claim))
    gate = SecondThought().gate(table.state, Scene(e.RunSettled(run="r")))
    assert isinstance(gate, AskPacket)
    return gate.packet.digest


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


class UnitByUnit(OfUnit):
    """Has something to say of one unit after the other."""

    def gate(self, state: BookState, scene: Scene) -> Gate:  # noqa: ARG002 - part of the shape
        return DecideNow(unit="b" if self.name in state.units["a"].about.heard else "a")


class AskedUnitByUnit(UnitByUnit):
    """The same, of a judge."""

    def gate(self, state: BookState, scene: Scene) -> Gate:
        unit = super().gate(state, scene).unit  # type: ignore[union-attr] # it decides on facts
        return AskPacket(self.packet(state)._replace(unit=unit))


def test_a_judged_word_about_a_unit_is_the_advisors_last_in_that_settle_too() -> None:
    came = units().settle(said={"ok": 0.5}, advisors=(AskedUnitByUnit("p", takes_turn=False),))
    assert came.trace == (Traced("p", "asked", "a", ""), Traced("p", "spoke", "a", judged=True))


class SecondGuesser(Turning):
    """Is silent about what it asks, and would then speak of the same unit on facts."""

    def gate(self, state: BookState, scene: Scene) -> Gate:
        return DecideNow(unit="a") if state.spent.answers else super().gate(state, scene)

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        return Decision(Silence("fine", unit="a")) if packet else super().decide(state, packet, answer)


def test_who_was_silent_about_a_unit_when_asked_says_nothing_of_it_on_facts_either() -> None:
    came = units().settle(said={"ok": 0.5}, advisors=(SecondGuesser("p", "ask"),))
    assert came.trace == (
        Traced("p", "asked", "a", ""),
        Traced("p", "silent", "a", "fine", judged=True),
    )


def test_a_unit_that_was_judged_in_silence_is_not_asked_about_again_for_the_run_whatever_came_since() -> None:
    table = units()
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")
    table.settle("r1")
    table.add(e.Decision(text="and the sign", decided_by="user"), "a")
    before = len(table.asked)
    table.settle("r1")
    assert len(table.asked) == before
    table.settle("r2")
    assert len(table.asked) == before + 1


@pytest.mark.parametrize("takes_turn", [True, False])
def test_a_word_about_a_unit_is_the_advisors_last_in_that_settle(takes_turn: bool) -> None:
    came = units().settle(advisors=(UnitByUnit("p", takes_turn=takes_turn),))
    assert came.trace == (Traced("p", "spoke", "a"),)


def test_a_unit_that_is_judged_in_silence_is_traced_once() -> None:
    table = units()
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")
    assert table.settle().trace == (
        Traced("second-thought", "asked", "a", ""),
        Traced("second-thought", "silent", "a", "agrees", judged=True),
    )


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


def test_a_failure_that_has_cost_is_counted_with_what_came_after_it() -> None:
    table = Table()
    table.change()
    table.answers = [Failure("garbage", "x", Cost(7, None, 0.25))]
    table.settle()
    (silence,) = table.of(e.PassedOver)
    assert isinstance(silence, e.PassedOver)
    assert (silence.reason, silence.detail) == ("judge-failed", "garbage")
    assert (silence.asked, silence.input_tokens, silence.output_tokens, silence.cost_usd) == (
        1,
        7,
        None,
        0.25,
    )


def test_a_notice_keeps_what_it_answers_and_names() -> None:
    table = Table()
    table.change()
    table.add(e.TodoOpened(todo="t", subject="x"))
    table.settle("r1", {**CONTENT, "move": "back"})
    (notice,) = table.of(e.Noticed)
    assert isinstance(notice, e.Noticed)
    assert (notice.trigger, notice.concerns, notice.todos, notice.units) == (3, ("back",), ("t",), ())


def test_a_silence_that_rests_on_no_judgment_keeps_what_it_was_decided_by() -> None:
    table = Table()
    table.change()
    asked = {"packets": [table_packet(table)]}
    advisor = SecondThought(thresholds=Thresholds(done=0.75))
    by = {"versions": {**policy_of(advisor).versions}, "thresholds": advisor.thresholds._asdict()}
    table.settle("r1", Failure("timeout"), advisors=(advisor,))
    assert basis(table) == {**by, **asked, "failure": "timeout"}
    table.settle("r1", {"done": 0.9}, advisors=(advisor,))
    assert basis(table) == {
        **by,
        **asked,
        "answers": {
            "done": {"noul": 0.9},
            "move": {"lost": "no answer"},
            "review_tier": {"lost": "no answer"},
            "quality": {"lost": "no answer"},
        },
    }
    table.settle(e.RunSettled(run="r2", stop="error"), advisors=(advisor,))
    assert basis(table) == by


def test_a_silence_at_a_close_keeps_that_it_was_one() -> None:
    table = Table("chore")
    table.change()
    table.check()
    packet = table_packet(table, "It is done.")
    table.answers = [{"ok": 0.9}, Failure("timeout"), {"ok": 0.9}]
    table.close(advisors=(Closer("one"), SecondThought(), Closer("other")))
    kept = basis(table)
    assert {name: kept[name] for name in kept.keys() - {"versions", "thresholds"}} == {
        "packets": [packet],
        "at_close": True,
        "failure": "timeout",
    }


def test_a_silence_keeps_that_nobody_could_be_asked() -> None:
    table = Table()
    table.change()
    table.settle(advisors=(Plain("p", "quiet"),), judge=False)
    assert basis(table, "p")["judge"] is False


def test_a_close_over_which_an_answer_was_stale_or_the_turn_taken_stays_open() -> None:
    def moving() -> None:
        table.add(e.Task(text="look"))

    table = Table("chore")
    table.change()
    table.check()
    table.thinking = [moving, moving]
    assert not table.close({**CONTENT, "ok": 0.9}, advisors=(SecondThought(), Closer("other"))).closed
    table.add(e.CloseDeclared(claim="It is done."))
    order = (Plain("speaks"), Closer("one"), Closer("other"))
    came = table.settle("r1", {"ok": 0.1}, advisors=order)
    assert [one.reason for one in came.trace] == ["", None, "turn-taken", "turn-taken"]
    assert table.state.life.declared, "the other one has yet to be heard"
    assert table.state.life.outcome is None


def test_what_rests_on_facts_rests_on_no_judgment() -> None:
    table = Table()
    table.settle(advisors=(Plain("p"),))
    (notice,) = table.of(e.Noticed)
    assert isinstance(notice, e.Noticed)
    assert notice.judged is None


@pytest.mark.parametrize(
    ("begun", "reason", "detail"),
    [
        ([e.RunSettled(run="r1"), e.RunSettled(run="r2")], "stale", "newer-run"),
        (
            [e.RunSettled(run="r1"), e.Noticed(advisor="first", run="r1", key="k", text="x")],
            "turn-taken",
            None,
        ),
        ([e.PassedOver(advisor="first", run="r0", reason="bound")], "bound", None),
    ],
)
def test_who_is_not_even_asked_is_told_of_whom_it_would_have_been(
    begun: list[e.Event], reason: str, detail: str | None
) -> None:
    table = units()
    table.change("a")
    for event in begun:
        table.add(event)
    came = table.settle("r1", advisors=(Plain("first", "quiet"), SecondThought()))
    assert not table.asked
    assert came.trace[-1] == Traced("second-thought", "passed over", "a", reason, detail)
    assert table.entries[-1].unit == "a"


@pytest.mark.parametrize("to", ["now", "gone"])
def test_whoever_asks_no_more_keeps_what_the_answer_cost(to: str) -> None:
    table = units()
    advisor = Turning("p", "ask")
    table.thinking = [lambda: setattr(advisor, "kind", to)]
    table.answers = [Answer({}, cost_usd=0.25)]
    came = table.settle("r1", advisors=(advisor,))
    assert came.trace[-1] == Traced("p", "passed over", "a", "stale", "moved")
    assert (table.state.spent.answers, table.state.spent.cost_usd) == (1, 0.25)


def test_what_a_host_answers_that_has_said_there_is_no_judge_is_kept_so() -> None:
    table = Table()
    table.change()
    table.settle(advisors=(Plain("p", "ask"),), judge=False)
    (judged,) = table.of(e.Judged)
    assert isinstance(judged, e.Judged)
    assert judged.basis["judge"] is False


def test_what_a_unit_was_told_is_told_it_again_only_when_it_is_something_else() -> None:
    table = units()
    table.add(e.Noticed(advisor="p", run="r0", key="k", text="x"), "b")
    first = table.settle("r1", advisors=(OfUnit("p"),))
    assert first.advice is not None, "what b was told is not what a was told"
    assert first.advice.unit == "a"
    again = table.settle("r2", advisors=(OfUnit("p"),))
    assert again.trace == (Traced("p", "silent", "a", "duplicate"),)
    assert table.entries[-1].unit == "a"
    assert table.settle("r3", advisors=(OfUnit("p", key="other"),)).advice is not None


def test_the_bound_is_of_the_unit_whose_advice_is_the_last() -> None:
    table = units()
    came = table.settle("r1", advisors=(OfUnit("p"),), most=0)
    assert came.trace == (Traced("p", "spoke", "a"), Traced("p", "silent", "a", "bound"))
    assert [entry.unit for entry in table.entries[-2:]] == ["a", "a"]
    came = table.settle("r2", advisors=(OfUnit("p", key="other"),), most=0)
    assert came.trace == (Traced("p", "silent", "a", "bound"),)
    assert table.entries[-1].unit == "a"


@pytest.mark.parametrize(
    ("meanwhile", "detail"),
    [
        (lambda table: setattr(table, "idle", False), "busy"),
        (lambda table: table.add(e.RunSettled(run="r2")), "newer-run"),
        (lambda table: table.add(e.Prompted(prompt="p", text="x", origin="host")), "newer-run"),
    ],
)
def test_why_an_answer_came_too_late_is_told(meanwhile: Callable[[Table], None], detail: str) -> None:
    table = Table()
    table.change()
    table.thinking = [lambda: meanwhile(table)]
    assert table.settle("r1").trace[-1] == Traced("second-thought", "passed over", None, "stale", detail)


@pytest.mark.parametrize(
    ("meanwhile", "reason", "detail"),
    [
        (lambda table: table.add(e.RunSettled(run="r2")), "stale", "newer-run"),
        (lambda table: table.add(e.Noticed(advisor="p", run="r1", key="k", text="x")), "turn-taken", None),
        (lambda table: table.change("a", str(table.state.version)), "stale", "moved"),
    ],
)
def test_and_of_whom_it_was(meanwhile: Callable[[Table], None], reason: str, detail: str | None) -> None:
    table = units()
    table.change("a")
    table.thinking = [lambda: meanwhile(table)] * 2
    came = table.settle("r1", advisors=(Plain("p", "quiet"), SecondThought()))
    assert came.trace[-1] == Traced("second-thought", "passed over", "a", reason, detail)
    assert table.entries[-1].unit == "a"


def test_of_a_failure_an_advisor_is_told_of_whom_and_of_what_it_was() -> None:
    told: list[Packet | None] = []

    class Told(SecondThought):
        def decide(
            self, state: BookState, packet: Packet | None, answer: Answer | Failure | None
        ) -> Decision:
            told.append(packet)
            return super().decide(state, packet, answer)

    table = units()
    table.change("a")
    table.settle("r1", Failure("timeout"), advisors=(Told(),))
    assert told.pop() == Packet({}, {}, "a", "away")
    table.close(Failure("timeout"), advisors=(Told(),))
    assert told.pop() == Packet({}, {}, None, "close")


def test_what_comes_of_a_failure_is_decided_on_the_newest_state() -> None:
    class Looking(Plain):
        def decide(
            self, state: BookState, packet: Packet | None, answer: Answer | Failure | None
        ) -> Decision:
            if not isinstance(answer, Failure):
                return super().decide(state, packet, answer)
            return Decision(Silence("judge-failed", f"at {state.version}"), judged=False)

    table = Table()
    table.thinking = [table.change]
    assert table.settle("r1", Failure("timeout"), advisors=(Looking("p", "ask"),)).trace[-1].detail == "at 3"


def test_a_judgment_names_the_versions_of_all_that_decided() -> None:
    table = Table()
    table.change()
    table.settle()
    (judged,) = table.of(e.Judged)
    assert isinstance(judged, e.Judged)
    assert judged.versions["fold"] == str(FOLD_VERSION)
    assert judged.versions.keys() == {"policy", "state", "questions", "code", "flow", "fold"}


def test_a_run_is_decided_as_the_book_has_it() -> None:
    table = Table()
    table.change()
    table.add(e.RunSettled(run="r1", stop="error"))
    assert table.settle(e.RunSettled(run="r1", stop="end")).trace == (
        Traced("second-thought", "passed over", None, "failed-run", "error"),
    )


def test_a_run_that_the_state_has_forgotten_was_done_before_by_everybody() -> None:
    table = Table()
    flow = settle(table.state, Draft(e.RunSettled(run="r1")), (Plain("p"), Plain("q")))
    assert isinstance(next(flow), Append)
    with pytest.raises(StopIteration) as end:  # taken, and of so long ago that the state has it no more
        flow.send(Written(table.state, taken=True))
    assert end.value.value == Settlement(trace=(Traced("p", "done before"), Traced("q", "done before")))


def test_an_answer_that_another_session_has_agreed_before_is_stale() -> None:
    """It was silent, so nothing was said that would show it."""
    table = Table()
    table.add(e.Decision(text="keep the name", decided_by="user"))
    table.thinking = [lambda: others.append(table.settle("r1"))]
    others: list[Settlement] = []
    came = table.settle("r1")
    assert others[0].trace[-1] == Traced("second-thought", "silent", None, "agrees", judged=True)
    assert came.advice is None
    assert came.trace[-1] == Traced("second-thought", "passed over", None, "stale", "decided")


def test_who_asks_while_the_loop_is_closed_was_there_before_nobody() -> None:
    table = Table()
    table.change()
    table.thinking = [lambda: table.add(e.LoopClosed(outcome="over_concerns"))]
    before = table.state.version
    assert table.settle("r1").trace[-1] == Traced("second-thought", "done before")
    assert table.state.version == before + 2, "the run, and the end"


def test_what_is_read_is_an_entry() -> None:
    table = Table()
    table.add(e.RunSettled(run="r1"))
    flow = settle(table.state, Draft(e.RunSettled(run="r1")), (SecondThought(),))
    assert isinstance(next(flow), Read)
    with pytest.raises(TypeError, match=r"^a Read is answered with an Entry; send the one at that seq$"):
        flow.send(Written(table.state, taken=True))


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
