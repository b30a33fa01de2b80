"""What a judge is asked and what it answers, as values.

Theory. A judge never writes text. It is handed a *state* (JSON; what is read first weighs most) and
a set of typed questions: a *choice* among named options, a *noul* (how likely is yes, 0 to 1), a
*score* over written levels (0 is the first). All go in one request. An answer may lose single
questions; a *failure* is when there is no answer at all. Whoever answers (a server, a host, a
script) speaks in these words, and they are what a book keeps of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple, TypeVar

from pydantic import JsonValue


class Choice(NamedTuple):
    """One of the options, each with what it means."""

    instructions: str
    options: Mapping[str, str]


class Noul(NamedTuple):
    """How likely is yes; ``yes`` and ``no`` say what either means."""

    instructions: str
    yes: str
    no: str


class Score(NamedTuple):
    """Where on a scale of written levels, the lowest first."""

    instructions: str
    levels: tuple[str, ...]


Question = Choice | Noul | Score
#: Whether it is about work that goes on, or about a declared close.
Sort = Literal["away", "close"]


class Packet(NamedTuple):
    """One request to a judge: about ``unit`` (``None``: the loop), away from a close or at one.

    ``state`` and ``questions`` keep their order.
    """

    state: Mapping[str, JsonValue]
    questions: Mapping[str, Question]
    unit: str | None = None
    sort: Sort = "away"

    @property
    def digest(self) -> str:
        """What tells two packets apart: SHA-256 over everything in it, in hex.

        >>> Packet({"a": 1}, {}).digest == Packet({"a": 1}, {}).digest != Packet({"a": 2}, {}).digest
        True
        """
        return _digest([self.unit, self.sort, self.state, _plain(self.questions)])

    @property
    def question_set(self) -> str:
        """The same over the questions alone: names, order and texts."""
        return _digest(_plain(self.questions))


class Chosen(NamedTuple):
    """The option a judge chose; ``probabilities`` by option, where it gave them."""

    choice: str
    probabilities: Mapping[str, float] = {}
    confidence: float | None = None


class Likely(NamedTuple):
    """How likely is yes, 0 to 1."""

    noul: float


class Scored(NamedTuple):
    """The expected level, 0 to the number of levels less one; ``probabilities`` by level."""

    score: float
    probabilities: Mapping[str, float] = {}
    confidence: float | None = None


Value = Chosen | Likely | Scored


class Answer(NamedTuple):
    """What a judge said. ``lost`` holds, by question, why there is no value for it.

    Milliseconds, US dollars; what is not known is ``None``.
    """

    values: Mapping[str, Value]
    lost: Mapping[str, str] = {}
    model_asked: str | None = None
    model_answered: str | None = None
    request_id: str | None = None
    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


#: Why there is no answer: every kind that a book holds, and what it tells. A server's own words are
#: never kept. Docs, drivers and tests read this table; a kind that is not in it becomes ``error``.
FAILURES: Mapping[str, str] = {
    "no-judge": "there is nobody to ask",
    "no-key": "the server needs a key, and there is none, or its file may be read by others",
    "refused-url": "the address is none that may be asked: not a URL, plain http to another machine",
    "cap": "the judgments of this book have cost what they may",
    "circuit-open": "the server refused the key before; it is not asked again with this key",
    "unaskable": "the questions do not fit what the server takes, even with the state cut down",
    "deadline": "no time was left to ask",
    "timeout": "asked, and no whole answer came in time",
    "connect": "no connection, or it ended before an answer began",
    "tls": "no connection that can be trusted: certificate or protocol",
    "cut-off": "the connection ended inside the answer",
    "too-large": "the answer was larger than any answer is; the rest was not read",
    "garbage": "what came is no answer to what was asked",
    "http-redirect": "3xx: redirects are not followed, a key would go with them",
    "http-invalid": "400, 422: the server calls the request wrong",
    "http-auth": "401, 403: the key is wrong or missing",
    "http-payment": "402: no credit is left",
    "http-not-found": "404, 405, 410, 501: no such route or model there",
    "http-too-large": "413, or the server says that the state is too long",
    "http-busy": "408, 425, 429, 503, 529: too many requests, or overloaded",
    "http-server": "any other 5xx: the server or a gateway failed",
    "http-other": "any other status that is no answer",
    "error": "the judge itself failed, or failed in a way that loopbook has no word for",
}


class Failure(NamedTuple):
    """There is no answer. ``kind`` is a word of ``FAILURES``; ``detail`` may say more to a person, and
    is not kept. ``took`` is what it took all the same, where a request was made; ``None`` where none was."""

    kind: str
    detail: str = ""
    took: Cost | None = None


#: Why a value is lost that is none of its question's.
NO_VALUE = "not a value of this question"


class Cost(NamedTuple):
    """What answers took: tokens, and US dollars; ``None`` where that of one of them is not known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


