"""Which loops were forked from which: what upkeep of one of them concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from loopbook.book import Book
from loopbook.book.lineage import first_row, lineage
from loopbook.encoding import decode
from loopbook.errors import CannotScrub, DamagedEntry
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


def family(book: Book, stream: str) -> tuple[str, ...]:
    """The streams that hang together with a book by forks, each after its parent.

    Raises ``CannotScrub`` where there is no such book.
    """
    parts = [segment.stream for segment in lineage(book.records.rows, stream)]
    if not parts:
        raise CannotScrub(f"there is no {stream} in {book.url}; nothing was written; see: loopbook loop list")
    forks = forks_of(all_forks(book.records.rows), parts[:1])
    return tuple(dict.fromkeys([*parts, *(fork.stream for fork in forks)]))


def with_forks(book: Book, streams: Set[str]) -> tuple[str, ...]:
    """Some streams with their forks and the forks of these, each after its parent."""
    forks = all_forks(book.records.rows)
    names = streams | {fork.stream for fork in forks_of(forks, streams)}
    within = {fork.stream: fork for fork in forks if fork.stream in names and fork.parent in names}
    begun = sorted(names - within.keys())
    after = [fork.stream for fork in forks_of(within.values(), begun)]
    return tuple(dict.fromkeys([*begun, *after, *sorted(names)]))


def _fork(rows: Recorder, stream: str) -> Fork | None:
    try:
        row = first_row(rows, stream)
        event = decode(*row).event if row is not None and row.topic == "forked" else None
    except DamagedEntry:
        return None
    return Fork(stream, event.from_, event.version) if isinstance(event, Forked) else None
