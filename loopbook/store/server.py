"""A PostgreSQL server: connected to, made ready, and its errors in our words.

The library's pool is passed over: its workers are threads that a forked process has not, and what
a server says of a connection it refuses is lost behind a timeout. A connection here is made when
it is needed, kept while nobody uses it, and dropped with all that are kept once one is found dead.

Which store it is comes from its URL alone: what libpq would take from the environment for host,
port, database, options and encoding is given by us. Credentials and TLS are libpq's own business.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from threading import BoundedSemaphore
from typing import TypeAlias

import psycopg
from eventsourcing.persistence import IntegrityError
from eventsourcing.postgres import PostgresDatastore
from psycopg import errors as states
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Composed, Identifier

from loopbook.errors import (
    DamagedEntry,
    ForeignStore,
    InvalidEvent,
    LoopbookError,
    NewerStore,
    StoreUnavailable,
    StoreURLInvalid,
)
from loopbook.store.contract import APPLICATION_ID, SCHEMA
from loopbook.store.urls import StoreURL

#: Connections that are kept while nobody uses them, and those that a process has at most.
IDLE, MOST = 2, 5
#: Seconds to wait for others who make the same store ready.
MAKING = 60
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
        try:
            return psycopg.connect(autocommit=True, **self._parameters)  # type: ignore[arg-type]  # all are texts
        except psycopg.Error as wrong:
            raise self.told(wrong) from None  # the driver's own error may hold more than may be shown

    def _look_whether_open(self) -> None:
        if self.closed:
            raise StoreUnavailable(f"{self.name} is closed; nothing was written; open the store again")

    def lend(self, *, fresh: bool = False) -> Connection:
        """A connection that nobody else uses; give it back whatever happens."""
        self._look_whether_open()
        if not self._places.acquire(timeout=self.patience + 5):
            raise StoreUnavailable(
                f"{self.name}: all {MOST} connections of this process were busy for {self.patience + 5:g} s;"
                " nothing was written; try again"
            )
        try:
            if not fresh:
                return self._idle.pop()
        except IndexError:
            pass
        try:
            return self.connect()
        except BaseException:
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


# --- making a database a store -------------------------------------------------------------


def prepare(
    server: Server, tables: Sequence[str], create: Sequence[Composed], *, upgrade: bool = False
) -> int:
    """Give a database its tables if there are none; refuse it if they are not ours.

    Returns the schema that it has then: an older one is left as it is, unless it is to ``upgrade``.

    All is done once, in one transaction under a lock that has nothing to do with any table: two
    processes that create the same thing at once would both fail. Raises ``ForeignStore``,
    ``NewerStore`` or ``StoreUnavailable``; the database is then untouched.
    """
    connection = server.lend()
    try:
        found = recognise(connection, server, tables)
        if found == SCHEMA or (found and not upgrade):
            return found
        with connection.transaction():
            return make(connection, server, tables, create, upgrade=upgrade)
    except psycopg.Error as wrong:
        raise server.told(wrong) from wrong
    finally:
        server.take_back(connection)


def look(server: Server, tables: Sequence[str]) -> int:
    """The schema of the store that a database holds; 0 where it holds none."""
    connection = server.connect()
    try:
        return recognise(connection, server, tables)
    except psycopg.Error as wrong:
        raise server.told(wrong) from wrong
    finally:
        connection.close()


def make(
    connection: Connection,
    server: Server,
    tables: Sequence[str],
    create: Sequence[Composed],
    *,
    upgrade: bool = False,
) -> int:
    """Give a database its tables within a transaction, unless another process came first; its schema then."""
    connection.execute(SQL("SET LOCAL lock_timeout={}").format(MAKING * 1000))
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [APPLICATION_ID])
    known = recognise(connection, server, tables)
    if known == SCHEMA or (known and not upgrade):
        return known  # another process came first
    entries = f'"{server.schema}"."{tables[0]}"'
    if known and connection.execute("SELECT to_regclass(%s)", [entries]).fetchone() == (None,):
        raise ForeignStore(
            f"{server.name} bears the mark of a loopbook store and has no table of entries;"
            " it was left as it is; restore a copy of it"
        )
    schema = Identifier(server.schema)
    # IF NOT EXISTS asks for the right to create even where there is nothing to do.
    if connection.execute("SELECT to_regnamespace(%s)", [f'"{server.schema}"']).fetchone() == (None,):
        connection.execute(SQL("CREATE SCHEMA {}").format(schema))
    mark = SQL("{}.loopbook_store").format(schema)
    made = (
        "CREATE TABLE IF NOT EXISTS {} (schema int NOT NULL, one bool PRIMARY KEY DEFAULT true CHECK (one))"
    )
    for statement in (*create, SQL(made).format(mark)):
        connection.execute(statement)
    said = "INSERT INTO {} (schema) VALUES (%s) ON CONFLICT (one) DO UPDATE SET schema=EXCLUDED.schema"
    connection.execute(SQL(said).format(mark), [SCHEMA])
    return SCHEMA


def recognise(connection: Connection, server: Server, tables: Sequence[str]) -> int:
    """The schema of the store that a database holds; 0 where its tables' names are free."""
    # The mark last: another process may be making all of them, and they are looked up one by one.
    names = [f'"{server.schema}"."{name}"' for name in (*tables, "loopbook_store")]
    encoding, there = connection.execute(
        "SELECT current_setting('server_encoding'),"
        " array(SELECT to_regclass(name) IS NOT NULL FROM unnest(%s::text[]) name)",
        [names],
    ).fetchone() or ("", [])
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"{server.name}: the database keeps text as {encoding}; nothing was written;"
            " create one with ENCODING 'UTF8'"
        )
    if not any(there):
        return 0
    foreign = ForeignStore(
        f"{server.name} has a table named {tables[0]} that is no loopbook store's; it was left as it is;"
        " name another database, or add ?schema=NAME"
    )
    if not there[-1]:
        raise foreign
    mark = SQL("SELECT schema FROM {}.loopbook_store").format(Identifier(server.schema))
    try:
        schema = connection.execute(mark).fetchone()
    except states.UndefinedColumn:
        raise foreign from None
    if schema is None or not isinstance(schema[0], int):
        raise foreign
    if schema[0] > SCHEMA:
        raise NewerStore(
            f"{server.name} has schema {schema[0]}, and this loopbook knows up to {SCHEMA};"
            " the database was left as it is; upgrade loopbook to open it"
        )
    return schema[0] if all(there) else 1  # which is what a store without snapshots is


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
