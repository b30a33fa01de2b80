"""The program itself: what is asked of it without a command. Its commands: ``rooms``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, cast

import typer

from loopbook import __version__
from loopbook.cli.exits import EXIT_CODES
from loopbook.cli.options import example
from loopbook.cli.rooms import Program

if TYPE_CHECKING:
    from typer.core import TyperGroup

_CODES = "\n".join(f"  {row.code:>3}  {row.meaning}" for row in EXIT_CODES)

app = typer.Typer(
    cls=Program,
    name="loopbook",
    help="One append-only book per agent loop: what was done, what was claimed, and why anybody spoke.",
    epilog=example("loopbook audit session.jsonl") + f"\n\n\b\nExit codes:\n{_CODES}",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """One append-only book per agent loop: what was done, what was claimed, and why anybody spoke."""
    if version:
        typer.echo(f"loopbook {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@cache
def command_tree() -> TyperGroup:
    """The tree of commands, none of them made yet."""
    return cast("TyperGroup", typer.main.get_command(app))