def cost_of(answers: Sequence[Answer | Cost]) -> Cost:
    """What answers took together.

    >>> cost_of([Answer({}, input_tokens=300, cost_usd=0.25), Cost(200, 7, 0.5)])
    Cost(input_tokens=500, output_tokens=None, cost_usd=0.75)
    """
    return Cost(
        _total([one.input_tokens for one in answers]),
        _total([one.output_tokens for one in answers]),
        _total([one.cost_usd for one in answers]),
    )


_N = TypeVar("_N", int, float)


def _total(numbers: Sequence[_N | None]) -> _N | None:
    known_ones = [number for number in numbers if number is not None]
    return sum(known_ones) if known_ones and len(known_ones) == len(numbers) else None


def answer_from(questions: Mapping[str, Question], plain: Mapping[str, object]) -> Answer:
    """An answer from bare values by question: an option's name, or a number.

    A question without a value, or with one that is none of its values, is lost.

    >>> asked = {"done": Noul("Is it?", "it is", "it is not"), "ok": Noul("And?", "yes", "no")}
    >>> answer_from(asked, {"done": 0.2, "ok": 7}).values
    {'done': Likely(noul=0.2)}
    """
    values: dict[str, Value] = {}
    lost: dict[str, str] = {}
    for name, question in questions.items():
        value = value_of(question, plain.get(name))
        if value is None:
            lost[name] = "no answer" if plain.get(name) is None else NO_VALUE
        else:
            values[name] = value
    return Answer(values, lost)


def value_of(question: Question, plain: object) -> Value | None:
    """A bare value as this question's: nothing for one that is none of its values."""
    match question:
        case Choice(options=options):
            return Chosen(plain, {plain: 1.0}, 1.0) if isinstance(plain, str) and plain in options else None
        case Noul():
            number = number_of(plain, 1)
            return None if number is None else Likely(number)
        case Score(levels=levels):
            number = number_of(plain, len(levels) - 1)
            return None if number is None else Scored(number)


def number_of(plain: object, highest: float) -> float | None:
    """A number from 0 to ``highest``; nothing for anything else."""
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 <= plain <= highest:
        return None
    return float(plain)


def to_json(answer: Answer) -> dict[str, JsonValue]:
    """The values of an answer as a book keeps them; ``from_json`` reads them back.

    >>> to_json(Answer({"done": Likely(0.2)}, {"move": "not an option"}))
    {'done': {'noul': 0.2}, 'move': {'lost': 'not an option'}}
    """
    kept: dict[str, JsonValue] = {}
    for name, value in answer.values.items():
        fields = {key: dict(one) if isinstance(one, Mapping) else one for key, one in value._asdict().items()}
        kept[name] = {key: one for key, one in fields.items() if one is not None and one != {}}
    for name, why in answer.lost.items():
        kept[name] = {"lost": why}
    return kept


def from_json(kept: Mapping[str, JsonValue]) -> Answer:
    """The answer that a book has kept; a value that cannot be read is lost.

    >>> from_json({"done": {"noul": 0.2}, "move": {"lost": "not an option"}})[:2]
    ({'done': Likely(noul=0.2)}, {'move': 'not an option'})
    """
    values: dict[str, Value] = {}
    lost: dict[str, str] = {}
    for name, fields in kept.items():
        value = _read(fields) if isinstance(fields, dict) else None
        if value is None:
            why = fields.get("lost") if isinstance(fields, dict) else None
            lost[name] = why if isinstance(why, str) else "cannot be read"
        else:
            values[name] = value
    return Answer(values, lost)


def _read(fields: Mapping[str, JsonValue]) -> Value | None:
    choice, noul, score = fields.get("choice"), fields.get("noul"), fields.get("score")
    if isinstance(noul, int | float):
        return Likely(float(noul))
    told, sure = fields.get("probabilities"), fields.get("confidence")
    probabilities = (
        {k: float(v) for k, v in told.items() if isinstance(v, int | float)} if isinstance(told, dict) else {}
    )
    confidence = float(sure) if isinstance(sure, int | float) else None
    if isinstance(choice, str):
        return Chosen(choice, probabilities, confidence)
    return Scored(float(score), probabilities, confidence) if isinstance(score, int | float) else None


def _plain(questions: Mapping[str, Question]) -> list[object]:
    return [[name, type(one).__name__.lower(), list(one)] for name, one in questions.items()]


def _digest(value: object) -> str:
    return sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
