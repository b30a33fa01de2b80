"""The vocabulary keeps its own rules."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
from hypothesis import given
from pydantic import TypeAdapter, ValidationError

from loopbook.errors import InvalidEvent
from loopbook.events import (
    BY_TYPE,
    ENVELOPE,
    EVIDENCE,
    Change,
    Check,
    Event,
    Finding,
    Known,
    Review,
    build_event,
)
from loopbook.run import RecordModel
from tests.strategies_events import events

CLASSES = [pytest.param(cls, id=name) for name, cls in BY_TYPE.items()]


def test_every_event_class_has_its_word_in_the_union() -> None:
    declared = {cls for cls in Event.__subclasses__() if cls.__name__ != "Unknown"}
    assert declared == set(BY_TYPE.values())


@pytest.mark.parametrize("cls", CLASSES)
def test_a_type_word_is_the_class_name_in_lower_case(cls: type[Event]) -> None:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
    assert cls.model_fields["type"].default == words


@pytest.mark.parametrize("cls", CLASSES)
def test_an_event_says_nothing_that_its_envelope_says_save_its_unit(cls: type[Event]) -> None:
    names = {field.alias or name for name, field in cls.model_fields.items()} | set(cls.model_fields)
    assert names & ENVELOPE <= {"unit"}


@pytest.mark.parametrize("cls", CLASSES)
def test_every_event_is_explained(cls: type[Event]) -> None:
    assert cls.__doc__
    assert cls.__doc__ != Event.__doc__


def test_evidence_is_made_of_known_types() -> None:
    assert set(BY_TYPE) > EVIDENCE


@pytest.mark.parametrize("cls", [*BY_TYPE.values(), *RecordModel.__subclasses__()])
def test_a_field_that_is_not_there_is_a_mistake(cls: type[RecordModel]) -> None:
    with pytest.raises(TypeError, match="has no field 'sumary'"):
        cls(sumary="x")  # type: ignore[call-arg]  # that it may not is the claim


def test_an_event_cannot_be_changed() -> None:
    change = Change(summary="retry")
    with pytest.raises(ValidationError, match="frozen"):
        change.summary = "other"  # type: ignore[misc]  # that it may not is the claim
    assert change == Change(summary="retry")


@given(events())
def test_the_union_finds_the_class_by_the_type_word(event: Event) -> None:
    whole = TypeAdapter[Event](Known).validate_python(event.model_dump(mode="json"))
    assert type(whole) is type(event)


@given(events())
def test_an_event_is_built_again_from_its_own_mapping(event: Event) -> None:
    assert build_event(event.model_dump(mode="json")) == event


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"type": "verdict"}, ("type",)),
        ({"type": 3}, ("type",)),
        ({}, ("type",)),
        ({"type": "check", "command": "x"}, ("outcome",)),
        ({"type": "check", "command": "x", "outcome": "pass", "exitcode": 1}, ("exitcode",)),
        ({"type": "change", "summary": "s", "paths": [1]}, ("paths", 0)),
    ],
)
def test_a_mistake_in_a_mapping_is_told_with_its_place(
    fields: dict[str, object], where: tuple[object, ...]
) -> None:
    with pytest.raises(InvalidEvent) as told:
        build_event(fields)
    assert told.value.where == where


def test_a_mistake_deep_within_is_told_with_its_place() -> None:
    review = Review(tier="light", reviewer="r", findings=(Finding(id="f", severity="nit", text="t"),))
    fields = review.model_dump(mode="json")
    fields["findings"][0]["weight"] = 3
    with pytest.raises(InvalidEvent, match=r"findings\.0\.weight"):
        build_event(fields)


def test_reading_keeps_what_building_refuses() -> None:
    read = Check.model_validate({"command": "pytest", "outcome": "pass", "weather": {"wind": [1, 2]}})
    assert read.model_extra == {"weather": {"wind": [1, 2]}}
    assert read.model_dump(mode="json")["weather"] == {"wind": [1, 2]}


def test_a_value_is_copied_and_pickled_as_it_is() -> None:
    event = Review(tier="light", reviewer="ann", findings=(Finding(id="f", severity="nit", text="x"),))
    for other in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
        assert other == event
        assert type(other) is Review
