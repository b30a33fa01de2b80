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


@app.command(
    epilog=example("loopbook kinds check my-kind.toml", "loopbook kinds check --walk 2 my-kind.toml")
)
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Kind files, or folders of them.")],
    walk: Annotated[
        int,
        typer.Option(
            "--walk",
            metavar="DEPTH",
            min=0,
            max=6,
            help="Walk all histories of so many letters: can each still be closed? 2 take a second, 3 ten.",
        ),
    ] = 0,
) -> None:
    """Check kind files: every mistake with file, key and remedy."""
    wrong = 0
    for file in _files(paths):
        try:
            told = _checked(file, walk)
        except InvalidKind as mistake:
            told = [f"FAIL {mistake}"]
        for line in told:
            say(line)
        wrong += told[0].startswith("FAIL")
    if wrong:
        raise typer.Exit(FOUND)


def _checked(file: Path, depth: int) -> list[str]:
    """What is told of a kind file: one line, each of its mistakes, or the scenario of what a walk found."""
    from loopbook.kinds import mistakes, parse

    text = _text(file)
    if wrong := mistakes(text, str(file)):
        return [f"FAIL {mistake}" for mistake in wrong]
    kind = parse(text, str(file))
    if not depth:
        return [f"ok   {file}: {kind.name}"]
    from loopbook.testing import walk

    walked = walk(kind, depth=depth)
    if walked.offence is None:
        return [f"ok   {file}: {kind.name}; {walked.states} states were walked, and each can be closed"]
    return [f"FAIL {file}: {walked.offence.what}", *walked.offence.scenario.splitlines()]


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

    return parse(_text(file), str(file))


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidKind(f"{file}: not UTF-8; save the file as UTF-8") from None
