"""What each recording command writes, and that JSON writes the same."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopbook.cli.drafts import OWN
from loopbook.cli.exits import USAGE
from loopbook.events import (
    BY_TYPE,
    EVIDENCE,
    Accept,
    Base,
    Change,
    Check,
    ChildDropped,
    ChildLinked,
    ChildReported,
    Decision,
    Event,
    Finding,
    Friction,
    Prompted,
    Review,
    Source,
    Task,
    TodoCompleted,
    TodoDropped,
    TodoFollowupSet,
    TodoOpened,
    UnitAdded,
    UnitDone,
    UnitDropped,
    UnitStarted,
    Watch,
)
from tests.cli.conftest import Cli

#: A command line after ``loopbook loop``, and the event it must write.
WRITES: list[tuple[list[str], Event]] = [
    (["record", "change", "--summary", "s"], Change(summary="s")),
    (
        ["record", "change", "--summary", "s", "--path", "a", "--path", "b", "--diff-summary", "d",
         "--revision", "r", "--resolves", "f1", "--resolves", "f2"],
        Change(summary="s", paths=("a", "b"), diff_summary="d", revision="r", resolves=("f1", "f2")),
    ),
    (["record", "check", "--command", "c", "--exit-code=0"], Check(command="c", outcome="pass", exit_code=0)),
    (["record", "check", "--command", "c", "--exit-code=7"], Check(command="c", outcome="fail", exit_code=7)),
    (
        ["record", "check", "--command", "c", "--exit-code", "1", "--outcome", "unknown", "--scope", "lint",
         "--output-tail", "t"],
        Check(command="c", outcome="unknown", exit_code=1, scope="lint", output_tail="t"),
    ),
    (["record", "review", "--tier", "full", "--reviewer", "r"], Review(tier="full", reviewer="r")),
    (
        ["record", "review", "--tier", "light", "--reviewer", "r", "--finding", "f1:blocker:a: b",
         "--finding", "f2: nit :x"],
        Review(tier="light", reviewer="r", findings=(
            Finding(id="f1", severity="blocker", text="a: b"), Finding(id="f2", severity="nit", text="x"))),
    ),
    (["record", "decision", "--text", "t", "--by", "user"], Decision(text="t", decided_by="user")),
    (
        ["record", "decision", "--text", "t", "--by", "agent", "--question", "q", "--resolves", "f1"],
        Decision(text="t", decided_by="agent", question="q", resolves=("f1",)),
    ),
    (["record", "source", "--locator", "l", "--summary", "s"], Source(locator="l", summary="s")),
    (["record", "check", "--command", "ruff check", "--exit-code=0"],
     Check(command="ruff check", outcome="pass", exit_code=0, scope="lint")),
    (["record", "check", "--command", "ruff check", "--exit-code=0", "--scope", "manual"],
     Check(command="ruff check", outcome="pass", exit_code=0, scope="manual")),
    (["record", "prompt", "--text", "t", "--id", "p1"], Prompted(prompt="p1", text="t")),
    (["record", "task", "t"], Task(text="t")),
    (["record", "base", "t"], Base(text="t")),
    (["record", "watch", "t"], Watch(text="t")),
    (["record", "friction", "t", "--child", "c"], Friction(text="t", child="c")),
    (["todo", "add", "t2", "s"], TodoOpened(todo="t2", subject="s")),
    (["todo", "add", "t2", "s", "--followup", "f"], TodoOpened(todo="t2", subject="s", followup="f")),
    (["todo", "followup", "t1", "f"], TodoFollowupSet(todo="t1", followup="f")),
    (
        ["todo", "followup", "t1", "f", "--due", "2030-01-31"],
        TodoFollowupSet(todo="t1", followup={"ref": "f", "due": "2030-01-31"}),
    ),
    (["todo", "done", "t1"], TodoCompleted(todo="t1")),
    (["todo", "drop", "t1", "--why", "w"], TodoDropped(todo="t1", why="w")),
    (["unit", "add", "b", "s"], UnitAdded(unit="b", subject="s")),
    (["unit", "start", "a"], UnitStarted(unit="a")),
    (["unit", "done", "a"], UnitDone(unit="a")),
    (["unit", "drop", "a", "--why", "w"], UnitDropped(unit="a", why="w")),
    (["child", "link", "c2"], ChildLinked(child="c2")),
    (
        ["child", "link", "c2", "--unit", "a", "--host", "pi", "--session-file", "f", "--accept", "x",
         "--timeout", "9"],
        ChildLinked(child="c2", unit="a", host="pi", session_file="f",
                    accept=Accept(command="x", timeout_sec=9)),
    ),
    (["child", "report", "c1", "--ok"], ChildReported(child="c1", ok=True)),
    (
        ["child", "report", "c1", "--failed", "--summary", "s", "--friction", "f"],
        ChildReported(child="c1", ok=False, summary="s", friction="f"),
    ),
    (["child", "drop", "c1", "--why", "w"], ChildDropped(child="c1", why="w")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "event"), WRITES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_command_writes_its_event_and_says_so_on_one_line(busy: Cli, argv: list[str], event: Event) -> None:
    before = len(busy.entries())
    out = busy.ok("loop", *argv, "--session", "s7")
    entry = busy.entries()[-1]
    assert len(busy.entries()) == before + 1
    assert (entry.event, entry.session) == (event, "s7")
    assert out.startswith(f"fix-1 {entry.seq} {event.type}: ")
    assert out.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "event"), WRITES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_json_writes_the_same_event(busy: Cli, argv: list[str], event: Event) -> None:
    busy.ok("loop", "record", "--json", json.dumps(event.model_dump(mode="json")))
    assert busy.entries()[-1].event == event


@pytest.mark.parametrize(
    ("command", "more", "outcome", "masked"),
    [
        ("pytest -q | tail -3", (), "unknown", True),
        ("./verify-all 2>&1 | tee log", (), "unknown", True),
        ("pytest; true", (), "unknown", True),
        ("pytest -q | tail -3", ("--outcome", "fail"), "fail", True),
        ("pytest -q | tail -3", ("--output-tail", "== 1 failed, 2 passed in 0.1s =="), "fail", True),
        ("set -o pipefail; pytest -q | tail -3", (), "pass", False),
        ("ruff check && pytest", (), "pass", False),
        ("! pytest", (), "fail", False),
        ("! pytest", ("--outcome", "fail"), "fail", False),
        ("true || pytest", (), "unknown", True),
    ],
)
def test_an_exit_code_that_is_not_the_checks_own_is_no_pass(
    busy: Cli, command: str, more: tuple[str, ...], outcome: str, masked: bool
) -> None:
    out = busy.ok("loop", "record", "check", "--command", command, "--exit-code", "0", *more)
    event = busy.entries()[-1].event
    assert isinstance(event, Check)
    assert (event.scope, event.outcome, event.masked, event.exit_code) == ("tests", outcome, masked, 0)
    assert f"check: {outcome}, tests: " in out


def test_a_prompt_without_an_id_is_given_a_new_one(busy: Cli) -> None:
    for _ in range(2):
        busy.ok("loop", "record", "prompt", "--text", "go on")
    first, second = (entry.event for entry in busy.entries()[-2:])
    assert isinstance(first, Prompted)
    assert isinstance(second, Prompted)
    assert first.prompt != second.prompt


def test_all_the_fields_that_an_event_lacks_are_named_at_once(busy: Cli) -> None:
    told = busy.error(USAGE, "loop", "record", "--json", '{"type": "check", "scope": "nonsense"}')
    assert "check: command, outcome are missing" in told


def test_every_type_is_either_written_by_callers_or_by_loopbook_alone() -> None:
    assert set(BY_TYPE) >= OWN
    written = {event.type for _, event in WRITES} | {"run_settled"}
    assert written == set(BY_TYPE) - OWN
    assert written >= EVIDENCE


@pytest.mark.parametrize("word", sorted(OWN))
def test_what_loopbook_alone_writes_is_refused_from_outside(busy: Cli, word: str) -> None:
    assert "loopbook alone" in busy.error(USAGE, "loop", "record", "--json", json.dumps({"type": word}))


def test_unit_and_ref_go_into_the_envelope(busy: Cli) -> None:
    busy.ok("loop", "record", "change", "--summary", "s", "--unit", "a", "--ref", "call-7")
    busy.ok(
        "loop", "record", "--json", '{"type": "source", "locator": "l", "unit": "a", "host_ref": "call-8"}'
    )
    entries = busy.entries()[-2:]
    assert [(entry.unit, entry.host_ref) for entry in entries] == [("a", "call-7"), ("a", "call-8")]


def test_the_same_ref_changes_nothing_and_is_no_error(busy: Cli) -> None:
    busy.ok("loop", "record", "task", "x")
    busy.ok("loop", "record", "change", "--summary", "s", "--ref", "call-7")
    before = busy.rows()
    ran = busy("loop", "record", "change", "--summary", "other", "--ref", "call-7")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing was new" in ran.err
    assert busy.rows() == before


def test_json_lines_are_written_together_in_order(busy: Cli) -> None:
    lines = [{"type": "task", "text": str(n)} for n in range(5)]
    text = "\ufeff" + "\r\n\r\n".join(json.dumps(line) for line in lines)
    out = busy.ok("loop", "record", "--json", "-", stdin=text)
    assert [line.split()[2] for line in out.splitlines()] == ["task:"] * 5
    assert [entry.event for entry in busy.entries()[-5:]] == [Task(text=str(n)) for n in range(5)]


@pytest.mark.parametrize(
    ("third", "words"),
    [
        (b"{", "line 3: not JSON"),
        (b"7", "line 3: an event is a JSON object"),
        (b"\xff\xfe", "line 3: not UTF-8"),
        (b"[" * 100_000, "line 3: not JSON"),
        (b'{"type": "check", "command": "c", "outcome": "fine"}', "line 3: check: outcome"),
        (
            b'{"type": "review", "tier": "full", "reviewer": "r", "findings": [{"id": 1}]}',
            "line 3: review: findings.0",
        ),
        (b'{"type": "todo_completed", "todo": "t9"}', "t9"),
    ],
)
def test_one_wrong_line_and_none_is_written(busy: Cli, third: bytes, words: str) -> None:
    before = busy.rows()
    good = b'{"type": "task", "text": "x"}\n'
    line = busy.error(USAGE, "loop", "record", "--json", "-", stdin=good * 2 + third + b"\n" + good)
    assert words in line
    assert busy.rows() == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_one_error_line_or_an_event(busy: Cli, value: object) -> None:
    ran = busy("loop", "record", "--json", json.dumps(value))
    assert ran.code == USAGE
    assert ran.err.startswith("loopbook: ")
    assert ran.err.count("\n") == 1


def test_a_secret_of_this_process_is_not_stored(busy: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "correct-horse-battery-staple-42"
    monkeypatch.setitem(os.environ, "DEPLOY_API_KEY", secret)
    busy.ok("loop", "record", "task", f"deploy with {secret}")
    assert secret not in str(busy.rows())
    assert secret not in busy.ok("loop", "log", "--json")
