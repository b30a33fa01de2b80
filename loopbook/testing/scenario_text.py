"""Writing a scenario down as its file would have it: what a state machine has found, to be run again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

from loopbook.testing.scenario_model import Head, Step
from loopbook.testing.scenario_verbs import EVENT_VERBS, VERBS, Append, Model


def to_yaml(head: Head, steps: Iterable[Step]) -> str:
    """The text of a scenario, one line a step; ``parse_scenarios`` reads it back.

    >>> from loopbook.testing.scenario_file import parse_scenarios
    >>> text = "{scenario: s, loop: {kind: fix, intent: i}, steps: [{settle: {during: [{busy: true}]}}]}"
    >>> (scenario,) = parse_scenarios(text, "a.yaml")
    >>> print(to_yaml(scenario.head, scenario.steps))
    scenario: s
    loop: {kind: fix, intent: i}
    steps:
    - settle: {during: [{busy: true}]}
    """
    given = head.model_dump(mode="json", exclude_unset=True, exclude={"steps"})
    lines = [f"{key}: {_flow(value)}" for key, value in given.items()]
    rows = ["\n  ".join(f"{key}: {_flow(value)}" for key, value in plain(step).items()) for step in steps]
    return "\n".join([*lines, *(["steps:", *(f"- {row}" for row in rows)] if rows else ["steps: []"])])


def plain(step: Step) -> dict[str, object]:
    """A step as its file has it."""
    verb = step.verb
    value = _event(step.word, verb) if isinstance(verb, Append) else _model(step.word, verb)
    for key in ("during", "before_append"):
        if inner := getattr(step, key):
            cast("dict[str, object]", value)[key] = [plain(one) for one in inner]
    expected = step.expect.model_dump(mode="json", exclude_unset=True)
    return {step.word: value, **({"expect": expected} if expected else {})}


def _event(word: str, verb: Append) -> dict[str, object]:
    row = EVENT_VERBS[word]
    fields = verb.event.model_dump(mode="json", exclude_unset=True)
    named = {new: old for old, new in row.names.items()}
    value = {named.get(name, name): field for name, field in fields.items() if name != "type"}
    head: dict[str, object] = {} if isinstance(row.type, str) else {"type": verb.event.type}
    return {**head, **value, **({"unit": verb.unit} if verb.unit is not None else {})}


def _model(word: str, verb: Model) -> object:
    scalar = VERBS[word][1] if word in VERBS else "value"
    value = verb.model_dump(mode="json", exclude_unset=True, exclude={"during", "before_append"})
    return value[scalar] if scalar else value


def _flow(value: object) -> str:
    """A value on one line: as YAML, or where that cannot be written as JSON, which is YAML too."""
    try:
        from yaml import safe_dump
    except ImportError:
        return json.dumps(value)
    text: str = safe_dump(value, default_flow_style=True, sort_keys=False, width=10**9)
    return text.removesuffix("...\n").strip("\n")
