"""Opening a file: made for its owner alone, recognised, never spoilt."""

from __future__ import annotations

import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.errors import DamagedEntry, ForeignStore, NewerStore, StoreUnavailable
from loopbook.events import Task
from loopbook.store import Row, files, parse_url, schema_of
from loopbook.store.contract import APPLICATION_ID, SCHEMA
from loopbook.store.files import told
from tests.conftest import ROOT
from tests.store.raw import sql


def pragma(path: Path, name: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]


def write_one(path: Path) -> None:
    with Book(str(path)) as book:
        book.append("session:h:a", Draft(Task(text="x")), after=0)


def test_a_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with Book(str(path)) as book:
        book.append("session:h:a", Draft(Task(text="x")), after=0)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"books.db": 0o600, "books.db-wal": 0o600, "books.db-shm": 0o600}


def test_no_folder_is_made_for_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"there is no folder .*deep; nothing was written"):
        Book(str(tmp_path / "new" / "deep" / "books.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    write_one(path)
    path.chmod(0o640)
    write_two = Book(str(path))
    write_two.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_store_bears_our_mark_and_its_schema(tmp_path: Path) -> None:
    write_one(tmp_path / "books.db")
    assert pragma(tmp_path / "books.db", "application_id") == APPLICATION_ID
    assert pragma(tmp_path / "books.db", "user_version") == SCHEMA


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE stored_events (x)")


def marked_empty(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id=7")


def text_file(path: Path) -> None:
    path.write_text("shopping list\n" * 40)


def one_byte(path: Path) -> None:
    path.write_text("x")


def a_few_bytes(path: Path) -> None:
    path.write_text("x" * 600)


@pytest.mark.parametrize("make", [foreign_database, marked_empty, text_file, one_byte, a_few_bytes])
def test_a_foreign_file_is_refused_and_left_byte_for_byte(make: object, tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    assert callable(make)
    make(path)
    before = path.read_bytes()
    with pytest.raises(ForeignStore, match=r"books\.db.*name another file"):
        Book(str(path))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["books.db"]


def test_a_newer_schema_is_refused_by_name_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    write_one(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA + 1}")
    before = path.read_bytes()
    with pytest.raises(NewerStore, match=rf"schema {SCHEMA + 1}.*upgrade loopbook"):
        Book(str(path))
    assert path.read_bytes() == before


def older(path: Path) -> None:
    """A file as the schema before this one was: no table of snapshots."""
    with Book(str(path)) as book:
        book.append("session:h:a", *(Draft(Task(text=f"{n}")) for n in range(3)), after=0)
    sql(str(path), "DROP TABLE stored_snapshots")
    sql(str(path), "PRAGMA user_version=1")


def test_an_older_schema_is_upgraded_by_many_at_once(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    older(path)
    before = sql(str(path), "SELECT * FROM stored_events ORDER BY 1, 2")
    heads: list[int] = []

    def open_it() -> None:
        with Book(str(path)) as book:
            heads.append(book.state("session:h:a").version)
            book.records.rows.upgrade()
            assert book._records.rows.snapshot_newest("session:h:a") is None

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heads == [3] * 6
    assert pragma(path, "user_version") == SCHEMA
    assert sql(str(path), "SELECT * FROM stored_events ORDER BY 1, 2") == before


def test_looking_at_a_file_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    assert schema_of(parse_url(str(path))) == 0
    assert not path.exists()
    older(path)
    before = path.read_bytes()
    assert schema_of(parse_url(str(path))) == 1
    assert path.read_bytes() == before
    (tmp_path / "x").write_text("x" * 600)
    with pytest.raises(ForeignStore):
        schema_of(parse_url(str(tmp_path / "x")))


def test_what_was_removed_is_nowhere_in_the_file_or_its_log_after_a_vacuum(tmp_path: Path) -> None:
    path, secret = tmp_path / "books.db", b"correct-horse-battery"
    with Book(str(path)) as book, Book(str(path)) as other:
        rows = book._records.rows
        large = [Row("session:h:a", n, "task", secret * n) for n in range(1, 400)]
        rows.load([*large, Row("session:h:b", 1, "task", secret)])
        rows.snapshot_put(Row("session:h:a", 5, "state", secret), ())
        assert other.head("session:h:b")[0] == 1
        rows.delete(["session:h:a"])
        rows.replace([Row("session:h:b", 1, "task", b"[scrubbed]")])
        assert secret in Path(f"{path}-wal").read_bytes()
        rows.vacuum()
        for file in tmp_path.iterdir():
            assert secret not in file.read_bytes(), file
        assert Path(f"{path}-wal").stat().st_size == 0


def test_a_log_that_is_being_read_is_not_emptied_and_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    write_one(path)
    with Book(f"sqlite:///{path}?timeout=0.1") as book:
        scan = book._records.rows.scan()
        next(scan)
        with pytest.raises(StoreUnavailable, match="its write-ahead log is being read; nothing was lost"):
            book._records.rows.vacuum()
        scan.close()  # type: ignore[attr-defined]  # it is a generator
        book._records.rows.vacuum()
        assert book.head("session:h:a")[0] == 1


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "books.db").touch()
    write_one(tmp_path / "books.db")
    assert pragma(tmp_path / "books.db", "application_id") == APPLICATION_ID


@pytest.mark.parametrize(
    ("path", "what"),
    [("", "is a folder"), ("file/books.db", "cannot be made"), ("x" * 300, "cannot be made")],
)
def test_a_path_that_cannot_be_a_file_is_told_in_one_line(path: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match=what) as told_of:
        Book(str(tmp_path / path))
    assert "\n" not in str(told_of.value)


def test_a_read_only_folder_is_told_and_its_store_unchanged() -> None:
    """In a process without the powers of root, which no mode stops."""
    script = """
import os, sys
import loopbook.store.sqlite
from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.events import Task
from loopbook.errors import StoreUnavailable
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
for path in sys.argv[1:]:
    try:
        book = Book(path)
        book.append("session:h:b", Draft(Task(text="x")), after=0)
    except StoreUnavailable as wrong:
        print(str(wrong))
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_one(folder / "books.db")
        (folder / "books.db").chmod(0o444)
        folder.chmod(0o555)
        before = (folder / "books.db").read_bytes()
        run = subprocess.run(
            [sys.executable, "-c", script, str(folder / "books.db"), str(folder / "new.db")],
            capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
        assert (folder / "books.db").read_bytes() == before
        folder.chmod(0o700)
    if "Permission denied" in run.stderr and not run.stdout:
        pytest.skip("another user may not read this checkout")
    told_of = run.stdout.splitlines()
    assert run.stderr == ""
    assert len(told_of) == 2, told_of
    assert all("nothing was written" in line for line in told_of)


def test_must_2_synchronous_is_normal_and_full_as_an_option(tmp_path: Path) -> None:
    for option, level in (("", 1), ("?synchronous=full", 2)):
        with Book(f"sqlite:///{tmp_path}/books.db{option}") as book:
            connection = book._records.recorder.connections.lend()  # type: ignore[attr-defined]  # SQLite's
            assert connection.execute("PRAGMA synchronous").fetchone()[0] == level
            assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
            connection.close()


def test_must_3_a_fresh_file_that_is_locked_at_once_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
        started = time.monotonic()
        write_one(path)
        assert time.monotonic() - started >= 0.25


def test_must_3_what_is_locked_at_once_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where others switch to WAL too, SQLite says *locked* at once, whatever the busy timeout."""
    path, turns = tmp_path / "books.db", []

    class Busy(sqlite3.OperationalError):
        sqlite_errorname = "SQLITE_BUSY"

    def prepare_at_last(
        connection: sqlite3.Connection, path: Path, create: Sequence[str], upgrade: bool
    ) -> int:
        turns.append(path)
        if len(turns) < 4:
            raise Busy("database is locked")
        return once(connection, path, create, upgrade)

    once = files._prepare
    monkeypatch.setattr(files, "_prepare", prepare_at_last)
    write_one(path)
    assert turns == [path] * 4
    turns.clear()
    monkeypatch.setattr(files, "_prepare", lambda *_: (_ for _ in ()).throw(Busy("database is locked")))
    with pytest.raises(StoreUnavailable, match="another process kept it locked"):
        Book(f"sqlite:///{path}?timeout=0")


def test_a_file_that_is_no_wal_becomes_one(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    write_one(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
    Book(str(path)).close()
    assert pragma(path, "journal_mode") == "wal"


def test_a_store_that_stays_locked_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    write_one(path)
    with Book(f"sqlite:///{path}?timeout=0.1") as book:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="another process kept it locked"):
                book.append("session:h:a", Draft(Task(text="y")), after=1)
            other.execute("ROLLBACK")
        assert book.head("session:h:a")[0] == 1
        assert book.append("session:h:a", Draft(Task(text="y")), after=1)[0].seq == 2


def test_a_full_disk_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    with Book(str(tmp_path / "books.db")) as book:
        book.append("session:h:a", Draft(Task(text="x")), after=0)
        connections = book._records.recorder.connections  # type: ignore[attr-defined]  # SQLite's
        connection = connections.lend()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
        connections.take_back(connection)
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            book.append("session:h:a", *(Draft(Task(text="y" * 500)) for _ in range(50)), after=1)
        assert [entry.seq for entry in book.entries("session:h:a")] == [1]
        assert book.append("session:h:a", Draft(Task(text="y")), after=1)[0].seq == 2


def test_a_file_with_a_broken_page_is_told(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with Book(str(path)) as book:
        book.append("session:h:a", *(Draft(Task(text="y" * 500)) for _ in range(100)), after=0)
    raw = bytearray(path.read_bytes())
    raw[4096:] = random.Random(1).randbytes(len(raw) - 4096)
    path.write_bytes(raw)
    with Book(str(path)) as book, pytest.raises(DamagedEntry, match="the file is damaged"):
        list(book.entries("session:h:a"))


def test_every_error_of_the_driver_has_words() -> None:
    class Odd(sqlite3.OperationalError):
        sqlite_errorname = "SQLITE_CORRUPT_INDEX"

    assert isinstance(told(Odd(), Path("b")), DamagedEntry)
    assert "SQLite says 'odd'" in str(told(sqlite3.ProgrammingError("odd"), Path("b")))
