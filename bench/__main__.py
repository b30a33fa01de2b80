"""``python -m bench [--quick] [--only WORD] [--session FILE]``: one table of ratios, and the machine."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import contention, reading, settling, starting, writing
from bench.machine import described
from bench.timing import FULL, QUICK, Row, Sizes
from tests.postgres import Postgres

HEADS = Row("what; reference", "ours", "reference", "ratio", "bar")


def _postgres(sizes: Sizes) -> Iterator[Row]:
    """Its rows, or one that says why there are none."""
    os.environ["LOOPBOOK_PROVE"] = "1"  # the server of the tests then waits for the disk, as a real one does
    try:
        server = Postgres()
    except OSError as wrong:
        yield Row(f"PostgreSQL cannot start here: {wrong}", "", "", "")
        return
    try:
        import psycopg  # noqa: PLC0415 - an extra

        url = server.schema()
        columns = "id text, version integer, topic text, state bytea, PRIMARY KEY (id, version)"
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE TABLE raw_events ({columns})")
        yield from contention.rows("PostgreSQL", url, sizes)
    finally:
        server.close()


def _parts(folder: Path, sizes: Sizes, session: Path) -> Mapping[str, Callable[[], Iterator[Row]]]:
    return {
        "writing": lambda: writing.rows(folder, sizes),
        "reading": lambda: reading.rows(folder, sizes),
        "settling": lambda: settling.rows(folder, sizes),
        "starting": lambda: starting.rows(folder, sizes, session),
        "sqlite": lambda: contention.rows("SQLite", f"sqlite:///{folder}/contended.db", sizes),
        "postgres": lambda: _postgres(sizes),
    }


def _line(row: Row) -> str:
    met = {True: "yes", False: "NO", None: ""}[row.met]
    return f"{row.what:<68} {row.ours:>18} {row.reference:>12} {row.ratio:>9}  {row.bar:<16} {met}".rstrip()


def main() -> None:
    """Measure and print, each row as it is known."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little of everything: does it run at all?")
    parser.add_argument(
        "--only", choices=["writing", "reading", "settling", "starting", "sqlite", "postgres"]
    )
    parser.add_argument(
        "--session", type=Path, default=starting.largest_session(), help="session file to audit"
    )
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that files and servers are cleared away
    with tempfile.TemporaryDirectory(prefix="loopbook-bench-") as name:
        folder = Path(name)
        print(described(folder), end="\n\n")
        print(_line(HEADS), " met", sep="")
        for part, rows in _parts(folder, QUICK if asked.quick else FULL, asked.session).items():
            if asked.only in {None, part}:
                for row in rows():
                    print(_line(row), flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
