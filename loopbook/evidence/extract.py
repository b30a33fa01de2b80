"""From a tool call and its result to events: the one place where this is decided, for all hosts.

Theory. ``observe`` is called once for each call, when its result is known, in the order of the
results; a call whose result never came is passed at the end without one. It answers with the
events the call is evidence of and with what the run keeps of the call.

- A call that did not run is evidence of nothing. There is one exception: a plan that the user
  turned down did not run either, but turning it down is the user's decision.
- Only structured results speak: an edit or a write that went well is a change, a command that is
  a check is a check, a page fetched or searched is a source, an answer of the user is a decision.
- Todo tools, sub-agents and background commands need what was before: ``Memory``, a bounded value.
- What a sub-agent did counts for the loop, under its name (``by``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from loopbook.entry import Draft
from loopbook.events import Change, Check, Event, Source
from loopbook.evidence import background, children, decisions, todos
from loopbook.evidence.artifacts import diff_summary, produced
from loopbook.evidence.calls import ToolCall
from loopbook.evidence.outcomes import CommandOutcome, Rules, outcomes
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.runs import Safe, command_of, keep, ran
from loopbook.evidence.shapes import id_of, int_of, mapping_of, text_of
from loopbook.evidence.text import head, tail
from loopbook.evidence.tool_table import STOP_KEYS, STOPS
from loopbook.run import INPUT_CHARS, OUTPUT_TAIL_CHARS, Call, ToolKind

#: Bounds, in characters.
SUMMARY_CHARS = 200
SUBJECT_CHARS = 500
REPORT_CHARS = 500

#: Line numbers in what a file reader shows.
_LINE_NUMBER = re.compile(r"^ {0,8}\d{1,8}(?:→|\t)", re.MULTILINE)


class Memory(NamedTuple):
    """What later calls are read by; bounded, and never more than ids, digests and short texts.

    ``changes`` and ``passes`` count the changes and the passed checks seen: a background check is held
    against them. ``aside``: the changes are put away (``git stash``).
    """

    lists: todos.Lists = todos.Lists()
    tasks: tuple[background.Started, ...] = ()
    children: children.Children = ()
    changes: int = 0
    passes: int = 0
    aside: bool = False

    @property
    def now(self) -> background.Now:
        """What a background check is held against."""
        return background.Now(self.changes, self.passes)


EMPTY = Memory()


class Observation(NamedTuple):
    """What a call was evidence of, and what the run keeps of it."""

    drafts: tuple[Draft, ...]
    call: Call


class _Made(NamedTuple):
    memory: Memory
    events: tuple[Event, ...] = ()
    outcome: CommandOutcome | None = None
    child: str | None = None


class _Context(NamedTuple):
    rules: Rules
    safe: Safe


def observe(memory: Memory, call: ToolCall, rules: Rules, redactor: Redactor) -> tuple[Memory, Observation]:
    """Read one call. Never raises for anything a host may put into it.

    The drafts carry the line and time of the result and are told apart by ``<ref>#1``, ``<ref>#2``...

    >>> from loopbook.evidence.calls import CallResult
    >>> from loopbook.evidence.outcomes import DEFAULT
    >>> result = CallResult("error", "1 failed", 1, line=9)
    >>> call = ToolCall("c7", "Bash", "command", {"command": "pytest"}, result)
    >>> memory, seen = observe(EMPTY, call, DEFAULT, Redactor())
    >>> seen.drafts[0].event.outcome, seen.drafts[0].host_ref, seen.drafts[0].line
    ('fail', 'c7#1', 9)
    >>> observe(memory, call._replace(result=None), DEFAULT, Redactor())[1].drafts
    ()
    """
    context = _Context(rules, Safe(redactor))
    made = _made(memory, call, context) if ran(call) else _not_made(memory, call, context)
    kept = keep(call, context.safe, outcome=made.outcome, child=made.child)
    result = call.result
    drafts = tuple(
        Draft(event, host_ref=f"{kept.ref}#{n}", line=result and result.line, at=result and result.at)
        for n, event in enumerate(made.events, start=1)
    )
    return made.memory, Observation(drafts, kept)


def _made(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    if call.tool in STOPS:
        return _stop(memory, call, context)
    make = _BY_KIND.get(call.kind)
    return make(memory, call, context) if make else _Made(memory)


def _not_made(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    """What did not run: a plan turned down, or a task that says of itself that it was stopped."""
    if call.kind == "output" and call.result and call.result.status == "interrupted" and call.result.task:
        return _stopped(memory, call.result.task, context)
    return _Made(memory, decisions.turned_down(call, context.safe))


# --- changes, sources, decisions ------------------------------------------------------------


def _change(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    if call.result is None or call.result.status != "ok":
        return _Made(memory)
    paths = tuple(map(context.safe.path, produced(call)))
    verb = "wrote" if call.kind == "write" else "edited"
    what = context.safe.line(paths[0] if paths else f"with {call.tool}", SUMMARY_CHARS)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    event = Change(
        summary=f"{verb} {what}{more}",
        paths=paths,
        diff_summary=diff_summary(call),
        by=_by(call, context.safe),
    )
    return _Made(memory._replace(changes=memory.changes + 1, aside=False), (event,))


def _source(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    result, safe = call.result, context.safe
    locator = text_of(call.input, "url", "uri", "query", "q")
    answered = result is not None and result.status == "ok" and (int_of(result.data, "code") or 0) < 400
    if result is None or not answered or not locator:
        return _Made(memory)
    said = text_of(result.data, "result") or result.text
    summary = safe.line(said, SUMMARY_CHARS)
    return _Made(
        memory, (Source(locator=safe.line(locator, INPUT_CHARS), summary=summary, by=_by(call, safe)),)
    )


def _question(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    return _Made(memory, decisions.answered(call, context.safe))


def _plan(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    return _Made(memory, decisions.approved(call, context.safe))


# --- commands ---------------------------------------------------------------------------------


def _command(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    command, result = command_of(call.input), call.result
    if result is None or not command:
        return _Made(memory)
    outcome = outcomes(command, result, context.rules, aside=memory.aside)
    if result.status == "background":
        tasks = background.start(memory.tasks, call, command, memory.now)
        return _Made(memory._replace(tasks=tasks), outcome=outcome)
    checks = _checks(outcome, result.text, _by(call, context.safe), context.safe)
    passed = sum(check.outcome == "pass" for check in outcome.checks)
    memory = memory._replace(passes=memory.passes + passed, aside=outcome.aside)
    made = _Made(memory, checks, outcome)
    return (
        made if outcome.check != "no" else _shown(made, background.output_file(command), result.text, context)
    )


def _read(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    data = call.result.data if call.result else None
    text = call.result.text if call.result else ""
    shown = text_of(mapping_of(data, "file"), "content") or _LINE_NUMBER.sub("", text)
    path = text_of(call.input, "file_path", "path", "absolute_path")
    return _shown(_Made(memory), background.output_file(path), shown, context)


def _shown(made: _Made, task: str, text: str, context: _Context) -> _Made:
    """A background task's output file was looked into: what it shows belongs to the started check."""
    if not task:
        return made
    reading = background.Reading(task, running=None, ok=True, exit_code=None, text=text)
    tasks, events, _ = _advance(made.memory, reading, context)
    return made._replace(memory=made.memory._replace(tasks=tasks), events=(*made.events, *events))


