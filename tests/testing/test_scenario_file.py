"""Scenario files: everything the format knows is read into typed steps, and a mistake names its line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.errors import InvalidScenario
from loopbook.events import ChildLinked, Review, TodoDropped, TodoFollowupSet, TodoOpened
from loopbook.testing.scenario_file import find_files, parse_scenarios, read_scenarios
from loopbook.testing.scenario_model import Expect, Scenario, Step
from loopbook.testing.scenario_verbs import (
    DURING_VERBS,
    EVENT_VERBS,
    VERBS,
    Append,
    Closed,
    Host,
    Prompt,
    Race,
    Settle,
    Verb,
    Wait,
)
from tests.conftest import ROOT

OWN = ROOT / "specs" / "scenarios"


def one(steps: str) -> Step:
    """The only step of a scenario."""
    (scenario,) = parse_scenarios(f"scenario: s\nsteps:\n{steps}", "a.yaml")
    (step,) = scenario.steps
    return step


def test_every_scenario_of_the_repository_is_read() -> None:
    names = [scenario.name for file in find_files([OWN]) for scenario in read_scenarios(file)]
    assert "a fresh change loop waits for its first change" in names
    assert len(names) == len(set(names)), "a scenario is known by its name"


def test_every_shared_scenario_is_read(shared: Path) -> None:
    scenarios = [s for file in find_files([shared / "scenarios"]) for s in read_scenarios(file)]
    assert len(scenarios) > 60
    words = {step.word for scenario in scenarios for step in scenario.steps}
    assert {"settle", "close", "race", "adopt", "reload", "host", "wait", "closed"} <= words


#: One line for each verb of the format, so that none is forgotten.
EVERY_VERB = {
    "evidence": "{type: check, command: pytest, outcome: pass, unit: a}",
    "record": "{type: friction, text: slow, child: c1}",
    "todo": "{id: t1, subject: later, followup: {ref: issue 7, due: 2030-01-31}}",
    "followup": "{id: t1, value: issue 7}",
    "todo_done": "t1",
    "todo_dropped": "{id: t1, why: gone}",
    "unit": "{id: a, subject: module a}",
    "unit_started": "a",
    "unit_done": "a",
    "unit_dropped": "{id: a, why: gone}",
    "link": "{child: c1, unit: a, session_file: c.jsonl, accept: {command: pytest, timeout_sec: 9}}",
    "report": "{child: c1, ok: true, summary: fine, friction: none}",
    "child_dropped": "{child: c1, why: gone}",
    "prompt": "{text: go on, origin: host}",
    "host": "{c1: {state: gone, last_write_ago: 3}}",
    "settle": "{run: r, session: s2, tools: [{name: bash, child: c1}], stop: length, twice: true,"
    " judge: {fails: timeout}, during: [{new_run: true}, {busy: true}, {todo_done: t1}]}",
    "close": "{claim: done, judge: {move: back, done: 0.5, review_tier: full, quality: 3}}",
    "closed": "{anyway: true}",
    "reopen": "true",
    "deliver": "{judge: {answers: {safe: 0.2, why: unclear}}, before_append: [{settle: {run: r}}]}",
    "wait": "30",
    "clock": "-3600",
    "reload": "true",
    "fork": "true",
    "snapshot": "true",
    "crash": "before-append",
    "adopt": "s2",
    "race": "[s1, s2]",
}


def test_every_verb_of_the_format_has_a_typed_form() -> None:
    assert set(EVERY_VERB) == set(EVENT_VERBS) | set(VERBS)
    steps = "\n".join(f"- {word}: {value}" for word, value in EVERY_VERB.items())
    (scenario,) = parse_scenarios(f"scenario: s\nsteps:\n{steps}", "a.yaml")
    assert [step.word for step in scenario.steps] == list(EVERY_VERB)
    assert [step.line for step in scenario.steps] == list(range(3, 3 + len(EVERY_VERB)))
    seen = {type(step.verb) for step in scenario.steps}
    seen |= {type(inner.verb) for step in scenario.steps for inner in step.during}
    assert seen == set(get_args(Verb))


def test_a_step_that_writes_holds_its_event() -> None:
    assert one("- todo: {id: t1, subject: x}").verb == Append(TodoOpened(todo="t1", subject="x"))
    followup = one("- followup: {id: t1, value: '  '}").verb
    assert followup == Append(TodoFollowupSet(todo="t1", followup="  ")), "the book refuses it, not the file"
    review = one("- evidence: {type: review, tier: light, reviewer: r, unit: u}").verb
    assert review == Append(Review(tier="light", reviewer="r"), "u")
    assert one("- link: {child: c, unit: u}").verb == Append(ChildLinked(child="c", unit="u"))


def test_small_steps_hold_their_values() -> None:
    assert one("- wait: 1.5").verb == Wait(seconds=1.5)
    assert one("- race: [s1, s2]").verb == Race(sessions=("s1", "s2"))
    assert one("- prompt: {text: hi}").verb == Prompt(text="hi", origin="human")
    assert one("- closed: {}").verb == Closed(anyway=False)
    host = one("- host: {c1: {state: unknown}}").verb
    assert isinstance(host, Host)
    assert host.children["c1"].state == "unknown"


def test_a_word_that_yaml_would_take_for_a_truth_value_is_text() -> None:
    assert one("- todo_dropped: {id: on, why: no}").verb == Append(TodoDropped(todo="on", why="no"))


def test_a_date_is_text() -> None:
    step = one("- todo: {id: t1, subject: x, followup: {ref: r, due: 2030-01-31}}")
    assert step.verb == Append(TodoOpened(todo="t1", subject="x", followup={"ref": "r", "due": "2030-01-31"}))


def test_expectations_are_typed() -> None:
    expect = one(
        "- reload: true\n  expect: {notices: 2, phase: {next: verify, missing: x}, says: [a]}"
    ).expect
    assert (expect.notices, expect.says) == (2, ("a",))
    assert expect.phase is not None
    assert expect.phase.next == "verify"
    assert one("- reload: true").expect == Expect()


def test_during_holds_steps_of_its_own() -> None:
    step = one("- settle:\n    during:\n    - busy: true\n    - record: {type: watch, text: ci}")
    assert [inner.word for inner in step.during] == ["busy", "record"]
    assert isinstance(step.verb, Settle)
    assert set(DURING_VERBS) == {"new_run", "busy"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("steps: []", 1, "the key 'scenario' is missing"),
        ("scenario: s\nlop: {}\nsteps: []", 2, "unknown key 'lop'; did you mean 'loop'?"),
        ("scenario: s\nloop: {kind: fix}\nsteps: []", 2, "the key 'intent' is missing"),
        ("scenario: s\nloop:\n  kind: fix\n  intent: i\n  teir: none\nsteps: []", 5, "unknown key 'teir'"),
        ("scenario: s\njudge: {move: up}\nsteps: []", 2, "judge.move"),
        ("scenario: s\nscenario: t\nsteps: []", 2, "'scenario' stands here twice"),
        ("scenario: s\nsteps: {}", 2, "steps"),
        ("scenario: s\nsteps:\n- reload", 3, "a step is a verb with its value"),
        (
            "scenario: s\nsteps:\n- reload: true\n- relod: true",
            4,
            "unknown verb 'relod'; did you mean 'reload'?",
        ),
        ("scenario: s\nsteps:\n- reload: true\n  wait: 1", 3, "exactly one verb, this one has 2"),
        ("scenario: s\nsteps:\n- expect: {}", 3, "exactly one verb, this one has 0"),
        ("scenario: s\nsteps:\n- new_run: true", 3, "unknown verb 'new_run'"),
        ("scenario: s\nsteps:\n- settle:\n    during:\n    - race: [a, b]", 5, "unknown verb 'race'"),
        ("scenario: s\nsteps:\n- reload: true\n  expect:\n    judgd: true", 5, "did you mean 'judged'?"),
        ("scenario: s\nsteps:\n- reload: true\n  expect: {quiet: shy}", 4, "quiet"),
        ("scenario: s\nsteps:\n- reload: true\n  expect:\n    phase:\n      nxt: x", 6, "unknown key 'nxt'"),
        ("scenario: s\nsteps:\n- reload: false", 3, "reload: Input should be True"),
        ("scenario: s\nsteps:\n- wait: -1", 3, "wait"),
        ("scenario: s\nsteps:\n- wait: .inf", 3, "wait"),
        ("scenario: s\nsteps:\n- race: [s1]", 3, "race"),
        (
            "scenario: s\nsteps:\n- " + "settle: {during: [{" * 12 + "busy: true" + "}]}" * 12,
            3,
            "nested too deeply",
        ),
        ("scenario: s\nsteps:\n- crash: soon", 3, "crash"),
        ("scenario: s\nsteps:\n- todo: t1", 3, "todo takes a mapping"),
        ("scenario: s\nsteps:\n- todo:\n    id: t1\n    subjct: x", 5, "no field 'subjct'"),
        ("scenario: s\nsteps:\n- todo: {todo: t1, subject: x}", 3, "unknown key 'todo'"),
        ("scenario: s\nsteps:\n- todo: {id: t1, subject: x, type: task}", 3, "unknown key 'type'"),
        ("scenario: s\nsteps:\n- evidence: {type: task, text: x}", 3, "a type among change, check"),
        (
            "scenario: s\nsteps:\n- evidence:\n    type: check\n    command: x\n    outcome: maybe",
            6,
            "outcome",
        ),
        ("scenario: s\nsteps:\n- evidence: {type: change, summary: x, unit: 3}", 3, "unit must be a text"),
        (
            """scenario: s
