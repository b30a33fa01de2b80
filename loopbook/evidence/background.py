"""Commands that went on in the background: the check that was started is the check that is read.

Theory. A command moves to the background when it is asked to or when it outlasts its timeout.
How it ended is learnt later and in pieces: from a tool that reads the task, from a
notification, from the task's output file. All of them come here as a *reading*. A reading of a
task that still runs, or that timed out waiting, is no outcome by itself; what it showed is
remembered, because the runner's closing line may stand in it. A task that has ended and whose
check is known is forgotten, so a second reading of the same end says nothing new.

What ran in the background ran on the files of its start. If files were changed between the start
and the reading, a pass no longer vouches for the work: it becomes unknown. A failure stays one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from loopbook.events import Outcome
from loopbook.evidence.calls import CallResult, Status, ToolCall
from loopbook.evidence.outcomes import CheckOutcome, CommandOutcome, Rules, outcomes
from loopbook.evidence.shapes import id_of, int_of, mapping_of, text_of
from loopbook.evidence.text import head, tail

#: Bounds: tasks remembered, characters of an id, of a command and of what a task has shown so far.
STARTED = 64
TASK_CHARS = 200
COMMAND_CHARS = 8_000
SEEN_CHARS = 4_000

#: Where a reading names its task.
TASK_KEYS = ("task_id", "bash_id", "shell_id", "agentId", "session_id")

#: What hosts call a task that has not ended, and a reading that waited in vain.
RUNNING = frozenset({"running", "pending", "in_progress", "not_ready", "timeout", "async_launched"})

#: What hosts call a task that did not end well.
FAILED = frozenset({"failed", "error", "errored", "killed", "cancelled", "canceled", "stopped"})

_TAG = r"<{0}>\s{{0,8}}([^<]{{1,40}}?)\s{{0,8}}</{0}>"
_STATUS = re.compile(_TAG.format("(?:retrieval_)?status"))
_EXIT_TAG = re.compile(_TAG.format("exit_code"))
_EXIT_WORDS = re.compile(r"\(?exit(?:ed with)? code:? (-?\d{1,10})\)?")
_OUTPUT_FILE = re.compile(r"tasks/([A-Za-z0-9_-]{1,64})\.output\b")
_NOT_READ = re.compile(
    r"<tool_use_error>|\bno (?:background )?(?:task|shell|agent|process)\b|not found", re.IGNORECASE
)


class Started(NamedTuple):
    """A command in the background. ``changes`` is how many changes were known when it started;
    ``ended`` that a reading said so; ``told`` the outcomes of its checks as last reported."""

    task: str
    command: str
    by: str | None
    changes: int
    seen: str = ""
    exit_code: int | None = None
    ended: bool = False
    told: tuple[Outcome, ...] = ()


class Reading(NamedTuple):
    """What was learnt of a task: whether it still runs (``None``: not said), its end, what it printed."""

    task: str
    running: bool | None
    ok: bool
    exit_code: int | None
    text: str


def task_of(call: ToolCall) -> str:
    """The background task a call's result names, or ""."""
    result = call.result
    if result is None:
        return ""
    task = result.task or id_of(result.data, "backgroundTaskId", "shellId", "bash_id", "session_id")
    return head(task, TASK_CHARS)


def start(tasks: tuple[Started, ...], call: ToolCall, command: str, changes: int) -> tuple[Started, ...]:
    """Remember a command that went on in the background; the oldest is forgotten past the bound.

    >>> call = ToolCall("c1", "Bash", "command", {}, CallResult("background", task="b1"))
    >>> [task.task for task in start((), call, "npm test", 0)]
    ['b1']
    """
    task = task_of(call)
    if not task:
        return tasks
    by = head(call.by, TASK_CHARS) if call.by else None
    others = tuple(known for known in tasks if known.task != task)
    return (*others, Started(task, head(command, COMMAND_CHARS), by, changes))[-STARTED:]


