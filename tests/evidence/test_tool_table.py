"""The tables of tool names are sound, and the real tools of real sessions stand in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from loopbook.evidence import tool_table
from loopbook.evidence.tool_table import COMMON, HOSTS, STOPS, kind_of
from loopbook.run import ToolKind


@pytest.mark.parametrize("table", [*HOSTS.values(), COMMON], ids=[*HOSTS, "common"])
def test_every_row_gives_a_known_kind(table: dict[str, ToolKind]) -> None:
    assert set(table.values()) <= set(get_args(ToolKind))
    assert all(name.strip() == name and name for name in table)


def test_common_names_are_small_letters_so_that_every_spelling_finds_them() -> None:
    assert all(name == name.lower() for name in COMMON)
    assert kind_of("somebody's own host", "BASH") == "command"


@pytest.mark.parametrize(
    ("host", "tool", "kind"),
    [
        ("claude-code", "MultiEdit", "edit"),
        ("claude-code", "NotebookEdit", "edit"),
        ("claude-code", "WebSearch", "fetch"),
        ("claude-code", "Grep", "search"),
        ("claude-code", "Task", "agent"),
        ("claude-code", "Agent", "agent"),
        ("claude-code", "BashOutput", "output"),
        ("claude-code", "AgentOutputTool", "output"),
        ("claude-code", "ExitPlanMode", "plan"),
        ("claude-code", "TaskUpdate", "todos"),
        ("claude-code", "Monitor", "wait"),
        ("claude-code", "Skill", "other"),
        ("claude-code", "mcp__browser__click", "other"),
        ("claude-code", "bash", "other"),
        ("codex", "exec_command", "command"),
        ("codex", "apply_patch", "edit"),
        ("codex", "update_plan", "todos"),
        ("pi", "bash", "command"),
        ("pi", "goal_wait", "wait"),
    ],
)
def test_a_tool_is_what_its_own_host_calls_so(host: str, tool: str, kind: ToolKind) -> None:
    assert kind_of(host, tool) == kind


def test_a_tool_that_stops_is_not_taken_for_one_that_reads() -> None:
    assert all(kind_of(host, tool) == "other" for host in HOSTS for tool in STOPS)


def test_each_host_can_run_change_and_read() -> None:
    for host, table in HOSTS.items():
        assert {"command", "edit", "read"} <= set(table.values()) or host == "codex", host


def test_no_table_is_left_out() -> None:
    tables = [value for name, value in vars(tool_table).items() if name.isupper() and isinstance(value, dict)]
    assert sum(value in (*HOSTS.values(), COMMON, HOSTS) for value in tables) == len(tables)


def test_the_tools_of_real_sessions_are_known(shared: Path) -> None:
    used = set()
    for path in sorted((shared / "data").rglob("transcripts/**/*.jsonl")):
        for raw in path.read_text(encoding="utf-8", errors="replace").splitlines():
            message = json.loads(raw).get("message")
            content = message.get("content") if isinstance(message, dict) else None
            blocks = content if isinstance(content, list) else []
            used |= {block["name"] for block in blocks if block.get("type") == "tool_use"}
    assert len(used) > 10
    assert {tool for tool in used if kind_of("claude-code", tool) == "other"} == set()
