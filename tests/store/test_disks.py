"""A disk that is full or read-only in truth: a small one of the test's own, in a namespace of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: ``$0`` is the folder that becomes the disk, the rest the program.
SMALL_DISK = 'mount -t tmpfs -o size=2m none "$0" && exec "$@"'

FULL = """
import os, sys
from itertools import pairwise
from pathlib import Path
from loopbook.book import Book
from loopbook.sealing import holds
from loopbook.entry import Draft
from loopbook.errors import StoreUnavailable
from loopbook.events import Task
folder = Path(sys.argv[1])
(folder / "filler").write_bytes(b"x" * 800_000)
book = Book(str(folder / "books.db"))
kept = 0
try:
    while True:
        kept = book.record("session:h:a", Draft(Task(text="y" * 5_000)))[-1].seq
except StoreUnavailable as wrong:
    print(wrong)
try:
    Book(str(folder / "second.db"))
except StoreUnavailable as wrong:
    print(wrong)
assert not (folder / "second.db").exists() or (folder / "second.db").stat().st_size == 0
for one in (book, Book(str(folder / "books.db"))):
    entries = [*one.entries("session:h:a")]
    assert [entry.seq for entry in entries] == [*range(1, kept + 1)], (kept, len(entries))
    assert all(after.prev == before.sum for before, after in pairwise(entries))
    assert all(holds(*row) for row in one._records.rows.select_events("session:h:a"))
(folder / "filler").unlink()
assert book.record("session:h:a", Draft(Task(text="again")))[0].seq == kept + 1
print("went on after", kept > 20)
"""

READ_ONLY = """
import subprocess, sys
from pathlib import Path
from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.errors import StoreUnavailable
from loopbook.events import Task
folder = Path(sys.argv[1])
path = folder / "books.db"
with Book(str(path)) as book:
    book.record("session:h:a", Draft(Task(text="x")))
before = path.read_bytes()
subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
for name in ("books.db", "new.db", "new/new.db"):
    try:
        with Book(str(folder / name)) as book:
            book.record("session:h:a", Draft(Task(text="y")))
    except StoreUnavailable as wrong:
        print(wrong)
assert path.read_bytes() == before
assert [file.name for file in folder.iterdir()] == ["books.db"]
"""


def run_on_a_small_disk(folder: Path, script: str) -> list[str]:
    """The lines that a program prints; skipped where one may not mount."""
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("a disk of one's own needs root and unshare")
    program = [sys.executable, "-c", script, str(folder)]
    run = subprocess.run(
        [unshare, "-m", "sh", "-c", SMALL_DISK, str(folder), *program],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    if "mount:" in run.stderr or "unshare" in run.stderr:
        pytest.skip(f"a disk of one's own cannot be made here: {run.stderr.strip()[:200]}")
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout.splitlines()


def test_on_a_full_disk_what_was_kept_stays_and_more_is_kept_once_there_is_room(tmp_path: Path) -> None:
    told, second, went_on = run_on_a_small_disk(tmp_path, FULL)
    for line in (told, second):
        assert "the disk is full; nothing was written; free some space" in line, line
    assert went_on == "went on after True"


def test_on_a_read_only_disk_each_is_told_in_a_line_and_nothing_is_left(tmp_path: Path) -> None:
    told = run_on_a_small_disk(tmp_path, READ_ONLY)
    assert len(told) == 3, told
    assert all("nothing was written" in line for line in told)
