"""What an older supervisor made of tool calls, replayed; every difference is deliberate and listed.

The inputs are another system's: its exit marker at the end of an output, its tool names, lengths
in UTF-16 units, lists over a whole turn. Translating them is this file's business alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from loopbook.events import Check
from loopbook.evidence.artifacts import relativize
from loopbook.evidence.calls import CallResult, ToolCall
from loopbook.evidence.extract import EMPTY, observe
from loopbook.evidence.outcomes import DEFAULT
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.shapes import arguments
from loopbook.evidence.text import tidy_output
from loopbook.evidence.tool_table import kind_of
from loopbook.run import OUTPUT_TAIL_CHARS, Call

Json = dict[str, object]
VECTORS: dict[str, list[Json]] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "evidence.json").read_text(encoding="utf-8")
)
HOST = "the supervisor's"  # no table of its own: the common names

#: Kinds of tools that only talk: the supervisor's deny-list of names, as kinds.
TALK = frozenset({"message", "question", "todos"})


class Difference(NamedTuple):
    """The fields of a case where ours answers otherwise on purpose, and why."""

    group: str
    name: str
    ours: Mapping[str, object]
    why: str


#: Of twelve outputs that fit, theirs empties the oldest nine and cuts the tenth; ours keeps all.
TWELVE_TAILS: dict[str, object] = {"9.tail_len": 1_406, "9.output_truncated": False}
for _n in range(9):
    TWELVE_TAILS |= {
        f"{_n}.tail_len": 1_405,
        f"{_n}.tail_end": f"{'y' * 15}end-{_n + 1}",
        f"{_n}.output_truncated": False,
    }
POWERSHELL = (
    "PowerShell is read as what it is to bash: no command of that name, so no check and no exit of one"
)
DIFFERENCES = (
    Difference("relativize", "/w//a", {"path": "a"}, "with its slash it would read as a path from the root"),
    Difference(
        "artifacts", "failed_write", {"produced": []}, "a write that failed produced nothing"
    ),
    Difference(
        "artifacts", "result_missing_counts_ok", {"produced": [], "verified": []},
        "a call whose result never came is no run",
    ),
    Difference(
        "artifacts", "long_path_160", {"produced": ["/x/" + "p" * 200], "verified": ["/x/" + "p" * 200]},
        "a path cut to 160 characters names another file; ours is cut at 1,000",
    ),
    Difference(
        "command_output", "twelve_1400",
TWELVE_TAILS,
        "each call keeps its own tail; there is no budget that the newest use up",
    ),
    Difference(
        "command_output", "padding_28k", {"0.output_hash": "56b5dafe"},
        "B15: the hash is over the whole output, not over its last 20,000 characters",
    ),
    Difference("evidence", "unknown_wrapped", {"tests_run": False}, POWERSHELL),
    Difference("evidence", "passthrough_fail", {"tests_run": False, "tests_passed": None}, POWERSHELL),
    Difference(
        "evidence", "signal_then_pass", {"tests_passed": True},
        "the last known outcome of a check counts: an unknown one before it never votes",
    ),
    Difference(
        "evidence", "fail_then_pass", {"tests_passed": True}, "B2: a later result answers an earlier one"
    ),
    Difference(
        "evidence", "shell_error_not_marker", {"tests_passed": False, "exits": [None]},
        "B6: a call that came back as an error did not pass, and its exit is not known to be 0",
    ),
)  # fmt: skip


def cases(group: str, key: str) -> Iterable[object]:
    return [pytest.param(row, id=str(row.get(key))[:60]) for row in VECTORS[group]]


def agree(group: str, name: str, ours: Mapping[str, object], theirs: Mapping[str, object]) -> None:
    """Ours is theirs but for exactly the fields that the table of differences lists."""
    listed = {
        key: value
        for row in DIFFERENCES
        if (row.group, row.name) == (group, name)
        for key, value in row.ours.items()
    }
    assert set(ours) == set(theirs)
    assert {key: ours[key] for key in ours if ours[key] != theirs[key]} == listed


def test_every_listed_difference_names_a_case() -> None:
    names = {(group, str(row.get("id", row.get("path")))) for group, rows in VECTORS.items() for row in rows}
    assert {(row.group, row.name) for row in DIFFERENCES} <= names
    assert all(row.why for row in DIFFERENCES)


# --- the adapter ------------------------------------------------------------------------------

_EXIT = re.compile(r"\n\[exit code: (-?\d+)\]\Z")
#: 128 and the number of a signal: how a shell says so. The supervisor has no code for it.
KILLED = 137
_KILLED = re.compile(r"\n\[killed by signal: \w+\]\Z")


def result_of(step: Mapping[str, object]) -> CallResult | None:
    """The supervisor's host writes how a command ended at the very end of its output."""
    if step.get("noResult") or ("ok" in step and step["ok"] is None):
        return None
    text = str(step.get("text", ""))
    said, killed = _EXIT.search(text), _KILLED.search(text)
    failed = step.get("isError") is True or step.get("ok") is False
    code = int(said[1]) if said else KILLED if killed else None if failed else 0
    return CallResult("error" if failed or code else "ok", text, code)


def call_of(n: int, step: Mapping[str, object], tool: str) -> ToolCall:
    raw = step["raw"] if "raw" in step else step.get("args")
    return ToolCall(f"c{n}", tool, kind_of(HOST, tool), arguments(raw), result_of(step), cwd=None)


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def fnv(text: str) -> str:
    """The supervisor's hash, over UTF-16 units."""
    state = 0x811C9DC5
    units = text.encode("utf-16-le")
    for at in range(0, len(units), 2):
        state = (state ^ int.from_bytes(units[at : at + 2], "little")) * 0x01000193 & 0xFFFFFFFF
    return f"{state:08x}" if text else ""


