"""Many processes at one store: nothing is lost, nothing is double, nobody is turned away."""

from __future__ import annotations

import itertools
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from loopbook.book import Book, reservation
from loopbook.books import Books
from loopbook.entry import Entry
from loopbook.events import Reserved, Task
from loopbook.projections import fold
from loopbook.sealing import holds
from loopbook.upkeep.fsck import fsck
from tests.conftest import PROVE
from tests.postgres import Postgres
from tests.store.worker import Process, processes

EVENTS = 1_000 if PROVE else 100
OPENINGS = 60 if PROVE else 8
KILLS = 50 if PROVE else 4
ROUNDS = 150 if PROVE else 8


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Process]]:
    with processes(8) as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes the URLs of stores that are not there yet; of PostgreSQL a database each."""
    if request.param == "postgres":
        return cast("Postgres", request.getfixturevalue("postgres")).database
    numbers = itertools.count()
    return lambda: f"sqlite:///{tmp_path}/{next(numbers)}.db"


def test_eight_processes_fill_a_fresh_store_at_once(workers: list[Process], fresh: Callable[[], str]) -> None:
    """All open it while nothing is there, and one of them keeps the others from writing for 2 s."""
    url = fresh()
    for who, worker in enumerate(workers):
        worker.send("fill", url, "a", f"w{who}", EVENTS, 2.0 if who == 3 else 0.0)
    assert [worker.read() for worker in workers] == [EVENTS] * 8
    with Books.open(url) as books:
        entries = chain_holds(books.book, "loop:a")
        texts = [entry.event.text for entry in entries if isinstance(entry.event, Task)]
        assert len(texts) == len(entries) - 1 == 8 * EVENTS
        for who in range(8):
            mine = [text for text in texts if text.startswith(f"w{who}-")]
            assert mine == [f"w{who}-{n}" for n in range(EVENTS)]
        assert [row.id for row in books.list()] == ["a"]


def chain_holds(book: Book, stream: str) -> list[Entry]:
    """The entries, after a look at every row: contiguous, each sum right and standing on the one before."""
    entries = [*book.entries(stream)]
    rows = book._records.rows.select_events(stream)
    assert [entry.seq for entry in entries] == [*range(1, len(entries) + 1)]
    assert all(holds(*row) for row in rows)  # type: ignore[misc]  # rows are our tuples
    assert all(after.prev == before.sum for before, after in pairwise(entries))
    return entries


def test_two_writers_lose_nothing_and_leave_no_gap(workers: list[Process], fresh: Callable[[], str]) -> None:
    url = fresh()
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


def test_a_host_ref_written_by_two_processes_is_there_once(
    workers: list[Process], fresh: Callable[[], str]
) -> None:
    url = fresh()
    with Books.open(url) as books:
        books.start("chore", "x", id="a")
        for worker in workers[:4]:
            worker.ask("open", url)
        for worker in workers[:4]:
            worker.send("record", "a", "same", 100)
        written = [cast("int", worker.read()) for worker in workers[:4]]
        assert sum(written) == 100
        refs = Counter(entry.host_ref for entry in chain_holds(books.book, "loop:a"))
        assert refs == Counter([None, *(f"same-{n}" for n in range(100))])
        for entry in books.book.entries("loop:a", after=1):
            name = reservation("loop:a", "host_ref", entry.host_ref or "")
            (kept,) = books.book.entries(name)
            assert kept.event == Reserved(what="host_ref", stream="loop:a", seq=entry.seq)


def test_must_3_four_processes_open_a_fresh_store_together(
    workers: list[Process], fresh: Callable[[], str]
) -> None:
    four = workers[:4]
    for _ in range(OPENINGS):
        url = fresh()
        for worker in four:
            worker.send("open", url)
        assert [worker.read() for worker in four] == [url] * 4
        for who, worker in enumerate(four):
            worker.send("start", f"l{who}")
        assert [worker.read() for worker in four] == ["l0", "l1", "l2", "l3"]
        assert [worker.ask("list") for worker in four] == [4] * 4


def test_a_loop_is_forgotten_scrubbed_forked_and_written_all_at_once(
    workers: list[Process], fresh: Callable[[], str]
) -> None:
    """Two begin, scrub and forget it, two fork it, two hold it: whatever stands in the end is sound."""
    url = fresh()
    Books.open(url).close()
    for worker in workers[:6]:
        worker.ask("open", url)
    for worker, (work, times) in zip(workers, [("churn", 1), ("fork", 4), ("hold", 4)] * 2, strict=False):
        worker.send(work, "p", times * ROUNDS)
    done = [cast("int", worker.read()) for worker in workers[:6]]
    assert done[0] + done[3] > 0, "nothing was ever forgotten"
    with Books.open(url) as books:
        assert fsck(books.book).findings == ()
        for row in books.list():
            loop = books.loop(row.id)
            assert loop.state == fold(loop.entries())


def test_what_was_acknowledged_outlives_kill_9(fresh: Callable[[], str]) -> None:
    url = fresh()
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
