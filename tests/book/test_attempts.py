"""An append is attempted until its outcome is sure; what was made ready for it is made once."""

from __future__ import annotations

import pickle

import pytest

from loopbook.book import Book, attempt
from loopbook.encoding import Written, written
from loopbook.entry import Draft
from loopbook.errors import Refused
from loopbook.events import Change, Event, Task, TodoCompleted
from loopbook.evidence.redaction import Redactor
from loopbook.projections import fold
from tests.book.drafts import OPENED, OWN, A, everything, todo


def test_a_draft_is_written_and_read_back_once_however_often_it_is_attempted(
    book: Book, other: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Event] = []
    attempts: list[int] = []
    begin = attempt.Attempt.__init__

    def counted(event: Event) -> Written | None:
        made.append(event)
        return written(event)

    def begun(self: attempt.Attempt, *arguments: object) -> None:
        begin(self, *arguments)  # type: ignore[arg-type]  # handed on as they came
        attempts.append(self.version)
        if len(attempts) < 4:
            other.record(A, Draft(Task(text=f"between {len(attempts)}")))

    book.record(A, OPENED)
    event = Change(summary="x", paths=("a.py",))
    monkeypatch.setattr("loopbook.book.attempt.written", counted)
    monkeypatch.setattr(attempt.Attempt, "__init__", begun)
    (entry,) = book.record(A, Draft(event))
    assert made.count(event) == 1
    assert len(attempts) > 4
    assert entry.event == event
    assert book.state(A) == fold(book.entries(A))


def test_a_batch_that_is_refused_halfway_moves_no_state(book: Book) -> None:
    book.record(A, OPENED, todo("t1"))
    known = book.place(A)
    before, kept = everything(book), pickle.dumps(known)
    batch = (Draft(Change(summary="x")), todo("t2"), Draft(TodoCompleted(todo="never")), todo("t3"))
    with pytest.raises(Refused, match="never"):
        book.record(A, *batch)
    with pytest.raises(Refused, match="never"):
        book.append(A, *batch, after=2)
    assert everything(book) == before
    assert pickle.dumps(known) == kept
    assert pickle.dumps(book.place(A)) == kept


def test_of_a_batch_the_drafts_with_secrets_are_cleaned_and_the_others_stay_as_they_are(book: Book) -> None:
    with Book(book.url, redactor=Redactor(["correct horse"])) as careful:
        plain, secret = Change(summary="plain"), Task(text="it is correct horse")
        entries = careful.record(OWN, Draft(plain), Draft(secret, host_ref="correct horse 1"), Draft(plain))
    assert [entry.event for entry in entries] == [plain, Task(text="it is [redacted secret 13 chars]"), plain]
    assert [entry.host_ref for entry in entries] == [None, "[redacted secret 13 chars] 1", None]


def test_whoever_is_told_of_a_refusal_is_told_no_secret(book: Book) -> None:
    told: list[Draft] = []
    with Book(book.url, redactor=Redactor(["correct horse"])) as careful:
        careful.record(A, OPENED)
        careful.record(
            A, Draft(TodoCompleted(todo="correct horse")), tell=lambda draft, _why: told.append(draft)
        )
    assert [draft.event for draft in told] == [TodoCompleted(todo="[redacted secret 13 chars]")]
