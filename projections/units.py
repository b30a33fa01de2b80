"""Units: parts of a loop.

Theory. Below two units a unit is only a name: every event belongs to the loop. From the second on
each unit is a subject with its own machine. A unit's machine is folded from the day it is added, so
that nothing must be read again when the second one comes. When that happens the first unit takes
over what was judged and said of the loop, which had been about it.

How many were ever added decides, not how many go on: a loop of two units does not become one again.
Units that ended stay for questions about them, the newest 50.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopbook.events import UnitAdded
from loopbook.projections.folding import Folding
from loopbook.projections.state import ENDED_UNITS, TEXT_CHARS, BookState, Heard, Subject, Unit, Work

Units = Mapping[str, Unit]


def added(units: Units, event: UnitAdded, work: Work) -> Units:
    """The units with one more; ``work`` is its fresh machine. An id added twice starts afresh."""
    after = {**units}
    after.pop(event.unit, None)
    after[event.unit] = Unit(event.subject[:TEXT_CHARS], work=work)
    return after


def first_takes_over(units: Units, loop: Subject) -> Units:
    """The units once there are two: what was said of the loop was said of the first."""
    first = next(iter(units))
    about = units[first].about._replace(heard=loop.heard)
    return {**units, first: units[first]._replace(about=about)}


def started(units: Units, name: str, seq: int) -> Units:
    """The units after work on one has begun; its first start stands."""
    unit = units.get(name)
    if unit is None or unit.started:
        return units
    return {**units, name: unit._replace(started=seq)}


def ended(units: Units, name: str, seq: int, *, dropped: bool) -> Units:
    """The units after one was done or dropped; its first end stands."""
    unit = units.get(name)
    if unit is None or unit.ended:
        return units
    after = {**units, name: unit._replace(ended=seq, dropped=dropped)}
    over = [key for key, one in after.items() if one.ended]
    if len(over) > ENDED_UNITS:
        del after[min(over, key=lambda key: after[key].ended)]
    return after


def going_on(state: BookState) -> tuple[str, ...]:
    """The units that are neither done nor dropped, in the order added."""
    return tuple(name for name, unit in state.units.items() if not unit.ended)


def subject_of(state: BookState | Folding, unit: str | None) -> str | None:
    """Whose event this is: the unit's where there are two or more and it is one, else the loop's."""
    return unit if state.units_added > 1 and unit in state.units else None


def heard(state: BookState, unit: str | None, advisor: str) -> Heard:
    """What an advisor has judged and said of a subject."""
    name = subject_of(state, unit)
    about = state.loop if name is None else state.units[name].about
    return about.heard.get(advisor, Heard())
