"""How the checks of one line ended: exit code, printed statuses and closing lines weighed.

Theory. For each check there are the *ways* it can have gone (``worlds``: not run, good, bad) and
what its runner *said*. The failing of the two wins; where neither is certain the outcome is
``unknown``. A nonzero exit that says only that nothing was checked is no failure.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from typing import Literal, NamedTuple

from loopbook.events import Outcome, Scope
from loopbook.evidence.calls import CallResult
from loopbook.evidence.closing_table import NEVER_STARTED
from loopbook.evidence.commands import CommandReading, FoundCheck
from loopbook.evidence.runner_table import VOID
from loopbook.evidence.runners import Closed, Verdict, closed, is_closing, rows_for, together
from loopbook.evidence.text import compiled
from loopbook.evidence.worlds import BAD, GOOD, MAX_CHECKS, NOT_RUN, ZERO, Line, World, own_end, printed
from loopbook.evidence.wrappers import program_of

#: Closing rows of launchers, which close the run of any runner.
_OF_ANY = frozenset({"script", "make", "counts"})


class CheckOutcome(NamedTuple):
    """How one check ended. ``exit_code`` is the check's own, ``masked`` that the line's is not."""

    scope: Scope
    command: str
    outcome: Outcome
    exit_code: int | None = None
    masked: bool = False
    basis: Literal["exit", "summary"] | None = None
    runner: str | None = None


class Ends:
    """The ends of all checks of one line, told from one result; ``None``: no exit is known."""

    def __init__(
        self,
        reading: CommandReading,
        checks: tuple[FoundCheck, ...],
        result: CallResult | None,
        lines: tuple[str, ...],
    ) -> None:
        self.checks = checks
        self.reading = reading
        self.lines = lines
        self.exit = result.exit_code if result else None
        error = result is not None and result.status == "error"
        self.failed = error if self.exit is None else self.exit != 0
        # An error with exit 0 contradicts itself: then the exit says nothing either.
        self.sure_exit = result is not None and not (error and self.exit == 0)
        self.alone = len(checks) <= MAX_CHECKS
        self.places = tuple(check.at for check in checks)
        self.abstract: dict[int, tuple[Line, frozenset[World]]] = {}
        self.fitting: dict[int, list[World]] = {}
        self.shown_codes: dict[int, int] = {}
        self.said: tuple[tuple[Closed, ...], ...] = ()
        self.said = self._closing_lines()

    # --- the exit code -------------------------------------------------------------------

    def _abstract(self, index: int) -> tuple[Line, frozenset[World], int]:
        """The line run in the abstract, with all checks at once or, where they are many, this one
        alone; and the check's place in its worlds."""
        key = 0 if self.alone else index
        if key not in self.abstract:
            texts = (text for one in self.reading.script.commands for text in (one.text, *one.env))
            parts = any("PIPESTATUS" in text for text in texts)
            places = self.places if self.alone else (self.places[index],)
            line = Line(places, parts=parts, trapped=own_end(self.reading.script.commands))
            self.abstract[key] = (line, line.worlds(self.reading.script.node))
        return (*self.abstract[key], index if self.alone else 0)

    def masked(self, index: int) -> bool:
        """Whether a zero exit of the line leaves open that the check failed."""
        _, worlds, slot = self._abstract(index)
        return self.checks[index].at < 0 or any(w.checks[slot] != GOOD for w in worlds if w.status == ZERO)

    def worlds(self, index: int) -> list[World]:
        """The ways the line can have gone, by its exit and by what it printed on the way."""
        key = 0 if self.alone else index
        if key not in self.fitting:
            self.fitting[key] = self._fitting(index)
        return self.fitting[key]

    def _fitting(self, index: int) -> list[World]:
        line, worlds, _ = self._abstract(index)
        fitting = [w for w in worlds if not self.sure_exit or (w.status != ZERO) == self.failed]
        rows = {row for check in self.checks for row in rows_for(check.runner, check.scope)}
        for shown, text, number in printed(line, self.lines):
            kept = [w for w in fitting if shown.key in dict(w.kept)]
            if number is not None:
                kept = [w for w in kept if (dict(w.kept)[shown.key] == ZERO) == (number == 0)]
                owners = {dict(w.kept)[shown.key] for w in kept}
                if number and len(owners) == 1:
                    self.shown_codes[owners.pop() if self.alone else index] = number
            elif any(is_closing(row, text) for row in rows):
                continue  # the runner's own word, not the echo's
            fitting = kept or fitting
        return fitting

    def ways(self, index: int) -> frozenset[int]:
        """How a check can have gone, also by what the other checks' closing lines say."""
        at = self.checks[index].at
        if at < 0 or (len(self.reading.open) > 1 and self._unrecognised(index)):
            return frozenset({GOOD, BAD})
        fitting = self.worlds(index)
        _, _, slot = self._abstract(index)
        for other, said in enumerate(self.said if self.alone else ()):
            verdict = together(said)
            if other == index or verdict is None:
                continue
            ran = [w for w in fitting if w.checks[other] != NOT_RUN]
            ended = {"fail": BAD, "pass": GOOD}.get(verdict)
            fitting = [w for w in ran if w.checks[other] == ended] or ran or fitting
        return frozenset(w.checks[slot] for w in fitting)

    # --- the closing lines ------------------------------------------------------------------

    def _closing_lines(self) -> tuple[tuple[Closed, ...], ...]:
        """The closing lines of each check. Where checks share a runner, its runs are dealt out in order."""
        wanted = [rows_for(check.runner, check.scope) for check in self.checks]
        by_rows = {rows: closed(self.lines, rows) for rows in wanted}
        given: list[tuple[Closed, ...]] = []
        for index, rows in enumerate(wanted):
            found = by_rows[rows]
            sharing = [i for i, other in enumerate(wanted) if set(other) & {one.row for one in found}]
            if len(sharing) > 1:
                every = tuple(dict.fromkeys(row for i in sharing for row in wanted[i]))
                dealt = self._dealt(index, sharing, _runs(closed(self.lines, every)))
                found = tuple(one for one in dealt if one.row in rows)
            given.append(found)
        return tuple(given)

    def _dealt(self, index: int, sharing: list[int], runs: Items[tuple[Closed, ...]]) -> tuple[Closed, ...]:
        place = sharing.index(index) if index in sharing else 0
        if len(runs) == len(sharing) or (len(runs) < len(sharing) and self._may_stop(sharing[len(runs) :])):
            return runs[place] if place < len(runs) else ()
        every = tuple(one for run in runs for one in run)
        return every if len(runs) > len(sharing) and together(every) == "pass" else ()

    def _may_stop(self, rest: list[int]) -> bool:
        """Whether the line can have ended before each of these checks."""
        if not self.alone or any(self.checks[i].at < 0 for i in rest):
            return False
        return all(any(w.checks[i] == NOT_RUN for w in self.worlds(i)) for i in rest)

    # --- both ---------------------------------------------------------------------------------

    def of(self, index: int) -> CheckOutcome | None:
        """How a check ended; ``None`` when it surely never ran."""
        check = self.checks[index]
        ways = self.ways(index)
        said = self._word(index, ways)
        if ways == {NOT_RUN} and said is None:
            return None
        outcome, by = self._weighed(index, ways, said)
        masked = self.masked(index)
        own = by == "exit" or (ways in ({GOOD}, {BAD}) and not self._unrecognised(index))
        code = self._code(index, ways) if own else None
        name = self.said[index][-1].row.name if said and check.runner is None else None
        return CheckOutcome(
            check.scope, check.command, outcome, code, masked and by != "exit", by,
            check.runner.name if check.runner else name,
        )  # fmt: skip

    def _word(self, index: int, ways: frozenset[int]) -> Verdict | None:
        """What the closing lines say together, where a failing one is not known to be over.

        Under a zero exit of its own a runner's last word counts: what failed above it was a run inside
        it. What a loop tried until it passed is not known to have failed.
        """
        said = self.said[index]
        verdict = together(said)
        if verdict != "fail" or said[-1].verdict != "pass":
            return verdict
        runner = self.checks[index].runner
        own = runner is not None and "*" not in runner.closing
        alike = all(one.row is said[-1].row for one in said if one.verdict == "fail")
        if own and alike and ways == {GOOD}:
            return "pass"
        return "nothing" if self.reading.retries and alike else verdict

    def _weighed(
        self, index: int, ways: frozenset[int], said: Verdict | None
    ) -> tuple[Outcome, Literal["exit", "summary"] | None]:
        if said == "fail":
            return "fail", "exit" if ways == {BAD} else "summary"
        if said == "nothing" or ways == {NOT_RUN}:
            return "unknown", None
        if ways == {GOOD}:
            return "pass", "exit"
        if ways == {BAD} and said == "pass" and self._unrecognised(index):
            return "unknown", None  # a script may have failed at what came behind its tests
        if ways == {BAD}:
            return ("unknown", None) if self._void(index, said) else ("fail", "exit")
        return ("pass", "summary") if said == "pass" else ("unknown", None)

    def _unrecognised(self, index: int) -> bool:
        """Whether the check is known by its output alone: its program may have done more than check."""
        return self.checks[index].at < 0 or self.checks[index].at in self.reading.open

    def _void(self, index: int, said: Verdict | None) -> bool:
        """Whether a nonzero exit says only that nothing was checked."""
        runner = self.checks[index].runner
        code = self._code(index, frozenset({BAD}))
        levels = self.reading.script.commands[self.checks[index].at].levels
        timed = any(words and program_of(words[0]) in ("timeout", "gtimeout") for words in levels)
        if code is not None and (code in VOID or (timed and code == 124)):
            return True
        if said is not None:
            return False
        return (code is not None and runner is not None and code in runner.void) or any(
            compiled(NEVER_STARTED).search(line) for line in self.lines
        )

    def _code(self, index: int, ways: frozenset[int]) -> int | None:
        """The check's own exit code, where the line's is its own or it was printed."""
        if ways == {GOOD}:
            return 0
        if index in self.shown_codes:
            return self.shown_codes[index]
        _, _, slot = self._abstract(index)
        own = {w.status for w in self.worlds(index) if w.checks[slot] == BAD}
        return self.exit if self.failed and own == {slot} else None


