"""Phases: where a machine stands, computed from evidence alone.

Theory. A machine folds its evidence into the last seq of each type and, per matching need of the
kind, the last seq that met it. The phases are then walked in order: the first that applies and has
an unmet need is *next*. Going back is never stored: a later change moves ``last.change``, and what
had to follow it is unmet again. Nothing but evidence moves a phase, so the walk is made only for
evidence its kind speaks of; units, children and todos only change what ``close`` is missing, and
``close``, the last phase, is where the walk ends anyway.

A *step* is a phase with the seq since which it has been next. A phase that was met and opened again
is a new step.

With two or more units each has its machine over its own events, and the loop has only ``close``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from loopbook.entry import Entry
from loopbook.errors import InvalidKind, UnknownUnit
from loopbook.events import Change, Check, Decision, Event, Review, Tier
from loopbook.kinds import CLOSE, OPEN, Kind, Named, Need, from_definition
from loopbook.projections import children, findings, todos, units, verification
from loopbook.projections.folding import Machine
from loopbook.projections.state import BookState, Work
from loopbook.projections.verification import VerifyState

#: The types of evidence that move each named need.
_MOVES: Mapping[Named, tuple[str, ...]] = {
    "verified": ("change", "check"),
    "reviewed": ("change", "review"),
    "no_open_finding": ("change", "review", "decision"),
    "closable": (),
}


class Position(NamedTuple):
    """Where a machine stands. ``current`` is the last applying phase that is met (``open``: none
    yet), ``next`` the one that is not, ``missing`` its unmet needs in words (none: all is met), and
    ``since`` the seq since which it is next. Without a kind ``next`` is empty."""

    current: str
    next: str
    missing: tuple[str, ...]
    since: int


#: Whether a need asks for something that is not there, given a machine and the review its loop asks for.
Unmet = Callable[[Work | Machine, Tier], bool]


class Plan(NamedTuple):
    """A kind made ready for folding: per phase its needs with what tells that they are unmet, per
    evidence type the matches to try (a place and its need), and the types that can move a phase."""

    kind: Kind
    phases: tuple[tuple[tuple[Need, Unmet], ...], ...]
    tries: Mapping[str, tuple[tuple[int, Need], ...]]
    moved_by: frozenset[str]
    matches: int


@lru_cache(maxsize=64)
def plan_of(definition: str) -> Plan | None:
    """The plan of a kind kept as JSON text; ``None`` for a text that holds no kind we know."""
    if not definition:
        return None
    try:
        return _plan(from_definition(json.loads(definition)))
    except InvalidKind:
        return None


def _plan(kind: Kind) -> Plan:
    place = 0
    phases, tries, moved_by = [], dict[str, tuple[tuple[int, Need], ...]](), set[str]()
    for phase in kind.phases:
        needs = []
        for need in phase.needs:
            needs.append((need, _unmet(need, place)))
            moved_by.update(_MOVES[need.named] if need.named else ())
            moved_by.update(word for word in (need.evidence, need.after) if word)
            if need.evidence:
                tries[need.evidence] = (*tries.get(need.evidence, ()), (place, need))
                place += 1
        phases.append(tuple(needs))
    return Plan(kind, tuple(phases), tries, frozenset(moved_by), place)


# --- folding one machine -------------------------------------------------------------------


def begun(work: Work, plan: Plan | None, tier: Tier, seq: int) -> Work:
    """A machine from the moment its kind is known; what it matched before does not count."""
    if plan is None:
        return work._replace(since=seq)
    work = work._replace(since=seq, matches=(0,) * plan.matches)
    return work._replace(phase=walk(plan, work, tier))


def turn(machine: Machine, entry: Entry, plan: Plan | None, tier: Tier) -> None:
    """Turn a machine by one piece of evidence. ``plan`` is ``None`` where no phase is to be walked."""
    event, seq = entry.event, entry.originator_version
    word = event.type
    machine.last[word] = seq
    match event:
        case Change():
            machine.findings = findings.resolved(machine.findings, event.resolves)
            machine.checks = verification.changed(machine.checks, entry.line)
        case Check():
            machine.checks = verification.checked(machine.checks, event, seq, entry.line)
        case Review():
            machine.findings = findings.reviewed(machine.findings, event, seq)
            if event.tier == "full":
                machine.full = seq
            if not findings.objections(event):
                machine.clean = seq
        case Decision():
            machine.findings = findings.resolved(machine.findings, event.resolves)
    if plan is not None and word in plan.moved_by:
        _move(machine, event, seq, plan, tier)


def _move(machine: Machine, event: Event, seq: int, plan: Plan, tier: Tier) -> None:
    """Count what the evidence matches, and walk."""
    for place, need in plan.tries.get(event.type, ()):
        if _matches(need, event):
            machine.matches[place] = seq
    reached = walk(plan, machine, tier)
    if reached != machine.phase:
        machine.phase, machine.since = reached, seq


def _matches(need: Need, event: Event) -> bool:
    for field, values in need.where:  # noqa: SIM110 - a generator costs more than what it does here
        if getattr(event, field) not in values:
            return False
    return True


def walk(plan: Plan, work: Work | Machine, tier: Tier) -> int:
    """The place of the phase that is next: the first with an unmet need, at the latest the last."""
    place = 0
    for place, needs in enumerate(plan.phases):
        for _, unmet in needs:
            if unmet(work, tier):
                return place
    return place


def _unmet(need: Need, match: int) -> Unmet:
    """What tells whether a need is unmet; ``match`` is its place among the matches, if it has one."""
    after = need.after
    if need.named is not None:
        return _UNMET[need.named]
    if after is None:
        return lambda work, _: not work.matches[match]
    return lambda work, _: work.matches[match] <= work.last[after]


def _unreviewed(work: Work | Machine, tier: Tier) -> bool:
    reviewed = work.full if tier == "full" else work.last["review"]
    return tier != "none" and reviewed <= work.last["change"]


#: For named needs. ``closable`` is never met: the walk ends with it.
_UNMET: Mapping[Named, Unmet] = {
    "verified": lambda work, _: not verification.verified(work.checks),
    "reviewed": _unreviewed,
    "no_open_finding": lambda work, tier: tier != "none" and bool(work.findings),
    "closable": lambda _work, _tier: True,
}


def _applies(needs: tuple[tuple[Need, Unmet], ...], work: Work, tier: Tier) -> bool:
    """Whether any need of a phase asks anything of this loop now; a phase of which none does is not there."""
    asking = tier != "none"
    for need, _ in needs:
        if need.named == "no_open_finding" and not (asking and work.findings):
            continue
        if need.named != "reviewed" or asking:
            return True
    return False


# --- saying where it stands ----------------------------------------------------------------


def position(state: BookState, unit: str | None = None) -> Position:
    """Where the loop stands, or one of its units. Below two units every unit is the loop.

    Raises ``UnknownUnit``.

    >>> from loopbook.projections.state import EMPTY
    >>> position(EMPTY)
    Position(current='open', next='', missing=(), since=0)
    """
    plan = plan_of(state.life.definition)
    work = machine(state, unit)
    if plan is None:
        return Position(OPEN, "", (), 0)
    if state.units_added > 1 and unit is None:
        return Position(OPEN, CLOSE, _not_closable(state), work.since)
    tier = state.life.review_tier
    phase = plan.kind.phases[work.phase]
    missing: list[str] = []
    for need, unmet in plan.phases[work.phase]:
        if need.named == "closable":
            missing += _not_closable(state) if state.units_added < 2 else _not_done(state, unit)
        elif unmet(work, tier):
            missing += _words(need, work)
    return Position(_current(plan, work, tier), phase.name, tuple(missing), work.since)


def _words(need: Need, work: Work) -> tuple[str, ...]:
    """What an unmet need lacks: in the kind's words, or by name."""
    if need.named == "no_open_finding":
        return findings.open_ids(work.findings)
    return verification.missing(work.checks, need.missing) if need.named == "verified" else (need.missing,)


