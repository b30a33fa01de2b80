"""The page on testing: its examples run, and it names every verb and expectation there is."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Advisor
from loopbook.kinds import parse
from loopbook.limits import Options
from loopbook.testing import book_machine, parse_scenarios, run_scenario
from loopbook.testing.scenario_model import Expect
from loopbook.testing.scenario_verbs import EVENT_VERBS, VERBS
from tests.conftest import ROOT
from tests.testing.test_own_kind import FOLDER

_ALL = re.MULTILINE | re.DOTALL
PAGE = (ROOT / "docs" / "testing.md").read_text("utf-8")


FOUND = re.findall(r"^```text\nAssertionError: (.*?)^```", PAGE, _ALL)


def test_its_examples_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    (tmp_path / "migrate.toml").write_bytes((FOLDER / "migrate.toml").read_bytes())
    (tmp_path / "found.yaml").write_text(FOUND[0].partition("It happens in:\n\n")[2], "utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, _ALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "docs/testing.md", "exec"), names)
    for name in ("TestMigrate", "TestMigrations"):
        names[name]("runTest").runTest()  # type: ignore[operator]  # what the page has made
    (printed,) = re.findall(r"^```text\n(run the linter\n.*?)^```", PAGE, _ALL)
    assert capsys.readouterr().out == printed + "None\n"  # what was found is mended


def test_the_advisor_that_it_shows_in_a_running_loop_holds_whatever_happens() -> None:
    (block,) = re.findall(r"^```python\n(from loopbook import Books, Change, Options.*?)^```", PAGE, _ALL)
    names: dict[str, type[Advisor]] = {}
    exec(compile(block, "docs/testing.md", "exec"), names)
    machine = book_machine("change", advisors=(names["Unlinted"](), SecondThought()))
    few = settings(max_examples=10, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(machine, settings=few)


def test_it_names_every_verb_and_expectation() -> None:
    words = set(re.findall(r"[a-z_]+", PAGE))
    assert {*EVENT_VERBS, *VERBS, *Expect.model_fields} <= words


def test_what_it_shows_of_a_failure_is_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    loud = import_module("data_loss")
    monkeypatch.setattr(loud.SecondThought, "gate", lambda *_: None)
    kind = parse((FOLDER / "migrate.toml").read_text("utf-8"))
    (shown,) = FOUND
    told, _, text = shown.partition("\n\nIt happens in:\n\n")
    (scenario,) = parse_scenarios(text, "docs/testing.md")
    difference = run_scenario(scenario, kind=kind, options=Options(advisors=(loud.DataLoss(),))).difference
    assert difference is not None
    assert difference.seen == told
