"""The file of a SQLite store: made, recognised, opened; and SQLite's errors in our words.

Opening is the only unsafe moment. Several processes may meet at a fresh file; ``PRAGMA
journal_mode=WAL`` then answers *locked* at once, whatever the busy timeout, so opening is tried
again until the timeout. And the file may be somebody else's: it is looked at before anything is
written, and ours bears a mark (``application_id``) and its schema (``user_version``).
"""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from loopbook.errors import DamagedEntry, ForeignStore, NewerStore, StoreError, StoreUnavailable
from loopbook.store.contract import APPLICATION_ID, SCHEMA
from loopbook.store.forking import GATE, is_carried


def prepare(path: Path, busy_seconds: float, create: Sequence[str], *, upgrade: bool = False) -> int:
    """Make the file if it is not there, refuse it if it is not ours, give a new one its tables.

    ``create`` are the statements that make each table that is not there. Returns the schema that it
    has then: an older one is left as it is, unless it is to ``upgrade``.
    Raises ``ForeignStore``, ``NewerStore`` or ``StoreUnavailable``; the file is then untouched.
    """
    try:
        make_private(path)
    except IsADirectoryError:
        raise StoreUnavailable(
            f"{path} is a folder; nothing was written; name a file in it, such as {path / 'books.db'}"
        ) from None
    except FileNotFoundError:
        raise StoreUnavailable(
            f"there is no folder {path.parent}; nothing was written; make it, or name another file"
        ) from None
    except OSError as wrong:
        raise StoreUnavailable(
            f"{path} cannot be made or opened ({wrong.strerror}); nothing was written;"
            " make its folder writable, or name another file"
        ) from None
    deadline = time.monotonic() + max(busy_seconds, 1.0)
    while True:
        try:
            with GATE.entered(path), closing(_open(path, busy_seconds)) as connection:
                return _prepare(connection, path, create, upgrade)
        except sqlite3.Error as wrong:
            if not _is_busy(wrong) or time.monotonic() > deadline:
                raise told(wrong, path) from wrong
            time.sleep(random.uniform(0.005, 0.05))


def look(path: Path, busy_seconds: float) -> int:
    """The schema of the store that a file is; 0 where there is none. Nothing is made or changed."""
    if not path.is_file():
        return 0
    try:
        with GATE.entered(path), closing(_open(path, busy_seconds)) as connection:
            return _recognise(connection, path, "BEGIN")
    except sqlite3.Error as wrong:
        raise told(wrong, path) from wrong


def make_private(path: Path) -> None:
    """Make the file (0600), where it is not there yet, for its owner alone; its folder must be there.

    The file is made under another name and linked: to open and close a file that SQLite has open
    in the same process would take away SQLite's locks on it. Raises ``OSError``.
    """
    if path.exists():
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        return
    new = path.with_name(f".{path.name}.{os.getpid()}.{random.getrandbits(48):012x}.new")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        # Another process may be faster; a file system may know no links (nor modes), then SQLite makes it.
        with suppress(OSError):
            os.link(new, path)
    finally:
        new.unlink()


def connect(path: Path, busy_seconds: float, synchronous: str) -> sqlite3.Connection:
    """A connection with our settings. Raises ``StoreUnavailable`` where SQLite cannot open the file."""
    try:
        connection = _open(path, busy_seconds)
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        # NORMAL is safe against a crash of the process only with a write-ahead log.
        connection.execute(f"PRAGMA synchronous={synchronous if mode == 'wal' else 'FULL'}")
        connection.execute("PRAGMA secure_delete=ON")  # nothing is removed but what must be gone
    except sqlite3.Error as wrong:
        raise told(wrong, path) from wrong
    return connection


def refuse_carried(path: Path) -> None:
    """Refuse a file whose locks a forked process has taken along without having them."""
    if is_carried(path):
        raise StoreUnavailable(
            f"{path} was in use when this process was forked, and cannot be used in it; nothing was written;"
            " fork when no scan and no load is under way"
        )


def _open(path: Path, busy_seconds: float) -> sqlite3.Connection:
    refuse_carried(path)
    return sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=64
    )


