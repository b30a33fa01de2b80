"""Options that many commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def not_blank(value: str) -> str:
    """What must be said. Raises ``typer.BadParameter`` for blanks."""
    if not value.strip():
        raise typer.BadParameter("it is blank")
    return value


Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="Where the books are; else LOOPBOOK_STORE, else your settings."
    ),
]
LoopId = Annotated[
    str | None,
    typer.Option(
        "--loop",
        metavar="ID",
        envvar="LOOPBOOK_LOOP",
        help="Which loop; else the one that a named session goes on with, else the only one that is open.",
    ),
]
#: The session of whoever names none.
NOBODY = "cli"
Reader = Annotated[
    str,
    typer.Option(
        "--session",
        metavar="ID",
        envvar="LOOPBOOK_SESSION",
        help="Whose loop is meant, where none is named.",
    ),
]
Session = Annotated[
    str, typer.Option("--session", metavar="ID", envvar="LOOPBOOK_SESSION", help="Who writes this.")
]
Unit = Annotated[str | None, typer.Option("--unit", metavar="ID", help="The unit it belongs to.")]
Ref = Annotated[
    str | None,
    typer.Option(
        "--ref", metavar="REF", help="Your own id of it: a second one with this id changes nothing."
    ),
]
Resolves = Annotated[
    list[str] | None, typer.Option("--resolves", metavar="ID", help="A finding it answers. May be repeated.")
]
Why = Annotated[
    str, typer.Option("--why", metavar="TEXT", help="Why it will not be done.", callback=not_blank)
]
NewFile = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="A new file to write; else standard output.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print versioned JSON for programs.")]


def example(*lines: str) -> str:
    """The epilog of a command: command lines that work as they stand, kept unwrapped."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
