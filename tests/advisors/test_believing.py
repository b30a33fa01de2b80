"""What of an answer can be believed: each question's own values, and what accompanies them within bounds."""

from __future__ import annotations

from asyncio import CancelledError
from enum import Enum
from types import MappingProxyType
from typing import NoReturn, cast

import pytest

from loopbook.advisors.asking import (
    FAILURES,
    NO_VALUE,
    Answer,
    Choice,
    Chosen,
    Cost,
    Failure,
    Likely,
    Noul,
    Question,
    Score,
    Scored,
)
from loopbook.advisors.believing import HIGHEST, NAME_CHARS, fits, known

YES = Noul("Is it?", "yes", "no")
MOVE = Choice("Which?", {"on": "go on", "back": "go back"})
LEVEL = Score("How?", ("low", "middle", "high"))
ASKED: dict[str, Question] = {"yes": YES, "move": MOVE, "level": LEVEL}
FINE = Answer({"yes": Likely(0.2), "move": Chosen("on"), "level": Scored(1.5)})
COST = Cost(300, 5, 0.25)


def dear(answer: Answer) -> Answer:
    """An answer that has cost something."""
    return answer._replace(input_tokens=300, output_tokens=5, cost_usd=0.25)


def anything(value: object) -> Answer:
    """An answer whose one value is whatever a judge has put there."""
    return dear(Answer(cast("dict[str, Likely]", {"yes": value})))


# --- failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_of_the_table_is_kept_with_what_it_took(kind: str) -> None:
    failure = Failure(kind, "more of it", Cost(1, 2, 0.5))
    assert known(failure, ASKED) == failure
    assert known(Failure(kind), ASKED) == Failure(kind)


def test_a_failure_that_nobody_knows_is_an_error_and_names_its_kind_in_short() -> None:
    kind = "wedged " * NAME_CHARS
    assert known(Failure(kind, "x", Cost(1)), ASKED) == Failure("error", kind[:NAME_CHARS], Cost(1))
    assert known(Failure(cast("str", 7)), ASKED) == Failure("error", "7")


@pytest.mark.parametrize("number", [-1, True, "5", float("nan"), float("inf"), HIGHEST * 2, None])
def test_what_a_failure_took_is_kept_as_far_as_it_can_be_meant(number: object) -> None:
    took = Cost(cast("int", number), 2, cast("float", number))
    assert known(Failure("timeout", "", took), ASKED) == Failure("timeout", "", Cost(None, 2, None))


class Word(Enum):
    """A kind that reads as one of the table and is none."""

    LATE = "timeout"

    def __str__(self) -> str:
        return self.value


class Untellable:
    """What cannot be told, nor looked into."""

    def __str__(self) -> str:
        raise ValueError("no")

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: object) -> object:
        raise KeyError(name)

    def __len__(self) -> int:
        return 1

    @property
    def cost_usd(self) -> float:
        raise ValueError("no")


def test_a_failure_is_kept_in_texts_alone_whatever_its_words_are() -> None:
    came = known(Failure(cast("str", Word.LATE), "x", COST), ASKED)
    assert came == Failure("timeout", "x", COST)
    assert isinstance(came, Failure)
    assert type(came.kind) is str
    untold = Failure("error", "a kind that cannot be told", COST)
    assert known(Failure(cast("str", Untellable()), "x", COST), ASKED) == untold
    assert known(Failure("timeout", cast("str", Untellable()), COST), ASKED) == untold


def test_an_answer_whose_values_lie_is_none() -> None:
    lies = dear(Answer(cast("dict[str, Likely]", Untellable())))
    assert known(lies, ASKED) == Failure("garbage", "an answer that cannot be kept", COST)


@pytest.mark.parametrize("wrong", [SystemExit, GeneratorExit, CancelledError])
def test_what_an_answer_raises_when_it_is_looked_at_is_a_failure(wrong: type[BaseException]) -> None:
    class Raising:
        def __getattribute__(self, name: str) -> NoReturn:
            raise wrong

        def __str__(self) -> NoReturn:
            raise wrong

        def __contains__(self, name: object) -> NoReturn:
            raise wrong

    lies = dear(Answer(cast("dict[str, Likely]", Raising())))
    assert known(lies, ASKED) == Failure("garbage", "an answer that cannot be kept", COST)
    untold = Failure("error", "a kind that cannot be told", COST)
    assert known(Failure(cast("str", Raising()), "x", COST), ASKED) == untold
    assert known(Failure("timeout", "", cast("Cost", Raising())), ASKED) == Failure("timeout", "", Cost())


def test_a_person_who_ends_the_program_ends_it_there_too() -> None:
    class Interrupted:
        def __contains__(self, name: object) -> NoReturn:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        known(Answer(cast("dict[str, Likely]", Interrupted())), ASKED)


def test_what_a_failure_took_may_be_anything() -> None:
    for took in ("much", Untellable()):
        assert known(Failure("timeout", "", cast("Cost", took)), ASKED) == Failure("timeout", "", Cost())


def test_tokens_are_counted_in_whole_ones() -> None:
    took = Cost(cast("int", 1.5), cast("int", 2.0), 2)
    assert known(Failure("timeout", "", took), ASKED) == Failure("timeout", "", Cost(None, None, 2))
    most = Cost(0, int(HIGHEST), HIGHEST)
    assert known(Failure("timeout", "", most), ASKED) == Failure("timeout", "", most)


# --- values -----------------------------------------------------------------------------------------


