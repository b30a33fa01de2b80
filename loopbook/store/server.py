"""A PostgreSQL server: connected to, listened to, and its errors in our words.

The library's pool is passed over: its workers are threads that a forked process has not, and what
a server says of a connection it refuses is lost behind a timeout. A connection here is made when
it is needed, kept while nobody uses it, and dropped with all that are kept once one is found dead.

Which store it is comes from its URL alone: what libpq would take from the environment for host,
port, database, options and encoding is given by us. Credentials and TLS are libpq's own business.
"""

from __future__ import annotations

import time
from collections import deque
from threading import BoundedSemaphore
from typing import TypeAlias

import psycopg
from eventsourcing.persistence import IntegrityError
from eventsourcing.postgres import PostgresDatastore
from psycopg import errors as states
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from loopbook.errors import (
    DamagedEntry,
    ForeignStore,
    InvalidEvent,
    LoopbookError,
    StoreUnavailable,
    StoreURLInvalid,
)
from loopbook.store.forking import GATE
from loopbook.store.refusals import closed
from loopbook.store.urls import StoreURL

#: Connections that are kept while nobody uses them, and those that a process has at most.
IDLE, MOST = 2, 5
#: What holds where the URL says nothing, so that no variable of the environment is asked for it.
DEFAULTS: dict[str, str] = {
    "hostaddr": "",
    "port": "5432",
    "connect_timeout": "5",
    "application_name": "loopbook",
    "target_session_attrs": "any",
    # A server that vanished without a word is noticed.
    "keepalives_idle": "30",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}

Connection: TypeAlias = psycopg.Connection[TupleRow]


class Server(PostgresDatastore):
    """The library's datastore with our connections. Safe across threads, not across a fork."""

    def __init__(self, url: StoreURL) -> None:
        super().__init__(
            *("",) * 5, schema=url.schema, lock_timeout=int(url.busy_seconds), originator_id_type="text"
        )
        self.name, self.patience, self.closed = str(url), url.busy_seconds, False
        self._parameters = _parameters(url)
        self._idle: deque[Connection] = deque()
        self._places = BoundedSemaphore(MOST)

    def register_type_adapters(self) -> None:
        """None are needed: rows go in as arrays of their columns."""

    def connect(self) -> Connection:
        """A new connection, the caller's own. Raises ``StoreError``."""
        self._look_whether_open()
        with GATE.entered(None):
            return self._connected()

    def _connected(self) -> Connection:
        try:
            return psycopg.connect(autocommit=True, **self._parameters)  # type: ignore[arg-type]  # all are texts
        except psycopg.Error as wrong:
            raise self.told(wrong) from None  # the driver's own error may hold more than may be shown

    def _look_whether_open(self) -> None:
        if self.closed:
            raise closed(self.name)

    def lend(self, *, fresh: bool = False) -> Connection:
        """A connection that nobody else uses; give it back whatever happens."""
        self._look_whether_open()
        if not self._places.acquire(timeout=self.patience + 5):
            raise StoreUnavailable(
                f"{self.name}: all {MOST} connections of this process were busy for {self.patience + 5:g} s;"
                " nothing was written; try again"
            )
        GATE.enter(None)
        try:
            if not fresh:
                return self._idle.pop()
        except IndexError:
            pass
        try:
            return self.connect()
        except BaseException:
            GATE.leave(None)
            self._places.release()
            raise

    def take_back(self, connection: Connection) -> None:
        """Keep a lent connection for the next one who asks, if it is in order."""
        try:
            ready = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            if ready and not self.closed and len(self._idle) < IDLE:
                self._idle.append(connection)
            else:
                connection.close()
        finally:
            GATE.leave(None)
            self._places.release()

    def forget(self) -> None:
        """Close what is not lent."""
        while self._idle:
            self._idle.pop().close()

    def close(self) -> None:
        """Close what is not lent; a lent one is closed when it comes back."""
        super().close()
        self.closed = True
        self.forget()

    def told(self, wrong: psycopg.Error) -> Exception:
        """The server's error in our words; a version that is taken as the library says it."""
        if isinstance(wrong, states.UniqueViolation):
            return IntegrityError(_short(wrong))
        for kinds, error, what, remedy in ERRORS:
            if isinstance(wrong, kinds):
                return error(f"{self.name}: {what}; nothing was written; {remedy}")
        if isinstance(wrong, psycopg.DataError):
            return InvalidEvent(f"PostgreSQL cannot keep it ({_short(wrong)})")
        if wrong.sqlstate is None and isinstance(wrong, psycopg.OperationalError):
            return StoreUnavailable(
                f"{self.name} cannot be reached ({_short(wrong)}); nothing was written;"
                " check the URL and that the server runs"
            )
        return StoreUnavailable(
            f"{self.name}: PostgreSQL says {_short(wrong)!r}; nothing was written; check the server"
        )


