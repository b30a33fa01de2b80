"""How a tool call came back: one status from the many shapes Claude Code has had for it.

Theory. Three questions, in this order. Did the call run at all? A user's, a rule's or a hook's
no, a rejected input and a sibling's failure all come back as errors, and none of them is a run.
Does it go on elsewhere? Then this is no result yet. How did it end? For a command that is the
exit code, which is written in the text of a failure (``Exit code 2``), is 0 where the program
calls a command fine, and is not said at all by the oldest versions.

The words below are the program's own; each is looked for at the head of the text, never in the
whole of it, where a test's output may quote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from loopbook.evidence.calls import CallResult, Status
from loopbook.evidence.shapes import int_of, list_of, mapping_of, text_of
from loopbook.run import ToolKind
from loopbook.transcripts.records import Notification, Record, Version, joined_text, tag

#: From this version on a command that ran and failed always says "Exit code N".
SAYS_EXIT_CODES: Version = (2, 0, 0)

#: What a text opens with when the call did not run to its end, and what that means.
WORDS: tuple[tuple[str, Status], ...] = (
    ("The user doesn't want to proceed with this tool use", "refused"),
    ("The user doesn't want to take this action right now", "refused"),
    ("User rejected", "refused"),
    ("Claude requested permissions to", "refused"),
    ("This command requires approval", "refused"),
    ("Permission to use ", "refused"),
    ("Permission for this action", "refused"),
    ("PreToolUse:", "refused"),
    ("Hook PreToolUse", "refused"),
    ("Execution stopped by PreToolUse hook", "refused"),
    ("<tool_use_error>", "never_ran"),
    ("Sibling tool call errored", "never_ran"),
    ("Cancelled: parallel tool call", "never_ran"),
    ("InputValidationError", "never_ran"),
    ("[Request interrupted by user", "interrupted"),
    ("<error>Command was aborted", "interrupted"),
    ("Command was aborted", "interrupted"),
)
#: Words of a refusal that stand somewhere in a short text.
ANYWHERE: tuple[str, ...] = ("requires approval", "requested permissions")
#: ``toolDenialKind`` of the newest versions; every other kind is a refusal.
DENIALS: Mapping[str, Status] = {"interrupted": "interrupted", "cancelled": "never_ran"}
#: What a background task says of itself, in the program's words.
TASK_STATES: Mapping[str, Status] = {
    "completed": "ok",
    "failed": "error",
    "killed": "interrupted",
    "stopped": "interrupted",
    "cancelled": "interrupted",
}

_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,5})(?:\n|$)")
_MOVED = re.compile(r"Command (?:running in|was manually|timed out and was)[^\n]{0,200}?\bID: ([\w-]{1,80})")
_LAUNCHED = re.compile(r"Async agent launched[\s\S]{0,2000}?agentId: ([\w-]{1,80})")
_AGENT = re.compile(r"agentId: ([\w-]{1,80})")
_TASK_KEYS = ("task_id", "bash_id", "shell_id", "shellId", "agentId", "agent_id")


class Came(NamedTuple):
    """A result, and the task or child it names."""

    result: CallResult
    child: str | None = None
    task: str | None = None


class Context(NamedTuple):
    """Where a result stands: its record's line and time, and the version that wrote it."""

    line: int
    at: datetime | None
    version: Version | None


def result_of(
    kind: ToolKind, given: Mapping[str, object], block: Mapping[str, object], record: Record, context: Context
) -> Came:
    """What a ``tool_result`` block says of a call of this kind with the arguments ``given``.

    >>> block = {"content": "Exit code 2\\n1 failed", "is_error": True}
    >>> result_of("command", {}, block, {}, Context(7, None, (2, 1, 0))).result[:3]
    ('error', '1 failed', 2)
    """
    text = joined_text(block.get("content"))
    data = record.get("toolUseResult")
    data = data if isinstance(data, Mapping) else None
    base = CallResult("ok", text, data=data, line=context.line, at=context.at)
    failed = block.get("is_error") is True
    if failed and (status := _not_run(kind, text, record, context.version)):
        return Came(base._replace(status=status))
    if failed:
        return Came(_failure(base), _child_of(base, given) if kind == "agent" else None)
    if kind == "output":
        return _read_task(base, given)
    if kind == "agent":
        return _agent(base, given, block)
    if task := text_of(data, "backgroundTaskId") or _found(_MOVED, text[:400]):
        return Came(base._replace(status="background", task=task), task=task)
    if data is not None and data.get("interrupted") is True:
        return Came(base._replace(status="interrupted", text=_output(data, text)))
    return Came(_command(base, block) if kind == "command" else base)


