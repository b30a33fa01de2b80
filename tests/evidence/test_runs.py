"""What is kept of calls, prompts and runs: bounded, valid, without secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.evidence.calls import CallResult, ToolCall
from loopbook.evidence.outcomes import CheckOutcome, CommandOutcome
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.runs import ERROR_CHARS, ID_CHARS, PATH_CHARS, Safe, command_of, keep, prompted, settle
from loopbook.evidence.text import MARK_ROOM, digest16, tidy_output
from loopbook.run import (
    CALLS,
    FINAL_TEXT_CHARS,
    INPUT_CHARS,
    LINES,
    LINES_CHARS,
    OUTPUT_TAIL_CHARS,
    PROMPT_CHARS,
    Call,
    Line,
)
from tests.evidence import hostile
from tests.growth import assert_linear

PLAIN = Redactor()
SECRET = "correct-horse-battery"
SAFE = Safe(Redactor([SECRET]))


def bash(command: str, text: str = "", **result: object) -> ToolCall:
    return ToolCall(
        "c1",
        "Bash",
        "command",
        {"command": command},
        CallResult("ok", text, **result),  # type: ignore[arg-type]  # its own fields
    )


def check(outcome: str) -> CheckOutcome:
    return CheckOutcome("tests", "pytest", outcome, None, False, None, None)  # type: ignore[arg-type]  # an Outcome word


# --- runs -----------------------------------------------------------------------------------


def test_a_run_keeps_its_newest_calls_and_says_how_many_there_were() -> None:
    calls = [Call(ref=str(n), tool="Read") for n in range(CALLS + 50)]
    settled = settle(calls, [], PLAIN, run="r1")
    assert [settled.calls[0].ref, settled.calls[-1].ref] == ["50", str(CALLS + 49)]
    assert (len(settled.calls), settled.calls_total) == (CALLS, CALLS + 50)
    assert settle(calls, [], PLAIN, run="r1", calls_total=9_999).calls_total == 9_999


@given(st.lists(st.integers(0, 60_000), max_size=30))
def test_the_lines_of_a_run_fit_whatever_their_lengths(lengths: list[int]) -> None:
    lines = [Line(role="user", text="x" * length) for length in lengths]
    kept = settle([], lines, PLAIN, run="r1").lines
    assert len(kept) == min(len(lines), LINES)
    assert sum(len(line.text) for line in kept) <= LINES_CHARS
    if sum(lengths[-LINES:]) <= LINES_CHARS:
        assert [len(line.text) for line in kept] == lengths[-LINES:]


def test_no_line_starves_because_a_newer_one_is_long() -> None:
    lines = [Line(role="user", text=f"order {n}") for n in range(19)] + [Line(role="tool", text="x" * 10**6)]
    kept = settle([], lines, PLAIN, run="r1").lines
    assert [line.text for line in kept[:-1]] == [f"order {n}" for n in range(19)]
    assert len(kept[-1].text) > LINES_CHARS / 2
    long = [Line(role="user", text="y" * 2_000)] * 19 + [Line(role="tool", text="x" * 10**6)]
    assert min(len(line.text) for line in settle([], long, PLAIN, run="r1").lines) > 1_000


def test_the_final_text_keeps_both_ends() -> None:
    kept = settle([], [], PLAIN, run="r1", final_text="begin " + "x" * 10**6 + " end").final_text
    assert kept.startswith("begin ")
    assert kept.endswith(" end")
    assert len(kept) <= 2 * FINAL_TEXT_CHARS + MARK_ROOM


@pytest.mark.parametrize("at", [0, 3_990, 4_000, 7_990, 11_990, 23_990, 50_000])
def test_a_secret_at_a_cut_does_not_leave_half_of_itself(at: int) -> None:
    text = "x" * at + SECRET + "y" * 40_000
    settled = settle([], [Line(role="user", text=text)], SAFE.redactor, run="r1", final_text=text)
    prompt = prompted("p1", text, SAFE.redactor)
    for kept in (settled.final_text, settled.lines[0].text, prompt.text):
        assert "correct" not in kept
        assert "battery" not in kept


@given(hostile.texts)
def test_every_text_of_a_run_can_be_written_as_utf_8(text: str) -> None:
    settled = settle(
        [], [Line(role="user", text=text)], PLAIN, run=text, prompt=text, path=[text], final_text=text
    )
    settled.model_dump_json().encode()
    prompted(text, text * 500, PLAIN).model_dump_json().encode()


def test_a_prompt_is_cut_and_keeps_its_origin() -> None:
    event = prompted("p1", "x" * 10**6, PLAIN, origin="host")
    assert (len(event.text), event.origin) == (PROMPT_CHARS, "host")


# --- calls ----------------------------------------------------------------------------------


def test_a_commands_output_keeps_its_end_its_length_and_its_hash() -> None:
    text = "\x1b[31mred\x1b[0m\r\n" + "x" * 5_000 + "\r\n12 passed\r\n"
    kept = keep(bash("pytest", text), SAFE)
    assert kept.output_tail.endswith("x\n12 passed")
    assert (len(kept.output_tail), kept.output_chars) == (OUTPUT_TAIL_CHARS, len(text))
    assert kept.output_hash == digest16(tidy_output(text))
    assert keep(bash("true"), SAFE).output_hash == ""


@pytest.mark.parametrize(
    ("found", "check_word", "together"),
    [
        (["pass", "pass"], "yes", "pass"),
        (["pass", "fail"], "yes", "fail"),
        (["pass", "unknown"], "yes", "unknown"),
        (["unknown", "fail"], "yes", "fail"),
        ([], "yes", "unknown"),
        ([], "no", None),
    ],
)
def test_a_commands_checks_are_said_together(found: list[str], check_word: str, together: str | None) -> None:
    outcome = CommandOutcome(tuple(map(check, found)), check_word, False, False)  # type: ignore[arg-type]  # a known word
    kept = keep(bash("x"), SAFE, outcome=outcome)
    assert (kept.outcome, kept.check) == (together, check_word)


@pytest.mark.parametrize("status", ["refused", "never_ran", "interrupted", None])
def test_a_call_that_did_not_run_says_only_that(status: str | None) -> None:
    call = bash("rm -rf /", "no")
    result = None if status is None else CallResult(status, "no", 1)  # type: ignore[arg-type]  # each is a Status
    kept = keep(call._replace(result=result), SAFE)
    assert not kept.ran
    assert (kept.outcome, kept.exit_code, kept.output_tail, kept.check) == (None, None, "", None)
    assert kept.error == (None if result is None else "no")


@pytest.mark.parametrize(
    ("args", "command"),
    [
        ({"command": "npm test"}, "npm test"),
        ({"command": " ", "script": "make"}, "make"),
        ({"command": ["bash", "-lc", "npm test && echo x"]}, "npm test && echo x"),
        ({"command": ["npm", "test"]}, "npm test"),
        ({"command": [1, None]}, ""),
        ({"command": 7}, ""),
        ({}, ""),
    ],
)
def test_a_command_is_found_where_hosts_put_it(args: dict[str, object], command: str) -> None:
    assert command_of(args) == command


@pytest.mark.parametrize("at", [1_990, 2_000])
def test_a_secret_at_the_cut_of_a_command_does_not_leave_half_of_itself(at: int) -> None:
    kept = keep(bash("x" * (at - 1) + " " + SECRET), SAFE).input
    assert len(kept) == INPUT_CHARS
    assert "corr" not in kept


def test_an_edit_keeps_its_path_and_not_the_files_text() -> None:
    edit = ToolCall("c1", "Write", "write", {"file_path": "/w/a.py", "content": "x" * 10**6}, cwd="/w")
    assert keep(edit, SAFE).input == "a.py"


def test_arguments_are_kept_in_brief_and_by_name_without_secrets() -> None:
    args = {"url": "https://x", "api_key": "short1", "deep": {"a": {"b": {"c": {}}}}, "many": list(range(99))}
    kept = keep(ToolCall("c1", "mcp__x", "other", {**args, "long": "y" * 10**5}), SAFE).input
    assert "short1" not in kept
    assert "https://x" in kept
    assert len(kept) <= INPUT_CHARS


def test_a_secret_broken_by_escapes_is_found_all_the_same() -> None:
    broken = SECRET[:7] + "\x1b[0m" + SECRET[7:]
    assert SECRET not in keep(bash("x", broken), SAFE).output_tail
    failed = keep(bash("x")._replace(result=CallResult("error", broken)), SAFE)
    assert failed.error is not None
    assert SECRET not in failed.error


def test_names_that_are_secrets_stay_apart() -> None:
    other = "correct-horse-battery-2"
    safe = Safe(Redactor([SECRET, other]))
    assert len({safe.name(SECRET), safe.name(other), safe.name("a1")}) == 3
    assert safe.name("a1") == "a1"


@given(hostile.calls)
def test_whatever_a_call_holds_it_is_kept_within_bounds(call: ToolCall) -> None:
    kept = keep(call, SAFE)
    kept.model_dump_json().encode()
    assert max(len(kept.ref), len(kept.tool)) <= ID_CHARS
    assert len(kept.input) <= INPUT_CHARS
    assert len(kept.output_tail) <= OUTPUT_TAIL_CHARS
    assert len(kept.error or "") <= ERROR_CHARS
    assert all(len(path) <= PATH_CHARS for path in kept.produced + kept.touched)


def test_the_time_to_keep_megabytes_grows_with_their_length_alone() -> None:
    assert_linear(
        lambda size: bash("x" * (size // 4), "line of output\n" * (size // 15)),
        lambda call: keep(call, SAFE),
        4_000_000,
    )
    assert_linear(
        lambda size: ToolCall("c1", "t", "other", {"a": "word " * (size // 5)}),
        lambda call: keep(call, SAFE),
        2_000_000,
    )