def observed(calls: Iterable[ToolCall]) -> tuple[list[Call], list[Check]]:
    memory, kept, checks = EMPTY, [], []
    for call in calls:
        memory, seen = observe(memory, call, DEFAULT, Redactor())
        kept.append(seen.call)
        checks += [draft.event for draft in seen.drafts if isinstance(draft.event, Check)]
    return kept, checks


# --- the groups -------------------------------------------------------------------------------


@pytest.mark.parametrize("row", cases("relativize", "path"))
def test_paths_are_shortened(row: Json) -> None:
    cwd = row["cwd"]
    assert cwd is None or isinstance(cwd, str)
    agree(
        "relativize", str(row["path"]), {"path": relativize(str(row["path"]), cwd)}, {"path": row["expect"]}
    )


@pytest.mark.parametrize("row", cases("tool_arguments", "raw"))
def test_arguments_are_an_object_or_nothing(row: Json) -> None:
    agree("tool_arguments", str(row["raw"]), {"args": arguments(row["raw"])}, {"args": row["expect"]})


@pytest.mark.parametrize("row", cases("tool_activity", "tools"))
def test_talking_is_told_from_working(row: Json) -> None:
    tools = row["tools"]
    assert isinstance(tools, list)
    material = sorted({tool for tool in tools if kind_of(HOST, tool) not in TALK})
    distinct = len(set(tools))
    ours = {
        "total": distinct,
        "material": len(material),
        "message_only": distinct - len(material),
        "material_names": material,
    }
    expect = row["expect"]
    assert isinstance(expect, dict)
    agree("tool_activity", str(tools), ours, expect)


@pytest.mark.parametrize("row", cases("artifacts", "id"))
def test_artifacts_are_read_from_arguments(row: Json) -> None:
    """Theirs are lists over a turn: each path once, where it came last; ours are joined so."""
    steps, cwd, expect = row["calls"], row["cwd"], row["expect"]
    assert isinstance(steps, list)
    calls = [
        call_of(n, {"ok": None, **step}, step["name"])._replace(cwd=str(cwd)) for n, step in enumerate(steps)
    ]
    kept, _ = observed(calls)
    ours = {
        "touched": _last_once(path for call in kept for path in call.touched),
        "produced": _last_once(path for call in kept for path in call.produced),
        "verified": list(dict.fromkeys(path for call in kept for path in call.produced)),
    }
    assert isinstance(expect, dict)
    theirs = {
        "touched": expect["touched_paths"],
        "produced": expect["created_or_written_paths"],
        "verified": [artifact["path"] for artifact in expect["verified_artifacts"]],
    }
    agree("artifacts", str(row["id"]), ours, theirs)


def _last_once(paths: Iterable[str]) -> list[str]:
    return list(reversed(dict.fromkeys(reversed(list(paths)))))


@pytest.mark.parametrize("row", cases("command_output", "id"))
def test_a_commands_output_is_kept(row: Json) -> None:
    commands, expect = row.get("commands"), row["expect"]
    if not isinstance(commands, list):
        text = (
            "line of output padding\n" * 1300
            + "Tests  12 passed (12)\n12 files, 4078 lines total\n[exit code: 0]"
        )
        commands = [{"command": "x", "text": text}]
    assert isinstance(expect, list)
    kept, _ = observed(
        call_of(n, {"args": {"command": each["command"]}, "text": each["text"]}, "bash")
        for n, each in enumerate(commands)
    )
    ours = {
        f"{n}.{key}": value
        for n, (call, each) in enumerate(zip(kept, commands, strict=True))
        for key, value in {
            "tail_len": utf16(call.output_tail),
            "tail_end": call.output_tail[-20:],
            "output_truncated": call.output_chars > OUTPUT_TAIL_CHARS,
            "output_chars": call.output_chars,
            "output_hash": fnv(tidy_output(each["text"])),
        }.items()
    }
    theirs = {f"{n}.{key}": value for n, their in enumerate(expect) for key, value in their.items()}
    ours = {key: value for key, value in ours.items() if key in theirs}
    agree("command_output", str(row["id"]), ours, theirs)


#: The supervisor's three questions, and the scopes of checks that answer them.
QUESTIONS = {"tests_passed": {"tests"}, "build_ok": {"build"}, "lint_ok": {"lint", "types"}}


@pytest.mark.parametrize("row", cases("evidence", "id"))
def test_evidence_of_a_turn(row: Json) -> None:
    """The last known outcome of each check counts; an unknown never votes."""
    steps, expect = row["steps"], row["expect"]
    assert isinstance(steps, list)
    calls = [
        call_of(n, step, "unknown" if step.get("callOnly") == "result" else step["tool"])
        for n, step in enumerate(steps)
    ]
    kept, checks = observed(calls)
    ours: dict[str, object] = {"tests_run": any(check.scope == "tests" for check in checks)}
    for question, scopes in QUESTIONS.items():
        last = {
            check.command: check.outcome
            for check in checks
            if check.scope in scopes and check.outcome != "unknown"
        }
        asked = [check for check in checks if check.scope in scopes]
        ours[question] = None if not asked or not last else "fail" not in last.values()
    ours["errors"] = [
        {"tool": call.tool, "msg": call.error} for call in kept if call.error and call.exit_code is None
    ][-5:]
    ours["exits"] = [
        None if call.exit_code == KILLED else call.exit_code
        for call in kept
        if call.kind == "command" and call.ran
    ]
    assert isinstance(expect, dict)
    theirs = {key: expect[key] for key in ("tests_run", *QUESTIONS, "errors")}
    theirs["exits"] = [command["exit"] for command in expect["commands"]]
    agree("evidence", str(row["id"]), ours, theirs)
