"""The states that are kept: right for every thread, whatever others do to the store meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import cast

import pytest

from loopbook.book import Book, folding, reading
from loopbook.encoding import encode
from loopbook.entry import Draft, Entry
from loopbook.events import Task
from loopbook.projections import EMPTY, BookState, fold
from loopbook.store import Row
from tests.book.drafts import OPENED, A, clock, todo
from tests.conftest import PROVE

ROUNDS = 400 if PROVE else 40


def task(text: str) -> Draft:
    return Draft(Task(text=text))


def hammered(*work: Callable[[], None]) -> None:
    """Each work in a thread of its own, all at once; the first error of any of them is raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(work))

    def run(one: Callable[[], None]) -> None:
        start.wait()
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_one_book_and_each_reads_folds_of_what_is_stored(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers and readers on more streams than are kept, with snapshots every few entries."""
    monkeypatch.setattr(reading, "CACHED", 2)
    monkeypatch.setattr(folding, "EVERY", 7)
    monkeypatch.setattr(folding, "CHUNK", 5)
    book.append(A, OPENED, todo("t"), after=0)
    book.fork(A, 2, "loop:b")
    streams = [A, "loop:b", "guard:c"]
    seen: list[tuple[str, BookState]] = []

    def write(who: int) -> None:
        for n in range(ROUNDS):
            book.record(streams[n % 3], Draft(Task(text=f"{who}-{n}"), host_ref=f"{n // 2}"))

    def read() -> None:
        newest = dict.fromkeys(streams, 0)
        for n in range(2 * ROUNDS):
            stream = streams[n % 3]
            state = book.state(stream)
            assert state.version >= newest[stream], "time does not run backwards"
            newest[stream] = state.version
            seen.append((stream, state))

    hammered(*(lambda who=who: write(who) for who in range(3)), read, read)
    for stream in streams:
        entries = [*book.entries(stream)]
        states = {0: EMPTY}
        for entry in entries:
            states[entry.seq] = fold([entry], states[entry.seq - 1])
        assert book.state(stream) == states[len(entries)]
        assert all(state == states[state.version] for where, state in seen if where == stream)
    assert len(book._places) <= 2


def scrub(book: Book, seq: int, text: str) -> None:
    """What scrubbing does to a store: an entry says something else, and all sums after it are new."""
    entries = [*book.entries(A)]
    rows: list[Row] = []
    prev = entries[seq - 2].sum
    for entry in entries[seq - 1 :]:
        event = Task(text=text) if entry.seq == seq else entry.event
        rows.append(Row(A, entry.seq, event.type, encode(entry._replace(event=event, prev=prev))))
        prev = rows[-1].state[-66:-2].decode()
    said = Entry(A, len(entries) + 1, Task(text="scrubbed"), entries[0].at, prev=prev)
    book._records.rows.replace(rows, [Row(A, said.seq, "task", encode(said))])


def test_a_text_that_another_process_scrubs_is_in_no_state_any_more(book: Book, other: Book) -> None:
    book.append(A, OPENED, task("secret"), task("b"), after=0)
    assert book.state(A).notes.tasks[0] == "secret"
    scrub(other, 2, "gone")
    for reader in (book, other):
        assert reader.state(A).notes.tasks == ("gone", "b", "scrubbed")
        assert reader.state(A) == fold(reader.entries(A))


def test_who_writes_on_from_a_state_of_before_a_scrub_continues_the_chain_of_after(
    book: Book, other: Book
) -> None:
    book.append(A, OPENED, task("secret"), task("b"), after=0)
    scrub(other, 2, "gone")
    (entry,) = book.record(A, task("c"))
    assert entry.seq == 5
    assert [one.prev for one in book.entries(A)][1:] == [one.sum for one in book.entries(A)][:-1]
    assert book.state(A) == fold(book.entries(A))


def test_a_stream_that_is_forgotten_and_begun_again_shorter_as_long_or_as_a_fork(
    book: Book, other: Book
) -> None:
    for again in (2, 4, 6):
        book.append(A, OPENED, todo("t"), task("a"), task("b"), after=0)
        assert list(book.state(A).todos) == ["t"]
        other._records.rows.delete([A, f"once:{A}:todo:t"])
        assert other.state(A) == EMPTY
        other.append(A, OPENED, *[task("new")] * (again - 1), after=0)
        for reader in (book, other):
            assert (reader.state(A).version, dict(reader.state(A).todos)) == (again, {})
            assert reader.state(A) == fold(reader.entries(A))
        other._records.rows.delete([A])
        assert book.state(A) == EMPTY
    book.append("loop:p", OPENED, *[task("p")] * 7, after=0)
    book.append(A, OPENED, task("a"), after=0)
    other._records.rows.delete([A])
    other.fork("loop:p", 8, A)
    assert book.state(A).version == 9
    assert book.state(A) == fold(other.entries(A))


def test_looking_for_what_is_new_costs_one_short_read(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a fork is asked whether its parents' last rows are as they were, one read each."""
    book.append(A, OPENED, *[task("x")] * 30, after=0)
    book.fork(A, 20, "loop:b")
    book.fork("loop:b", 21, "loop:c")
    reads: list[int] = []
    select = book._records.recorder.select_events

    def spy(stream: str, **bounds: object) -> object:
        rows = select(stream, **bounds)  # type: ignore[arg-type]  # passed on as they came
        reads.append(len(rows))
        return rows

    for stream in (A, "loop:b", "loop:c"):
        book.state(stream)
    monkeypatch.setattr(book._records.recorder, "select_events", spy)
    for stream, expected in ((A, [1]), ("loop:b", [1, 1]), ("loop:c", [1, 1, 1])):
        reads.clear()
        book.state(stream)
        assert reads == expected


def test_what_is_not_there_is_not_kept(book: Book) -> None:
    for n in range(5):
        assert book.state(f"loop:none-{n}") == EMPTY
    assert len(book._places) == 0


def test_the_states_longest_unused_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CACHED", 2)
    with Book("memory:", clock=clock) as book:
        for name in "ab":
            book.append(f"loop:{name}", OPENED, after=0)
        book.state("loop:a")
        book.append("loop:c", OPENED, after=0)
        assert set(cast("dict[str, object]", book._places)) == {"loop:a", "loop:c"}
