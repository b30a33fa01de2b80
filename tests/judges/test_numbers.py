"""The reference formulas, and what makes a distribution whole."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.judges.system_one.numbers import (
    confidence_of_choice,
    confidence_of_score,
    expectation,
    whole,
)

weights = st.lists(st.floats(0, 1), min_size=1, max_size=260).filter(lambda some: sum(some) > 1e-3)


def shared(some: list[float]) -> list[float]:
    total = math.fsum(some)
    return [one / total for one in some]


@given(weights)
def test_the_formulas_are_those_of_the_reference(some: list[float]) -> None:
    validate = pytest.importorskip("jevcompat.validate", reason="jevcompat is not installed")
    exact = shared(some)
    assert confidence_of_choice(exact) == pytest.approx(max(0, validate.choice_confidence(exact)), abs=1e-9)
    assert confidence_of_score(exact) == pytest.approx(validate.score_confidence(exact), abs=1e-9)


@given(weights)
def test_rounding_to_two_decimals_is_made_good(some: list[float]) -> None:
    rounded = [round(one, 2) for one in shared(some)]
    made = whole(rounded)
    if made is None:
        assert sum(rounded) == 0, "so many options that each of them is rounded to nothing"
        return
    assert math.fsum(made) == pytest.approx(1)
    assert all(0 <= one <= 1 for one in made)
    assert 0 <= confidence_of_choice(made) <= 1
    assert 0 <= confidence_of_score(made) <= 1
    assert 0 <= expectation(made) <= len(made) - 1


@pytest.mark.parametrize("some", [[0.5, 0.44], [0.5, 0.56], [1.0, 1.0], [0.0, 0.0], [0.8]])
def test_what_rounding_cannot_explain_is_not_made_good(some: list[float]) -> None:
    assert whole(some) is None
