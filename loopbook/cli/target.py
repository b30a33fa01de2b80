"""From ``--store``, ``--loop`` and ``--session`` to an open loop, and writing into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from loopbook.cli.output import complain, say
from loopbook.errors import NoSuchLoop, StoreUnavailable

if TYPE_CHECKING:
    from loopbook.books import Books
    from loopbook.entry import Draft
    from loopbook.events import Event
    from loopbook.loop import Loop
    from loopbook.settings import Settings
    from loopbook.store import StoreURL


class Target(NamedTuple):
    """Where a command writes."""

    store: str | None
    loop: str | None
    session: str = "cli"


def settings_for(store: str | None, **arguments: object) -> Settings:
    """The settings that hold in the current folder, with what was given by hand."""
    from loopbook.settings import load_settings

    return load_settings(Path.cwd(), arguments={"store": store, **arguments})


@contextmanager
def opened(store: str | None, session: str = "cli", *, make: bool = False) -> Iterator[Books]:
    """The books of the store that arguments, environment and settings name.

    A store that is not there is made only where ``make`` says so: else a slip in its name would
    answer every question with nothing.
    """
    from loopbook.books import Books
    from loopbook.store import parse_url

    settings = settings_for(store)
    if not make:
        must_be_there(parse_url(settings.store))
    with Books.open(settings.store, session=session, kinds_dir=settings.kinds_dir) as books:
        yield books


def must_be_there(url: StoreURL) -> None:
    """Raise ``StoreUnavailable`` where there is no store."""
    from loopbook.store import schema_of

    if url.path.exists() if url.path is not None else schema_of(url):
        return
    raise StoreUnavailable(
        f"there is no store {url.path or url}; nothing was done;"
        " check its name, or make it with: loopbook store init"
    )


def chosen(books: Books, loop: str | None) -> Loop:
    """The loop that was named, or the only one that is open."""
    if loop:
        return books.loop(loop)
    open_loops = [row.id for row in books.list() if row.outcome is None]
    if len(open_loops) == 1:
        return books.loop(open_loops[0])
    found = (
        f"{len(open_loops)} loops are open ({', '.join(open_loops[:5])})" if open_loops else "no loop is open"
    )
    remedy = "name one with --loop" if open_loops else "start one with: loopbook loop start"
    raise NoSuchLoop(f"{found}; nothing was done; {remedy}")


def write(target: Target, *drafts: Draft | Event) -> None:
    """Record all of it or nothing, and print a line for each entry that is new."""

    from loopbook.audit.said import said

    with opened(target.store, target.session) as books:
        loop = chosen(books, target.loop)
        entries = loop.record(*drafts)
        for entry in entries:
            say(f"{loop.id} {entry.seq} {entry.event.type}: {said(entry.event)[1]}")
    if not entries:
        complain("nothing was new: every --ref is in the book already; the book is unchanged")
