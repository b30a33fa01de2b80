"""Which loops were forked from which: what upkeep of one of them concerns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from loopbook.book.lineage import first_row
from loopbook.entry import decode
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


def forks_of(rows: Recorder, parent: str) -> list[Fork]:
    """All forks of a stream, and of those forks; each after its parent. Raises ``DamagedEntry``."""
    forks = [fork for stream in streams(rows, "loop:") if (fork := _fork(rows, stream)) is not None]
    found: list[Fork] = []
    known, grown = {parent}, True
    while grown:
        new = [fork for fork in forks if fork.parent in known and fork.stream not in known]
        found += new
        known |= {fork.stream for fork in new}
        grown = bool(new)
    return found


def _fork(rows: Recorder, stream: str) -> Fork | None:
    row = first_row(rows, stream)
    if row is None or row.topic != "forked":
        return None
    event = decode(*row).event
    return Fork(stream, event.from_, event.version) if isinstance(event, Forked) else None
