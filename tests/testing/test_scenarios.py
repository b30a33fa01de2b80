"""The scenario runner: what passes is true, what is false is told, what cannot be run has not passed."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest

from loopbook.books import Books
from loopbook.entry import Entry
from loopbook.errors import Refused
from loopbook.events import Prompted, RunSettled
from loopbook.loop import Loop
from loopbook.testing.scenario_file import find_files, parse_scenarios, read_scenarios
from loopbook.testing.scenario_model import As, Scenario
from loopbook.testing.scenarios import Difference, Result, run_scenario
from loopbook.testing.world import START
from tests.conftest import ROOT

OWN = [s for file in find_files([ROOT / "specs" / "scenarios"]) for s in read_scenarios(file)]

CHANGED = "- evidence: {type: change, summary: one, paths: [a.py]}"


def run(steps: str, head: str = "loop: {kind: change, intent: i}", url: str | None = None) -> Result:
    """Run the steps in a change loop."""
    (scenario,) = parse_scenarios(f"scenario: s\n{head}\nsteps:\n{steps}", "a.yaml")
    return run_scenario(scenario, url)


def difference(steps: str, head: str = "loop: {kind: change, intent: i}") -> Difference:
    """The difference that the steps must have."""
    result = run(steps, head)
    assert not result.passed
    assert result.difference is not None
    return result.difference


def written(tmp_path: Path, steps: str, head: str = "loop: {kind: change, intent: i}") -> list[Entry]:
    """What passing steps leave in the book, after the opening."""
    url = str(tmp_path / "book.db")
    result = run(steps, head, url)
    assert result.passed, result.difference
    with Books.open(url) as books:
        (row,) = books.list()
        return list(books.loop(row.id).entries(after=1))


@pytest.mark.parametrize("driver", get_args(As))
@pytest.mark.parametrize("scenario", OWN, ids=lambda scenario: scenario.name)
def test_every_scenario_of_the_repository_passes_with_every_driver(scenario: Scenario, driver: As) -> None:
    assert run_scenario(scenario, driver=driver).difference is None


def test_every_shared_scenario_is_among_them(shared: Path) -> None:
    theirs = {s.name for file in find_files([shared / "scenarios"]) for s in read_scenarios(file)}
    assert theirs <= {scenario.name for scenario in OWN}


# --- a false expectation is told, whichever it is ---------------------------------------------


@pytest.mark.parametrize(
    ("expect", "what", "expected", "seen"),
    [
        ("phase: {current: verify}", "phase.current", "'verify'", "'change'"),
        ("phase: {next: review}", "phase.next", "'review'", "'verify'"),
        (
            "phase: {missing: soup}",
            "phase.missing",
            "'soup' in it",
            "'no passing check (tests, build, manual) since the last change'",
        ),
        ("verify: passing", "verify", "'passing'", "'stale'"),
        ("closed: true", "closed", "True", "False"),
        ("notices: 1", "notices", "1", "0"),
        ("judgments: 2", "judgments", "2", "0"),
        ("error: no", "error", "'no'", "the step was taken"),
    ],
)
def test_what_was_expected_and_not_seen_is_told(expect: str, what: str, expected: str, seen: str) -> None:
    found = difference(f"{CHANGED}\n  expect: {{{expect}}}")
    assert (found.line, found.step) == (4, "evidence")
    assert (found.what, found.expected, found.seen) == (what, expected, seen)
    assert str(found) == f"evidence: {what}: expected {expected}, seen {seen}"


def test_a_phase_of_a_unit_that_is_not_there_is_a_difference() -> None:
    assert "zz" in str(difference(f"{CHANGED}\n  expect: {{phase: {{next: verify, unit: zz}}}}"))


def test_only_the_first_difference_is_told_and_nothing_after_it_is_run(tmp_path: Path) -> None:
    steps = f"{CHANGED}\n  expect: {{verify: passing}}\n- todo: {{id: t1, subject: x}}"
    url = str(tmp_path / "book.db")
    result = run(steps, url=url)
    assert result.difference is not None
    assert result.difference.line == 4
    with Books.open(url) as books:
        assert [entry.event.type for entry in books.loop(books.list()[0].id).entries(1)] == ["change"]


def test_a_refusal_nobody_expected_is_a_difference() -> None:
    found = difference("- todo_done: t9")
    assert found.what == "outcome"
    assert "refused" in found.seen
    assert "t9" in found.seen


def test_a_refusal_with_other_words_is_a_difference() -> None:
    found = difference("- todo_done: t9\n  expect: {error: follow-up}")
    assert (found.what, found.expected) == ("error", "'follow-up'")
    assert "t9" in found.seen


def test_a_refusal_must_leave_the_book_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Loop.record

    def leaky(self: Loop, *events: object, **more: object) -> None:
        record(self, *events, **more)  # type: ignore[arg-type]  # a stand-in takes what record takes
        raise Refused("no; but written")

    monkeypatch.setattr(Loop, "record", leaky)
    found = difference("- record: {type: task, text: x}\n  expect: {error: but written}")
    assert found.what == "book"


def test_a_kind_that_is_not_there_is_the_scenarios_difference() -> None:
    found = difference("- reload: true", "loop: {kind: soup, intent: i}")
    assert (found.line, found.step) == (1, "loop")
    assert "soup" in str(found)


# --- what is said and asked ----------------------------------------------------------------------

JUDGE = "loop: {kind: change, intent: i}\njudge: {move: advance, done: 0.2, review_tier: none, quality: 3}"


@pytest.mark.parametrize(
    ("expect", "what", "seen"),
    [
        ("judged: false", "judged", "True"),
        ("speaks: false", "speaks", "True"),
        ("continues: false", "continues", "True"),
        ("quiet: agrees", "quiet", "None"),
        ("unit: a", "unit", "None"),
        ("says: [soup]", "said", "next: verify"),
        ("not_says: [verify]", "said", "next: verify"),
        ("asked: [soup]", "asked", "one"),
        ("asked_not: [intent]", "asked", "one"),
        ("concerns: [back]", "concerns", "()"),
        ("notices: 0", "notices", "1"),
        ("judgments: 0", "judgments", "1"),
    ],
)
def test_a_false_expectation_of_advice_is_told(expect: str, what: str, seen: str) -> None:
    found = difference(f"{CHANGED}\n- settle: {{}}\n  expect: {{{expect}}}", JUDGE)
    assert found.what == what
    assert seen in found.seen


def test_what_was_seen_belongs_to_its_step() -> None:
    assert run(
        f"{CHANGED}\n- settle: {{}}\n- wait: 1\n  expect: {{speaks: false, judged: false}}", JUDGE
    ).passed


def test_with_no_loop_open_a_session_writes_to_its_own_book(tmp_path: Path) -> None:
    url = str(tmp_path / "book.db")
    assert run(f"- prompt: {{text: hello}}\n{CHANGED}\n- settle: {{}}", "session: s9", url).passed
    with Books.open(url, session="s9") as books:
        assert [entry.event.type for entry in books.own().entries()] == ["prompted", "change", "run_settled"]


@pytest.mark.parametrize("step", ["reopen: true", "adopt: s2", "close: {claim: done}"])
def test_with_no_loop_open_a_step_that_is_about_one_cannot_be_run(step: str) -> None:
    assert "needs a loop" in difference(f"- {step}", "session: s1").what


# --- what the steps write -------------------------------------------------------------------------


def test_a_settled_run_holds_what_the_host_saw(tmp_path: Path) -> None:
    steps = """
