"""``loopbook settings``: what is set, and who said so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopbook.cli.options import AsJson, Store, example
from loopbook.cli.output import say_json, say_rows

app = typer.Typer(help="Settings, and who decided them.")


@app.command("show", epilog=example("loopbook settings show", "loopbook settings show --json"))
def show(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="FOLDER", help="The project; else the current folder.")
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Show every setting with its value and where it comes from."""
    from loopbook.settings import SETTINGS, load_settings
    from loopbook.store import without_password

    settings = load_settings(project or Path.cwd(), arguments={"store": store})
    values = {
        "store": without_password(settings.store),
        "kinds_dir": None if settings.kinds_dir is None else str(settings.kinds_dir),
        "review_tier": settings.review_tier,
        "checks": [
            {"folder": str(check.folder), "command": check.command, "scope": check.scope}
            for check in settings.checks
        ],
    }
    if as_json:
        say_json(
            {"settings": {name: {"value": values[name], "from": settings.origins[name]} for name in SETTINGS}}
        )
        return
    rows = [
        (name, _shown(values[name]), settings.origins[name], row.meaning) for name, row in SETTINGS.items()
    ]
    say_rows(("setting", "value", "from", "what it is"), rows)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return (
            "; ".join(f"{check['command']} ({check['scope']}) in {check['folder']}" for check in value) or "-"
        )
    return "-" if value is None else str(value)
