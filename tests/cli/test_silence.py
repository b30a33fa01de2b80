"""A silence that is no consent is told, where a person sees it; what a shell cannot mean is refused."""

from __future__ import annotations

import json
import shlex

import pytest

from loopbook.cli.exits import CLOSED, CONTINUE, FOUND, USAGE
from loopbook.events import RunSettled
from tests.cli.conftest import SCRIPT, Cli, answer, pending
from tests.flows import CONTENT

SETTLE = ("loop", "settle")


# --- what a shell cannot mean ---------------------------------------------------------------------


@pytest.mark.parametrize("option", [("--text", "hi"), ("--stop", "error"), ("--stop", "end")])
def test_how_a_run_on_standard_input_ended_is_not_said_beside_it(
    changed: Cli, option: tuple[str, ...]
) -> None:
    before = changed.rows()
    line = changed.error(USAGE, *SETTLE, "-", *option, *SCRIPT, stdin='{"run": "r7"}')
    assert f"{option[0]} stands beside -: the run on standard input says it itself" in line
    assert changed.rows() == before
    changed.ok(*SETTLE, "-", *SCRIPT, stdin='{"run": "r7", "stop": "error", "final_text": "hi"}')
    run = next(one.event for one in changed.entries() if isinstance(one.event, RunSettled))
    assert (run.stop, run.final_text) == ("error", "hi")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"mov": "advance"}', "nothing is called 'mov': did you mean move?"),
        ('{"move": "forward", "done": 5}', "move is never 'forward': there are advance, back, ask_user"),
        ('{"move": "advnce"}', "move is never 'advnce': did you mean advance?"),
        ('{"done": 5}', "done is never 5: give a number from 0 to 1"),
        ('{"quality": 4}', "quality is never 4: give a number from 0 to 3"),
        ('{"done": true}', "done is never True: give a number from 0 to 1"),
        ('{"fail": "timeout"}', "nothing is called 'fail': did you mean fails?"),
        ('{"fails": "tmeout"}', "'tmeout' is no kind of failure: did you mean timeout?"),
        ('{"fails": 3}', "'3' is no kind of failure: there are no-judge, no-key, "),
        ('{"fails": "timeout", "move": "back"}', "fails stands alone"),
    ],
)
def test_a_slip_in_a_scripted_judge_is_refused_with_its_line(changed: Cli, line: str, words: str) -> None:
    (changed.folder / "answers.jsonl").write_text(f'{{"move": "advance"}}\n\n{line}\n')
    before = changed.rows()
    for command in (("settle", "r1"), ("close",)):
        told = changed.error(USAGE, "loop", *command, *SCRIPT)
        assert f"answers.jsonl:3: {words}" in told
    assert changed.rows() == before


def test_what_a_scripted_judge_leaves_out_may_be_null(changed: Cli) -> None:
    answer(changed, {**CONTENT, "quality": None})
    assert changed.ok(*SETTLE, "r1", *SCRIPT).startswith("next: verify")


# --- nobody to ask, nobody who speaks ---------------------------------------------------------------


def test_that_there_was_nobody_to_ask_is_told_to_whoever_expects_somebody(changed: Cli) -> None:
    ran = changed(*SETTLE, "r1")
    assert (ran.code, ran.out, ran.err.count("\n")) == (0, "", 1)
    assert "there is no judge to ask; the run was recorded and nothing was judged" in ran.err
    assert "judge key set" in ran.err
    changed.ok(*SETTLE, "r2", "--judge", "none")
    told = json.loads(changed.ok(*SETTLE, "r3", "--json"))["settle"]
    assert [one["reason"] for one in told["trace"]] == ["no-judge"]
    assert changed.ok(*SETTLE, "r4", *SCRIPT).startswith("next: verify")


