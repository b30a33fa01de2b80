"""Appending: what was handed in is kept, all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from loopbook.book import CATALOGUE, Book
from loopbook.book.hygiene import Hygiene
from loopbook.entry import Draft
from loopbook.errors import (
    AlreadyUsed,
    InvalidEvent,
    LoopbookError,
    LoopClosed,
    NoSuchLoop,
    Refused,
    Stale,
    UnknownTodo,
)  # fmt: skip
from loopbook.events import (
    ChildLinked,
    CloseDeclared,
    LoopOpened,
    Task,
    TodoCompleted,
    UnitAdded,
    Unknown,
)  # fmt: skip
from loopbook.events import LoopClosed as Closed
from loopbook.evidence.redaction import Redactor
from loopbook.sealing import holds
from loopbook.upkeep.forget import forget
from loopbook.upkeep.fsck import fsck
from tests.book.drafts import NOON, OPENED, OWN, A, clock, everything, todo
from tests.conftest import PROVE
from tests.strategies_events import (
    events,
    events_of_a_newer_writer,
    hostile_texts,
    unknown_events,
)

NEWER = st.one_of(events(), unknown_events(), events_of_a_newer_writer())
HOSTILE = events(hostile_texts)


@pytest.mark.parametrize("hostile", [False, True], ids=["plain", "hostile"])
@settings(max_examples=500 if PROVE else 40)
@given(st.data())
def test_what_is_appended_is_read_again(hostile: bool, data: st.DataObject) -> None:
    """Any event of any type, known or not, with surrogates and NUL: cleaned once, then kept for ever."""
    event = data.draw(HOSTILE if hostile else NEWER)
    with Book("memory:", clock=clock) as book:
        try:
            (entry,) = book.append("guard:p", Draft(event), after=0)
        except Refused:
            assert [*book.entries("guard:p")] == []
            return
        assert [*book.entries("guard:p")] == [entry]
        assert entry.event == Hygiene(Redactor()).model(event)


def test_an_entry_bears_what_the_draft_and_the_book_say(book: Book) -> None:
    early = datetime.fromisoformat("2025-01-01T02:00:00+02:00")
    draft = Draft(Task(text="x"), None, "ref", 7, early, "s2")
    first, second = book.append(OWN, draft, Draft(Task(text="y")), after=0, session="s1")
    assert first[3:9] == (datetime(2025, 1, 1, tzinfo=UTC), "s2", None, "ref", 7, "")
    assert second[3:9] == (NOON, "s1", None, None, None, first.sum)


def test_the_chain_runs_through_a_stream(book: Book) -> None:
    for n in range(5):
        book.record(OWN, Draft(Task(text=f"{n}")), Draft(Task(text="again")))
    entries = [*book.entries(OWN)]
    assert [entry.seq for entry in entries] == [*range(1, 11)]
    assert all(after.prev == before.sum for before, after in pairwise(entries))
    assert all(holds(*row) for row in book._records.rows.select_events(OWN))  # type: ignore[misc]  # our rows


def test_a_unit_named_by_draft_or_event_stands_in_both(book: Book) -> None:
    book.append(OWN, Draft(UnitAdded(unit="u", subject="s")), after=0)
    (entry,) = book.append(OWN, Draft(ChildLinked(child="c"), unit="u"), after=1)
    assert (entry.unit, cast("ChildLinked", entry.event).unit) == ("u", "u")
    with pytest.raises(InvalidEvent, match="names unit 'u' and the entry unit 'v'"):
        book.append(OWN, Draft(ChildLinked(child="c", unit="u"), unit="v"), after=2)


# --- it raises, and nothing happened ---


@pytest.mark.parametrize(
    ("draft", "error"),
    [
        (Draft(TodoCompleted(todo="nobody")), UnknownTodo),
        (todo("t"), AlreadyUsed),
        (Draft(Task(text="x"), at=datetime(2026, 1, 1)), InvalidEvent),  # noqa: DTZ001 - the point of it
        (Draft(Unknown.model_validate({"type": "Not OWN Word"})), InvalidEvent),
        (Draft(Unknown.model_validate({"type": "check", "command": 1})), InvalidEvent),
        (Draft(Unknown.model_validate({"type": "x", "at": 1})), InvalidEvent),
    ],
)
def test_one_bad_draft_among_good_ones_stores_none(
    book: Book, draft: Draft, error: type[LoopbookError]
) -> None:
    book.append(OWN, todo("t"), after=0)
    before = everything(book, OWN)
    for drafts_ in ((draft,), (todo("t2", "r2"), draft), (draft, todo("t3"))):
        with pytest.raises(error):
            book.append(OWN, *drafts_, after=1)
        with pytest.raises(error):
            book.record(OWN, *drafts_)
        assert everything(book, OWN) == before
    assert book.seen(OWN, ["r2"]) == set()
    assert book.append(OWN, todo("t2", "r2"), after=1)[0].seq == 2


def test_nesting_that_cannot_be_read_back_is_refused(book: Book) -> None:
    deep: JsonValue = []
    for _ in range(5_000):
        deep = [deep]
    for what in (deep, 10**5_000, object()):
        event = Unknown.model_validate({"type": "x", "what": what})
        with pytest.raises(InvalidEvent):
            book.append(OWN, Draft(event), after=0)
    assert book.head(OWN) == (0, "")


def test_must_6_an_append_is_conditional_on_the_version_that_was_judged(book: Book) -> None:
    book.append(OWN, todo("t"), after=0)
    before = everything(book, OWN)
    for after in (0, 2, 7):
        with pytest.raises(Stale):
            book.append(OWN, todo("t2"), after=after)
    assert everything(book, OWN) == before
    assert book.append(OWN, todo("t2"), after=1)[0].seq == 2


def test_must_6_another_writer_makes_the_version_stale(book: Book, other: Book) -> None:
    book.append(OWN, todo("t"), after=0)
    other.record(OWN, Draft(Task(text="meanwhile")))
    with pytest.raises(Stale) as stale:
        book.append(OWN, todo("t2"), after=1)
    assert (stale.value.stream, stale.value.after) == (OWN, 1)
    assert other.append(OWN, todo("t2"), after=2)[0].seq == 3


def test_a_record_goes_on_after_another_writer(book: Book, other: Book) -> None:
    for n in range(6):
        (entry,) = (book, other)[n % 2].record(OWN, todo(f"t{n}"))
        assert entry.seq == n + 1
    assert book.state(OWN) == other.state(OWN)


def test_admission_is_asked_on_the_newest_state(book: Book, other: Book) -> None:
    """What looks like a mistake from an old state is none after catching up; and the other way round."""
    book.record(OWN, todo("t"))
    other.record(OWN, todo("t2"))
    book.record(OWN, Draft(TodoCompleted(todo="t2")))
    with pytest.raises(UnknownTodo):
        other.record(OWN, Draft(TodoCompleted(todo="t2")))


# --- other streams ---


def test_what_happens_to_a_loop_is_catalogued_in_the_same_save(book: Book) -> None:
    book.append(A, Draft(LoopOpened(kind="fix", intent="i")), after=0)
    book.record(A, Draft(CloseDeclared()), Draft(Closed(outcome="met")))
    with pytest.raises(LoopClosed):
        book.record(A, Draft(Task(text="x")))
    said = [entry.event.model_dump(exclude={"type"}, exclude_none=True) for entry in book.entries(CATALOGUE)]
    assert said == [
        {"loop": "a", "change": "opened", "kind": "fix", "intent": "i"},
        {"loop": "a", "change": "closed", "outcome": "met"},
    ]


def test_other_streams_are_written_at_their_newest_or_not_at_all(book: Book) -> None:
    also = [("session:h:other", Task(text="a")), ("session:h:other", Task(text="b"))]
    book.append(OWN, Draft(Task(text="x")), after=0, session="me", also=also)
    with pytest.raises(Stale):
        book.append(OWN, Draft(Task(text="y")), after=0, also=also)
    assert [(entry.seq, entry.session) for entry in book.entries("session:h:other")] == [(1, "me"), (2, "me")]
    book.record(OWN, Draft(Task(text="z")), also=also)
    chain = [*book.entries("session:h:other")]
    assert all(after.prev == before.sum for before, after in pairwise(chain))
    assert len(chain) == 4


def test_the_stream_that_is_appended_to_is_none_of_the_others(book: Book) -> None:
    also = [(OWN, Task(text="also"))]
    with pytest.raises(InvalidEvent, match=f"names {OWN} itself; nothing was written"):
        book.append(OWN, Draft(Task(text="x")), after=0, also=also)
    with pytest.raises(InvalidEvent, match=f"names {OWN} itself; nothing was written"):
        book.record(OWN, Draft(Task(text="x")), also=also)
    assert book.head(OWN) == (0, "")


def test_two_books_fill_one_catalogue(book: Book, other: Book) -> None:
    for n in range(6):
        (book, other)[n % 2].append(f"loop:l{n}", Draft(LoopOpened(kind="fix", intent="i")), after=0)
    assert [entry.seq for entry in book.entries(CATALOGUE)] == [1, 2, 3, 4, 5, 6]


def test_nothing_is_appended_to_what_another_process_forgot(book: Book) -> None:
    """Nor left behind: the state of before is at hand, the rows are not."""
    drafts = (Draft(Task(text="x"), host_ref="r"), todo("t", "s"), Draft(Closed(outcome="met")))
    for draft in drafts:
        book.append(A, OPENED, Draft(Task(text="one")), after=0)
        known = book.place(A)
        with ExitStack() as stack:
            other = book if book.url == "memory:" else stack.enter_context(Book(book.url, clock=clock))
            forget(other, "a", now=NOON)
        before = everything(book)
        writes: list[Callable[[Draft], object]] = [
            lambda draft: book.record(A, draft),
            lambda draft: book.append(A, draft, after=2),
        ]
        for write in writes:
            book._places[A] = known
            with pytest.raises(NoSuchLoop, match="loop:a was forgotten meanwhile; nothing was written"):
                write(draft)
            with pytest.raises(NoSuchLoop, match=r"no loop:a (is there|in .*); nothing was written"):
                write(draft)
        assert everything(book) == before
        assert fsck(book).findings == ()
        assert book.state(A).version == 0
