"""A check is counted the same whether the shell or Python records it."""

from __future__ import annotations

import json

import pytest

from loopbook import Check
from loopbook.errors import InvalidEvent
from loopbook.events import build_event
from tests.cli.conftest import Cli
from tests.test_loop_checks import COMMANDS, changed, scopes


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_and_python_read_the_same_scope(cli: Cli, command: str) -> None:
    cli.ok("loop", "start", "--kind", "change", "--intent", "x", "--id", "fix-1")
    cli.ok("loop", "record", "check", "--command", command, "--exit-code", "1")
    cli.ok("loop", "record", "--json", json.dumps({"type": "check", "command": command, "outcome": "fail"}))
    loop = changed()
    loop.record(Check(command=command, outcome="fail", exit_code=1))
    shells = [entry.event.scope for entry in cli.entries() if isinstance(entry.event, Check)]
    assert shells == scopes(loop) * 2


@pytest.mark.parametrize(("outcome", "code"), [("pass", 0), ("pass", 1), ("fail", 0), ("fail", 1)])
def test_python_refuses_what_the_shell_refuses(cli: Cli, outcome: str, code: int) -> None:
    cli.ok("loop", "start", "--kind", "change", "--intent", "x", "--id", "fix-1")
    ran = cli(
        "loop", "record", "check", "--command", "pytest", "--outcome", outcome, "--exit-code", str(code)
    )
    given = json.dumps({"type": "check", "command": "pytest", "outcome": outcome, "exit_code": code})
    as_json = cli("loop", "record", "--json", given)
    loop = changed()
    try:
        loop.record(build_event(json.loads(given)))
    except InvalidEvent:
        assert (ran.code, as_json.code, loop.version, len(cli.entries())) == (2, 2, 2, 1)
    else:
        assert (ran.code, as_json.code, loop.version, len(cli.entries())) == (0, 0, 3, 3)
