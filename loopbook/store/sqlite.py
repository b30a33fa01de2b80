"""A store in a SQLite file: what a book asks of one, and what upkeep asks of all its rows at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from eventsourcing.persistence import ApplicationRecorder
from eventsourcing.sqlite import SQLiteFactory
from eventsourcing.utils import Environment

from loopbook.errors import StoreUnavailable
from loopbook.store.connections import Connections
from loopbook.store.contract import Facts, Row, Size, Stand, Stored, past
from loopbook.store.files import make, refuse_carried, told
from loopbook.store.footing import Gathered, footing, unfounded
from loopbook.store.forking import GATE
from loopbook.store.refusals import swallowed
from loopbook.store.sqlite_books import SNAPSHOTS, SQLiteBooks

Answer = TypeVar("Answer")


class SQLiteRecorder(SQLiteBooks):
    """The whole of a store."""

    def streams(self, prefix: str = "", after: str = "", limit: int = 1_000) -> Sequence[str]:
        """The names of streams that begin with ``prefix`` and follow ``after``, in code point order.

        From name to name along the primary key: the rows of a stream are not passed over.
        """
        end = past(prefix)
        next_one = f"SELECT min(originator_id) FROM {self.events_table_name} WHERE originator_id"
        until = "" if end is None else "AND originator_id<:end"
        start = f"{next_one}>=:prefix AND originator_id>:after {until}"
        step = f"SELECT ({next_one}>name {until}) FROM found WHERE name IS NOT NULL"
        statement = (
            f"WITH RECURSIVE found(name) AS ({start} UNION ALL {step})"
            " SELECT name FROM found WHERE name IS NOT NULL LIMIT :limit"
        )
        asked = {"prefix": prefix, "after": after, "end": end, "limit": limit}
        return [cast("str", name) for (name,) in self._ask(statement, asked)]

    def sizes(self, streams: Collection[str]) -> Mapping[str, Size]:
        """How large these streams are; one that is not there is left out."""
        what = f"SELECT originator_id, count(*), sum(length(state)) FROM {self.events_table_name} WHERE"
        found = cast("list[tuple[str, int, int]]", self._of(what, streams, "GROUP BY originator_id"))
        return {stream: Size(rows, size) for stream, rows, size in found}

    def load(self, rows: Iterable[Row]) -> None:
        """Store all rows or none, made one by one while they are stored."""
        gathered = Gathered()

        def work(connection: sqlite3.Connection) -> None:
            cursor = connection.executemany(self.insert_events_statement, gathered.passing(rows))
            if gathered.passed and cursor.rowcount != gathered.passed:
                raise swallowed(str(self.connections.path))
            needed = gathered.footing()
            self._stand(connection, needed)
            if needed.forks and not self._snapshots(connection):
                make(connection, self.create_table_statements)
                self._older = False

        self._write(work)

    def delete(self, streams: Collection[str]) -> None:
        """Remove all rows of these streams, their snapshots too; all at once or nothing."""

        def work(connection: sqlite3.Connection) -> None:
            self._remove(connection, streams, self.events_table_name, *self._snapshots(connection))

        self._write(work)

    def replace(self, rows: Sequence[Row], added: Sequence[Row] = (), gone: Collection[str] = ()) -> None:
        """Put other topics and states where rows stand, remove streams, add rows; all at once or nothing."""
        statement = (
            f"UPDATE {self.events_table_name} SET topic=?, state=?"
            " WHERE originator_id=? AND originator_version=?"
        )
        there = f"SELECT 1 FROM {self.events_table_name} WHERE originator_id=? AND originator_version=?"
        needed = footing(added)
        if self._older and needed.forks:
            self.upgrade()

        def work(connection: sqlite3.Connection) -> None:
            for row in rows:
                if connection.execute(there, row[:2]).fetchone() is None:
                    raise unfounded(Stand(row.originator_id, row.originator_version, ""))
            places = [(topic, state, stream, version) for stream, version, topic, state in rows]
            if rows and connection.executemany(statement, places).rowcount != len(rows):
                raise swallowed(str(self.connections.path))
            self._stand(connection, needed)
            self._add(connection, added)
            snapshots = self._snapshots(connection)
            self._remove(connection, gone, self.events_table_name, *snapshots)
            self._remove(connection, {row.originator_id for row in (*rows, *added)}, *snapshots)

        self._write(work)

    def _remove(self, connection: sqlite3.Connection, streams: Collection[str], *tables: str) -> None:
        for table in tables:
            of_one = f"FROM {table} WHERE originator_id=?"
            connection.executemany(f"DELETE {of_one}", [(stream,) for stream in streams])
            left = (connection.execute(f"SELECT 1 {of_one} LIMIT 1", (stream,)) for stream in streams)
            if any(cursor.fetchone() for cursor in left):
                raise swallowed(str(self.connections.path))

    def scan(self, stream: str | None = None) -> Iterator[Stored]:
        """Every row of the store, or of a stream, as of one moment: snapshots first, then entries."""
        only, parameters = ("", ()) if stream is None else ("WHERE originator_id=?", (stream,))
        with self.connections.own() as connection:
            connection.text_factory = _any_text
            self._step(partial(connection.execute, "BEGIN"))
            snapshots = self._step(partial(self._snapshots, connection))
            for table in (*snapshots, self.events_table_name):
                statement = f"SELECT * FROM {table} {only} ORDER BY 1, 2"
                cursor = self._step(partial(connection.execute, statement, parameters))
                while (values := self._step(cursor.fetchone)) is not None:
                    yield Stored.of(table == SNAPSHOTS, values)

    def _step(self, work: Callable[[], Answer]) -> Answer:
        """One call of a scan's: between two of them a fork may come, and in its child they end."""
        path = self.connections.path
        refuse_carried(path)
        try:
            with GATE.entered(path):
                return work()
        except sqlite3.Error as wrong:
            raise told(wrong, path) from wrong

    def vacuum(self) -> None:
        """Write the file anew without snapshots and what was removed, and empty the write-ahead log.

        Raises ``StoreUnavailable`` where somebody reads from the log all the while.
        """
        with self.connections.writer:
            connection, busy = self.connections.lend(), False
            try:
                for table in self._snapshots(connection):
                    connection.execute(f"DELETE FROM {table}")
                connection.execute("VACUUM")
                (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.Error as wrong:
                raise told(wrong, self.connections.path) from wrong
            finally:
                self.connections.take_back(connection, sound=False)
        if busy:
            raise StoreUnavailable(
                f"{self.connections.path} is written anew, but its write-ahead log is being read;"
                " nothing was lost; try again when nobody reads"
            )

    def facts(self) -> Facts:
        """What the store says of itself."""
        ((streams,),) = self._ask(
            f"SELECT count(*) FROM (SELECT DISTINCT originator_id FROM {self.events_table_name})", ()
        )
        ((schema,),) = self._ask("PRAGMA user_version", ())
        path, refusal = self.connections.path, ""
        size = sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists())
        try:
            self._write(lambda _: None)
        except StoreUnavailable as wrong:
            refusal = str(wrong)
        has = self._ask("SELECT 1 FROM sqlite_master WHERE name=?", (SNAPSHOTS,))
        schema = max(cast("int", schema), 1) if has else 1  # as it is recognised
        return Facts(schema, cast("int", streams), size, refusal, self._foreign())

    def _foreign(self) -> tuple[str, ...]:
        found = self._ask("SELECT upper(type), name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'", ())
        ours = {self.events_table_name, SNAPSHOTS}
        strange = sorted((str(sort), str(name)) for sort, name in found if name not in ours)
        return tuple(f"{sort} {_quoted(name)}" for sort, name in strange)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _any_text(text: bytes) -> str:
    return text.decode(errors="surrogateescape")


class Factory(SQLiteFactory):
    """What the library makes a SQLite store with: our connections, our recorder, our way to open."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.datastore.pool.close()  # it has opened nothing yet
        self.connections = Connections(
            Path(env["SQLITE_DBNAME"]), float(env["BUSY_SECONDS"]), env["SYNCHRONOUS"]
        )
        self.datastore.pool = self.connections

    def application_recorder(self) -> ApplicationRecorder:
        """A recorder on a file that is surely ours and has its tables."""
        recorder = SQLiteRecorder(self.datastore, self.connections)
        recorder.open()
        return recorder
