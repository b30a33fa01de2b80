"""Rows as a book chains them, without a book; and rows that no store would take, for damaged ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import cast

from eventsourcing.persistence import StoredEvent

from loopbook.encoding import encode
from loopbook.entry import Entry
from loopbook.events import Event, Forked, Task
from loopbook.sealing import sum_in
from loopbook.store import Recorder, Row, Stand
from loopbook.store.memory import MemoryRecorder
from loopbook.store.sqlite import SQLiteRecorder

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def plain(stream: str, version: int, state: bytes = b"s", topic: str = "task") -> Row:
    """A row with neither ``prev`` nor ``sum``: any of them follows any other."""
    return Row(stream, version, topic, state)


def chained(stream: str, first: int, *texts: str, prev: str = "") -> list[Row]:
    """Rows that stand on each other, the first one on ``prev``."""
    made: list[Row] = []
    for version, text in enumerate(texts, first):
        made.append(_row(stream, version, Task(text=text), made[-1] if made else prev))
    return made


def fork(stream: str, parent: Row) -> Row:
    """The first row of a fork that goes on from a row."""
    name, version = parent.originator_id, parent.originator_version
    return _row(stream, version + 1, Forked(from_=name, version=version), parent)


def _row(stream: str, version: int, event: Event, before: Row | str) -> Row:
    prev = before if isinstance(before, str) else sum_of(before)
    return Row(stream, version, event.type, encode(Entry(stream, version, event, NOON, prev=prev)))


def sum_of(row: Row) -> str:
    """The ``sum`` that a row carries."""
    return sum_in(row.state)


def stand(row: Row) -> Stand:
    """What a row is to whoever stands on it."""
    return Stand(row.originator_id, row.originator_version, sum_of(row))


def insert(recorder: Recorder, *rows: Row) -> None:
    """One save."""
    recorder.insert_events(cast("list[StoredEvent]", rows))


def put(recorder: Recorder, rows: Iterable[Row]) -> None:
    """Rows as damage leaves them, past all that a store looks at."""
    match recorder:
        case MemoryRecorder():
            recorder._put([*rows])
        case SQLiteRecorder():
            recorder._write(lambda file: file.executemany(recorder.insert_events_statement, rows))
        case _:
            _put_on_server(recorder, [*rows])


def _put_on_server(recorder: Recorder, rows: Sequence[Row]) -> None:
    from loopbook.store.postgres import PostgresRecorder  # noqa: PLC0415 - its driver is an extra

    assert isinstance(recorder, PostgresRecorder)
    into = f"INSERT INTO {recorder.server.schema}.stored_events VALUES (%s, %s, %s, %b)"
    recorder._change(lambda server: server.cursor().executemany(into, rows))


def stream_of(recorder: Recorder, stream: str) -> list[Row]:
    """All rows of a stream."""
    return cast("list[Row]", list(recorder.select_events(stream)))


def everything(recorder: Recorder) -> list[Row]:
    """All rows of a store, its snapshots too."""
    return [stored.row for stored in recorder.scan()]
