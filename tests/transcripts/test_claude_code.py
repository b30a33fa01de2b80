"""What a session gives: prompts, runs at rest and evidence, in the order of the file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from loopbook.events import Change, Check, Decision, RunSettled, TodoCompleted, TodoOpened
from loopbook.transcripts.claude_code import UNKNOWN_TIME
from tests.transcripts.records import REFUSED, START, Session, of, prompts, read, settled, types

LOCAL = "<command-name>/model</command-name>\n<command-message>model</command-message>"
CUSTOM = "<command-name>/review</command-name>\n<command-message>review</command-message>"
SKILL = "<command-message>review is running</command-message>\n<command-name>/review</command-name>"


@pytest.fixture
def session() -> Session:
    """A session with one prompt."""
    new = Session()
    new.user("fix the crash")
    return new


# --- when a run comes to rest ---------------------------------------------------------------


def test_a_run_comes_to_rest_at_its_stop_mark(session: Session, tmp_path: Path) -> None:
    session.says("Done.")
    mark = session.stops()
    drafts, reading = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled"]
    assert drafts[1].at == START + timedelta(seconds=mark)
    assert settled(drafts)[0].observed.now == drafts[1].at
    assert drafts[1].line == 2  # where its last word stands
    assert reading.open_run is None


def test_the_mark_of_a_turns_duration_is_a_stop_mark_too(session: Session, tmp_path: Path) -> None:
    session.says("Done.")
    session.stops()
    session.add("system", subtype="turn_duration", durationMs=5)
    session.user("and now?")
    session.says("Nothing.")
    session.add("system", subtype="turn_duration", durationMs=5)
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled", "prompted", "run_settled"]


def test_without_stop_marks_the_next_prompt_settles_a_run_as_of_its_last_act(
    session: Session, tmp_path: Path
) -> None:
    last = session.says("Done.")
    session.moment += timedelta(days=2)
    session.user("thanks")
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled", "prompted"]
    assert drafts[1].at == settled(drafts)[0].observed.now == START + timedelta(seconds=last)


def test_the_last_run_stays_open_and_is_reported_whole(session: Session, tmp_path: Path) -> None:
    session.runs("pytest", "t1", "1 failed", code=1)
    session.says("All tests pass.")
    drafts, reading = read(session, tmp_path)
    assert types(drafts) == ["prompted", "check"]
    assert reading.open_run is not None
    assert reading.open_run.final_text == "All tests pass."
    assert [call.ref for call in reading.open_run.calls] == ["t1"]


def test_a_turn_that_stops_several_times_is_several_runs(session: Session, tmp_path: Path) -> None:
    session.says("Started it, waiting.")
    session.stops()
    session.user(
        "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>"
    )
    session.says("It is done.")
    session.stops()
    session.says("One more thing.")  # the agent goes on unasked
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert [run.final_text for run in settled(drafts)] == [
        "Started it, waiting.",
        "It is done.",
        "One more thing.",
    ]
    assert [prompt.origin for prompt in prompts(drafts)] == ["human", "host"]
    assert settled(drafts)[2].prompt is None


def test_a_stop_without_a_last_word_is_a_stop(session: Session, tmp_path: Path) -> None:
    session.runs("ls", "t1")
    session.says("\n\n")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert settled(drafts)[0].final_text == ""
    assert settled(drafts)[0].stop == "end"


def test_a_blocking_stop_hooks_feedback_is_a_prompt_and_its_own_mark_settles_nothing(tmp_path: Path) -> None:
    session = Session("2.1.332")
    session.user("fix it", promptId="p1")
    session.says("Done.")
    session.user("Stop hook feedback:\nrun the tests", isMeta=True, promptId="p1")
    session.add("attachment", attachment={"type": "hook_blocking_error", "hookEvent": "Stop"})
    session.stops()  # the mark of the stop that was blocked comes after the feedback
    session.runs("pytest", "t1", "1 passed")
    session.says("They pass.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled", "prompted", "check", "run_settled"]
    human, hook = prompts(drafts)
    assert (human.origin, hook.origin) == ("human", "advisor")
    assert human.prompt == "p1" != hook.prompt
    assert [run.final_text for run in settled(drafts)] == ["Done.", "They pass."]


# --- how it came to rest ----------------------------------------------------------------------


def test_an_interrupt_aborts_the_run(session: Session, tmp_path: Path) -> None:
    session.says("Let me look.")
    session.calls("Bash", "t1", command="npm test")
    session.answers("t1", REFUSED, error=True, toolUseResult="User rejected tool use")
    session.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    session.stops()
    drafts, reading = read(session, tmp_path)
    (run,) = settled(drafts)
    assert (run.stop, run.final_text) == ("aborted", "")
    assert [(call.ref, call.ran) for call in run.calls] == [("t1", False)]
    assert not of(drafts, Check)
    assert reading.open_run is None


def test_an_interrupt_before_the_agent_did_anything_aborts_too(session: Session, tmp_path: Path) -> None:
    session.interrupted()
    session.interrupted()
    assert [run.stop for run in settled(read(session, tmp_path)[0])] == ["aborted"]


def test_an_interrupt_beside_a_result_is_one(session: Session, tmp_path: Path) -> None:
    session.calls("Bash", "t1", command="npm test")
    result = {"type": "tool_result", "tool_use_id": "t1", "content": REFUSED, "is_error": True}
    session.user([result, {"type": "text", "text": "[Request interrupted by user for tool use]"}])
    assert [run.stop for run in settled(read(session, tmp_path)[0])] == ["aborted"]


def test_a_refusal_with_a_reason_does_not_end_the_run(session: Session, tmp_path: Path) -> None:
    session.calls("Bash", "t1", command="npm test")
    session.answers("t1", f"{REFUSED} The user provided the following reason: use make", error=True)
    session.runs("make test", "t2")
    session.says("Done.")
    session.stops()
    (run,) = settled(read(session, tmp_path)[0])
    assert run.stop == "end"
    assert [(call.ref, call.ran) for call in run.calls] == [("t1", False), ("t2", True)]


def test_an_answer_cut_at_its_length_is_said_so(session: Session, tmp_path: Path) -> None:
    session.says("And then", stop_reason="max_tokens")
    session.stops()
    assert settled(read(session, tmp_path)[0])[0].stop == "length"


def test_a_run_that_ends_in_an_api_error_is_said_so(session: Session, tmp_path: Path) -> None:
    session.says("API Error: 529", isApiErrorMessage=True, body={"model": "<synthetic>"})
    session.user("try again")
    session.says("API Error: 529", isApiErrorMessage=True, body={"model": "<synthetic>"})
    session.says("Here we go.")
    session.stops()
    assert [run.stop for run in settled(read(session, tmp_path)[0])] == ["error", "end"]


def test_the_programs_own_stand_in_for_an_answer_opens_no_run(tmp_path: Path) -> None:
    session = Session()
    session.user("Continue from where you left off.", isMeta=True)
    session.says("No response requested.", body={"model": "<synthetic>"})
    session.user("hello")
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted"]


# --- what opens a run -------------------------------------------------------------------------


def test_what_the_program_writes_in_the_users_name_opens_no_run(session: Session, tmp_path: Path) -> None:
    session.says("Half")
    session.add("system", subtype="compact_boundary", content="Conversation compacted")
    session.user("This session is being continued from a previous conversation.", isCompactSummary=True)
    session.user("<bash-input>npm test</bash-input>")
    session.user("<bash-stdout>1 failed</bash-stdout><bash-stderr></bash-stderr>")
    session.user("<local-command-caveat>Caveat: ...</local-command-caveat>", isMeta=True)
    session.user(LOCAL)
    session.user("<local-command-stdout>Set model</local-command-stdout>")
    session.user(LOCAL)
    session.add("system", subtype="local_command", content="<command-name>/model</command-name>")
    session.user("<local-command-stdout></local-command-stdout>")
    session.user("the skill's own text", isMeta=True)
    session.says("done.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled"]


def test_what_the_person_ran_is_no_evidence_but_may_have_been_a_check(tmp_path: Path) -> None:
    session = Session()
    session.user("<bash-input>npm test</bash-input>")
    session.user("<bash-stdout>1 failed</bash-stdout><bash-stderr></bash-stderr>")
    session.user("and now?")
    session.says("All tests pass.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled"]
    [call] = settled(drafts)[0].calls
    assert (call.input, call.check, call.outcome, call.exit_code) == ("npm test", "yes", "unknown", None)


def test_a_skill_is_a_prompt_as_it_was_typed(tmp_path: Path) -> None:
    session = Session()
    session.user(SKILL + "<command-args>the parser</command-args>")
    session.user([{"type": "text", "text": "You review ..."}], isMeta=True)
    session.says("Reviewed.")
    drafts, _ = read(session, tmp_path)
    assert [prompt.text for prompt in prompts(drafts)] == ["/review the parser"]


@pytest.mark.parametrize("confirmed_by", ["companion", "answer", "call"])
def test_a_command_named_first_is_a_prompt_once_the_agent_answers_it(
    session: Session, tmp_path: Path, confirmed_by: str
) -> None:
    session.says("Done.")
    line = session.user(CUSTOM)
    confirmed = {
        "companion": lambda: session.user("You review ...", isMeta=True),
        "answer": lambda: session.says("Reviewing."),
        "call": lambda: session.calls("Read", "t1", file_path="a.py"),
    }[confirmed_by]()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled", "prompted"]
    assert (drafts[2].line, drafts[2].at) == (line, START + timedelta(seconds=line))
    assert confirmed > line
    without = Session()
    without.lines = session.lines[:line]
    assert types(read(without, tmp_path)[0]) == ["prompted"]


def test_a_message_typed_while_the_agent_works_is_a_prompt_but_the_run_goes_on(
    session: Session, tmp_path: Path
) -> None:
    session.calls("Bash", "t1", command="ls")
    session.add("queue-operation", operation="enqueue", content="<task-notification>...", uuid=None)
    session.add("queue-operation", operation="enqueue", content="/mcp", uuid=None)
    session.add("queue-operation", operation="enqueue", content="and the docs", uuid=None)
    told = session.add("queue-operation", operation="remove", uuid=None)
    session.answers("t1", "ok", error=False)
    session.says("Docs too.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "prompted", "run_settled"]
    assert (prompts(drafts)[1].text, drafts[1].line) == ("and the docs", told)
    assert [line.role for line in settled(drafts)[0].lines] == ["user", "user", "assistant"]


def test_a_queued_message_told_twice_is_one(session: Session, tmp_path: Path) -> None:
    session.calls("Bash", "t1", command="ls")
    for _ in range(2):
        session.add("queue-operation", operation="enqueue", content="and the docs", uuid=None)
        session.add("queue-operation", operation="remove", uuid=None)
        session.add("attachment", attachment={"type": "queued_command", "prompt": "and the docs"})
    session.add("attachment", attachment={"type": "queued_command", "prompt": "told only here"})
    assert [prompt.text for prompt in prompts(read(session, tmp_path)[0])] == [
        "fix the crash",
        "and the docs",
        "and the docs",
        "told only here",
    ]


def test_a_message_that_was_given_back_is_none(session: Session, tmp_path: Path) -> None:
    session.says("Working.")
    session.add("queue-operation", operation="enqueue", content="and the docs", uuid=None)
    session.add("queue-operation", operation="popAll", uuid=None)
    session.add("queue-operation", operation="enqueue", content="my next", uuid=None)
    session.add("queue-operation", operation="dequeue", uuid=None)
    session.user("my next")
    session.add("queue-operation", operation="remove", uuid=None)
    assert [prompt.text for prompt in prompts(read(session, tmp_path)[0])] == ["fix the crash", "my next"]


def test_prompts_queued_when_the_person_stops_the_agent_stand_before_the_interrupt_but_belong_after_it(
    session: Session, tmp_path: Path
) -> None:
    """Measured in 2.1.332: the queued prompts, then the refused call, then the interrupt, then the answer."""
    session.calls("Bash", "t1", command="pytest")
    first = session.user("try the other one", promptSource="queued")
    session.user("and the docs", promptSource="queued")
    assert types(read(session, tmp_path)[0]) == ["prompted"]
    session.answers("t1", REFUSED, error=True, toolDenialKind="user-rejected")
    session.interrupted()
    session.says("The other one then.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled", "prompted", "prompted", "run_settled"]
    stopped, answered = settled(drafts)
    assert (stopped.stop, stopped.prompt) == ("aborted", prompts(drafts)[0].prompt)
    assert (answered.stop, answered.prompt) == ("end", prompts(drafts)[2].prompt)
    assert [line.text for line in answered.lines] == [
        "try the other one",
        "and the docs",
        "The other one then.",
    ]
    assert drafts[2].line == first


def test_a_prompt_after_a_call_that_was_never_answered_opens_a_run_once_the_agent_answers(
    session: Session, tmp_path: Path
) -> None:
    session.calls("Bash", "t1", command="pytest")  # and then the program was killed
    session.user("go on")
    session.user("the skill's own text", isMeta=True)
    session.says("Going on.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "run_settled", "prompted", "run_settled"]
    assert [(call.ref, call.ran) for call in settled(drafts)[0].calls] == [("t1", False)]
    assert settled(drafts)[1].calls == ()


def test_held_prompts_are_bounded(session: Session, tmp_path: Path) -> None:
    session.calls("Bash", "t1", command="pytest")
    for number in range(50):
        session.user(f"prompt {number}")
    assert len(prompts(read(session, tmp_path)[0])) > 25


def test_a_prompt_nothing_was_done_about_is_answered_with_the_next_one(
    session: Session, tmp_path: Path
) -> None:
    session.user("and the docs")
    session.says("Both done.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "prompted", "run_settled"]
    assert [line.text for line in settled(drafts)[0].lines] == ["fix the crash", "and the docs", "Both done."]


def test_a_fork_gives_its_copies_the_id_of_its_own_prompt_and_prompts_stay_apart(tmp_path: Path) -> None:
    session = Session("2.1.332")
    for text in ("first", "forked"):
        session.user(text, promptId="p9")
        session.says("Done.")
    named = [prompt.prompt for prompt in prompts(read(session, tmp_path)[0])]
    assert named[0] == "p9"
    assert len(set(named)) == 2


def test_a_command_told_local_by_a_system_record_is_no_prompt(tmp_path: Path) -> None:
    session = Session("2.1.332")
    session.user("<command-name>/clear</command-name>\n<command-message>clear</command-message>")
    session.add("system", subtype="local_command", content="<local-command-stdout></local-command-stdout>")
    session.says("Hello.")
    assert prompts(read(session, tmp_path)[0]) == []


def test_a_message_taken_out_for_another_reason_was_not_heard(session: Session, tmp_path: Path) -> None:
    session.says("Working.")
    for text, reason in (("one", "cancelled"), ("two", "absorbed_mid_turn")):
        session.add("queue-operation", operation="enqueue", content=text, uuid=None)
        session.add("queue-operation", operation="enqueue", content="waits", uuid=None)
        session.add("queue-operation", operation="remove", content=text, reason=reason, uuid=None)
    assert [prompt.text for prompt in prompts(read(session, tmp_path)[0])] == ["fix the crash", "two"]


# --- final text and lines ----------------------------------------------------------------------


def test_the_final_text_is_that_of_the_last_message_after_its_last_call(
    session: Session, tmp_path: Path
) -> None:
    session.says("I will look.", message="m1")
    session.calls("Read", "t1", message="m1", file_path="/home/dev/project/a.py")
    session.answers("t1", "text")
    session.says("\n\n", message="m2")
    session.says("First part.", message="m2")
    session.says("Second part.", message="m2")
    session.stops()
    assert settled(read(session, tmp_path)[0])[0].final_text == "First part.\n\nSecond part."


def test_an_earlier_message_is_no_part_of_the_final_text(session: Session, tmp_path: Path) -> None:
    session.says("Half done.", message="m1")
    session.says("All done.", message="m2")
    session.stops()
    assert settled(read(session, tmp_path)[0])[0].final_text == "All done."


def test_a_run_keeps_its_newest_calls_and_counts_them_all(session: Session, tmp_path: Path) -> None:
    for number in range(250):
        session.calls("Read", f"t{number}", file_path="/home/dev/project/a.py")
        session.answers(f"t{number}", "x")
    session.stops()
    (run,) = settled(read(session, tmp_path)[0])
    assert (run.calls_total, len(run.calls), run.calls[-1].ref) == (250, 200, "t249")


def test_a_session_without_a_terminal_is_not_interactive(tmp_path: Path) -> None:
    session = Session()
    session.user("hello", entrypoint="sdk-cli")
    session.says("hi")
    session.user("hello", entrypoint="cli")
    session.says("hi")
    session.stops()
    assert [run.interactive for run in settled(read(session, tmp_path)[0])] == [False, True]


# --- evidence -----------------------------------------------------------------------------------


def test_evidence_stands_at_its_results_line_and_time_and_its_call_at_the_calls(
    session: Session, tmp_path: Path
) -> None:
    asked = session.calls("Bash", "t1", command="pytest")
    line = session.answers("t1", "Exit code 1\n1 failed in 0.1s", error=True)
    session.stops()
    drafts, _ = read(session, tmp_path)
    (check,) = of(drafts, Check)
    assert (check.line, check.at) == (line, START + timedelta(seconds=line))
    assert settled(drafts)[0].calls[0].line == asked
    assert isinstance(check.event, Check)
    assert (check.event.outcome, check.event.exit_code) == ("fail", 1)


def test_parallel_calls_are_paired_by_their_ids(session: Session, tmp_path: Path) -> None:
    session.calls("Bash", "t1", message="m", command="pytest a")
    session.calls("Bash", "t2", message="m", command="pytest b")
    session.answers("t2", "Exit code 1\n1 failed in 0.1s", error=True)
    session.answers("t1", "1 passed in 0.1s", error=False)
    checks = [draft.event for draft in of(read(session, tmp_path)[0], Check)]
    assert [(c.command, c.outcome) for c in checks if isinstance(c, Check)] == [
        ("pytest b", "fail"),
        ("pytest a", "pass"),
    ]


def test_a_call_that_never_ran_is_no_check(session: Session, tmp_path: Path) -> None:
    session.calls("Bash", "t1", command="pytest")
    session.answers("t1", "<tool_use_error>Sibling tool call errored</tool_use_error>", error=True)
    session.calls("Bash", "t2", command="pytest")
    session.answers("t2", REFUSED, error=True)
    assert types(read(session, tmp_path)[0]) == ["prompted"]


def test_a_call_without_a_result_is_listed_once_as_not_run_and_its_late_result_counts(
    session: Session, tmp_path: Path
) -> None:
    session.calls("Bash", "t1", command="pytest")
    session.stops()
    session.user("and?")
    session.answers("t1", "1 passed in 0.1s", error=False)
    session.says("It passed.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    first, second = settled(drafts)
    assert [(call.ref, call.ran) for call in first.calls] == [("t1", False)]
    assert [(call.ref, call.ran) for call in second.calls] == [("t1", True)]
    assert types(drafts) == ["prompted", "run_settled", "prompted", "check", "run_settled"]


def test_a_second_result_for_a_call_is_no_news(session: Session, tmp_path: Path) -> None:
    session.runs("pytest", "t1", "1 passed in 0.1s")
    session.answers("t1", "1 failed", error=True)
    assert len(of(read(session, tmp_path)[0], Check)) == 1


def test_ids_that_are_counted_anew_are_kept_apart(session: Session, tmp_path: Path) -> None:
    for state in ("pending", "completed", "pending"):
        session.calls("TodoWrite", "call_0", todos=[{"content": "parse", "status": state}])
        session.answers("call_0", "ok")
    drafts, _ = read(session, tmp_path)
    opened = [draft.event for draft in of(drafts, TodoOpened)]
    assert len({todo.todo for todo in opened if isinstance(todo, TodoOpened)}) == 2
    assert len(of(drafts, TodoCompleted)) == 1
    assert len({draft.host_ref for draft in drafts}) == len(drafts)


def test_several_results_in_one_record_are_all_read_without_its_structured_one(
    session: Session, tmp_path: Path
) -> None:
    session.calls("Bash", "t1", command="pytest a")
    session.calls("Bash", "t2", command="pytest b")
    blocks = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "1 passed in 0.1s", "is_error": False},
        {
            "type": "tool_result",
            "tool_use_id": "t2",
            "content": "Exit code 1\n1 failed in 0.1s",
            "is_error": True,
        },
    ]
    session.user(blocks, toolUseResult={"stdout": "2 passed in 0.1s", "stderr": "", "interrupted": False})
    checks = [draft.event for draft in of(read(session, tmp_path)[0], Check)]
    assert [(check.outcome, check.output_tail) for check in checks if isinstance(check, Check)] == [
        ("pass", "1 passed in 0.1s"),
        ("fail", "1 failed in 0.1s"),
    ]


def test_a_plan_and_a_question_are_the_users_decisions(session: Session, tmp_path: Path) -> None:
    session.calls("ExitPlanMode", "t1", plan="1. parse")
    session.answers("t1", "User has approved your plan. You can now start coding.")
    session.calls("AskUserQuestion", "t2", questions=[{"question": "Which?"}])
    session.answers("t2", "answered", toolUseResult={"questions": [], "answers": {"Which?": "the second"}})
    decisions = [draft.event for draft in of(read(session, tmp_path)[0], Decision)]
    assert [d.decided_by for d in decisions if isinstance(d, Decision)] == ["user", "user"]


def test_a_background_check_counts_when_its_task_is_read(session: Session, tmp_path: Path) -> None:
    session.calls("Bash", "t1", command="pytest")
    session.answers(
        "t1", "Command running in background with ID: b1", toolUseResult={"backgroundTaskId": "b1"}
    )
    session.calls("TaskOutput", "t2", task_id="b1")
    waiting = {
        "retrieval_status": "timeout",
        "task": {"task_id": "b1", "status": "running", "exitCode": None},
    }
    session.answers("t2", "...", toolUseResult=waiting)
    session.calls("TaskOutput", "t3", task_id="b1")
    task = {"task_id": "b1", "status": "failed", "exitCode": 1, "output": "1 failed in 0.1s"}
    line = session.answers("t3", "...", toolUseResult={"retrieval_status": "success", "task": task})
    session.user("<task-notification><task-id>b1</task-id><status>failed</status></task-notification>")
    drafts, _ = read(session, tmp_path)
    (check,) = of(drafts, Check)
    assert (check.line, isinstance(check.event, Check) and check.event.outcome) == (line, "fail")


def test_a_background_check_counts_when_only_a_notification_tells_of_it(
    session: Session, tmp_path: Path
) -> None:
    session.calls("Bash", "t1", command="pytest")
    session.answers(
        "t1", "Command running in background with ID: b1", toolUseResult={"backgroundTaskId": "b1"}
    )
    told = (
        "<task-notification>\n<task-id>b1</task-id>\n<status>failed</status>\n"
        '<summary>Background command "Test" failed with exit code 1</summary>\n</task-notification>'
    )
    line = session.add("attachment", attachment={"type": "queued_command", "prompt": told})
    drafts, _ = read(session, tmp_path)
    (check,) = of(drafts, Check)
    assert check.line == line
    assert isinstance(check.event, Check)
    assert (check.event.outcome, check.event.exit_code, check.event.command) == ("fail", 1, "pytest")
    assert [prompt.origin for prompt in prompts(drafts)] == ["human"]  # told while it worked: no prompt


# --- copies, times, oddities ----------------------------------------------------------------------


def test_copied_records_of_a_resumed_or_forked_session_count_once(session: Session, tmp_path: Path) -> None:
    session.runs("pytest", "t1", "1 passed in 0.1s")
    session.says("Done.")
    session.lines += session.lines  # the same records again, as a resumed session begins
    session.lines += [line.replace('"sessionId": "', '"sessionId": "other-') for line in session.lines[:4]]
    session.moment += timedelta(seconds=1)
    session.user("next")
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "check", "run_settled", "prompted"]


def test_a_record_without_a_time_has_the_last_known_one(tmp_path: Path) -> None:
    session = Session()
    session.user("first", timestamp=None)
    session.says("a")
    session.user("second", timestamp="never")
    drafts, _ = read(session, tmp_path)
    last = START + timedelta(seconds=2)
    assert [draft.at for draft in drafts] == [UNKNOWN_TIME, last, last]


def test_order_is_file_order_and_times_are_kept_as_they_are(session: Session, tmp_path: Path) -> None:
    session.moment -= timedelta(minutes=5)
    session.runs("pytest", "t1", "1 passed in 0.1s")
    drafts, _ = read(session, tmp_path)
    assert types(drafts) == ["prompted", "check"]
    assert drafts[0].at is not None
    assert drafts[1].at is not None
    assert drafts[1].at < drafts[0].at


def test_every_draft_says_its_session_and_has_a_name_of_its_own(session: Session, tmp_path: Path) -> None:
    session.calls("Edit", "t1", file_path="/home/dev/project/a.py", old_string="a", new_string="b")
    session.answers("t1", "The file has been updated", toolUseResult={"filePath": "/home/dev/project/a.py"})
    session.says("Done.")
    session.stops()
    drafts, reading = read(session, tmp_path)
    assert {draft.session for draft in drafts} == {reading.session}
    assert len({draft.host_ref for draft in drafts}) == len(drafts) == 3
    assert of(drafts, Change)


def test_unknown_record_types_are_said_once_each_and_bookkeeping_is_not(
    session: Session, tmp_path: Path
) -> None:
    for _ in range(3):
        session.add("hologram")
        session.add("progress", data={"type": "hook_progress"})
        session.add("file-history-snapshot", uuid=None)
    session.raw('{"no":"type"}')
    _, reading = read(session, tmp_path)
    assert [(problem.line, problem.what) for problem in reading.problems] == [
        (2, "records of unknown type 'hologram'; passed over"),
        (11, "records of unknown type ''; passed over"),
    ]


def test_a_hook_record_of_the_oldest_versions_is_no_stop_mark(session: Session, tmp_path: Path) -> None:
    session.says("Done.")
    session.add("system", content="Running Stop...", toolUseID="x")
    session.add("system", content="Stop [npm test] completed successfully", toolUseID="x")
    drafts, reading = read(session, tmp_path)
    assert not of(drafts, RunSettled)
    assert reading.open_run is not None


def test_secrets_do_not_reach_a_draft(session: Session, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    session.user(f"use {secret}")
    session.runs(f"GITHUB_TOKEN={secret} pytest", "t1", f"1 passed in 0.1s {secret}")
    session.says(f"Used {secret}.")
    session.stops()
    drafts, reading = read(session, tmp_path)
    assert secret not in "".join(draft.event.model_dump_json() for draft in drafts)
    assert reading.open_run is None


@pytest.mark.parametrize(
    "fields",
    [
        {"message": None},
        {"message": []},
        {
            "message": {
                "content": [[], None, 5, {"type": "tool_use"}, {"type": "tool_use", "name": 5, "input": "{"}]
            }
        },
        {"message": {"content": [{"type": "tool_result", "tool_use_id": ["x"]}, {"type": "tool_result"}]}},
        {"message": {"content": {"type": "text"}, "model": 5, "stop_reason": []}},
        {"uuid": 5, "parentUuid": {}, "agentId": [], "isSidechain": True},
        {"attachment": None, "data": "x", "operation": 7, "subtype": [], "version": {}, "timestamp": {}},
        {"attachment": {"type": "queued_command", "prompt": [{"text": 7}]}},
        {"data": {"type": "agent_progress", "agentId": "../../etc", "message": 5}},
        {"toolUseResult": {"agentId": {}, "content": 5}},
    ],
)
@pytest.mark.parametrize("kind", ["user", "assistant", "system", "attachment", "queue-operation", "progress"])
def test_a_record_of_any_shape_is_no_error(
    session: Session, tmp_path: Path, kind: str, fields: dict[str, object]
) -> None:
    session.add(kind, **fields)
    session.says("Done.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert settled(drafts)[-1].final_text == "Done."