def reading_of(call: ToolCall) -> Reading | None:
    """What a call of kind ``output`` learnt; ``None`` where the reading itself failed.

    >>> data = {"retrieval_status": "timeout", "task": {"task_id": "b1", "status": "running"}}
    >>> call = ToolCall("c2", "TaskOutput", "output", {"task_id": "b1"}, CallResult("ok", data=data))
    >>> reading_of(call).running
    True
    """
    result = call.result
    if result is None:
        return None
    inner: Mapping[str, object] = mapping_of(result.data, "task") or result.data or {}
    task = head(call.task or id_of(call.input, *TASK_KEYS), TASK_CHARS)
    exit_code = result.exit_code if result.exit_code is not None else _exit_code(inner, result.text)
    if result.status == "error" and exit_code is None and _NOT_READ.search(head(result.text, 400)):
        return None
    running = result.status == "background" or _says_running(result, inner)
    ok = result.status == "ok" and not exit_code and text_of(inner, "status").lower() not in FAILED
    return Reading(task, running, ok, None if running else exit_code, _said(inner, result.text))


def output_file(text: str) -> str:
    """The one task whose output file a command or a path names, or "".

    >>> output_file("tail -5 /tmp/x/tasks/b0be39e.output")
    'b0be39e'
    >>> output_file("cat /tmp/x/tasks/b1.output /tmp/x/tasks/b2.output")
    ''
    """
    named = set(_OUTPUT_FILE.findall(text))
    return named.pop() if len(named) == 1 else ""


def advance(
    tasks: tuple[Started, ...], reading: Reading, changes: int, rules: Rules
) -> tuple[tuple[Started, ...], Started | None, CommandOutcome | None]:
    """The tasks after a reading, the command that was read and, once there is news, how it ended.

    While the host says that it still runs, a pass is no news: more may follow. The output file
    does not say whether it still runs; what its closing line says holds until something else does.
    """
    started = next((task for task in tasks if task.task == reading.task), None)
    if started is None:
        return tasks, None, None
    whole = f"{started.seen}\n{reading.text}" if started.seen else reading.text
    known = started._replace(
        seen=tail(whole, SEEN_CHARS),
        exit_code=started.exit_code if reading.exit_code is None else reading.exit_code,
        ended=started.ended or reading.running is False,
    )
    outcome = _outcome(known, whole, rules)
    found = tuple(check.outcome for check in outcome.checks)
    sure = "unknown" not in found
    told = found if known.ended or "fail" in found or (sure and not reading.running) else started.told
    others = tuple(task for task in tasks if task is not started)
    kept = others if known.ended and sure else (*others, known._replace(told=told))
    return kept, started, _as_of_start(outcome, started, changes) if told != started.told else None


def _outcome(task: Started, text: str, rules: Rules) -> CommandOutcome:
    status: Status = (
        "ok" if task.ended and task.exit_code == 0 else "error" if task.exit_code else "background"
    )
    return outcomes(task.command, CallResult(status, text, task.exit_code), rules)


def _as_of_start(outcome: CommandOutcome, task: Started, changes: int) -> CommandOutcome:
    if changes == task.changes:
        return outcome
    return outcome._replace(checks=tuple(map(_no_longer_sure, outcome.checks)))


def _no_longer_sure(check: CheckOutcome) -> CheckOutcome:
    return check._replace(outcome="unknown", basis=None) if check.outcome == "pass" else check


def _says_running(result: CallResult, inner: Mapping[str, object]) -> bool:
    words = [text_of(result.data, "retrieval_status"), text_of(inner, "status")]
    if not any(words):
        words = _STATUS.findall(head(result.text, 2_000))
    return any(word.strip().lower() in RUNNING for word in words)


def _exit_code(inner: Mapping[str, object], text: str) -> int | None:
    code = int_of(inner, "exitCode", "exit_code")
    if code is not None:
        return code
    tag = _EXIT_TAG.search(head(text, 2_000))
    words = _EXIT_WORDS.search(text_between(head(text, 4_000), "summary"))
    found = tag or words
    return int(found[1]) if found and found[1].lstrip("-").isdecimal() else None


def _said(inner: Mapping[str, object], text: str) -> str:
    """What the task itself printed or answered, out of the host's wrapping."""
    own = text_of(inner, "result", "output")
    streams = [text_of(inner, "stdout"), text_of(inner, "stderr")]
    return own or "\n".join(filter(None, streams)) or text_between(text, "result", "output", "stdout") or text


def text_between(text: str, *tags: str) -> str:
    """What stands between a tag's first opening and its last closing; "" where no tag is there.

    >>> text_between("<status>ok</status><result>done <b>x</b></result>", "output", "result")
    'done <b>x</b>'
    """
    for tag in tags:
        begin, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
        if begin >= 0 and end > begin:
            return text[begin + len(tag) + 2 : end].strip("\n")
    return ""
