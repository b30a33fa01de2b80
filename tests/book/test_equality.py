"""One book, one state: whatever store holds it, from whatever snapshot, across whatever fork."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from loopbook.book import Book, folding
from loopbook.entry import Draft, Entry
from loopbook.errors import InvalidEvent, Refused
from loopbook.events import Forked, SessionAdopted
from loopbook.projections import fold
from loopbook.upkeep.importing import import_lines
from loopbook.upkeep.transfer import everything, write
from tests.book.drafts import OPENED, A, clock
from tests.conftest import PROVE
from tests.postgres import Postgres
from tests.store.worker import STATE, Process, processes
from tests.strategies_events import histories

B = "loop:b"

Told = list[tuple[Draft, str]]


def record(book: Book, stream: str, drafts: list[Draft]) -> Told:
    """Record, and give what was refused and how."""
    told: Told = []

    def tell(draft: Draft, why: Refused | InvalidEvent) -> None:
        told.append((draft, type(why).__name__))

    book.record(stream, *drafts, tell=tell)
    return told


def with_snapshot_at(book: Book, stream: str, version: int) -> None:
    """As if whoever folded the book up to there had kept it."""
    folding.keep_snapshot(book._records, stream, book.place_at(stream, version))
    book._places.clear()


def plain(entry: Entry) -> tuple[object, ...]:
    """What an entry says, wherever it stands."""
    return (entry.seq, *entry[2:8])


@settings(max_examples=300 if PROVE else 30)
@given(histories(), st.data())
def test_the_state_is_the_same_from_a_snapshot_at_any_version(
    history: list[Draft], data: st.DataObject
) -> None:
    with Book("memory:", clock=clock) as book:
        book.append(A, OPENED, after=0)
        record(book, A, history)
        whole = fold(book.entries(A))
        with_snapshot_at(book, A, data.draw(st.integers(1, whole.version)))
        assert book.place(A).kept > 0
        assert book.state(A) == whole


@settings(max_examples=300 if PROVE else 40)
@given(histories(), histories(12), st.data())
def test_across_a_fork_the_same_tail_gives_the_same_state(
    head: list[Draft], tail: list[Draft], data: st.DataObject
) -> None:
    """Forked at any entry, of itself or of a fork, or not at all: only who says so differs."""
    with Book("memory:", clock=clock) as forked, Book("memory:", clock=clock) as whole:
        for book in (forked, whole):
            book.append(A, OPENED, after=0)
        record(forked, A, head)
        at = data.draw(st.integers(1, forked.head(A)[0]))
        for entry in forked.entries(A):
            if 1 < entry.seq <= at:
                whole.record(A, Draft(entry.event, *entry[5:8], entry.at, entry.session))
        forked.fork(A, at, B, session="s2")
        whole.record(A, Draft(SessionAdopted()), session="s2")
        assert record(forked, B, [*tail, *head]) == record(whole, A, [*tail, *head])
        assert forked.state(B) == whole.state(A) == fold(forked.entries(B))
        for one, other in zip(forked.entries(B), whole.entries(A), strict=True):
            assert isinstance(one.event, Forked) or plain(one) == plain(other)
        with_snapshot_at(forked, B, data.draw(st.integers(1, forked.head(B)[0])))
        assert forked.state(B) == whole.state(A)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Process]:
    with processes(1) as started:
        yield started[0]


def test_another_process_folds_the_same_fork_from_our_snapshot(elsewhere: Process, tmp_path: Path) -> None:
    numbers = iter(range(10**6))

    @settings(max_examples=200 if PROVE else 8)
    @given(histories(), histories(8), st.data())
    def holds_for(head: list[Draft], tail: list[Draft], data: st.DataObject) -> None:
        with Book(f"sqlite:///{tmp_path}/{next(numbers)}.db", clock=clock) as book:
            book.append(A, OPENED, after=0)
            record(book, A, head)
            book.fork(A, data.draw(st.integers(1, book.head(A)[0])), B)
            record(book, B, tail)
            with_snapshot_at(book, B, data.draw(st.integers(1, book.head(B)[0])))
            elsewhere.ask("open", book.url)
            there = STATE.validate_python(elsewhere.ask("state", "b"))
            assert there == book.state(B) == fold(book.entries(B))

    holds_for()


def exported(book: Book) -> bytes:
    out = io.BytesIO()
    assert write(everything(book), out).damaged == ()
    return out.getvalue()


def agree(urls: list[str], copies: list[str], head: list[Draft], at: int, tail: list[Draft]) -> None:
    """The same history in several stores: the same rows to the last byte, and the same states.

    So in the copies too, each brought in from the export of one of the stores.
    """
    with ExitStack() as stack:
        books = [stack.enter_context(Book(url, clock=clock)) for url in urls]
        for book in books:
            book.append(A, OPENED, after=0)
            record(book, A, head)
            book.fork(A, min(at, book.head(A)[0]), B)
            record(book, B, tail)
        first = books[0]
        whole = exported(first)
        assert all(exported(book) == whole for book in books)
        brought = [stack.enter_context(Book(url, clock=clock)) for url in copies]
        for book, copy in zip(books, brought, strict=True):
            assert import_lines(copy, io.BytesIO(exported(book))).problems == ()
            assert exported(copy) == whole
        for book in (*books, *brought):
            with_snapshot_at(book, B, min(at, book.head(B)[0]))
            for stream in (A, B):
                assert [*book.entries(stream)] == [*first.entries(stream)]
                assert book.state(stream) == first.state(stream) == fold(first.entries(stream))


def test_two_kinds_of_store_hold_the_same_book(tmp_path: Path) -> None:
    numbers = iter(range(10**6))

    @settings(max_examples=200 if PROVE else 15)
    @given(histories(), st.integers(1, 30), histories(12))
    def holds_for(head: list[Draft], at: int, tail: list[Draft]) -> None:
        file = f"sqlite:///{tmp_path}/{next(numbers)}"
        agree(["memory:", f"{file}.db"], [f"{file}-copy.db", "memory:"], head, at, tail)

    holds_for()


def test_a_file_and_a_server_hold_the_same_book(postgres: Postgres, tmp_path: Path) -> None:
    numbers = iter(range(10**6))

    @settings(max_examples=100 if PROVE else 8)
    @given(histories(), st.integers(1, 30), histories(12))
    def holds_for(head: list[Draft], at: int, tail: list[Draft]) -> None:
        file = f"sqlite:///{tmp_path}/{next(numbers)}"
        agree([f"{file}.db", postgres.schema()], [postgres.schema(), f"{file}-copy.db"], head, at, tail)

    holds_for()


# --- all of it in any order --------------------------------------------------------------------


class Life(RuleBasedStateMachine):
    """Loops that are written to, forked, snapshot and read cold, in any order, against plain lists."""

    def __init__(self) -> None:
        super().__init__()
        self.book = Book("memory:", clock=clock)
        self.model: dict[str, list[Entry]] = {}

    def teardown(self) -> None:
        self.book.close()

    @initialize()
    def opened(self) -> None:
        self.model[A] = [*self.book.append(A, OPENED, after=0)]

    def pick(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model)), label="stream")

    @rule(data=st.data(), drafts=histories(5))
    def write(self, data: st.DataObject, drafts: list[Draft]) -> None:
        stream = self.pick(data)
        self.model[stream] += self.book.record(stream, *drafts, tell=lambda *_: None)

    @precondition(lambda self: len(self.model) < 5)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        parent, stream = self.pick(data), f"loop:f{len(self.model)}"
        at = data.draw(st.integers(1, len(self.model[parent])), label="at")
        self.model[stream] = [*self.model[parent][:at], self.book.fork(parent, at, stream)]

    @rule(data=st.data())
    def keep(self, data: st.DataObject) -> None:
        stream = self.pick(data)
        at = data.draw(st.integers(1, len(self.model[stream])), label="at")
        folding.keep_snapshot(self.book._records, stream, self.book.place_at(stream, at))

    @rule(data=st.data())
    def forget_what_is_cached(self, data: st.DataObject) -> None:
        self.book._places.pop(self.pick(data), None)

    @rule(data=st.data())
    def read_some(self, data: st.DataObject) -> None:
        stream = self.pick(data)
        after = data.draw(st.integers(0, len(self.model[stream]) + 1), label="after")
        assert [*self.book.entries(stream, after)] == self.model[stream][after:]

    @invariant()
    def states_are_folds(self) -> None:
        for stream, entries in self.model.items():
            assert self.book.state(stream) == fold(entries)
            assert [entry.seq for entry in entries] == [*range(1, len(entries) + 1)]
            assert all(after.prev == before.sum for before, after in pairwise(entries))


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=150 if PROVE else 12,
    stateful_step_count=40 if PROVE else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
