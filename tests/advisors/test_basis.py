"""What a decision rests on is read back as it was kept, whatever a book holds there."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from loopbook.advisors.basis import Basis

FULL = Basis(
    versions={"policy": "1", "flow": "2"},
    thresholds={"done": 0.75, "quality": 2.0},
    settings={"waiting_tools": ["sleep"]},
    packets=("aa", "bb"),
    at_close=True,
    answers={"done": {"noul": 0.5}},
    failure="timeout",
    judge=False,
    idle=False,
    observed=True,
    declared=7,
    max_continuations=3,
)


def test_it_is_read_back_field_by_field() -> None:
    assert Basis.read(FULL.to_json()) == FULL
    for name in Basis._fields:
        one = Basis()._replace(**{name: getattr(FULL, name)})
        assert one.to_json().keys() == {name}
        assert Basis.read(one.to_json()) == one
    assert Basis().to_json() == {}


@pytest.mark.parametrize("wrong", ["x", 7.5, ["x"], {"x": []}, None])
def test_what_can_be_none_of_a_field_is_as_it_would_be_anyway(wrong: JsonValue) -> None:
    for name in Basis._fields:
        usual, read = Basis(), Basis.read({name: wrong})
        if isinstance(wrong, type(getattr(FULL, name))) or (name == "packets" and isinstance(wrong, list)):
            continue
        assert read == usual, name


def test_of_what_is_kept_by_name_only_what_fits_is_read() -> None:
    kept: dict[str, JsonValue] = {"versions": {"policy": "1", "x": 7}, "thresholds": {"done": 1, "x": "y"}}
    assert Basis.read(kept) == Basis(versions={"policy": "1"}, thresholds={"done": 1.0})
