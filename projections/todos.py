"""Todos: what the agent said it would still do.

Theory. A todo is in the state while it is open; done or dropped, it leaves (the store's reservations
remember its id). It is *loose* while it has no valid follow-up, that is, while nobody could say
where it goes on outside this loop. A todo that becomes loose again is newly loose. The newest seq
since which one is loose is what triggers advice, not the number of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from loopbook.events import TodoFollowupSet, TodoOpened
from loopbook.projections.state import TEXT_CHARS, BookState, Todo

Todos = Mapping[str, Todo]

#: The most characters (code points, trimmed) of a follow-up that is text.
FOLLOWUP_CHARS = 200


def valid_followup(value: object) -> bool:
    """Whether a follow-up says where a todo goes on: 1 to 200 characters, or a ``ref`` with perhaps
    an ISO ``due`` date.

    >>> valid_followup("issue 7"), valid_followup("  "), valid_followup("7" * 201)
    (True, False, False)
    >>> valid_followup({"ref": "issue 7", "due": "2030-01-31"}), valid_followup({"ref": " "})
    (True, False)
    """
    if isinstance(value, str):
        return 0 < len(value.strip()) <= FOLLOWUP_CHARS
    if not isinstance(value, Mapping) or not value.keys() <= {"ref", "due"}:
        return False
    ref = value.get("ref")
    return isinstance(ref, str) and bool(ref.strip()) and _is_date(value.get("due"))


def _is_date(due: object) -> bool:
    if due is None:
        return True
    try:
        return isinstance(due, str) and bool(date.fromisoformat(due))
    except ValueError:
        return False


def opened(todos: Todos, event: TodoOpened, seq: int, unit: str | None = None) -> Todos:
    """The open todos, in the order they were opened."""
    loose = 0 if valid_followup(event.followup) else seq
    after = {**todos}
    after.pop(event.todo, None)
    after[event.todo] = Todo(event.subject[:TEXT_CHARS], seq, loose, unit=unit)
    return after


def followed_up(todos: Todos, event: TodoFollowupSet, seq: int) -> Todos:
    """A valid follow-up ties a todo down; one that is not (a foreign book) leaves it loose."""
    todo = todos.get(event.todo)
    if todo is None:
        return todos
    loose = 0 if valid_followup(event.followup) else todo.loose or seq
    return {**todos, event.todo: todo._replace(loose=loose)}


def ended(todos: Todos, name: str) -> Todos:
    """The todos without one that is done or dropped."""
    return {key: todo for key, todo in todos.items() if key != name}


def named(todos: Todos, names: tuple[str, ...], seq: int) -> Todos:
    """The todos after a notice at ``seq`` that named some of them."""
    return {**todos, **{name: todos[name]._replace(named=seq) for name in names if name in todos}}


def loose(state: BookState) -> Todos:
    """The loose todos, in the order they were opened."""
    return {name: todo for name, todo in state.todos.items() if todo.loose}


def newest_loose(state: BookState) -> int:
    """The seq since which the newest loose todo is loose; 0 when none is."""
    return max((todo.loose for todo in state.todos.values()), default=0)
