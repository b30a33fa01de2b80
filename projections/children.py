"""Children: agents the loop sent out, and who is still waited for.

Theory. A link adds one to what is out of a child and a report takes one away, never below nothing;
``child_dropped`` and ``child_lost`` end it. A child with something out is *out* unless its host says
it is gone. A child that finished exits before its result is delivered, so a gone one still counts as
out while its session file was written at most 30 s ago, longer by the timeout of the check that the
host reruns before it accepts a result. Age equal to grace is out; a write in the future is new;
gone with no known write is not out; a host that does not know leaves it out.

The clock and the host's words come with ``run_settled`` and hold until the next one. They say
nothing of a dispatch that was made after them: that child is out.

A report belongs to the unit of its child's link, also when it comes late.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from loopbook.events import ChildLinked
from loopbook.projections.state import LEFT, LOST, BookState, Child, Children
from loopbook.run import ChildState, Observed

#: How long, in seconds, a gone child's result may still be on its way.
GRACE_SEC = 30.0
#: A timeout beyond this (31 years) is as good as none.
_LONGEST_SEC = 1e9


def linked(children: Children, event: ChildLinked, unit: str | None, at: datetime) -> Children:
    """The children after a dispatch."""
    before = children.living.get(event.child)
    accept = event.accept.timeout_sec if event.accept else 0.0
    child = Child(
        out=before.out + 1 if before else 1,
        at=at,
        unit=unit,
        grace=GRACE_SEC + min(accept, _LONGEST_SEC),
    )
    lost = tuple(name for name in children.lost if name != event.child)
    return children._replace(living={**children.living, event.child: child}, lost=lost)


def reported(children: Children, name: str) -> Children:
    """The children after a report."""
    child = children.living.get(name)
    if child is not None and child.out > 1:
        return children._replace(living={**children.living, name: child._replace(out=child.out - 1)})
    lost = tuple(one for one in children.lost if one != name)
    return ended(children._replace(lost=lost), name)


def ended(children: Children, name: str) -> Children:
    """The children without one nobody waits for any more."""
    child = children.living.get(name)
    if child is None:
        return children
    living = {key: one for key, one in children.living.items() if key != name}
    over = (*(one for one in children.over if one != name), name)[-LEFT:]
    return children._replace(living=living, left=_leave(children.left, name, child.unit), over=over)


def _leave(left: Mapping[str, str], name: str, unit: str | None) -> Mapping[str, str]:
    others = {key: value for key, value in left.items() if key != name}
    if unit is None:
        return others
    while len(others) >= LEFT:
        del others[next(iter(others))]
    return {**others, name: unit}


def was_lost(children: Children, name: str) -> Children:
    """The children after one was found gone, past its grace, unreported."""
    lost = (*(one for one in children.lost if one != name), name)[-LOST:]
    return ended(children, name)._replace(lost=lost)


def unit_of(children: Children, name: str) -> str | None:
    """The unit of a child's last link; ``None`` for the loop, also for a child never linked."""
    child = children.living.get(name)
    return child.unit if child else children.left.get(name)


def observed(children: Children, seen: Observed, at: datetime) -> Children:
    """The children as a host saw them; ``at`` is the time where it did not say its own."""
    if not children.living:
        return children
    now = seen.now or at
    living = {name: _seen(child, seen.children.get(name), now) for name, child in children.living.items()}
    return children._replace(living=living)


def _seen(child: Child, said: ChildState | None, now: datetime) -> Child:
    if said is None:
        return child._replace(state="unknown", past_grace=False)
    past = said.state == "gone" and (said.last_write is None or _age(said.last_write, now) > child.grace)
    return child._replace(state=said.state, past_grace=past)


def _age(then: datetime, now: datetime) -> float:
    return (_utc(now) - _utc(then)).total_seconds()


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def out(state: BookState, unit: str | None = None) -> tuple[str, ...]:
    """The children that are out, in the order first linked: all of them, or those of one unit."""
    return tuple(
        name
        for name, child in state.children.living.items()
        if not child.past_grace and (unit is None or child.unit == unit)
    )


def linked_before(state: BookState, name: str) -> bool:
    """Whether a child was linked: it has something out, or is among the newest 50 that had."""
    return name in state.children.living or name in state.children.over


def past_grace(state: BookState) -> tuple[str, ...]:
    """The children that are gone, past their grace, unreported: each is to be told lost once."""
    return tuple(name for name, child in state.children.living.items() if child.past_grace)


def standing(child: Child) -> Literal["out", "in_grace", "gone"]:
    """How a child with something out stands: ``gone`` is past its grace, and will be lost."""
    if child.past_grace:
        return "gone"
    return "in_grace" if child.state == "gone" else "out"
