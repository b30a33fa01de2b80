"""``loopbook kinds``: the loop kinds at hand, checked and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, example
from loopbook.cli.output import say, say_json, say_rows
from loopbook.cli.target import settings_for
from loopbook.errors import InvalidKind, UnknownKind

if TYPE_CHECKING:
    from loopbook.kinds import Kind

app = typer.Typer(help="Loop kinds: the phases of a loop and their needs.")


@app.command("list", epilog=example("loopbook kinds list", "loopbook kinds list --json"))
def list_kinds(as_json: AsJson = False) -> None:
    """List the built-in kinds and your own."""
    kinds = _at_hand()
    if as_json:
        say_json({"kinds": [kind.definition() for kind in kinds.values()]})
        return
    rows = (
        (kind.name, kind.title, " → ".join(phase.name for phase in kind.phases)) for kind in kinds.values()
    )
    say_rows(("kind", "title", "phases"), rows)


@app.command(epilog=example("loopbook kinds check my-kind.toml"))
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Kind files, or folders of them.")],
) -> None:
    """Check kind files: every mistake with file, key and remedy."""
    wrong = 0
    for file in _files(paths):
        try:
            say(f"ok   {file}: {_read(file).name}")
        except InvalidKind as told:
            wrong += 1
            say(f"FAIL {told}")
    if wrong:
        raise typer.Exit(FOUND)


@app.command(epilog=example("loopbook kinds draw fix", "loopbook kinds draw my-kind.toml"))
def draw(
    kind: Annotated[str, typer.Argument(metavar="KIND|FILE", help="A kind by name, or a kind file.")],
) -> None:
    """Draw a kind's phases as a Mermaid diagram."""
    from loopbook import kinds

    known = _at_hand()
    if kind in known:
        drawn = known[kind]
    elif Path(kind).is_file():
        drawn = _read(Path(kind))
    else:
        raise UnknownKind(f"there is no kind or file {kind!r}; nothing was drawn; see: loopbook kinds list")
    for line in kinds.draw(drawn).splitlines():
        say(line)


def _files(paths: list[Path]) -> list[Path]:
    """The kind files named, a folder's in the order of their names."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not inside:
            raise InvalidKind(f"{path} holds no kind file; nothing was checked; name a .toml file")
        files += inside
    return files


def _at_hand() -> dict[str, Kind]:
    from loopbook.kinds_at_hand import load_kinds

    return dict(sorted(load_kinds(settings_for(None).kinds_dir).items()))


def _read(file: Path) -> Kind:
    from loopbook.kinds import parse

    try:
        return parse(file.read_bytes().decode("utf-8-sig"), str(file))
    except UnicodeDecodeError:
        raise InvalidKind(f"{file}: not UTF-8; save the file as UTF-8") from None
