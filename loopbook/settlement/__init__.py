"""The flow: what every advisor goes through, from a settled run to an advice, without I/O.

Theory. ``settle`` and ``close`` are generators. They yield ``Append`` and are sent ``Written``: the
newest state, and whether it was taken (it is not when the book has grown since ``after``). They yield
``Read`` and are sent that entry. They yield ``Ask`` and are sent ``Heard``: the answer, and the newest
state to look at again. They return what came of it. So the one flow is driven by an event loop, by a
thread, by a host that owns a judge, or by a test that stops it anywhere; and all it knows stands in
the book.

*Never twice.* Whatever was decided is appended at the version of the state it was decided on. If
that has grown, the advisor looks again: the same packet, the answer holds, whatever else was
appended; another packet is asked once more, then the answer is stale. A run that this advisor has
been through is not decided again, and judgment and notice are of one append: a crash loses an
answer or a delivery, and repeats nothing.

*Not too much.* A notice whose key is that of the subject's last one of its sort is a duplicate. A
key continues a run on the same trigger once, and ``max_continuations`` runs are continued over all
advisors between two human prompts; then one notice is said without continuing, and the rest is
silence until somebody prompts. One advisor speaks in a settle; the others' turn comes next time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loopbook.advisors.shape import Advisor, Scene
from loopbook.entry import Draft
from loopbook.events import ChildLost, CloseDeclared, LoopClosed, RunSettled
from loopbook.limits import MAX_CONTINUATIONS
from loopbook.projections import BookState, children, position
from loopbook.settlement import closing
from loopbook.settlement.case import Case
from loopbook.settlement.steps import (
    Advice,
    Append,
    Ask,
    CloseAnswer,
    Flow,
    Heard,
    Later,
    Read,
    Settlement,
    Traced,
    Written,
)
from loopbook.settlement.turns import advise, append, observe, read

__all__ = [
    "MAX_CONTINUATIONS", "Advice", "Append", "Ask", "CloseAnswer", "Flow", "Heard", "Later", "Read",
    "Settlement", "Traced", "Written", "close", "deliver", "settle",
]  # fmt: skip


def settle(
    state: BookState,
    run: Draft,
    advisors: Sequence[Advisor],
    *,
    judge: bool = True,
    max_continuations: int | None = MAX_CONTINUATIONS,
) -> Flow[Settlement]:
    """A run has come to rest: record it, and let the advisors speak in their order.

    ``run`` holds a ``RunSettled``; one that the book has is not written again, and where the loop is
    closed nothing is. Decided is on the run as the book has it. ``judge``: there is one to ask.
    ``max_continuations``: ``None`` lifts the bound.
    """
    event = run.event
    if not isinstance(event, RunSettled):
        raise TypeError(f"a settled run is needed, not {event.type}; nothing was written; give a RunSettled")
    state = yield from record(state, lambda now: () if _has(now, event.run) else (run,))
    if not _has(state, event.run):  # the book has it from so long ago that the state does not
        return Settlement(trace=tuple(Traced(advisor.name, "done before") for advisor in advisors))
    scene = Scene((yield from _kept(state, event)), judge)
    case = Case(scene, max_continuations, advisors)
    state = yield from record(state, _lost)
    yield from _heard(case, state)
    return Settlement(case.advice, tuple(case.trace), tuple(case.later), tuple(case.notes))


def close(
    state: BookState, claim: str, advisors: Sequence[Advisor], *, judge: bool = True
) -> Flow[CloseAnswer]:
    """A close is declared: record it, have it judged inside its run, and answer whether it is one.

    Whoever asks about it is heard, and it closes when all of them agree; there is no turn to take.
    With no judge to ask, or no advisor that asks about it, the loop closes when nothing is missing.
    """
    state = yield from record(state, lambda _now: (Draft(CloseDeclared(claim=claim)),))
    case = Case(Scene(None, judge), None, advisors, state.life.declared)
    state = yield from _heard(case, state)
    closed, missing = state.life.outcome is not None, position(state).missing
    pending = not closed and state.life.declared == case.declared
    said = case.concerns, missing, case.standing, case.advice
    return CloseAnswer(closed, *said, tuple(case.trace), tuple(case.later), pending)


def deliver(
    state: BookState, later: Later, *, max_continuations: int | None = MAX_CONTINUATIONS
) -> Flow[Settlement]:
    """Ask what was put off, and say what comes of it if it still holds then.

    What only observes leaves a judgment and says nothing. The last one that a close was put off for
    decides it.
    """
    case = Case(later.scene, max_continuations, later.advisors, later.declared)
    if later.observe is not None:
        yield from observe(case, later.advisor, state, later.observe)
    else:
        state = yield from advise(case, later.advisor, state, put_off=True)
        yield from record(state, lambda now: _end(case, now))
    return Settlement(case.advice, tuple(case.trace), (), tuple(case.notes))


def _heard(case: Case, state: BookState) -> Flow[BookState]:
    """Everybody in turn; and whoever agreed to a close over which the work has moved on once more."""
    for advisor in _order(case, state):
        state = yield from advise(case, advisor, state)
    for advisor in case.advisors:
        moved = closing.overtaken(state, case.scene, advisor)
        if moved or (state.life.declared and closing.objects(state, case.scene, advisor)):
            state = yield from advise(case, advisor, state)
    return (yield from record(state, lambda now: _end(case, now)))


def _order(case: Case, state: BookState) -> Sequence[Advisor]:
    """About a pending close first whoever objects on facts, for then nobody needs to be asked; and in a
    settle whoever is asked about it before the others, for what they have to say can wait."""
    if not state.life.declared:
        return case.advisors

    def rank(advisor: Advisor) -> tuple[bool, bool]:
        asked = case.run is not None and closing.awaited(state, case.scene, (advisor,))
        return not closing.objects(state, case.scene, advisor), not asked

    return sorted(case.advisors, key=rank)


def _end(case: Case, state: BookState) -> tuple[Draft, ...]:
    """The end of a loop about whose close nobody has yet to be heard: somebody agreed, or nobody asks."""
    life = state.life
    if not life.declared or closing.awaited(state, case.scene, case.advisors):
        return ()
    if closing.agreed(state):
        return (Draft(LoopClosed(outcome="met")),)
    unjudged = not life.stances and not position(state).missing
    return (Draft(LoopClosed(outcome="unjudged")),) if unjudged else ()


def _has(state: BookState, run: str) -> bool:
    """Whether a settled run need not be written: it is there, or the loop is closed."""
    return state.life.outcome is not None or any(one.run == run for one in state.runs.settled)


def _kept(state: BookState, run: RunSettled) -> Flow[RunSettled]:
    """A settled run as it stands in the book: without its secrets, or as it was settled first."""
    seqs = [one.seq for one in state.runs.settled if one.run == run.run]
    if not seqs:
        return run
    entry = yield from read(seqs[-1])
    return entry.event if isinstance(entry.event, RunSettled) else run


def _lost(state: BookState) -> tuple[Draft, ...]:
    """The children that are to be told lost."""
    if state.life.outcome is not None:
        return ()
    return tuple(Draft(ChildLost(child=name)) for name in children.past_grace(state))


def record(state: BookState, make: Callable[[BookState], tuple[Draft, ...]]) -> Flow[BookState]:
    """Write what there is to write at the newest state, whatever else is written meanwhile."""
    while drafts := make(state):
        state, taken = yield from append(drafts, state)
        if taken:
            break
    return state
