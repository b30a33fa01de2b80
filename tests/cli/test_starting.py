"""What a command line pays for: its own command, and nothing beside it. Claims of modules, not of times."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from loopbook.cli.rooms import ROOMS
from tests.cli.conftest import Cli

#: Runs a command line, then says which modules it has imported.
PROGRAM = """
import json, sys
sys.argv[0] = "loopbook"
from loopbook.cli import main
code = main()
sys.stderr.write(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""

#: What a hook that records must not pay for, with all that is in it.
NOT_TO_RECORD = [
    "rich", "httpx", "anyio", "asyncio", "tree_sitter", "tree_sitter_bash", "yaml", "psycopg", "hypothesis",
    "tomllib", "loopbook.engine", "loopbook.settlement", "loopbook.advisors", "loopbook.judges",
    "loopbook.audit.model", "loopbook.transcripts", "loopbook.upkeep", "loopbook.testing",
    "loopbook.evidence.extract", "loopbook.evidence.claims", "loopbook.store.postgres",
]  # fmt: skip


def imported(cli: Cli, *argv: str, before: str = "") -> set[str]:
    """The modules that a program has imported when it ends well."""
    ran = subprocess.run(
        [sys.executable, "-c", before + PROGRAM, *argv],
        env={**os.environ, "PYTHONWARNINGS": ""}, cwd=cli.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran
    return set(json.loads(ran.stderr))


def rooms(modules: set[str]) -> set[str]:
    """The rooms among them."""
    return {where.partition(":")[0] for where in ROOMS.values()} & modules


@pytest.mark.parametrize(
    "argv",
    [
        ("loop", "record", "task", "x"),
        ("loop", "record", "change", "--summary", "x", "--path", "a.py", "--loop", "fix-1", "--ref", "r1"),
        (
            "loop",
            "record",
            "--json",
            '{"type": "check", "command": "pytest -q", "outcome": "pass", "scope": "tests"}',
        ),
        ("loop", "todo", "add", "t1", "x"),
    ],
)
def test_whoever_records_pays_for_nothing_else(loop: Cli, argv: tuple[str, ...]) -> None:
    modules = imported(loop, *argv)
    assert [name for name in NOT_TO_RECORD if name in modules] == []
    assert rooms(modules) == {"loopbook.cli.loop", ROOMS[" ".join(argv[:2])].partition(":")[0]}
    assert len(loop.events()) == 1


def test_a_name_that_must_not_be_imported_is_one_that_could_be() -> None:
    """A module that was renamed would never be found imported."""
    from importlib.util import find_spec  # noqa: PLC0415 - for this test alone

    assert [name for name in NOT_TO_RECORD if name.startswith("loopbook") and find_spec(name) is None] == []


def test_the_version_is_told_without_models_and_without_any_room(cli: Cli) -> None:
    modules = imported(cli, "--version")
    assert {"pydantic", "sqlite3", "rich", "loopbook.events", "loopbook.settings"} & modules == set()
    assert rooms(modules) == set()


def test_help_makes_every_room_and_imports_no_more(cli: Cli) -> None:
    modules = imported(cli, "--help")
    heavy = {"rich", "loopbook.events", "loopbook.books", "eventsourcing", "yaml", "tree_sitter", "httpx"}
    assert heavy & modules == set()


def test_no_other_package_is_looked_at_and_no_plug_in_sees_an_event(loop: Cli) -> None:
    closed = "import importlib.metadata as m; m.entry_points = m.distributions = None\n"
    imported(loop, "loop", "record", "task", "x", before=closed)
    assert loop.events() == ["task"]
