"""A PostgreSQL store: what a book asks of one, and what upkeep asks of all its rows at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast

import psycopg
from eventsourcing.persistence import ApplicationRecorder
from eventsourcing.postgres import PostgresFactory
from eventsourcing.utils import Environment
from psycopg.sql import SQL

from loopbook.store.contract import Facts, Row, Size, Stored, past
from loopbook.store.databases import look, make, recognise
from loopbook.store.footing import Gathered, footing, unfounded
from loopbook.store.postgres_books import CHANGED, PostgresBooks, can_be
from loopbook.store.refusals import swallowed
from loopbook.store.server import Connection, Server
from loopbook.store.statements import EVENTS, SNAPSHOTS, STATEMENTS, columns
from loopbook.store.urls import StoreURL
from loopbook.store.vacuum import write_anew


class PostgresRecorder(PostgresBooks):
    """The whole of a store."""

    def streams(self, prefix: str = "", after: str = "", limit: int = 1_000) -> Sequence[str]:
        """The names of streams that begin with ``prefix`` and follow ``after``, in code point order.

        From name to name along the primary key: the rows of a stream are not passed over.
        """
        end = past(prefix)
        until = SQL("") if end is None else SQL(" AND originator_id<%(end)s")
        asked = {"prefix": prefix, "after": after, "end": end, "limit": limit}
        answers = self._ask(self._statement(STATEMENTS["streams"], until=until), asked)
        return [cast("str", name) for (name,) in answers]

    def sizes(self, streams: Collection[str]) -> Mapping[str, Size]:
        """How large these streams are; one that is not there is left out."""
        answers = self._ask(self._sql["sizes"], [[name for name in streams if can_be(name)]])
        found = cast("list[tuple[str, int, int]]", answers)
        return {stream: Size(rows, size) for stream, rows, size in found}

    def load(self, rows: Iterable[Row]) -> None:
        """Store all rows or none, made one by one while they are stored."""
        gathered = Gathered()

        def work(connection: Connection) -> None:
            cursor = connection.cursor()
            with cursor.copy(self._sql["copy"]) as copy:
                copy.set_types(["text", "int8", "text", "bytea"])
                for row in gathered.passing(rows):
                    copy.write_row(row)
            if cursor.rowcount != gathered.passed:
                raise swallowed(self.server.name)
            # After the last row was made: what its maker has seen of the catalogue, this sees too.
            needed = gathered.footing()
            self._stand(connection, needed)
            if needed.forks and not self._kept(connection):
                make(connection, self.server, (EVENTS, SNAPSHOTS), self.sql_create_statements, upgrade=True)
                self._older = False

        self._change(work)

    def delete(self, streams: Collection[str]) -> None:
        """Remove all rows of these streams, their snapshots too; all at once or nothing."""

        def work(connection: Connection) -> None:
            connection.execute(self._sql["lock"])
            self._remove(connection, streams, "events", *self._kept(connection))

        self._change(work)

    def replace(self, rows: Sequence[Row], added: Sequence[Row] = (), gone: Collection[str] = ()) -> None:
        """Put other topics and states where rows stand, remove streams, add rows; all at once or nothing."""
        if self._older and footing(added).forks:
            self.upgrade()

        def work(connection: Connection) -> None:
            connection.execute(self._sql["lock"])
            if connection.execute(self._sql["there"], columns(rows)).fetchone() != (len(rows),):
                raise unfounded()
            if connection.execute(self._sql["update"], columns(rows)).rowcount != len(rows):
                raise swallowed(self.server.name)
            if added:
                self._add(connection, sorted(added))
            kept = self._kept(connection)
            self._remove(connection, gone, "events", *kept)
            self._remove(connection, {row.originator_id for row in (*rows, *added)}, *kept)

        self._change(work)

    def _change(self, work: Callable[[Connection], object]) -> None:
        """Do some work in one transaction, once, and say so to whoever waits."""
        connection = self.server.lend(fresh=True)
        try:
            with connection.transaction():
                work(connection)
                connection.execute("SELECT pg_notify(%s, '')", [self.channel_name])
        except psycopg.Error as wrong:
            raise (self._unsure(CHANGED) if connection.closed else self.server.told(wrong)) from wrong
        finally:
            self.server.take_back(connection)

    def _remove(self, connection: Connection, streams: Collection[str], *tables: str) -> None:
        names = [name for name in streams if can_be(name)]
        for table in tables:
            of_these = SQL("FROM {} WHERE originator_id=ANY(%s)").format(self._tables[table])
            connection.execute(SQL("DELETE ") + of_these, [names])
            if connection.execute(SQL("SELECT 1 {} LIMIT 1").format(of_these), [names]).fetchone():
                raise swallowed(self.server.name)

    def scan(self, stream: str | None = None) -> Iterator[Stored]:
        """Every row of the store, or of a stream, as of one moment: snapshots first, then entries."""
        only = SQL("") if stream is None else SQL("WHERE originator_id=%s")
        what = SQL("SELECT originator_id, originator_version, topic, state FROM {} {} ORDER BY 1, 2")
        connection = self.server.connect()
        try:
            # Whoever takes the rows may stop for as long as a person reads a page.
            connection.execute("SET idle_in_transaction_session_timeout=0")
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with connection.transaction():
                for name in (*self._kept(connection), "events"):
                    cursor = connection.cursor(name, scrollable=False)
                    cursor.execute(
                        what.format(self._tables[name], only), [stream][: stream is not None], binary=True
                    )
                    for values in cursor:
                        yield Stored.of(name == "snapshots", values)
        except psycopg.Error as wrong:
            raise self.server.told(wrong) from wrong
        finally:
            connection.close()

    def vacuum(self) -> None:
        """Write both tables anew without snapshots and what was removed.

        The server's own log forgets in its time. Raises ``StoreUnavailable`` where the server did not do
        it: for somebody who does not own the tables, or while an older transaction is open.
        """
        tables: tuple[str, ...] = (EVENTS,)
        if self._run(self._kept):
            self._run(lambda connection: connection.execute(self._sql["clear"]), remedy=CHANGED)
            tables = (EVENTS, SNAPSHOTS)
        self._run(lambda connection: write_anew(self.server, connection, tables))

    def facts(self) -> Facts:
        """What the store says of itself."""
        names = {"events": EVENTS, "snapshots": SNAPSHOTS}
        tables = {key: self._regclass(name) for key, name in names.items()}
        schema = self._run(lambda connection: recognise(connection, self.server, (EVENTS, SNAPSHOTS)))
        ((streams, size, read_only, may),) = self._ask(self._sql["facts"], tables)
        why = "" if may else "this user may not write; nothing was written; grant this user its tables"
        if read_only:
            why = "the server is read-only; nothing was written; name the primary server"
        refusal = why and f"{self.server.name}: {why}"
        foreign = tuple(str(name) for (name,) in self._ask(self._sql["foreign"], tables))
        return Facts(schema, cast("int", streams), cast("int", size), refusal, foreign)


def look_at(url: StoreURL) -> int:
    """The schema of the store that a database holds; 0 where it holds none."""
    return look(Server(url), (EVENTS, SNAPSHOTS))


class Factory(PostgresFactory):
    """What the library makes a PostgreSQL store with: our connections, our recorder, our way to open."""

    def __init__(self, env: Environment) -> None:
        # Where the library would look for host, user and password, it finds nothing to connect to.
        nobody = {f"POSTGRES_{name}": "" for name in ("DBNAME", "HOST", "USER", "PASSWORD")}
        super().__init__(Environment(env.name, {**env, **nobody}))
        self.datastore = self.server = Server(
            StoreURL(None, True, float(env["LOCK_SECONDS"]), env["SERVER"], env["SCHEMA"])
        )

    def application_recorder(self) -> ApplicationRecorder:
        """A recorder on a database that is surely ours and has its tables."""
        return PostgresRecorder(self.server)
