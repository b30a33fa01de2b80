"""Whom second thought is about: the loop, or with two or more units the one that waits.

Theory. A unit *waits on the coordinator* when it is started, goes on, has nothing of its own out,
and has evidence that its last ask did not cover. The first such unit is the subject. The loop beside
its units is one when somebody left a todo loose that no notice named, or when evidence of the loop
itself has not been read. Below two units the loop is the only subject, and everything belongs to it.
"""

from __future__ import annotations

from loopbook.projections import BookState, children, todos, units
from loopbook.projections.state import Subject


def several(state: BookState) -> bool:
    """Whether units are subjects of their own."""
    return state.units_added > 1


def about(state: BookState, unit: str | None) -> Subject:
    """What a subject is told by and was told."""
    return state.loop if unit is None else state.units[unit].about


def children_of_loop(state: BookState) -> tuple[str, ...]:
    """The children out that quiet everybody: all of them, or those of no unit where there are several."""
    out = children.out(state)
    if not several(state):
        return out
    return tuple(name for name in out if state.children.living[name].unit not in state.units)


def has_unread(state: BookState, unit: str, advisor: str) -> bool:
    """Whether a unit goes on and has evidence that its last ask did not cover."""
    one = state.units[unit]
    evidence = one.about.evidence
    if not one.started or one.ended or evidence is None:
        return False
    return evidence.seq > units.heard(state, unit, advisor).asked


def unread(state: BookState, advisor: str) -> tuple[str, ...]:
    """The units with unread evidence, in the order added, whether or not a child of theirs is out."""
    return tuple(name for name in state.units if has_unread(state, name, advisor))


def waiting(state: BookState, advisor: str) -> tuple[str, ...]:
    """The units that wait on the coordinator, in the order added."""
    return tuple(name for name in unread(state, advisor) if not children.out(state, name))


def last_evidence(state: BookState, unit: str | None) -> int:
    """The seq of a subject's newest evidence, 0 for none. The loop beside units has its own alone."""
    evidence = about(state, unit).evidence
    if evidence is None or (unit is None and several(state) and evidence.unit in state.units):
        return 0
    return evidence.seq


def trigger(state: BookState, unit: str | None) -> int:
    """What a notice would answer: the subject's newest evidence, or the newest loose todo."""
    return max(last_evidence(state, unit), todos.newest_loose(state))


def loop_has_news(state: BookState, advisor: str) -> bool:
    """Whether the loop has evidence since its last judgment, or a todo that became loose since.

    Beside units, a notice about a unit that named the todo has covered it too.
    """
    read_to = units.heard(state, None, advisor).read_to
    if last_evidence(state, None) > read_to:
        return True
    if not several(state):
        return todos.newest_loose(state) > read_to
    return any(todo.loose > max(todo.named, read_to) for todo in state.todos.values())
