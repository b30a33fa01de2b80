r"""Books as JSON Lines: one line a row, the stored bytes exactly as they are.

Theory. An export is a head line, a line for each row, and an end line that counts them::

    {"loopbook":"books","version":1}
    {"stream":"loop:a","version":1,"topic":"task","state":{"at":"2026-01-01T12:00:00Z",...,"sum":"..."}}
    {"loopbook":"end","entries":1}

The state is JSON already, so it is put into its line byte for byte, and ``sum`` and ``prev`` in it go
on vouching for it. A row whose state cannot stand in a line (it was damaged) is written as
``"damaged":"<base64>"`` instead, so that an export of a damaged store still holds all of it.
Reservations and the catalogue are not in the file: both follow from the entries, and import writes
them. Files may be put one behind the other.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from pydantic_core import from_json

from loopbook.book import CATALOGUE, Book
from loopbook.book.lineage import lineage
from loopbook.store import Row

#: Grows when an older loopbook could no longer read the file.
FORMAT = 1
_TEXT = rb'"(?:[^"\\]|\\.)*+"'
_LINE = re.compile(
    rb'\{"stream":(%b),"version":(-?\d{1,30}),"topic":(%b),"(state|damaged)":(.*)\}' % (_TEXT, _TEXT),
    re.DOTALL,
)


class Exported(NamedTuple):
    """What was written: how many entries, and the rows (stream, version) whose states are damaged."""

    entries: int
    damaged: tuple[tuple[str, int], ...]


class NotALine(ValueError):
    """A line that no export wrote."""

    def __init__(self) -> None:
        super().__init__("is not a line of a loopbook export")


def head_line() -> bytes:
    """The first line of a file."""
    return b'{"loopbook":"books","version":%d}\n' % FORMAT


def end_line(entries: int) -> bytes:
    """The last line of a file: without it the file was cut."""
    return b'{"loopbook":"end","entries":%d}\n' % entries


def line_of(row: Row) -> bytes:
    r"""The line of a row, with its line end; the other way round is ``row_of``.

    >>> line_of(Row("loop:a", 1, "task", b'{"text":"look"}'))
    b'{"stream":"loop:a","version":1,"topic":"task","state":{"text":"look"}}\n'
    >>> line_of(Row("loop:a", 1, "task", b"\xff\n"))
    b'{"stream":"loop:a","version":1,"topic":"task","damaged":"/wo="}\n'
    """
    where = b'{"stream":%b,"version":%d,"topic":%b,' % (
        _quoted(row.originator_id),
        row.originator_version,
        _quoted(row.topic),
    )
    if fits(row.state):
        return b'%b"state":%b}\n' % (where, row.state)
    return b'%b"damaged":"%b"}\n' % (where, base64.b64encode(row.state))


def _quoted(text: str) -> bytes:
    return json.dumps(text).encode()


@lru_cache(maxsize=1024)
def _unquoted(text: bytes) -> str:
    """A JSON text; streams and topics come again and again."""
    return str(json.loads(text))


def fits(state: bytes) -> bool:
    """Whether a state can stand in a line as it is: a JSON object without line ends."""
    if b"\n" in state or b"\r" in state or not state.startswith(b"{"):
        return False
    try:
        return isinstance(from_json(state), dict)
    except ValueError:
        return False


def row_of(line: bytes) -> Row:
    """The row of a line without its line end. Raises ``NotALine``.

    >>> row_of(b'{"stream":"loop:a","version":1,"topic":"task","state":{"text":"look"}}').state
    b'{"text":"look"}'
    """
    return line_in(line)[0]


def line_in(line: bytes) -> tuple[Row, bool]:
    """The row of a line, and whether it was damaged when it was exported. Raises ``NotALine``."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise NotALine
    stream, version, topic, sort, state = found.groups()
    damaged = sort == b"damaged"
    try:
        if damaged:
            state = base64.b64decode(state.strip(b'"'), validate=True)
        return Row(_unquoted(stream), int(version), _unquoted(topic), state), damaged
    except ValueError:
        raise NotALine from None


def write(rows: Iterable[Row], out: BinaryIO) -> Exported:
    """Write rows as one export: what is read of them is written, nothing is kept."""
    out.write(head_line())
    entries, damaged = 0, []
    for row in rows:
        line = line_of(row)
        entries += 1
        if _is_damaged(line, row):
            damaged.append((row.originator_id, row.originator_version))
        out.write(line)
    out.write(end_line(entries))
    return Exported(entries, tuple(damaged))


def _is_damaged(line: bytes, row: Row) -> bool:
    return not line.endswith(b'"state":%b}\n' % row.state)


def everything(book: Book) -> Iterator[Row]:
    """All rows of a store that go into an export, as of one moment: all but what can be derived."""
    return (row for row in _rows(book) if not _is_derived(row))


def _is_derived(row: Row) -> bool:
    return row.originator_id == CATALOGUE or row.originator_id.startswith("once:")


def books_of(book: Book, streams: Iterable[str]) -> Iterator[Row]:
    """The rows of some books and of those that they were forked from, as of one moment, each stream once.

    Of one moment is one scan: where there are more streams than one, of the whole store.
    """
    parts = {segment.stream for stream in streams for segment in lineage(book.records.rows, stream)}
    only = next(iter(parts)) if len(parts) == 1 else None
    return (row for row in _rows(book, only) if row.originator_id in parts)


def _rows(book: Book, stream: str | None = None) -> Iterator[Row]:
    return (row for snapshot, row, _ in book.records.rows.scan(stream) if not snapshot)
