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
from typing import NamedTuple, TypeVar, cast

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


class Packet(NamedTuple):
    """One request to a judge: about ``unit`` (``None``: the loop), away from a close or at one.

    ``state`` and ``questions`` keep their order.
    """

    state: Mapping[str, JsonValue]
    questions: Mapping[str, Question]
    unit: str | None = None
    sort: str = "away"

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
    "error": "the judge itself failed, or gave a kind of failure that is not in this table",
}


class Failure(NamedTuple):
    """There is no answer. ``kind`` is a word of ``FAILURES``; ``detail`` may say more to a person, and
    is not kept. ``took`` is what it took all the same, where a request was made; ``None`` where none was."""

    kind: str
    detail: str = ""
    took: Cost | None = None


#: Bounds of what is kept of an answer: characters of a name of its model or request and of a reason, and
#: any number in it.
NAME_CHARS = 200
HIGHEST = 1e12
#: Why a value is lost that is none of its question's.
NO_VALUE = "not a value of this question"


def known(answer: Answer | Failure, questions: Mapping[str, Question]) -> Answer | Failure:
    """The same, as far as a book can keep it: a failure of a kind that is in the table, an answer to what
    was asked. A judge is anybody's code, and may say anything.

    A value that is none of its question's is lost; where nothing else was said, or what accompanies the
    values cannot be kept, there is no answer. What was not asked is left out.

    >>> known(Failure("wedged"), {}), known(Failure("timeout"), {})
    (Failure(kind='error', detail='wedged', took=None), Failure(kind='timeout', detail='', took=None))
    >>> asked = {"done": Noul("Is it?", "it is", "it is not"), "ok": Noul("And?", "yes", "no")}
    >>> known(Answer({"done": Likely(0.2), "ok": Likely(7)}), asked)[:2]
    ({'done': Likely(noul=0.2)}, {'ok': 'not a value of this question'})
    >>> known(Answer({"done": Likely(float("nan"))}, cost_usd=0.5), asked)[1:]
    ('no answer to what was asked', Cost(input_tokens=None, output_tokens=None, cost_usd=0.5))
    """
    if isinstance(answer, Failure):
        kind = str(answer.kind)  # a judge may give anything
        took = None if answer.took is None else _cost(answer.took)
        failure = answer if kind in FAILURES else Failure("error", kind[:NAME_CHARS])
        return failure._replace(took=took)
    try:
        fitting, dropped = _fitting(answer, questions)
        if dropped and not fitting.values:
            return Failure("garbage", "no answer to what was asked", _cost(answer))
        kept = _can_be_kept(fitting)
    except (AttributeError, TypeError, ValueError, RecursionError, OverflowError):
        kept = False
    return fitting if kept else Failure("garbage", "an answer that cannot be kept", _cost(answer))


def _cost(told: object) -> Cost:
    """What an answer or a failure took, as far as a book can keep it."""
    given = [getattr(told, name, None) for name in Cost._fields]
    kept = [
        one if isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= HIGHEST else None
        for one in given
    ]
    sent, got = (one if isinstance(one, int) else None for one in kept[:2])
    return Cost(sent, got, kept[2])


def _fitting(answer: Answer, questions: Mapping[str, Question]) -> tuple[Answer, bool]:
    """The values that are their questions' own, and whether there were others."""
    values: dict[str, Value] = {}
    lost: dict[str, str] = {}
    for name, question in questions.items():
        if name in answer.lost:
            lost[name] = answer.lost[name]
        elif name in answer.values and fits(question, answer.values[name]):
            values[name] = answer.values[name]
        elif name in answer.values:
            lost[name] = NO_VALUE
    return answer._replace(values=values, lost=lost), len(values) < len(answer.values)


def fits(question: Question, value: object) -> bool:
    """Whether a value is one of its question's: of its kind, in its range, its probabilities by what it
    may be.

    >>> yes_or_no = Choice("Go on?", {"yes": "go on", "no": "stop"})
    >>> fits(yes_or_no, Chosen("yes")), fits(yes_or_no, Chosen("banana")), fits(yes_or_no, Likely(1))
    (True, False, False)
    """
    match question, value:
        case Choice(options=options), Chosen(choice, told, sure):
            return _value(question, choice) is not None and _shares(told, sure, list(options))
        case Noul(), Likely(noul):
            return _value(question, noul) is not None
        case Score(levels=levels), Scored(score, told, sure):
            return _value(question, score) is not None and _shares(
                told, sure, list(map(str, range(len(levels))))
            )
    return False


def _shares(told: object, sure: object, names: Sequence[str]) -> bool:
    if not isinstance(told, Mapping) or not (sure is None or _number(sure, 1) is not None):
        return False
    return all(name in names and _number(one, 1) is not None for name, one in told.items())


def _can_be_kept(answer: Answer) -> bool:
    names, numbers = answer[2:5], answer[5:]
    kept = to_json(answer)
    json.dumps([kept, numbers], allow_nan=False)
    back = from_json(kept)
    return (
        (back.values, back.lost) == (answer.values, answer.lost)
        and all(isinstance(name, str | None) for name in names)
        and all(len(name or "") <= NAME_CHARS for name in names)
        and all(len(why) <= NAME_CHARS for why in answer.lost.values())
        and all(number is None or _number(number, HIGHEST) is not None for number in numbers)
        and all(number is None or isinstance(number, int) for number in numbers[1:3])
    )


class Cost(NamedTuple):
    """What answers took: tokens, and US dollars; ``None`` where that of one of them is not known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


def cost_of(answers: Sequence[Answer]) -> Cost:
    """What all of them took together, those that came to nothing among them.

    >>> one = Answer({}, input_tokens=300, cost_usd=0.25)
    >>> cost_of([one, one])
    Cost(input_tokens=600, output_tokens=None, cost_usd=0.5)
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
        value = _value(question, plain.get(name))
        if value is None:
            lost[name] = "no answer" if plain.get(name) is None else NO_VALUE
        else:
            values[name] = value
    return Answer(values, lost)


def _value(question: Question, plain: object) -> Value | None:
    match question:
        case Choice(options=options):
            known = isinstance(plain, str) and plain in options
            return Chosen(cast("str", plain), {cast("str", plain): 1.0}, 1.0) if known else None
        case Noul():
            number = _number(plain, 1)
            return None if number is None else Likely(number)
        case Score(levels=levels):
            number = _number(plain, len(levels) - 1)
            return None if number is None else Scored(number)


def _number(plain: object, highest: float) -> float | None:
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
    return sha256(json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
