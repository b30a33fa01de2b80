"""Which loops were forked from which: what upkeep of one of them concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from loopbook.book.lineage import first_row
from loopbook.entry import decode
from loopbook.errors import DamagedEntry
from loopbook.events import Forked
from loopbook.store import Recorder

_PAGE = 1_000


class Fork(NamedTuple):
    """A stream that goes on from ``parent`` at ``version``."""

    stream: str
    parent: str
    version: int


def streams(rows: Recorder, prefix: str) -> Iterator[str]:
    """All streams whose names begin so."""
    after = ""
    while page := rows.streams(prefix, after, _PAGE):
        yield from page
        after = page[-1]


def all_forks(rows: Recorder) -> list[Fork]:
    """All forks of a store. One whose first entry cannot be read is none: nobody reads through it."""
    return [fork for stream in streams(rows, "loop:") if (fork := _fork(rows, stream)) is not None]


def forks_of(forks: Iterable[Fork], parents: Iterable[str]) -> list[Fork]:
    """Those of some forks that go on from these streams, or from each other; each after its parent."""
    left, found = list(forks), list[Fork]()
    known, grown = set(parents), True
    while grown:
        new = [fork for fork in left if fork.parent in known and fork.stream not in known]
        found += new
        known |= {fork.stream for fork in new}
        grown = bool(new)
    return found


def _fork(rows: Recorder, stream: str) -> Fork | None:
    try:
        row = first_row(rows, stream)
        event = decode(*row).event if row is not None and row.topic == "forked" else None
    except DamagedEntry:
        return None
    return Fork(stream, event.from_, event.version) if isinstance(event, Forked) else None
