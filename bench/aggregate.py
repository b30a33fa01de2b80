"""The event store library's default way: a declarative aggregate over the same facts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from loopbook.entry import Draft
from loopbook.events import Change, Check, Decision, Review, TodoCompleted, TodoOpened


class LoopAggregate(Aggregate):
    """A loop as the library's documentation would write it, with the heart of what a state holds."""

    @event("Opened")
    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.checks: dict[str, dict[str, object]] = {}
        self.failing: dict[str, dict[str, object]] = {}
        self.findings: dict[str, str] = {}
        self.todos: dict[str, str] = {}
        self.newest: list[dict[str, object]] = []

    @event("Changed")
    def change(self, fields: dict[str, object]) -> None:  # noqa: ARG002 - what the stored event holds
        """A change makes what was checked history."""
        self.last["change"] = self.version
        self.checks, self.failing = {}, {}

    @event("Checked")
    def check(self, command: str, outcome: str, scope: str, fields: dict[str, object]) -> None:
        """A check stands until the next one of its command."""
        self.last["check"] = self.version
        self.failing.pop(command, None)
        if outcome == "fail":
            self.failing[command] = fields
        self.checks[scope] = fields

    @event("Reviewed")
    def review(self, fields: dict[str, object], findings: list[dict[str, str]]) -> None:  # noqa: ARG002 - what the stored event holds
        """Findings stand until they are resolved."""
        self.last["review"] = self.version
        self.findings.update({one["id"]: one["text"] for one in findings if one["severity"] != "nit"})

    @event("Decided")
    def decide(self, fields: dict[str, object], resolves: list[str]) -> None:  # noqa: ARG002 - what the stored event holds
        """A decision may resolve findings."""
        self.last["decision"] = self.version
        for one in resolves:
            self.findings.pop(one, None)

    @event("TodoOpened")
    def open_todo(self, todo: str, subject: str) -> None:
        """A todo is open."""
        self.todos[todo] = subject

    @event("TodoCompleted")
    def complete_todo(self, todo: str) -> None:
        """A todo is done."""
        self.todos.pop(todo, None)

    @event("Noted")
    def note(self, kind: str, fields: dict[str, object]) -> None:
        """Everything else is kept as the newest twenty."""
        self.last[kind] = self.version
        self.newest = [*self.newest[-19:], fields]


def _tell(loop: LoopAggregate, draft: Draft) -> None:
    fact = draft.event
    fields: dict[str, Any] = fact.model_dump(mode="json")
    match fact:
        case Change():
            loop.change(fields)
        case Check():
            loop.check(fact.command, fact.outcome, fact.scope, fields)
        case Review():
            loop.review(fields, fields["findings"])
        case Decision():
            loop.decide(fields, list(fact.resolves))
        case TodoOpened():
            loop.open_todo(fact.todo, fact.subject)
        case TodoCompleted():
            loop.complete_todo(fact.todo)
        case _:
            loop.note(fact.type, fields)


class Library:
    """An application of the library on a SQLite file, with one long aggregate."""

    def __init__(self, path: Path, pieces: Iterable[tuple[Draft, ...]]) -> None:
        self._app = Application[UUID](
            env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(path)}
        )
        loop = LoopAggregate()
        for piece in pieces:
            for draft in piece:
                _tell(loop, draft)
            self._app.save(loop)
        self._id = loop.id

    def replay(self) -> LoopAggregate:
        """The aggregate from all its events."""
        loop: LoopAggregate = self._app.repository.get(self._id)
        return loop
