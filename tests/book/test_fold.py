"""The state is the fold of the entries: at once, step by step, here and elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.projections import fold
from tests.book.drafts import OPENED, A, clock, told_nothing
from tests.conftest import PROVE
from tests.store.worker import STATE, Process, processes
from tests.strategies_events import (
    drafts,
    histories,
)


@settings(max_examples=400 if PROVE else 30)
@given(histories(), st.data())
def test_the_state_is_the_fold_whole_and_stepwise(history: list[Draft], data: st.DataObject) -> None:
    with Book("memory:", clock=clock) as book:
        book.append(A, OPENED, after=0)
        stepwise = fold(book.entries(A))
        rest = history
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            batch, rest = rest[:size], rest[size:]
            entries = book.record(A, *batch, tell=told_nothing)
            stepwise = fold(entries, stepwise)
            assert book.state(A) == stepwise
        book._places.clear()
        assert book.state(A) == stepwise == fold(book.entries(A))


@settings(max_examples=300 if PROVE else 30)
@given(histories(), st.integers(1, 9))
def test_a_history_recorded_twice_or_cut_and_continued_gives_the_same_book(
    history: list[Draft], cut: int
) -> None:
    """Of what was taken; what was refused once may be taken later, as the end of a todo opened since."""
    refs = [draft._replace(host_ref=f"{n}") for n, draft in enumerate(history)]
    refused: list[Draft] = []
    with Book("memory:", clock=clock) as once, Book("memory:", clock=clock) as again:
        for book in (once, again):
            book.append(A, OPENED, after=0)
        once.record(A, *refs, tell=lambda draft, _why: refused.append(draft))
        taken = [draft for draft in refs if draft not in refused]
        for batch in (taken[:cut], taken[:cut], taken, taken):
            again.record(A, *batch)
        assert [*again.entries(A)] == [*once.entries(A)]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Process]:
    with processes(1) as started:
        yield started[0]


def test_another_process_folds_the_same_state(elsewhere: Process, tmp_path: Path) -> None:
    numbers = iter(range(10**6))

    @settings(max_examples=200 if PROVE else 8)
    @given(histories())
    def holds_for(history: list[Draft]) -> None:
        with Book(f"sqlite:///{tmp_path}/{next(numbers)}.db", clock=clock) as book:
            book.append(A, OPENED, after=0)
            book.record(A, *history, tell=told_nothing)
            elsewhere.ask("open", book.url)
            there = elsewhere.ask("state", "a")
            assert there == STATE.dump_python(book.state(A), mode="json")
            assert STATE.validate_python(there) == book.state(A)

    holds_for()


@settings(max_examples=200 if PROVE else 15)
@given(st.lists(st.tuples(st.integers(0, 1), drafts()), max_size=12))
def test_two_books_at_one_file_agree_whoever_writes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, Draft]]
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('two')}/books.db"
    with Book(url, clock=clock) as first, Book(url, clock=clock) as second:
        first.append(A, OPENED, after=0)
        for who, draft in steps:
            (first, second)[who].record(A, draft, tell=told_nothing)
        assert first.state(A) == second.state(A) == fold(first.entries(A))
        assert [*first.entries(A)] == [*second.entries(A)]
