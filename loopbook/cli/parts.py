"""``loopbook loop todo | unit | child``: what a loop is made of and waits for."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

import loopbook
from loopbook.cli.options import Unit, Why, not_blank
from loopbook.cli.writing import Event, writes

todo_app = typer.Typer(help="Todos of a loop.")
unit_app = typer.Typer(help="Units: parts of a loop that go through the phases each on its own.")
child_app = typer.Typer(help="Children: agents the loop sent out and waits for.")

TodoId = Annotated[str, typer.Argument(metavar="TODO", help="The todo's id.")]
UnitId = Annotated[str, typer.Argument(metavar="UNIT", help="The unit's id.")]
ChildId = Annotated[str, typer.Argument(metavar="CHILD", help="The child's id.")]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="What it is about.", callback=not_blank)]


def _date(due: str | None) -> str | None:
    if due is None:
        return None
    try:
        return date.fromisoformat(due).isoformat()
    except ValueError:
        raise typer.BadParameter(f"{due[:40]!r} is no date; write it as 2030-01-31") from None


@writes(todo_app, "add", "loopbook loop todo add t2 'tell the packagers' --followup 'issue 42'")
def todo_add(
    todo: TodoId,
    subject: Subject,
    followup: Annotated[
        str | None, typer.Option("--followup", metavar="REF", help="Where it goes on outside this loop.")
    ] = None,
) -> Event:
    """Open a todo. Without a follow-up it holds the close until it is done."""
    return loopbook.TodoOpened(todo=todo, subject=subject, followup=followup)


@writes(todo_app, "followup", "loopbook loop todo followup t1 'issue 42' --due 2030-01-31")
def todo_followup(
    todo: TodoId,
    where: Annotated[str, typer.Argument(metavar="REF", help="Where it goes on: 1 to 200 characters.")],
    due: Annotated[
        str | None, typer.Option("--due", metavar="DATE", help="By when, as 2030-01-31.", callback=_date)
    ] = None,
) -> Event:
    """Say where a todo goes on outside this loop, so that it no longer holds the close."""
    return loopbook.TodoFollowupSet(todo=todo, followup=where if due is None else {"ref": where, "due": due})


@writes(todo_app, "done", "loopbook loop todo done t1")
def todo_done(todo: TodoId) -> Event:
    """A todo is done."""
    return loopbook.TodoCompleted(todo=todo)


@writes(todo_app, "drop", "loopbook loop todo drop t1 --why 'the setting is gone'")
def todo_drop(todo: TodoId, why: Why) -> Event:
    """A todo will not be done."""
    return loopbook.TodoDropped(todo=todo, why=why)


@writes(unit_app, "add", "loopbook loop unit add b 'module b'")
def unit_add(unit: UnitId, subject: Subject) -> Event:
    """Add a unit. With two or more, each has phases of its own."""
    return loopbook.UnitAdded(unit=unit, subject=subject)


@writes(unit_app, "start", "loopbook loop unit start a")
def unit_start(unit: UnitId) -> Event:
    """Work on a unit has begun."""
    return loopbook.UnitStarted(unit=unit)


@writes(unit_app, "done", "loopbook loop unit done a")
def unit_done(unit: UnitId) -> Event:
    """A unit is done."""
    return loopbook.UnitDone(unit=unit)


@writes(unit_app, "drop", "loopbook loop unit drop a --why 'moved to the next release'")
def unit_drop(unit: UnitId, why: Why) -> Event:
    """A unit will not be done."""
    return loopbook.UnitDropped(unit=unit, why=why)


@writes(child_app, "link", "loopbook loop child link c2 --accept 'pytest -q' --timeout 120")
def child_link(
    *,
    child: ChildId,
    unit: Unit = None,
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="What it runs on.")] = "",
    session_file: Annotated[
        str | None, typer.Option("--session-file", metavar="PATH", help="Where its session is written.")
    ] = None,
    accept: Annotated[
        str | None, typer.Option("--accept", metavar="COMMAND", help="A check of its result.")
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="How long that check may take.")
    ] = 600,
) -> Event:
    """The loop sent a child out. Linked again after its report, it is out again."""
    check = None if accept is None else loopbook.Accept(command=accept, timeout_sec=timeout)
    return loopbook.ChildLinked(child=child, host=host, unit=unit, session_file=session_file, accept=check)


@writes(child_app, "report", "loopbook loop child report c1 --ok --summary 'changelog written'")
def child_report(
    *,
    context: typer.Context,
    child: ChildId,
    ok: Annotated[
        bool | None, typer.Option("--ok/--failed", help="Whether it did what it was sent for; one is needed.")
    ] = None,
    summary: Annotated[str, typer.Option("--summary", metavar="TEXT", help="What it says.")] = "",
    friction: Annotated[
        str | None, typer.Option("--friction", metavar="TEXT", help="What got in its way.")
    ] = None,
) -> Event:
    """A child came back."""
    if ok is None:
        context.fail("Missing option '--ok' or '--failed'")
    return loopbook.ChildReported(child=child, ok=ok, summary=summary, friction=friction)


@writes(child_app, "drop", "loopbook loop child drop c1 --why 'its machine is gone'")
def child_drop(child: ChildId, why: Why) -> Event:
    """Nobody waits for this child any more."""
    return loopbook.ChildDropped(child=child, why=why)
