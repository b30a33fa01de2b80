"""How a call came back, told from the many shapes it has had."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from loopbook.run import ToolKind
from loopbook.transcripts.records import Notification, Version
from loopbook.transcripts.results import Came, Context, notified, result_of

NEW: Version = (2, 1, 39)
OLD: Version = (1, 0, 53)
NO = "The user doesn't want to proceed with this tool use. The tool use was rejected STOP"


def came(
    kind: ToolKind,
    content: object,
    *,
    error: bool | None = None,
    data: object = None,
    version: Version | None = NEW,
    given: Mapping[str, object] | None = None,
    **fields: object,
) -> Came:
    block = {"type": "tool_result", "content": content} | ({} if error is None else {"is_error": error})
    record = {"toolUseResult": data} | fields
    return result_of(kind, given or {}, block, record, Context(7, None, version))


# --- a call that did not run ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (NO, "refused"),
        (NO + " The user provided the following reason for the rejection: not there", "refused"),
        ("The user doesn't want to take this action right now. STOP", "refused"),
        ("Claude requested permissions to use Bash, but you haven't granted it yet.", "refused"),
        ("This command requires approval", "refused"),
        ("npm install (in a folder) requires approval by the user", "refused"),
        ("Permission to use Bash with command rm has been denied.", "refused"),
        ("Permission for this action has been denied. Reason: destructive", "refused"),
        ("PreToolUse:Bash hook error: guard says no", "refused"),
        ("PreToolUse:Bash hook error: [python3 guard.py]: no", "refused"),
        ("no, use the other script", "refused"),  # a hook's or a person's bare words: no exit code
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "never_ran"),
        ("<tool_use_error>InputValidationError: Bash failed</tool_use_error>", "never_ran"),
        ("<tool_use_error>Blocked: sleep 30</tool_use_error>", "never_ran"),
        ("Cancelled: parallel tool call Bash(npm test) errored", "never_ran"),
        ("[Request interrupted by user for tool use]", "interrupted"),
        ("<error>Command was aborted before completion</error>", "interrupted"),
    ],
)
def test_a_command_that_did_not_run(text: str, status: str) -> None:
    result = came("command", text, error=True, data=f"Error: {text}").result
    assert (result.status, result.exit_code) == (status, None)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("user-rejected", "refused"),
        ("permission-rule", "refused"),
        ("automode-blocked", "refused"),
        ("cancelled", "never_ran"),
        ("interrupted", "interrupted"),
    ],
)
def test_the_newest_versions_say_why(kind: str, status: str) -> None:
    assert came("edit", "sure?", error=True, toolDenialKind=kind).result.status == status


def test_a_rejecting_permission_decision_is_a_refusal() -> None:
    result = came("write", "sure?", error=True, permissionDecision={"decision": "reject"}).result
    assert result.status == "refused"


def test_words_of_a_refusal_in_a_tests_output_refuse_nothing() -> None:
    output = "Exit code 1\n" + "F" * 500 + "\nassert 'requires approval' in page\n" + NO
    assert came("command", output, error=True).result.status == "error"


# --- a call that ran -----------------------------------------------------------------------


def test_the_exit_code_of_a_failure_is_taken_off_the_head_of_its_text() -> None:
    for said in ("Exit code 3\nout\nerr", "Error: Exit code 3\nout\nerr"):
        result = came("command", said, error=True).result
        assert (result.status, result.exit_code, result.text) == ("error", 3, "out\nerr")
    assert came("command", "Exit code 1", error=True).result.exit_code == 1


def test_the_oldest_versions_say_no_exit_code_and_it_stays_unknown() -> None:
    result = came("command", "1 failed, 2 passed", error=True, data="Error: 1 failed", version=OLD).result
    assert (result.status, result.exit_code) == ("error", None)


def test_a_failure_in_an_unknown_version_is_not_taken_for_a_refusal() -> None:
    assert came("command", "1 failed", error=True, version=None).result.status == "error"


def test_a_command_that_timed_out_ran() -> None:
    assert came("command", "Command timed out after 2m 0.0s", error=True).result.status == "error"


def test_an_edit_that_failed_is_an_error_in_every_version() -> None:
    said = "Found 2 matches of the string to replace"
    assert came("edit", said, error=True, version=OLD).result.status == "error"
    assert came("edit", said, error=True).result.status == "error"


def test_a_command_the_program_calls_fine_exited_with_zero() -> None:
    data = {"stdout": "ok", "stderr": "", "interrupted": False}
    assert came("command", "ok", error=False, data=data).result.exit_code == 0
    assert came("command", "ok", data=data).result.exit_code == 0
    assert came("command", "ok", error=False).result.exit_code == 0  # a sub-agent's file has no data
    assert came("command", "ok").result.exit_code is None  # nothing says so


def test_a_code_that_is_read_as_no_error_is_not_zero() -> None:
    data = {"stdout": "", "stderr": "", "returnCodeInterpretation": "No matches found"}
    result = came("command", "(no output)", error=False, data=data).result
    assert (result.status, result.exit_code) == ("ok", None)


def test_the_whole_output_is_taken_where_the_message_holds_a_preview() -> None:
    data = {"stdout": "x" * 5_000 + "\n12 passed", "stderr": "a warning", "persistedOutputPath": "/tmp/out"}
    result = came(
        "command", "<persisted-output>\nPreview: xxx</persisted-output>", error=False, data=data
    ).result
    assert result.text.endswith("12 passed\na warning")
    assert len(result.text) > 5_000


def test_a_command_without_output_keeps_what_the_message_says() -> None:
    data = {"stdout": "", "stderr": ""}
    assert came("command", "(Bash completed with no output)", error=False, data=data).result.text.startswith(
        "(Bash"
    )


def test_an_interrupted_command_is_no_run() -> None:
    data = {"stdout": "1 passed", "stderr": "", "interrupted": True}
    assert came("command", "1 passed", error=False, data=data).result.status == "interrupted"


# --- a call that goes on elsewhere ---------------------------------------------------------


def test_a_command_in_the_background_names_its_task() -> None:
    said = "Command running in background with ID: b12-x. Output is being written to: /tmp/b12.output"
    for data in ({"stdout": "", "backgroundTaskId": "b12-x"}, None):
        back = came("command", said, error=False, data=data)
        assert (back.result.status, back.result.task, back.task) == ("background", "b12-x", "b12-x")
        assert back.result.exit_code is None


def test_output_that_tells_of_a_background_command_is_output() -> None:
    said = "log:\n" + "x" * 500 + "\nCommand running in background with ID: b12"
    assert came("command", said, error=False, data={"stdout": said, "stderr": ""}).result.status == "ok"


def test_a_launched_child_is_out() -> None:
    data = {"isAsync": True, "status": "async_launched", "agentId": "a1"}
    text = [{"type": "text", "text": "Async agent launched successfully. (internal)\nagentId: a1 (internal)"}]
    for given in (data, None):
        back = came("agent", text, data=given)
        assert (back.result.status, back.child, back.result.task) == ("background", "a1", "a1")


def test_a_child_that_is_back_gives_its_own_words() -> None:
    words = [
        {"type": "text", "text": "found it"},
        {"type": "text", "text": "agentId: a7 (use SendMessage)\n<usage>"},
    ]
    data = {"status": "completed", "agentId": "a7", "content": words}
    assert came("agent", words, data=data)[:2] == (came("agent", words, data=data).result, "a7")
    for given in (data, None):
        back = came("agent", words, data=given)
        assert (back.result.status, back.result.text, back.child) == ("ok", "found it", "a7")


def test_a_child_of_the_oldest_versions_has_no_name_of_its_own() -> None:
    assert came("agent", [{"type": "text", "text": "done"}], data={"content": []}).child is None


# --- reading a task ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "code", "status", "exit_code"),
    [
        ("completed", 0, "ok", 0),
        ("completed", 2, "error", 2),
        ("failed", 1, "error", 1),
        ("failed", None, "error", None),
        ("killed", 137, "interrupted", 137),
        ("running", None, "background", None),
        ("pending", 0, "background", None),
        ("something new", 0, "background", None),
    ],
)
def test_a_task_has_a_result_once_it_has_ended(
    state: str, code: int | None, status: str, exit_code: int | None
) -> None:
    task = {
        "task_id": "b1",
        "task_type": "local_bash",
        "status": state,
        "output": "43 tests",
        "exitCode": code,
    }
    structured = came("output", "...", data={"retrieval_status": "success", "task": task})
    tags = "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n"
    tags += f"<status>{state}</status>\n\n"
    tags += f"<exit_code>{code}</exit_code>\n\n" if code is not None else ""
    plain = came("output", tags + "<output>\n43 tests\n</output>")
    for back in (structured, plain):
        assert (back.result.status, back.result.exit_code) == (status, exit_code)
        assert (back.task, back.result.task, back.child, back.result.text) == ("b1", "b1", None, "43 tests")


def test_a_reading_that_timed_out_is_no_outcome() -> None:
    task = {"task_id": "b1", "status": "completed", "output": "", "exitCode": 0}
    assert (
        came("output", "", data={"retrieval_status": "timeout", "task": task}).result.status == "background"
    )


def test_an_older_shell_is_read_too() -> None:
    data = {
        "shellId": "bash_1",
        "status": "completed",
        "exitCode": 1,
        "stdout": "1 failed",
        "stderr": "trace",
    }
    back = came("output", "<status>completed</status>", data=data, given={"bash_id": "bash_1"})
    assert (back.result.status, back.result.exit_code, back.task) == ("error", 1, "bash_1")
    assert back.result.text == "1 failed\ntrace"


def test_a_child_read_as_a_task_is_a_child() -> None:
    task = {"task_id": "a1", "task_type": "local_agent", "status": "completed", "result": "found it"}
    back = came("output", "", data={"retrieval_status": "success", "task": task})
    assert (back.child, back.result.text, back.result.status) == ("a1", "found it", "ok")


def test_a_reading_that_failed_names_no_task() -> None:
    back = came(
        "output",
        "<tool_use_error>No task found with ID: b1</tool_use_error>",
        error=True,
        given={"task_id": "b1"},
    )
    assert back.task is None


@pytest.mark.parametrize(
    ("state", "code", "status"),
    [
        ("completed", 0, "ok"),
        ("failed", 1, "error"),
        ("completed", 1, "error"),
        ("killed", None, "interrupted"),
        ("", 0, "background"),
    ],
)
def test_a_notification_is_a_result(state: str, code: int | None, status: str) -> None:
    said = Notification("b1", "", state, "Background command ended", "", code)
    result = notified(said, Context(9, None, NEW))
    assert (result.status, result.task, result.line) == (status, "b1", 9)
    assert result.text == "Background command ended"


@pytest.mark.parametrize(
    "content", [None, 5, {}, [], [None, 7, {"type": "text", "text": 3}], "\x00", "x" * 100_000]
)
@pytest.mark.parametrize(
    "data", [None, 5, "text", [], {}, {"stdout": 7}, {"task": 5}, {"content": "x"}, {"status": []}]
)
@pytest.mark.parametrize("kind", ["command", "output", "agent", "edit", "other"])
def test_nothing_that_may_stand_there_is_an_error(kind: ToolKind, content: object, data: object) -> None:
    for error in (None, True, False):
        came(kind, content, error=error, data=data, given={"task_id": 5})
