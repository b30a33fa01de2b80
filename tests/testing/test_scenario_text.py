"""A scenario that is written down is read back as it was."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.events import Change, Noticed, Task, TodoOpened
from loopbook.testing.scenario_file import find_files, parse_scenarios, read_scenarios
from loopbook.testing.scenario_model import Head, LoopSpec, Scenario, Step
from loopbook.testing.scenario_text import plain, to_yaml
from loopbook.testing.scenario_verbs import Answers, Append
from tests.conftest import ROOT
from tests.testing.test_scenario_file import EVERY_VERB

OWN = [s for file in find_files([ROOT / "specs" / "scenarios"]) for s in read_scenarios(file)]


def same(scenario: Scenario) -> None:
    text = to_yaml(scenario.head, scenario.steps)
    (back,) = parse_scenarios(text, "a.yaml")
    assert [plain(step) for step in back.steps] == [plain(step) for step in scenario.steps]
    assert [step.verb for step in back.steps if not step.during] == [
        step.verb for step in scenario.steps if not step.during
    ]
    assert [step.expect for step in back.steps] == [step.expect for step in scenario.steps]
    assert back.head.model_dump(exclude={"steps"}) == scenario.head.model_dump(exclude={"steps"})


def test_every_scenario_of_the_repository_comes_back() -> None:
    for scenario in OWN:
        same(scenario)


@pytest.mark.parametrize("word", EVERY_VERB)
def test_every_verb_comes_back(word: str) -> None:
    (scenario,) = parse_scenarios(f"scenario: s\nsteps:\n- {word}: {EVERY_VERB[word]}", "a.yaml")
    same(scenario)


_ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_TEXT = _ANY | st.sampled_from(["yes", "null", "2030-01-31", "a: b", "\x85", "- x", "\u2028\n", "...", "12"])


@given(_TEXT, _TEXT, _TEXT)
def test_any_text_comes_back(one: str, two: str, three: str) -> None:
    head = Head(
        scenario=one, loop=LoopSpec(kind="fix", intent=two, anchor=three), judge=Answers(done=0.5), steps=[]
    )
    steps = (
        Step("evidence", Append(Change(summary=one, paths=(two, three)), three)),
        Step("record", Append(Task(text=two))),
        Step("todo", Append(TodoOpened(todo=three, subject=one, followup={"ref": two}))),
    )
    same(Scenario(head, steps, "a.yaml", 1))


def test_what_no_file_can_say_is_an_error() -> None:
    with pytest.raises(KeyError):
        to_yaml(
            Head(scenario="s", steps=[]), [Step("noticed", Append(Noticed(advisor="a", key="", text="")))]
        )


def test_without_the_yaml_library_it_is_json_which_is_yaml_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "yaml", None)
        texts = [to_yaml(scenario.head, scenario.steps) for scenario in OWN]
    for text, scenario in zip(texts, OWN, strict=True):
        (back,) = parse_scenarios(text, "a.yaml")
        assert [plain(step) for step in back.steps] == [plain(step) for step in scenario.steps]
