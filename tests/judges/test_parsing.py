"""Whatever a server sends, parsing never raises, and what it gives is a probability or nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.advisors.asking import Cost
from loopbook.judges import Answer, Choice, Chosen, Failure, Likely, Noul, Packet, Question, Score, Scored
from loopbook.judges.system_one.dialects import BY_NAME, DIALECTS, Dialect
from loopbook.judges.system_one.parsing import Reply, understood, words_of
from loopbook.judges.system_one.wire import Request, request

QUESTIONS: Mapping[str, Question] = {
    "move": Choice("Which?", {"on": "go on", "back": "go back", "ask": "ask"}),
    "done": Noul("Is it?", "it is", "it is not"),
    "far": Score("How far?", ("none", "half", "all")),
}
PLAIN = BY_NAME["compatible"]


def made() -> Request:
    asked = request(Packet({"a": 1}, QUESTIONS), PLAIN, "m", ())
    assert isinstance(asked, Request)
    return asked


REQUEST = made()


def read(body: object, status: int = 200, dialect: str = "compatible", **headers: str) -> Answer | Failure:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return understood(Reply(status, named, raw), REQUEST, BY_NAME[dialect])


def answered(**answers: object) -> Answer:
    told = read({"answers": answers})
    assert isinstance(told, Answer)
    return told


def move(**fields: object) -> str | Chosen:
    """What the choice comes to, or why it is lost."""
    told = answered(move={"type": "choice", **fields})
    value = told.values.get("move")
    assert value is None or isinstance(value, Chosen)
    return told.lost["move"] if value is None else value


def far(**fields: object) -> str | Scored:
    told = answered(far={"type": "score", **fields})
    value = told.values.get("far")
    assert value is None or isinstance(value, Scored)
    return told.lost["far"] if value is None else value


def done(value: object) -> str | float:
    told = answered(done={"type": "noul", "noul": value})
    likely = told.values.get("done")
    assert likely is None or isinstance(likely, Likely)
    return told.lost["done"] if likely is None else likely.noul


# --- each question for itself ------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1, 0.5, 1e-9, 1.0000004])
def test_a_noul_is_a_number_from_0_to_1(value: float) -> None:
    assert done(value) == min(value, 1)


@pytest.mark.parametrize(
    "value", [-0.01, 1.01, math.nan, math.inf, -math.inf, "0.5", True, None, [0.5], {"p": 1}, 10**400]
)
def test_what_is_no_such_number_loses_its_question(value: object) -> None:
    assert done(value) == "its answer is not a number in its range"


def test_a_lost_question_costs_no_other() -> None:
    told = answered(
        move={"choice": "on"}, done={"type": "noul", "noul": 7}, far={"score": 1}, other={"type": "noul"}
    )
    assert set(told.values) == {"move", "far"}
    assert set(told.lost) == {"done"}


@pytest.mark.parametrize("told", [None, "on", 3, [], {"type": "boolean", "noul": 0.5}])
def test_an_answer_of_no_shape_is_lost_with_a_word_of_ours(told: object) -> None:
    assert answered(done=told).lost["done"] in {
        "no answer", "its answer is not an object", "its answer is of another type",
    }  # fmt: skip


def test_an_answer_that_does_not_name_its_type_is_of_the_one_that_was_asked() -> None:
    assert answered(done={"noul": 0.5}).values == {"done": Likely(0.5)}


def test_probabilities_rounded_to_two_decimals_are_made_whole() -> None:
    chosen = move(choice="on", probabilities={"on": 0.33, "back": 0.33, "ask": 0.33})
    assert isinstance(chosen, Chosen)
    assert sum(chosen.probabilities.values()) == pytest.approx(1)
    assert isinstance(move(choice="on", probabilities={"on": 0.96, "back": 0.05, "ask": 0.04}), Chosen)


@pytest.mark.parametrize(
    ("probabilities", "why"),
    [
        ({"on": 0.6, "back": 0.6, "ask": 0.0}, "its probabilities do not add up"),
        ({"on": 0.0, "back": 0.0, "ask": 0.0}, "its probabilities do not add up"),
        ({}, "its probabilities do not add up"),
        ({"on": 1.2, "back": -0.2}, "its answer is not a number in its range"),
        ({"on": "1.0"}, "its answer is not a number in its range"),
        ({"on": True}, "its answer is not a number in its range"),
        ({"on": 0.5, "On": 0.5}, "its probabilities are not those of its options"),
        ([1.0, 0.0, 0.0], "its probabilities are not those of its options"),
        ({"on": 0.1, "back": 0.8, "ask": 0.1}, "its choice is not its likeliest option"),
    ],
)
def test_probabilities_that_are_none_lose_the_choice(probabilities: object, why: str) -> None:
    assert move(choice="on", probabilities=probabilities) == why


def test_of_two_options_as_likely_as_each_other_either_may_be_chosen() -> None:
    chosen = move(choice="on", probabilities={"on": 0.49, "back": 0.5, "ask": 0.0})
    assert isinstance(chosen, Chosen)
    assert chosen.choice == "on"


@pytest.mark.parametrize("choice", ["On", "", None, 0, ["on"], "elsewhere"])
def test_only_an_option_can_be_chosen(choice: object) -> None:
    assert move(choice=choice) == "its answer is not an option"


def test_confidence_is_computed_and_what_is_told_of_it_is_not_read() -> None:
    for told in (None, 7, "sure", math.nan, -1):
        chosen = move(choice="on", probabilities={"on": 0.5, "back": 0.25, "ask": 0.25}, confidence=told)
        assert isinstance(chosen, Chosen)
        assert chosen.confidence == pytest.approx((0.5 - 1 / 3) / (1 - 1 / 3))
        scored = far(score=1, probabilities={"0": 0.25, "1": 0.5, "2": 0.25}, confidence=told)
        assert isinstance(scored, Scored)
        assert scored.confidence == pytest.approx(1 - 0.5 / (2 / 3))
    assert move(choice="on") == Chosen("on"), "where there is nothing to compute it from there is none"


def test_a_score_is_the_expectation_of_its_probabilities() -> None:
    scored = far(score=1, probabilities={"0": 0.0, "1": 0.6, "2": 0.4}, legend=None)
    assert isinstance(scored, Scored)
    assert scored.score == pytest.approx(1.4)
    assert far(score=1.25) == Scored(1.25)


@pytest.mark.parametrize("keys", ["123", ("0", "1", "3"), ("zero", "one", "two")])
def test_levels_are_numbered_from_0(keys: str) -> None:
    shares = dict.fromkeys(keys, 1 / 3)
    assert far(score=1, probabilities=shares) == "its probabilities are not those of its options"


@pytest.mark.parametrize("score", [-1, 2.5, "1", None, True, math.nan])
def test_a_score_lies_on_its_scale(score: object) -> None:
    assert (
        far(score=score, probabilities={"0": 0, "1": 1, "2": 0}) == "its answer is not a number in its range"
    )


# --- the rest of an answer -------------------------------------------------------------------


def took(usage: object) -> tuple[int | None, int | None, float | None]:
    told = read({"answers": {}, "usage": usage})
    assert isinstance(told, Answer)
    return told.input_tokens, told.output_tokens, told.cost_usd


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 318.0, "output_tokens": 34, "cost": 0.25}, (318, 34, 0.25)),
        ({"input_tokens": "318", "output_tokens": -1, "cost": True}, (None, None, None)),
        ({"input_tokens": 1.5, "cost": math.inf}, (None, None, None)),
        ([], (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_what_an_answer_took_is_told_where_it_is_a_number(
    usage: object, expected: tuple[object, ...]
) -> None:
    assert took(usage) == expected


def test_a_server_cannot_make_a_book_large_or_a_terminal_obey() -> None:
    told = read({"model": "\x1b[2J" + "m" * 10_000, "answers": {}})
    assert isinstance(told, Answer)
    assert told.model_answered is not None
    assert len(told.model_answered) <= 200
    assert "\x1b" not in told.model_answered


@pytest.mark.parametrize(
    ("dialect", "headers", "body_id", "expected"),
    [
        ("typesafe", {"x_typesafe_request_id": "req_1"}, "no", "req_1"),
        ("openrouter", {"x_request_id": "other"}, "gen-1", "gen-1"),
        ("cloudflare", {"cf_ray": "8a-FRA"}, "no", "8a-FRA"),
        ("compatible", {"x_request_id": "r"}, "no", "r"),
        ("compatible", {}, "no", None),
    ],
)
def test_the_id_of_a_request_stands_where_its_dialect_puts_it(
    dialect: str, headers: dict[str, str], body_id: str, expected: str | None
) -> None:
    body: dict[str, object] = {"id": body_id, "answers": {}}
    if wrap := BY_NAME[dialect].wrapped_in:
        body = {wrap: body}
    told = read(body, 200, dialect, **headers)
    assert isinstance(told, Answer)
    assert told.request_id == expected


def test_an_answer_is_unwrapped_where_its_dialect_wraps_it() -> None:
    wrapped = {"result": {"answers": {"done": {"noul": 0.5}}}, "success": True, "errors": []}
    told = read(wrapped, dialect="cloudflare")
    assert isinstance(told, Answer)
    assert told.values == {"done": Likely(0.5)}
    assert read(wrapped["result"], dialect="cloudflare") == read(wrapped)
    assert read(wrapped["result"], dialect="cloudflare").__class__ is Failure


def test_what_is_compressed_is_not_unpacked() -> None:
    body = {"answers": {"done": {"noul": 0.5}}}
    assert isinstance(read(body, content_encoding="identity"), Answer)
    told = read(body, content_encoding="gzip")
    assert told == Failure("garbage", "it is compressed, which was not asked for", Cost())
    refused = read({"error": "no"}, 404, content_encoding="gzip")
    assert isinstance(refused, Failure)
    assert refused.kind == "http-not-found", "a status says more"


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"error": "model is missing"}, "model is missing"),
        ({"error": {"message": "no credit", "code": 402}}, "no credit"),
        ({"message": "bad", "error_type": "x"}, "bad"),
        ({"detail": "plain"}, "plain"),
        (
            {"detail": {"error_type": "authentication_error", "message": "Cannot authenticate"}},
            "Cannot authenticate",
        ),
        (
            {"detail": [{"loc": ["body", "x", 0], "msg": "Field required", "input": {"a": 1}}]},
            "body.x.0: Field required",
        ),
        ({"success": False, "errors": [{"code": 1, "message": "no route"}]}, "no route"),
        ({"detail": {"error_type": "max_tokens_exceeded"}}, ""),
        ({"error": {}}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_words_of_a_refusal_are_found_wherever_a_server_puts_them(told: object, words: str) -> None:
    assert words_of(told) == words


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("where", ["detail", "error", None])
def test_a_state_that_is_too_long_is_told_apart_whatever_the_status(status: int, where: str | None) -> None:
    said: dict[str, object] = {"error_type": "max_tokens_exceeded"}
    told = read(said if where is None else {where: said}, status)
    assert isinstance(told, Failure)
    assert told.kind == "http-too-large"


# --- whatever comes -------------------------------------------------------------------------------

numbers = st.floats() | st.integers() | st.sampled_from([0.5, 0.25, 1, 0, 0.33, 0.34])
words = st.sampled_from(["on", "back", "ask", "0", "1", "2", "noul", "choice", "score", "é"]) | st.text(
    max_size=5
)
names = st.sampled_from(
    ["answers", "move", "done", "far", "type", "noul", "choice", "score", "probabilities", "confidence",
     "legend", "usage", "input_tokens", "cost", "model", "result", "error", "detail", "message", "loc", "msg"]
) | words  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
    max_leaves=25,
)
shares = st.dictionaries(words, numbers, max_size=4)
likely_answers = st.fixed_dictionaries(
    {},
    optional={
        "move": st.fixed_dictionaries(
            {"choice": words}, optional={"type": words, "probabilities": shares | anything}
        ),
        "done": st.fixed_dictionaries({"noul": numbers | anything}, optional={"type": words}),
        "far": st.fixed_dictionaries(
            {"score": numbers}, optional={"probabilities": shares, "legend": anything}
        ),
    },
)
bodies = st.fixed_dictionaries(
    {"answers": likely_answers | anything}, optional={"usage": anything, "model": anything}
)


@given(
    body=st.binary(max_size=60) | (bodies | anything).map(lambda told: json.dumps(told).encode()),
    status=st.sampled_from([200, 200, 200, 204, 301, 400, 402, 413, 422, 429, 500, 599, 700, 100]),
    dialect=st.sampled_from(DIALECTS),
    headers=st.dictionaries(
        st.sampled_from(["cf-ray", "x-request-id", "content-encoding"]), words, max_size=2
    ),
)
def test_whatever_comes_nothing_raises_and_every_probability_is_one(
    body: bytes, status: int, dialect: Dialect, headers: dict[str, str]
) -> None:
    reply = Reply(status, headers, body)
    told = understood(reply, REQUEST, dialect)
    assert told == understood(reply, REQUEST, dialect), "the same bytes are the same answer"
    if isinstance(told, Failure):
        assert len(told.detail) < 300
        return
    assert set(told.values) | set(told.lost) == set(QUESTIONS)
    assert not set(told.values) & set(told.lost)
    for value in told.values.values():
        if isinstance(value, Likely):
            assert 0 <= value.noul <= 1
        else:
            some = list(value.probabilities.values())
            assert all(0 <= share <= 1 for share in some)
            assert not some or math.fsum(some) == pytest.approx(1)
            assert value.confidence is None or 0 <= value.confidence <= 1
        if isinstance(value, Scored):
            assert 0 <= value.score <= 2
        if isinstance(value, Chosen):
            assert value.choice in ("on", "back", "ask")
