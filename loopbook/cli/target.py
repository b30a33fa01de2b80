"""From ``--store``, ``--loop`` and ``--session`` to an open loop, and writing into it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from loopbook.cli.options import NOBODY
from loopbook.cli.output import complain, say
from loopbook.errors import LoopbookError, NoSuchLoop, StoreUnavailable

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
    session: str = NOBODY


def settings_for(store: str | None, **arguments: object) -> Settings:
    """The settings that hold in the current folder, with what was given by hand."""
    from loopbook.settings import load_settings

    return load_settings(Path.cwd(), arguments={"store": store, **arguments})


@contextmanager
def opened(
    store: str | None, session: str = NOBODY, *, make: bool = False, settles: bool = False
) -> Iterator[Books]:
    """The books that arguments, environment and settings name, with all that the user has set; of how
    runs are settled only where something ``settles``.

    A store that is not there is made only where ``make`` says so: else a slip in its name would
    answer every question with nothing.
    """
    from loopbook import own
    from loopbook.store import parse_url

    settings = settings_for(store)
    if not make:
        must_be_there(parse_url(settings.store), store)
    with own.books(settings=settings, session=session, settles=settles) as books:
        try:
            yield books
        except LoopbookError as wrong:
            wrong.args = (in_store(str(wrong), store),)
            raise


def must_be_there(url: StoreURL, store: str | None = None) -> None:
    """Raise ``StoreUnavailable`` where there is no store; ``store`` is how the command line named it."""
    from loopbook.settings import data_folder
    from loopbook.store import schema_of

    if url.path.exists() if url.path is not None else schema_of(url):
        return
    what, remedy = f"there is no store {url.path or url}", "make it with: loopbook store init"
    folder = None if url.path is None else url.path.parent
    if folder is not None and not folder.exists() and folder != data_folder(os.environ):  # which init makes
        what = f"there is no folder {folder}, so {what}"
        remedy = "make the folder and then the store with: loopbook store init"
    raise StoreUnavailable(in_store(f"{what}; nothing was done; check its name, or {remedy}", store))


#: A command that a message tells to call, up to where its options begin.
_COMMAND = re.compile(r"loopbook (?:loop|store) (?!record|todo|unit|child)[a-z]+")


def in_store(words: str, store: str | None) -> str:
    """A message whose commands speak of the store that the command line named.

    >>> in_store("nothing was done; see: loopbook loop list", "my own.db")
    "nothing was done; see: loopbook loop list --store 'my own.db'"
    """
    from loopbook.store.urls import without_password

    if store is None:
        return words
    where = shlex.quote(without_password(store))
    return _COMMAND.sub(lambda command: f"{command[0]} --store {where}", words)


def chosen(books: Books, loop: str | None) -> Loop:
    """The loop that was named; else the one that a session which was named goes on with, while that is
    open; else the only one that is open.

    Whoever names no session shares the usual one with every other shell, so what that one last opened says
    nothing of what is meant.
    """
    if loop:
        return books.loop(loop)
    if books.session != NOBODY:
        own = books.current()
        if own is not None and own.state.life.outcome is None:
            return own
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
