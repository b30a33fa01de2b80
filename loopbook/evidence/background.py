"""Commands that went on in the background: the check that was started is the check that is read.

Theory. A command moves to the background when it is asked to or when it outlasts its timeout.
How it ended is learnt later and in pieces: from a tool that reads the task, from a
notification, from the task's output file. All of them come here as a *reading*. A reading of a
task that still runs, or that timed out waiting, is no outcome by itself; what it showed is
remembered, because the runner's closing line may stand in it. A task that has ended and whose
check is known is forgotten, so a second reading of the same end says nothing new.

What ran in the background ran on the files of its start. If files were changed between the start
and the reading, a pass no longer vouches for the work: it becomes unknown. So does a failure once
something has passed meanwhile: it may have been this.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from loopbook.events import Outcome
from loopbook.evidence.calls import CallResult, Status, ToolCall
from loopbook.evidence.outcomes import CheckOutcome, CommandOutcome, Rules, outcomes
from loopbook.evidence.text import head, tail

#: Bounds: tasks remembered, characters of an id, of a command and of what a task has shown so far.
STARTED = 64
TASK_CHARS = 200
COMMAND_CHARS = 8_000
SEEN_CHARS = 4_000

_OUTPUT_FILE = re.compile(r"tasks/([A-Za-z0-9_-]{1,64})\.output\b")


class Started(NamedTuple):
    """A command in the background. ``changes`` is how many changes were known when it started,
    ``passes`` how many passes; ``ended`` how a reading said it ended; ``told`` the outcomes of its checks
    as last reported."""

    task: str
    command: str
    by: str | None
    changes: int
    seen: str = ""
    exit_code: int | None = None
    ended: Status | None = None
    told: tuple[Outcome, ...] = ()
    passes: int = 0


class Reading(NamedTuple):
    """What was learnt of a task: whether it still runs (``None``: not said), its end, what it printed."""

    task: str
    running: bool | None
    ok: bool
    exit_code: int | None
    text: str


class Now(NamedTuple):
    """How many changes and how many passed checks are known."""

    changes: int = 0
    passes: int = 0


def start(tasks: tuple[Started, ...], call: ToolCall, command: str, now: Now) -> tuple[Started, ...]:
    """Remember a command that went on in the background; the oldest is forgotten past the bound.

    >>> call = ToolCall("c1", "Bash", "command", {}, CallResult("background", task="b1"))
    >>> [task.task for task in start((), call, "npm test", Now())]
    ['b1']
    """
    if call.result is None or not call.result.task:
        return tasks
    task = head(call.result.task, TASK_CHARS)
    by = head(call.by, TASK_CHARS) if call.by else None
    others = tuple(known for known in tasks if known.task != task)
    started = Started(task, head(command, COMMAND_CHARS), by, now.changes, passes=now.passes)
    return (*others, started)[-STARTED:]


def reading_of(call: ToolCall) -> Reading | None:
    """What a call of kind ``output`` learnt; ``None`` where it names no task: then the reading failed.

    >>> call = ToolCall("c2", "TaskOutput", "output", {}, CallResult("background", "compiling"), task="b1")
    >>> reading_of(call).running
    True
    """
    result = call.result
    task = call.task or (result.task if result else None)
    if result is None or not task:
        return None
    running = result.status == "background"
    return Reading(
        head(task, TASK_CHARS),
        running,
        result.status == "ok",
        None if running else result.exit_code,
        result.text,
    )


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
    tasks: tuple[Started, ...], reading: Reading, now: Now, rules: Rules
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
        ended=started.ended if reading.running is not False else "ok" if reading.ok else "error",
    )
    outcome = _outcome(known, whole, rules)
    found = tuple(check.outcome for check in outcome.checks)
    sure = "unknown" not in found
    told = found if known.ended or "fail" in found or (sure and not reading.running) else started.told
    others = tuple(task for task in tasks if task is not started)
    kept = others if known.ended and sure else (*others, known._replace(told=told))
    return kept, started, _as_of_start(outcome, started, now) if told != started.told else None


def _outcome(task: Started, text: str, rules: Rules) -> CommandOutcome:
    result = CallResult(task.ended or "ok", text, task.exit_code)
    return outcomes(task.command, result, rules, ended=task.ended is not None)


def _as_of_start(outcome: CommandOutcome, task: Started, now: Now) -> CommandOutcome:
    if now.changes == task.changes:
        return outcome
    over: tuple[Outcome, ...] = ("pass", "fail") if now.passes != task.passes else ("pass",)
    return outcome._replace(checks=tuple(_no_longer_sure(check, over) for check in outcome.checks))


def _no_longer_sure(check: CheckOutcome, over: tuple[Outcome, ...]) -> CheckOutcome:
    return check._replace(outcome="unknown", basis=None) if check.outcome in over else check