def _output(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    """A background task was read, or told by a notification: a command's end or a child's result."""
    reading = background.reading_of(call)
    if reading is None:
        return _Made(memory)
    tasks, checks, outcome = _advance(memory, reading, context)
    name = context.safe.name(reading.task)
    out, reports = children.came_back(
        memory.children, reading, name, call.child is not None, _report(context.safe)
    )
    return _Made(memory._replace(tasks=tasks, children=out), (*checks, *reports), outcome)


def _advance(
    memory: Memory, reading: background.Reading, context: _Context
) -> tuple[tuple[background.Started, ...], tuple[Event, ...], CommandOutcome | None]:
    tasks, started, outcome = background.advance(memory.tasks, reading, memory.now, context.rules)
    if started is None or outcome is None:
        return tasks, (), None
    by = context.safe.name(started.by) if started.by else None
    return tasks, _checks(outcome, reading.text, by, context.safe), outcome


def _checks(outcome: CommandOutcome, text: str, by: str | None, safe: Safe) -> tuple[Event, ...]:
    shown = tail(safe.output(text), OUTPUT_TAIL_CHARS) if outcome.checks else ""
    return tuple(
        Check(
            command=head(safe.text(check.command), INPUT_CHARS),
            outcome=check.outcome,
            exit_code=check.exit_code,
            scope=check.scope,
            output_tail=shown or None,
            runner=check.runner,
            basis=check.basis,
            masked=check.masked,
            by=by,
        )
        for check in outcome.checks
    )


# --- todos and children ------------------------------------------------------------------------


def _todos(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    if call.result is None or call.result.status != "ok":
        return _Made(memory)
    lists, events = todos.observe(memory.lists, call, lambda text: context.safe.line(text, SUBJECT_CHARS))
    return _Made(memory._replace(lists=lists), events)


def _agent(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    child = context.safe.name(children.child_of(call))
    out, events = children.sent(memory.children, call, child, _report(context.safe))
    return _Made(memory._replace(children=out), events, child=child)


def _stop(memory: Memory, call: ToolCall, context: _Context) -> _Made:
    if call.result is None or call.result.status != "ok":
        return _Made(memory)
    return _stopped(memory, call.task or id_of(call.input, *STOP_KEYS), context)


def _stopped(memory: Memory, task: str, context: _Context) -> _Made:
    out, events = children.stopped(memory.children, context.safe.name(task))
    return _Made(memory._replace(children=out), events)


def _report(safe: Safe) -> Callable[[str], str]:
    return lambda text: safe.line(text, REPORT_CHARS)


def _by(call: ToolCall, safe: Safe) -> str | None:
    return safe.name(call.by) if call.by else None


_BY_KIND: Mapping[ToolKind, Callable[[Memory, ToolCall, _Context], _Made]] = {
    "edit": _change,
    "write": _change,
    "fetch": _source,
    "question": _question,
    "plan": _plan,
    "command": _command,
    "read": _read,
    "output": _output,
    "todos": _todos,
    "agent": _agent,
}
