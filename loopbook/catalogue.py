"""The loops of a store, as its catalogue lists them: no loop's own book is read for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from loopbook.entry import Entry
from loopbook.events import Catalogued


class LoopRow(NamedTuple):
    """One loop as the catalogue has it: texts alone, so that it is JSON as it stands.

    ``opened`` is a time in UTC, ``session`` the one that opened or last adopted it, ``outcome`` how
    it closed (``None`` while it is open), ``parent`` the loop it is a fork of.
    """

    id: str
    kind: str
    intent: str
    opened: str
    session: str
    outcome: str | None = None
    parent: str | None = None


def listed(entries: Iterable[Entry]) -> list[LoopRow]:
    """Every loop that the entries of a catalogue list, oldest first.

    >>> from datetime import UTC, datetime
    >>> opened = Catalogued(loop="a", change="opened", kind="fix", intent="i")
    >>> listed([Entry("catalogue", 1, opened, datetime(2026, 1, 1, tzinfo=UTC), "s1")])[0][:5]
    ('a', 'fix', 'i', '2026-01-01T00:00:00Z', 's1')
    """
    rows: dict[str, LoopRow] = {}
    for entry in entries:
        if not isinstance(entry.event, Catalogued):
            continue
        if entry.event.change == "forgotten":
            rows.pop(entry.event.loop, None)
        elif row := _row(rows, entry, entry.event):
            rows[row.id] = row
    return [*rows.values()]


def _row(rows: Mapping[str, LoopRow], entry: Entry, event: Catalogued) -> LoopRow | None:
    """A loop's row after one more entry of the catalogue; nothing for a loop nobody opened."""
    row = rows.get(event.loop)
    if event.change == "opened":
        opened = f"{entry.at:%Y-%m-%dT%H:%M:%SZ}"
        said = event.kind or "", event.intent or "", opened, entry.session
        return LoopRow(event.loop, *said, parent=event.parent)
    if row is None or event.change == "scrubbed":
        return row
    if event.change == "adopted":
        return row._replace(session=entry.session)
    return row._replace(outcome=event.outcome if event.change == "closed" else None)
