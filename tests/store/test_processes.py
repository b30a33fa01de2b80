"""Many processes at one store: nothing is lost, nothing is double, nobody is turned away."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from loopbook.book import Book, reservation
from loopbook.entry import Entry, holds
from loopbook.events import Reserved, Task
from loopbook.loop import Books
from tests.conftest import PROVE
from tests.store.worker import Process, processes

EVENTS = 1_000 if PROVE else 500
OPENINGS = 60 if PROVE else 10
KILLS = 50 if PROVE else 5


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Process]]:
    with processes(4) as started:
        yield started


def chain_holds(book: Book, stream: str) -> list[Entry]:
    """The entries, after a look at every row: contiguous, each sum right and standing on the one before."""
    entries = [*book.entries(stream)]
    rows = book._records.rows.select_events(stream)
    assert [entry.seq for entry in entries] == [*range(1, len(entries) + 1)]
    assert all(holds(*row) for row in rows)  # type: ignore[misc]  # rows are our tuples
    assert all(after.prev == before.sum for before, after in pairwise(entries))
    return entries


def test_two_writers_lose_nothing_and_leave_no_gap(workers: list[Process], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/books.db"
    with Books.open(url) as books:
        books.start("chore", "x", id="a")
        for who in (0, 1):
            workers[who].ask("open", url)
            workers[who].send("record", "a", f"w{who}", EVENTS)
        assert [workers[who].read() for who in (0, 1)] == [EVENTS, EVENTS]
        entries = chain_holds(books.book, "loop:a")
        texts = [entry.event.text for entry in entries if isinstance(entry.event, Task)]
        for who in (0, 1):
            assert [text for text in texts if text.startswith(f"w{who}")] == [
                f"w{who}-{n}" for n in range(EVENTS)
            ]
        assert books.loop("a").state.version == 2 * EVENTS + 1


def test_a_host_ref_written_by_two_processes_is_there_once(workers: list[Process], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/books.db"
    with Books.open(url) as books:
        books.start("chore", "x", id="a")
        for worker in workers:
            worker.ask("open", url)
        for worker in workers:
            worker.send("record", "a", "same", 100)
        written = [cast("int", worker.read()) for worker in workers]
        assert sum(written) == 100
        refs = Counter(entry.host_ref for entry in chain_holds(books.book, "loop:a"))
        assert refs == Counter([None, *(f"same-{n}" for n in range(100))])
        for entry in books.book.entries("loop:a", after=1):
            name = reservation("loop:a", "host_ref", entry.host_ref or "")
            (kept,) = books.book.entries(name)
            assert kept.event == Reserved(what="host_ref", stream="loop:a", seq=entry.seq)


def test_must_3_four_processes_open_a_fresh_file_together(workers: list[Process], tmp_path: Path) -> None:
    for turn in range(OPENINGS):
        url = f"sqlite:///{tmp_path}/{turn}.db"
        for worker in workers:
            worker.send("open", url)
        assert [worker.read() for worker in workers] == [url] * 4
        for who, worker in enumerate(workers):
            worker.send("start", f"l{who}")
        assert [worker.read() for worker in workers] == ["l0", "l1", "l2", "l3"]
        assert [worker.ask("list") for worker in workers] == [4] * 4


def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/books.db"
    with Books.open(url) as books:
        books.start("chore", "x", id="a")
    for turn in range(KILLS):
        process = Process()
        process.ask("open", url)
        process.send("forever", "a")
        first = cast("int", process.read())
        time.sleep(random.Random(turn).uniform(0.0, 0.3))
        process.popen.send_signal(signal.SIGKILL)
        # A line that the kill has torn was not acknowledged.
        acknowledged = [first, *(int(line) for line in process.rest() if line.endswith("\n"))]
        process.close()
        with Books.open(url) as books:
            assert len(chain_holds(books.book, "loop:a")) >= acknowledged[-1] > turn
