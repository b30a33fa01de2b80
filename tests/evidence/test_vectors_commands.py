"""The command vectors of an earlier supervisor, replayed: where ours differs, it says why.

That system read PowerShell lines by text search and took exit codes from a marker at the very end
of the text. The adapter translates its words; nothing of PowerShell is known to the package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from loopbook.evidence.calls import CallResult
from loopbook.evidence.outcomes import FoundCheck, outcomes, read_command
from loopbook.evidence.shell import parse
from loopbook.evidence.shell_tree import Sequence

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "commands.json").read_text("utf-8"))

KINDS: Mapping[str, str] = {
    "tests": "test",
    "types": "typecheck",
    "lint": "lint",
    "build": "build",
    "format": "lint",
}

RUNNER = "B7: a runner it did not know"
NAMED = "B7: text search took a name, or a word in it, for a run"

KIND_DIFFERS: Mapping[str, tuple[str, str]] = {
    "NPM TEST": ("other", "programs are case-sensitive here"),
    "npm run tests": ("test", RUNNER),
    "npm t": ("test", RUNNER),
    "node --test": ("test", RUNNER),
    "python -m unittest": ("test", RUNNER),
    "bun test": ("test", RUNNER),
    "deno test": ("test", RUNNER),
    "gradle test": ("test", RUNNER),
    "ctest": ("test", RUNNER),
    "npm run lint": ("lint", RUNNER),
    "make sure": ("other", NAMED),
    "cat pytest.ini": ("other", NAMED),
    "npm run build && npm test": ("build", "both are found; the first is a build"),
    "eslint . && tsc": ("lint", "both are found; the first lints"),
}

MASKED = "B7: a pipeline or `|| true` hides the exit code"

ATTRIBUTABLE_DIFFERS: Mapping[str, tuple[bool, str]] = {
    "npm test 2>&1 | Select-Object -Last 6": (False, MASKED),
    "npm test | tail -3": (False, MASKED),
    "npm test || true": (False, MASKED),
}

STATEMENTS_DIFFER: Mapping[str, tuple[int, str]] = {
    "a & b": (2, "& ends a statement in a POSIX shell"),
    'Write-Output "say `"; now"': (-1, "PowerShell: a backtick escapes there and substitutes here"),
    "if ($x) { a; b }": (-1, "PowerShell: not the POSIX grammar of if"),
    ";;": (-1, "a syntax error in a POSIX shell"),
    "a)\n;b": (-1, "not a POSIX command: a bracket that was never opened"),
}

EXIT_DIFFERS: Mapping[str, tuple[str, str]] = {
    "[exit code: 1]": ("fail", "B5: a marker with no line before it"),
    "x\n[exit code: 1]\n": ("fail", "B5: a line end after the marker"),
    "x\n[exit code: 1] ": ("fail", "B5: a blank after the marker"),
    "x\n[exit code: -1]": ("fail", "B5: a negative code is not zero"),
    "x\n[timed out after 5000ms]": ("unknown", "B5: a run that timed out did not pass"),
    "x\n[killed by signal: 9]\n": ("unknown", "B5: a line end after the marker"),
}


def rows(group: str) -> list[Mapping[str, object]]:
    found = VECTORS[group]
    assert isinstance(found, list)
    return found


def kind_of(command: str) -> str:
    checks = read_command(command).checks
    return KINDS[checks[0].scope] if checks else "other"


def attributable(command: str, kind: object) -> bool:
    """Whether the line's exit code speaks for its check of that kind; what is no check has no say."""
    command = re.sub(r"(?i)exit\s+\$lastexitcode", "exit $?", command)
    wanted: list[FoundCheck] = [c for c in read_command(command).checks if KINDS[c.scope] == kind]
    if kind in (None, "other"):
        return True
    found = outcomes(command, CallResult("ok", "", 0)).checks
    return bool(wanted) and any(
        KINDS[c.scope] == kind and not c.masked and c.outcome == "pass" for c in found
    )


def statements(command: str) -> int:
    """How many top-level statements; -1 where the grammar cannot read the line."""
    script = parse(command)
    if script.broken:
        return -1
    return len(script.node.items) if isinstance(script.node, Sequence) else 1


def exit_outcome(text: str) -> str:
    """What a test run with this text ends as, when the host's marker is read leniently."""
    code = re.search(r"\[exit code: (-?\d+)\]\s*$", text)
    stopped = re.search(r"\[killed by signal|\[timed out", text)
    exit_code = int(code[1]) if code else 137 if stopped else 0
    status = "ok" if exit_code == 0 else "error"
    found = outcomes("npm test", CallResult("error" if status == "error" else "ok", text, exit_code))
    return found.checks[0].outcome


def agrees(ours: object, theirs: object, differs: tuple[object, str] | None) -> None:
    """Ours is theirs, or what the table says; a listed difference must be one."""
    if differs is None:
        assert ours == theirs
        return
    assert differs[1], "every difference has its reason"
    assert ours == differs[0]
    assert ours != theirs, "listed as a difference, but there is none"


@pytest.mark.parametrize("row", rows("command_kind"), ids=str)
def test_command_kind(row: Mapping[str, object]) -> None:
    command = str(row["command"])
    agrees(kind_of(command), row["expect"], KIND_DIFFERS.get(command))


@pytest.mark.parametrize("row", rows("attributable"), ids=str)
def test_attributable(row: Mapping[str, object]) -> None:
    command = str(row["command"])
    agrees(attributable(command, row["kind"]), row["expect"], ATTRIBUTABLE_DIFFERS.get(command))


@pytest.mark.parametrize("row", rows("statements"), ids=str)
def test_statements(row: Mapping[str, object]) -> None:
    """Only their number is compared: our tree keeps commands, not the text of statements."""
    command, theirs = str(row["command"]), row["expect"]
    assert isinstance(theirs, list)
    agrees(statements(command), len(theirs), STATEMENTS_DIFFER.get(command))


@pytest.mark.parametrize("row", rows("exit_code"), ids=str)
def test_exit_code(row: Mapping[str, object]) -> None:
    text, theirs = str(row["text"]), row["expect"]
    said = "unknown" if theirs is None else "pass" if theirs == 0 else "fail"
    agrees(exit_outcome(text), said, EXIT_DIFFERS.get(text))


def test_no_difference_is_listed_for_a_vector_that_is_not_there() -> None:
    for table, group, key in (
        (KIND_DIFFERS, "command_kind", "command"),
        (ATTRIBUTABLE_DIFFERS, "attributable", "command"),
        (STATEMENTS_DIFFER, "statements", "command"),
        (EXIT_DIFFERS, "exit_code", "text"),
    ):
        assert set(table) <= {str(row[key]) for row in rows(group)}
