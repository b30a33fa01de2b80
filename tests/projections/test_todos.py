"""Todos: open, loose, newly loose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook import events as e
from loopbook.projections.todos import loose, newest_loose, valid_followup
from tests.projections.books import book, on


def _open(name: str = "t1", followup: e.FollowUp | None = None) -> e.TodoOpened:
    return e.TodoOpened(todo=name, subject=f"do {name}", followup=followup)


@pytest.mark.parametrize("value", [
    "issue 7", "7" * 200, "  " + "7" * 200 + "\n", "\N{GRINNING FACE}" * 200,
    {"ref": "issue 7"}, {"ref": "issue 7", "due": "2030-01-31"}, {"ref": "x", "due": None},
])  # fmt: skip
def test_valid_follow_ups(value: object) -> None:
    assert valid_followup(value)


@pytest.mark.parametrize("value", [
    None, "", "   ", "\N{NO-BREAK SPACE}", "7" * 201, 7, True, [], ["issue 7"],
    {}, {"ref": ""}, {"ref": "  "}, {"ref": 7}, {"due": "2030-01-31"}, {"ref": "x", "deu": "2030-01-31"},
    {"ref": "x", "due": "soon"}, {"ref": "x", "due": "2030-02-30"}, {"ref": "x", "due": 2030},
])  # fmt: skip
def test_follow_ups_that_say_nothing(value: object) -> None:
    assert not valid_followup(value)


@given(st.text(max_size=250))
def test_a_text_is_valid_exactly_when_trimmed_it_has_one_to_two_hundred_characters(text: str) -> None:
    assert valid_followup(text) == (1 <= len(text.strip()) <= 200)


def test_a_todo_is_loose_while_open_without_a_valid_follow_up() -> None:
    state = book(_open(), _open("t2", "issue 7"), _open("t3"))
    assert list(loose(state)) == ["t1", "t3"]
    assert newest_loose(state) == 4
    state = on(state, e.TodoFollowupSet(todo="t3", followup={"ref": "issue 8"}))
    assert list(loose(state)) == ["t1"]
    assert newest_loose(state) == 2
    assert list(state.todos) == ["t1", "t2", "t3"], "it is still open"


def test_a_todo_is_of_the_unit_it_was_opened_for() -> None:
    state = book(e.UnitAdded(unit="a", subject="a"), (_open(), "a"), _open("t2"))
    assert [todo.unit for todo in state.todos.values()] == ["a", None]


def test_a_todo_opened_twice_is_one_and_stands_where_it_was_opened_last() -> None:
    """No book of ours takes such an event; one from elsewhere may hold it."""
    state = book(_open(), _open("t2"), _open())
    assert [(name, todo.opened) for name, todo in loose(state).items()] == [("t2", 3), ("t1", 4)]


@pytest.mark.parametrize("end", [e.TodoCompleted(todo="t1"), e.TodoDropped(todo="t1", why="not needed")])
def test_a_todo_that_is_done_or_dropped_leaves(end: e.Event) -> None:
    state = book(_open(), end)
    assert not state.todos
    assert newest_loose(state) == 0


def test_a_follow_up_that_became_invalid_makes_it_newly_loose() -> None:
    """No book of ours takes such an event; one from elsewhere may hold it."""
    state = book(_open(followup="issue 7"), e.TodoFollowupSet(todo="t1", followup=" "))
    assert newest_loose(state) == 3
    assert newest_loose(on(state, e.TodoFollowupSet(todo="t1", followup=""))) == 3, "it was loose already"


def test_a_notice_that_names_a_todo_is_remembered_with_it() -> None:
    notice = e.Noticed(advisor="second_thought", key="k", text="x", todos=("t1", "t9"))
    state = book(_open(), _open("t2"), notice)
    assert {name: todo.named for name, todo in state.todos.items()} == {"t1": 4, "t2": 0}


def test_a_subject_is_kept_to_two_hundred_characters() -> None:
    state = book(e.TodoOpened(todo="t1", subject="x" * 4_000_000))
    assert len(state.todos["t1"].subject) == 200
