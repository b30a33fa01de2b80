"""From what a server sent to an answer or a failure. No I/O, and nothing raises.

Theory. Whatever the bytes are, each question gets a value of its own kind or is *lost* with a reason
from a short list; a bad answer costs that question alone. What follows from the probabilities is
computed from them (``numbers``); a field that says otherwise is not believed. Fields that nobody
asked for are not looked at. A server has the key and the state and may give them back anywhere, so
each text of its own is hidden as a whole and cut then; a log gets none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from pydantic_core import core_schema

from loopbook.advisors.asking import Answer, Choice, Chosen, Cost, Failure, Likely, Noul, Score, Scored, Value
from loopbook.evidence.text import clean, one_line
from loopbook.judges.system_one import numbers
from loopbook.judges.system_one.dialects import Dialect
from loopbook.judges.system_one.wire import Asked, Hide, Request

#: Nothing that a server says of itself is kept longer than this, in characters.
WORDS = 200
#: More tokens or dollars than this are none.
MOST = 10**9
#: How much less likely than the likeliest a choice may be: both were rounded to two decimals.
ROUNDING = 0.011

#: Why a question is lost. A book keeps these words, and none of the server's.
NO_ANSWER = "no answer"
NO_OBJECT = "its answer is not an object"
OTHER_TYPE = "its answer is of another type"
NO_NUMBER = "its answer is not a number in its range"
NO_OPTION = "its answer is not an option"
NO_SHARES = "its probabilities are not those of its options"
NO_WHOLE = "its probabilities do not add up"
NOT_LIKELIEST = "its choice is not its likeliest option"


class Reply(NamedTuple):
    """An HTTP answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


#: The kind of failure that a status is, where it is not that of its hundred.
STATUSES: Mapping[int, str] = {
    400: "http-invalid",
    401: "http-auth",
    402: "http-payment",
    403: "http-auth",
    404: "http-not-found",
    405: "http-not-found",
    408: "http-busy",
    410: "http-not-found",
    413: "http-too-large",
    422: "http-invalid",
    425: "http-busy",
    429: "http-busy",
    501: "http-not-found",
    503: "http-busy",
    529: "http-busy",
}
_HUNDREDS: Mapping[int, str] = {3: "http-redirect", 5: "http-server"}
#: What a server calls a state that is too long, whatever the status is.
_TOO_LONG = ("max_tokens_exceeded", "context_length_exceeded")


def understood(reply: Reply, request: Request, dialect: Dialect, hide: Hide = clean) -> Answer | Failure:
    """What a reply comes to. ``hide`` goes over every text that is the server's."""
    if not 200 <= reply.status < 300:
        return _refusal(reply, hide)
    if reply.headers.get("content-encoding", "identity").lower() != "identity":
        return Failure("garbage", "it is compressed, which was not asked for", Cost())
    told = _json(reply.body)
    if dialect.wrapped_in is not None and isinstance(told, dict):
        told = told.get(dialect.wrapped_in)
    if not isinstance(told, dict) or not isinstance(told.get("answers"), dict):
        return Failure("garbage", "it is not a JSON object with answers", _cost(told))
    return _answer(told, reply, request, dialect, hide)


def _json(body: bytes) -> object:
    """The JSON of a body; nothing where it is none."""
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _answer(
    told: Mapping[str, object], reply: Reply, request: Request, dialect: Dialect, hide: Hide
) -> Answer:
    answers = told["answers"]
    given = answers if isinstance(answers, dict) else {}
    values: dict[str, Value] = {}
    lost = dict(request.lost)
    for sent, asked in request.asked.items():
        value = _value(asked, given.get(sent))
        if isinstance(value, str):
            lost[asked.name] = value
        else:
            values[asked.name] = value
    return Answer(
        values,
        lost,
        model_answered=_word(told.get("model"), hide),
        request_id=request_id(reply, dialect, told, hide),
        **_cost(told)._asdict(),
    )


def _cost(told: object) -> Cost:
    """What a server says that an answer took."""
    usage = told.get("usage") if isinstance(told, dict) else None
    if not isinstance(usage, dict):
        return Cost()
    sent, got = (_count(usage.get(name)) for name in ("input_tokens", "output_tokens"))
    return Cost(sent, got, numbers.number_within(usage.get("cost"), 0, MOST))


def request_id(reply: Reply, dialect: Dialect, told: Mapping[str, object], hide: Hide) -> str | None:
    """The server's id of a request: its dialect's, or what others use."""
    where, _, field = dialect.request_id.partition(":")
    own = told.get(field) if field else reply.headers.get(where)
    others = map(reply.headers.get, ("x-typesafe-request-id", "x-request-id"))
    return next(filter(None, (_word(one, hide) for one in (own, *others))), None)


# --- one question ---------------------------------------------------------------------------


def _value(asked: Asked, told: object) -> Value | str:
    """The value of a question, or why it is lost."""
    if told is None:
        return NO_ANSWER
    if not isinstance(told, dict):
        return NO_OBJECT
    question = asked.question
    if told.get("type", kind := type(question).__name__.lower()) != kind:
        return OTHER_TYPE
    match question:
        case Noul():
            likely = numbers.number_within(told.get("noul"), 0, 1)
            return NO_NUMBER if likely is None else Likely(likely)
        case Choice():
            return _chosen(asked.options, told)
        case Score(levels=levels):
            return _scored(len(levels), told)