steps:
- evidence:
    type: review
    tier: light
    reviewer: r
    findings:
    - id: f
      severity: bad
      text: x""",
            9,
            "severity",
        ),
        ("---\nscenario: s\nsteps: []\n---\nscenario: t", 5, "the key 'steps' is missing"),
        ("scenario: s\nsteps: [", 2, "not YAML"),
        ("scenario: s\nsteps: \x07", 2, "not YAML"),
        ("scenario: s\n? [a]\n: b", 2, "a key that is no text"),
        ("scenario: !!python/name:os.system\nsteps: []", 1, "not YAML"),
        ("scenario: s\nsteps:\n- wait: " + "1" * 5_000, 3, "cannot be read"),
        ("&a [*a]", 1, "nested too deeply"),
        ("[" * 600, 1, "nested too deeply"),
    ],
)
def test_a_mistake_names_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidScenario) as told:
        parse_scenarios(text, "dir/a.yaml")
    assert str(told.value).startswith(f"dir/a.yaml:{line}: ")
    assert words in str(told.value)
    assert "no scenario was run" in str(told.value)


def test_an_alias_bomb_is_refused_and_not_unfolded() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n"
        for old, new in zip("abcdefg", "bcdefgh", strict=True)
    )
    with pytest.raises(InvalidScenario, match="too many values"):
        parse_scenarios(bomb, "a.yaml")


@given(st.text(max_size=200) | st.text(alphabet="abc:-[]{}\n '\"&*!#|>%@`,?", max_size=80))
def test_any_text_is_scenarios_or_one_clear_error(text: str) -> None:
    try:
        scenarios: tuple[object, ...] = parse_scenarios(text, "a.yaml")
    except InvalidScenario as told:
        scenarios, message = (), str(told)
    else:
        message = "a.yaml"
    assert message.startswith("a.yaml")
    assert all(isinstance(scenario, Scenario) for scenario in scenarios)


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"scenario: s\nsteps: []\n# \xff\n")
    with pytest.raises(InvalidScenario, match=r"a\.yaml:3: not UTF-8"):
        read_scenarios(file)


def test_a_byte_order_mark_and_windows_line_ends_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfscenario: s\r\nsteps:\r\n- reload: true\r\n")
    (scenario,) = read_scenarios(file)
    assert scenario.steps[0].line == 3


def test_a_folder_stands_for_the_scenario_files_in_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("b.yaml", "a.yml", "in/c.yaml", "d.txt"):
        (tmp_path / name).write_text("scenario: s\nsteps: []\n")
    assert [str(f.relative_to(tmp_path)) for f in find_files([tmp_path])] == ["a.yml", "b.yaml", "in/c.yaml"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidScenario, match="holds no scenario file"):
        find_files([tmp_path / "empty"])


@pytest.mark.parametrize("text", ["", "---\n---\n", "# only words\n"])
def test_a_file_without_a_scenario_is_told(text: str) -> None:
    with pytest.raises(InvalidScenario, match="holds no scenario"):
        parse_scenarios(text, "a.yaml")


def test_without_the_yaml_library_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InvalidScenario, match=r"pip install 'loopbook\[testing\]'"):
        parse_scenarios("scenario: s", "a.yaml")
