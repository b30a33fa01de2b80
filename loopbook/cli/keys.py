"""``loopbook judge key``: the key of the judge's server, typed and never shown."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, example
from loopbook.cli.output import say, say_json, say_rows
from loopbook.cli.target import settings_for

if TYPE_CHECKING:
    from loopbook.settings import Settings

app = typer.Typer(help="The key of the judge's server. It is never shown.")


@app.command("set", epilog=example("loopbook judge key set"))
def set_key() -> None:
    """Type the key of the judge's server; it is not shown, and kept in a file that only you can read."""
    from loopbook.judges.system_one.address import origin_of
    from loopbook.judges.system_one.key import keep_key
    from loopbook.own import closures

    settings = settings_for(None)
    if refused := _refused(settings):
        raise typer.BadParameter(f"judge_url is {refused}")
    origin = origin_of(settings.judge_url)
    file = keep_key(settings.judge_url, _typed(f"key for {origin}: "), os.environ)
    closures(os.environ).open(origin)
    say(f"the key for {origin} is kept in {file}")


@app.command("status", epilog=example("loopbook judge key status", "loopbook judge key status --json"))
def key_status(as_json: AsJson = False) -> None:
    """Say where the judge's key is found, looked for now; exit with 1 where one is needed and missing, and
    where the address may not be asked at all."""
    from loopbook.own import own_key, system_one

    settings = settings_for(None)
    judge = system_one(settings, os.environ)
    key = own_key(settings, os.environ)
    refused = _refused(settings)
    said = {
        "judge": str(judge),
        "needs_key": judge.dialect.keyed,
        "key_from": None if key is None else key.source,
        "refused": refused or None,
    }
    if as_json:
        say_json({"key": said})
    else:
        shown = {**said, "needs_key": "yes" if judge.dialect.keyed else "no"}
        rows = ((what, "-" if value is None else value) for what, value in shown.items())
        say_rows(("what", "value"), [row for row in rows if refused or row[0] != "refused"])
    if refused or (key is None and judge.dialect.keyed):
        raise typer.Exit(FOUND)


def _refused(settings: Settings) -> str:
    """Why nobody may be asked at the address of the settings, or nothing."""
    from loopbook.judges.system_one.address import Refused, checked

    try:
        checked(settings.judge_url, allow_http=settings.judge_allow_http)
    except Refused as why:
        return str(why)
    return ""


def _typed(prompt: str) -> str:
    """What a person types, without showing it; nothing else can give a key."""
    import getpass
    import warnings

    if not sys.stdin.isatty():
        raise typer.BadParameter(
            "a key is typed on a terminal; a pipe or a file would keep it where others find it"
            " (for a program, set LOOPBOOK_JUDGE_KEY)"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(prompt)
        except (getpass.GetPassWarning, EOFError):
            raise typer.BadParameter("this terminal cannot hide what is typed") from None
