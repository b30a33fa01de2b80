"""The running total of what asking cost: a fold of the book, in which nothing unknown is a number."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook import events as e
from loopbook.projections.spending import MOST, spent
from loopbook.projections.state import Spent
from tests.projections.books import book


def judged(**fields: float | None) -> e.Judged:
    return e.Judged.model_validate({"advisor": "a", "read_to": 0, **fields})


def passed(**fields: float | None) -> e.PassedOver:
    return e.PassedOver.model_validate({"advisor": "a", "reason": "stale", **fields})


def test_answers_that_came_to_nothing_count_like_judgments() -> None:
    state = book(
        judged(input_tokens=300, output_tokens=20, cost_usd=0.5),
        passed(asked=2, input_tokens=600, cost_usd=0.25),
        passed(),
    )
    assert state.spent == Spent(answers=3, input_tokens=900, output_tokens=20, cost_usd=0.75)


def test_a_cost_that_nobody_told_is_counted_and_not_guessed() -> None:
    assert spent(Spent(), judged(asked=2, input_tokens=300)) == Spent(2, 300, unpriced=2)
    assert spent(Spent(), judged(cost_usd=0.0)) == Spent(1)


def test_a_judgment_of_an_older_book_is_one_answer() -> None:
    assert spent(Spent(), judged()).answers == 1


def raw(cls: type[e.Judged | e.PassedOver], **fields: float | None) -> e.Judged | e.PassedOver:
    """As a hostile book might hold it: nothing is checked."""
    make: Callable[..., e.Judged | e.PassedOver] = cls.model_construct
    return make(**fields)


numbers = st.none() | st.floats() | st.integers(-(10**40), 10**40)


@given(st.lists(st.tuples(st.booleans(), numbers, numbers)))
def test_whatever_a_book_holds_the_total_is_finite_and_never_falls(
    rows: list[tuple[bool, float | None, float | None]],
) -> None:
    total = Spent()
    for is_judged, tokens, dollars in rows:
        cls = e.Judged if is_judged else e.PassedOver
        event = raw(cls, asked=1, input_tokens=tokens, output_tokens=tokens, cost_usd=dollars)
        after = spent(total, event)
        assert all(old <= new for old, new in zip(total, after, strict=True))
        assert math.isfinite(after.cost_usd)
        assert after.input_tokens <= total.input_tokens + MOST
        total = after


@pytest.mark.parametrize("asked", [-1, math.nan, 10**13])
def test_a_count_that_is_none_counts_nothing(asked: float) -> None:
    event = raw(e.PassedOver, asked=asked, input_tokens=1, output_tokens=1, cost_usd=1.0)
    assert spent(Spent(), event) == Spent()


def test_the_most_that_counts_counts() -> None:
    event = raw(e.PassedOver, asked=MOST, input_tokens=MOST, output_tokens=MOST, cost_usd=float(MOST))
    assert spent(Spent(), event) == Spent(MOST, MOST, MOST, float(MOST))
