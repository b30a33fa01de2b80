"""Rows as upkeep meets them: read strictly, and written anew.

Theory. A book reads leniently, since it must go on; whoever checks or brings rows must not. A row
is *sound* where its ``sum`` is that of the row, it can be read, and its bytes are in the one form in
which entries are written: the envelope first, no member twice, no blank, no number that JSON has
not. So nothing stands in the bytes of a sound row that is not in its entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from loopbook.book import Book
from loopbook.encoding import damaged, decode, head
from loopbook.entry import Entry
from loopbook.errors import DamagedEntry
from loopbook.sealing import holds, prev_in, seal
from loopbook.store import Recorder, Row

#: Rows read at once: a run may hold a few megabytes.
_CHUNK = 500
_SHOWN = re.compile("[0-9a-f]{64}")
_PREV, _SUM = b',"prev":"', b',"sum":"'


class Unsound(ValueError):
    """A row that is not as an entry is written; its text says how."""


def verified(row: Row) -> Entry:
    """The entry of a sound row. Raises ``Unsound``.

    >>> verified(Row("loop:a", 1, "task", b'{"at":"2026-01-01T12:00:00Z","session":"s","v":1}'))
    Traceback (most recent call last):
    loopbook.upkeep.rows.Unsound: its sum is not that of the row: it was edited or moved
    """
    try:
        vouches = holds(*row)
    except UnicodeEncodeError:
        vouches = False
    if not vouches:
        raise Unsound("its sum is not that of the row: it was edited or moved")
    try:
        entry = decode(*row)
    except DamagedEntry as wrong:
        raise Unsound(why(row, wrong)) from None
    if not _is_in_form(entry, row.state):
        raise Unsound("it vouches for itself, and is not in the form in which entries are written")
    return entry


def why(row: Row, wrong: DamagedEntry) -> str:
    """What is wrong with a row, without its place and what to do."""
    told = str(wrong).removeprefix(f"{row.originator_id} seq {row.originator_version} ")
    return f"it {told.partition('; the row was left')[0]}"


def _is_in_form(entry: Entry, state: bytes) -> bool:
    fields = fields_in(state)
    return state.startswith(head(entry, fields["v"]).encode()) and is_plain(state, fields)


def is_plain(state: bytes, fields: dict[str, JsonValue]) -> bool:
    """Whether there is nothing in a state but its members: none twice, none in another spelling."""
    return state == to_json(fields, inf_nan_mode="null")


def fields_in(state: bytes) -> dict[str, JsonValue]:
    """The members of a state. Raises ``ValueError`` for what is no JSON object."""
    fields = from_json(state)
    if not isinstance(fields, dict):
        raise ValueError("no object")  # as what is no JSON at all
    return cast("dict[str, JsonValue]", fields)


def rows_of(store: Recorder, stream: str, upto: int | None = None) -> Iterator[Row]:
    """All rows of a stream, read in pieces."""
    version: int | None = None
    while rows := cast("list[Row]", store.select_events(stream, gt=version, lte=upto, limit=_CHUNK)):
        yield from rows
        version = rows[-1].originator_version


def row_at(store: Recorder, stream: str, version: int) -> Row | None:
    """One row of a stream."""
    return next(iter(cast("list[Row]", store.select_events(stream, gt=version - 1, lte=version))), None)


def is_sum(digest: str) -> bool:
    """Whether a newest row shows a ``sum`` at all: what is gone on from."""
    return _SHOWN.fullmatch(digest) is not None


def head_of(book: Book, stream: str) -> tuple[int, str]:
    """The newest version and ``sum`` of a stream that is to be gone on with. Raises ``DamagedEntry``."""
    version, digest = book.head(stream)
    if version and not is_sum(digest):
        raise damaged(stream, version, "it does not end with its sum")
    return version, digest


def sealed(row: Row, prev: str) -> Row:
    """A row with another ``prev``, and the ``sum`` that it then has. Raises ``Unsound`` for no entry."""
    state = row.state
    start, end = state.find(_PREV) + len(_PREV), state.rfind(_SUM)
    if start < len(_PREV) or end < start:
        raise Unsound("it is not in the form in which entries are written")
    body = b"%b%b%b" % (state[:start], prev.encode(), state[start + len(prev_in(state)) : end])
    digest = seal(row.originator_id, row.originator_version, row.topic, body)
    return row._replace(state=b'%b%b%b"}' % (body, _SUM, digest.encode()))
