"""Who is asked where a command settles or closes: ``--judge`` and ``--timeout``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.target import chosen, opened, settings_for
from loopbook.errors import InvalidEvent
from loopbook.limits import MAX_SEC

if TYPE_CHECKING:
    from loopbook.judges import Judge
    from loopbook.judges.scripted import Line
    from loopbook.loop import Loop

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


@contextmanager
def settling(store: str | None, session: str, loop: str | None) -> Iterator[Loop]:
    """The loop that is meant, its runs to be settled as the user's settings have it."""
    with opened(store, session, settles=True) as books:
        yield chosen(books, loop)


def _script(path: Path) -> list[Line]:
    """The lines of a scripted judge. Raises ``typer.BadParameter``, which names the line."""
    from loopbook.errors import InvalidScript

    lines: list[Line] = []
    for number, text in enumerate(path.read_text("utf-8-sig").splitlines(), 1):
        if text.strip():
            try:
                lines.append(_line(json_object(text, "answers are a JSON object")))
            except InvalidEvent as wrong:
                raise typer.BadParameter(f"{path}:{number}: {wrong.what}") from None
            except InvalidScript as wrong:
                raise typer.BadParameter(f"{path}:{number}: {wrong}") from None
    if not lines:
        raise typer.BadParameter(f"{path} holds no answers")
    return lines


def _line(told: dict[str, object]) -> Line:
    """One line, as what may stand in it; ``{"fails": "timeout"}`` is a judge that fails."""
    from loopbook.advisors.second_thought.questions import QUESTIONS
    from loopbook.judges.scripted import checked, failing

    if "fails" not in told:
        return checked(told, QUESTIONS, ("fails",))
    if len(told) > 1:
        raise InvalidEvent("fails stands alone: a judge that fails answers nothing")
    return failing(told["fails"])


def json_object(text: str, what: str) -> dict[str, object]:
    """A JSON object that stands in a text. Raises ``InvalidEvent``, with ``what`` for another value."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise InvalidEvent(f"not JSON ({wrong})") from None
    if not isinstance(found, dict):
        raise InvalidEvent(what)
    return found
