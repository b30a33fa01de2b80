"""``loopbook store scrub``: a text that must not stand in a store is looked for, and taken out."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.asking import Yes, confirm
from loopbook.cli.exits import FOUND
from loopbook.cli.options import Session, Store, example
from loopbook.cli.output import complain, say
from loopbook.cli.target import opened

if TYPE_CHECKING:
    from loopbook.books import Books
    from loopbook.upkeep.scrub import Asked, Scrubbing
    from loopbook.upkeep.standing import Place

app = typer.Typer()


@app.command(
    epilog=example(
        "loopbook store scrub fix-1 --seq 2 --reason 'a token' --yes",
        "loopbook store scrub fix-1 --find packagers",
        "loopbook store scrub fix-1 --text packagers --reason 'a name' --yes",
        "loopbook store scrub --everywhere --text packagers --yes",
    )
)
def scrub(
    *,
    loop: Annotated[
        str | None,
        typer.Argument(metavar="[LOOP]", help="The loop's id, or a stream's name.", show_default=False),
    ] = None,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="Every book of the store.")] = False,
    seq: Annotated[
        int | None, typer.Option("--seq", metavar="N", min=1, help="The entry whose texts are to go.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="TEXT",
            help="Take out this text alone, in forks too; - reads it from stdin.",
        ),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option("--find", metavar="TEXT", help="Only list what holds it; - reads it from stdin."),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept in the book.")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Even where the book then means something else.")
    ] = False,
    yes: Yes = False,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Take texts out of a book for good: a secret that leaked into it. The book says that it was done.

    Exit code 1 where the text still stands somewhere else in the store; each place is named.
    """
    if (seq is None and text is None) == (find is None) or find == "":
        raise typer.BadParameter("give --seq, --text or both; or --find alone")
    if everywhere == (loop is not None) or (everywhere and seq is not None):
        raise typer.BadParameter("name a LOOP; or give --everywhere, and no --seq")
    if find is None:
        confirm(f"scrub {loop or 'every book'}: the texts are gone for ever?", yes=yes)
    with opened(store, session) as books:
        stream = loop if loop is None or ":" in loop else books.loop(loop).stream
        if find is not None:
            _say_where(books, stream, _given(find))
            return
        from loopbook.upkeep.scrub import Asked

        asked = Asked(stream, seq, None if text is None else _given(text), reason, session, force)
        done = _take_out(books, asked)
    _say_done(done)
    if done.left:
        _say_left(done, everywhere=everywhere)
        raise typer.Exit(FOUND)


def _take_out(books: Books, asked: Asked) -> Scrubbing:
    from loopbook.upkeep.scrub import scrub

    return scrub(books.book, asked, datetime.now(UTC))


def _say_done(done: Scrubbing) -> None:
    for name, place in done.entries:
        say(f"{name} seq {place}: scrubbed")
    say(
        f"anchored anew: {', '.join(done.streams) or 'the list of loops'}; heads noted before hold no more"
        " (fsck tells); the bytes are gone from the file after: loopbook store vacuum"
    )


def _say_left(done: Scrubbing, *, everywhere: bool) -> None:
    for left in done.left:
        complain(f"{_place(left)}; it still stands there")
    if not everywhere:
        complain("to take it out of every book: loopbook store scrub --everywhere --text -")


def _given(text: str) -> str:
    """A text from the command line, or one that must not stand in a shell's history."""
    return sys.stdin.buffer.read().decode(errors="replace").strip("\r\n") if text == "-" else text


def _say_where(books: Books, stream: str | None, text: str) -> None:
    from loopbook.upkeep.scrub import find

    for place in find(books.book, stream, text):
        say(_place(place))


def _place(place: Place) -> str:
    where = place.stream if place.seq is None else f"{place.stream} seq {place.seq}"
    return f"{where}: {place.what}"
