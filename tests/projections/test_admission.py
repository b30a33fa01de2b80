"""Admission: what a book refuses, by which error, and what it takes."""

from __future__ import annotations

import pytest

from loopbook import errors
from loopbook import events as e
from loopbook.projections.admission import admit
from tests.projections.books import Item, book, change, opened, review, session

#: What has happened in a book so far.
Past = tuple[Item, ...]


def past(*items: Item) -> Past:
    """That of a loop."""
    return (opened(), *items)


A = e.UnitAdded(unit="a", subject="module a")
T1 = e.TodoOpened(todo="t1", subject="later")
DONE = e.TodoCompleted(todo="t1")
DROPPED = e.UnitDropped(unit="a", why="x")
SET = e.TodoFollowupSet(todo="t1", followup="issue 7")
NOTHING: Past = ()
F1 = e.Finding(id="f1", severity="nit", text="x")

REFUSED: list[tuple[Past, e.Event, type[errors.Refused], str]] = [
    (past(), e.TodoOpened(todo="t1", subject="x", followup="  "), errors.InvalidFollowUp, "follow-up"),
    (past(T1), e.TodoFollowupSet(todo="t1", followup="7" * 201), errors.InvalidFollowUp, "follow-up"),
    (past(T1), e.TodoFollowupSet(todo="t1", followup={"ref": " "}), errors.InvalidFollowUp, "follow-up"),
    (past(T1), T1, errors.AlreadyUsed, "open already"),
    (past(), SET, errors.UnknownTodo, "never opened"),
    (past(), DONE, errors.UnknownTodo, "never opened"),
    (past(T1, DONE), DONE, errors.UnknownTodo, "or done or dropped already; .*; open it under a new id if"),
    (past(), e.TodoDropped(todo="t1", why="x"), errors.UnknownTodo, "not open"),
    (past(), e.UnitStarted(unit="a"), errors.UnknownUnit, "no unit 'a'"),
    (past(A), A, errors.AlreadyUsed, "added already"),
    (past(A, e.UnitDone(unit="a")), e.UnitDone(unit="a"), errors.AlreadyEnded, "is done since 3"),
    (past(A, DROPPED), e.UnitStarted(unit="a"), errors.AlreadyEnded, "is dropped since 3"),
    (past(), e.ChildLinked(child="c1", unit="a"), errors.UnknownUnit, "no unit 'a'"),
    (past(), opened(), errors.AlreadyUsed, "was opened at 1"),
    (past(), e.LoopReopened(), errors.Refused, "not closed"),
    (NOTHING, e.CloseDeclared(claim="done"), errors.Refused, "no loop is open"),
    (NOTHING, e.LoopClosed(outcome="met"), errors.Refused, "no loop is open"),
    (past(e.LoopClosed(outcome="met")), change(), errors.LoopClosed, "reopen it first"),
    (past(e.LoopClosed(outcome="met")), e.LoopClosed(outcome="met"), errors.LoopClosed, "reopen it first"),
    (past(e.LoopClosed(outcome="met")), e.SessionAdopted(), errors.LoopClosed, "reopen it first"),
    (past(), e.Review(tier="light", reviewer="r", findings=(F1, F1)), errors.AlreadyUsed, "'f1'"),
    (past(), review(" "), errors.Refused, "blank id"),
    *(
        (past(), event, errors.Refused, "is blank")
        for event in (
            e.TodoOpened(todo="", subject="x"), e.UnitAdded(unit=" ", subject="x"), e.ChildLinked(child=""),
            e.ChildReported(child="\t", ok=True), e.RunSettled(run=""), e.Prompted(prompt="", text="x"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "event", "error", "words"), REFUSED)
def test_refused_by_name_and_said_to_have_changed_nothing(
    before: Past, event: e.Event, error: type[errors.Refused], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        admit(session(*before), event)
    assert type(raised.value) is error
    assert "; the book is unchanged; " in str(raised.value)


TAKEN: list[tuple[Past, e.Event]] = [
    (NOTHING, opened()),
    (NOTHING, change()),
    (past(), A),
    (past(), e.TodoOpened(todo="t1", subject="later", followup="issue 7")),
    (past(T1), SET),
    (past(T1), e.TodoDropped(todo="t1", why="x")),
    (past(T1, DONE), T1),
    (past(A, e.UnitStarted(unit="a")), e.UnitStarted(unit="a")),
    (past(A), e.ChildLinked(child="c1", unit="a")),
    (past(), e.ChildReported(child="c1", ok=True)),
    (past(), e.ChildDropped(child="c1", why="x")),
    (past(e.LoopClosed(outcome="met")), e.LoopReopened()),
    (past(review("f1")), review("f1")),
    (past(), e.Unknown(type="from_tomorrow")),
]


@pytest.mark.parametrize(("before", "event"), TAKEN)
def test_taken(before: Past, event: e.Event) -> None:
    admit(session(*before), event)


@pytest.mark.parametrize("event", [change(), T1, e.Judged(advisor="x", read_to=1), e.Task(text="x")])
def test_an_event_for_a_unit_nobody_added_is_refused_whatever_it_is(event: e.Event) -> None:
    with pytest.raises(errors.UnknownUnit, match="no unit 'x'"):
        admit(book(A), event, "x")
    admit(book(A), event, "a")
    admit(book(A, e.UnitDone(unit="a")), event, "a")


def test_a_unit_is_added_under_its_own_name() -> None:
    admit(book(), A, "a")
