"""Admission: which events a book takes.

Theory. The fold forgives everything; admission is where a mistake is told to its maker, before
anything is written. It knows what the state knows, which is what is open. A todo that was opened,
done and is opened again under its id passes here and is caught by the store's reservation of the id;
so a todo that is not open is refused with one message for both cases, never opened and over. Units
are kept after their end (the newest 50), so those two cases are told apart.

Children need no admission: a report without a link is taken for the loop, dropping what is not out
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loopbook import events as e
from loopbook.errors import (
    AlreadyEnded,
    AlreadyUsed,
    InvalidFollowUp,
    LoopClosed,
    Refused,
    UnknownTodo,
    UnknownUnit,
)
from loopbook.projections.folding import Folding
from loopbook.projections.state import BookState
from loopbook.projections.todos import FOLLOWUP_CHARS, valid_followup

#: A state, or one under way: what a book would be at when it takes an event.
Standing = BookState | Folding

#: The fields that hold an id, for the types that have one; none may be blank.
_IDS: Mapping[type[e.Event], str] = {
    e.TodoOpened: "todo",
    e.TodoFollowupSet: "todo",
    e.TodoCompleted: "todo",
    e.TodoDropped: "todo",
    e.UnitAdded: "unit",
    e.UnitStarted: "unit",
    e.UnitDone: "unit",
    e.UnitDropped: "unit",
    e.ChildLinked: "child",
    e.ChildReported: "child",
    e.ChildDropped: "child",
    e.ChildLost: "child",
    e.RunSettled: "run",
    e.Prompted: "prompt",
}


def admit(state: Standing, event: e.Event, unit: str | None = None) -> None:
    """Return quietly when the book at ``state`` takes ``event`` (with ``unit`` in its envelope).

    Raises a subclass of ``Refused`` that says why not; nothing is written then.

    >>> from loopbook.projections.state import EMPTY
    >>> admit(EMPTY, e.TodoOpened(todo="t1", subject="later"))
    >>> admit(EMPTY, e.TodoCompleted(todo="t1"))
    Traceback (most recent call last):
    loopbook.errors.UnknownTodo: todo 't1' is not open: never opened, or done or dropped already; ...
    """
    if state.life.outcome is not None and not isinstance(event, _AFTER_THE_END):
        raise LoopClosed(f"the loop is closed; {_UNCHANGED}; reopen it first")
    _check_id(event)
    _check_unit(state, event, unit)
    rule = _RULES.get(type(event))
    if rule is not None:
        rule(state, event)


_UNCHANGED = "the book is unchanged"
#: What a closed loop takes: what opens it again, and that what was said has arrived.
_AFTER_THE_END = (e.LoopReopened, e.Forked, e.Delivered)


def _check_id(event: e.Event) -> None:
    field = _IDS.get(type(event))
    if field is not None and not str(getattr(event, field)).strip():
        raise Refused(f"{event.type}: {field} is blank; {_UNCHANGED}; give it an id")


def _check_unit(state: Standing, event: e.Event, unit: str | None) -> None:
    if isinstance(event, e.UnitAdded):
        return
    own: str | None = event.__dict__.get("unit")  # asking a model for what it has not is slow
    for name in (unit, own):
        if name is not None and name not in state.units:
            raise UnknownUnit(f"no unit {name!r} in this loop; {_UNCHANGED}; add the unit first")


# --- one rule a type -----------------------------------------------------------------------------


def _loop_opened(state: Standing, _event: e.Event) -> None:
    if state.life.opened:
        raise AlreadyUsed(f"this loop was opened at {state.life.opened}; {_UNCHANGED}; start another loop")


def _needs_a_loop(state: Standing, _event: e.Event) -> None:
    if not state.life.opened:
        raise Refused(f"no loop is open in this book; {_UNCHANGED}; start a loop first")


def _loop_reopened(state: Standing, _event: e.Event) -> None:
    if state.life.outcome is None:
        raise Refused(f"the loop is not closed; {_UNCHANGED}; go on with it as it is")


def _todo_opened(state: Standing, event: e.Event) -> None:
    assert isinstance(event, e.TodoOpened)
    if event.todo in state.todos:
        raise AlreadyUsed(f"todo {event.todo!r} is open already; {_UNCHANGED}; use another id")
    if event.followup is not None:
        _check_followup(event.followup)


def _followup_set(state: Standing, event: e.Event) -> None:
    assert isinstance(event, e.TodoFollowupSet)
    _check_followup(event.followup)
    _todo_open(state, event)


def _check_followup(value: e.FollowUp) -> None:
    if not valid_followup(value):
        raise InvalidFollowUp(
            f"a follow-up is 1 to {FOLLOWUP_CHARS} characters, or an object with a ref and perhaps "
            f"an ISO due date; {_UNCHANGED}; name where the todo goes on"
        )


def _todo_open(state: Standing, event: e.Event) -> None:
    assert isinstance(event, e.TodoFollowupSet | e.TodoCompleted | e.TodoDropped)
    if event.todo not in state.todos:
        raise UnknownTodo(
            f"todo {event.todo!r} is not open: never opened, or done or dropped already; {_UNCHANGED}; "
            "open it under a new id if there is more to do"
        )


def _unit_added(state: Standing, event: e.Event) -> None:
    assert isinstance(event, e.UnitAdded)
    if event.unit in state.units:
        raise AlreadyUsed(f"unit {event.unit!r} was added already; {_UNCHANGED}; use another id")


def _unit_going_on(state: Standing, event: e.Event) -> None:
    assert isinstance(event, e.UnitStarted | e.UnitDone | e.UnitDropped)
    unit = state.units[event.unit]
    if unit.ended:
        how = "dropped" if unit.dropped else "done"
        raise AlreadyEnded(
            f"unit {event.unit!r} is {how} since {unit.ended}; {_UNCHANGED}; add another unit for more work"
        )


def _review(_state: Standing, event: e.Event) -> None:
    assert isinstance(event, e.Review)
    ids = [finding.id for finding in event.findings]
    if not all(name.strip() for name in ids):
        raise Refused(f"a finding has a blank id; {_UNCHANGED}; give each finding an id")
    if twice := [name for place, name in enumerate(ids) if name in ids[:place]]:
        raise AlreadyUsed(f"finding {twice[0]!r} is in this review twice; {_UNCHANGED}; use another id")


_RULES: Mapping[type[e.Event], Callable[[Standing, e.Event], None]] = {
    e.LoopOpened: _loop_opened,
    e.CloseDeclared: _needs_a_loop,
    e.LoopClosed: _needs_a_loop,
    e.LoopReopened: _loop_reopened,
    e.TodoOpened: _todo_opened,
    e.TodoFollowupSet: _followup_set,
    e.TodoCompleted: _todo_open,
    e.TodoDropped: _todo_open,
    e.UnitAdded: _unit_added,
    e.UnitStarted: _unit_going_on,
    e.UnitDone: _unit_going_on,
    e.UnitDropped: _unit_going_on,
    e.Review: _review,
}
