"""What is used once is used once, whoever writes."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import pytest

from loopbook.book import Book, reservation
from loopbook.book.streams import What
from loopbook.entry import Draft
from loopbook.errors import (
    AlreadyUsed,
)  # fmt: skip
from loopbook.events import (
    Decision,
    Finding,
    Reserved,
    Review,
    Task,
    TodoCompleted,
    TodoOpened,
)  # fmt: skip
from tests.book.drafts import OWN, everything, todo


def test_must_7_a_second_event_with_the_same_host_ref_changes_nothing(book: Book) -> None:
    book.record(OWN, todo("t", "r1"))
    before = everything(book, OWN)
    assert book.record(OWN, todo("t", "r1")) == ()  # admission would refuse it, were it a second event
    assert book.record(OWN, todo("other", "r1")) == ()
    assert book.append(OWN, todo("t", "r1"), after=1) == ()
    assert everything(book, OWN) == before
    written = book.record(OWN, todo("t", "r1"), todo("t2", "r2"), todo("t2", "r2"))
    assert [entry.seq for entry in written] == [2]


def test_must_7_a_host_ref_is_one_streams_own(book: Book) -> None:
    book.record(OWN, Draft(Task(text="x"), host_ref="r"))
    assert len(book.record("session:h:other", Draft(Task(text="x"), host_ref="r"))) == 1


def test_a_host_ref_that_another_process_wrote_is_skipped(book: Book, other: Book) -> None:
    book.record(OWN, todo("t0"))
    other.record(OWN, todo("t", "r1"))
    assert book.record(OWN, todo("t", "r1")) == ()
    assert [entry.seq for entry in book.record(OWN, todo("t", "r1"), todo("t2", "r2"))] == [3]


@pytest.mark.parametrize("ref", ["", "a" * 5_000, "\x00", "\ud800", "sha256=" + "0" * 64, "with space", "é"])
def test_any_host_ref_is_reserved(book: Book, ref: str) -> None:
    assert len(book.record(OWN, Draft(Task(text="x"), host_ref=ref))) == 1
    assert book.record(OWN, Draft(Task(text="x"), host_ref=ref)) == ()
    assert book.seen(OWN, [ref, "other"]) == {ref}


def test_a_reservation_is_saved_with_what_it_reserves(book: Book) -> None:
    (entry,) = book.record(OWN, todo("t", "r"))
    keys: tuple[tuple[What, str], ...] = (("host_ref", "r"), ("todo", "t"))
    for what, key in keys:
        (kept,) = book.entries(reservation(OWN, what, key))
        assert kept.event == Reserved(what=what, stream=OWN, seq=entry.seq)
        assert (kept.at, kept.session) == (entry.at, entry.session)


def test_an_id_is_used_once_for_ever(book: Book, other: Book) -> None:
    """Even when the state has forgotten it: a done todo is known to the store alone."""
    book.record(OWN, todo("t"), Draft(TodoCompleted(todo="t")))
    before = everything(book, OWN)
    for writer in (book, other):
        with pytest.raises(AlreadyUsed, match="'t' was used in this book before"):
            writer.record(OWN, todo("t"))
        with pytest.raises(AlreadyUsed):
            writer.append(OWN, todo("t"), after=2)
    with pytest.raises(AlreadyUsed):
        book.record(OWN, todo("t2"), Draft(TodoCompleted(todo="t2")), todo("t2"))
    assert everything(book, OWN) == before


def review(*ids: str, reviewer: str = "ann") -> Draft:
    findings = tuple(Finding(id=name, severity="concern", text="x") for name in ids)
    return Draft(Review(tier="light", reviewer=reviewer, findings=findings))


def test_a_finding_that_stands_is_named_again_and_one_that_is_answered_is_not(book: Book) -> None:
    book.record(OWN, review("f1", "f2"))
    book.record(OWN, review("f1"))  # the next review: f1 stands, f2 is answered
    for drafts_ in ((review("f2"),), (review("f1", reviewer="ben"),)):
        with pytest.raises(AlreadyUsed):
            book.record(OWN, *drafts_)
    book.record(OWN, Draft(Decision(text="so be it", decided_by="user", resolves=("f1",))))
    with pytest.raises(AlreadyUsed):
        book.record(OWN, review("f1"))
    assert book.record(OWN, review("f3"))[0].seq == 4


def test_told_of_what_cannot_be_taken_the_rest_goes_on(book: Book) -> None:
    told: list[tuple[Draft, str]] = []
    bad = [Draft(TodoCompleted(todo="nobody")), todo("t"), Draft(Task(text="x"), at=datetime(2026, 1, 1))]  # noqa: DTZ001
    written = book.record(
        OWN, todo("t"), *bad, todo("t2"), tell=lambda draft, why: told.append((draft, type(why).__name__))
    )
    assert [cast("TodoOpened", entry.event).todo for entry in written] == ["t", "t2"]
    assert [draft for draft, _ in told] == bad
    assert [why for _, why in told] == ["UnknownTodo", "AlreadyUsed", "InvalidEvent"]
    told.clear()
    assert book.record(OWN, bad[0], tell=lambda draft, why: told.append((draft, str(why)))) == ()
    assert [draft for draft, _ in told] == [bad[0]]
