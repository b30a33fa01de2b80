"""The JSON Schemas under specs/schemas are those of the code."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings

from loopbook.entry import Entry
from loopbook.events import BY_TYPE, ENVELOPE, Event
from tests.conftest import ROOT
from tests.strategies_events import events

FOLDER = ROOT / "specs" / "schemas"


def outputs() -> Mapping[str, Callable[[], str]]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Mapping[str, Callable[[], str]]", module.OUTPUTS)


SCHEMAS = {name: make for name, make in outputs().items() if name.startswith("specs/schemas/")}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_fresh(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == SCHEMAS[name](), "run `make schemas`"


def test_there_is_one_for_every_type_and_nothing_else() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*BY_TYPE, "entry"}


def schema(name: str) -> dict[str, dict[str, object]]:
    return cast("dict[str, dict[str, object]]", json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


@pytest.mark.parametrize("name", BY_TYPE)
def test_a_schema_demands_its_type_and_what_has_no_default(name: str) -> None:
    fields = BY_TYPE[name].model_fields
    needed = {field.alias or key for key, field in fields.items() if field.is_required()}
    assert set(schema(name)["required"]) == needed | {"type"}
    assert schema(name)["properties"]["type"] == {
        "const": name,
        "default": name,
        "title": "Type",
        "type": "string",
    }
    assert schema(name)["description"]


@settings(max_examples=40)
@given(events())
def test_an_event_holds_the_properties_of_its_schema(event: Event) -> None:
    assert set(event.model_dump(mode="json")) == set(schema(event.type)["properties"])


def test_an_entry_is_its_place_its_envelope_and_a_known_or_newer_event() -> None:
    entry = schema("entry")
    assert set(entry["properties"]) == ENVELOPE | {"stream", "seq", "type"}
    assert ENVELOPE - {"v"} < {*Entry._fields}
    refs = [item["$ref"] for item in cast("list[dict[str, str]]", entry["oneOf"]) if "$ref" in item]
    assert refs == [f"{name}.json" for name in sorted(BY_TYPE)]
    assert all(Path(FOLDER / ref).is_file() for ref in refs)
