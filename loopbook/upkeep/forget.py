"""Forgetting a loop: its book is removed, and the catalogue says so.

Theory. What is removed is a whole stream with all that stands in the store because of it: its
reservations, its snapshots. What the catalogue said of it stays as entries of that chain, answered
by a last one, ``forgotten``. A fork reads its parent, so a parent goes only together with its forks.
All of it is one transaction, conditional on the catalogue's next entry, where a fork begun meanwhile
is seen, and on where each stream ends: a row is added there, and removed with the rest. A damaged row
is no end that anybody could go on from.

A loop that the catalogue lists without a book is forgotten too: so a store whose book was lost is
sound again.
"""

from __future__ import annotations

from datetime import datetime

from loopbook.book import CATALOGUE, Book, loop_stream
from loopbook.entry import Entry
from loopbook.errors import CannotForget, NoSuchLoop, StoreUnavailable
from loopbook.events import Catalogued
from loopbook.sealing import sum_in
from loopbook.store import IntegrityError, Row
from loopbook.upkeep.attempts import attempts
from loopbook.upkeep.family import all_forks, forks_of, streams
from loopbook.upkeep.rows import head_of, is_sum


def forget(book: Book, loop: str, *, now: datetime, session: str = "", with_forks: bool = False) -> list[str]:
    """Remove a loop's book, and with ``with_forks`` those forked from it; the ids of what went.

    Its bytes are still in the file until ``vacuum``. Raises ``NoSuchLoop``, ``CannotForget``
    where a fork would be left without its parent, ``DamagedEntry`` for a catalogue that ends damaged.

    >>> from datetime import UTC
    >>> from loopbook.books import Books
    >>> books = Books.open("memory:")
    >>> _ = books.start("chore", "Tidy the imports", id="tidy")
    >>> forget(books.book, "tidy", now=datetime.now(UTC)), books.list()
    (['tidy'], [])
    """
    stream, rows, session = loop_stream(loop), book.records.rows, book.hygiene.text(session)
    for _ in attempts():
        head = head_of(book, CATALOGUE)
        if not book.head(stream)[0] and not _is_listed(book, loop):
            raise NoSuchLoop(f"no loop {loop!r} in {book.url}; nothing was removed; see: loopbook loop list")
        forks = [fork.stream for fork in forks_of(all_forks(rows), [stream])]
        if forks and not with_forks:
            raise CannotForget(
                f"{len(forks)} forks read {loop} ({', '.join(forks[:5])}); nothing was removed;"
                " forget them first, or all at once with --with-forks"
            )
        gone = [stream, *forks]
        added = _said(book, gone, head, now, session)
        reservations = [name for one in gone for name in streams(rows, f"once:{one}:")]
        try:
            rows.replace((), added, (*gone, *reservations))
        except IntegrityError:
            continue
        return [name.removeprefix("loop:") for name in gone]
    raise StoreUnavailable(
        f"{book.url}: others write to its catalogue all the while; nothing was removed; try again"
    )


def _said(book: Book, gone: list[str], head: tuple[int, str], now: datetime, session: str) -> list[Row]:
    """What the catalogue says, and where each stream ends."""
    version, digest = head
    added: list[Row] = []
    for seq, name in enumerate(gone, version + 1):
        event = Catalogued(loop=name.removeprefix("loop:"), change="forgotten")
        added.append(book.records.codec.row(Entry(CATALOGUE, seq, event, now, session, prev=digest)))
        digest = sum_in(added[-1].state)
        last, own = book.head(name)
        if last and is_sum(own):  # from a damaged row nobody goes on
            added.append(book.records.codec.row(Entry(name, last + 1, event, now, session, prev=own)))
    return added


def _is_listed(book: Book, loop: str) -> bool:
    """Whether the catalogue says that there is such a loop."""
    changes = [
        entry.event.change
        for entry in book.entries(CATALOGUE)
        if isinstance(entry.event, Catalogued) and entry.event.loop == loop
    ]
    return bool(changes) and changes[-1] != "forgotten"
