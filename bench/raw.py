"""The floor for SQLite: the driver, the same table, the same pragmas, the same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from loopbook.book import Book

INSERT = "INSERT INTO stored_events VALUES (?,?,?,?)"
NEWER = (
    "SELECT * FROM stored_events WHERE originator_id=? AND originator_version>? ORDER BY originator_version"
)
SNAPSHOT = "SELECT * FROM stored_snapshots WHERE originator_id=? ORDER BY originator_version DESC LIMIT 1"

RawRow = tuple[str, int, str, bytes]


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a fresh store's file."""
    Book(f"sqlite:///{path}").close()
    return attach(path)


def attach(path: Path) -> sqlite3.Connection:
    """A connection to a store's file with the pragmas that loopbook sets."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")
    return connection


def save(connection: sqlite3.Connection, rows: Sequence[RawRow]) -> None:
    """All rows in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(INSERT, rows)
    connection.execute("COMMIT")


def save_all(connection: sqlite3.Connection, saves: Sequence[Sequence[RawRow]]) -> None:
    """Some saves, one after the other."""
    for rows in saves:
        save(connection, rows)


def rows_since(connection: sqlite3.Connection, rowid: int) -> list[RawRow]:
    """What was written to a file after a row, in the order of writing."""
    return connection.execute("SELECT * FROM stored_events WHERE rowid>? ORDER BY rowid", (rowid,)).fetchall()


def last_rowid(connection: sqlite3.Connection) -> int:
    """The newest row."""
    return int(connection.execute("SELECT coalesce(max(rowid), 0) FROM stored_events").fetchone()[0])
