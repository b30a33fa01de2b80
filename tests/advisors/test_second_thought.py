"""Second thought: when it asks, what it has to say, and what must never be said twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook import events as e
from loopbook.advisors.asking import Packet
from loopbook.advisors.second_thought import SecondThought, Thresholds, words
from loopbook.advisors.shape import AskPacket, PassOver, Scene
from loopbook.run import Call, Stop
from loopbook.settlement import Settlement
from tests.flows import CONTENT, Table, reasons

ADVISOR = SecondThought()


def gate(
    table: Table, run: e.RunSettled | None = None, advisor: SecondThought = ADVISOR
) -> AskPacket | PassOver:
    found = advisor.gate(table.state, Scene(run or e.RunSettled(run="r")))
    assert isinstance(found, AskPacket | PassOver)
    return found


def reason(table: Table, run: e.RunSettled | None = None, advisor: SecondThought = ADVISOR) -> str:
    found = gate(table, run, advisor)
    return found.reason if isinstance(found, PassOver) else "asks"


def packet(table: Table) -> Packet:
    found = gate(table)
    assert isinstance(found, AskPacket)
    return found.packet


def text(came: Settlement) -> str:
    assert came.advice is not None, came.trace
    return came.advice.text


def changed(tier: e.Tier = "light") -> Table:
    table = Table(tier=tier)
    table.change()
    return table


# --- whether to ask --------------------------------------------------------------------------


def test_three_reasons_leave_no_trace_and_come_before_all_others() -> None:
    from_child = e.RunSettled.model_validate({"run": "r", "stop": "error", "observed": {"subagent": True}})
    for table, scene, why in (
        (Table(opened=False), Scene(from_child, judge=False), "no-loop"),
        (changed(), Scene(from_child, judge=False), "subagent"),
        (changed(), Scene(e.RunSettled(run="r", stop="error"), judge=False), "no-judge"),
    ):
        found = ADVISOR.gate(table.state, scene)
        assert isinstance(found, PassOver)
        assert (found.reason, found.written) == (why, False)


@pytest.mark.parametrize(
    ("stop", "why"), [("end", "asks"), ("length", "asks"), ("error", "failed-run"), ("aborted", "failed-run")]
)
def test_a_run_that_failed_is_not_judged(stop: Stop, why: str) -> None:
    assert reason(changed(), e.RunSettled(run="r", stop=stop)) == why


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (Call(ref="1", tool="MonitorCreate"), "waiting"),
        (Call(ref="1", tool="LoopCreate"), "waiting"),
        (Call(ref="1", tool="goal_wait"), "waiting"),
        (Call(ref="1", tool="monitorcreate"), "asks"),
        (Call(ref="1", tool="subagent"), "waiting"),
        (Call(ref="1", tool="subagent", child="new"), "waiting"),
        (Call(ref="1", tool="subagent", child="back"), "asks"),
        (Call(ref="1", tool="subagent", input='{"child": "back"}'), "asks"),
        (Call(ref="1", tool="subagent", input='{"child": "new"}'), "waiting"),
        (Call(ref="1", tool="subagent", input='{"child": 7}'), "waiting"),
        (Call(ref="1", tool="subagent", input="[" * 100_000), "waiting"),
        (Call(ref="1", tool="bash"), "asks"),
    ],
)
def test_a_run_that_waits_is_not_judged(call: Call, why: str) -> None:
    table = changed()
    table.add(e.ChildLinked(child="back"))
    table.add(e.ChildReported(child="back", ok=True))
    assert reason(table, e.RunSettled(run="r", calls=(call,))) == why


def test_which_tools_wait_is_a_setting() -> None:
    advisor = SecondThought(waiting_tools=frozenset({"Sleep"}), subagent_tools={"Task": "id"})
    for tool, given_input, why in (
        ("Sleep", "", "waiting"),
        ("MonitorCreate", "", "asks"),
        ("subagent", "", "asks"),
        ("Task", '{"id": "x"}', "waiting"),
    ):
        run = e.RunSettled(run="r", calls=(Call(ref="1", tool=tool, input=given_input),))
        assert reason(changed(), run, advisor) == why


def test_waiting_comes_before_a_child_that_is_out() -> None:
    table = changed()
    table.add(e.ChildLinked(child="c"))
    assert reason(table) == "child-out"
    assert reason(table, e.RunSettled(run="r", calls=(Call(ref="1", tool="goal_wait"),))) == "waiting"


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (e.Change(summary="x"), "asks"),
        (e.Check(command="c", outcome="unknown"), "asks"),
        (e.Review(tier="light", reviewer="r"), "asks"),
        (e.Decision(text="x", decided_by="agent"), "asks"),
        (e.Source(locator="x"), "asks"),
        (e.ChildReported(child="c", ok=False), "asks"),
        (e.TodoOpened(todo="t", subject="x"), "asks"),
        (e.TodoOpened(todo="t", subject="x", followup="issue 7"), "nothing-new"),
        (e.Task(text="x"), "nothing-new"),
        (e.Base(text="x"), "nothing-new"),
        (e.Watch(text="x"), "nothing-new"),
        (e.Friction(text="x"), "nothing-new"),
        (e.ChildDropped(child="c", why="x"), "nothing-new"),
        (e.UnitAdded(unit="u", subject="x"), "nothing-new"),
        (e.Prompted(prompt="p", text="x"), "nothing-new"),
    ],
)
def test_only_evidence_and_a_newly_loose_todo_trigger_a_judgment(event: e.Event, why: str) -> None:
    table = changed()
    table.settle()
    assert reason(table) == "nothing-new"
    table.add(event)
    assert reason(table) == why


def test_a_pending_close_is_asked_about_though_nothing_is_new_but_not_while_a_child_is_out() -> None:
    table = changed()
    table.settle()
    table.add(e.CloseDeclared(claim="done"))
    assert packet(table).sort == "close"
    table.add(e.ChildLinked(child="c"))
    assert reason(table) == "child-out"


# --- what the judge sees -------------------------------------------------------------------------


def test_the_judge_sees_the_state_in_its_order_and_no_diff_or_output_first() -> None:
    table = Table()
    table.add(e.Task(text="t" * 300))
    table.add(e.Friction(text="slow", child="c9"))
    table.add(e.TodoOpened(todo="t1", subject="later"))
    table.add(e.Change(summary="one", paths=("a.py",), diff_summary="d" * 2_000))
    table.add(e.Check(command="pytest", outcome="fail", output_tail="boom"))
    state = packet(table).state
    assert list(state) == [
        "last_evidence", "phase", "verify", "kind", "intent", "anchor", "diff_summary", "open_todos", "tasks",
        "friction",
    ]  # fmt: skip
    assert state["last_evidence"] == {"type": "check", "unit": None, "outcome": "fail"}
    assert state["verify"] == "failing"
    assert state["diff_summary"] == "d" * 1_200
    assert state["tasks"] == ["t" * 200]
    assert state["friction"] == ["c9: slow"]
    assert state["open_todos"] == [{"id": "t1", "subject": "later"}]


def test_at_a_close_the_claim_comes_first() -> None:
    table = changed()
    table.add(e.CloseDeclared(claim="all done"))
    assert next(iter(packet(table).state.items())) == ("close_claim", "all done")


@given(st.sampled_from(["watch", "base", "prompt"]))
def test_what_the_packet_does_not_hold_does_not_change_it(what: str) -> None:
    table = changed()
    before = packet(table).digest
    events = {
        "watch": e.Watch(text="x"),
        "base": e.Base(text="x"),
        "prompt": e.Prompted(prompt="p", text="x"),
    }
    table.add(events[what])
    assert packet(table).digest == before


# --- concerns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "concerns"),
    [
        ({}, ()),
        ({"move": "back"}, ("back",)),
        ({"move": "ask_user"}, ("ask-user",)),
        ({"done": 0.0}, ()),
        ({"quality": 1.49}, ("quality",)),
        ({"quality": 1.5}, ()),
        ({"quality": None}, ()),
        ({"review_tier": "light"}, ("review-tier:light",)),
        ({"review_tier": "full"}, ("review-tier:full",)),
        ({"review_tier": None}, ()),
        ({"move": "back", "review_tier": "full", "quality": 0}, ("back", "review-tier:full", "quality")),
    ],
)
def test_a_concern_is_what_the_judge_says_against_a_threshold(
    said: dict[str, object], concerns: tuple[str, ...]
) -> None:
    advice = changed().settle(said={**CONTENT, **said}).advice
    assert advice is not None
    assert advice.concerns == concerns
    for number in ("1.49", "0.9", "1.5"):
        assert number not in advice.text


@pytest.mark.parametrize(("done", "concerns"), [(0.49, ("not-done",)), (0.5, ()), (None, ())])
def test_whether_the_intent_is_met_is_asked_at_the_close_alone(
    done: float | None, concerns: tuple[str, ...]
) -> None:
    assert changed().close({**CONTENT, "done": done}).concerns == concerns


def test_thresholds_are_data() -> None:
    strict = SecondThought(thresholds=Thresholds(quality=2.5))
    advice = changed().settle(said={**CONTENT, "quality": 2}, advisors=(strict,)).advice
    assert advice is not None
    assert advice.concerns == ("quality",)


@pytest.mark.parametrize(
    ("tier", "reviews", "needed"),
    [
        ("light", [], True),
        ("light", ["light"], False),
        ("light", ["light!"], False),
        ("light", ["full"], False),
        ("full", ["light"], False),
        ("full", ["light!"], True),
        ("full", ["full!"], False),
        ("full", ["light", "change"], True),
    ],
)
def test_which_review_answers_the_tier_that_is_needed(tier: str, reviews: list[str], needed: bool) -> None:
    table = changed()
    for review in reviews:
        if review == "change":
            table.change()
            continue
        found = (e.Finding(id="f", severity="concern", text="x"),) if review.endswith("!") else ()
        table.add(
            e.Review(tier="full" if review.startswith("full") else "light", reviewer="r", findings=found)
        )
    came = table.settle(said={**CONTENT, "review_tier": tier})
    concerns = came.advice.concerns if came.advice else ()
    assert (f"review-tier:{tier}" in concerns) is needed


def test_without_a_change_no_review_is_owed() -> None:
    table = Table()
    table.add(e.Decision(text="x", decided_by="user"))
    assert reasons(table.settle(said={**CONTENT, "review_tier": "full"})) == ["agrees"]


# --- speaking and continuing -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("move", "loose", "verify", "speaks", "continues"),
    [
        ("advance", False, True, True, True),
        ("advance", False, False, False, False),
        ("advance", True, False, True, True),
        ("back", False, True, True, False),
        ("back", True, True, True, True),
        ("ask_user", True, True, True, False),
    ],
)
def test_when_it_speaks_and_when_the_run_goes_on(
    move: str, loose: bool, verify: bool, speaks: bool, continues: bool
) -> None:
    table = changed() if verify else Table()
    if not verify:
        table.add(e.Source(locator="x"))
    if loose:
        table.add(e.TodoOpened(todo="t", subject="later"))
    advice = table.settle(said={**CONTENT, "move": move}).advice
    assert (advice is not None) is speaks
    assert (advice is not None and advice.continues) is continues


def test_the_text_is_next_concerns_and_todos() -> None:
    table = changed()
    for i in range(5):
        table.add(e.TodoOpened(todo=f"t{i}", subject=f"todo {i}\n" + "x" * 80))
    assert text(table.settle(said={**CONTENT, "move": "back", "quality": 0})).splitlines() == [
        "next: verify (no passing check (tests, build, manual) since the last change)",
        "go back before verify: the work may not support change",
        "the work reads thin for its intent",
        f"open todos: {'; '.join(f'todo {i} ' + 'x' * 53 for i in range(3))}; +2 more",
        words.CONTINUE_TODOS,
    ]


def test_before_any_phase_is_met_it_speaks_of_the_work_so_far() -> None:
    table = Table()
    table.add(e.Source(locator="x"))
    assert "may not support the work so far" in text(table.settle(said={**CONTENT, "move": "back"}))


def test_at_a_close_there_are_concerns_only() -> None:
    table = changed()
    table.add(e.TodoOpened(todo="t", subject="later"))
    answer = table.close({**CONTENT, "done": 0})
    assert answer.text == "the record does not yet show the intent met"
    assert answer.advice is not None
    assert not answer.advice.continues


# --- what must not be said twice --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "again"),
    [
        ("the same", False),
        ("another move", True),
        ("another concern", True),
        ("another todo", True),
        ("another reason why verify is missing", False),
        ("a phase that was met and opened again", True),
    ],
)
def test_what_makes_other_advice(what: str, again: bool) -> None:
    table = changed()
    table.settle("r1")
    said = dict(CONTENT)
    match what:
        case "another move":
            said["move"] = "back"
        case "another concern":
            said["quality"] = 0
        case "another todo":
            table.add(e.TodoOpened(todo="t", subject="later"))
        case "another reason why verify is missing":
            table.check("fail")
        case "a phase that was met and opened again":
            table.check()
    table.change()
    came = table.settle("r2", said)
    assert (came.advice is not None) is again
    assert again or reasons(came) == ["duplicate"]


def test_a_close_is_compared_with_closes_alone() -> None:
    table = Table("chore")
    table.change()
    table.settle("r1", {**CONTENT, "quality": 0})
    assert table.close({**CONTENT, "quality": 0}).advice
    table.change()
    assert reasons(table.settle("r2", {**CONTENT, "quality": 0})) == ["duplicate"]


# --- units --------------------------------------------------------------------------------------------


def _told_of_both() -> Table:
    table = Table("chore")
    table.units("u", "v")
    for unit in ("u", "v"):
        table.add(e.ChildLinked(child=f"c{unit}", host="h", unit=unit))
        table.add(e.Task(text=f"task of {unit}"), unit)
        table.add(e.Friction(text=f"friction of {unit}"), unit)
        table.add(e.Friction(text="slow", child=f"c{unit}"))
        table.add(e.TodoOpened(todo=f"t{unit}", subject=f"todo of {unit}"), unit)
        table.add(e.Change(summary=f"change of {unit}", diff_summary=f"+{unit}" * 999), unit)
        table.add(e.ChildReported(child=f"c{unit}", ok=True, summary="done", friction="no disk"))
    return table


def test_of_a_unit_the_judge_sees_its_own_tasks_friction_and_todos_alone() -> None:
    state = packet(_told_of_both()).state
    assert state["tasks"] == ["task of u"]
    assert state["friction"] == ["friction of u", "cu: slow", "cu: no disk"]
    assert state["open_todos"] == [{"id": "tu", "subject": "todo of u"}]


def test_at_the_close_of_a_loop_with_units_the_judge_sees_where_each_of_them_stands() -> None:
    table = _told_of_both()
    table.check(unit="u")
    table.add(e.UnitDone(unit="u"))
    table.add(e.CloseDeclared(claim="all done"))
    state = packet(table).state
    assert state["units"] == [
        {
            "id": unit,
            "subject": f"module {unit}",
            "dropped": False,
            "phase": {"current": current, "next": following, "missing": missing},
            "verify": verify,
            "last_evidence": evidence,
            "diff_summary": (f"+{unit}" * 999)[:200],
        }
        for unit, current, following, missing, verify, evidence in (
            ("u", "verify", "close", [], "passing", {"type": "check", "unit": "u", "outcome": "pass"}),
            (
                "v",
                "change",
                "verify",
                ["no passing check (tests, build, manual) since the last change"],
                "stale",
                {"type": "child_reported", "unit": "v", "summary": "done"},
            ),
        )
    ]
    assert state["tasks"] == ["task of u", "task of v"]


def test_the_first_waiting_unit_is_judged_and_the_others_are_named() -> None:
    table = Table()
    table.units("a", "b", "c")
    for unit in ("c", "b"):
        table.change(unit)
    lines = text(table.settle()).splitlines()
    assert [line.split(" (")[0] for line in lines] == ["next: b verify", "next: c verify"]
    assert reason(table) == "not-waiting-unit"
    table.check("pass", "c")
    assert packet(table).unit == "c"


def test_a_unit_with_a_child_out_is_quiet_and_a_child_of_the_loop_quiets_all() -> None:
    table = Table()
    table.units("a", "b")
    table.change("a")
    table.add(e.ChildLinked(child="c1", unit="a"))
    assert reason(table) == "child-out"
    table.change("b")
    assert packet(table).unit == "b"
    table.add(e.ChildLinked(child="c2"))
    assert reason(table) == "child-out"


@pytest.mark.parametrize("event", [e.UnitDone(unit="a"), e.UnitDropped(unit="a", why="x")])
def test_a_unit_that_has_ended_does_not_wait(event: e.Event) -> None:
    table = Table()
    table.units("a", "b")
    table.change("a")
    table.add(event)
    assert reason(table) == "not-waiting-unit"


def test_a_unit_that_is_not_started_does_not_wait() -> None:
    table = Table()
    table.add(e.UnitAdded(unit="a", subject="x"))
    table.add(e.UnitAdded(unit="b", subject="x"))
    table.change("a")
    assert reason(table) == "not-waiting-unit"


def test_the_loop_beside_its_units_is_asked_about_its_own_evidence_and_new_loose_todos() -> None:
    table = Table()
    table.units("a", "b")
    table.add(e.Decision(text="both at once", decided_by="user"))
    assert packet(table).unit is None
    table.settle("r1")
    assert reason(table) == "not-waiting-unit"
    table.add(e.TodoOpened(todo="t", subject="later"))
    assert packet(table).unit is None
    assert text(table.settle("r2")).startswith("next: close (unit a, unit b, 1 todo without a follow-up)")
    assert reason(table) == "not-waiting-unit"


def test_the_first_unit_takes_over_what_was_judged_of_the_loop() -> None:
    table = Table()
    table.add(e.UnitAdded(unit="a", subject="x"))
    table.add(e.UnitStarted(unit="a"))
    table.change("a")
    table.settle("r1")
    table.add(e.UnitAdded(unit="b", subject="y"))
    assert reason(table) == "not-waiting-unit"
    table.change("a")
    assert reasons(table.settle("r2")) == ["duplicate"]


@given(st.text(max_size=300))
def test_no_subject_breaks_the_text_or_its_bound(subject: str) -> None:
    table = Table()
    table.add(e.TodoOpened(todo="t", subject=subject))
    line = text(table.settle()).splitlines()[1]
    assert len(line) <= len("open todos: ") + words.SUBJECT_CHARS