def _chosen(options: Mapping[str, str], told: Mapping[str, object]) -> Chosen | str:
    """``options`` are the names as sent, by their own."""
    choice = next((own for own, sent in options.items() if sent == told.get("choice")), None)
    if choice is None:
        return NO_OPTION
    shares = _shares(list(options.values()), told.get("probabilities"))
    if isinstance(shares, str):
        return shares
    if shares is None:
        return Chosen(choice)
    likely = dict(zip(options, shares, strict=True))
    if likely[choice] < max(shares) - ROUNDING:
        return NOT_LIKELIEST
    return Chosen(choice, likely, numbers.confidence_of_choice(shares))


def _scored(levels: int, told: Mapping[str, object]) -> Scored | str:
    score = numbers.number_within(told.get("score"), 0, levels - 1)
    if score is None:
        return NO_NUMBER
    shares = _shares([str(level) for level in range(levels)], told.get("probabilities"))
    if isinstance(shares, str):
        return shares
    if shares is None:
        return Scored(score)
    likely = {str(level): share for level, share in enumerate(shares)}
    return Scored(numbers.expectation(shares), likely, numbers.confidence_of_score(shares))


def _shares(names: Sequence[str], told: object) -> list[float] | str | None:
    """The probabilities in the order of ``names``, made whole; a reason; or nothing where none are told.

    One that is left out is none; but nobody else may have one.
    """
    if told is None:
        return None
    if not isinstance(told, dict) or not set(told) <= set(names):
        return NO_SHARES
    shares = [numbers.number_within(told.get(name, 0.0), 0, 1) for name in names]
    if None in shares:
        return NO_NUMBER
    return numbers.whole([share for share in shares if share is not None]) or NO_WHOLE


def _word(told: object, hide: Hide) -> str | None:
    """A short text on one line, or nothing."""
    return (_short(told, hide) or None) if isinstance(told, str) else None


def _short(text: str, hide: Hide) -> str:
    """A server's text as it may be shown: bare of what a terminal would swallow, hidden, and cut last."""
    return one_line(hide(one_line(text, len(text))), WORDS)


def _count(told: object) -> int | None:
    number = numbers.number_within(told, 0, MOST)
    return int(number) if number is not None and number.is_integer() else None


# --- what is no answer ------------------------------------------------------------------------


def _refusal(reply: Reply, hide: Hide) -> Failure:
    told = _json(reply.body)
    kind = STATUSES.get(reply.status) or _HUNDREDS.get(reply.status // 100, "http-other")
    if 400 <= reply.status < 500 and any(word in _TOO_LONG for word in _error_types(told)):
        kind = "http-too-large"
    words = words_of(told, hide)
    took = _cost(told)
    counts = kind == "http-server" or took.cost_usd is not None
    return Failure(kind, f"{reply.status}: {words}" if words else str(reply.status), took if counts else None)


def words_of(told: object, hide: Hide = clean) -> str:
    """What a server says is wrong, wherever it says so; of a validation error the places and reasons,
    never the input, which is ours.

    >>> words_of({"detail": [{"loc": ["body", "state"], "msg": "Field required", "input": "secret"}]})
    'body.state: Field required'
    """
    return next(filter(None, (_short(words, hide) for words in _words(told))), "")


def _words(told: object) -> Iterator[str]:
    if not isinstance(told, dict):
        return
    for name in ("error", "message", "detail", "errors"):
        match told.get(name):
            case str() as words:
                yield words
            case {"message": str() as words}:
                yield words
            case [*several]:
                yield "; ".join(filter(None, map(_complaint, several[:5])))


def _complaint(told: object) -> str:
    match told:
        case {"loc": [*loc], "msg": str() as words}:
            return f"{'.'.join(str(one) for one in loc if isinstance(one, str | int))}: {words}"
        case {"message": str() as words}:
            return words
    return ""


#: What a validation error may name: what every request has, and what is the matter with it.
_PLACES = frozenset(
    {"body", "model", "state", "questions", "type", "instructions", "criteria", "true", "false"}
)
_TYPES = frozenset(get_args(core_schema.ErrorType))


def logged(reply: Reply) -> str:
    """The same as a log may have it: no word of the server's, the status and its validator's places alone.

    >>> logged(Reply(422, {}, b'{"detail": [{"loc": ["body", "secret"], "type": "missing", "msg": "no"}]}'))
    '422: body._ (missing)'
    """
    told = _json(reply.body)
    detail = told.get("detail") if isinstance(told, dict) else None
    places = map(_place, detail[:5]) if isinstance(detail, list) else ()
    return ": ".join(filter(None, (str(reply.status), ", ".join(filter(None, places)))))


def _place(told: object) -> str:
    match told:
        case {"loc": [*loc], **more}:
            place = ".".join(one if isinstance(one, str) and one in _PLACES else "_" for one in loc[:6])
            kind = more.get("type")
            return f"{place} ({kind})" if isinstance(kind, str) and kind in _TYPES else place
    return ""


def _error_types(told: object) -> Iterator[str]:
    if isinstance(told, dict):
        for inner in (told, told.get("detail"), told.get("error")):
            if isinstance(inner, dict):
                yield from (
                    inner[key] for key in ("error_type", "type", "code") if isinstance(inner.get(key), str)
                )
