"""Tables of a PostgreSQL store written anew, and whether they were: the server does not say no.

Theory. ``VACUUM FULL`` of a table that is another user's is a warning and does nothing. Done, it gives
the table another file, so the numbers of the files tell. And it carries along every removed row that
some transaction may still look at, whatever table that one reads: so none may be older than the last
removal. Who could begin later sees nothing of what was removed before.
"""

from __future__ import annotations

import time

from psycopg.sql import SQL, Composed, Identifier

from loopbook.errors import StoreUnavailable
from loopbook.store.server import Connection, Server

#: Seconds between two looks at who else is at work.
PAUSE = 0.05
#: How many sessions, slots and prepared transactions hold on to what was there before a transaction id.
#: Who vacuums holds on to nothing, and ``%s`` is read as that id's age: how many began since.
_HOLDING = """
SELECT count(*) FROM (
  SELECT greatest(age(backend_xmin), age(backend_xid)) FROM pg_stat_activity
  WHERE (datname=current_database() OR datname IS NULL) AND pid<>pg_backend_pid()
  AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
  UNION ALL SELECT age(xmin) FROM pg_replication_slots
  UNION ALL SELECT age(transaction) FROM pg_prepared_xacts WHERE database=current_database()
) AS others(age) WHERE age > age(%s::xid)
"""
_NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text"
_FILES = "SELECT array_agg(pg_relation_filenode(name::regclass) ORDER BY name) FROM unnest(%s::text[]) name"


def write_anew(server: Server, connection: Connection, tables: tuple[str, ...]) -> None:
    """Write tables without what was removed from them. Raises ``StoreUnavailable`` where it was not done."""
    _wait(server, connection)
    names = [Identifier(server.schema, table).as_string(connection) for table in tables]
    before = connection.execute(_FILES, [names]).fetchone()
    connection.execute(_vacuum(server, tables))
    after = connection.execute(_FILES, [names]).fetchone()
    if before is None or after is None or set(before[0]) & set(after[0]):
        raise StoreUnavailable(
            f"{server.name}: this user may not write its tables anew, so what was removed may still lie in"
            " them; snapshots were removed, and nothing was lost; vacuum as the owner of the tables"
        )


def _vacuum(server: Server, tables: tuple[str, ...]) -> Composed:
    names = SQL(", ").join(Identifier(server.schema, table) for table in tables)
    return SQL("VACUUM (FULL, ANALYZE) {}").format(names)


def _wait(server: Server, connection: Connection) -> None:
    """Wait until nobody can look at what was removed before now."""
    until = time.monotonic() + server.patience
    now = connection.execute(_NEXT).fetchone()
    while held := _holding(connection, now):
        if time.monotonic() > until:
            raise StoreUnavailable(
                f"{server.name}: removed rows would be kept for {held} open transactions that may still read"
                " them; snapshots were removed, and the tables are as they were; try again when those ended"
            )
        time.sleep(PAUSE)


def _holding(connection: Connection, now: tuple[object, ...] | None) -> int:
    ((held,),) = connection.execute(_HOLDING, now).fetchall()
    return int(held)
