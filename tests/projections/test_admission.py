"""Admission: what a book refuses, by which error, and what it takes."""

from __future__ import annotations

import pytest

from loopbook import errors
from loopbook import events as e
from loopbook.projections import EMPTY, BookState
from loopbook.projections.admission import admit
from tests.projections.books import book, change, opened, review

A = e.UnitAdded(unit="a", subject="module a")
T1 = e.TodoOpened(todo="t1", subject="later")
DONE = e.TodoCompleted(todo="t1")
DROPPED = e.UnitDropped(unit="a", why="x")
SET = e.TodoFollowupSet(todo="t1", followup="issue 7")
F1 = e.Finding(id="f1", severity="nit", text="x")

REFUSED: list[tuple[BookState, e.Event, type[errors.Refused], str]] = [
    (book(), e.TodoOpened(todo="t1", subject="x", followup="  "), errors.InvalidFollowUp, "follow-up"),
    (book(T1), e.TodoFollowupSet(todo="t1", followup="7" * 201), errors.InvalidFollowUp, "follow-up"),
    (book(T1), e.TodoFollowupSet(todo="t1", followup={"ref": " "}), errors.InvalidFollowUp, "follow-up"),
    (book(T1), T1, errors.AlreadyUsed, "open already"),
    (book(), SET, errors.UnknownTodo, "never opened"),
    (book(), DONE, errors.UnknownTodo, "never opened"),
    (book(T1, DONE), DONE, errors.UnknownTodo, "done or dropped already"),
    (book(), e.TodoDropped(todo="t1", why="x"), errors.UnknownTodo, "not open"),
    (book(), e.UnitStarted(unit="a"), errors.UnknownUnit, "no unit 'a'"),
    (book(A), A, errors.AlreadyUsed, "added already"),
    (book(A, e.UnitDone(unit="a")), e.UnitDone(unit="a"), errors.AlreadyEnded, "is done since 3"),
    (book(A, DROPPED), e.UnitStarted(unit="a"), errors.AlreadyEnded, "is dropped since 3"),
    (book(), e.ChildLinked(child="c1", unit="a"), errors.UnknownUnit, "no unit 'a'"),
    (book(), opened(), errors.AlreadyUsed, "was opened at 1"),
    (book(), e.LoopReopened(), errors.Refused, "not closed"),
    (EMPTY, e.CloseDeclared(claim="done"), errors.Refused, "no loop is open"),
    (EMPTY, e.LoopClosed(outcome="met"), errors.Refused, "no loop is open"),
    (book(e.LoopClosed(outcome="met")), change(), errors.LoopClosed, "reopen it first"),
    (book(e.LoopClosed(outcome="met")), e.LoopClosed(outcome="met"), errors.LoopClosed, "reopen it first"),
    (book(e.LoopClosed(outcome="met")), e.SessionAdopted(), errors.LoopClosed, "reopen it first"),
    (book(), e.Review(tier="light", reviewer="r", findings=(F1, F1)), errors.AlreadyUsed, "'f1'"),
    (book(), review(" "), errors.Refused, "blank id"),
    *(
        (book(), event, errors.Refused, "is blank")
        for event in (
            e.TodoOpened(todo="", subject="x"), e.UnitAdded(unit=" ", subject="x"), e.ChildLinked(child=""),
            e.ChildReported(child="\t", ok=True), e.RunSettled(run=""), e.Prompted(prompt="", text="x"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("state", "event", "error", "words"), REFUSED)
def test_refused_by_name_and_said_to_have_changed_nothing(
    state: BookState, event: e.Event, error: type[errors.Refused], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        admit(state, event)
    assert type(raised.value) is error
    assert "; the book is unchanged; " in str(raised.value)


TAKEN: list[tuple[BookState, e.Event]] = [
    (EMPTY, opened()),
    (EMPTY, change()),
    (book(), A),
    (book(T1), SET),
    (book(T1), e.TodoDropped(todo="t1", why="x")),
    (book(T1, DONE), T1),
    (book(A, e.UnitStarted(unit="a")), e.UnitStarted(unit="a")),
    (book(A), e.ChildLinked(child="c1", unit="a")),
    (book(), e.ChildReported(child="c1", ok=True)),
    (book(), e.ChildDropped(child="c1", why="x")),
    (book(e.LoopClosed(outcome="met")), e.LoopReopened()),
    (book(review("f1")), review("f1")),
    (book(), e.Unknown(type="from_tomorrow")),
]


@pytest.mark.parametrize(("state", "event"), TAKEN)
def test_taken(state: BookState, event: e.Event) -> None:
    admit(state, event)


@pytest.mark.parametrize("event", [change(), T1, e.Judged(advisor="x", read_to=1), e.Task(text="x")])
def test_an_event_for_a_unit_nobody_added_is_refused_whatever_it_is(event: e.Event) -> None:
    with pytest.raises(errors.UnknownUnit, match="no unit 'x'"):
        admit(book(A), event, "x")
    admit(book(A), event, "a")
    admit(book(A, e.UnitDone(unit="a")), event, "a")


def test_a_unit_is_added_under_its_own_name() -> None:
    admit(book(), A, "a")
