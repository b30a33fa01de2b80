"""Books in a PostgreSQL database, for several machines: the library's recorder, shorter and safer.

What is passed over, and why. *The table lock* that the library takes for every append makes ids
appear in the order of commits; nothing here reads ids, an entry's order is its stream's version,
and the primary key alone refuses. So an append is one statement in one round trip, and writers of
different streams do not wait for each other. *The id column* goes with it: without the lock it
would promise an order that it has not. *The library's ten attempts* after a lost connection would
take a save that was kept, its answer lost, for somebody else's: here it is tried once more, and a
conflict is looked at, whether the rows that stand there are the very bytes that were sent.

Rows are written in the order of their keys, so that two writers never wait for each other in a
circle. An append looks at what it stands on (``footing``) in the same statement, and who removes or
replaces rows first locks the table against appends: so none goes on from a row that is just being
removed. Two saves that begin one stream at different versions do not see each other; both tell the
catalogue of it, at the version after the newest that they have seen, and that key is taken once.

Names are kept in the collation "C": their order is that of their code points, as elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast
from uuid import UUID

import psycopg
from eventsourcing.persistence import ApplicationRecorder, IntegrityError, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresFactory
from eventsourcing.utils import Environment
from psycopg.errors import DivisionByZero, FeatureNotSupported, UniqueViolation
from psycopg.sql import SQL, Composed, Identifier

from loopbook.errors import StoreUnavailable
from loopbook.store.contract import SCHEMA, Facts, Row, Size, Stand, Stored, Waiter, past
from loopbook.store.footing import Footing, Gathered, footing, swallowed, unfounded, without_snapshots
from loopbook.store.server import Connection, Listener, Server, look, make, prepare, recognise
from loopbook.store.urls import StoreURL
from loopbook.store.vacuum import write_anew

EVENTS, SNAPSHOTS = "stored_events", "stored_snapshots"

_SHAPE = (
    ' (originator_id text COLLATE "C" NOT NULL, originator_version bigint NOT NULL, topic text NOT NULL,'
    " state bytea NOT NULL, PRIMARY KEY (originator_id, originator_version))"
)
#: Rows as four arrays, which travel and are read faster than as many parameters.
_ROWS = "unnest(%s::text[], %s::bigint[], %s::text[], %b::bytea[]) AS r(id, version, topic, state)"
#: The ``sum`` that a row carries, as ``loopbook.entry.sum_in`` has it.
_SUM = (
    "CASE WHEN encode(substring(t.state FROM octet_length(t.state) - 73 FOR 74), 'escape')"
    """ ~ '^,"sum":"[0-9a-f]{{64}}"}}$'"""
    " THEN substring(t.state FROM octet_length(t.state) - 65 FOR 64) ELSE '' END"
)
#: Whether all that a save needs is there: see ``_needed``. A subquery of its own for each is never
#: made into a join that passes over the table.
_STANDS = (
    "(SELECT count((SELECT 1 FROM {events} t WHERE t.originator_id=s.id AND t.originator_version=s.version"
    f" AND {_SUM}=s.sum))"
    " FROM unnest(%s::text[], %s::bigint[], %b::bytea[]) AS s(id, version, sum)) = %s"
    " AND (SELECT count((SELECT 1 FROM {events} t WHERE t.originator_id=b.id"
    " AND (t.originator_version<b.first OR t.originator_version>b.last) LIMIT 1))"
    " FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS b(id, first, last)) = 0"
)
_STATEMENTS = {
    # Whether it stood; an error, which undoes it, where it did and not every row was kept.
    "insert": "WITH said AS MATERIALIZED (SELECT pg_notify({channel}, '') WHERE"
    f" {_STANDS}), kept AS (INSERT INTO {{events}} (originator_id, originator_version, topic, state)"
    f" SELECT r.id, r.version, r.topic, r.state FROM said, {_ROWS} RETURNING 1)"
    " SELECT count(*) / (count(*) * %s = (SELECT count(*) FROM kept))::int FROM said",
    "stands": f"SELECT 1 WHERE {_STANDS}",
    "same": f"SELECT count(*) FROM {_ROWS} JOIN {{events}} t ON (t.originator_id, t.originator_version)"
    " = (r.id, r.version) AND (t.topic, t.state) = (r.topic, r.state)",
    "there": f"SELECT count(*) FROM {_ROWS} JOIN {{events}} t ON (t.originator_id, t.originator_version)"
    " = (r.id, r.version)",
    "update": f"UPDATE {{events}} t SET topic=r.topic, state=r.state FROM {_ROWS}"
    " WHERE (t.originator_id, t.originator_version) = (r.id, r.version)",
    "select": "SELECT originator_id, originator_version, topic, state FROM {events} WHERE originator_id=%s",
    "taken": "SELECT originator_id FROM {events} WHERE originator_version=1 AND originator_id=ANY(%s)",
    "streams": "WITH RECURSIVE found(name) AS ("
    "SELECT min(originator_id) FROM {events}"
    " WHERE originator_id>=%(prefix)s AND originator_id>%(after)s{until}"
    " UNION ALL SELECT (SELECT min(originator_id) FROM {events} WHERE originator_id>name{until})"
    " FROM found WHERE name IS NOT NULL"
    ") SELECT name FROM found WHERE name IS NOT NULL LIMIT %(limit)s",
    "sizes": "SELECT originator_id, count(*), sum(octet_length(state)) FROM {events}"
    " WHERE originator_id=ANY(%s) GROUP BY originator_id",
    "put": "INSERT INTO {snapshots} (originator_id, originator_version, topic, state)"
    f" SELECT %s,%s,%s,%b WHERE {_STANDS}",
    "useless": "DELETE FROM {snapshots} WHERE originator_id=%s AND originator_version=ANY(%s)",
    "snapshot": "SELECT originator_id, originator_version, topic, state FROM {snapshots}"
    " WHERE originator_id=%s AND originator_version<=%s ORDER BY originator_version DESC LIMIT 1",
    "copy": "COPY {events} (originator_id, originator_version, topic, state) FROM STDIN (FORMAT BINARY)",
    # Conflicts with every append, and with itself.
    "lock": "LOCK TABLE {events} IN SHARE ROW EXCLUSIVE MODE",
    # What an append takes: no row that it stands on is removed or replaced until it is committed.
    "share": "LOCK TABLE {events} IN ROW EXCLUSIVE MODE",
    "clear": "DELETE FROM {snapshots}",
    "foreign": "SELECT format('TRIGGER %%I ON %%s', tgname, tgrelid::regclass) AS name FROM pg_trigger"
    " WHERE NOT tgisinternal AND tgrelid IN (to_regclass(%(events)s), to_regclass(%(snapshots)s))"
    " UNION ALL SELECT format('RULE %%I ON %%s', rulename, ev_class::regclass) FROM pg_rewrite"
    " WHERE ev_class IN (to_regclass(%(events)s), to_regclass(%(snapshots)s)) ORDER BY name",
    "facts": "SELECT (SELECT count(*) FROM (SELECT DISTINCT originator_id FROM {events}) names),"
    " pg_total_relation_size(%(events)s)"
    " + coalesce(pg_total_relation_size(to_regclass(%(snapshots)s)), 0),"
    " current_setting('transaction_read_only')::bool, has_table_privilege(%(events)s, 'INSERT')",
}
_LAST = 2**63 - 1
#: What to do where it is not known whether a save was kept.
_APPENDED = "try again: what has a host_ref is never kept twice"
_CHANGED = "do it again: what was done by then is found as it is, and stays so"

Answer = TypeVar("Answer")


class PostgresRecorder(PostgresApplicationRecorder):
    """The library's table; rows go in and out as plain tuples, and errors are ours."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.server = server
        #: One for each schema of a database, since listening knows no schemas.
        self.channel_name = f"loopbook_{server.schema}"
        self._tables = {
            "events": Identifier(server.schema, EVENTS),
            "snapshots": Identifier(server.schema, SNAPSHOTS),
        }
        self._sql = {name: self._statement(text) for name, text in _STATEMENTS.items() if name != "streams"}
        self.sql_create_statements = [
            self._statement(f"CREATE TABLE IF NOT EXISTS {{{name}}}{_SHAPE}") for name in self._tables
        ]
        #: Whether there was no table of snapshots when it was looked at last.
        self._older = prepare(server, (EVENTS, SNAPSHOTS), self.sql_create_statements) < SCHEMA

    def upgrade(self) -> None:
        """Bring an older store to this schema."""
        prepare(self.server, (EVENTS, SNAPSHOTS), self.sql_create_statements, upgrade=True)
        self._older = False

    def _kept(self, connection: Connection) -> tuple[str, ...]:
        """The table of snapshots, if there is one by now: somebody else may upgrade the store."""
        if self._older:
            found = connection.execute("SELECT to_regclass(%s)", [self._regclass(SNAPSHOTS)]).fetchone()
            self._older = found == (None,)
        return () if self._older else ("snapshots",)

    def _regclass(self, table: str) -> str:
        return f'"{self.server.schema}"."{table}"'

    def _statement(self, text: str, **more: SQL) -> Composed:
        channel = psycopg.sql.Literal(self.channel_name)
        return SQL(text).format(**self._tables, channel=channel, **more)

    def _run(self, work: Callable[[Connection], Answer], *, remedy: str = "") -> Answer:
        """Do some work on a connection; on another one where it is found dead.

        What writes says with ``remedy`` what to do where it is not known whether it was kept.
        """
        server, lost = self.server, False
        while True:
            try:
                connection = server.lend(fresh=lost)
            except StoreUnavailable:
                if lost and remedy:
                    raise self._unsure(remedy) from None
                raise
            try:
                return work(connection)
            except psycopg.Error as wrong:
                if not connection.closed:
                    raise server.told(wrong) from wrong
                server.forget()
                if lost:
                    raise (self._unsure(remedy) if remedy else server.told(wrong)) from wrong
                lost = True
            finally:
                server.take_back(connection)

    def _unsure(self, remedy: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.server.name}: the connection was lost while saving; whether it was kept is not known;"
            f" {remedy}"
        )

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: object) -> Sequence[int] | None:
        """Store all rows or none; the library's ``IntegrityError`` where a version is taken or gone.

        After a lost answer it is tried again: what was kept is found, byte for byte, and is no conflict.
        """
        rows = cast("list[Row]", sorted(cast("Sequence[Row]", stored_events)))
        tried = 0

        def insert(connection: Connection) -> None:
            nonlocal tried
            tried += 1
            try:
                self._add(connection, rows)
            except (UniqueViolation, IntegrityError):
                # Whatever came after them, they are there if they were kept.
                if tried == 1 or not self._has(connection, rows):
                    raise

        if self._older and footing(rows).forks:
            self.upgrade()
        if rows:
            self._run(insert, remedy=_APPENDED)
        return None

    def _add(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Add rows in the order of their keys, all or none."""
        asked = [*_needed(footing(rows)), *_columns(rows), len(rows)]
        try:
            stood = connection.execute(self._sql["insert"], asked).fetchone()
        except (DivisionByZero, FeatureNotSupported):  # the latter: a rule, which asks for another statement
            raise swallowed(self.server.name) from None
        if stood != (1,):
            raise unfounded()

    def _has(self, connection: Connection, rows: Sequence[Row]) -> bool:
        """Whether these very rows are there, byte for byte."""
        return connection.execute(self._sql["same"], _columns(rows)).fetchone() == (len(rows),)

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
            # After the last row was made, so that it has seen what its maker has: see the theory.
            needed = gathered.footing()
            self._stand(connection, needed)
            if needed.forks and not self._kept(connection):
                make(connection, self.server, (EVENTS, SNAPSHOTS), self.sql_create_statements, upgrade=True)
                self._older = False

        self._change(work)

    def _stand(self, connection: Connection, needed: Footing) -> None:
        if connection.execute(self._sql["stands"], _needed(needed)).fetchone() is None:
            raise unfounded()

    def _change(self, work: Callable[[Connection], object]) -> None:
        """Do some work in one transaction, once, and say so to whoever waits."""
        connection = self.server.lend(fresh=True)
        try:
            with connection.transaction():
                work(connection)
                connection.execute("SELECT pg_notify(%s, '')", [self.channel_name])
        except psycopg.Error as wrong:
            raise (self._unsure(_CHANGED) if connection.closed else self.server.told(wrong)) from wrong
        finally:
            self.server.take_back(connection)

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The rows of a stream, oldest first unless ``desc``."""
        statement, parameters = self._sql["select"], [str(originator_id)]
        bounds: list[int] = []
        if gt is not None:
            statement += SQL(" AND originator_version>%s")
            bounds.append(gt)
        if lte is not None:
            statement += SQL(" AND originator_version<=%s")
            bounds.append(lte)
        statement += SQL(" ORDER BY originator_version DESC" if desc else " ORDER BY originator_version")
        if limit is not None:
            statement += SQL(" LIMIT %s")
            bounds.append(limit)
        return cast("Sequence[StoredEvent]", self._select(statement, (*parameters, *bounds)))

    def newest(self, stream: str, topic: str) -> Row | None:
        """The newest row of a topic in a stream."""
        statement = self._sql["select"] + SQL(" AND topic=%s ORDER BY originator_version DESC LIMIT 1")
        return next(iter(self._select(statement, (stream, topic))), None)

    def taken(self, streams: Collection[str]) -> set[str]:
        """Which of these streams have a first row."""
        answers = self._ask(self._sql["taken"], [[name for name in streams if _can_be(name)]])
        return {cast("str", stream) for (stream,) in answers}

    def streams(self, prefix: str = "", after: str = "", limit: int = 1_000) -> Sequence[str]:
        """The names of streams that begin with ``prefix`` and follow ``after``, in code point order.

        From name to name along the primary key: the rows of a stream are not passed over.
        """
        end = past(prefix)
        until = SQL("") if end is None else SQL(" AND originator_id<%(end)s")
        asked = {"prefix": prefix, "after": after, "end": end, "limit": limit}
        answers = self._ask(self._statement(_STATEMENTS["streams"], until=until), asked)
        return [cast("str", name) for (name,) in answers]

    def sizes(self, streams: Collection[str]) -> Mapping[str, Size]:
        """How large these streams are; one that is not there is left out."""
        answers = self._ask(self._sql["sizes"], [[name for name in streams if _can_be(name)]])
        found = cast("list[tuple[str, int, int]]", answers)
        return {stream: Size(rows, size) for stream, rows, size in found}

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
            if connection.execute(self._sql["there"], _columns(rows)).fetchone() != (len(rows),):
                raise unfounded()
            if connection.execute(self._sql["update"], _columns(rows)).rowcount != len(rows):
                raise swallowed(self.server.name)
            if added:
                self._add(connection, sorted(added))
            kept = self._kept(connection)
            self._remove(connection, gone, "events", *kept)
            self._remove(connection, {row.originator_id for row in (*rows, *added)}, *kept)

        self._change(work)

    def _remove(self, connection: Connection, streams: Collection[str], *tables: str) -> None:
        names = [name for name in streams if _can_be(name)]
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
            self._run(lambda connection: connection.execute(self._sql["clear"]), remedy=_CHANGED)
            tables = (EVENTS, SNAPSHOTS)
        self._run(lambda connection: write_anew(self.server, connection, tables))

    def snapshot_put(self, row: Row, stands: Sequence[Stand], useless: Collection[int] = ()) -> None:
        """Keep a snapshot, in place of one of its stream and version, and of the ``useless`` versions."""

        def put(connection: Connection) -> None:
            if not self._kept(connection):
                raise without_snapshots(self.server.name)
            with connection.transaction():
                connection.execute("SET LOCAL lock_timeout=1")  # milliseconds; 0 would wait for ever
                connection.execute(self._sql["share"])
                replaced = [row.originator_version, *useless]
                connection.execute(self._sql["useless"], [row.originator_id, replaced])
                needed = _needed(Footing(tuple(stands)))
                if not connection.execute(self._sql["put"], [*row, *needed]).rowcount:
                    raise unfounded()

        self._run(put)

    def snapshot_newest(self, stream: str, lte: int | None = None) -> Row | None:
        """The newest snapshot of a stream, at version ``lte`` or before."""
        if self._older:
            return None
        found = self._select(self._sql["snapshot"], (stream, _LAST if lte is None else lte))
        return next(iter(found), None)

    def waiter(self) -> Waiter:
        """A waiter for what is committed from now on."""
        return Listener(self.server, self.channel_name)

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

    def _ask(
        self, statement: Composed, parameters: Sequence[object] | Mapping[str, object]
    ) -> list[tuple[object, ...]]:
        return self._run(lambda connection: connection.execute(statement, parameters, binary=True).fetchall())

    def _select(self, statement: Composed, parameters: Sequence[object]) -> list[Row]:
        if not _can_be(cast("str", parameters[0])):
            return []
        return [Row._make(row) for row in cast("list[Row]", self._ask(statement, parameters))]


def _columns(rows: Sequence[Row]) -> list[list[object]]:
    return [[row[place] for row in rows] for place in range(4)]


def _needed(footing: Footing) -> list[object]:
    """What ``_STANDS`` asks about."""
    streams, versions, sums = zip(*footing.stands, strict=True) if footing.stands else ((), (), ())
    names, firsts, lasts = zip(*footing.begun, strict=True) if footing.begun else ((), (), ())
    stands = [*streams], [*versions], [digest.encode() for digest in sums], len(streams)
    return [*stands, [*names], [*firsts], [*lasts]]


def _can_be(name: str) -> bool:
    """Whether a stream can have this name: PostgreSQL keeps no NUL in a text."""
    return "\0" not in name


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
