"""Any SQL on a store, past all of our own code: how tests damage one and look into it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from loopbook.store import parse_url


def sql(url: str, statement: str, *parameters: object) -> list[tuple[object, ...]]:
    """Run a statement, its parameters marked with ``?``, and return its rows."""
    read = parse_url(url)
    if read.path is not None:
        with closing(sqlite3.connect(read.path)) as connection, connection:
            return connection.execute(statement, parameters).fetchall()
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(str(read.server), autocommit=True) as server:
        server.execute(f"SET search_path={read.schema}")
        cursor = server.execute(statement.replace("?", "%s"), parameters)
        return cursor.fetchall() if cursor.description else []
