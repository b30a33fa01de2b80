"""Following: nothing is missed, nothing is waited for in vain, and it ends."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import anyio
import pytest

from loopbook.book import Book
from loopbook.book.following import Follower
from loopbook.books import Books
from loopbook.entry import Draft, Entry
from loopbook.errors import ChangedMeanwhile, StoreUnavailable
from loopbook.events import Task
from tests.book.drafts import OPENED, A, clock
from tests.store.worker import Process, processes

#: Seconds that a test waits for what must happen much sooner.
LONG = 20.0


def task(text: object) -> Draft:
    return Draft(Task(text=str(text)))


def texts(entries: Iterator[Entry] | list[Entry]) -> list[str]:
    return [entry.event.text for entry in entries if isinstance(entry.event, Task)]


def later(book: Book, *drafts: Draft, after: float = 0.15) -> threading.Thread:
    """Append in a moment, from another thread."""

    def write() -> None:
        time.sleep(after)
        for draft in drafts:
            book.record(A, draft)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_what_is_there_comes_first_and_then_what_is_new(book: Book) -> None:
    book.append(A, OPENED, task(1), task(2), after=0)
    thread = later(book, task(3), task(4))
    assert texts(islice(book.follow(A, 1, timeout=LONG), 4)) == ["1", "2", "3", "4"]
    thread.join()


def test_it_ends_when_nothing_comes_for_the_timeout(book: Book) -> None:
    book.append(A, OPENED, task(1), after=0)
    assert texts(book.follow(A, timeout=0)) == ["1"]
    thread = later(book, task(2), after=0.1)
    began = time.monotonic()
    assert texts(book.follow(A, timeout=0.4)) == ["1", "2"]
    assert 0.45 < time.monotonic() - began < LONG
    thread.join()


def test_a_stream_may_begin_while_it_is_followed_and_other_streams_do_not_concern_it(book: Book) -> None:
    book.record("session:h:other", task("x"))
    thread = later(book, OPENED, task(1))
    book.record("session:h:other", task("y"))
    assert [entry.seq for entry in islice(book.follow(A, timeout=LONG), 2)] == [1, 2]
    thread.join()


def test_a_fork_is_followed_from_its_parent_on(book: Book) -> None:
    book.append(A, OPENED, task(1), after=0)
    book.fork(A, 2, "loop:b")
    entries = book.follow("loop:b", timeout=LONG)
    assert [next(entries).seq for _ in range(3)] == [1, 2, 3]
    book.record(A, task("the parent's own"))
    book.record("loop:b", task(2))
    assert texts([next(entries)]) == ["2"]


def test_what_is_committed_between_looking_and_waiting_wakes(book: Book) -> None:
    book.append(A, OPENED, after=0)
    follower = Follower(book, A, 1)
    assert follower.more(0) == []
    for n in range(20):
        book.record(A, task(n))  # nobody waits while this is written
        assert texts(follower.more(LONG)) == [str(n)]
    follower.close()


def test_a_long_stream_is_handed_over_in_pieces(book: Book) -> None:
    book.append(A, OPENED, *(task(n) for n in range(1_200)), after=0)
    follower = Follower(book, A)
    assert [len(follower.more(0)) for _ in range(4)] == [500, 500, 201, 0]
    follower.close()


def test_waiting_does_not_keep_a_processor_busy(book: Book) -> None:
    book.append(A, OPENED, after=0)
    began = time.thread_time()
    assert list(book.follow(A, 1, timeout=1.0)) == []
    assert time.thread_time() - began < 0.2


def test_closing_the_book_ends_it(book: Book) -> None:
    book.append(A, OPENED, after=0)
    timer = threading.Timer(0.2, book.close)
    timer.start()
    began = time.monotonic()
    assert [entry.seq for entry in book.follow(A)] == [1]
    assert time.monotonic() - began < LONG
    assert book.closed
    timer.join()


def test_what_fails_because_the_book_was_closed_is_an_end_and_no_error(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(book, A)

    def closed_meanwhile(_seconds: float) -> bool:
        book.close()
        raise StoreUnavailable("closed")

    monkeypatch.setattr(follower._waiter, "wait", closed_meanwhile)
    assert follower.more(LONG) == []


def test_an_error_of_the_store_is_told_while_the_book_is_open(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.append(A, OPENED, after=0)

    def lost(*_arguments: object, **_bounds: object) -> object:
        raise StoreUnavailable("the connection is lost")

    entries = book.follow(A, timeout=LONG)
    next(entries)
    monkeypatch.setattr(type(book._records.recorder), "select_events", lost)
    with pytest.raises(StoreUnavailable):
        next(entries)


# --- tasks ---


def test_a_task_follows_the_same_way(book: Book) -> None:
    book.append(A, OPENED, task(1), after=0)

    async def follow() -> list[Entry]:
        return [entry async for entry in book.follow_async(A, timeout=0.5)]

    thread = later(book, task(2), task(3))
    assert texts(anyio.run(follow)) == ["1", "2", "3"]
    thread.join()


def test_a_task_that_follows_can_be_cancelled_and_does_not_stop_the_others(book: Book) -> None:
    book.append(A, OPENED, after=0)

    async def follow() -> None:
        async for _ in book.follow_async(A):
            pass

    async def both() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(50):  # more than the threads that anyio lends to all
                group.start_soon(follow)
            for _ in range(10):
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    began = time.monotonic()
    anyio.run(both)
    assert time.monotonic() - began < LONG


# --- what is forgotten meanwhile ---


@pytest.mark.parametrize("length", [1, 2, 3, 9])
@pytest.mark.parametrize("handed_over", [True, False], ids=["after one was read", "before"])
def test_a_loop_that_was_forgotten_and_begun_anew_is_not_followed_deafly(
    book: Book, length: int, handed_over: bool
) -> None:
    book.append(A, OPENED, task(1), task(2), after=0)
    follower = Follower(book, A, 2)
    assert texts(follower.more(0)) == ["2"] if handed_over else True
    book.records.rows.delete([A])
    book.append(A, OPENED, *(task("other") for _ in range(length - 1)), after=0)
    with pytest.raises(ChangedMeanwhile, match="changed while it was read"):
        follower.more(LONG)
    follower.close()


def test_a_loop_that_is_forgotten_ends_whoever_follows_it(book: Book) -> None:
    book.append(A, OPENED, task(1), after=0)
    followed = book.follow(A, timeout=LONG)
    assert next(followed).seq == 1
    assert next(followed).seq == 2
    book.records.rows.delete([A])
    with pytest.raises(ChangedMeanwhile):
        next(followed)


# --- another process ---


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Process]:
    with processes(1) as started:
        yield started[0]


def test_what_another_process_appends_comes_soon(
    book: Book, other: Book, elsewhere: Process, capsys: pytest.CaptureFixture[str]
) -> None:
    book.append(A, OPENED, after=0)
    elsewhere.ask("open", other.url)
    delays: list[float] = []
    entries = book.follow(A, 1, timeout=LONG)
    for n in range(15):
        elsewhere.send("record", "a", f"p{n}", 1)
        entry = next(entries)
        delays.append((datetime.now(UTC) - entry.at).total_seconds() * 1_000)
        assert texts([entry]) == [f"p{n}-0"]
        assert elsewhere.read() == 1
    elsewhere.send("record", "a", "many", 200)
    assert texts(islice(entries, 200)) == [f"many-{i}" for i in range(200)]
    assert elsewhere.read() == 200
    with capsys.disabled():
        told = f"median {statistics.median(delays):.1f} ms, longest {max(delays):.1f} ms"
        print(f"\nappended elsewhere until followed here, {other.url.partition(':')[0]}: {told}")


def test_a_loop_is_followed_like_its_book() -> None:
    with Books.open("memory:", clock=clock) as books:
        loop = books.start("chore", "Tidy up", id="a")
        loop.record(Task(text="1"))
        assert texts(loop.follow(1, timeout=0)) == ["1"]

        async def follow() -> list[Entry]:
            return [entry async for entry in loop.follow_async(1, timeout=0)]

        assert texts(anyio.run(follow)) == ["1"]
