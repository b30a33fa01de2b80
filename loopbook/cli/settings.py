"""``loopbook settings``: what is set, and who said so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.options import AsJson, Store, example
from loopbook.cli.output import say_json, say_rows

if TYPE_CHECKING:
    from pydantic import JsonValue

app = typer.Typer(help="Settings, and who decided them.")


@app.command("show", epilog=example("loopbook settings show", "loopbook settings show --json"))
def show(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="FOLDER", help="The project; else the current folder.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Show every setting with its value and where it comes from, then the files that were looked for."""
    from loopbook.evidence.redaction import Redactor
    from loopbook.judges.system_one.address import shown
    from loopbook.settings import SETTINGS, UNLIMITED, load_settings, settings_files
    from loopbook.store import without_password

    folder, redactor = project or Path.cwd(), Redactor.of_variables(os.environ)
    settings = load_settings(folder, arguments={"store": store})
    files = settings_files(folder)
    told: dict[str, JsonValue] = {name: getattr(settings, name) for name in SETTINGS} | {
        "waiting_tools": list(settings.waiting_tools),
        "subagent_tools": dict(settings.subagent_tools),
        "store": without_password(settings.store),
        "kinds_dir": None if settings.kinds_dir is None else str(settings.kinds_dir),
        "judge_url": shown(settings.judge_url),
        "max_continuations": UNLIMITED if settings.max_continuations is None else settings.max_continuations,
        "checks": [
            {"folder": str(check.folder), "command": check.command, "scope": check.scope}
            for check in settings.checks
        ],
    }
    values = {name: redactor.value(value) for name, value in told.items()}
    if as_json:
        said = {name: {"value": values[name], "from": settings.origins[name]} for name in SETTINGS}
        looked = [{"whose": whose, "path": str(path), "there": there} for whose, path, there in files]
        say_json({"settings": said, "files": looked})
        return
    rows = [
        (name, _shown(values[name]), settings.origins[name], row.words()) for name, row in SETTINGS.items()
    ]
    say_rows(("setting", "value", "from", "what it is"), [*rows, *map(_file, files)])


def _file(found: tuple[str, Path, bool]) -> tuple[str, str, str, str]:
    whose, path, there = found
    word = "read" if there else "not there"
    return f"({whose} file)", str(path), word, f"the {whose}'s settings"


def _shown(value: object) -> str:
    """A value as a settings file would say it, more or less."""
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case {"folder": folder, "command": command, "scope": scope}:
            return f"{command} ({scope}) in {folder}"
        case dict():
            return ", ".join(f"{key}: {one}" for key, one in value.items()) or "-"
        case list() | tuple():
            return "; ".join(map(_shown, value)) or "-"
    return str(value)
