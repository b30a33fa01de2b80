"""One entry of a book as one line of the timeline."""

from __future__ import annotations

from loopbook import events as e
from loopbook.audit.model import Item
from loopbook.audit.said import said
from loopbook.audit.shown import quoted
from loopbook.entry import Entry
from loopbook.projections import EMPTY, BookState


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
