"""Any SQL on a store, past all of our own code: how tests damage one and look into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

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


@contextmanager
def held(url: str) -> Iterator[Callable[..., None]]:
    """A transaction that keeps everybody else from writing, statement by statement; ``COMMIT`` ends it."""
    read = parse_url(url)
    if read.path is not None:
        with closing(sqlite3.connect(read.path, timeout=20, isolation_level=None)) as file:
            yield _run(file.execute, "BEGIN IMMEDIATE")
        return
    import psycopg  # noqa: PLC0415 - an extra

    with closing(psycopg.connect(str(read.server), autocommit=True)) as server:
        server.execute(f"SET search_path={read.schema}")
        server.execute("BEGIN")
        lock = "LOCK TABLE stored_events IN SHARE ROW EXCLUSIVE MODE"
        yield _run(lambda statement, values: server.execute(statement.replace("?", "%s"), values), lock)


def _run(execute: Callable[[str, tuple[object, ...]], object], first: str) -> Callable[..., None]:
    def run(statement: str, *parameters: object) -> None:
        execute(statement, parameters)

    run(first)
    return run
