"""The measure of growth sees what is quadratic and lets pass what is linear."""

from __future__ import annotations

import pytest

from tests.growth import assert_linear


def test_linear_work_is_let_pass() -> None:
    assert_linear(range, lambda things: [str(thing) for thing in things], 400_000)


def test_quadratic_work_is_seen() -> None:
    with pytest.raises(AssertionError, match="s for the whole"):
        assert_linear(range, lambda things: [None for one in things for _ in things if one < 0], 6_000)