def _prepare(connection: sqlite3.Connection, path: Path, create: Sequence[str], upgrade: bool) -> int:
    found = _recognise(connection, path, "BEGIN")
    if found != SCHEMA and (upgrade or not found):
        found = _recognise(connection, path, "BEGIN IMMEDIATE")
        if found != SCHEMA and (upgrade or not found):  # unless another process came first
            found = SCHEMA
            make(connection, create)
        connection.execute("COMMIT")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode=WAL")
    return found


def make(connection: sqlite3.Connection, create: Sequence[str]) -> None:
    """Give a file its tables and its mark, within a transaction."""
    for statement in create:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={SCHEMA}")


def _recognise(connection: sqlite3.Connection, path: Path, begin: str) -> int:
    """The schema of the store that the file is; 0 only for an empty one, which may become a store.

    All is read in one transaction, so that it is of one moment; an IMMEDIATE one stays open.
    """
    size = path.stat().st_size
    connection.execute(begin)
    ask = (
        "PRAGMA application_id",
        "PRAGMA user_version",
        "PRAGMA page_count",
        "SELECT count(*) FROM sqlite_master",
        "SELECT count(*) FROM sqlite_master WHERE name='stored_events'",
        "SELECT count(*) FROM sqlite_master WHERE name='stored_snapshots'",
    )
    mark, schema, pages, tables, events, snapshots = (connection.execute(one).fetchone()[0] for one in ask)
    if mark == APPLICATION_ID and schema > SCHEMA:
        raise NewerStore(
            f"{path} has schema {schema}, and this loopbook knows up to {SCHEMA};"
            " the file was left as it is; upgrade loopbook to open it"
        )
    # A few foreign bytes are an empty database to SQLite, and it would write over them.
    if mark != APPLICATION_ID and (mark or schema or tables or (size and not pages)):
        raise ForeignStore(
            f"{path} is there and is no loopbook store; it was left as it is; name another file"
        )
    if mark == APPLICATION_ID and not events:
        raise ForeignStore(
            f"{path} bears the mark of a loopbook store and has no table of entries;"
            " it was left as it is; restore a copy of it"
        )
    if begin == "BEGIN":
        connection.execute("COMMIT")
    if mark != APPLICATION_ID:
        return 0
    return max(int(schema), 1) if snapshots else 1  # which is what a store without snapshots is


_WRITABLE = "make file and folder writable, or name another store"
_MAY = "check that its folder is there and that both may be read and written"
#: What SQLite's error names (by their beginning) mean to a person, and what to do.
ERRORS: tuple[tuple[str, type[StoreError], str, str], ...] = (
    ("SQLITE_BUSY", StoreUnavailable, "another process kept it locked", "try again, or add ?timeout=30"),
    ("SQLITE_LOCKED", StoreUnavailable, "another connection kept it locked", "try again"),
    ("SQLITE_READONLY", StoreUnavailable, "it is read-only", _WRITABLE),
    ("SQLITE_FULL", StoreUnavailable, "the disk is full", "free some space and try again"),
    ("SQLITE_CANTOPEN", StoreUnavailable, "it cannot be opened", _MAY),
    ("SQLITE_PERM", StoreUnavailable, "access is denied", _MAY),
    ("SQLITE_IOERR", StoreUnavailable, "the disk reports an error", "check it; a network disk will not do"),
    ("SQLITE_NOTADB", ForeignStore, "it is no SQLite database", "name another file"),
    ("SQLITE_CORRUPT", DamagedEntry, "the file is damaged", "restore a copy of it"),
)


def told(wrong: sqlite3.Error, path: Path) -> StoreError:
    """SQLite's error in our words; ``path`` names the store."""
    name = getattr(wrong, "sqlite_errorname", "")
    for start, error, what, remedy in ERRORS:
        if name.startswith(start):
            return error(f"{path}: {what}; nothing was written; {remedy}")
    return StoreUnavailable(f"{path}: SQLite says {str(wrong)[:200]!r}; nothing was written; check the file")


def _is_busy(wrong: sqlite3.Error) -> bool:
    return getattr(wrong, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
