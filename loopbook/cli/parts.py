"""``loopbook loop todo | unit | child``: what a loop is made of and waits for."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from loopbook.cli.options import LoopId, Session, Store, Unit, Why, example, not_blank
from loopbook.cli.target import Target, write

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


@todo_app.command(
    "add", epilog=example("loopbook loop todo add t2 'tell the packagers' --followup 'issue 42'")
)
def todo_add(
    *,
    todo: TodoId,
    subject: Subject,
    followup: Annotated[
        str | None, typer.Option("--followup", metavar="REF", help="Where it goes on outside this loop.")
    ] = None,
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Open a todo. Without a follow-up it holds the close until it is done."""
    from loopbook.events import TodoOpened

    write(Target(store, loop, session), TodoOpened(todo=todo, subject=subject, followup=followup))


@todo_app.command("followup", epilog=example("loopbook loop todo followup t1 'issue 42' --due 2030-01-31"))
def todo_followup(
    *,
    todo: TodoId,
    where: Annotated[str, typer.Argument(metavar="REF", help="Where it goes on: 1 to 200 characters.")],
    due: Annotated[
        str | None, typer.Option("--due", metavar="DATE", help="By when, as 2030-01-31.", callback=_date)
    ] = None,
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Say where a todo goes on outside this loop, so that it no longer holds the close."""
    from loopbook.events import TodoFollowupSet

    event = TodoFollowupSet(todo=todo, followup=where if due is None else {"ref": where, "due": due})
    write(Target(store, loop, session), event)


@todo_app.command("done", epilog=example("loopbook loop todo done t1"))
def todo_done(todo: TodoId, loop: LoopId = None, store: Store = None, session: Session = "cli") -> None:
    """A todo is done."""
    from loopbook.events import TodoCompleted

    write(Target(store, loop, session), TodoCompleted(todo=todo))


@todo_app.command("drop", epilog=example("loopbook loop todo drop t1 --why 'the setting is gone'"))
def todo_drop(
    todo: TodoId, why: Why, loop: LoopId = None, store: Store = None, session: Session = "cli"
) -> None:
    """A todo will not be done."""
    from loopbook.events import TodoDropped

    write(Target(store, loop, session), TodoDropped(todo=todo, why=why))


@unit_app.command("add", epilog=example("loopbook loop unit add b 'module b'"))
def unit_add(
    unit: UnitId, subject: Subject, loop: LoopId = None, store: Store = None, session: Session = "cli"
) -> None:
    """Add a unit. With two or more, each has phases of its own."""
    from loopbook.events import UnitAdded

    write(Target(store, loop, session), UnitAdded(unit=unit, subject=subject))


@unit_app.command("start", epilog=example("loopbook loop unit start a"))
def unit_start(unit: UnitId, loop: LoopId = None, store: Store = None, session: Session = "cli") -> None:
    """Work on a unit has begun."""
    from loopbook.events import UnitStarted

    write(Target(store, loop, session), UnitStarted(unit=unit))


@unit_app.command("done", epilog=example("loopbook loop unit done a"))
def unit_done(unit: UnitId, loop: LoopId = None, store: Store = None, session: Session = "cli") -> None:
    """A unit is done."""
    from loopbook.events import UnitDone

    write(Target(store, loop, session), UnitDone(unit=unit))


@unit_app.command("drop", epilog=example("loopbook loop unit drop a --why 'moved to the next release'"))
def unit_drop(
    unit: UnitId, why: Why, loop: LoopId = None, store: Store = None, session: Session = "cli"
) -> None:
    """A unit will not be done."""
    from loopbook.events import UnitDropped

    write(Target(store, loop, session), UnitDropped(unit=unit, why=why))


@child_app.command("link", epilog=example("loopbook loop child link c2 --accept 'pytest -q' --timeout 120"))
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
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """The loop sent a child out. Linked again after its report, it is out again."""
    from loopbook.events import Accept, ChildLinked

    event = ChildLinked(
        child=child, host=host, unit=unit, session_file=session_file,
        accept=None if accept is None else Accept(command=accept, timeout_sec=timeout),
    )  # fmt: skip
    write(Target(store, loop, session), event)


@child_app.command(
    "report", epilog=example("loopbook loop child report c1 --ok --summary 'changelog written'")
)
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
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """A child came back."""
    from loopbook.events import ChildReported

    if ok is None:
        context.fail("Missing option '--ok' or '--failed'")
    write(Target(store, loop, session), ChildReported(child=child, ok=ok, summary=summary, friction=friction))


@child_app.command("drop", epilog=example("loopbook loop child drop c1 --why 'its machine is gone'"))
def child_drop(
    child: ChildId, why: Why, loop: LoopId = None, store: Store = None, session: Session = "cli"
) -> None:
    """Nobody waits for this child any more."""
    from loopbook.events import ChildDropped

    write(Target(store, loop, session), ChildDropped(child=child, why=why))
