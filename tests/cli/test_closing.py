"""Closing from a shell, and what was said and not handed on."""

from __future__ import annotations

import json

from loopbook.audit.reasons import silence
from loopbook.cli.exits import FOUND, USAGE
from tests.cli.conftest import SCRIPT, STALE, Cli, answer, pending
from tests.flows import CONTENT

# --- closing ------------------------------------------------------------------------------------


def test_a_close_that_stays_open_says_what_stands_against_it_and_ends_with_1(changed: Cli) -> None:
    answer(changed, {**CONTENT, "done": 0.2})
    ran = changed("loop", "close", "--claim", "the crash is gone", *SCRIPT)
    assert (ran.code, ran.err) == (FOUND, "")
    assert ran.out.splitlines() == [
        "fix-1 stays open",
        "missing: no passing check (tests, build, manual) since the last change",
        "concern: the record does not yet show the intent met",
    ]
    told = json.loads(changed("loop", "close", *SCRIPT, "--json").out)["close"]
    assert (told["closed"], told["outcome"], told["concerns"]) == (False, None, ["not-done"])
    assert told["missing"] == ["no passing check (tests, build, manual) since the last change"]
    assert told["advice"] is None, "it was said before"


def test_a_close_over_what_stands_against_it_is_one(changed: Cli) -> None:
    answer(changed, {**CONTENT, "done": 0.2})
    out = changed.ok("loop", "close", "--anyway", *SCRIPT)
    assert out.splitlines()[0] == "fix-1 is closed: over concerns"
    assert "loop is closed" in changed.error(USAGE, "loop", "close", "--loop", "fix-1", *SCRIPT)


def test_a_close_of_which_nothing_is_missing_is_met_or_without_a_judge_unjudged(loop: Cli) -> None:
    for number, (judge, outcome) in enumerate(((SCRIPT, "met"), (("--judge", "none"), "unjudged"))):
        name = f"chore-{number}"
        loop.ok("loop", "start", "--kind", "chore", "--intent", "Bump the pin", "--id", name)
        loop.ok("loop", "record", "change", "--summary", "bumped", "--loop", name)
        loop.ok("loop", "record", "check", "--command", "pytest", "--exit-code", "0", "--loop", name)
        answer(loop)
        told = json.loads(loop.ok("loop", "close", "--loop", name, *judge, "--json"))["close"]
        assert (told["closed"], told["outcome"], told["missing"]) == (True, outcome, [])
        assert "1 the same" in loop.ok("replay", name, "--verify")


def test_a_close_that_a_failed_judge_has_left_pending_says_so(changed: Cli) -> None:
    answer(changed, {"fails": "timeout"})
    ran = changed("loop", "close", *SCRIPT)
    assert ran.code == FOUND
    assert ran.out.splitlines()[-2].startswith("not judged: the judge gave no answer to go by (")
    assert ran.out.splitlines()[-1] == "the close stays declared: the next settled run has it judged"
    assert "close: declared, to be judged when the next run settles" in changed.ok("loop", "status")


def test_a_settled_run_that_closes_a_declared_loop_says_so_to_whoever_asks_why(changed: Cli) -> None:
    pending(changed)
    ran = changed("loop", "settle", "r1", *SCRIPT, "--why")
    assert (ran.code, ran.out) == (0, ""), "the output is for the agent alone"
    assert ran.err.splitlines() == [
        f"loopbook: second-thought: agrees: {silence('agrees')}",
        "loopbook: fix-1 is closed: met",
    ]
    assert changed.events()[-1] == "loop_closed"


def test_a_settled_run_says_as_json_whether_the_loop_is_closed(changed: Cli) -> None:
    def told(run: str) -> tuple[object, object]:
        argv = ("loop", "settle", run, "--loop", "fix-1", *SCRIPT, "--json")
        settled = json.loads(changed.ok(*argv))["settle"]
        return settled["closed"], settled["outcome"]

    assert told("r1") == (False, None)
    pending(changed)
    assert told("r2") == (True, "met")
    assert told("r3") == (True, "met"), "and it stays so"


# --- what was said and not handed on ----------------------------------------------------------------


def test_status_lists_advice_until_it_is_acknowledged(changed: Cli) -> None:
    changed.ok("loop", "settle", "r1", *SCRIPT)
    assert f"said at 6, not acknowledged: {STALE}" in changed.ok("loop", "status")
    told = json.loads(changed.ok("loop", "status", "--json"))["loop"]
    assert [(one["seq"], one["continues"]) for one in told["undelivered"]] == [(6, True)]
    assert told["budget"] == {"continued": 1, "most": 8, "bound": False}
    assert told["spent"]["answers"] == 1
    assert json.loads(changed.ok("loop", "acknowledge", "6", "--json"))["acknowledged"] == [6]
    assert json.loads(changed.ok("loop", "status", "--json"))["loop"]["undelivered"] == []
    assert changed.ok("loop", "acknowledge", "6") == ""
    assert changed.ok("loop", "acknowledge") == ""


def test_a_seq_at_which_nothing_was_said_is_not_acknowledged(changed: Cli) -> None:
    before = changed.rows()
    assert "no notice at 1, 999" in changed.error(USAGE, "loop", "acknowledge", "1", "999")
    assert changed.rows() == before


def test_a_bare_acknowledge_is_of_all(changed: Cli) -> None:
    changed.ok("loop", "settle", "r1", *SCRIPT)
    assert changed.ok("loop", "acknowledge") == f"fix-1 6: {STALE}"
    assert changed.events()[-1] == "delivered"


def test_show_and_status_are_one_command(changed: Cli) -> None:
    assert changed.ok("loop", "show") == changed.ok("loop", "status")


def test_a_session_that_adopts_a_loop_is_not_told_again(changed: Cli) -> None:
    assert changed.ok("loop", "settle", "r1", *SCRIPT) == STALE
    assert changed.ok("loop", "adopt", "fix-1", "--session", "s2") == "s2 goes on with fix-1\n"
    assert changed.ok("loop", "settle", "r2", *SCRIPT, "--session", "s2") == ""
    assert changed.entries()[-1].session == "s2"
