"""Whether a store is what its writers wrote: every row, every chain, and all that follows from them.

Theory. The store is read through once, as of one moment. No entry is kept, but what is compared at the
end: of each stream its newest ``sum`` and, by kind of key, a number that the keys were added up to; of
each loop its opening, its sessions and its lines in the catalogue; where each finding of a review was
named first; and of each snapshot where it stands.

- *A row* vouches for itself, and *a stream* hangs together: versions from 1 without a gap, each
  ``prev`` the ``sum`` before it. A fork begins after its parent's entry (``chains``).
- *What is derived* is derived again: the reservations of a stream from its entries, what the
  catalogue says of a loop from its book (``derived``), a snapshot from a fold (``kept``).
- *The store itself* holds nothing else that could change what is written: a trigger.

A chain cannot show that its end was cut off, nor that somebody wrote it anew from some point, nor
that a whole stream of a session or a guard was removed. Who notes the ``sum`` of a newest entry
elsewhere (``loop list --json`` prints them) can ask for it here; of a session's stream it is told
where a loop names the session and no such stream knows the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loopbook.book import Book
from loopbook.store import Facts
from loopbook.store.contract import SCHEMA
from loopbook.upkeep.chains import Chains
from loopbook.upkeep.derived import Derived
from loopbook.upkeep.findings import Finding, Head, Report
from loopbook.upkeep.kept import Kept

__all__ = ["Finding", "Head", "Report", "fsck"]


def fsck(book: Book, heads: Iterable[Head] = ()) -> Report:
    """Look through the whole store of a book.

    >>> from loopbook.books import Books
    >>> books = Books.open("memory:")
    >>> _ = books.start("chore", "Tidy the imports", id="tidy")
    >>> fsck(books.book)
    Report(streams=3, rows=3, findings=(), notes=())
    """
    facts = book.records.rows.facts()
    chains, derived, kept = Chains(heads), Derived(), Kept()
    for stored in book.records.rows.scan():
        if stored.snapshot:
            kept.at(stored)
        elif (entry := chains.at(stored)) is not None:
            derived.at(entry)
    chains.end(book)
    derived.end(book, chains.forks)
    kept.end(book)
    findings = (*_of_store(facts), *chains.findings, *derived.findings, *kept.findings)
    notes = (*_beside(facts), *chains.notes, *derived.notes)
    return Report(chains.streams, chains.rows, findings, notes)


#: What may change rows as they are written; a table or a view of somebody's own does not.
_ACTS = ("TRIGGER ", "RULE ")


def _of_store(facts: Facts) -> Iterator[Finding]:
    for name in facts.foreign:
        if name.startswith(_ACTS):
            what = f"it has a {name}, which can change what is written and is not loopbook's"
            yield Finding("store", None, what, f"look at what it did, and remove it: DROP {name}")


def _beside(facts: Facts) -> Iterator[str]:
    if facts.schema < SCHEMA:
        yield f"the store is of schema {facts.schema}; for {SCHEMA}, run: loopbook store upgrade"
    for name in facts.foreign:
        if not name.startswith(_ACTS):
            yield f"the store also has a {name}, which is not loopbook's"
