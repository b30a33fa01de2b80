"""Questions and answers: a packet is known by its digest, and what a book keeps of an answer is read back."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.advisors.asking import (
    NO_VALUE,
    Answer,
    Choice,
    Chosen,
    Likely,
    Noul,
    Packet,
    Question,
    Score,
    Scored,
    answer_from,
    from_json,
    to_json,
)
from loopbook.advisors.second_thought.questions import QUESTIONS

QUESTION = Noul("Is it?", "yes", "no")


@pytest.mark.parametrize(
    "other",
    [
        Packet({"b": 2, "a": 1}, {"q": QUESTION}),
        Packet({"a": 1, "b": 3}, {"q": QUESTION}),
        Packet({"a": 1, "b": 2}, {"p": QUESTION}),
        Packet({"a": 1, "b": 2}, {"q": QUESTION._replace(no="nope")}),
        Packet({"a": 1, "b": 2}, {"q": QUESTION}, "unit"),
        Packet({"a": 1, "b": 2}, {"q": QUESTION}, None, "close"),
    ],
)
def test_whatever_differs_gives_another_digest_order_included(other: Packet) -> None:
    assert Packet({"a": 1, "b": 2}, {"q": QUESTION}).digest != other.digest


def test_a_digest_stays_the_same_for_ever_because_books_keep_it() -> None:
    packet = Packet(
        {"a": [1, 2], "é": {"b": None, "c": True}}, {"q": QUESTION, "p": Score("How?", ("x", "y"))}
    )
    assert packet.digest == "9377db9810815ef7959980fd63088cf1e9b34b5f60478ccc191688de192f67f2"
    assert packet.question_set == "9d0a1387811a11f2f167e1313127fbc0236f8a5c9f7df765a52d9ffa701f335c"


def test_the_question_set_is_known_by_its_words_alone() -> None:
    packet = Packet({"a": 1}, QUESTIONS)
    assert packet.question_set == packet._replace(state={}, unit="u").question_set
    assert packet.question_set != packet._replace(questions={"move": QUESTIONS["move"]}).question_set


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "move": st.sampled_from(["advance", "back", "ask_user", "soup", 7]),
            "done": st.one_of(st.floats(), st.booleans(), st.integers()),
            "review_tier": st.sampled_from(["none", "light", "full", None]),
            "quality": st.floats(-1, 4),
        },
    )
)
def test_every_question_is_answered_within_its_values_or_lost(plain: dict[str, object]) -> None:
    answer = answer_from(QUESTIONS, plain)
    assert answer.values.keys() | answer.lost.keys() == QUESTIONS.keys()
    assert answer.values.keys().isdisjoint(answer.lost)
    assert from_json(to_json(answer)) == answer


@pytest.mark.parametrize(
    ("question", "plain", "good"),
    [
        (QUESTION, 0, True),
        (QUESTION, 1, True),
        (QUESTION, 1.01, False),
        (QUESTION, True, False),
        (QUESTION, float("nan"), False),
        (Score("How?", ("low", "high")), 1, True),
        (Score("How?", ("low", "high")), 1.5, False),
        (Choice("Which?", {"a": "x"}), "a", True),
        (Choice("Which?", {"a": "x"}), "b", False),
    ],
)
def test_a_value_that_is_none_of_a_questions_is_lost(
    question: Noul | Score | Choice, plain: object, good: bool
) -> None:
    assert ("q" in answer_from({"q": question}, {"q": plain}).values) is good


def test_a_bare_value_is_a_sure_one_and_a_question_without_one_says_so() -> None:
    asked: dict[str, Question] = {"q": Choice("Which?", {"a": "x"}), "p": QUESTION, "o": QUESTION}
    assert answer_from(asked, {"q": "a", "p": 7}) == Answer(
        {"q": Chosen("a", {"a": 1.0}, 1.0)}, {"p": NO_VALUE, "o": "no answer"}
    )


def test_only_what_is_known_of_a_value_is_kept_and_it_is_read_back_whole() -> None:
    told = Answer(
        {
            "a": Chosen("x"),
            "b": Chosen("x", MappingProxyType({"x": 0.5}), 0.25),
            "c": Scored(1.5, {"1": 1.0}, 0.75),
            "d": Likely(0),
        }
    )
    kept = json.loads(json.dumps(to_json(told)))
    assert kept == {
        "a": {"choice": "x"},
        "b": {"choice": "x", "probabilities": {"x": 0.5}, "confidence": 0.25},
        "c": {"score": 1.5, "probabilities": {"1": 1.0}, "confidence": 0.75},
        "d": {"noul": 0},
    }
    assert from_json(kept) == told


def test_what_cannot_be_read_back_is_lost() -> None:
    read = from_json({"a": 7, "b": {}, "c": {"choice": 7}, "d": {"score": "x"}})
    assert read == Answer({}, dict.fromkeys("abcd", "cannot be read"))
