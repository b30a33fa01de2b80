"""The fold: one entry after another into the state.

Theory. ``evolve`` is pure and total: whatever a book holds, it gives a state and never raises, with
one exception, an entry that does not follow the state's version. So it forgives what admission would
have refused (a todo done twice, a unit nobody added): books come from other writers too. An event it
does not know only moves the version.

Each type has one handler in one table; a handler says which slices of the state an event moves and
leaves the rules to the slice's own module. Nothing is computed that the event cannot have moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.errors import VersionGap
from loopbook.projections import (
    children,
    friction,
    life,
    notices,
    phases,
    runs,
    spending,
    todos,
    units,
    verification,
)
from loopbook.projections.folding import Folding, Machine
from loopbook.projections.state import (
    DIFF_CHARS,
    EMPTY,
    TEXT_CHARS,
    BookState,
    LastEvidence,
    Notes,
    Subject,
    Work,
)


def evolve(state: BookState, entry: Entry) -> BookState:
    """The state after one more entry.

    Raises ``VersionGap`` when the entry is not the one that follows ``state.version``.

    >>> from datetime import UTC, datetime
    >>> entry = Entry("loop:a", 1, e.Task(text="write the retry"), datetime(2026, 1, 1, tzinfo=UTC))
    >>> evolve(EMPTY, entry).notes.tasks
    ('write the retry',)
    """
    now = Folding(state)
    take(now, entry)
    return now.state()


def fold(entries: Iterable[Entry], state: BookState = EMPTY) -> BookState:
    """The state after all of ``entries``. Raises ``VersionGap`` like ``evolve``."""
    now = Folding(state)
    for entry in entries:
        take(now, entry)
    return now.state()


def take(now: Folding, entry: Entry) -> None:
    """Move a fold on by one entry. Raises ``VersionGap`` like ``evolve``; nothing has moved then."""
    event = entry.event
    if entry.originator_version != now.version + 1:
        raise VersionGap(entry.originator_id, now.version, entry.originator_version)
    now.version = entry.originator_version
    handler = _HANDLERS.get(event.__class__)
    if handler is not None:
        handler(now, entry, event)


# --- the life of a loop ----------------------------------------------------------------------


def _loop_opened(now: Folding, entry: Entry, event: e.LoopOpened) -> None:
    seq, tier = entry.originator_version, event.review_tier
    if now.life.opened:
        return
    now.life = life.opened(event, seq, entry.session)
    plan = phases.plan_of(now.life.definition)
    now.work = Machine(phases.begun(now.work.work(), plan, tier, seq))
    now.units = {
        name: unit._replace(work=phases.begun(unit.work, plan, tier, seq)) for name, unit in now.units.items()
    }


def _session_adopted(now: Folding, entry: Entry, _event: e.SessionAdopted) -> None:
    now.life = now.life._replace(session=entry.session)


def _close_declared(now: Folding, entry: Entry, event: e.CloseDeclared) -> None:
    now.life = life.declared(now.life, event, entry.originator_version)


def _loop_closed(now: Folding, _entry: Entry, event: e.LoopClosed) -> None:
    now.life = life.decided(now.life)._replace(outcome=event.outcome)


def _loop_reopened(now: Folding, _entry: Entry, _event: e.LoopReopened) -> None:
    now.life = now.life._replace(outcome=None)


def _forked(now: Folding, entry: Entry, _event: e.Forked) -> None:
    """A fork goes on, in the session that made it, also where its parent had been closed."""
    now.life = now.life._replace(session=entry.session, outcome=None)


# --- evidence ----------------------------------------------------------------------------------


def _evidence(now: Folding, entry: Entry, event: e.Event) -> None:
    _with_evidence(now, entry, event, entry.unit)


def _child_reported(now: Folding, entry: Entry, event: e.ChildReported) -> None:
    unit = children.unit_of(now.children, event.child)
    _with_evidence(now, entry, event, unit)
    now.children = children.reported(now.children, event.child)
    if event.friction:
        _got_in_the_way(now, unit, event.friction, event.child)


def _with_evidence(now: Folding, entry: Entry, event: e.Event, unit: str | None) -> None:
    """The whole book's machine takes every piece of evidence, a unit's its own; the subject hears of it."""
    seq, several = entry.originator_version, now.units_added > 1
    plan, tier = phases.plan_of(now.life.definition), now.life.review_tier
    phases.turn(now.work, entry, None if several else plan, tier)
    if unit is None or unit not in now.units:
        now.loop = _heard_of(now.loop, event, seq, None)
        return
    if not several:
        now.loop = _heard_of(now.loop, event, seq, unit)
    own = now.units[unit]
    machine = Machine(own.work)
    phases.turn(machine, entry, plan, tier)
    about = _heard_of(own.about, event, seq, unit)
    now.units = {**now.units, unit: own._replace(work=machine.work(), about=about)}


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


def _todo_opened(now: Folding, entry: Entry, event: e.TodoOpened) -> None:
    now.todos = todos.opened(now.todos, event, entry.originator_version, entry.unit)


def _todo_followup_set(now: Folding, entry: Entry, event: e.TodoFollowupSet) -> None:
    now.todos = todos.followed_up(now.todos, event, entry.originator_version)


def _todo_ended(now: Folding, _entry: Entry, event: e.TodoCompleted | e.TodoDropped) -> None:
    now.todos = todos.ended(now.todos, event.todo)


def _unit_added(now: Folding, entry: Entry, event: e.UnitAdded) -> None:
    seq, before = entry.originator_version, now.units_added
    now.units_added += event.unit not in now.units
    plan, tier = phases.plan_of(now.life.definition), now.life.review_tier
    now.units = units.added(now.units, event, phases.begun(Work(), plan, tier, seq))
    if before == 1 and now.units_added == 2:
        now.units = units.first_takes_over(now.units, now.loop)
        now.work.since = seq


def _unit_started(now: Folding, entry: Entry, event: e.UnitStarted) -> None:
    now.units = units.started(now.units, event.unit, entry.originator_version)


def _unit_ended(now: Folding, entry: Entry, event: e.UnitDone | e.UnitDropped) -> None:
    dropped = isinstance(event, e.UnitDropped)
    now.units = units.ended(now.units, event.unit, entry.originator_version, dropped=dropped)


def _child_linked(now: Folding, entry: Entry, event: e.ChildLinked) -> None:
    unit = event.unit if event.unit is not None else entry.unit
    now.children = children.linked(now.children, event, unit, entry.at)


def _child_dropped(now: Folding, _entry: Entry, event: e.ChildDropped) -> None:
    now.children = children.ended(now.children, event.child)


def _child_lost(now: Folding, _entry: Entry, event: e.ChildLost) -> None:
    unit = children.unit_of(now.children, event.child)
    now.children = children.was_lost(now.children, event.child)
    _got_in_the_way(now, unit, friction.LOST, event.child)


def _task(now: Folding, entry: Entry, event: e.Task) -> None:
    _noted(now, entry.unit, lambda notes: friction.task(notes, event.text))


def _friction(now: Folding, entry: Entry, event: e.Friction) -> None:
    unit = entry.unit
    if unit is None and event.child is not None:
        unit = children.unit_of(now.children, event.child)
    _got_in_the_way(now, unit, event.text, event.child)


def _got_in_the_way(now: Folding, unit: str | None, text: str, child: str | None) -> None:
    _noted(now, unit, lambda notes: friction.friction(notes, text, child))


def _noted(now: Folding, unit: str | None, note: Callable[[Notes], Notes]) -> None:
    """The book's notes, and its unit's own, with one more."""
    now.notes = note(now.notes)
    if unit is not None and unit in now.units:
        own = now.units[unit]
        now.units = {**now.units, unit: own._replace(notes=note(own.notes))}


# --- runs and advice -------------------------------------------------------------------------------


def _prompted(now: Folding, entry: Entry, event: e.Prompted) -> None:
    now.runs = runs.prompted(now.runs, event, entry.originator_version)


def _run_settled(now: Folding, entry: Entry, event: e.RunSettled) -> None:
    last, machine = now.runs.last, now.work
    changed = machine.last["change"] > (last.seq if last else 0)
    machine.checks = verification.settled(machine.checks, event, changed_in_run=changed)
    now.children = children.observed(now.children, event.observed, entry.at)
    now.runs = runs.settled(now.runs, event, entry.originator_version, entry.session)


def _judged(now: Folding, entry: Entry, event: e.Judged) -> None:
    seq = entry.originator_version
    now.life = life.judged(now.life, event)
    now.spent = spending.spent(now.spent, event)
    if event.sort == "close" and event.run is not None:  # whether it has read the run depends on what it says
        return
    _about(now, entry.unit, lambda about: notices.judged(about, event.advisor, seq, event.read_to))
    now.runs = runs.judged(now.runs, event, units.subject_of(now, entry.unit))


def _noticed(now: Folding, entry: Entry, event: e.Noticed) -> None:
    seq, judged = entry.originator_version, event.judged
    if event.sort == "close" and event.run is not None and judged is not None:
        _about(now, entry.unit, lambda about: notices.judged(about, event.advisor, judged, judged - 1))
    _about(now, entry.unit, lambda about: notices.noticed(about, event, seq))
    now.life = life.noticed(now.life, event)
    for name in event.units:
        if units.subject_of(now, name) is not None:
            _about(now, name, lambda about: notices.named(about, event.advisor, seq))
    now.todos = todos.named(now.todos, event.todos, seq)
    now.runs = runs.gated(runs.noticed(now.runs, event, seq), event.run, event.advisor)


def _passed_over(now: Folding, entry: Entry, event: e.PassedOver) -> None:
    now.life = life.passed_over(now.life, event)
    now.runs = runs.passed_over(now.runs, event, entry.originator_version)
    now.spent = spending.spent(now.spent, event)


def _delivered(now: Folding, _entry: Entry, event: e.Delivered) -> None:
    now.runs = runs.delivered(now.runs, event.notice)


def _about(now: Folding, name: str | None, then: Callable[[Subject], Subject]) -> None:
    """What was said of one subject; below two units it was said of the loop."""
    unit = units.subject_of(now, name)
    if unit is None:
        now.loop = then(now.loop)
    else:
        one = now.units[unit]
        now.units = {**now.units, unit: one._replace(about=then(one.about))}


# --- the table ----------------------------------------------------------------------------------------

_Handler = Callable[[Folding, Entry, e.Event], None]
_E = TypeVar("_E", bound=e.Event)


def _on(cls: type[_E], handler: Callable[[Folding, Entry, _E], None]) -> tuple[type[e.Event], _Handler]:
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
