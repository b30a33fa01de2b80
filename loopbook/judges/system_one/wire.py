"""From a packet to the bytes that are sent: hidden, sound, and small enough. No I/O.

Theory. A request is made the same way whether it is sent or only shown. Every text in it goes through
the redactor first, then what a strict reader refuses is taken out, then the state is cut to the room
that the questions leave. A name (of a question or an option) that does not come through unchanged is
sent as another one, and the answer is read back under its own. What the server cannot be asked is
*lost* here, as a bad answer would be: the other questions are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from pydantic import JsonValue

from loopbook.advisors.asking import Choice, Failure, Noul, Packet, Question, Score
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.text import clean
from loopbook.judges.system_one.dialects import Dialect
from loopbook.judges.system_one.fitting import REQUEST_BYTES, STATE_BYTES, fitted, sound, written


class Asked(NamedTuple):
    """A question as it went out: its own name, and of a choice its options as sent, by their own names."""

    name: str
    question: Question
    options: Mapping[str, str] = {}


class Request(NamedTuple):
    """What goes out. ``asked`` is by the name as sent; ``lost`` says, by question, why it was not asked;
    ``cut``: the state was too large."""

    body: bytes
    asked: Mapping[str, Asked]
    lost: Mapping[str, str] = {}
    cut: bool = False


#: Why a question is not asked.
TOO_MANY_QUESTIONS = "more questions than the server takes"
TOO_MANY_OPTIONS = "more options than the server takes"
TOO_MANY_LEVELS = "more levels than the server takes"
NO_OPTIONS = "nothing to choose from"


def request(
    packet: Packet, dialect: Dialect, model: str | None, redactors: Sequence[Redactor]
) -> Request | Failure:
    """The request that asks a packet, or the failure ``unaskable``.

    >>> from loopbook.judges.system_one.dialects import BY_NAME
    >>> packet = Packet({"claim": "done"}, {"ok": Noul("Is it?", "it is", "")})
    >>> request(packet, BY_NAME["typesafe"], "jev-latest", ()).body[:60]
    b'{"model":"jev-latest","state":{"claim":"done"},"questions":{'
    """
    lost = {name: why for name, one in packet.questions.items() if (why := _unaskable(one, dialect))}
    left = [name for name in packet.questions if name not in lost]
    lost |= dict.fromkeys(left[dialect.questions :] if dialect.questions else (), TOO_MANY_QUESTIONS)
    hide = hider(redactors)
    names = _names("q", [name for name in left if name not in lost], hide)
    asked = {sent: _asked(name, packet.questions[name], hide) for name, sent in names.items()}
    if not asked:
        return Failure("unaskable", "; ".join(sorted(set(lost.values()))) or "there is no question")
    questions = {sent: _question(one, hide) for sent, one in asked.items()}
    head: dict[str, JsonValue] = {} if model is None else {"model": model}
    room = min(
        STATE_BYTES - max(len(written({sent: one})) for sent, one in questions.items()),
        REQUEST_BYTES - len(written({**head, "state": {}, "questions": questions})),
    )
    whole = _sound_state(packet.state, redactors)
    state = fitted(whole, room)
    if state is None:
        return Failure("unaskable", f"the questions leave {max(room, 0)} bytes for the state")
    body = written({**head, "state": state, "questions": questions})
    return Request(body, asked, lost, cut=state != whole)


def _unaskable(question: Question, dialect: Dialect) -> str:
    """Why a question cannot be asked, or nothing."""
    match question:
        case Choice(options=some):
            most, too_many = dialect.options, TOO_MANY_OPTIONS
        case Score(levels=some):
            most, too_many = dialect.levels, TOO_MANY_LEVELS
        case _:
            return ""
    return NO_OPTIONS if len(some) < 2 else too_many if len(some) > most else ""


# --- hiding -------------------------------------------------------------------------------

Hide = Callable[[str], str]


def hider(redactors: Sequence[Redactor]) -> Hide:
    """What hides the secrets of all of them in a text."""

    def hide(text: str) -> str:
        for redactor in redactors:
            text = redactor.text(text)
        return clean(text)

    return hide


def _sound_state(state: Mapping[str, JsonValue], redactors: Sequence[Redactor]) -> dict[str, JsonValue]:
    value: JsonValue = dict(state)
    for redactor in redactors:
        value = redactor.value(value)
    return cast("dict[str, JsonValue]", sound(value))


def _names(prefix: str, own: Iterable[str], hide: Hide) -> dict[str, str]:
    """Each name as it is sent: itself, or a neutral one where it is empty or would not come through."""
    taken = set(own := list(own))
    sent: dict[str, str] = {}
    for place, name in enumerate(own, 1):
        other = f"{prefix}{place}"
        while other in taken:
            other += "_"
        sent[name] = name if name.strip() and hide(name) == name else other
        taken.add(sent[name])
    return sent


def _asked(name: str, question: Question, hide: Hide) -> Asked:
    options = _names("option ", question.options, hide) if isinstance(question, Choice) else {}
    return Asked(name, question, options)


# --- questions as the server reads them -----------------------------------------------------


def _question(asked: Asked, hide: Hide) -> dict[str, JsonValue]:
    question = asked.question
    told: dict[str, JsonValue] = {
        "type": type(question).__name__.lower(),
        "instructions": hide(question.instructions),
    }
    match question:
        case Choice(options=options):
            told["criteria"] = {asked.options[own]: hide(words) or None for own, words in options.items()}
        case Score(levels=levels):
            told["criteria"] = [hide(level) for level in levels]
        case Noul(yes=yes, no=no):
            meant: dict[str, JsonValue] = {
                key: hide(words) for key, words in (("true", yes), ("false", no)) if words
            }
            told |= {"criteria": meant} if meant else {}
    return told