def test_that_second_thought_is_switched_off_is_told(changed: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(changed.ok(*SETTLE, "r1", *SCRIPT, "--json"))["settle"]["second_thought"] is True
    monkeypatch.setenv("LOOPBOOK_SECOND_THOUGHT", "false")
    off = "second thought is switched off (setting second_thought)"
    ran = changed(*SETTLE, "r2", *SCRIPT, "--why")
    assert (ran.code, ran.out, ran.err) == (0, "", f"loopbook: {off}\n")
    assert changed.ok(*SETTLE, "r3", *SCRIPT) == ""
    assert json.loads(changed.ok(*SETTLE, "r4", *SCRIPT, "--json"))["settle"]["second_thought"] is False
    assert f"not judged: {off}" in changed("loop", "close", *SCRIPT).out
    assert json.loads(changed("loop", "close", *SCRIPT, "--json").out)["close"]["second_thought"] is False


# --- closed ---------------------------------------------------------------------------------------


def test_in_a_loop_that_is_closed_a_settled_run_is_told_to_be_unwritten(changed: Cli) -> None:
    changed.ok("loop", "close", "--anyway", "--judge", "none")
    before = changed.rows()
    for more in ((), ("--exit-code",), ("--judge", "none"), ("--why",)):
        ran = changed(*SETTLE, "r9", "--loop", "fix-1", *SCRIPT, *more)
        assert (ran.code, ran.out) == (0, ""), "what an agent does under set -e goes on"
        assert ran.err.splitlines()[0] == (
            "loopbook: fix-1 is closed: over concerns; nothing was written;"
            " reopen it with: loopbook loop reopen --loop fix-1"
        )
    assert changed.rows() == before
    changed.ok(*shlex.split(ran.err.splitlines()[0].partition("with: loopbook ")[2]))
    assert changed.ok(*SETTLE, "r9", *SCRIPT).startswith("next: verify")


def test_a_settle_that_closes_the_loop_has_a_code_of_its_own_and_the_next_one_has_not(changed: Cli) -> None:
    by_code = (*SETTLE, "--loop", "fix-1", *SCRIPT, "--exit-code")
    assert changed(*by_code, "r1").code == CONTINUE
    pending(changed)
    closes = changed(*by_code, "r2", "--json")
    told = json.loads(closes.out)["settle"]
    assert (closes.code, told["closed"], told["outcome"], told["was_closed"]) == (CLOSED, True, "met", False)
    after = changed(*by_code, "r3", "--json")
    told = json.loads(after.out)["settle"]
    assert (after.code, told["closed"], told["outcome"], told["was_closed"]) == (0, True, "met", True)


def test_a_close_that_nobody_has_judged_says_that_it_stays_declared(changed: Cli) -> None:
    stays = "the close stays declared: the next settled run has it judged"
    ran = changed("loop", "close", "--judge", "none")
    assert (ran.code, ran.out.splitlines()[-1]) == (FOUND, stays)
    assert json.loads(changed("loop", "close", "--judge", "none", "--json").out)["close"]["declared"] is True
    answer(changed, {**CONTENT, "done": 0.1})
    ran = changed("loop", "close", *SCRIPT)
    assert ran.code == FOUND
    assert stays not in ran.out, "it was answered"
    assert json.loads(changed("loop", "close", *SCRIPT, "--json").out)["close"]["declared"] is False


def test_to_adopt_a_loop_that_is_closed_says_so(changed: Cli) -> None:
    changed.ok("loop", "adopt", "fix-1")
    changed.ok("loop", "close", "--anyway", "--judge", "none")
    said = changed.ok("loop", "adopt", "fix-1")
    assert said.startswith("cli goes on with fix-1; fix-1 is closed: over concerns; reopen it with: ")


# --- advice that may not have arrived ----------------------------------------------------------------


def test_advice_that_was_lost_is_named_where_the_run_is_settled_again_and_printed_as_it_was_said(
    changed: Cli,
) -> None:
    changed.ok("loop", "todo", "add", "t1", "tell the packagers")
    advice = changed.ok(*SETTLE, "r1", *SCRIPT)
    assert advice.count("\n") == 3
    seq = json.loads(changed.ok("loop", "undelivered", "--json"))["undelivered"][0]["seq"]
    again = changed(*SETTLE, "r1", *SCRIPT, "--why")
    assert (again.code, again.out) == (0, "")
    assert f"decided before; said and not acknowledged: {seq}; print it with: " in again.err
    assert changed.ok(*shlex.split(again.err.strip().partition("print it with: loopbook ")[2])) == advice
    changed.ok("loop", "acknowledge")
    assert changed(*SETTLE, "r1", *SCRIPT, "--why").err.endswith("this run has been decided before\n")
    assert changed.ok("loop", "undelivered") == ""


def test_several_lines_of_advice_stay_lines_wherever_they_are_shown(changed: Cli) -> None:
    changed.ok("loop", "todo", "add", "t1", "tell the packagers")
    first, *more = changed.ok(*SETTLE, "r1", *SCRIPT).splitlines()
    shown = changed.ok("loop", "status").splitlines()
    at = next(place for place, line in enumerate(shown) if line.endswith(f"not acknowledged: {first}"))
    assert shown[at + 1 : at + 3] == [f"  {line}" for line in more]
    assert changed.ok("loop", "acknowledge").splitlines()[1:] == [f"  {line}" for line in more]


def test_between_two_pieces_of_undelivered_advice_stands_an_empty_line(changed: Cli) -> None:
    first = changed.ok(*SETTLE, "r1", *SCRIPT)
    changed.ok("loop", "record", "check", "--command", "pytest", "--exit-code", "0")
    second = changed.ok(*SETTLE, "r2", *SCRIPT)
    assert first
    assert second
    assert changed.ok("loop", "undelivered") == f"{first}\n{second}"
