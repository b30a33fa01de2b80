"""What second thought says: concerns and lines as data, put together without a score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loopbook.projections import Position
from loopbook.projections.state import Todo

#: The catalogue of concerns, by id: what is said of each.
CONCERNS: Mapping[str, str] = {
    "ask-user": "ask the user before going on",
    "back": "go back before {next}: the work may not support {current}",
    "not-done": "the record does not yet show the intent met",
    "quality": "the work reads thin for its intent",
    "review-tier:full": "a full review is still needed",
    "review-tier:light": "a light review is still needed",
}
#: What stands for the current phase while none is met.
SO_FAR = "the work so far"
#: How many loose todos are named, and how much of each subject.
TODOS_NAMED = 3
SUBJECT_CHARS = 60
CONTINUE_TODOS = "Continue each, complete it, or set its follow-up."
ASK_ABOUT_TODOS = "Do not go on with them by yourself; ask the user instead."


def concern(name: str, position: Position) -> str:
    """The words of a concern."""
    current = SO_FAR if position.current == "open" else position.current
    return CONCERNS[name].format(next=position.next, current=current)


def next_line(position: Position, unit: str | None = None) -> str:
    """What comes next, and what it is missing.

    >>> next_line(Position("change", "verify", ("no passing check",), 7), "a")
    'next: a verify (no passing check)'
    """
    missing = f" ({', '.join(position.missing)})" if position.missing else ""
    return f"next: {f'{unit} ' if unit else ''}{position.next}{missing}"


def todo_lines(loose: Mapping[str, Todo], *, ask_user: bool) -> tuple[str, ...]:
    """The loose todos: the first three by subject, and what to do about them; nothing for none."""
    if not loose:
        return ()
    subjects = [" ".join(todo.subject.split())[:SUBJECT_CHARS] for todo in loose.values()]
    more = len(subjects) - TODOS_NAMED
    names = [*subjects[:TODOS_NAMED], *([f"+{more} more"] if more > 0 else [])]
    return (f"open todos: {'; '.join(names)}", ASK_ABOUT_TODOS if ask_user else CONTINUE_TODOS)


def together(lines: Iterable[str]) -> str:
    """The text of an advisory."""
    return "\n".join(lines)