def _not_run(kind: ToolKind, text: str, record: Record, version: Version | None) -> Status | None:
    """Why a call that came back as an error was no run, or ``None`` if it was one."""
    if denial := text_of(record, "toolDenialKind"):
        return DENIALS.get(denial, "refused")
    if text_of(record.get("permissionDecision"), "decision") == "reject":
        return "refused"
    opening = text[:400].lstrip()
    for words, status in WORDS:
        if opening.startswith(words):
            return status
    if len(text) < 400 and any(words in text for words in ANYWHERE):
        return "refused"
    # A hook's or a user's bare words: a command that ran would have named its exit code.
    bare = kind == "command" and _EXIT.match(opening) is None and "timed out" not in opening
    return "refused" if bare and version is not None and version >= SAYS_EXIT_CODES else None


def _failure(base: CallResult) -> CallResult:
    """A call that ran and failed; a command's exit code is taken from the head of its text."""
    said = _EXIT.match(base.text)
    if said is None:
        return base._replace(status="error")
    return base._replace(status="error", text=base.text[said.end() :], exit_code=int(said[1]))


def _command(base: CallResult, block: Mapping[str, object]) -> CallResult:
    """A command the program calls fine: exit 0, save where it says that it reads another code so."""
    data = base.data
    said = block.get("is_error") is False or (data is not None and "stdout" in data)
    other = bool(text_of(data, "returnCodeInterpretation"))
    return base._replace(text=_output(data, base.text), exit_code=0 if said and not other else None)


def _output(data: Mapping[str, object] | None, text: str) -> str:
    """The whole output where the record holds it; the message may hold a preview only."""
    stdout, stderr = (data.get("stdout"), data.get("stderr")) if data is not None else (None, None)
    if not isinstance(stdout, str) or not (stdout or stderr):
        return text
    return f"{stdout}\n{stderr}" if isinstance(stderr, str) and stderr and stdout else stdout or str(stderr)


def _agent(base: CallResult, given: Mapping[str, object], block: Mapping[str, object]) -> Came:
    """A sub-agent: launched to go on in the background, or back with its report."""
    child = _child_of(base, given)
    if text_of(base.data, "status") == "async_launched" or base.text.startswith("Async agent launched"):
        return Came(base._replace(status="background", task=child), child, child)
    blocks = list_of(base.data, "content") or list_of(block, "content") or ()
    report = [text for one in blocks if (text := text_of(one, "text")) and not _harness(text)]
    return Came(base._replace(text="\n".join(report) or base.text), child)


def _child_of(base: CallResult, given: Mapping[str, object]) -> str | None:
    """The child's own id, where the result or the call names it."""
    text = base.text
    said = _found(_LAUNCHED, text[:4_000]) or _found(_AGENT, text[-2_000:])
    return text_of(base.data, "agentId") or said or text_of(given, "resume") or None


def _harness(text: str) -> bool:
    return text.startswith(("<tools-used-before-summary>", "agentId: "))


def _read_task(base: CallResult, given: Mapping[str, object]) -> Came:
    """What a background task has said so far; only a task that has ended has a result."""
    task = mapping_of(base.data, "task") or base.data or {}
    head = base.text[:2_000]
    name = text_of(given, *_TASK_KEYS) or text_of(task, *_TASK_KEYS) or tag(head, "task_id")
    waited = (text_of(base.data, "retrieval_status") or tag(head, "retrieval_status")) == "timeout"
    state = text_of(task, "status") or tag(head, "status")
    status: Status = "background" if waited else TASK_STATES.get(state, "background")
    output = text_of(task, "output", "result") or _output(base.data, tag(base.text, "output") or base.text)
    code = int_of(task, "exitCode", "exit_code")
    code = _number(tag(head, "exit_code")) if code is None else code
    result = _ended(base._replace(text=output, task=name or None), status, code)
    is_child = text_of(task, "task_type").endswith("agent")
    return Came(result, name if is_child and name else None, name or None)


def _ended(base: CallResult, status: Status, code: int | None) -> CallResult:
    """A task's state with its exit code, which only a task that has ended has."""
    if status == "background":
        return base._replace(status=status, exit_code=None)
    return base._replace(status="error" if status == "ok" and code else status, exit_code=code)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def notified(said: Notification, context: Context) -> CallResult:
    """What a task notification says of the task it names.

    >>> said = Notification("b1", "", "failed", "Background command failed", "", 2)
    >>> notified(said, Context(9, None, None))[:3]
    ('error', 'Background command failed', 2)
    """
    status = TASK_STATES.get(said.status, "background")
    text = said.result or said.summary
    base = CallResult(status, text, task=said.task, line=context.line, at=context.at)
    return _ended(base, status, said.exit_code)


def _found(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""
