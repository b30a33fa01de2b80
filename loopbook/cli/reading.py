"""Which book ``replay`` and ``explain`` read: one of a store, or of a file that was exported.

Theory. An exported file is read into a store in memory, as an import would, so that every line is
verified; nothing is written anywhere else. So what is wrong with it is told in words of the reading: where
it is, what was left out, and what to do. What is sound is read all the same. A fork stands in its file with
the whole of its parents; where a file holds one such family, its newest fork is what it was exported for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from loopbook.cli.output import complain
from loopbook.cli.target import opened
from loopbook.errors import NoSuchLoop

if TYPE_CHECKING:
    from loopbook.books import Books
    from loopbook.ledger import Ledger
    from loopbook.upkeep.importing import Imported

TheBook = Annotated[
    str,
    typer.Argument(
        metavar="BOOK",
        help="A loop's id; or a stream's name, such as session:codex:0199-ab; or a file that was exported"
        " (*.jsonl, or - for standard input).",
        show_default=False,
    ),
]
OneOf = Annotated[
    str | None,
    typer.Option(
        "--stream", metavar="NAME", help="Which book of an exported file: a loop's id or a stream's name."
    ),
]
#: How many books are named where one is to be chosen.
NAMED = 20


class Reading(NamedTuple):
    """The books that were named; ``damaged``: something of their file could not be read, and was told."""

    books: list[Ledger]
    damaged: bool = False

    def some(self) -> list[Ledger]:
        """The books, of which there is one at least unless what is wrong was told. Raises ``NoSuchLoop``."""
        if not self.books and not self.damaged:
            raise NoSuchLoop("the file holds no book; nothing was done; export one into it")
        return self.books

    def only(self) -> Ledger:
        """The one book, or the one fork that all the others are parents of. Raises ``NoSuchLoop``."""
        from loopbook.book.lineage import lineage

        lines = {
            one.stream: {part.stream for part in lineage(one.book.records.rows, one.stream)}
            for one in self.some()
        }
        for one in self.books:
            if lines[one.stream] >= lines.keys():
                return one
        raise NoSuchLoop(
            f"the file holds {len(lines)} books ({_listed(lines)}); nothing was done;"
            " name the one that is meant with --stream"
        )


def _listed(names: Iterable[str]) -> str:
    told = list(names)
    more = f" and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return (", ".join(told[:NAMED]) or "no other") + more


@contextmanager
def reading(book: str, store: str | None, stream: str | None = None) -> Iterator[Reading]:
    """The books that a word names, to be read while they are open; ``stream``: that one of a file's."""
    if book == "-" or book.endswith(".jsonl"):
        with _exported(book, stream) as found:
            yield found
        return
    if stream is not None:
        raise typer.BadParameter(f"--stream names a book of an exported file, and {book[:40]!r} is none")
    with opened(store) as books:
        yield Reading([_named(books, book)])


def _named(books: Books, book: str) -> Ledger:
    """A book of a store. Raises ``NoSuchLoop``."""
    from loopbook.ledger import Ledger

    if ":" not in book:
        return books.loop(book)
    ledger = Ledger(books.book, book, books.session)
    if not ledger.version:
        raise NoSuchLoop(
            f"no stream {book!r} in {books.url}; nothing was done; name a loop (loopbook loop list)"
            " or session:<host>:<id>"
        )
    return ledger


@contextmanager
def _exported(file: str, stream: str | None) -> Iterator[Reading]:
    """The books of an export, every line verified; what is wrong in it is told."""
    from loopbook.books import Books
    from loopbook.cli.upkeep import seekable
    from loopbook.ledger import Ledger
    from loopbook.upkeep.importing import import_lines

    with seekable(file) as lines, Books.open("memory:") as books:
        imported = import_lines(books.book, lines)
        _tell("standard input" if file == "-" else file, imported)
        damaged = bool(imported.problems)
        names = _meant(imported, stream) if stream else imported.streams
        yield Reading([Ledger(books.book, name, "") for name in names], damaged)


def _meant(imported: Imported, stream: str) -> list[str]:
    """The book that was asked for; none, where it was told that it cannot be read. Raises ``NoSuchLoop``."""
    from loopbook.book import loop_stream

    name = stream if ":" in stream else loop_stream(stream)
    if name in imported.streams:
        return [name]
    if any(problem.stream == name for problem in imported.problems):
        return []
    raise NoSuchLoop(
        f"the file holds no book {name!r}, but {_listed(imported.streams)}; nothing was done;"
        " name one of these with --stream"
    )


def _tell(file: str, imported: Imported) -> None:
    """Say what of a file cannot be read, where it is, and what to do."""
    for problem in imported.problems:
        where = f"{file}, line {problem.line}" if problem.line else file
        what = f"{problem.stream} cannot be read: {problem.why}" if problem.stream else problem.why
        complain(f"{where}: {what}")
    if imported.problems:
        complain(
            f"{file} is not as it was exported: what cannot be read was left out; nothing was written;"
            " export it anew, or check its store with: loopbook store fsck"
        )
