"""Snapshots: whether each is the fold of the entries that it says to be of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from loopbook.book import Book
from loopbook.book.snapshots import Snapshot, unpack
from loopbook.errors import LoopbookError
from loopbook.projections import EMPTY, Folding, take
from loopbook.sealing import holds
from loopbook.store import Row, Stored
from loopbook.upkeep.findings import VACUUM, Finding


class Kept:
    """The snapshots of a store; remembered of each is where it stands."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._versions: dict[str, set[int]] = defaultdict(set)

    def _find(self, stream: str, version: int, what: str) -> None:
        self.findings.append(Finding(stream, version, what, VACUUM))

    def at(self, stored: Stored) -> None:
        """Look at one more."""
        stream, version, *_ = row = stored.row
        try:
            sound = stored.typed and holds(*row)
        except UnicodeEncodeError:
            sound = False
        if not sound:
            self._find(stream, version, "a snapshot was edited or moved")
        elif unpack(row) is not None:
            self._versions[stream].add(version)

    def end(self, book: Book) -> None:
        """Fold the entries once, and compare."""
        for stream, versions in self._versions.items():
            for version, what in _wrong(book, stream, versions):
                if _there(book, stream, version):  # unless it was scrubbed away meanwhile
                    self._find(stream, version, what)


def _wrong(book: Book, stream: str, versions: set[int]) -> Iterator[tuple[int, str]]:
    now, left = Folding(EMPTY), set(versions)
    try:
        for entry in book.entries(stream):
            take(now, entry)
            if entry.seq in left:
                left.discard(entry.seq)
                kept = _snapshot(book, stream, entry.seq)
                if kept is not None and (kept.stands[0].sum != entry.sum or kept.state != now.state()):
                    yield entry.seq, "a snapshot is not the fold of the entries"
            if not left:
                return
    except LoopbookError:
        pass  # the rows have their own findings
    for version in sorted(left):
        yield version, "a snapshot is of entries that are not there"


def _there(book: Book, stream: str, version: int) -> Row | None:
    row = book.records.rows.snapshot_newest(stream, version)
    return row if row is not None and row.originator_version == version else None


def _snapshot(book: Book, stream: str, version: int) -> Snapshot | None:
    row = _there(book, stream, version)
    return None if row is None else unpack(row)
