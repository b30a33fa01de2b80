"""One entry of a book as one line of the timeline.

Each sort of event has one small function here that says what it is about and puts it into
words; a sort nobody here knows is shown by its type word.
"""

from __future__ import annotations

from functools import singledispatch

from loopbook import events as e
from loopbook.audit.model import Item, What
from loopbook.audit.shown import counted, quoted, shown
from loopbook.entry import Entry
from loopbook.projections import EMPTY, BookState

_STOPPED = {"end": "came to rest", "length": "cut by length", "error": "failed", "aborted": "interrupted"}

Said = tuple[What, str]


def item_of(entry: Entry, before: BookState = EMPTY) -> Item:
    """The line of the timeline that stands for one entry; ``before`` is the state it met.

    >>> from datetime import datetime, timezone
    >>> at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    >>> check = e.Check(command="pytest -q", outcome="fail", exit_code=1)
    >>> item_of(Entry("loop:x", 4, check, at, line=31)).text
    'fail, tests: `pytest -q`, exit 1'
    """
    event = entry.event
    what, text = said(event)
    if isinstance(event, e.TodoOpened | e.TodoCompleted | e.TodoDropped | e.TodoFollowupSet):
        text = _todo(event, before) or text
    item = Item(
        what=what, text=text, seq=entry.seq, line=entry.line, at=entry.at, by=getattr(event, "by", None)
    )
    if isinstance(event, e.Check):
        return item.model_copy(update=_check_fields(event))
    return item


def _todo(
    event: e.TodoOpened | e.TodoCompleted | e.TodoDropped | e.TodoFollowupSet, before: BookState
) -> str:
    """A todo's line by its subject, where it is known: a reader cannot tell one made-up id from another."""
    known = before.todos.get(event.todo)
    subject = event.subject if isinstance(event, e.TodoOpened) else known.subject if known else ""
    if not subject.strip():
        return ""
    words = quoted(subject, 80)
    match event:
        case e.TodoOpened():
            return f"opened: {words}" + ("" if event.followup is None else ", followed up elsewhere")
        case e.TodoCompleted():
            return f"completed: {words}"
        case e.TodoDropped():
            return f"dropped: {words}, because {quoted(event.why)}"
        case _:
            return f"followed up elsewhere: {words}"


def _check_fields(check: e.Check) -> dict[str, object]:
    return {
        "scope": check.scope,
        "outcome": check.outcome,
        "exit_code": check.exit_code,
        "masked": check.masked,
    }


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
