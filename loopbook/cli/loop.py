"""``loopbook loop``: the life of a loop, and reading its book."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, LoopId, NewFile, Reader, Session, Store, example, not_blank
from loopbook.cli.output import lines_of, reader_gone, say, say_json, say_rows
from loopbook.cli.sayings import closed, reopening
from loopbook.cli.target import chosen, in_store, opened, settings_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopbook.entry import Entry
    from loopbook.loop import Loop

app = typer.Typer(help="Loops and their books.")


@app.command(epilog=example("loopbook loop start --kind fix --intent 'Crash on empty input' --id fix-2"))
def start(
    *,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="One of: loopbook kinds list.")],
    intent: Annotated[
        str, typer.Option("--intent", metavar="TEXT", help="What it is to reach.", callback=not_blank)
    ],
    anchor: Annotated[
        str | None,
        typer.Option("--anchor", metavar="REF", help="Where it starts from: a revision, an issue."),
    ] = None,
    review_tier: Annotated[
        Literal["none", "light", "full"] | None,
        typer.Option(
            "--review-tier",
            metavar="none|light|full",
            help="The least review it asks for; else your settings.",
        ),
    ] = None,
    loop: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its id; else a new one is made.")
    ] = None,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Open a loop and print its id."""
    with opened(store, session, make=True) as books:
        say(books.start(kind, intent, anchor=anchor, review_tier=review_tier, id=loop).id)


@app.command(epilog=example("loopbook loop fork fix-1 --at 1 --id fix-1b", "loopbook loop fork fix-0"))
def fork(
    *,
    parent: Annotated[str, typer.Argument(metavar="ID", help="The loop it goes on from, open or closed.")],
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="SEQ", help="The last of that loop's entries it has; else the newest."),
    ] = None,
    loop: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its own id; else a new one is made.")
    ] = None,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Open a loop that goes on from an entry of another one, and print its id."""
    with opened(store, session) as books:
        say(books.fork(parent, at, new_id=loop).id)


@app.command(epilog=example("loopbook loop adopt fix-1 --session night-shift"))
def adopt(
    *,
    loop: Annotated[str, typer.Argument(metavar="ID", help="The loop to go on with.")],
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Let a session go on with a loop that another one began: it becomes that session's current book."""
    with opened(store, session) as books:
        found = books.adopt(loop)
        outcome = found.state.life.outcome
        how = "" if outcome is None else f"; {closed(found.id, outcome)}; {reopening(found.id)}"
        say(in_store(f"{session} goes on with {found.id}{how}", store))


@app.command(epilog=example("loopbook loop reopen --loop fix-0"))
def reopen(loop: LoopId = None, store: Store = None, session: Session = "cli") -> None:
    """Let a closed loop go on."""
    with opened(store, session) as books:
        say(f"{chosen(books, loop).reopen().id} goes on")


@app.command("list", epilog=example("loopbook loop list", "loopbook loop list --json"))
def list_loops(store: Store = None, as_json: AsJson = False) -> None:
    """List the loops of a store, the newest last, with the entries and bytes of each."""
    from loopbook.upkeep.sizes import measured

    with opened(store) as books:
        rows = measured(books.book, books.list(), heads=as_json)
    if as_json:
        say_json({"loops": [{**row._asdict(), **size._asdict()} for row, size in rows]})
    else:
        say_rows(
            ("loop", "kind", "state", "entries", "bytes", "fork of", "intent"),
            (
                (row.id, row.kind, row.outcome or "open", size.entries, size.bytes, row.parent, row.intent)
                for row, size in rows
            ),
        )


@app.command(epilog=example("loopbook loop show --loop fix-1", "loopbook loop show --loop fix-1 --json"))
@app.command(
    "status",
    epilog=example(
        "loopbook loop status",
        "loopbook loop status --loop fix-1 --json",
        "loopbook loop status --loop fix-0 --exit-code",
    ),
)
def show(
    *,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help=f"Exit with {FOUND} while the loop is open, 0 once it is closed."),
    ] = False,
    loop: LoopId = None,
    store: Store = None,
    session: Reader = "cli",
    as_json: AsJson = False,
) -> None:
    """Show where a loop stands: its phase, what is missing, what is open, what was said and not handed on.

    Of a closed loop it says how it was closed, of a fork what it goes on from.
    """
    from loopbook.cli.status import lines, origin, status

    with opened(store, session) as books:
        found = chosen(books, loop)
        most = settings_for(store).max_continuations
        stands = status(found.id, found.state, found.undelivered(), most, origin(found))
        head = books.book.head(found.stream)[1]
    if as_json:
        say_json({"loop": {**stands, "head": head}})
    else:
        for line in lines(stands):
            say(line)
    if exit_code and stands["outcome"] is None:
        raise typer.Exit(FOUND)