- link: {child: c1}
- host: {c1: {state: gone, last_write_ago: 7}, c2: {state: unknown}}
- wait: 3
- settle: {run: r1, stop: length, tools: [{name: bash}, {name: subagent, child: c1}], twice: true}
- settle: {}
"""
    entries = written(tmp_path, steps, "loop: {kind: change, intent: i}\nenv: {PI_SUBAGENT_ID: a1}")
    runs = [entry.event for entry in entries if isinstance(entry.event, RunSettled)]
    first, other = runs  # the same run is written once
    assert first.run == "r1" != other.run
    assert first.stop == "length"
    assert [(call.tool, call.kind, call.child) for call in first.calls] == [
        ("bash", "other", None),
        ("subagent", "agent", "c1"),
    ]
    seen = first.observed
    assert seen.now == START + timedelta(seconds=3)
    assert seen.subagent
    assert {name: child.state for name, child in seen.children.items()} == {"c1": "gone", "c2": "unknown"}
    assert seen.children["c1"].last_write == START - timedelta(seconds=7)
    assert seen.children["c2"].last_write is None


@pytest.mark.parametrize("env", ["{}", "{PI_SUBAGENT_CHILD: ''}", "{OTHER: x}"])
def test_without_its_marks_a_session_is_no_subagents(tmp_path: Path, env: str) -> None:
    (entry,) = written(tmp_path, "- settle: {}", f"loop: {{kind: change, intent: i}}\nenv: {env}")
    assert isinstance(entry.event, RunSettled)
    assert not entry.event.observed.subagent


def test_the_clock_moves_by_waiting_alone(tmp_path: Path) -> None:
    task = "- record: {type: task, text: x}"
    steps = f"{task}\n{task}\n- wait: 90\n{task}"
    assert [entry.at - START for entry in written(tmp_path, steps)] == [
        timedelta(0), timedelta(0), timedelta(seconds=90),
    ]  # fmt: skip


def test_the_current_session_writes(tmp_path: Path) -> None:
    steps = f"{CHANGED}\n- adopt: s2\n- prompt: {{text: a}}\n- prompt: {{text: b, origin: child}}"
    entries = written(tmp_path, steps, "loop: {kind: change, intent: i}\nsession: s9")
    assert [entry.session for entry in entries] == ["s9", "s2", "s2", "s2"]
    prompts = [entry.event for entry in entries if isinstance(entry.event, Prompted)]
    assert [(prompt.text, prompt.origin) for prompt in prompts] == [("a", "human"), ("b", "child")]
    assert len({prompt.prompt for prompt in prompts}) == 2


def test_evidence_may_belong_to_a_unit(tmp_path: Path) -> None:
    steps = "- unit: {id: a, subject: x}\n- evidence: {type: change, unit: a, summary: one, paths: [a.py]}"
    assert [entry.unit for entry in written(tmp_path, steps)] == ["a", "a"]


def test_a_reload_reads_the_book_from_its_store(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str | None] = []
    real = Books.open

    def counted(url: str | None = None, **more: object) -> Books:
        opened.append(url)
        return real(url, **more)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(Books, "open", counted)
    assert run(f"{CHANGED}\n- reload: true\n  expect: {{verify: stale}}").passed
    assert len(opened) == 2
    assert opened[0] == opened[1] != "memory:", "what is opened anew must lie somewhere"
    assert not Path(str(opened[0])).exists(), "and is gone afterwards"


def test_without_the_yaml_library_the_runner_still_runs_what_was_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert run_scenario(OWN[0]).passed
