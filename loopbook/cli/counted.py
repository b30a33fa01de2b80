"""What a check that somebody records is counted as: its scope, and what its exit code can tell.

Theory. The audit reads both from the command line itself; a check recorded by hand is read by the
same rules. Whoever records may know better, and then says so: an option given outweighs what is read.
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from loopbook.cli.target import settings_for

if TYPE_CHECKING:
    from loopbook.events import Outcome, Scope
    from loopbook.evidence.outcomes import Rules

#: Of several checks in one line the first of these scopes counts.
_ORDER: tuple[Scope, ...] = ("tests", "build", "manual", "types", "lint", "format")


class Counted(NamedTuple):
    """What a command line with an exit code is read as; ``outcome`` is ``None`` where no code was given."""

    scope: Scope
    outcome: Outcome | None
    masked: bool


def counted(command: str, exit_code: int | None, output: str) -> Counted:
    """Read a command line that is said to be a check, with its exit code and the end of its output."""
    from loopbook.evidence.calls import CallResult
    from loopbook.evidence.outcomes import outcomes, read_command

    rules = _rules(command)
    scopes = {check.scope for check in read_command(command, rules).checks}
    scope: Scope = min(scopes, key=_ORDER.index, default="tests")
    if exit_code is None:
        return Counted(scope, None, masked=False)
    result = CallResult("error" if exit_code else "ok", output, exit_code)
    found = [check for check in outcomes(command, result, rules).checks if check.scope in scopes]
    if not any(check.masked for check in found):
        return Counted(scope, "fail" if exit_code else "pass", masked=False)
    ends = {check.outcome for check in found}
    outcome: Outcome = "fail" if "fail" in ends else "unknown" if "unknown" in ends else "pass"
    return Counted(scope, outcome, masked=True)


def _rules(command: str) -> Rules:
    """The user's checks; where the line holds none that is known, its last program that may be one is it."""
    from loopbook.evidence.outcomes import UserCheck, read_command

    rules = settings_for(None).rules_for(Path.cwd())
    reading = read_command(command, rules)
    if reading.checks or not reading.open or reading.open[-1] < 0:
        return rules
    words = " ".join(reading.script.commands[reading.open[-1]].words)
    return rules._replace(checks=(*rules.checks, UserCheck(glob.escape(words))))
