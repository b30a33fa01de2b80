"""The page on testing: its examples run, and it names every verb and expectation there is."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from loopbook.kinds import parse
from loopbook.limits import Options
from loopbook.testing import parse_scenarios, run_scenario
from loopbook.testing.scenario_model import Expect
from loopbook.testing.scenario_verbs import EVENT_VERBS, VERBS
from tests.conftest import ROOT
from tests.testing.test_own_kind import FOLDER

PAGE = (ROOT / "docs" / "testing.md").read_text("utf-8")


def test_its_examples_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    (tmp_path / "migrate.toml").write_bytes((FOLDER / "migrate.toml").read_bytes())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "docs/testing.md", "exec"), names)
    for name in ("TestMigrate", "TestMigrations"):
        names[name]("runTest").runTest()  # type: ignore[operator]  # what the page has made


def test_it_names_every_verb_and_expectation() -> None:
    words = set(re.findall(r"[a-z_]+", PAGE))
    assert {*EVENT_VERBS, *VERBS, *Expect.model_fields} <= words


def test_what_it_shows_of_a_failure_is_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    loud = import_module("data_loss")
    monkeypatch.setattr(loud.SecondThought, "gate", lambda *_: None)
    kind = parse((FOLDER / "migrate.toml").read_text("utf-8"))
    (shown,) = re.findall(r"^```text\nAssertionError: (.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    told, _, text = shown.partition("\n\nIt happens in:\n\n")
    (scenario,) = parse_scenarios(text, "docs/testing.md")
    difference = run_scenario(scenario, kind=kind, options=Options(advisors=(loud.DataLoss(),))).difference
    assert difference is not None
    assert difference.seen == told
