"""What is checked while the changes are put away speaks neither for nor against them."""

from __future__ import annotations

import pytest

from loopbook.events import Check
from loopbook.evidence.calls import CallResult, ToolCall
from loopbook.evidence.extract import EMPTY, observe
from loopbook.evidence.outcomes import DEFAULT
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.shell import parse
from loopbook.evidence.stash import set_aside
from loopbook.run import ToolKind

FAILED = "=== 1 failed, 2 passed in 0.12s ==="


def ends(*steps: tuple[str, str, int]) -> list[str]:
    """How the checks of these commands ended, each given as command, output and exit code."""
    memory, found = EMPTY, list[str]()
    for at, (command, text, code) in enumerate(steps):
        tool = "Edit" if command == "edit" else "Bash"
        given = {"file_path": "a.py"} if command == "edit" else {"command": command}
        kind: ToolKind = "edit" if command == "edit" else "command"
        result = CallResult("error" if code else "ok", text, code)
        memory, seen = observe(memory, ToolCall(f"c{at}", tool, kind, given, result), DEFAULT, Redactor())
        found += [draft.event.outcome for draft in seen.drafts if isinstance(draft.event, Check)]
    return found


@pytest.mark.parametrize(
    ("line", "places", "after"),
    [
        ("git stash && pytest; git stash pop; pytest", {1}, False),
        ("git -C sub stash push -u -m wip && make test", {1}, True),
        ("git stash list; pytest", set(), False),
        ("git stash show -p; git stash drop", set(), False),
        ("cd a && git stash -q; (pytest | tail); git stash apply -q", {2, 3}, False),
        ("echo git stash; pytest", set(), False),
    ],
)
def test_from_putting_away_to_taking_back(line: str, places: set[int], after: bool) -> None:
    assert set_aside(parse(line), "", before=False) == (frozenset(places), after)


def test_a_failure_without_the_changes_is_not_theirs() -> None:
    assert ends(("git stash && pytest; git stash pop", FAILED, 0)) == ["unknown"]
    assert ends(("git stash", "", 0), ("pytest", FAILED, 1), ("git stash pop", "", 0)) == ["unknown"]


def test_back_again_they_are_checked_as_ever() -> None:
    steps = ("git stash", "", 0), ("git stash pop", "", 0), ("pytest", FAILED, 1)
    assert ends(*steps) == ["fail"]


def test_where_there_was_nothing_to_put_away_the_check_counts() -> None:
    assert ends(("git stash", "No local changes to save", 0), ("pytest", FAILED, 1)) == ["fail"]


def test_new_changes_are_not_the_ones_that_were_put_away() -> None:
    assert ends(("git stash", "", 0), ("edit", "ok", 0), ("pytest", FAILED, 1)) == ["fail"]
