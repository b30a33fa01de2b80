"""A book in memory that flows are driven over, stopped at every yield, with what happens in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Packet, answer_from
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Advisor
from loopbook.entry import Draft, Entry
from loopbook.kinds_at_hand import load_kinds
from loopbook.projections import EMPTY, BookState, evolve
from loopbook.settlement import (
    Append,
    Ask,
    CloseAnswer,
    Flow,
    Heard,
    Read,
    Settlement,
    Written,
    close,
    settle,
)
from tests.replaying import REPLAYED

T = TypeVar("T")
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
CONTENT = {"move": "advance", "done": 0.9, "review_tier": "none", "quality": 3}
KINDS = load_kinds()
__all__ = ["CONTENT", "NOON", "Table", "reasons"]


class Table:
    """Entries folded one by one. ``thinking`` runs when a judge is asked, ``before_append`` before each
    append, which then sees a conflict if it wrote. ``answers`` are said first."""

    def __init__(self, kind: str = "change", tier: e.Tier = "light", *, opened: bool = True) -> None:
        self.state: BookState = EMPTY
        self.entries: list[Entry] = []
        self.asked: list[Packet] = []
        self.decided: set[int] = set()
        self.answers: list[dict[str, object] | Answer | Failure] = []
        self.thinking: list[Callable[[], None]] = []
        self.before_append: list[Callable[[], None]] = []
        self.idle = True
        if opened:
            definition = KINDS[kind].definition()
            self.add(e.LoopOpened(kind=kind, intent="Add a retry", review_tier=tier, definition=definition))

    def add(self, event: e.Event, unit: str | None = None) -> None:
        """One more entry."""
        entry = Entry("loop:t", self.state.version + 1, event, NOON, "s", unit)
        self.state = evolve(self.state, entry)
        self.entries.append(entry)

    def of(self, kind: type[e.Event]) -> list[e.Event]:
        """The events of a type."""
        return [entry.event for entry in self.entries if isinstance(entry.event, kind)]

    def change(self, unit: str | None = None, summary: str = "one") -> None:
        """A change."""
        self.add(e.Change(summary=summary, paths=("a.py",)), unit)

    def check(self, outcome: e.Outcome = "pass", unit: str | None = None) -> None:
        """A check of the tests."""
        self.add(e.Check(command="pytest", outcome=outcome), unit)

    def units(self, *names: str) -> None:
        """Units that are started."""
        for name in names:
            self.add(e.UnitAdded(unit=name, subject=f"module {name}"))
        for name in names:
            self.add(e.UnitStarted(unit=name))

    def settle(
        self,
        run: str | e.RunSettled = "r1",
        said: dict[str, object] | Failure | None = None,
        *,
        advisors: Sequence[Advisor] = (SecondThought(),),
        judge: bool = True,
        most: int | None = 8,
    ) -> Settlement:
        """A run settles."""
        event = e.RunSettled(run=run) if isinstance(run, str) else run
        flow = settle(self.state, Draft(event), advisors, judge=judge, max_continuations=most)
        return self.drive(flow, CONTENT if said is None else said)

    def close(
        self,
        said: dict[str, object] | Failure | None = None,
        *,
        judge: bool = True,
        advisors: Sequence[Advisor] = (SecondThought(),),
    ) -> CloseAnswer:
        """A close is declared."""
        flow = close(self.state, "It is done.", advisors, judge=judge)
        return self.drive(flow, CONTENT if said is None else said)

    def drive(self, flow: Flow[T], said: dict[str, object] | Failure) -> T:
        """Drive a flow to its end."""
        reply: Heard | Written | Entry | None = None
        while True:
            try:
                step = next(flow) if reply is None else flow.send(reply)
            except StopIteration as end:
                REPLAYED.same(self.entries, self.decided)
                result: T = end.value
                return result
            reply = self.reply(step, said)

    def reply(self, step: Append | Read | Ask, said: dict[str, object] | Failure) -> Heard | Written | Entry:
        """What a driver would send."""
        if isinstance(step, Read):
            return self.entries[step.seq - 1]
        if isinstance(step, Ask):
            self.asked.append(step.packet)
            now = self.answers.pop(0) if self.answers else said
            if self.thinking:
                self.thinking.pop(0)()
            answer: Answer | Failure = (
                now if isinstance(now, Answer | Failure) else answer_from(step.packet.questions, now)
            )
            return Heard(answer, self.state, self.idle)
        if self.before_append:
            self.before_append.pop(0)()
        if step.after != self.state.version:
            return Written(self.state, taken=False)
        for draft in step.drafts:
            self.add(draft.event, draft.unit)
            self.decided.add(self.state.version)
        return Written(self.state, taken=True)


def reasons(came: Settlement | CloseAnswer) -> list[str]:
    """The reasons of silence, in order."""
    return [one.reason for one in came.trace if one.reason]
