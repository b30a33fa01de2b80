"""A store with something of everything, and hands that change its rows behind loopbook's back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol
from urllib.parse import parse_qs, urlsplit

from loopbook.book import Book
from loopbook.book.snapshots import pack
from loopbook.books import Books
from loopbook.entry import Draft
from loopbook.events import (
    Check,
    Decision,
    Finding,
    LoopClosed,
    Review,
    Switched,
    Task,
    TodoCompleted,
    TodoOpened,
    UnitAdded,
)  # fmt: skip
from loopbook.store import Row, Stand
from tests.book.drafts import clock

EVENTS, SNAPSHOTS = "stored_events", "stored_snapshots"


def review(*ids: str) -> Review:
    """A review that names these findings."""
    findings = tuple(Finding(id=name, severity="concern", text=f"about {name}") for name in ids)
    return Review(tier="light", reviewer="ann", findings=findings)


def opened(url: str) -> Books:
    """The books of a store, all at noon."""
    return Books.open(url, clock=clock, session="s1")


def fill(books: Books) -> None:
    """Loops with reservations of every sort, forks of forks, a closed loop, other streams, snapshots."""
    a = books.start("fix", "Crash on empty input é", id="a")
    a.record(Check(command="pytest -k empty", outcome="fail", exit_code=1), host_ref="call-1")
    a.record(
        TodoOpened(todo="t1", subject="tell them"), UnitAdded(unit="u", subject="module"), host_ref="x y"
    )
    a.record(review("f1", "f2"))
    fork = books.fork("a", new_id="a-2", session="s2")
    fork.record(review("f1", "f3"), TodoOpened(todo="t2", subject="𝄞"), host_ref="call-1b")
    deep = books.fork("a-2", fork.version - 1, new_id="a-3")
    deep.record(Decision(text="so be it", decided_by="user", resolves=("f3",)))
    a.record(TodoCompleted(todo="t1"), Check(command="pytest", outcome="pass", exit_code=0), review("f1"))
    books.start("chore", "Bump the pin", id="done").record(LoopClosed(outcome="unjudged"))
    books.adopt("a", "s3")
    books.book.record("guard:p", Draft(Switched(advisor="completion", on=True)), Draft(Task(text="x")))
    for stream in ("loop:a", "loop:a-3"):
        place = books.book.place(stream)
        stands = (Stand(stream, place.version, place.sum), *place.forebears)
        books.book.records.rows.snapshot_put(pack(stands, place.state), stands)


def rows_of(book: Book) -> list[Row]:
    """Every row of a store but its snapshots."""
    return [stored.row for stored in book.records.rows.scan() if not stored.snapshot]


class Hands(Protocol):
    """Plain SQL at the tables of a store."""

    def rows(self, table: str) -> list[Row]:
        """All rows, in their order."""

    def remove(self, table: str, row: Row) -> None:
        """Remove a row."""

    def put(self, table: str, row: Row) -> None:
        """Add a row; raises where its place is taken or it cannot be stored."""


class Cannot(Exception):
    """The database itself refuses such a row."""


class SQLite(NamedTuple):
    """Hands for a file."""

    connection: sqlite3.Connection

    def rows(self, table: str) -> list[Row]:
        return [Row(*row) for row in self.connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")]

    def remove(self, table: str, row: Row) -> None:
        where = "originator_id = CAST(? AS TEXT) AND originator_version = ?"
        gone = self.connection.execute(f"DELETE FROM {table} WHERE {where}", (raw(row[0]), row[1]))
        assert gone.rowcount == 1

    def put(self, table: str, row: Row) -> None:
        statement = f"INSERT INTO {table} VALUES (CAST(? AS TEXT), ?, CAST(? AS TEXT), ?)"
        try:
            self.connection.execute(statement, (raw(row[0]), row[1], raw(row[2]), row[3]))
        except sqlite3.IntegrityError as wrong:
            raise Cannot from wrong


class PostgreSQL(NamedTuple):
    """Hands for a schema of a server."""

    connection: object

    def _run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        import psycopg  # noqa: PLC0415 - an extra

        assert isinstance(self.connection, psycopg.Connection)
        try:
            found = self.connection.execute(statement.encode(), values, binary=True)
        except (psycopg.Error, UnicodeEncodeError, ValueError) as wrong:
            raise Cannot from wrong
        return found.fetchall() if found.description else []

    def rows(self, table: str) -> list[Row]:
        found = self._run(
            f"SELECT originator_id, originator_version, topic, state FROM {table} ORDER BY 1, 2"
        )
        return [Row(*row) for row in found]  # type: ignore[arg-type]  # as the table declares them

    def remove(self, table: str, row: Row) -> None:
        self._run(f"DELETE FROM {table} WHERE originator_id = %s AND originator_version = %s", row[:2])

    def put(self, table: str, row: Row) -> None:
        columns = "originator_id, originator_version, topic, state"
        self._run(f"INSERT INTO {table} ({columns}) VALUES (%s, %s, %s, %s)", row)


def raw(text: str) -> bytes:
    """A text's bytes, also those that are no UTF-8."""
    return text.encode(errors="surrogateescape")


@contextmanager
def hands(url: str) -> Iterator[Hands]:
    """Hands at a store."""
    if url.startswith("sqlite:"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        try:
            yield SQLite(connection)
        finally:
            connection.close()
        return
    import psycopg  # noqa: PLC0415 - an extra

    parts = urlsplit(url)
    schema = parse_qs(parts.query)["schema"][0]
    plain = url.replace(f"&schema={schema}", "")
    with psycopg.connect(plain, autocommit=True, options=f"-c search_path={schema}") as there:
        yield PostgreSQL(there)