def _parameters(url: StoreURL) -> dict[str, object]:
    try:
        given = {key: value for key, value in conninfo_to_dict(url.server).items() if value is not None}
    except psycopg.Error:
        raise StoreURLInvalid(
            f"{url} is no PostgreSQL URL; nothing was opened; percent-encode what is special in user,"
            " password and options, such as %40 for @"
        ) from None
    ours = (
        f"-c lock_timeout={int(url.busy_seconds * 1000)} -c idle_in_transaction_session_timeout=60000"
        " -c default_transaction_isolation=read\\ committed -c default_transaction_deferrable=off"
    )
    given.setdefault("host", given.get("hostaddr", ""))
    options = f"{given.get('options', '')} {ours}".strip()
    return {**DEFAULTS, **given, "options": options, "client_encoding": "UTF8"}


def _short(wrong: psycopg.Error) -> str:
    """The first lines of what a server or driver says; a password is in none of them."""
    return " ".join((wrong.diag.message_primary or str(wrong)).split())[:300]


_ErrorKinds: TypeAlias = type[psycopg.Error] | tuple[type[psycopg.Error], ...]
#: What PostgreSQL's errors mean to a person, and what to do; the first that fits.
ERRORS: tuple[tuple[_ErrorKinds, type[LoopbookError], str, str], ...] = (
    (
        (states.LockNotAvailable, states.DeadlockDetected),
        StoreUnavailable, "another writer kept it locked", "try again, or add ?timeout=30",
    ),
    (
        (states.InvalidPassword, states.InvalidAuthorizationSpecification),
        StoreUnavailable, "the server refuses this user or password", "check user, PGPASSWORD or ~/.pgpass",
    ),
    (states.InvalidCatalogName, StoreUnavailable, "there is no such database", "create it, or name another"),
    (states.InsufficientPrivilege, StoreUnavailable, "access is denied", "grant this user its tables"),
    (states.ReadOnlySqlTransaction, StoreUnavailable, "it is read-only", "name the primary server"),
    (states.DiskFull, StoreUnavailable, "the server's disk is full", "free some space and try again"),
    (states.TooManyConnections, StoreUnavailable, "the server has no connection left", "try again"),
    (
        (states.CannotConnectNow, states.AdminShutdown, states.CrashShutdown),
        StoreUnavailable, "the server is starting or stopping", "try again",
    ),
    (states.QueryCanceled, StoreUnavailable, "the server ended it", "try again, or raise statement_timeout"),
    (
        (states.UndefinedTable, states.UndefinedColumn, states.InvalidSchemaName),
        ForeignStore, "the tables of a store are not there as they should be", "run: loopbook store init",
    ),
    (
        (states.DataCorrupted, states.IndexCorrupted),
        DamagedEntry, "the database is damaged", "restore a copy of it",
    ),
)  # fmt: skip


class Listener:
    """Waits for the notification that every commit sends, on a connection of its own."""

    def __init__(self, server: Server, channel: str) -> None:
        self._server, self._channel = server, channel
        self._connection: Connection | None = self._listen()

    def _listen(self) -> Connection:
        connection = self._server.connect()
        try:
            connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
        except BaseException:
            connection.close()
            raise
        return connection

    def wait(self, timeout: float) -> bool:
        """Whether anything was committed since the last ``True``; also where that cannot be known."""
        if self._connection is None:
            self._connection = self._listen()
            return True  # what happened while nobody listened was not heard
        until = time.monotonic() + timeout
        try:
            heard = any(True for _ in self._connection.notifies(timeout=max(timeout, 0), stop_after=1))
            for _ in self._connection.notifies(timeout=0):  # one look of the caller's answers all of them
                pass
        except psycopg.Error:
            self.close()
            return self.wait(until - time.monotonic())
        return heard

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
