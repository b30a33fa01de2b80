"""From calls to evidence: what is one, what is none, and what belongs together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.events import (
    Change,
    Check,
    ChildDropped,
    ChildLinked,
    ChildReported,
    Decision,
    Event,
    Source,
    TodoDropped,
    TodoOpened,
)
from loopbook.evidence import background, children, todos
from loopbook.evidence.calls import CallResult, Status, ToolCall
from loopbook.evidence.extract import EMPTY, Memory, observe
from loopbook.evidence.outcomes import DEFAULT
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.tool_table import kind_of
from loopbook.run import Call, ToolKind
from tests.evidence import hostile

SECRET = "correct-horse-battery"
REDACTOR = Redactor([SECRET])
E_ = TypeVar("E_", bound=Event)

NOT_RUN: tuple[Status, ...] = ("refused", "never_ran", "interrupted")


def seen(memory: Memory, call: ToolCall) -> tuple[Memory, list[Event], Call]:
    memory, observation = observe(memory, call, DEFAULT, REDACTOR)
    return memory, [draft.event for draft in observation.drafts], observation.call


def events(*calls: ToolCall) -> list[Event]:
    memory, found = EMPTY, []
    for call in calls:
        memory, some, _ = seen(memory, call)
        found += some
    return found


def only(found: Iterable[Event], cls: type[E_]) -> E_:
    (event,) = found
    assert isinstance(event, cls)
    return event


def call(kind: ToolKind, args: dict[str, object], result: CallResult | None, ref: str = "c1") -> ToolCall:
    return ToolCall(ref, kind.title(), kind, args, result, cwd="/w", line=5)


def bash(command: str, text: str = "", exit_code: int | None = 0, ref: str = "c1") -> ToolCall:
    status: Status = "error" if exit_code else "ok"
    return call("command", {"command": command}, CallResult(status, text, exit_code, line=9), ref)


def started(command: str, task: str = "b1", ref: str = "c1") -> ToolCall:
    result = CallResult("background", "Command running in background", task=task)
    return call("command", {"command": command}, result, ref)


def reading(
    text: str, exit_code: int | None = None, status: Status = "ok", task: str = "b1", ref: str = "c2"
) -> ToolCall:
    result = CallResult(status, text, exit_code, task=task, line=20)
    return call("output", {"task_id": task}, result, ref)._replace(task=task)


def edit(path: str = "/w/a.py", ref: str = "e1") -> ToolCall:
    return call("edit", {"file_path": path}, CallResult("ok", line=7), ref)


# --- one call -------------------------------------------------------------------------------


def test_an_edit_that_went_well_is_a_change_below_the_folder() -> None:
    change = only(events(edit()), Change)
    assert (change.summary, change.paths) == ("edited a.py", ("a.py",))
    assert events(edit()._replace(result=CallResult("error", "String to replace not found"))) == []


def test_the_hosts_own_diff_is_counted() -> None:
    data = {"structuredPatch": [{"lines": ["-a", "+b", "+c"]}]}
    change = only(events(edit()._replace(result=CallResult("ok", data=data))), Change)
    assert change.diff_summary == "+2 -1"


def test_a_command_that_is_a_check_is_one_and_another_is_none() -> None:
    check = only(events(bash("pytest -q", "1 failed in 0.1s", 1)), Check)
    assert (check.outcome, check.exit_code, check.scope) == ("fail", 1, "tests")
    assert check.output_tail == "1 failed in 0.1s"
    assert events(bash("ls")) == []
    assert events(bash("echo npm test", "npm test")) == []


def test_drafts_carry_the_results_line_and_are_told_apart() -> None:
    call_ = call("todos", {"todos": [{"content": "a"}, {"content": "b"}]}, CallResult("ok", line=9), "c7")
    _, observation = observe(EMPTY, call_, DEFAULT, REDACTOR)
    assert [(draft.host_ref, draft.line) for draft in observation.drafts] == [("c7#1", 9), ("c7#2", 9)]
    assert observation.call.line == 5


def test_a_page_fetched_or_searched_is_a_source_and_one_that_was_not_there_is_none() -> None:
    fetched = call("fetch", {"url": "https://x.org/a", "prompt": "p"}, CallResult("ok", "It says so."))
    source = only(events(fetched), Source)
    assert (source.locator, source.summary) == ("https://x.org/a", "It says so.")
    assert only(events(call("fetch", {"query": "how"}, CallResult("ok"))), Source).locator == "how"
    assert events(fetched._replace(result=CallResult("ok", "gone", data={"code": 404}))) == []
    assert events(fetched._replace(result=CallResult("error", "timeout"))) == []


def test_each_question_answered_is_a_decision_of_the_user() -> None:
    data = {"answers": {"Which store?": "SQLite", "Which tools?": ["a", "b"], "Left open?": ""}}
    answers = [
        e for e in events(call("question", {}, CallResult("ok", data=data))) if isinstance(e, Decision)
    ]
    assert [(e.question, e.text, e.decided_by) for e in answers] == [
        ("Which store?", "SQLite", "user"),
        ("Which tools?", "a, b", "user"),
    ]


def test_answers_are_read_from_the_text_where_no_data_stand() -> None:
    text = 'User has answered your questions: "Which store?"="SQLite". You can now continue.'
    assert only(events(call("question", {}, CallResult("ok", text))), Decision).text == "SQLite"


def test_a_plan_accepted_is_a_decision_of_whoever_was_asked() -> None:
    plan = call("plan", {"plan": "1. retry"}, CallResult("ok", "User has approved your plan."))
    decision = only(events(plan), Decision)
    assert (decision.text, decision.decided_by, decision.question) == ("approved", "user", "plan: 1. retry")
    assert only(events(plan._replace(by="a1")), Decision).decided_by == "agent"
    by_agent = plan._replace(result=CallResult("ok", data={"isAgent": True}))
    assert only(events(by_agent), Decision).decided_by == "agent"


#: The five shapes of a no, and a hook's; the last three are not the user's.
NOES = {
    "The user doesn't want to proceed with this tool use. The tool use was rejected.": "rejected",
    "The user doesn't want to proceed with this; the user said:\nnot\nnow": "rejected: not now",
    "The user doesn't want to take this action right now.": "rejected",
    "first the tests, please": "rejected: first the tests, please",
    "Claude requested permissions to use ExitPlanMode, but you haven't granted it yet.": None,
    "This command requires approval": None,
    "PreToolUse:ExitPlanMode hook error: not on Fridays": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), NOES.items(), ids=range(len(NOES)))
def test_a_plan_the_user_turns_down_is_a_decision_though_nothing_ran(text: str, said: str | None) -> None:
    _, found, kept = seen(EMPTY, call("plan", {"plan": "1. retry"}, CallResult("refused", text)))
    assert [e.text for e in found if isinstance(e, Decision)] == ([] if said is None else [said])
    assert not kept.ran


@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize("status", [*NOT_RUN, None])
def test_what_did_not_run_is_evidence_of_nothing(kind: ToolKind, status: Status | None) -> None:
    args: dict[str, object] = {
        "command": "pytest", "file_path": "/w/a", "url": "u", "todos": [{"content": "x"}],
    }  # fmt: skip
    result = None if status is None else CallResult(status, "3 passed in 1s", 0)
    memory, found, kept = seen(EMPTY, call(kind, args, result))
    assert (kind == "plan" and status == "refused") or found == []
    assert memory == EMPTY
    assert not kept.ran


# --- sub-agents -------------------------------------------------------------------------------


def agent(result: CallResult, ref: str = "t1", child: str | None = "a1") -> ToolCall:
    return call("agent", {"prompt": "look"}, result, ref)._replace(child=child)


def test_a_child_in_the_foreground_is_linked_and_reported_by_one_result() -> None:
    memory, found, kept = seen(EMPTY, agent(CallResult("ok", "found it")))
    link, report = found
    assert isinstance(link, ChildLinked)
    assert isinstance(report, ChildReported)
    assert (link.child, report.child, report.ok, report.summary) == ("a1", "a1", True, "found it")
    assert kept.child == "a1"
    assert [child.out for child in memory.children] == [False]


def test_a_child_that_failed_is_reported_so() -> None:
    report = events(agent(CallResult("error", "API Error")))[1]
    assert isinstance(report, ChildReported)
    assert not report.ok


def test_a_child_without_an_id_has_its_calls() -> None:
    link = events(agent(CallResult("ok", "x"), child=None))[0]
    assert isinstance(link, ChildLinked)
    assert link.child == "t1"


def test_a_child_in_the_background_is_reported_once_however_often_its_result_is_told() -> None:
    launched = agent(CallResult("background", "launched", task="a1"))
    told = reading("found it", task="a1")
    types = [e.type for e in events(launched, told, told._replace(ref="c3"), told._replace(ref="c4"))]
    assert types == ["child_linked", "child_reported"]


def test_another_result_of_the_same_child_is_another_report() -> None:
    launched = agent(CallResult("background", task="a1"))
    found = events(
        launched, reading("first", task="a1"), reading("second", task="a1"), reading("first", task="a1")
    )
    assert [e.summary for e in found if isinstance(e, ChildReported)] == ["first", "second"]


def test_the_same_child_sent_out_again_is_out_again_and_may_say_the_same() -> None:
    found = events(agent(CallResult("ok", "done")), agent(CallResult("ok", "done"), "t2"))
    assert [e.type for e in found] == ["child_linked", "child_reported"] * 2


def test_a_child_that_still_works_has_not_reported() -> None:
    launched = agent(CallResult("background", task="a1"))
    assert [e.type for e in events(launched, reading("so far", status="background", task="a1"))] == [
        "child_linked"
    ]


def test_a_task_the_host_calls_a_child_reports_though_its_link_is_unknown() -> None:
    told = reading("found it", task="a9")
    assert events(told) == []
    assert only(events(told._replace(child="a9")), ChildReported).child == "a9"


def test_a_stopped_child_is_no_longer_waited_for() -> None:
    launched = agent(CallResult("background", task="a1"))
    stop = ToolCall("s1", "TaskStop", "other", {"task_id": "a1"}, CallResult("ok"))
    assert isinstance(events(launched, stop)[1], ChildDropped)
    assert events(agent(CallResult("ok", "done")), stop)[2:] == []
    ended = reading("killed", status="interrupted", task="a1")
    assert isinstance(events(launched, ended)[1], ChildDropped)
    cut_off = ended._replace(result=CallResult("interrupted", "[Request interrupted by user]"))
    assert len(events(launched, cut_off)) == 1


def test_what_a_child_does_counts_under_its_name() -> None:
    done = [
        edit()._replace(by="a1"),
        bash("pytest", "1 passed in 0.1s")._replace(by="a1"),
        call("fetch", {"url": "u"}, CallResult("ok"))._replace(by="a1"),
    ]
    assert [getattr(event, "by", None) for event in events(*done)] == ["a1"] * 3
    assert seen(EMPTY, done[0])[2].by == "a1"
    assert only(events(edit()), Change).by is None


# --- background checks ------------------------------------------------------------------------


def test_a_check_in_the_background_is_the_check_that_was_started() -> None:
    memory, found, kept = seen(EMPTY, started("pytest -q"))
    assert found == []
    assert (kept.check, kept.outcome, kept.ran) == ("yes", "unknown", True)
    _, found, kept = seen(memory, reading("3 passed in 1s", 0))
    check = only(found, Check)
    assert (check.command, check.outcome, check.exit_code, check.basis) == ("pytest -q", "pass", 0, "exit")
    assert kept.outcome == "pass"


def test_its_end_is_told_once_by_the_reading_the_notification_and_the_file() -> None:
    file = bash("tail -5 /tmp/x/tasks/b1.output", "3 passed in 1s", ref="c5")
    found = events(started("pytest"), reading("3 passed in 1s", 0), reading("completed", 0, ref="c3"), file)
    assert [e.outcome for e in found if isinstance(e, Check)] == ["pass"]


def test_a_failure_of_before_a_change_says_nothing_once_something_passed() -> None:
    edit = call("edit", {"file_path": "a.py"}, CallResult("ok"), "c2")
    passed, late = bash("pytest", "3 passed in 1s", ref="c3"), reading("1 failed in 1s", 1, "error", ref="c4")
    for between, ended in (((edit, passed), "unknown"), ((edit,), "fail"), ((passed,), "fail")):
        found = events(started("pytest"), *between, late)
        assert [e.outcome for e in found if isinstance(e, Check)][-1] == ended


def test_a_task_that_ended_is_forgotten_and_one_id_is_one_task() -> None:
    memory, _, _ = seen(EMPTY, started("pytest"))
    memory, _, _ = seen(memory, started("npm test", ref="c2"))
    assert [task.command for task in memory.tasks] == ["npm test"]
    memory, _, _ = seen(memory, reading("Tests  3 passed (3)", 0))
    assert memory.tasks == ()


def test_a_reading_that_timed_out_or_finds_it_running_is_no_outcome() -> None:
    assert events(started("pytest"), reading("compiling", status="background")) == []
    assert events(started("pytest"), reading("3 passed in 1s", status="background")) == []


def test_what_a_running_check_showed_is_remembered_until_it_ends() -> None:
    found = events(
        started("pytest | tee log"),
        reading("3 passed in 1s", status="background"),
        reading("", 0, ref="c3"),
    )
    check = only(found, Check)
    assert (check.outcome, check.basis) == ("pass", "summary")


@pytest.mark.parametrize("read", ["tail -5 {}", "cat {} | tail -3", "sleep 5; tail {}"])
def test_the_closing_line_in_the_output_file_belongs_to_the_started_check(read: str) -> None:
    command = read.format("/tmp/claude-1/-p/tasks/b1.output")
    found = events(started("pytest -q"), bash(command, "....\n2 failed, 1 passed in 1s", ref="c2"))
    check = only(found, Check)
    assert (check.command, check.outcome, check.exit_code) == ("pytest -q", "fail", None)


def test_the_file_tool_shows_the_output_file_as_well() -> None:
    path: dict[str, object] = {"file_path": "/tmp/x/tasks/b1.output"}
    numbered = call("read", path, CallResult("ok", "     1→..\n     2→3 passed in 1s"), "c2")
    assert only(events(started("pytest"), numbered), Check).outcome == "pass"
    raw = numbered._replace(result=CallResult("ok", "x", data={"file": {"content": "3 passed in 1s"}}))
    assert only(events(started("pytest"), raw), Check).outcome == "pass"


def test_an_output_file_without_a_closing_line_says_nothing() -> None:
    assert events(started("pytest"), bash("tail /t/tasks/b1.output", "collecting ...", ref="c2")) == []


def test_a_later_word_corrects_what_the_output_file_said() -> None:
    found = events(
        started("pytest"),
        bash("tail /t/tasks/b1.output", "3 passed in 1s", ref="c2"),
        reading("coverage too low", 1, "error", ref="c3"),
    )
    assert [e.outcome for e in found if isinstance(e, Check)] == ["pass", "fail"]


def test_an_end_that_cannot_be_attributed_is_unknown_until_a_closing_line_is_read() -> None:
    found = events(
        started("pytest | tail -3; true"),
        reading("completed (exit code 0)", 0),
        bash("cat /t/tasks/b1.output", "3 passed in 1s", ref="c3"),
    )
    assert [e.outcome for e in found if isinstance(e, Check)] == ["unknown", "pass"]


def test_a_pass_on_files_that_were_changed_since_is_unknown_and_a_failure_stays_one() -> None:
    passed = events(started("pytest"), edit(), reading("3 passed in 1s", 0))
    failed = events(started("pytest"), edit(), reading("1 failed in 1s", 1, "error"))
    assert [e.outcome for e in passed + failed if isinstance(e, Check)] == ["unknown", "fail"]


def test_a_background_check_keeps_the_name_of_the_child_that_started_it() -> None:
    found = events(started("pytest")._replace(by="a1"), reading("3 passed in 1s", 0))
    assert only(found, Check).by == "a1"


def test_the_output_of_an_unknown_task_is_evidence_of_nothing() -> None:
    assert events(started("pytest"), reading("3 passed in 1s", 0, task="b2")) == []
    failed = call("output", {"task_id": "b1"}, CallResult("error", "No task found with ID: b1"), "c2")
    assert events(started("pytest"), failed) == []


# --- always and never -------------------------------------------------------------------------

#: Events that a call which did not run may give: the user's no to a plan, and a task's own end.
MAY_FOLLOW_A_NO = (Decision, ChildDropped)


@given(st.lists(hostile.calls, max_size=6))
def test_nothing_a_host_may_write_breaks_it_and_what_did_not_run_is_no_evidence(
    calls: list[ToolCall],
) -> None:
    memory = EMPTY
    for any_call in calls:
        assert observe(memory, any_call, DEFAULT, REDACTOR) == observe(memory, any_call, DEFAULT, REDACTOR)
        memory, found, kept = seen(memory, any_call)
        if not kept.ran:
            assert all(isinstance(event, MAY_FOLLOW_A_NO) for event in found)
        kept.model_dump_json().encode()
        for event in found:
            event.model_dump_json().encode()


@given(
    st.lists(
        st.tuples(st.sampled_from(["a1", "a2"]), st.sampled_from(["x", "y"]), st.booleans()), max_size=20
    )
)
def test_between_two_links_no_result_of_a_child_is_reported_twice(
    steps: list[tuple[str, str, bool]],
) -> None:
    memory = EMPTY
    told: dict[str, list[str]] = {}
    for child, said, launch in steps:
        step = (
            agent(CallResult("background", task=child), child=child) if launch else reading(said, task=child)
        )
        memory, found, _ = seen(memory, step)
        for event in found:
            if isinstance(event, ChildLinked):
                told[event.child] = []
            elif isinstance(event, ChildReported):
                assert event.summary not in told[event.child]
                told[event.child].append(event.summary)


def with_secret(value: object) -> object:
    """A value with the secret in every text of it."""
    if isinstance(value, str):
        return f"{value} {SECRET}"
    if isinstance(value, dict):
        return {key: with_secret(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_secret(item) for item in value]
    return value


@given(st.lists(hostile.calls, max_size=4))
def test_no_secret_gets_into_a_draft_or_a_call(calls: list[ToolCall]) -> None:
    memory = EMPTY
    for any_call in calls:
        args = {key: with_secret(item) for key, item in any_call.input.items()}
        result = any_call.result
        if result is not None:
            data = (
                None if result.data is None else {key: with_secret(item) for key, item in result.data.items()}
            )
            result = result._replace(text=f"{result.text}{SECRET} {result.text}", data=data)
        memory, found, kept = seen(memory, any_call._replace(input=args, result=result, child=SECRET))
        assert SECRET not in kept.model_dump_json()
        assert not any(SECRET in event.model_dump_json() for event in found)


def size(memory: Memory) -> int:
    return len(repr(memory))


def test_memory_stays_bounded_under_floods() -> None:
    memory = EMPTY
    for n in range(280):
        for flood in (
            started("x" * 10_000, task=f"b{n}" + "y" * 5_000),
            reading("z" * 10_000, status="background", task=f"b{n}" + "y" * 5_000),
            agent(CallResult("background", task=f"a{n}"), child=f"a{n}" + "y" * 5_000),
            call("todos", {"subject": "s" * 900}, CallResult("ok", data={"task": {"id": str(n)}})),
            call(
                "todos", {"todos": [{"content": f"{n} {i}" + "y" * 500} for i in range(3)]}, CallResult("ok")
            ),
        ):
            memory, _ = observe(memory, flood, DEFAULT, REDACTOR)
    assert len(memory.tasks) == background.STARTED
    assert len(memory.children) == children.CHILDREN
    assert len(memory.lists.tasks) == todos.TODOS
    assert size(memory) < background.STARTED * 13_000 + children.CHILDREN * 500 + todos.TODOS * 200


def test_a_childs_results_are_remembered_within_bounds() -> None:
    memory, _, _ = seen(EMPTY, agent(CallResult("background", task="a1")))
    for n in range(100):
        memory, _, _ = seen(memory, reading(f"result {n}", task="a1"))
    assert len(memory.children[0].told) == children.RESULTS


def test_a_todo_that_vanishes_is_dropped() -> None:
    first = call("todos", {"todos": [{"content": "a"}]}, CallResult("ok"))
    second = call("todos", {"todos": []}, CallResult("ok"), "c2")
    opened, dropped = events(first, second)
    assert isinstance(opened, TodoOpened)
    assert isinstance(dropped, TodoDropped)
    assert opened.todo == dropped.todo


#: Real payloads of one host's hooks, in an order they can come in, and the events they give.
PAYLOADS = {
    "Write": ["change"],
    "Edit": ["change"],
    "Read": [],
    "TodoWrite": ["todo_opened", "todo_opened"],
    "TodoWrite.drops_item": ["todo_completed", "todo_dropped"],
    "TaskCreate": ["todo_opened"],
    "TaskUpdate.in_progress": [],
    "TaskUpdate.completed": ["todo_completed"],
    "TaskList": [],
    "Agent.completed": ["child_linked", "child_reported"],
    "Agent.async_launched": ["child_linked", "child_reported"],
    "Bash": [],
}


def test_the_payloads_of_a_real_host_give_the_events_they_should(shared: Path) -> None:
    memory, given = EMPTY, {}
    for name in PAYLOADS:
        path = shared / "data" / "claude_code" / f"PostToolUse.{name}.json"
        hook = json.loads(path.read_text(encoding="utf-8"))
        tool, data = hook["tool_name"], hook["tool_response"]
        result = CallResult("ok", data=data)
        real = ToolCall(name, tool, kind_of("claude-code", tool), hook["tool_input"], result, cwd=hook["cwd"])
        memory, found, _ = seen(memory, real._replace(child=data.get("agentId")))
        given[name] = [event.type for event in found]
        assert all(event.paths == ("a.py",) for event in found if isinstance(event, Change))
    assert given == PAYLOADS