def test_a_good_answer_is_kept_as_it_is() -> None:
    full = dear(FINE)._replace(
        values={
            "yes": Likely(1),
            "move": Chosen("back", {"on": 0.25, "back": 0.75}, 0.5),
            "level": Scored(2, {"0": 0, "2": 1.0}, 1.0),
        },
        model_asked="m",
        model_answered="n",
        request_id="r" * NAME_CHARS,
        latency_ms=0.5,
    )
    assert known(full, ASKED) == full
    assert known(FINE, ASKED) == FINE


def test_a_question_that_was_not_answered_is_not_lost_and_spoils_nothing() -> None:
    assert known(Answer({"yes": Likely(0.2)}), ASKED) == Answer({"yes": Likely(0.2)})
    assert known(Answer({}), ASKED) == Answer({})


def test_a_value_that_is_none_of_its_question_s_costs_that_question() -> None:
    came = known(FINE._replace(values={**FINE.values, "yes": Scored(1)}), ASKED)
    assert came == FINE._replace(values={"move": Chosen("on"), "level": Scored(1.5)}, lost={"yes": NO_VALUE})


def test_what_a_judge_has_lost_itself_stays_lost_for_its_reason() -> None:
    lost = FINE._replace(lost={"yes": "no answer", "nobody-asked": "x"})
    assert known(lost, ASKED) == lost._replace(
        values={"move": Chosen("on"), "level": Scored(1.5)}, lost={"yes": "no answer"}
    )


def test_what_was_not_asked_is_left_out() -> None:
    assert known(FINE, {"yes": YES}) == Answer({"yes": Likely(0.2)})


def test_an_answer_to_nothing_that_was_asked_is_none_and_has_cost_all_the_same() -> None:
    none = Failure("garbage", "no answer to what was asked", COST)
    assert known(anything(Likely(7)), ASKED) == none
    assert known(anything("yes"), ASKED) == none
    assert known(dear(Answer({"other": Likely(0.2)})), ASKED) == none


_ON = {"on": 0.5, "back": 0.5}


@pytest.mark.parametrize(
    ("question", "value", "good"),
    [
        (YES, Likely(0), True),
        (YES, Likely(1.01), False),
        (YES, Chosen("on"), False),
        (YES, 0.5, False),
        (MOVE, Chosen("on", _ON, 0), True),
        (MOVE, Chosen("on", _ON, 1), True),
        (MOVE, Chosen("on", {"on": 1}, None), True),
        (MOVE, Chosen("away", _ON), False),
        (MOVE, Chosen("on", _ON, 1.5), False),
        (MOVE, Chosen("on", _ON, cast("float", "sure")), False),
        (MOVE, Chosen("on", {"away": 0.5}), False),
        (MOVE, Chosen("on", {"on": 1.5}), False),
        (MOVE, Chosen("on", cast("dict[str, float]", [("on", 1)])), False),
        (MOVE, Chosen("on", cast("dict[str, float]", None)), False),
        (LEVEL, Scored(0, {"0": 1, "2": 0}, 0.5), True),
        (LEVEL, Scored(2), True),
        (LEVEL, Scored(2.5), False),
        (LEVEL, Scored(1, {"3": 0.5}), False),
        (LEVEL, Scored(1, {"low": 0.5}), False),
        (LEVEL, Scored(1, {"1": -0.5}), False),
        (LEVEL, Scored(1, {}, 1.5), False),
        (LEVEL, Likely(1), False),
    ],
)
def test_a_value_is_of_its_question_s_kind_in_its_range_and_its_shares_are_of_what_it_may_be(
    question: Question, value: object, good: bool
) -> None:
    assert fits(question, value) is good


# --- what accompanies them --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"model_asked": 7},
        {"model_asked": "m" * (NAME_CHARS + 1)},
        {"model_answered": b"m"},
        {"request_id": "r" * (NAME_CHARS + 1)},
        {"latency_ms": float("nan")},
        {"latency_ms": "1"},
        {"latency_ms": -1},
        {"latency_ms": HIGHEST * 2},
        {"lost": {"yes": "x" * (NAME_CHARS + 1)}},
        {"lost": {"yes": 7}},
        {"lost": {"yes": None}},
        {"lost": None},
        {"values": None},
        {"values": 7},
    ],
)
def test_an_answer_that_a_book_cannot_keep_is_none_and_has_cost_all_the_same(
    wrong: dict[str, object],
) -> None:
    answer = dear(FINE)._replace(**wrong)  # type: ignore[arg-type] # what a judge may do
    assert known(answer, ASKED) == Failure("garbage", "an answer that cannot be kept", COST)


@pytest.mark.parametrize(
    ("wrong", "cost"),
    [
        ({"input_tokens": 1.5}, Cost(None, 5, 0.25)),
        ({"output_tokens": 2.0}, Cost(300, None, 0.25)),
        ({"output_tokens": True}, Cost(300, None, 0.25)),
        ({"cost_usd": float("inf")}, Cost(300, 5, None)),
        ({"cost_usd": "0.25"}, Cost(300, 5, None)),
    ],
)
def test_nor_one_whose_cost_is_none(wrong: dict[str, object], cost: Cost) -> None:
    answer = dear(FINE)._replace(**wrong)  # type: ignore[arg-type] # what a judge may do
    assert known(answer, ASKED) == Failure("garbage", "an answer that cannot be kept", cost)


def test_a_mapping_of_any_kind_is_kept_as_what_it_says() -> None:
    shares = MappingProxyType({"on": 1.0})
    came = known(Answer({"move": Chosen("on", shares)}), ASKED)
    assert came == Answer({"move": Chosen("on", {"on": 1.0})})
