"""Connections to a SQLite file: kept while nobody uses them, and one that looks for commits.

They are kept here rather than in the library's pool: that costs more than the insert, and a
connection that cannot be made leaves its writer lock held.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from eventsourcing.sqlite import SQLiteConnection, SQLiteConnectionPool

from loopbook.store.files import connect, told
from loopbook.store.forking import GATE
from loopbook.store.refusals import closed

#: Connections that are kept open while nobody uses them.
IDLE = 4
#: Seconds between two looks at whether anything was committed; a look takes microseconds.
LOOK = 0.01
#: Connections of a parent process, which are not to be closed here.
_LEFT_BEHIND: list[sqlite3.Connection] = []


class Connections(SQLiteConnectionPool):
    """The library's pool with our settings, and a shorter way to a connection for our recorder."""

    def __init__(self, path: Path, busy_seconds: float, synchronous: str) -> None:
        super().__init__(db_name=str(path), pool_timeout=busy_seconds + 5)
        self.path, self.busy_seconds, self.synchronous = path, busy_seconds, synchronous
        self.writer = Lock()
        self._idle: deque[sqlite3.Connection] = deque()
        GATE.register(self)

    def _create_connection(self) -> SQLiteConnection:
        connection = self.connect()
        connection.row_factory = sqlite3.Row
        return SQLiteConnection(connection, max_age=self.max_age)

    def connect(self) -> sqlite3.Connection:
        """A new connection, the caller's own."""
        self._look_whether_open()
        return connect(self.path, self.busy_seconds, self.synchronous)

    def _look_whether_open(self) -> None:
        if self.closed:
            raise closed(str(self.path))

    @contextmanager
    def own(self) -> Iterator[sqlite3.Connection]:
        """A connection of the caller's own for a while; a child that finds it in its memory leaves it.

        Whoever uses it is to be within the gate then.
        """
        process = os.getpid()
        with GATE.entered(self.path):
            connection = self.connect()
            holder = GATE.hold(self.path)
        try:
            yield connection
        finally:
            if os.getpid() == process:
                with GATE.entered(self.path):
                    connection.close()
            else:
                _LEFT_BEHIND.append(connection)
            GATE.let_go(self.path, holder)

    def lend(self) -> sqlite3.Connection:
        """A connection that nobody else uses; give it back to ``take_back``, whatever happens."""
        self._look_whether_open()
        GATE.enter(self.path)
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self.connect()
        except BaseException:
            GATE.leave(self.path)
            raise

    def take_back(self, connection: sqlite3.Connection, *, sound: bool = True) -> None:
        """Keep a lent connection for the next one who asks; close it after an error."""
        try:
            if not sound or self.closed or len(self._idle) >= IDLE:
                connection.close()
            else:
                self._idle.append(connection)
        finally:
            GATE.leave(self.path)

    def close(self) -> None:
        """Close what is not lent; a lent one is closed when it comes back."""
        super().close()
        with GATE.entered(self.path):
            self.before_fork()

    def before_fork(self) -> None:
        """Close what is not lent."""
        while self._idle:
            self._idle.pop().close()

    def after_fork(self) -> None:
        """Connections are made again as they are needed."""


class DataVersion:
    """Looks at ``data_version``, which changes for a connection when any other one commits."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._connection: sqlite3.Connection | None = None
        self._seen: object = None
        self._changed()
        GATE.register(self)

    def _changed(self) -> bool:
        """Whether anybody committed since it was asked last; also where that cannot be known."""
        path = self._connections.path
        with GATE.entered(path):
            known = self._connection is not None
            connection = self._connection = self._connection or self._connections.connect()
            try:
                now = connection.execute("PRAGMA data_version").fetchone()[0]
            except sqlite3.Error as wrong:
                raise told(wrong, path) from wrong
        before, self._seen = self._seen, now
        return not known or now != before

    def wait(self, timeout: float) -> bool:
        """Whether anything was committed since the last ``True``."""
        until = time.monotonic() + timeout
        while not self._changed():
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(LOOK, left))
        return True

    def close(self) -> None:
        """Close the connection."""
        with GATE.entered(self._connections.path):
            self.before_fork()

    def before_fork(self) -> None:
        """Close the connection; another one is made when it is looked at again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def after_fork(self) -> None:
        """Whatever was committed meanwhile was not seen, and the next look says so."""
