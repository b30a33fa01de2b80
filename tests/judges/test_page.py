"""docs/judge.md says what the tables of the program say, and its settings are there."""

from __future__ import annotations

import ast
import importlib.util
import json
import re

from loopbook.advisors.asking import FAILURES
from loopbook.judges import Answer, Chosen, Likely, Scored
from loopbook.judges.packets import read_packet
from loopbook.judges.system_one import wire
from loopbook.judges.system_one.dialects import dialect_of
from loopbook.judges.system_one.parsing import STATUSES, Reply, understood
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


def test_the_request_and_the_answer_that_it_shows_are_what_is_sent_and_understood() -> None:
    sent, came = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shown = json.loads(sent)
    model = shown.pop("model")
    dialect = dialect_of("http://localhost:8080", None)
    made = wire.request(read_packet(json.dumps(shown)), dialect, dialect.model, ())
    assert isinstance(made, wire.Request)
    assert json.loads(made.body) == {"model": model, **shown}
    answer = understood(Reply(200, {}, came.encode()), made, dialect)
    assert isinstance(answer, Answer)
    assert answer.lost == {}
    assert [type(value) for value in answer.values.values()] == [Chosen, Likely, Scored]
    assert answer.values["done"] == Likely(0.12)
    assert (answer.model_answered, answer.input_tokens, answer.output_tokens) == ("my-model-2", 212, 9)
    bare = {
        name: {key: value for key, value in one.items() if key not in ("probabilities", "type")}
        for name, one in json.loads(came)["answers"].items()
    }
    reply = Reply(200, {}, json.dumps({"answers": bare}).encode())
    less = understood(reply, made, dialect)
    assert isinstance(less, Answer)
    assert (less.lost, less.model_answered) == ({}, None)
