"""A packet as JSON: what a person or a program may have asked.

::

    {"state": {"claim": "All tests pass.", "last": "1 failed"},
     "questions": {"true": {"type": "noul", "instructions": "Is `claim` true?",
                            "criteria": {"true": "the record shows it", "false": "it does not"}}}}

Questions are written as the interface has them: a *noul* with ``criteria`` of ``true`` and ``false``
(each may be left out), a *choice* with a mapping of options to what they mean, or ``null``, a *score*
with the list of its levels, the lowest first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from loopbook.errors import InvalidPacket
from loopbook.judges import Choice, Noul, Packet, Question, Score


def read_packet(text: str) -> Packet:
    """The packet that a text holds. Raises ``InvalidPacket``, which names the place in it.

    >>> read_packet('{"state": {}, "questions": {"a": {"type": "noul", "instructions": "Is it?"}}}').questions
    {'a': Noul(instructions='Is it?', yes='', no='')}
    """
    try:
        told = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as wrong:
        raise _wrong(f"it is not JSON ({wrong})") from None
    fields = _object(told, "it")
    _only(fields, {"state", "questions"}, "it")
    questions = _object(fields.get("questions"), "questions")
    if not questions:
        raise _wrong("questions is empty")
    asked = {name: _question(one, f"questions.{name}") for name, one in questions.items()}
    return Packet(_object(fields.get("state"), "state"), asked)  # type: ignore[arg-type] # read as JSON


def _question(told: object, where: str) -> Question:
    fields = _object(told, where)
    _only(fields, {"type", "instructions", "criteria"}, where)
    words, criteria = _text(fields.get("instructions"), f"{where}.instructions"), fields.get("criteria")
    where = f"{where}.criteria"
    match fields.get("type"):
        case "noul":
            meant = {} if criteria is None else _object(criteria, where)
            _only(meant, {"true", "false"}, where)
            yes, no = (_said(meant.get(key), f"{where}.{key}") for key in ("true", "false"))
            return Noul(words, yes, no)
        case "choice":
            options = _object(criteria, where).items()
            return Choice(words, {name: _said(one, f"{where}.{name}") for name, one in options})
        case "score" if isinstance(criteria, list):
            return Score(words, tuple(_text(one, f"{where}.{at}") for at, one in enumerate(criteria)))
        case "score":
            raise _wrong(f"{where} is not a list of levels")
        case _:
            raise _wrong(f"{where.rpartition('.')[0]}.type is none of noul, choice, score")


def _object(told: object, where: str) -> Mapping[str, object]:
    if not isinstance(told, dict):
        raise _wrong(f"{where} is not an object")
    return told


def _text(told: object, where: str) -> str:
    if not isinstance(told, str):
        raise _wrong(f"{where} is not a text")
    return told


def _said(told: object, where: str) -> str:
    """A text that may be left out."""
    return "" if told is None else _text(told, where)


def _only(fields: Mapping[str, object], known: set[str], where: str) -> None:
    for name in fields:
        if name not in known:
            raise _wrong(f"{where} has {name!r}, which is none of {', '.join(sorted(known))}")


def _wrong(what: str) -> InvalidPacket:
    return InvalidPacket(f"these are no questions for a judge: {what}; nothing was asked; correct the file")