def ways(reading: CommandReading, result: CallResult) -> frozenset[Outcome]:
    """How the checks of a line can have ended together, by its exit alone: nothing where that is not known.

    ``fail`` where one of them failed, ``pass`` where all passed, ``unknown`` where one that did not fail
    did not run either.
    """
    ends = Ends(reading, reading.checks, result, ())
    if not ends.alone or not reading.checks:
        return frozenset()
    return frozenset(map(_together, (world.checks for world in ends.worlds(0))))


def _together(checks: Items[int]) -> Outcome:
    return "fail" if BAD in checks else "unknown" if NOT_RUN in checks else "pass"


def _runs(found: tuple[Closed, ...]) -> list[tuple[Closed, ...]]:
    """Closing lines as runs: a row that comes again, another runner, or lines far apart begin one."""
    runs: list[list[Closed]] = []
    names = {at: {one.row.name for one in found if one.at == at} for at in {one.at for one in found}}
    for one in found:
        last = runs[-1] if runs else []
        if (
            not last
            or one.at - last[-1].at > 3
            or any(one.row is other.row for other in last)
            or not (_OF_ANY | {name for other in last for name in names[other.at]}) & names[one.at]
        ):
            runs.append([])
        runs[-1].append(one)
    return [tuple(run) for run in runs]
