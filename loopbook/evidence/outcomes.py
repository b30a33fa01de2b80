"""What a command line checked, and how each check in it ended.

Theory. Three witnesses are heard, in this order. The *exit code* of the line, as far as it
speaks for the check (``worlds``), or an exit code that the line itself printed. The runner's own
*closing line* in the output. Else nobody: ``unknown``, which never votes. Three more rules:

1. The failing witness wins. A closing line that counts a failure, or a missed coverage, is
   believed over a zero exit; a nonzero exit over a passing line. So no check passes whose own
   exit is known to be nonzero.
2. Where nothing was tested nothing is known: no tests collected, a program not found, a wrong
   argument, a run stopped by a signal.
3. ``no`` check is said only of what is known to be none. A script that may have run anything is
   ``unsure``, and a check of its runner where the output ends in that runner's closing line; a nonzero
   exit under a passing line is then nobody's: it may be that of something else in the script.
"""

from __future__ import annotations

from typing import NamedTuple

from loopbook.evidence.calls import CallResult
from loopbook.evidence.closing_table import CLOSINGS
from loopbook.evidence.commands import (
    DEFAULT,
    CommandReading,
    FoundCheck,
    Rules,
    Sureness,
    UserCheck,
    read_command,
)
from loopbook.evidence.ends import CheckOutcome, Ends
from loopbook.evidence.runner_table import Runner
from loopbook.evidence.runners import closed, last_start, output_lines, rows_for
from loopbook.evidence.stash import set_aside

__all__ = [
    "DEFAULT",
    "CheckOutcome",
    "CommandOutcome",
    "CommandReading",
    "FoundCheck",
    "Rules",
    "UserCheck",
    "outcomes",
    "read_command",
]

#: Of more checks in one line than this nothing is told.
MAX_TOLD = 20


class CommandOutcome(NamedTuple):
    """All that a command line and its result say of checks.

    ``aside``: the changes are put away when it has ended (``git stash``).
    """

    checks: tuple[CheckOutcome, ...] = ()
    check: Sureness = "no"
    writes: bool = False
    masked: bool = False
    aside: bool = False


def outcomes(
    command: str, result: CallResult, rules: Rules = DEFAULT, *, ended: bool = True, aside: bool = False
) -> CommandOutcome:
    """How each check of a command line ended, by its exit code and its output.

    A host that gives no exit code says it by the status: ``ok`` stands for zero, ``error`` for some
    other. A call that went to the background has its checks with outcome ``unknown``: ask again, with
    the same command, when its result is there. Not ``ended``: the text is what the command has printed
    so far, and nobody told how it ended; then its closing lines alone are heard. What ran while the
    changes were put away (``aside``: since an earlier line) is ``unknown``: it ran on other files.

    >>> outcomes("mix test | tail -3", CallResult("ok", "5 tests, 1 failure")).checks[0].outcome
    'fail'
    >>> outcomes("npm test || true", CallResult("ok", "")).checks[0].outcome
    'unknown'
    >>> outcomes("echo npm test", CallResult("ok", "npm test")).check
    'no'
    >>> outcomes("npm test", CallResult("ok", "compiling"), ended=False).checks[0].outcome
    'unknown'
    """
    if result.status in ("refused", "never_ran", "interrupted"):
        return CommandOutcome()
    reading = read_command(command, rules)
    if result.status == "background":
        return _gone_elsewhere(reading)._replace(aside=aside)
    away = set_aside(reading.script, result.text, aside)
    lines = output_lines(result.text)
    guess = _by_its_output(command, reading, lines)
    checks = (reading.checks if guess is None else (*reading.checks, guess))[:MAX_TOLD]
    if not checks:
        return CommandOutcome((), reading.check, reading.writes, aside=away.after)
    ends = Ends(reading, checks, result if ended else None, lines)
    told = ((check, ends.of(index)) for index, check in enumerate(checks))
    found = tuple(
        end._replace(outcome="unknown", basis=None) if check.at in away.places else end
        for check, end in told
        if end is not None
    )
    masked = any(map(ends.masked, range(len(checks))))
    return CommandOutcome(found, "yes" if found else "unsure", reading.writes, masked, away.after)


def _gone_elsewhere(reading: CommandReading) -> CommandOutcome:
    checks = tuple(
        CheckOutcome(c.scope, c.command, "unknown", runner=c.runner.name if c.runner else None)
        for c in reading.checks
    )
    return CommandOutcome(checks, reading.check, reading.writes)


def _by_its_output(command: str, reading: CommandReading, lines: tuple[str, ...]) -> FoundCheck | None:
    """The check that an unrecognised program was, told by the closing line its output ends in."""
    if not reading.open:
        return None
    claimed = {row for check in reading.checks for row in rows_for(check.runner, check.scope)}
    rows = tuple(row for row in CLOSINGS if row.strong and row not in claimed)
    ending = [one for one in closed(lines, rows, last_start(lines)) if one.verdict != "nothing"]
    if not ending:
        return None
    row = next(one.row for one in ending if one.at == ending[-1].at)  # the first that knows the line
    at = reading.open[-1]
    text = reading.script.commands[at].text if at >= 0 else " ".join(command.split())[:300]
    return FoundCheck(row.scope, text, Runner(row.name, row.scope, (), closing=(row.name,)), at)
