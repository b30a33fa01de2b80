"""A check that is recorded: its scope is its command line's, and an exit code is not talked away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loopbook import Books, Change, Check, Loop, Scope
from loopbook.entry import Draft
from loopbook.errors import InvalidEvent
from loopbook.events import build_event
from loopbook.limits import Options
from loopbook.projections import position, verify_state
from loopbook.testing import broken

COMMANDS: dict[str, Scope] = {
    "ruff check": "lint",
    "cd web && npx eslint .": "lint",
    "mypy --strict src": "types",
    "ruff format --check": "format",
    "pytest -q": "tests",
    "cargo build": "build",
    "ruff check && pytest": "tests",  # of several the one that vouches for most
    "./verify-all": "tests",  # nobody knows it
}


def changed(options: Options | None = None) -> Loop:
    loop = Books.open("memory:", options=options).start("change", "Add a retry", id="a")
    loop.record(Change(summary="one", paths=("a.py",)))
    return loop


def scopes(loop: Loop) -> list[Scope]:
    return [entry.event.scope for entry in loop.entries() if isinstance(entry.event, Check)]


def test_a_linter_that_passes_verifies_nothing() -> None:
    loop = changed()
    loop.record(Check(command="ruff check", outcome="pass"))
    assert position(loop.state).next == "verify"
    assert verify_state(loop.state) == "unknown"
    loop.record(Check(command="pytest", outcome="pass"))
    assert position(loop.state).next == "review"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_scope_that_nobody_gave_is_read_from_the_command_line(command: str) -> None:
    loop = changed()
    check = Check(command=command, outcome="pass")
    loop.record(check, Draft(check))
    loop.append(check, after=loop.version)
    loop.record(build_event({"type": "check", "command": command, "outcome": "unknown"}))
    assert scopes(loop) == [COMMANDS[command]] * 4
    assert broken(loop.entries()) == []


def test_a_scope_that_was_given_is_taken() -> None:
    loop = changed()
    loop.record(Check(command="ruff check", outcome="pass", scope="tests"))
    assert scopes(loop) == ["tests"]
    assert position(loop.state).next == "review"


def test_a_check_of_ones_own_is_known_where_the_books_are_told_of_it() -> None:
    loop = changed(Options(checks=(("./verify-*", "lint"),)))
    loop.record(Check(command="./verify-all --fast", outcome="pass"))
    assert scopes(loop) == ["lint"]


def test_what_is_fed_is_taken_as_it_is() -> None:
    loop = changed()
    assert loop.feed([Draft(Check(command="ruff check", outcome="pass", exit_code=1))]) == 1
    assert scopes(loop) == ["tests"]


def test_the_event_that_was_given_is_not_changed() -> None:
    check = Check(command="ruff check", outcome="pass")
    changed().record(check)
    assert check.scope == "tests"


AT_ODDS = [("pass", 1), ("pass", 137), ("fail", 0)]
CALLS: list[Callable[[Loop, Check], object]] = [
    lambda loop, check: loop.record(Change(summary="two"), check),
    lambda loop, check: loop.append(Change(summary="two"), check, after=loop.version),
]


@pytest.mark.parametrize(("outcome", "code"), AT_ODDS)
@pytest.mark.parametrize("scope", [{}, {"scope": "tests"}])
@pytest.mark.parametrize("call", CALLS)
def test_an_outcome_that_the_exit_code_contradicts_is_refused_with_all_that_stands_beside_it(
    outcome: str, code: int, scope: dict[str, str], call: Callable[[Loop, Check], object]
) -> None:
    loop = changed()
    fields = {"type": "check", "command": "pytest", "outcome": outcome, "exit_code": code, **scope}
    check = build_event(fields)
    assert isinstance(check, Check)
    with pytest.raises(InvalidEvent, match=f"exit code {code} and outcome {outcome} contradict each other"):
        call(loop, check)
    assert [entry.event.type for entry in loop.entries()] == ["loop_opened", "change"]


@pytest.mark.parametrize(("outcome", "code"), AT_ODDS)
@pytest.mark.parametrize(
    "more",
    [
        {"masked": True},  # whoever records says so
        {"basis": "summary"},  # the runner's own closing line spoke
        {"command": "pytest | tail -3"},  # the line says so
        {"command": "trap 'exit 0' EXIT; pytest"},
        {"outcome": "unknown"},
    ],
)
def test_an_exit_code_that_is_not_the_checks_own_contradicts_nothing(
    outcome: str, code: int, more: dict[str, object]
) -> None:
    loop = changed()
    loop.record(
        build_event({"type": "check", "command": "pytest", "outcome": outcome, "exit_code": code, **more})
    )
    assert scopes(loop) == ["tests"]


@pytest.mark.parametrize("scope", [{}, {"scope": "tests"}])
def test_of_a_negated_check_it_is_the_check_that_is_recorded(scope: dict[str, str]) -> None:
    fields = {"type": "check", "command": "! pytest", "exit_code": 0, **scope}
    loop = changed()
    with pytest.raises(InvalidEvent, match="exit code 0 and outcome pass contradict each other"):
        loop.record(build_event({**fields, "outcome": "pass"}))
    loop.record(build_event({**fields, "outcome": "fail"}))
    assert verify_state(loop.state) == "failing"