@app.command(
    epilog=example(
        "loopbook loop log --loop fix-1 --after 1",
        "loopbook loop log --loop fix-1 --json",
        "loopbook loop log --loop fix-1 --follow --idle 1",
    )
)
def log(
    *,
    loop: LoopId = None,
    after: Annotated[
        int, typer.Option("--after", metavar="SEQ", min=0, help="Only what follows this entry.")
    ] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with new entries as they come, until Ctrl-C.")
    ] = False,
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle", metavar="SECONDS", min=0, help="Follow only until nothing has come for so long."
        ),
    ] = None,
    store: Store = None,
    session: Reader = "cli",
    as_json: AsJson = False,
) -> None:
    """Print a loop's entries, oldest first: seq, time, session, type, what it says.

    On a terminal in columns under a heading, elsewhere between tabs. Followed as JSON, each entry is an
    object on a line of its own.
    """
    with opened(store, session) as books:
        found = chosen(books, loop)
        if follow or idle is not None:
            entries = _followed(found, after, idle)
            lines = (json.dumps(_plain(one)) + "\n" for one in entries) if as_json else _log(entries)
            for line in lines:
                sys.stdout.write(line)
                sys.stdout.flush()
        elif as_json:
            _say_entries(found.id, found.entries(after))
        else:
            sys.stdout.writelines(_log(found.entries(after)))


def _followed(loop: Loop, after: int, idle: float | None) -> Iterator[Entry]:
    """The entries of a loop as they come, for as long as somebody reads what is printed of them."""
    from loopbook.book.following import TURN, Follower

    with closing(Follower(loop.book, loop.stream, after)) as follower:
        quiet = monotonic()
        while not reader_gone():
            found = follower.more(TURN if idle is None else max(0, min(TURN, quiet + idle - monotonic())))
            yield from found
            if found:
                quiet = monotonic()
            elif idle is not None and monotonic() - quiet >= idle:
                return
    raise BrokenPipeError


def _log(entries: Iterable[Entry]) -> Iterator[str]:
    from loopbook.audit.said import said

    return lines_of(
        {"seq": 5, "time": 20, "session": 10, "type": 14, "what it says": 0},
        (
            (one.seq, f"{one.at:%Y-%m-%dT%H:%M:%SZ}", one.session, one.event.type, said(one.event)[1])
            for one in entries
        ),
    )


def _say_entries(loop: str, entries: Iterable[Entry]) -> None:
    """One JSON object, written entry by entry: a book may be longer than the memory."""
    sys.stdout.write(f'{{"version": 1, "loop": {json.dumps(loop)}, "entries": [')
    for place, entry in enumerate(entries):
        sys.stdout.write((",\n" if place else "\n") + json.dumps(_plain(entry)))
    sys.stdout.write("\n]}\n")


@app.command(epilog=example("loopbook loop export --loop fix-1 --output fix-1.jsonl"))
def export(
    loop: LoopId = None,
    output: NewFile = None,
    store: Store = None,
    session: Reader = "cli",
) -> None:
    """Write a book as JSON Lines, every entry byte for byte as it is stored, as store export does."""
    from loopbook.cli.upkeep import write_export
    from loopbook.upkeep.transfer import books_of

    with opened(store, session) as books:
        write_export(books_of(books.book, [chosen(books, loop).stream]), output)


def _plain(entry: Entry) -> dict[str, object]:
    """An entry as it is stored, with its place and type beside it."""
    from loopbook.encoding import encode

    state: dict[str, object] = json.loads(encode(entry))
    return {"stream": entry.stream, "seq": entry.seq, "type": entry.event.type, **state}
