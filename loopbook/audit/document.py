"""An audit as one JSON object, written part by part so that a timeline of any length can pass.

The object is the ``Audit`` model: every key of it on a line of its own, every line of the timeline too,
so that ``grep`` works where ``jq`` is not at hand. It is ASCII, so that every encoding carries it
and no terminal obeys it. Fields that have no value are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Protocol, TextIO

from pydantic import BaseModel

from loopbook.audit.model import VERSION, Audit, Item, Session


class View(Protocol):
    """What an audit is written to: ``head``, then ``timeline``, then ``rest``."""

    def head(self, session: Session, notes: Iterable[str] = ()) -> None:
        """What was read, and what to know before reading on."""

    def timeline(self, items: Iterable[Item], left_out: int = 0) -> None:
        """The timeline, and how many of its lines are not among ``items``."""

    def rest(self, audit: Audit) -> None:
        """Everything after the timeline."""


class Document:
    """Writes an audit as JSON to a text stream."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def head(self, session: Session, notes: Iterable[str] = ()) -> None:
        """The keys before the timeline."""
        first = {"version": VERSION, "session": _plain(session), "notes": list(notes)}
        self._out.write("{" + _members(first) + ",\n")

    def timeline(self, items: Iterable[Item], left_out: int = 0) -> None:
        """The timeline as an array, and ``timeline_left_out``."""
        self._out.write('"timeline": [')
        for place, item in enumerate(items):
            self._out.write((",\n" if place else "\n") + json.dumps(_plain(item)))
        self._out.write("],\n" + _members({"timeline_left_out": left_out}))

    def rest(self, audit: Audit) -> None:
        """The keys after the timeline."""
        told = {"version", "session", "notes", "timeline", "timeline_left_out"}
        self._out.write(
            ",\n" + _members(audit.model_dump(mode="json", exclude_none=True, exclude=told)) + "}\n"
        )


def write(view: View, audit: Audit) -> None:
    """A whole audit, its timeline as it was kept."""
    view.head(audit.session, audit.notes)
    view.timeline(audit.timeline, audit.timeline_left_out)
    view.rest(audit)


def _plain(model: BaseModel) -> dict[str, object]:
    return model.model_dump(mode="json", exclude_none=True)


def _members(values: Mapping[str, object]) -> str:
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
