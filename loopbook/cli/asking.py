"""Asking before something is gone for ever."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from loopbook.cli.exits import FOUND, USAGE
from loopbook.cli.output import complain, one_line

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; needed where there is no terminal.")]


def confirm(question: str, *, yes: bool) -> None:
    """Go on where the answer is yes; end the command where it is not, or where nobody can be asked."""
    if yes:
        return
    if not _is_terminal():
        complain(
            f"{one_line(question)} there is no terminal to ask on; nothing was removed; say it with --yes"
        )
        raise typer.Exit(USAGE)
    sys.stderr.write(f"{one_line(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        complain("nothing was removed")
        raise typer.Exit(FOUND)


def _is_terminal() -> bool:
    return sys.stdin.isatty()
