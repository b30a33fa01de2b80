"""Rows and chains: whether each row is sound, and follows the one before it.

One pass over the rows of a store, in the order of stream and version. Of each stream no more is
kept than its newest version and ``sum``, and where it begins if it is a fork.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from loopbook.book import Book
from loopbook.book.lineage import first_row
from loopbook.encoding import decode
from loopbook.entry import Entry
from loopbook.errors import DamagedEntry
from loopbook.events import Forked, Scrubbed
from loopbook.sealing import sum_in
from loopbook.store import Row, Stored
from loopbook.upkeep.findings import RESCUE, Finding, Head
from loopbook.upkeep.heads import seq_of
from loopbook.upkeep.rows import Unsound, row_at, verified


class Fork(NamedTuple):
    """A stream that goes on from ``parent`` at ``version``, whose ``sum`` it says to be ``prev``."""

    stream: str
    parent: str
    version: int
    prev: str


class Former(NamedTuple):
    """A head from before texts were scrubbed: whose ``sum`` it was, and at which seq that is told."""

    sum: str
    stream: str
    seq: int
    told: int


class Chains:
    """What is found of rows, of the chains they form, and of heads that were noted elsewhere."""

    def __init__(self, heads: Iterable[Head] = ()) -> None:
        self.rows = self.streams = 0
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.forks: dict[str, Fork] = {}
        self._newest: dict[str, tuple[int, str]] = {}
        self._heads = list(heads)
        self._former: list[Former] = []
        self._last: str | None = None

    def _find(self, stream: str, seq: int | None, what: str) -> None:
        self.findings.append(Finding(stream, seq, what, RESCUE))

    def at(self, stored: Stored) -> Entry | None:
        """Look at one more row; its entry, if it can be read at all."""
        row = stored.row
        self.rows += 1
        self.streams += row.originator_id != self._last
        self._last = row.originator_id
        entry = self._entry(row, typed=stored.typed)
        if not row.originator_id.startswith("once:"):  # such a stream has one row, and no chain
            self._follow(row, entry)
        return entry

    def _entry(self, row: Row, *, typed: bool) -> Entry | None:
        try:
            entry = verified(row)
        except Unsound as wrong:
            self._find(row.originator_id, row.originator_version, str(wrong))
        else:
            if typed:
                self._look_for(entry)
                return entry
            self._find(entry.stream, entry.seq, "one of its values is of another type")
        try:
            return decode(*row)
        except DamagedEntry:
            return None

    def _look_for(self, entry: Entry) -> None:
        """Strike out the heads that an entry is, and those that it tells to be from before a scrubbing."""
        for head in [*self._heads]:
            if head.stream not in {None, entry.stream}:
                continue
            of = seq_of(head.sum, entry.event, entry.seq) if isinstance(entry.event, Scrubbed) else None
            if of is not None:
                self._former.append(Former(head.sum, entry.stream, of, entry.seq))
            if head.sum == entry.sum or of is not None:
                self._heads.remove(head)

    def _follow(self, row: Row, entry: Entry | None) -> None:
        stream, version, topic, state = row
        before, digest = self._newest.get(stream, (0, ""))
        if before == 0 and entry is not None and topic == "forked" and version > 1:
            self._fork(entry)
        elif version != before + 1:
            gap = (
                f"seq {before + 1} is" if version == before + 2 else f"seq {before + 1} to {version - 1} are"
            )
            self._find(stream, before + 1, f"{gap} missing before seq {version}")
        elif entry is not None and entry.prev != digest:
            what = f"it does not follow the entry before it: seq {before} was written anew or another one"
            self._find(stream, version, what if before else "it follows an entry that is not there")
        self._newest[stream] = version, sum_in(state)

    def _fork(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Forked) and event.version == entry.seq - 1:
            self.forks[entry.stream] = Fork(entry.stream, event.from_, event.version, entry.prev)
        else:
            self._find(entry.stream, entry.seq, "it begins with a fork that says another seq")

    # --- after the last row -----------------------------------------------------------------

    def end(self, book: Book) -> None:
        """Look whether each fork goes on from an entry that is there, and each head was met."""
        for fork in self.forks.values():
            if what := _torn_off(book, fork):
                self._find(fork.stream, fork.version + 1, what)
        self.notes += [_now(book, former) for former in self._former]
        for head in self._heads:
            what = (
                f"no entry has the sum {head.sum}, noted elsewhere: its end was cut, or it was written anew"
            )
            self._find(head.stream or "store", None, what)


def _now(book: Book, former: Former) -> str:
    """What is to be noted in place of a head: its entry stands where it stood, however often it changed."""
    row = row_at(book.records.rows, former.stream, former.seq)
    now = "is not there any more" if row is None else f"now has {sum_in(row.state)}"
    return (
        f"the head {former.sum} of {former.stream} is from before texts were scrubbed"
        f" (told at seq {former.told}); the same entry, seq {former.seq}, {now}"
    )


def _torn_off(book: Book, fork: Fork) -> str:
    """Why a fork does not go on from its parent; "" where it does.

    The parent is read now, and may have been scrubbed since the fork was: then the fork was too.
    """
    place = f"{fork.parent} seq {fork.version}, from which it was forked,"
    for _ in range(3):
        try:
            row = row_at(book.records.rows, fork.parent, fork.version)
            if row is not None and sum_in(row.state) == fork.prev:
                return ""
            own = first_row(book.records.rows, fork.stream)
            now = None if own is None else decode(*own).prev
        except DamagedEntry:
            return ""  # which is found already
        if now is None:
            return ""  # it was forgotten meanwhile
        what = f"{place} is not there" if row is None else f"{place} was written anew"
        if now == fork.prev:
            return what
        fork = fork._replace(prev=now)
    return ""


def whence(forks: Mapping[str, Fork], stream: str) -> Iterator[Fork]:
    """A fork, then its parent if that is one too, and so on; nothing twice."""
    passed, fork = {stream}, forks.get(stream)
    while fork is not None:
        yield fork
        if fork.parent in passed:
            return
        passed.add(fork.parent)
        fork = forks.get(fork.parent)
