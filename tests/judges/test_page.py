"""docs/judge.md says what the tables of the program say, and its settings are there."""

from __future__ import annotations

import ast
import importlib.util
import re

from loopbook.advisors.asking import FAILURES
from loopbook.judges.system_one.parsing import STATUSES
from loopbook.judges.system_one.retries import BACKOFF_SEC, RETRIED
from loopbook.settings import SETTINGS
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "judge.md").read_text("utf-8")


def test_its_tables_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.judge_page() == PAGE, "run `make docs`"


def test_the_statuses_that_a_kind_names_are_those_it_stands_for() -> None:
    for kind, meaning in FAILURES.items():
        named = {int(word) for word in re.findall(r"\b[45]\d\d\b", meaning)}
        assert named == {status for status, one in STATUSES.items() if one == kind}, kind


def test_it_names_every_setting_of_the_judge_and_none_that_is_not() -> None:
    named = set(re.findall(r"`(judge_\w+)", PAGE))
    assert named == {name for name in SETTINGS if name.startswith("judge_")}


def test_it_says_when_it_is_asked_again() -> None:
    statuses = {
        int(word) for word in re.findall(r"\d{3}", PAGE.partition("at most twice, after ")[2].split("\n")[0])
    }
    assert statuses == RETRIED
    assert len(BACKOFF_SEC) == 2


def test_its_python_is_python() -> None:
    [example] = re.findall(r"in Python:\n\n((?:    .*\n|\n)+)", PAGE)
    ast.parse("".join(line.removeprefix("    ") for line in example.splitlines(keepends=True)))
