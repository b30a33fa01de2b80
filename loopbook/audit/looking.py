"""What is read of a book on the way to an entry that is to be explained."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from loopbook.audit.replay.recorded import Recorded, decisions
from loopbook.entry import Entry
from loopbook.events import CloseDeclared, Finding, Noticed, Review, RunSettled
from loopbook.projections.state import OpenFinding

#: How far back it is looked what has happened since the last notice, in entries, and what was found.
LOOKS_BACK = 10_000


class Looking:
    """What is read on the way to an entry."""

    def __init__(self, seq: int | None) -> None:
        self._seq = seq
        self._target: Entry | None = None
        self._next: int | None = None
        self._end = 0
        self.types: deque[tuple[int, str]] = deque(maxlen=LOOKS_BACK)
        self.notices: dict[int, Noticed] = {}
        self._findings: deque[tuple[int, str, Finding]] = deque(maxlen=LOOKS_BACK)

    @property
    def settled(self) -> bool:
        """Whether the entry that was asked for is a run or a close, about which nothing may be decided."""
        return self._target is not None and isinstance(self._target.event, RunSettled | CloseDeclared)

    def at(self, entries: Iterable[Entry]) -> Iterator[Recorded]:
        """The decisions that are asked for, each when it is reached."""
        last = None
        for one in decisions(self._noting(entries)):
            if self._seq is None:
                last = one
            elif self._asked_for(one):
                yield one
            for entry in one.entries:
                if isinstance(entry.event, Noticed):
                    self.notices = {**dict([*self.notices.items()][-99:]), entry.seq: entry.event}
        if last is not None:
            yield last

    def _noting(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        for entry in entries:
            self.types.append((entry.seq, entry.event.type))
            self._end = entry.seq
            if entry.seq == self._seq:
                self._target = entry
            if isinstance(entry.event, Review):
                self._findings += [(entry.seq, entry.event.reviewer, one) for one in entry.event.findings]
            yield entry

    def _asked_for(self, one: Recorded) -> bool:
        seq, target, said = self._seq or 0, self._target, one.said
        if one.first.seq <= seq <= one.entries[-1].seq:
            return True
        if one.first.seq < seq or target is None:
            return False
        self._next = self._next or one.first.seq
        match target.event:
            case RunSettled(run=run):
                return said is not None and said.run == run
            case CloseDeclared():
                return said is not None and said.run is None
        return False

    def nothing(self) -> str:
        """Why there is nothing to explain."""
        if self._seq is None:
            return "nothing was decided in this book; nothing was done; settle a run first"
        if self._target is None:
            return (
                f"there is no entry {self._seq}, the last is {self._end}; nothing was done; name another one"
            )
        what = f"at entry {self._seq} ({self._target.event.type}) nothing was decided; nothing was done; "
        return what + (f"the next decision is at {self._next}" if self._next else "none follows it either")

    def finding(self, about: OpenFinding, before: int) -> Finding | None:
        """How its reviewer has put a finding last, before the entry of this seq."""
        for seq, reviewer, found in reversed(self._findings):
            if seq < before and (reviewer, found.id) == (about.reviewer, about.id):
                return found
        return None
