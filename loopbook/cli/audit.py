"""``loopbook audit``: what one recorded session did, and what it claimed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import example
from loopbook.cli.output import complain, console
from loopbook.cli.target import settings_for

if TYPE_CHECKING:
    from loopbook.audit.document import View
    from loopbook.audit.model import Audit
    from loopbook.audit.session import Watch

app = typer.Typer()

#: Files from this size on (bytes) show how far the reading is, where a person is looking.
LONG_FILE = 5_000_000


class FailOn(StrEnum):
    """What makes the exit code 1."""

    CONTRADICTED = "contradicted"
    UNBACKED = "unbacked"
    PROBLEMS = "problems"


@app.command(epilog=example("loopbook audit session.jsonl", "loopbook audit session.jsonl --json"))
def audit(
    *,
    path: Annotated[str, typer.Argument(metavar="FILE", help="A session file, such as <session>.jsonl.")],
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Which kind of loop it is; else: change.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print versioned JSON for programs.")] = False,
    store: Annotated[
        str | None, typer.Option("--store", metavar="URL", help="Keep the book there; else it is not kept.")
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            "--fail-on",
            metavar="|".join(FailOn),
            help="Exit with 1 where there is one. May be repeated.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Print every line of the timeline, however long it is.")
    ] = False,
    timeline: Annotated[bool, typer.Option("--timeline/--no-timeline", help="Print the timeline.")] = True,
) -> None:
    """Read a recorded session: what was done, and what was claimed against what was recorded.

    Needs no key and no server. Auditing a session that has grown into the same store goes on in
    its book.
    """
    from loopbook.audit.document import write
    from loopbook.audit.session import Options, filed_session
    from loopbook.evidence.outcomes import DEFAULT
    from loopbook.transcripts import open_session

    file = open_session(path)
    settings = settings_for(None)
    options = Options(store, kind, rules=settings.rules_for(file.cwd) if file.cwd else DEFAULT)
    with _progress(file.size) as watch, filed_session(file, options, watch) as told:
        view = _view(as_json)
        if full and timeline:
            view.head(told.session, told.notes)
            view.timeline(told.lines())
            found = told.audit()
            view.rest(found)
        else:
            found = told.audit()
            write(view, found if timeline else _without_timeline(found))
    if hits := [hit for word in fail_on or () if (hit := _hit(word, found))]:
        complain(f"{', '.join(hits)}; the audit is complete; read its claims and problems")
        raise typer.Exit(FOUND)


def _view(as_json: bool) -> View:
    if as_json:
        from loopbook.audit.document import Document

        return Document(sys.stdout)
    from loopbook.audit.render import Page

    return Page(console(sys.stdout))


def _without_timeline(audit: Audit) -> Audit:
    left_out = len(audit.timeline) + audit.timeline_left_out
    return audit.model_copy(update={"timeline": (), "timeline_left_out": left_out})


def _hit(word: FailOn, audit: Audit) -> str:
    """What there is of a thing that must not be, or nothing."""
    from loopbook.audit.shown import counted

    if word is FailOn.PROBLEMS:
        number = audit.summary.problems
        return counted(number, "problem") + " of the file" if number else ""
    number = audit.summary.claims[word.value]
    return f"{counted(number, 'claim')} {word.value}" if number else ""


@contextmanager
def _progress(size: int) -> Iterator[Watch | None]:
    """How far the reading of a long file is, where stderr is a terminal."""
    if size < LONG_FILE or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress("reading", *columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=size)
        yield lambda position: progress.update(task, completed=position)
