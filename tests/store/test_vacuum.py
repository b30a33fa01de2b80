"""A vacuum on PostgreSQL is done, or it is said that it was not: the server itself says neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.errors import StoreUnavailable
from loopbook.events import Task
from loopbook.store import Row, parse_url
from tests.postgres import Postgres
from tests.store.raw import sql

psycopg = pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed")

SECRET = b"correct-horse-battery"
A = "session:h:a"


@pytest.fixture
def book(postgres: Postgres) -> Iterator[Book]:
    """A book in a database of its own, from which a secret was removed."""
    with Book(postgres.database() + "&schema=books&timeout=0.3") as opened:
        opened.record(A, Draft(Task(text="x")))
        rows = opened.records.rows
        rows.load([Row("session:h:b", 1, "task", SECRET)])
        rows.replace([Row("session:h:b", 1, "task", b"[scrubbed]")])
        yield opened


def lies(postgres: Postgres, book: Book) -> bool:
    """Whether the secret stands in the file of the table, once all is written to the disk."""
    sql(book.url, "CHECKPOINT")
    ((file,),) = sql(book.url, "SELECT pg_relation_filepath('stored_events')")
    return SECRET in Path(postgres.folder, cast("str", file)).read_bytes()


@contextmanager
def transaction(postgres: Postgres, book: Book, level: str = "REPEATABLE READ") -> Iterator[None]:
    """Somebody else's open transaction that has read something of this database, but no table of ours."""
    url = postgres.url(database_of(book))
    with psycopg.connect(url) as other:
        other.execute(f"SET TRANSACTION ISOLATION LEVEL {level}".encode())
        other.execute("CREATE TEMPORARY TABLE mine (x int)" if level == "READ COMMITTED" else "SELECT 1")
        yield
        other.rollback()


def database_of(book: Book) -> str:
    """The name of the database that a book is in."""
    ((name,),) = sql(book.url, "SELECT current_database()")
    return cast("str", name)


def test_after_a_vacuum_what_was_removed_is_not_in_the_tables_file(postgres: Postgres, book: Book) -> None:
    assert lies(postgres, book)
    book.records.rows.vacuum()
    assert not lies(postgres, book)
    assert book.head(A)[0] == 1


@pytest.mark.parametrize("level", ["REPEATABLE READ", "READ COMMITTED"])
def test_an_older_open_transaction_keeps_removed_rows_and_it_is_said(
    postgres: Postgres, book: Book, level: str
) -> None:
    """It need not have read our tables: with a snapshot, or having written something somewhere."""
    with transaction(postgres, book, level):
        book.records.rows.replace([Row("session:h:b", 1, "task", b"[again]")])
        with pytest.raises(StoreUnavailable, match="would be kept for 1 open transactions"):
            book.records.rows.vacuum()
    book.records.rows.vacuum()
    assert not lies(postgres, book)


def test_a_transaction_of_another_database_does_not_hinder(postgres: Postgres, book: Book) -> None:
    with psycopg.connect(postgres.url()) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1")
        book.records.rows.replace([Row("session:h:b", 1, "task", b"[again]")])
        book.records.rows.vacuum()
        other.rollback()
    assert not lies(postgres, book)


def test_a_user_who_does_not_own_the_tables_is_told_that_nothing_was_written_anew(
    postgres: Postgres, book: Book
) -> None:
    """The server warns, and that is all it does."""
    user = f"clerk_{database_of(book)}"
    for grant in (
        f"CREATE ROLE {user} LOGIN",
        f"GRANT USAGE ON SCHEMA books TO {user}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA books TO {user}",
    ):
        sql(book.url, grant)
    try:
        with Book(book.url.replace("postgres@", f"{user}@")) as clerk:
            with pytest.raises(StoreUnavailable, match=r"may not write its tables.*as the owner") as told:
                clerk.records.rows.vacuum()
            assert "\n" not in str(told.value)
            with transaction(postgres, book):
                clerk.records.rows.replace([Row("session:h:b", 1, "task", b"[again]")])
                with pytest.raises(StoreUnavailable, match="1 open transactions"):  # of another user's
                    clerk.records.rows.vacuum()
        assert lies(postgres, book)
    finally:
        sql(book.url, f"DROP OWNED BY {user}")
        sql(book.url, f"DROP ROLE {user}")
    assert parse_url(book.url).schema == "books"
