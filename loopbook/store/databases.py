"""The database of a PostgreSQL store: recognised, made ready, upgraded."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import errors as states
from psycopg.sql import SQL, Composed, Identifier

from loopbook.errors import ForeignStore, NewerStore, StoreUnavailable
from loopbook.store.contract import APPLICATION_ID, SCHEMA
from loopbook.store.server import Connection, Server

#: Seconds to wait for others who make the same store ready.
MAKING = 60


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
