"""Who is asked where a command settles or closes: ``--judge`` and ``--timeout``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.target import settings_for
from loopbook.errors import InvalidEvent
from loopbook.limits import MAX_SEC

if TYPE_CHECKING:
    from loopbook.judges import Judge
    from loopbook.judges.scripted import Line

JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="env|none|script:FILE",
        help="Who is asked: the judge of your settings and environment, nobody, or a file with one JSON"
        " object of answers a line (the last one holds on).",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0,
        help=f"How long asking may take, in all, at most {MAX_SEC:g}; else your settings.",
    ),
]


def judge_of(words: str, store: str | None) -> Judge | None:
    """Whoever is to be asked; nobody where nobody is named."""
    sort, colon, file = words.partition(":")
    if words == "none":
        return None
    if words == "env":
        from loopbook.own import judge

        return judge(settings_for(store))
    if sort == "script" and colon and file:
        from loopbook.judges.scripted import Scripted

        return Scripted(_script(Path(file)))
    raise typer.BadParameter(f"--judge {words[:40]!r}: it is env, none, or script: with a file")


def _script(path: Path) -> list[Line]:
    """The lines of a scripted judge; ``{"fails": "timeout"}`` is one that fails."""
    from loopbook.judges import Failure

    lines: list[Line] = []
    for number, text in enumerate(path.read_text("utf-8-sig").splitlines(), 1):
        if text.strip():
            try:
                answers = json_object(text, "answers are a JSON object")
            except InvalidEvent as wrong:
                raise typer.BadParameter(f"{path}:{number}: {wrong.what}") from None
            fails = answers.get("fails")
            lines.append(Failure(fails) if isinstance(fails, str) else answers)
    if not lines:
        raise typer.BadParameter(f"{path} holds no answers")
    return lines


def json_object(text: str, what: str) -> dict[str, object]:
    """A JSON object that stands in a text. Raises ``InvalidEvent``, with ``what`` for another value."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise InvalidEvent(f"not JSON ({wrong})") from None
    if not isinstance(found, dict):
        raise InvalidEvent(what)
    return found
