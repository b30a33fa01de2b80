"""``loopbook store fsck | export | import | forget | vacuum``: a store checked, copied, cleaned."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from loopbook.cli.asking import Yes, confirm
from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, NewFile, Session, Store, example
from loopbook.cli.output import complain, say, say_json
from loopbook.cli.target import opened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopbook.store import Row
    from loopbook.upkeep.fsck import Head, Report

app = typer.Typer()

OneLoop = Annotated[str, typer.Argument(metavar="LOOP", help="The loop's id.", show_default=False)]


@app.command(epilog=example("loopbook store fsck", "loopbook store fsck --json"))
def fsck(
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="[LOOP=]HASH",
            help="A head noted elsewhere that must still be there: a cut end shows. May be repeated.",
        ),
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Check every row, every chain and all that is derived from them; exit with 1 if something is wrong."""
    from loopbook.upkeep.fsck import fsck as look

    heads = [_head(one) for one in head or ()]
    with opened(store) as books:
        report = look(books.book, heads)
    if as_json:
        findings = [finding._asdict() for finding in report.findings]
        say_json({**report._asdict(), "findings": findings, "notes": list(report.notes)})
    else:
        _say_report(report)
    if report.findings:
        raise typer.Exit(FOUND)


def _head(text: str) -> Head:
    from loopbook.book import loop_stream
    from loopbook.upkeep.fsck import Head

    loop, mark, digest = text.rpartition("=")
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise typer.BadParameter("a head is 64 hexadecimal digits, as loop list --json prints them")
    stream = loop if ":" in loop else loop_stream(loop) if mark else None
    return Head(digest, stream)


def _say_report(report: Report) -> None:
    for note in report.notes:
        say(note)
    for finding in report.findings:
        where = finding.stream if finding.seq is None else f"{finding.stream} seq {finding.seq}"
        say(f"{where}: {finding.what}; {finding.remedy}")
    found = len(report.findings)
    result = "nothing is wrong" if not found else "1 finding" if found == 1 else f"{found} findings"
    say(f"{report.rows} rows in {report.streams} streams: {result}")


@app.command(
    epilog=example(
        "loopbook store export --output all.jsonl", "loopbook store export fix-1 --output fix-1.jsonl"
    )
)
def export(
    loops: Annotated[
        list[str] | None, typer.Argument(metavar="[LOOP]...", help="Only these loops; else all of the store.")
    ] = None,
    output: NewFile = None,
    store: Store = None,
) -> None:
    """Write books as JSON Lines, every entry byte for byte as it is stored."""
    from loopbook.upkeep.transfer import books_of, everything

    with opened(store) as books:
        rows = (
            books_of(books.book, [books.loop(loop).stream for loop in loops])
            if loops
            else everything(books.book)
        )
        write_export(rows, output)


def write_export(rows: Iterable[Row], output: Path | None) -> None:
    """Write rows to a new file or standard output; ends with 1 where one of them is damaged."""
    from loopbook.upkeep.transfer import write

    with _new_file(output) as file:
        exported = write(rows, file)
    for stream, seq in exported.damaged:
        complain(
            f"{stream} seq {seq} is damaged; it was exported as it is, in base64; see: loopbook store fsck"
        )
    if exported.damaged:
        raise typer.Exit(FOUND)


@contextmanager
def _new_file(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open(output, "xb", opener=_for_oneself) as file:
        try:
            yield file
        except BaseException:
            output.unlink()  # a part of an export is none, and would be in the way of the next
            raise


def _for_oneself(path: str, flags: int) -> int:
    """A new file that nobody else can read, from its first moment on."""
    return os.open(path, flags, 0o600)


@app.command("import", epilog=example("loopbook store import books.jsonl"))
def import_books(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An export, or - for standard input.", show_default=False)
    ],
    store: Store = None,
) -> None:
    """Bring exported books into a store: each stream whole or not at all, twice is once."""
    from loopbook.upkeep.importing import import_lines

    with seekable(file) as lines, opened(store, make=True) as books:
        imported = import_lines(books.book, lines)
    for note in imported.notes:
        complain(f"line {note.line}: {note.what}")
    for stream, entries in imported.streams.items():
        say(f"{stream}: {entries} entries written" if entries else f"{stream}: is here already")
    for problem in imported.problems:
        complain(f"line {problem.line}: {problem.what}" if problem.line else problem.what)
    if imported.problems:
        raise typer.Exit(FOUND)


@contextmanager
def seekable(file: str) -> Iterator[BinaryIO]:
    """A file that can be read twice: standard input is put aside first."""
    if file != "-" and Path(file).is_file():
        with Path(file).open("rb") as lines:
            yield lines
        return
    with tempfile.TemporaryFile() as aside:
        if file == "-":
            shutil.copyfileobj(sys.stdin.buffer, aside)
        else:
            with Path(file).open("rb") as pipe:
                shutil.copyfileobj(pipe, aside)
        yield cast("BinaryIO", aside)


@app.command(epilog=example("loopbook store forget fix-0 --yes"))
def forget(
    loop: OneLoop,
    with_forks: Annotated[bool, typer.Option("--with-forks", help="Forget its forks too.")] = False,
    yes: Yes = False,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Remove a loop: its entries, reservations and snapshots; the catalogue says that it was forgotten."""
    from loopbook.book import loop_stream
    from loopbook.upkeep.forget import forget as remove

    with opened(store, session) as books:
        sizes = books.book.records.rows.sizes([loop_stream(loop)])
        entries = sizes[loop_stream(loop)].rows if sizes else 0  # its book may be damaged
        confirm(f"forget {loop} and its {entries} entries, for ever?", yes=yes or not entries)
        gone = remove(books.book, loop, now=datetime.now(UTC), session=session, with_forks=with_forks)
    for name in gone:
        say(f"{name} is forgotten; its bytes are gone from the file after: loopbook store vacuum")


@app.command(epilog=example("loopbook store vacuum"))
def vacuum(store: Store = None) -> None:
    """Write the store anew without what was removed, so that its bytes are gone and the file is small.

    Snapshots go too, sound or not: whoever reads a long book makes a new one.
    """
    with opened(store) as books:
        books.book.records.rows.vacuum()
        kept = "; the server's own log and its backups keep old bytes for a while"
        more = kept * books.url.startswith("postgres")
        say(f"{books.url} is written anew, without snapshots and what was removed{more}")
