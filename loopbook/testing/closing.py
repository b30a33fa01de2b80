"""Bringing a loop to its close: doing what it says is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from loopbook.events import (
    Check,
    ChildDropped,
    ChildLinked,
    ChildReported,
    Decision,
    Event,
    TodoFollowupSet,
    UnitDone,
)
from loopbook.kinds import CLOSE, Need
from loopbook.projections import (
    BookState,
    Position,
    children,
    findings,
    phases,
    position,
    todos,
    units,
    verification,
)
from loopbook.testing.alphabet import CLEAN, PASS, meeting
from loopbook.testing.sheet import Sheet


class Lack(NamedTuple):
    """Where something is missing: whose machine it is, where that stands, and what would be done about it."""

    unit: str | None
    position: Position
    cures: tuple[Event, ...]

    def __str__(self) -> str:
        of = f"unit {self.unit}" if self.unit else "the loop"
        return f"{of} at {self.position.next} ({', '.join(self.position.missing)})"


def lack(state: BookState) -> Lack | None:
    """The first thing that is missing; nothing where the loop can be closed."""
    several = state.units_added > 1
    for unit in (*(units.going_on(state) if several else ()), None):
        now = position(state, unit)
        if now.missing:
            return Lack(unit, now, tuple(_cures(state, unit, now)))
    return None


def do(sheet: Sheet, found: Lack) -> Sheet:
    """The sheet once everything has been done that is missing there."""
    for event in found.cures:
        of_unit = found.unit if event.type in ("change", "check", "review", "decision", "source") else None
        sheet = sheet.add(event, of_unit)
    return sheet


def moved(sheet: Sheet, found: Lack) -> bool:
    """Whether a machine stands elsewhere, or misses something else."""
    now = lack(sheet.state)
    return now is None or now.unit != found.unit or now.position[1:3] != found.position[1:3]


def _cures(state: BookState, unit: str | None, now: Position) -> Iterator[Event]:
    plan = phases.plan_of(state.life.definition)
    needs = next(phase.needs for phase in plan.kind.phases if phase.name == now.next) if plan else ()
    for need in needs:
        if need.named == "closable" or need.missing in now.missing or _open(state, unit, need):
            yield from _cure(state, unit, need)
    if now.next == CLOSE and not any(need.named == "closable" for need in needs):
        yield from _settled(state, unit)


def _open(state: BookState, unit: str | None, need: Need) -> bool:
    """Whether a need that names what it lacks lacks something."""
    work = phases.machine(state, unit)
    if need.named == "verified":
        return not verification.verified(work.checks)
    return need.named == "no_open_finding" and bool(work.findings)


def _cure(state: BookState, unit: str | None, need: Need) -> Iterator[Event]:
    """What would be done about one need."""
    work = phases.machine(state, unit)
    match need.named:
        case None:
            event = meeting(need)
            if isinstance(event, ChildReported) and unit is not None:
                yield ChildLinked(child=event.child, unit=unit)  # whose report belongs to its link's unit
            yield event
        case "verified":
            failing = work.checks.failing
            yield from (Check(command=ran.command, scope=ran.scope, outcome="pass") for ran in failing)
            yield PASS
        case "reviewed":
            yield CLEAN
        case "no_open_finding":
            yield Decision(text="so be it", decided_by="user", resolves=findings.open_ids(work.findings))
        case "closable":
            yield from _settled(state, unit)


def _settled(state: BookState, unit: str | None) -> Iterator[Event]:
    """Units that are done, children that nobody waits for, todos that go on elsewhere."""
    if unit is not None and state.units_added > 1:
        yield UnitDone(unit=unit)
        return
    yield from (UnitDone(unit=name) for name in units.going_on(state))
    yield from (ChildDropped(child=name, why="over") for name in children.out(state))
    yield from (TodoFollowupSet(todo=name, followup="issue 7") for name in todos.loose(state))
