"""A check that somebody records: its scope, and what its exit code can tell.

Theory. An audit reads both from the command line itself; a check recorded by hand is read by the same
rules, whichever way it comes. Whoever records may know better, and then says so: what is given
outweighs what is read, save that an exit code and an outcome may not contradict each other.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from loopbook.errors import InvalidEvent
from loopbook.events import Check, Outcome, Scope
from loopbook.evidence.calls import CallResult
from loopbook.evidence.ends import ways
from loopbook.evidence.outcomes import DEFAULT, CommandReading, Rules, UserCheck, outcomes, read_command
from loopbook.evidence.runner_table import VOID

#: Of several checks in one line the first of these scopes counts.
_ORDER: tuple[Scope, ...] = ("tests", "build", "manual", "types", "lint", "format")
_KNOWN: frozenset[Outcome] = frozenset({"pass", "fail"})


class Counted(NamedTuple):
    """What a command line with an exit code is read as; ``outcome`` is ``None`` where no code was given.

    ``never``: the outcomes that the line, with this exit code, cannot have had.
    """

    scope: Scope
    outcome: Outcome | None
    masked: bool = False
    never: frozenset[Outcome] = frozenset()


def counted(command: str, exit_code: int | None, output: str, rules: Rules = DEFAULT) -> Counted:
    """Read a command line that is said to be a check, with its exit code and the end of its output.

    A line of several checks failed where one of them did, and passed where all did.

    >>> [counted(line, 0, "")[:2] for line in ("ruff check", "! pytest", "pytest || true")]
    [('lint', 'pass'), ('tests', 'fail'), ('tests', 'unknown')]
    >>> counted("./verify-all", None, "")[:2]
    ('tests', None)
    """
    rules = _with_its_last(command, rules)
    reading = read_command(command, rules)
    scopes = {check.scope for check in reading.checks}
    scope: Scope = min(scopes, key=_ORDER.index, default="tests")
    if exit_code is None:
        return Counted(scope, None)
    if reading.script.broken:  # what stands around a program in it, nobody knows
        return Counted(scope, "unknown", masked=True)
    if not reading.checks:  # nothing in it is known to check: whoever calls it a check means the line
        return _sure(scope, "fail" if exit_code else "pass")
    result = CallResult("error" if exit_code else "ok", output, exit_code)
    found = [check for check in outcomes(command, result, rules).checks if check.scope in scopes]
    told = {check.outcome for check in found}
    may = ways(reading, result)
    if "fail" in told or (may == {"fail"} and len(reading.checks) > 1 and not _void(reading, exit_code)):
        outcome: Outcome = "fail"
    else:
        outcome = "pass" if told == {"pass"} else "unknown"
    if not found or any(check.masked for check in found):
        return Counted(scope, outcome, masked=True)
    if outcome != "unknown":
        return _sure(scope, outcome)
    return Counted(scope, outcome, never=_KNOWN - may if may else frozenset())


def _sure(scope: Scope, outcome: Outcome) -> Counted:
    return Counted(scope, outcome, never=_KNOWN - {outcome})


def _void(reading: CommandReading, code: int) -> bool:
    """Whether a nonzero exit may say only that nothing was checked."""
    return code in VOID or any(check.runner and code in check.runner.void for check in reading.checks)


def as_counted(check: Check, rules: Rules = DEFAULT) -> Check:
    """A check as it is recorded: where nobody gave its scope, with the one that its command line tells.

    Raises ``InvalidEvent`` for an outcome that its exit code contradicts.

    >>> as_counted(Check(command="ruff check", outcome="pass")).scope
    'lint'
    >>> as_counted(Check(command="ruff check", outcome="pass", scope="tests")).scope
    'tests'
    """
    given = "scope" in check.model_fields_set
    if given and not check.told_twice:
        return check
    read = counted(check.command, check.exit_code, check.output_tail or "", rules)
    if check.told_twice and check.outcome in read.never:
        raise InvalidEvent(
            f"check: exit code {check.exit_code} and outcome {check.outcome} contradict each other"
            " (masked=true says that the exit code is not the check's own)",
            ("outcome",),
        )
    return check if given or read.scope == check.scope else check.model_copy(update={"scope": read.scope})


def _with_its_last(command: str, rules: Rules) -> Rules:
    """The user's checks; where the line holds none that is known, its last program that may be one is it."""
    reading = read_command(command, rules)
    if reading.checks or not reading.open or reading.open[-1] < 0:
        return rules
    words = " ".join(reading.script.commands[reading.open[-1]].words)
    pattern = re.sub(r"([*?[])", r"[\1]", words)
    return rules._replace(checks=(*rules.checks, UserCheck(pattern)))
