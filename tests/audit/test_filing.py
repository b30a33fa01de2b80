"""Drafts come into their book whatever some of them are, and a book is walked before it is continued."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from loopbook.audit.filing import HELD, Filed, file_away
from loopbook.books import Books
from loopbook.entry import Draft
from loopbook.errors import BookDiffers
from loopbook.events import Event, LoopOpened, Prompted, RunSettled, Source, TodoCompleted, TodoOpened
from loopbook.run import Call

START = datetime(2026, 1, 1, tzinfo=UTC)
PROMPT = Prompted(prompt="p1", text="make it retry")


def drafts(*events: Event) -> Iterator[Draft]:
    """Drafts as a reader gives them, each told by its line."""
    for line, event in enumerate(events, 1):
        yield Draft(event, host_ref=f"{line}:x", line=line, at=START + timedelta(seconds=line), session="s")


@pytest.fixture
def books() -> Iterator[Books]:
    with Books.open("memory:", session="s", host="audit") as opened:
        yield opened


def filed(books: Books, *events: Event) -> Filed:
    return file_away(drafts(*events), books, "audit-h-s")


def test_what_a_book_refuses_is_a_problem_and_the_rest_goes_on(books: Books) -> None:
    events = [PROMPT, TodoCompleted(todo="never"), TodoOpened(todo="t", subject="it")]
    told = filed(books, *events)
    [problem] = told.refused.kept
    assert (problem.line, problem.text.partition(":")[0]) == (2, "todo_completed left out")
    assert [entry.event.type for entry in told.entries()] == ["loop_opened", "prompted", "todo_opened"]


def test_what_was_refused_once_is_told_again_and_does_not_stop_the_book_from_going_on(books: Books) -> None:
    events = [PROMPT, TodoCompleted(todo="never"), TodoOpened(todo="t", subject="it")]
    filed(books, *events)
    told = filed(books, *events, TodoCompleted(todo="t"))
    assert [problem.line for problem in told.refused.kept] == [2]
    assert [entry.event.type for entry in told.entries()][-1] == "todo_completed"
    assert told.notes == ()


def test_problems_are_counted_when_there_are_too_many_to_list(books: Books) -> None:
    told = filed(books, PROMPT, *[TodoCompleted(todo="never")] * 1_000)
    assert told.refused.total == 1_000
    assert len(told.refused.kept) < 1_000


def test_a_loop_opens_without_an_intent_where_no_person_speaks_for_long(books: Books) -> None:
    many = [Source(locator=str(number)) for number in range(HELD)]
    assert filed(books, *many[:-1]).loop is None
    told = filed(books, *many, PROMPT)
    opened = next(told.entries()).event
    assert isinstance(opened, LoopOpened)
    assert opened.intent == ""


def test_runs_of_many_calls_are_saved_in_several_goes(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    record = books.book.record

    def counted(stream: str, *some: Draft, **options: object) -> object:
        sizes.append(sum(len(d.event.calls) for d in some if isinstance(d.event, RunSettled)))
        return record(stream, *some, **options)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(books.book, "record", counted)
    calls = tuple(Call(ref=str(number), tool="Bash") for number in range(200))
    filed(books, PROMPT, *[RunSettled(run=str(n), calls=calls, calls_total=200) for n in range(20)])
    assert sum(sizes) == 4_000
    assert max(sizes) <= 1_200


def test_a_run_of_another_id_is_another_file(books: Books) -> None:
    filed(books, PROMPT, RunSettled(run="r1"))
    with pytest.raises(BookDiffers):
        filed(books, PROMPT, RunSettled(run="r2"))


def test_an_event_of_another_type_in_the_same_place_is_another_file(books: Books) -> None:
    filed(books, PROMPT, Source(locator="a"))
    with pytest.raises(BookDiffers):
        filed(books, PROMPT, TodoOpened(todo="t", subject="a"))
