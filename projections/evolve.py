"""The fold: one entry after another into the state.

Theory. ``evolve`` is pure and total: whatever a book holds, it gives a state and never raises, with
one exception, an entry that does not follow the state's version. So it forgives what admission would
have refused (a todo done twice, a unit nobody added): books come from other writers too. An event it
does not know only moves the version.

Each type has one handler in one table; a handler says which slices of the state an event moves and
leaves the rules to the slice's own module. Nothing is computed that the event cannot have moved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.errors import VersionGap
from loopbook.projections import (
    children,
    friction,
    notices,
    phases,
    runs,
    spending,
    todos,
    units,
    verification,
)
from loopbook.projections.state import (
    DIFF_CHARS,
    EMPTY,
    TEXT_CHARS,
    BookState,
    LastEvidence,
    Life,
    Subject,
    Work,
)
from loopbook.run import PROMPT_CHARS


def evolve(state: BookState, entry: Entry) -> BookState:
    """The state after one more entry.

    Raises ``VersionGap`` when the entry is not the one that follows ``state.version``.

    >>> from datetime import UTC, datetime
    >>> entry = Entry("loop:a", 1, e.Task(text="write the retry"), datetime(2026, 1, 1, tzinfo=UTC))
    >>> evolve(EMPTY, entry).notes.tasks
    ('write the retry',)
    """
    if entry.originator_version != state.version + 1:
        raise VersionGap(entry.originator_id, state.version, entry.originator_version)
    handler = _HANDLERS.get(type(entry.event))
    if handler is None:
        return state._replace(version=entry.originator_version)
    return handler(state, entry, entry.event)


def fold(entries: Iterable[Entry], state: BookState = EMPTY) -> BookState:
    """The state after all of ``entries``. Raises ``VersionGap`` like ``evolve``."""
    for entry in entries:
        state = evolve(state, entry)
    return state


# --- the life of a loop ----------------------------------------------------------------------


def _loop_opened(state: BookState, entry: Entry, event: e.LoopOpened) -> BookState:
    seq, tier = entry.originator_version, event.review_tier
    if state.life.opened:
        return state._replace(version=seq)
    definition = _definition(event)
    plan = phases.plan_of(definition)
    life = Life(
        opened=seq,
        kind=event.kind[:TEXT_CHARS],
        intent=event.intent[:PROMPT_CHARS],
        anchor=event.anchor[:PROMPT_CHARS] if event.anchor is not None else None,
        review_tier=tier,
        definition=definition,
        session=entry.session,
    )
    known = {
        name: unit._replace(work=phases.begun(unit.work, plan, tier, seq))
        for name, unit in state.units.items()
    }
    return state._replace(version=seq, life=life, work=phases.begun(state.work, plan, tier, seq), units=known)


def _definition(event: e.LoopOpened) -> str:
    """The kind as text; "" where there is none, or one that this loopbook cannot read."""
    if event.definition is None:
        return ""
    try:
        text = json.dumps(dict(event.definition))
    except (TypeError, ValueError, RecursionError):
        return ""
    return text if phases.plan_of(text) else ""


def _session_adopted(state: BookState, entry: Entry, _event: e.SessionAdopted) -> BookState:
    life = state.life._replace(session=entry.session)
    return state._replace(version=entry.originator_version, life=life)


def _close_declared(state: BookState, entry: Entry, event: e.CloseDeclared) -> BookState:
    seq = entry.originator_version
    return state._replace(
        version=seq, life=state.life._replace(claim=event.claim[:PROMPT_CHARS], declared=seq)
    )


def _loop_closed(state: BookState, entry: Entry, event: e.LoopClosed) -> BookState:
    life = state.life._replace(outcome=event.outcome, claim=None, declared=0)
    return state._replace(version=entry.originator_version, life=life)


def _loop_reopened(state: BookState, entry: Entry, _event: e.LoopReopened) -> BookState:
    return state._replace(version=entry.originator_version, life=state.life._replace(outcome=None))


def _forked(state: BookState, entry: Entry, _event: e.Forked) -> BookState:
    """A fork goes on, in the session that made it, also where its parent had been closed."""
    life = state.life._replace(session=entry.session, outcome=None)
    return state._replace(version=entry.originator_version, life=life)


# --- evidence ----------------------------------------------------------------------------------


def _evidence(state: BookState, entry: Entry, event: e.Event) -> BookState:
    return _with_evidence(state, entry, event, entry.unit)


def _child_reported(state: BookState, entry: Entry, event: e.ChildReported) -> BookState:
    state = _with_evidence(state, entry, event, children.unit_of(state.children, event.child))
    notes = state.notes
    if event.friction:
        notes = friction.friction(notes, event.friction, event.child)
    return state._replace(children=children.reported(state.children, event.child), notes=notes)


def _with_evidence(state: BookState, entry: Entry, event: e.Event, unit: str | None) -> BookState:
    """The whole book's machine takes every piece of evidence, a unit's its own; the subject hears of it."""
    _, life, work, loop, known, units_added, open_todos, living, notes, run, spent = state
    seq, several = entry.originator_version, units_added > 1
    plan, tier = phases.plan_of(life.definition), life.review_tier
    work = phases.turn(work, entry, None if several else plan, tier)
    own = known.get(unit) if unit is not None else None
    if own is None or unit is None:
        loop = _heard_of(loop, event, seq, None)
    else:
        loop = loop if several else _heard_of(loop, event, seq, unit)
        after = phases.turn(own.work, entry, plan, tier)
        about = _heard_of(own.about, event, seq, unit)
        known = {**known, unit: own._replace(work=after, about=about)}
    return BookState(seq, life, work, loop, known, units_added, open_todos, living, notes, run, spent)


#: What a piece of evidence is kept as in one word: its outcome, tier or summary.
_WORD = {
    "change": "summary",
    "check": "outcome",
    "review": "tier",
    "decision": "text",
    "source": "summary",
    "child_reported": "summary",
}


def _heard_of(about: Subject, event: e.Event, seq: int, unit: str | None) -> Subject:
    word: str = getattr(event, _WORD[event.type])
    diff = about.diff_summary
    if isinstance(event, e.Change) and event.diff_summary:
        diff = event.diff_summary[:DIFF_CHARS]
    return Subject(LastEvidence(event.type, seq, word[:TEXT_CHARS], unit), diff, about.heard)


# --- todos, units, children, notes ---------------------------------------------------------------


def _todo_opened(state: BookState, entry: Entry, event: e.TodoOpened) -> BookState:
    seq = entry.originator_version
    return state._replace(version=seq, todos=todos.opened(state.todos, event, seq))


def _todo_followup_set(state: BookState, entry: Entry, event: e.TodoFollowupSet) -> BookState:
    seq = entry.originator_version
    return state._replace(version=seq, todos=todos.followed_up(state.todos, event, seq))


def _todo_ended(state: BookState, entry: Entry, event: e.TodoCompleted | e.TodoDropped) -> BookState:
    return state._replace(version=entry.originator_version, todos=todos.ended(state.todos, event.todo))


def _unit_added(state: BookState, entry: Entry, event: e.UnitAdded) -> BookState:
    seq, tier = entry.originator_version, state.life.review_tier
    plan = phases.plan_of(state.life.definition)
    total = state.units_added + (event.unit not in state.units)
    known = units.added(state.units, event, seq, phases.begun(Work(), plan, tier, seq))
    work = state.work
    if total == 2 and state.units_added == 1:
        known = units.first_takes_over(known, state.loop)
        work = work._replace(since=seq)
    return state._replace(version=seq, work=work, units=known, units_added=total)


def _unit_started(state: BookState, entry: Entry, event: e.UnitStarted) -> BookState:
    seq = entry.originator_version
    return state._replace(version=seq, units=units.started(state.units, event.unit, seq))


def _unit_ended(state: BookState, entry: Entry, event: e.UnitDone | e.UnitDropped) -> BookState:
    seq, dropped = entry.originator_version, isinstance(event, e.UnitDropped)
    return state._replace(version=seq, units=units.ended(state.units, event.unit, seq, dropped=dropped))


def _child_linked(state: BookState, entry: Entry, event: e.ChildLinked) -> BookState:
    seq = entry.originator_version
    unit = event.unit if event.unit is not None else entry.unit
    return state._replace(version=seq, children=children.linked(state.children, event, unit, seq, entry.at))


def _child_dropped(state: BookState, entry: Entry, event: e.ChildDropped) -> BookState:
    return state._replace(
        version=entry.originator_version, children=children.ended(state.children, event.child)
    )


def _child_lost(state: BookState, entry: Entry, event: e.ChildLost) -> BookState:
    return state._replace(
        version=entry.originator_version,
        children=children.was_lost(state.children, event.child),
        notes=friction.friction(state.notes, friction.LOST, event.child),
    )


def _task(state: BookState, entry: Entry, event: e.Task) -> BookState:
    return state._replace(version=entry.originator_version, notes=friction.task(state.notes, event.text))


def _friction(state: BookState, entry: Entry, event: e.Friction) -> BookState:
    notes = friction.friction(state.notes, event.text, event.child)
    return state._replace(version=entry.originator_version, notes=notes)


# --- runs and advice -------------------------------------------------------------------------------


def _prompted(state: BookState, entry: Entry, event: e.Prompted) -> BookState:
    seq = entry.originator_version
    return state._replace(version=seq, runs=runs.prompted(state.runs, event, seq))


def _run_settled(state: BookState, entry: Entry, event: e.RunSettled) -> BookState:
    seq, last = entry.originator_version, state.runs.last
    changed = state.work.last["change"] > (last.seq if last else 0)
    work = state.work
    checks = verification.settled(work.checks, event, changed_in_run=changed)
    return state._replace(
        version=seq,
        work=work if checks is work.checks else work._replace(checks=checks),
        children=children.observed(state.children, event.observed, entry.at),
        runs=runs.settled(state.runs, event, seq, entry.session),
    )


def _judged(state: BookState, entry: Entry, event: e.Judged) -> BookState:
    seq, life = entry.originator_version, state.life
    if event.sort == "close":
        life = life._replace(claim=None, declared=0)
    state = _about(state, entry.unit, lambda about: notices.judged(about, event, seq))
    passed = runs.gated(state.runs, event.run, event.advisor)
    return state._replace(version=seq, life=life, runs=passed, spent=spending.spent(state.spent, event))


def _noticed(state: BookState, entry: Entry, event: e.Noticed) -> BookState:
    seq = entry.originator_version
    state = _about(state, entry.unit, lambda about: notices.noticed(about, event, seq))
    for name in event.units:
        if units.subject_of(state, name) is not None:
            state = _about(state, name, lambda about: notices.named(about, event.advisor, seq))
    return state._replace(
        version=seq,
        todos=todos.named(state.todos, event.todos, seq),
        runs=runs.gated(runs.noticed(state.runs, event, seq), event.run, event.advisor),
    )


def _passed_over(state: BookState, entry: Entry, event: e.PassedOver) -> BookState:
    seq = entry.originator_version
    passed = runs.passed_over(state.runs, event, seq)
    return state._replace(version=seq, runs=passed, spent=spending.spent(state.spent, event))


def _delivered(state: BookState, entry: Entry, event: e.Delivered) -> BookState:
    seq = entry.originator_version
    return state._replace(version=seq, runs=runs.delivered(state.runs, event.notice))


def _about(state: BookState, name: str | None, then: Callable[[Subject], Subject]) -> BookState:
    """The state with what was said of one subject; below two units it was said of the loop."""
    unit = units.subject_of(state, name)
    if unit is None:
        return state._replace(loop=then(state.loop))
    one = state.units[unit]
    return state._replace(units={**state.units, unit: one._replace(about=then(one.about))})


# --- the table ----------------------------------------------------------------------------------------

_Handler = Callable[[BookState, Entry, e.Event], BookState]
_E = TypeVar("_E", bound=e.Event)


def _on(
    cls: type[_E], handler: Callable[[BookState, Entry, _E], BookState]
) -> tuple[type[e.Event], _Handler]:
    return cls, cast("_Handler", handler)  # called with events of the row's own type only


#: What moves the state; every other event (``base``, ``watch``, what is unknown) only counts.
_HANDLERS: Mapping[type[e.Event], _Handler] = dict(
    (
        _on(e.LoopOpened, _loop_opened),
        _on(e.SessionAdopted, _session_adopted),
        _on(e.CloseDeclared, _close_declared),
        _on(e.LoopClosed, _loop_closed),
        _on(e.LoopReopened, _loop_reopened),
        _on(e.Forked, _forked),
        _on(e.Change, _evidence),
        _on(e.Check, _evidence),
        _on(e.Review, _evidence),
        _on(e.Decision, _evidence),
        _on(e.Source, _evidence),
        _on(e.ChildReported, _child_reported),
        _on(e.TodoOpened, _todo_opened),
        _on(e.TodoFollowupSet, _todo_followup_set),
        _on(e.TodoCompleted, _todo_ended),
        _on(e.TodoDropped, _todo_ended),
        _on(e.UnitAdded, _unit_added),
        _on(e.UnitStarted, _unit_started),
        _on(e.UnitDone, _unit_ended),
        _on(e.UnitDropped, _unit_ended),
        _on(e.ChildLinked, _child_linked),
        _on(e.ChildDropped, _child_dropped),
        _on(e.ChildLost, _child_lost),
        _on(e.Task, _task),
        _on(e.Friction, _friction),
        _on(e.Prompted, _prompted),
        _on(e.RunSettled, _run_settled),
        _on(e.Judged, _judged),
        _on(e.Noticed, _noticed),
        _on(e.PassedOver, _passed_over),
        _on(e.Delivered, _delivered),
    )
)
