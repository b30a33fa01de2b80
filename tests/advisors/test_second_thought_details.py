"""Second thought to the letter: what a key is made of, whose seqs count, and what stands beside a reason."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Literal

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Likely, answer_from
from loopbook.advisors.second_thought import SecondThought, subjects, words
from loopbook.advisors.shape import AskPacket, Decision, PassOver, Policy, Say, Scene, Silence
from loopbook.limits import Thresholds
from loopbook.projections import position
from loopbook.run import Call
from tests.flows import CONTENT, Table

ADVISOR = SecondThought()
RUN = e.RunSettled(run="r")


def gate(table: Table, run: e.RunSettled = RUN) -> AskPacket | PassOver:
    found = ADVISOR.gate(table.state, Scene(run))
    assert isinstance(found, AskPacket | PassOver)
    return found


def say(table: Table, said: dict[str, object] = CONTENT) -> Say:
    """What would be said now."""
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    outcome = ADVISOR.decide(table.state, asked.packet, answer_from(asked.packet.questions, said)).outcome
    assert isinstance(outcome, Say)
    return outcome


def objection(*ids: str, reviewer: str = "r1") -> e.Review:
    found = tuple(e.Finding(id=name, severity="concern", text="x") for name in ids)
    return e.Review(tier="light", reviewer=reviewer, findings=found)


def key(move: str, step: str, *named: list[str]) -> str:
    """A key as books have it: an advisory is told from those of an older loopbook by it."""
    told = json.dumps([*named, *[[]] * (3 - len(named))], separators=(",", ":"))
    return f"{move} {step} {sha256(told.encode()).hexdigest()[:32]}"


# --- keys -----------------------------------------------------------------------------------------


def test_a_key_is_the_move_the_step_and_what_is_named() -> None:
    table = Table()
    table.change()
    assert say(table).key == key("advance", "verify@2")
    assert say(table, {**CONTENT, "move": "back", "quality": 0}).key == key(
        "back", "verify@2", ["back", "quality"]
    )
    table.add(e.TodoOpened(todo="t2", subject="x"))
    table.add(e.TodoOpened(todo="t1", subject="x"))
    assert say(table).key == key("advance", "verify@2", [], ["t1", "t2"])


def test_the_key_of_a_close_is_the_same_without_todos() -> None:
    table = Table()
    table.change()
    table.add(e.TodoOpened(todo="t", subject="x"))
    table.add(e.CloseDeclared())
    assert say(table, {**CONTENT, "done": 0}).key == key("advance", "verify@2", ["not-done"])


def test_open_findings_are_part_of_the_key_while_they_are_to_be_fixed() -> None:
    table = Table()
    table.change()
    table.check()
    table.add(objection("f2", "f1"))
    assert position(table.state).next == "fix"
    assert say(table).key == key("advance", "fix@4", [], [], ["f1", "f2"])
    table.add(e.CloseDeclared())
    assert say(table, {**CONTENT, "done": 0}).key == key("advance", "fix@4", ["not-done"], [], ["f1", "f2"])


def test_and_not_while_something_else_comes_first() -> None:
    table = Table()
    table.change()
    table.add(objection("f1"))
    assert say(table).key == key("advance", "verify@2")


def test_of_a_unit_its_own_findings_count() -> None:
    table = Table()
    table.units("a", "b")
    for unit in "ab":
        table.change(unit)
        table.check("pass", unit)
        table.add(objection(f"f{unit}"), unit)
    assert say(table).key.endswith(key("", "", [], [], ["fa"])[-32:])


# --- triggers ---------------------------------------------------------------------------------------


def test_a_notice_answers_its_subjects_newest_evidence_or_the_newest_loose_todo() -> None:
    table = Table()
    table.units("a", "b")
    table.change("a")
    of_a = table.state.version
    table.change("b")
    assert (say(table).unit, say(table).trigger) == ("a", of_a)
    table.add(e.TodoOpened(todo="t", subject="x"))
    assert say(table).trigger == table.state.version
    assert say(table).todos == ("t",)


def test_what_a_unit_did_before_there_were_two_is_not_the_loops() -> None:
    table = Table()
    table.add(e.UnitAdded(unit="a", subject="x"))
    table.change("a")
    table.add(e.UnitAdded(unit="b", subject="x"))
    found = gate(table)
    assert isinstance(found, PassOver)
    assert found.reason == "not-waiting-unit"
    table.change()
    assert isinstance(gate(table), AskPacket)


def read_up_to_the_newest(table: Table, event: e.Event, unit: str | None = None) -> None:
    """A run is settled again once more was written: its judgment has read just that."""
    table.add(e.RunSettled(run="r1"))
    table.add(event, unit)
    assert table.settle("r1").advice
    (judged,) = table.of(e.Judged)
    assert isinstance(judged, e.Judged)
    assert judged.read_to == table.state.version - 2, "the newest entry before the judgment and its notice"


def test_evidence_that_a_judgment_has_just_read_is_read() -> None:
    table = Table()
    table.units("a", "b")
    read_up_to_the_newest(table, e.Change(summary="x"), "a")
    assert subjects.unread(table.state, ADVISOR.name) == ()


@pytest.mark.parametrize("units", [(), ("a", "b")])
def test_a_todo_that_a_judgment_has_just_read_is_read(units: tuple[str, ...]) -> None:
    table = Table()
    table.units(*units)
    read_up_to_the_newest(table, e.TodoOpened(todo="t", subject="x"))
    assert not subjects.loop_has_news(table.state, ADVISOR.name)


@pytest.mark.parametrize(("units", "news"), [((), True), (("a", "b"), False)])
def test_beside_units_a_todo_that_anybody_named_is_no_news(units: tuple[str, ...], news: bool) -> None:
    table = Table()
    table.units(*units)
    table.add(e.TodoOpened(todo="t", subject="x"))
    table.add(e.Noticed(advisor="other", key="k", text="x", todos=("t",)))
    assert subjects.loop_has_news(table.state, ADVISOR.name) is news


@pytest.mark.parametrize("units", [(), ("a", "b")])
def test_a_todo_that_was_judged_and_not_named_is_read_too(units: tuple[str, ...]) -> None:
    table = Table()
    table.units(*units)
    table.add(e.TodoOpened(todo="t", subject="x"))
    table.add(e.Judged(advisor=ADVISOR.name, read_to=table.state.version))
    assert not subjects.loop_has_news(table.state, ADVISOR.name)


# --- packets ----------------------------------------------------------------------------------------


def test_a_packet_about_the_loop() -> None:
    table = Table()
    table.add(e.Change(summary="one", diff_summary="+1"))
    table.add(e.TodoOpened(todo="t", subject="later"))
    table.add(e.Task(text="look"))
    table.add(e.Friction(text="slow"))
    table.add(e.Friction(text="no compiler", child="c1"))
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    assert (asked.packet.unit, asked.packet.sort) == (None, "away")
    assert asked.packet.state == {
        "last_evidence": {"type": "change", "unit": None, "summary": "one"},
        "phase": {
            "current": "change",
            "next": "verify",
            "missing": ["no passing check (tests, build, manual) since the last change"],
        },
        "verify": "stale",
        "kind": "change",
        "intent": "Add a retry",
        "anchor": None,
        "diff_summary": "+1",
        "open_todos": [{"id": "t", "subject": "later"}],
        "tasks": ["look"],
        "friction": ["slow", "c1: no compiler"],
    }


def test_a_packet_about_a_unit_is_about_its_own_work() -> None:
    table = Table()
    table.units("a", "b")
    table.add(e.Change(summary="one", diff_summary="+1"), "a")
    table.check("pass", "a")
    table.add(e.Change(summary="two", diff_summary="+2"), "b")
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    state = asked.packet.state
    assert asked.packet.unit == "a"
    assert state["last_evidence"] == {"type": "check", "unit": "a", "outcome": "pass"}
    assert state["phase"] == {
        "current": "verify",
        "next": "review",
        "missing": ["no review since the last change"],
    }
    assert (state["verify"], state["diff_summary"]) == ("passing", "+1")


@pytest.mark.parametrize(
    ("event", "word", "value"),
    [
        (e.Review(tier="full", reviewer="r"), "tier", "full"),
        (e.Decision(text="yes", decided_by="user"), "summary", "yes"),
        (e.Source(locator="x", summary="read"), "summary", "read"),
        (e.ChildReported(child="c", ok=True, summary="done"), "summary", "done"),
    ],
)
def test_the_last_evidence_is_told_by_its_word(event: e.Event, word: str, value: str) -> None:
    table = Table()
    table.add(event)
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    assert asked.packet.state["last_evidence"] == {"type": event.type, "unit": None, word: value}


def test_a_close_without_a_claim_has_none() -> None:
    table = Table()
    table.add(e.CloseDeclared())
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    assert (asked.packet.state["close_claim"], asked.packet.sort) == ("", "close")


def test_units_stand_in_the_packet_at_the_close_of_a_loop_with_several_alone() -> None:
    for names, closing, shown in ((("a",), True, 0), (("a", "b"), True, 2), (("a", "b"), False, 0)):
        table = Table()
        table.units(*names)
        table.change()
        if closing:
            table.add(e.CloseDeclared())
        asked = gate(table)
        assert isinstance(asked, AskPacket)
        units = asked.packet.state.get("units", [])
        assert isinstance(units, list)
        assert len(units) == shown


# --- what it decides by -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("advisor", "settings"),
    [
        (SecondThought(), {}),
        (SecondThought(waiting_tools=frozenset({"sleep", "nap"})), {"waiting_tools": ["nap", "sleep"]}),
        (SecondThought(subagent_tools={"send": "who"}), {"subagent_tools": {"send": "who"}}),
        (SecondThought(thresholds=Thresholds(done=0.75, quality=1.5)), {}),
        (SecondThought(takes_turn=False), {"takes_turn": False}),
    ],
)
def test_one_that_decides_the_same_is_made_of_what_is_kept(
    advisor: SecondThought, settings: dict[str, object]
) -> None:
    assert advisor.policy().settings == settings
    assert SecondThought.under(advisor.policy()) == advisor


def test_what_is_not_kept_is_as_usual() -> None:
    assert SecondThought.under(Policy()) == SecondThought()
    kept = Policy({"done": 0.75}, settings={"waiting_tools": "sleep", "subagent_tools": ["send"]})
    assert SecondThought.under(kept) == SecondThought(thresholds=Thresholds(done=0.75))


# --- reasons, and what stands beside them -------------------------------------------------------------


def test_a_child_that_is_out_is_named() -> None:
    table = Table()
    table.change()
    table.add(e.ChildLinked(child="c1"))
    table.add(e.ChildLinked(child="c2"))
    assert gate(table) == PassOver("child-out", "c1")
    table.add(e.CloseDeclared())
    assert gate(table) == PassOver("child-out", "c1")


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_how_a_run_failed_is_named(stop: Literal["error", "aborted"]) -> None:
    table = Table()
    table.change()
    assert gate(table, e.RunSettled(run="r", stop=stop)) == PassOver("failed-run", stop)


def test_a_units_child_is_named_with_its_unit() -> None:
    table = Table()
    table.units("a", "b")
    table.add(e.ChildLinked(child="of-b", unit="b"))
    table.add(e.ChildLinked(child="of-a", unit="a"))
    table.change("a")
    assert gate(table) == PassOver("child-out", "of-a", "a")


@pytest.mark.parametrize("written", ['["back"]', '{"child": ["back"]}', '"back"', "7", "{}"])
def test_an_input_that_names_no_child_waits_for_one(written: str) -> None:
    table = Table()
    table.change()
    table.add(e.ChildLinked(child="back"))
    table.add(e.ChildReported(child="back", ok=True))
    run = e.RunSettled(run="r", calls=(Call(ref="1", tool="subagent", input=written),))
    assert gate(table, run) == PassOver("waiting", "subagent")


def test_with_no_packet_or_no_answer_nothing_is_decided() -> None:
    table = Table()
    table.units("a", "b")
    table.change("a")
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    nobody = Silence("judge-failed", "nobody was asked")
    assert ADVISOR.decide(table.state, None, Answer({})) == Decision(nobody, judged=False)
    of_a = nobody._replace(unit="a")
    assert ADVISOR.decide(table.state, asked.packet, None) == Decision(of_a, judged=False)


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (Failure("timeout", "8 s"), "timeout"),
        (Answer({}, {"move": "not an option"}), "move: not an option"),
        (Answer({}), "move: no answer"),
        (Answer({"move": Likely(0.5)}), "move: no answer"),
    ],
)
def test_an_answer_without_a_move_is_a_failure_of_the_judge(answer: Answer | Failure, detail: str) -> None:
    table = Table()
    table.units("a", "b")
    table.change("a")
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    failed = Silence("judge-failed", detail, "a")
    assert ADVISOR.decide(table.state, asked.packet, answer) == Decision(failed, judged=False)


def test_agreement_with_a_close_is_a_closes_silence() -> None:
    table = Table("chore")
    table.change()
    table.check()
    table.add(e.CloseDeclared())
    asked = gate(table)
    assert isinstance(asked, AskPacket)
    came = ADVISOR.decide(table.state, asked.packet, answer_from(asked.packet.questions, CONTENT))
    assert came == Decision(Silence("agrees", closes=True))


@pytest.mark.parametrize(("reviewed", "needed"), [("a", False), ("b", True), (None, True)])
def test_a_review_is_owed_by_the_unit(reviewed: str | None, needed: bool) -> None:
    table = Table(tier="none")
    table.units("a", "b")
    table.change("a")
    table.check("pass", "a")
    table.add(e.Review(tier="light", reviewer="r"), reviewed)
    if reviewed != "a":
        assert ("review-tier:light" in say(table, {**CONTENT, "review_tier": "light"}).concerns) is needed
        return
    assert table.settle("r1", {**CONTENT, "review_tier": "light"}).advice is None


# --- words ------------------------------------------------------------------------------------------


def test_where_nothing_is_missing_nothing_stands_in_parentheses() -> None:
    table = Table("chore")
    table.change()
    table.check()
    assert words.next_line(position(table.state)) == "next: close"


@pytest.mark.parametrize(("todos", "told"), [(2, "x0; x1"), (3, "x0; x1; x2"), (4, "x0; x1; x2; +1 more")])
def test_three_todos_are_named_and_the_rest_counted(todos: int, told: str) -> None:
    table = Table()
    for n in range(todos):
        table.add(e.TodoOpened(todo=f"t{n}", subject=f"x{n}"))
    assert words.todo_lines(table.state.todos, ask_user=False)[0] == f"open todos: {told}"
