"""What an audit counts: all that happened, while the book's state keeps what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from loopbook import events as e
from loopbook.audit.model import CheckCount, ChildCount, PhaseNow, Summary, TodoCount, Verdict
from loopbook.projections import BookState, children, phases, record_of, todos, verify_state


class Tally:
    """Counts events and verdicts; its size depends on the words there are, not on the session."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._verdicts: Counter[Verdict] = Counter()

    def event(self, event: e.Event) -> None:
        """Count one event of the book."""
        self._counts[event.type,] += 1
        if isinstance(event, e.Check):
            self._counts["check", event.scope, event.outcome] += 1
            self._counts["masked", event.scope, ""] += event.masked
        elif isinstance(event, e.Prompted):
            self._counts["prompted", event.origin] += 1
        elif isinstance(event, e.RunSettled):
            self._counts["run_settled", event.stop] += 1

    def verdict(self, verdict: Verdict) -> None:
        """Count one weighed claim."""
        self._verdicts[verdict] += 1

    def summary(self, state: BookState, problems: int) -> Summary:
        """The counts, and what the state at the end of the session says."""
        counts = self._counts
        return Summary(
            prompts=self._words("prompted"),
            runs=self._words("run_settled"),
            changes=counts["change",],
            checks=tuple(self._checks()),
            reviews=counts["review",],
            sources=counts["source",],
            decisions=counts["decision",],
            todos=self._todos(state),
            children=self._children(state),
            phase=phase_now(state),
            verify=verify_state(state),
            possibly_stale=record_of(state).possibly_stale,
            claims={verdict: self._verdicts[verdict] for verdict in get_args(Verdict)},
            problems=problems,
        )

    def _words(self, word: str) -> dict[str, int]:
        return {key[1]: number for key, number in self._counts.items() if key[0] == word and len(key) == 2}

    def _checks(self) -> Iterator[CheckCount]:
        for scope in get_args(e.Scope):
            passed, failed, unknown = (self._counts["check", scope, end] for end in get_args(e.Outcome))
            if passed or failed or unknown:
                masked = self._counts["masked", scope, ""]
                yield CheckCount(scope=scope, passed=passed, failed=failed, unknown=unknown, masked=masked)

    def _todos(self, state: BookState) -> TodoCount:
        return TodoCount(
            opened=self._counts["todo_opened",],
            completed=self._counts["todo_completed",],
            dropped=self._counts["todo_dropped",],
            open=len(state.todos),
            loose=len(todos.loose(state)),
        )

    def _children(self, state: BookState) -> ChildCount:
        return ChildCount(
            linked=self._counts["child_linked",],
            reported=self._counts["child_reported",],
            dropped=self._counts["child_dropped",],
            lost=self._counts["child_lost",],
            out=len(children.out(state)),
        )


def phase_now(state: BookState) -> PhaseNow | None:
    """Where the loop stands; ``None`` before it was opened."""
    if not state.life.opened:
        return None
    position = phases.position(state)
    return PhaseNow(current=position.current, next=position.next, missing=position.missing)