def _current(plan: Plan, work: Work, tier: Tier) -> str:
    for place in range(work.phase - 1, -1, -1):
        if _applies(plan.phases[place], work, tier):
            return plan.kind.phases[place].name
    return OPEN


def _not_closable(state: BookState) -> tuple[str, ...]:
    loose = len(todos.loose(state))
    words = [f"unit {name}" for name in units.going_on(state)]
    words += [f"child {name} is out" for name in children.out(state)]
    if loose:
        words.append(f"{loose} todo{'s' if loose > 1 else ''} without a follow-up")
    return tuple(words)


def _not_done(state: BookState, unit: str | None) -> tuple[str, ...]:
    return ("mark it done",) if unit is not None and not state.units[unit].ended else ()


def verify_state(state: BookState, unit: str | None = None) -> VerifyState:
    """What verification says: of the whole book, or of a unit's own events when there are two units.

    Raises ``UnknownUnit``.

    >>> from loopbook.projections.state import EMPTY
    >>> verify_state(EMPTY)
    'none'
    """
    return verification.verify_word(machine(state, unit))


def machine(state: BookState, unit: str | None) -> Work:
    """The machine of a subject. Raises ``UnknownUnit`` for a unit that is not in the state."""
    if unit is None:
        return state.work
    if unit not in state.units:
        raise UnknownUnit(f"no unit {unit!r} in this loop; nothing was read; `unit add` it first")
    return state.work if state.units_added < 2 else state.units[unit].work
