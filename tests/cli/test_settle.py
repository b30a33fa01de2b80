"""Settling, closing and acknowledging from a shell: what is printed, and the code a script branches on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.cli.exits import CONTINUE, SPOKEN, STORE, USAGE
from loopbook.events import Judged, RunSettled
from tests.cli.conftest import SCRIPT, STALE, Cli, answer
from tests.conftest import ROOT
from tests.flows import CONTENT

# --- what is printed ---------------------------------------------------------------------------


def test_advice_is_printed_and_nothing_else_and_once(changed: Cli) -> None:
    assert changed.ok("loop", "settle", "r1", *SCRIPT) == STALE
    assert changed.ok("loop", "settle", "r1", *SCRIPT) == ""
    assert changed.ok("loop", "settle", "r2", *SCRIPT) == ""


def test_why_tells_on_standard_error_and_leaves_the_output_to_the_advice(changed: Cli) -> None:
    spoke = changed("loop", "settle", "r1", *SCRIPT, "--why")
    assert (spoke.code, spoke.out, spoke.err) == (0, STALE, "")
    quiet = changed("loop", "settle", "r2", *SCRIPT, "--why")
    assert (quiet.code, quiet.out) == (0, "")
    assert quiet.err == (
        "loopbook: second-thought: nothing-new: there is no evidence and no newly loose todo that the last"
        " judgment has not read\n"
    )
    assert "has been decided before" in changed("loop", "settle", "r2", *SCRIPT, "--why").err
    assert "no-judge" in changed("loop", "settle", "r3", "--judge", "none", "--why").err


def test_as_json_it_says_what_it_did_and_every_reason(changed: Cli) -> None:
    told = json.loads(changed.ok("loop", "settle", "r1", *SCRIPT, "--json"))
    assert (told["version"], told["settle"]["run"], told["settle"]["did"]) == (1, "r1", "continue")
    assert told["settle"]["advice"] == {
        "text": STALE.rstrip(),
        "continues": True,
        "advisor": "second-thought",
        "seq": 6,
        "unit": None,
        "concerns": [],
    }
    quiet = json.loads(changed.ok("loop", "settle", "r2", *SCRIPT, "--json"))["settle"]
    assert (quiet["did"], quiet["advice"]) == ("silent", None)
    assert [one["reason"] for one in quiet["trace"]] == ["nothing-new"]


def test_advice_of_several_lines_keeps_them_and_can_do_nothing_to_a_terminal(changed: Cli) -> None:
    changed.ok("loop", "todo", "add", "t1", "red \x1b[31m todo")
    out = changed.ok("loop", "settle", "r1", *SCRIPT)
    assert out.splitlines()[1:] == [
        "open todos: red \\x1b[31m todo",
        "Continue each, complete it, or set its follow-up.",
    ]


# --- codes to branch on -----------------------------------------------------------------------


def test_the_codes_tell_silent_spoken_and_continue_where_they_are_asked_for(changed: Cli) -> None:
    by_code = ("loop", "settle", *SCRIPT, "--exit-code")
    assert changed(*by_code, "r1").code == CONTINUE
    assert changed(*by_code, "r1").code == 0
    changed.ok("loop", "record", "source", "--locator", "rfc9110")
    answer(changed, {**CONTENT, "move": "ask_user"})
    assert changed(*by_code, "r2").code == SPOKEN
    assert changed(*by_code, "r3").code == 0
    changed.ok("loop", "record", "source", "--locator", "rfc9111")
    answer(changed, {"fails": "timeout"})
    failed = changed(*by_code, "r4", "--why")
    assert failed.code == 0, "a judge that fails says nothing"
    assert "judge-failed" in failed.err
    assert "no whole answer came in time" in failed.err
    assert changed(*by_code, "r5", "--store", "nowhere.db").code == STORE


def test_codes_are_of_their_own() -> None:
    assert {SPOKEN, CONTINUE}.isdisjoint({0, 1, 2, 3, 4, 130, 141})


SCRIPT_SH = """
set -eu
advice=$(loopbook loop settle r1 --judge script:answers.jsonl)
test -n "$advice"
advice=$(loopbook loop settle r2 --judge script:answers.jsonl)
test -z "$advice"
loopbook loop record change --summary more > out.txt
code=0
loopbook loop settle r3 --judge script:back.jsonl --exit-code > out.txt || code=$?
test "$code" = 10
if loopbook loop close --judge script:answers.jsonl > out.txt; then exit 9; fi
echo "came to its end"
"""


def test_a_script_that_stops_at_errors_goes_on_over_advice(changed: Cli) -> None:
    (changed.folder / "back.jsonl").write_text(json.dumps({**CONTENT, "move": "back"}))
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["sh", "-c", SCRIPT_SH], cwd=changed.folder, env=environ, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "came to its end\n", "")


# --- the run -----------------------------------------------------------------------------------


def test_a_run_in_options_is_kept_within_its_bounds(changed: Cli) -> None:
    changed.ok("loop", "settle", "r1", "--stop", "aborted", "--text", "x" * 9_000, *SCRIPT)
    run = changed.entries()[-2].event
    assert isinstance(run, RunSettled)
    assert (run.run, run.stop) == ("r1", "aborted")
    assert 8_000 <= len(run.final_text) < 8_200


def test_a_whole_run_is_read_from_standard_input(changed: Cli) -> None:
    run = {"run": "r1", "calls": [{"ref": "1", "tool": "goal_wait"}], "observed": {"idle": True}}
    told = json.loads(changed.ok("loop", "settle", "-", *SCRIPT, "--json", stdin=json.dumps(run)))["settle"]
    assert told["run"] == "r1"
    assert [(one["reason"], one["detail"]) for one in told["trace"]] == [("waiting", "goal_wait")]
    told = json.loads(
        changed.ok(
            "loop", "settle", "-", *SCRIPT, "--json", stdin='\ufeff{"run": "r2", "type": "run_settled"}'
        )
    )["settle"]
    assert told["did"] == "continue"


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        (b"", "standard input is empty"),
        (b" \n", "standard input is empty"),
        (b"[]", "a run is a JSON object"),
        (b"null", "a run is a JSON object"),
        (b"{}", "run is missing"),
        (b'{"run": "r1", "stopp": "end"}', "no field 'stopp'"),
        (b'{"run": "r1", "stop": "soon"}', "stop"),
        (b'{"run": "r1", "type": "change"}', "only a run_settled can be settled"),
        (b'{"run": " "}', "run is blank"),
        (b'{"run": "r1"' + b"[" * 100_000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_what_is_no_run_is_refused_and_nothing_is_written(changed: Cli, stdin: bytes, words: str) -> None:
    before = changed.rows()
    assert words in changed.error(USAGE, "loop", "settle", "-", *SCRIPT, stdin=stdin)
    assert changed.rows() == before


def test_in_a_closed_loop_nothing_is_written(changed: Cli) -> None:
    changed.ok("loop", "close", "--anyway", "--judge", "none")
    before = changed.rows()
    quiet = changed("loop", "settle", "r9", "--loop", "fix-1", *SCRIPT, "--why")
    assert (quiet.code, quiet.out) == (0, "")
    assert "no-loop" in quiet.err
    assert changed.rows() == before


# --- the judge ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "text", "words"),
    [
        ("someone", "", "it is env, none, or script: with a file"),
        ("script:", "", "it is env, none, or script: with a file"),
        ("script:bad.jsonl", "{}\n[1]\n", "bad.jsonl:2: answers are a JSON object"),
        ("script:bad.jsonl", "move", "bad.jsonl:1: not JSON"),
        ("script:bad.jsonl", "\n\n", "bad.jsonl holds no answers"),
    ],
)
def test_a_judge_that_is_none_is_refused_and_nothing_is_written(
    changed: Cli, judge: str, text: str, words: str
) -> None:
    (changed.folder / "bad.jsonl").write_text(text)
    before = changed.rows()
    for command in (("settle", "r1"), ("close",)):
        assert words in changed.error(USAGE, "loop", *command, "--judge", judge)
    assert changed.rows() == before


def test_a_script_that_is_not_there_is_a_file_that_is_not(changed: Cli) -> None:
    assert "nowhere.jsonl" in changed.error(STORE, "loop", "settle", "r1", "--judge", "script:nowhere.jsonl")


def test_with_no_judge_configured_nobody_is_asked(changed: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert "no-judge" in changed("loop", "settle", "r1", "--why").err
    assert changed.events()[-1] == "run_settled"


def test_the_settings_decide_whose_word_counts_and_how_often(
    changed: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_QUALITY_THRESHOLD", "2.9")
    monkeypatch.setenv("LOOPBOOK_MAX_CONTINUATIONS", "0")
    answer(changed, {**CONTENT, "quality": 2.5})
    ran = changed("loop", "settle", "r1", *SCRIPT, "--exit-code")
    assert (ran.code, ran.out.splitlines()[-1]) == (SPOKEN, "the work reads thin for its intent")
    judged = next(entry.event for entry in changed.entries() if isinstance(entry.event, Judged))
    assert judged.thresholds == {"done": 0.5, "quality": 2.9}
    assert json.loads(changed.ok("loop", "status", "--json"))["loop"]["budget"] == {
        "continued": 0,
        "most": 0,
        "bound": True,
    }
    assert "1 the same" in changed.ok("replay", "fix-1", "--verify")
    monkeypatch.setenv("LOOPBOOK_SECOND_THOUGHT", "off")
    changed.ok("loop", "record", "source", "--locator", "x")
    assert json.loads(changed.ok("loop", "settle", "r2", *SCRIPT, "--json"))["settle"]["trace"] == []


# --- what a shell may say ----------------------------------------------------------------------


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e10"])
@pytest.mark.parametrize("what", [("settle", "r1"), ("close",)])
def test_a_deadline_that_is_none_is_refused_in_one_line(
    changed: Cli, what: tuple[str, ...], seconds: str
) -> None:
    refused = changed("loop", *what, *SCRIPT, "--timeout", seconds)
    assert refused.code == USAGE
    assert refused.err.count("\n") == 1
    assert ("at most 600" in refused.err) == (seconds != "nan"), "which is told as no number at all"
    assert changed.ok("loop", "settle", "r1", *SCRIPT) == STALE


@pytest.mark.parametrize("name", ["PI_SUBAGENT_ID", "PI_SUBAGENT_CHILD"])
def test_a_subagents_run_is_recorded_and_not_judged(
    changed: Cli, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    quiet = changed("loop", "settle", "r1", *SCRIPT, "--why")
    assert (quiet.code, quiet.out) == (0, "")
    assert "subagent" in quiet.err
    assert changed("loop", "settle", "-", *SCRIPT, stdin='{"run": "r2"}').out == ""
    monkeypatch.setenv(name, "")
    assert changed.ok("loop", "settle", "r3", *SCRIPT) == STALE


PAGE = (ROOT / "docs" / "deciding.md").read_text("utf-8")


def test_the_run_that_the_page_shows_as_json_is_settled(changed: Cli) -> None:
    run = PAGE.partition("    echo '")[2].partition("' | loopbook loop settle -\n")[0]
    changed.ok("loop", "settle", "-", "--judge", "none", stdin=run)
    settled = changed.entries()[-1].event
    assert isinstance(settled, RunSettled)
    assert (settled.run, settled.calls[0].input) == ("run-4", "pytest")


def test_the_page_names_the_keys_of_a_scripted_line() -> None:
    table = PAGE.partition("| key of a line | value |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split("`")[1] for line in table] == [*QUESTIONS, "fails"]
