"""A store of the first schema is read and written as it is, until it has to be upgraded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from loopbook.book import Book, folding
from loopbook.entry import Draft
from loopbook.events import LoopOpened, Task
from loopbook.store import parse_url, schema_of
from loopbook.upkeep.fsck import fsck
from tests.store.raw import sql
from tests.store.rows import chained, fork, plain

A = "session:h:a"
X = Draft(Task(text="x"))


@pytest.fixture
def older(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Book]:
    monkeypatch.setattr(folding, "EVERY", 2)
    with Book(shared_url) as book:
        book.append(A, X, X, after=0)
        book.append("loop:a", Draft(LoopOpened(kind="fix", intent="i")), after=0)
    sql(shared_url, "DROP TABLE stored_snapshots")
    sqlite = parse_url(shared_url).path is not None
    sql(shared_url, "PRAGMA user_version=1" if sqlite else "UPDATE loopbook_store SET schema=1")
    with Book(shared_url) as book:
        yield book


def schema(book: Book) -> int:
    return schema_of(parse_url(book.url))


def test_whoever_reads_and_writes_an_older_store_leaves_its_schema(older: Book) -> None:
    rows = older.records.rows
    assert older.state(A).version == 2
    older.record(A, X, X, X)
    assert older.state(A).version == 5
    assert [entry.seq for entry in older.entries(A)] == [1, 2, 3, 4, 5]
    rows.load([plain("session:h:b", 1)])
    rows.replace([plain("session:h:b", 1, b"x")], [plain("session:h:c", 1)])
    rows.delete(["session:h:b", "session:h:c"])
    rows.vacuum()
    assert rows.snapshot_newest(A) is None
    assert not [stored for stored in rows.scan() if stored.snapshot]
    assert rows.facts().schema == 1
    assert fsck(older).findings == ()
    assert schema(older) == 1


@pytest.mark.parametrize("how", ["fork", "load", "replace"])
def test_the_first_fork_upgrades_it(older: Book, how: str) -> None:
    """An older loopbook would take a stream that begins further on for a damaged one."""
    rows = older.records.rows
    parent = chained("loop:p", 1, "x")
    rows.load(parent)
    first = fork("loop:f", parent[0])
    ways: dict[str, Callable[[], object]] = {
        "fork": lambda: older.fork("loop:a", 1, "loop:b"),
        "load": lambda: rows.load([first]),
        "replace": lambda: rows.replace([], [first]),
    }
    ways[how]()
    assert schema(older) == 2
    assert rows.facts().schema == 2


def test_an_upgrade_of_somebody_elses_is_seen(older: Book) -> None:
    """What is forgotten then leaves no snapshot behind."""
    with Book(older.url) as other:
        other.records.rows.upgrade()
        other.state(A)
        assert other.records.rows.snapshot_newest(A) is not None
        older.records.rows.delete([A])
        assert other.records.rows.snapshot_newest(A) is None
    assert older.records.rows.facts().schema == 2
