"""What an event is about, and its words.

Each sort of event has one small function here; a sort nobody here knows is shown by its type word.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Literal

from loopbook import events as e
from loopbook.audit.shown import counted, quoted, shown

#: What a line of the timeline is about.
What = Literal[
    "prompt", "run", "claim", "phase", "change", "check", "review", "decision", "source",
    "todo", "child", "unit", "record", "loop", "advice", "other",
]  # fmt: skip

Said = tuple[What, str]

_STOPPED = {"end": "came to rest", "length": "cut by length", "error": "failed", "aborted": "interrupted"}


@singledispatch
def said(event: e.Event) -> Said:
    """What an event is about, and its words."""
    return "other", event.type


@said.register
def _(event: e.Prompted) -> Said:
    return "prompt", f"{event.origin}: {quoted(event.text)}"


@said.register
def _(event: e.RunSettled) -> Said:
    return "run", f"{_STOPPED[event.stop]}, {counted(event.calls_total, 'call')}"


@said.register
def _(event: e.Change) -> Said:
    where = ", ".join(event.paths[:3]) or event.summary
    more = f" and {len(event.paths) - 3} more" if len(event.paths) > 3 else ""
    return "change", shown(where) + more


@said.register
def _(event: e.Check) -> Said:
    exit_code = "" if event.exit_code is None else f", exit {event.exit_code}"
    masked = ", exit code masked" if event.masked else ""
    command = shown(event.command)
    return "check", f"{event.outcome}, {event.scope}: `{command}`{exit_code}{masked}"


@said.register
def _(event: e.Review) -> Said:
    return "review", f"{event.tier} by {event.reviewer}: {counted(len(event.findings), 'finding')}"


@said.register
def _(event: e.Decision) -> Said:
    return "decision", f"{event.decided_by}: {quoted(event.text)}"


@said.register
def _(event: e.Source) -> Said:
    return "source", shown(event.locator)


@said.register
def _(event: e.TodoOpened) -> Said:
    followup = "" if event.followup is None else ", followed up elsewhere"
    return "todo", f"opened {event.todo}: {quoted(event.subject)}{followup}"


@said.register
def _(event: e.TodoFollowupSet) -> Said:
    return "todo", f"{event.todo} followed up elsewhere"


@said.register
def _(event: e.TodoCompleted) -> Said:
    return "todo", f"completed {event.todo}"


@said.register
def _(event: e.TodoDropped) -> Said:
    return "todo", f"dropped {event.todo}: {quoted(event.why)}"


@said.register
def _(event: e.ChildLinked) -> Said:
    where = f" ({event.session_file})" if event.session_file else ""
    return "child", f"{event.child} sent out{where}"


@said.register
def _(event: e.ChildReported) -> Said:
    how = "reported" if event.ok else "reported failure"
    return "child", f"{event.child} {how}: {quoted(event.summary)}"


@said.register
def _(event: e.ChildDropped) -> Said:
    return "child", f"{event.child} dropped: {quoted(event.why)}"


@said.register
def _(event: e.ChildLost) -> Said:
    return "child", f"{event.child} lost"


@said.register(e.UnitAdded)
def _(event: e.UnitAdded) -> Said:
    return "unit", f"{event.unit} added: {quoted(event.subject)}"


@said.register
def _(event: e.UnitStarted | e.UnitDone | e.UnitDropped) -> Said:
    return "unit", f"{event.unit} {event.type.removeprefix('unit_')}"


@said.register
def _(event: e.Task | e.Base | e.Watch | e.Friction) -> Said:
    return "record", f"{event.type}: {quoted(event.text)}"


@said.register
def _(event: e.LoopOpened) -> Said:
    return "loop", f"opened as {event.kind}"


@said.register
def _(event: e.SessionAdopted | e.CloseDeclared | e.LoopReopened) -> Said:
    return "loop", event.type.replace("_", " ")


@said.register
def _(event: e.LoopClosed) -> Said:
    return "loop", f"closed: {event.outcome.replace('_', ' ')}"


@said.register
def _(event: e.Noticed) -> Said:
    return "advice", f"{event.advisor}: {quoted(event.text)}"


@said.register
def _(event: e.PassedOver) -> Said:
    return "advice", f"{event.advisor} passed over: {event.reason}"


@said.register
def _(event: e.Judged) -> Said:
    return "advice", f"{event.advisor} judged up to {event.read_to}"


@said.register
def _(event: e.Delivered) -> Said:
    return "advice", f"the notice at {event.notice} was delivered"


@said.register
def _(event: e.Scrubbed) -> Said:
    return "other", f"scrubbed: {counted(len(event.seqs), 'entry', 'entries')} of {event.of}"


@said.register
def _(event: e.Forked) -> Said:
    return "other", f"forked from {shown(event.from_)} seq {event.version}"
