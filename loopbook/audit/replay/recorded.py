"""The decisions of a book, each with the state before it.

Theory. What was decided together was saved together, so a decision is a row of entries without another
one between them: a judgment and what came of it, a notice and the bound that stands beside it, a silence
and the close it led to. ``Walk`` folds the entries and gives each row once it is whole. Beside the state
it keeps what a decision reads and the state does not: the settled runs, the newest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from loopbook.advisors.basis import Basis
from loopbook.entry import Entry
from loopbook.events import (
    ChildLost,
    Forked,
    Judged,
    LoopClosed,
    Noticed,
    PassedOver,
    RunSettled,
)
from loopbook.projections import EMPTY, BookState, evolve
from loopbook.settlement.steps import BOUND

#: How many settled runs are kept: a decision is made of one of the newest.
RUNS = 256

Said = Judged | Noticed | PassedOver
V = TypeVar("V")


class Recorded(NamedTuple):
    """One decision as a book has it. ``run`` is what it is about, if it was found; ``spoken`` are the
    advisors that had spoken for the same run. ``cut``: a fork goes on from within it."""

    entries: tuple[Entry, ...]
    before: BookState
    run: RunSettled | None = None
    spoken: frozenset[str] = frozenset()
    cut: bool = False

    @property
    def first(self) -> Entry:
        """The entry it begins with."""
        return self.entries[0]

    @property
    def said(self) -> Said | None:
        """What it begins with, where it is an advisor's."""
        event = self.first.event
        return event if isinstance(event, Said) else None

    @property
    def others(self) -> bool:
        """Whether others had yet to be heard about the close: no end of the loop came of it."""
        if isinstance(self.said, Judged):
            return self.said.pending is not None
        return not any(isinstance(entry.event, LoopClosed) for entry in self.entries)


def decisions(entries: Iterable[Entry], walk: Walk | None = None) -> Iterator[Recorded]:
    """Every decision, in order; ``walk`` is left where the entries end."""
    walk = walk or Walk()
    for entry in entries:
        if (whole := walk.take(entry)) is not None:
            yield whole
    if (whole := walk.end()) is not None:
        yield whole


class Walk:
    """Entries taken one after another. ``state`` is what they have come to."""

    def __init__(self) -> None:
        self.state: BookState = EMPTY
        self._open: list[Entry] = []
        self._before: BookState = EMPTY
        self._runs: dict[str, RunSettled] = {}
        self._spoken: dict[str, frozenset[str]] = {}

    def take(self, entry: Entry) -> Recorded | None:
        """Take one more; the decision that was whole before it. Raises ``VersionGap``."""
        after = evolve(self.state, entry)
        whole = None if self.goes_on(entry) else self.end(cut=isinstance(entry.event, Forked))
        if self._open:
            self._open.append(entry)
        elif _decides(self.state, entry):
            self._open, self._before = [entry], self.state
        elif isinstance(entry.event, RunSettled):
            self._runs.pop(entry.event.run, None)
            _keep(self._runs, entry.event.run, entry.event)
        self.state = after
        return whole

    def end(self, *, cut: bool = False) -> Recorded | None:
        """The decision that is open, which no further entry belongs to; ``cut``: because of a fork."""
        if not self._open:
            return None
        entries, self._open = tuple(self._open), []
        said = entries[0].event
        whole = Recorded(entries, self._before, cut=cut)
        if not isinstance(said, Said) or said.run is None:
            return whole
        spoken = self._spoken.get(said.run, frozenset())
        if any(isinstance(entry.event, Noticed) for entry in entries):
            _keep(self._spoken, said.run, spoken | {said.advisor})
        return whole._replace(run=self._runs.get(said.run), spoken=spoken)

    def goes_on(self, entry: Entry) -> bool:
        """Whether an entry belongs to the decision that is open."""
        if not self._open:
            return False
        last, event = self._open[-1], entry.event
        match last.event:
            case Judged():
                rests = isinstance(event, Noticed) and event.judged == last.seq
                silent = isinstance(event, PassedOver) and not Basis.read(last.event.basis).observed
                return (rests or silent) and _same(last, entry)
            case Noticed():
                return isinstance(event, PassedOver) and event.reason == BOUND and _same(last, entry)
            case PassedOver():
                met = isinstance(event, LoopClosed) and event.outcome == "met"
                first = self._open[0].event
                decided = not isinstance(first, Judged) or first.pending is None
                return met and decided and self._before.life.declared > 0
        return False


def _decides(state: BookState, entry: Entry) -> bool:
    """Whether an entry is a decision's first: an advisor's, a lost child, or an end that nobody declared
    by hand."""
    event = entry.event
    if isinstance(event, LoopClosed):
        return event.outcome == "met" or (event.outcome == "unjudged" and state.life.declared > 0)
    return isinstance(event, Said | ChildLost)


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries are one advisor's, about one subject of one run."""
    a, b = one.event, other.event
    if not (isinstance(a, Said) and isinstance(b, Said)):
        return False
    return (a.advisor, a.run, one.unit) == (b.advisor, b.run, other.unit)


def _keep(kept: dict[str, V], key: str, value: V) -> None:
    kept[key] = value
    if len(kept) > RUNS:
        del kept[next(iter(kept))]
