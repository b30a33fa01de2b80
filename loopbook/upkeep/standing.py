"""Where a text stands in a store: whoever takes one out must know, before and after.

Theory. A text can stand in any string of an entry, in the names of free objects, in a number, in an
event's type, in a stream's name, and in what follows from these: reservations and snapshots. Where
a reservation holds it because its entry does, the entry alone is told. Checksums and times are no
texts: digits in them that happen to be the same are not found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from loopbook.book import Book
from loopbook.encoding import decode
from loopbook.errors import DamagedEntry
from loopbook.events import Reserved
from loopbook.store import Row, Stored
from loopbook.upkeep.rows import fields_in, is_plain
from loopbook.upkeep.texts import FIELDS, apart, digits_of

SNAPSHOT = "a snapshot"
UNREADABLE = "a row that no loopbook wrote so"


class Place(NamedTuple):
    """Where a text stands: ``seq`` is ``None`` where it is the stream's name; ``what`` holds it there."""

    stream: str
    seq: int | None
    what: str


def standing(stored: Iterable[Stored], text: str) -> Iterator[Place]:
    """All places of some rows, which come in the order of their streams.

    >>> row = Row("loop:a", 1, "task", b'{"at":"2026-01-01T12:00:00Z","text":"log in with hunter2"}')
    >>> [*standing([Stored(False, row)], "hunter2")]
    [Place(stream='loop:a', seq=1, what='task')]
    """
    told: set[tuple[str, int | None]] = set()
    reservations: list[Row] = []
    last: str | None = None
    for snapshot, row, _ in stored:
        stream, version, *_ = row
        if snapshot:
            if what := in_row(row, text):
                yield Place(stream, version, SNAPSHOT)
            continue
        if stream.startswith("once:"):
            if text in stream or in_row(row, text):
                reservations.append(row)
            continue
        if stream != last and text in stream:
            told.add((stream, None))
            yield Place(stream, None, "its name")
        last = stream
        if what := in_row(row, text):
            told.add((stream, version))
            yield Place(stream, version, what)
    for row in reservations:
        of = _reserved(row)
        if of is None or not told & {(of.stream, of.seq), (of.stream, None)}:
            yield Place(row.originator_id, row.originator_version, "a reservation")


def everywhere(book: Book, text: str) -> Iterator[Place]:
    """All places of a store."""
    return standing(book.records.rows.scan(), text)


def in_row(row: Row, text: str) -> str:
    """What of a row holds a text, its stream's name apart; "" where nothing does."""
    if text in row.topic:
        return "its type"
    try:
        fields = fields_in(row.state)
    except ValueError:
        return UNREADABLE if _in_bytes(row.state, text) else ""
    no_text = apart(row.topic, fields)
    own = {name: value for name, value in fields.items() if name not in no_text}
    if in_strings(own, text):
        return row.topic
    if _in_numbers(own, text):
        return f"{row.topic}, in a number"
    hidden = not is_plain(row.state, fields) and _in_bytes(row.state, text)
    return UNREADABLE if hidden else ""


def _in_bytes(state: bytes, text: str) -> bool:
    forms = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return any(form.encode(errors="surrogatepass") in state for form in forms)


def in_strings(value: JsonValue, text: str) -> bool:
    """Whether a text stands in a string of a JSON value, or in a name that is no field's."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, list):
        return any(in_strings(item, text) for item in value)
    if isinstance(value, dict):
        return any(
            (name not in FIELDS and text in name) or in_strings(item, text) for name, item in value.items()
        )
    return False


def _in_numbers(value: JsonValue, text: str) -> bool:
    if isinstance(value, list):
        return any(_in_numbers(item, text) for item in value)
    if isinstance(value, Mapping):
        return any(_in_numbers(item, text) for item in value.values())
    return isinstance(value, int | float) and not isinstance(value, bool) and text in digits_of(value)


def _reserved(row: Row) -> Reserved | None:
    try:
        event = decode(*row).event
    except DamagedEntry:
        return None
    return event if isinstance(event, Reserved) else None
