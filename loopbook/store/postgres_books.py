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

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar, cast
from uuid import UUID

import psycopg
from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder
from psycopg.errors import DivisionByZero, FeatureNotSupported, UniqueViolation
from psycopg.sql import SQL, Composed, Identifier

from loopbook.errors import StoreUnavailable
from loopbook.store.contract import SCHEMA, Row, Stand, Waiter
from loopbook.store.databases import prepare
from loopbook.store.footing import Footing, footing, unfounded
from loopbook.store.refusals import swallowed, without_snapshots
from loopbook.store.server import Connection, Listener, Server
from loopbook.store.statements import EVENTS, SHAPE, SNAPSHOTS, STATEMENTS, columns, stood_on

_LAST = 2**63 - 1
#: What to do where it is not known whether a save was kept.
_APPENDED = "try again: what has a host_ref is never kept twice"
CHANGED = "do it again: what was done by then is found as it is, and stays so"

Answer = TypeVar("Answer")


class PostgresBooks(PostgresApplicationRecorder):
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
        self._sql = {name: self._statement(text) for name, text in STATEMENTS.items() if name != "streams"}
        self.sql_create_statements = [
            self._statement(f"CREATE TABLE IF NOT EXISTS {{{name}}}{SHAPE}") for name in self._tables
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
        asked = [*stood_on(footing(rows)), *columns(rows), len(rows)]
        try:
            stood = connection.execute(self._sql["insert"], asked).fetchone()
        except (DivisionByZero, FeatureNotSupported):  # the latter: a rule, which asks for another statement
            raise swallowed(self.server.name) from None
        if stood != (1,):
            raise unfounded()

    def _has(self, connection: Connection, rows: Sequence[Row]) -> bool:
        """Whether these very rows are there, byte for byte."""
        return connection.execute(self._sql["same"], columns(rows)).fetchone() == (len(rows),)

    def _stand(self, connection: Connection, needed: Footing) -> None:
        if connection.execute(self._sql["stands"], stood_on(needed)).fetchone() is None:
            raise unfounded()

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
        answers = self._ask(self._sql["taken"], [[name for name in streams if can_be(name)]])
        return {cast("str", stream) for (stream,) in answers}

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
                asked = [*row, *stood_on(Footing(tuple(stands)))]
                if not connection.execute(self._sql["put"], asked).rowcount:
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

    def _ask(
        self, statement: Composed, parameters: Sequence[object] | Mapping[str, object]
    ) -> list[tuple[object, ...]]:
        return self._run(lambda connection: connection.execute(statement, parameters, binary=True).fetchall())

    def _select(self, statement: Composed, parameters: Sequence[object]) -> list[Row]:
        if not can_be(cast("str", parameters[0])):
            return []
        return [Row._make(row) for row in cast("list[Row]", self._ask(statement, parameters))]


def can_be(name: str) -> bool:
    """Whether a stream can have this name: PostgreSQL keeps no NUL in a text."""
    return "\0" not in name
