"""Verification: what the checks since the last change say.

Theory. A check is a scope and a command (``loopbook.evidence.identity``). What counts is the last
*known* outcome of each: a pass answers the failures of the same check and, when a whole scope was
run, of its parts; an unknown outcome answers nothing. So the state keeps the failures that nobody
has answered. *Verified* means there was a pass that can vouch for the work (lint alone cannot), and
no failure stands. A change makes everything before it history: it is kept as ``before``, per scope,
only to say what a claim may have been based on.

Two weaker things are read from the calls of settled runs. *Surely no check*: every call since the
last change is recognised as none; anything doubtful ends it. *Possibly stale*: a command that may
write files followed the last pass. Neither moves a phase.
"""

from __future__ import annotations

from typing import Literal

from loopbook.events import Check, RunSettled, Scope
from loopbook.evidence.identity import answers, identify, narrowed
from loopbook.evidence.record import Ran, Record
from loopbook.projections.state import COMMAND_CHARS, FAILING, BookState, Checks, Work
from loopbook.run import Call, ToolKind

VerifyState = Literal["none", "stale", "failing", "passing", "unknown"]

#: The scopes whose pass can vouch for the work.
VOUCHING: frozenset[Scope] = frozenset({"tests", "build", "manual"})

#: How many failures are named, the newest, and how much of each command.
FAILED_NAMED = 3
SHOWN_CHARS = 60

#: Tools that run nothing and set nobody to work, so that no check can hide in them. A tool that
#: waits may itself run what it waits for, and a message may set a child to work.
RUNS_NOTHING: frozenset[ToolKind] = frozenset(
    {"edit", "write", "read", "search", "fetch", "question", "plan", "todos"}
)


def changed(checks: Checks, line: int | None) -> Checks:
    """What stands after a change: nothing is verified, and what was is history."""
    return Checks((), {}, {}, None, {**checks.before, **checks.newest}, line)


def checked(checks: Checks, check: Check, seq: int, line: int | None) -> Checks:
    """What stands after a check."""
    command = check.command[:COMMAND_CHARS]
    ran = Ran(
        check.scope, command, check.outcome, check.exit_code, check.runner, check.masked, seq, line, check.by
    )
    failing, passing, whole = checks.failing, checks.passing, checks.whole
    stale = checks.possibly_stale
    if check.outcome != "unknown":
        failing = _unanswered(failing, ran)
    if check.outcome == "fail":
        failing = (*failing, ran)[-FAILING:]
    elif check.outcome == "pass":
        passing, stale = {**passing, ran.scope: ran}, False
        if ran.scope == "tests" and not narrowed(identify(command, ran.scope)):
            whole = ran
    newest = {**checks.newest, ran.scope: ran}
    return checks._replace(failing=failing, newest=newest, passing=passing, whole=whole, possibly_stale=stale)


def _unanswered(failing: tuple[Ran, ...], ran: Ran) -> tuple[Ran, ...]:
    if not failing:
        return failing
    later = identify(ran.command, ran.scope)
    return tuple(one for one in failing if not answers(later, identify(one.command, one.scope)))


def settled(checks: Checks, run: RunSettled, *, changed_in_run: bool) -> Checks:
    """What stands once the calls of a run are known; ``changed_in_run``: it holds the last change."""
    if checks.passing:
        return checks._replace(possibly_stale=_stale(run.calls, checks.possibly_stale))
    still = checks.no_check_called and _no_check_called(run, changed_in_run=changed_in_run)
    return checks._replace(no_check_called=still)


def _stale(calls: tuple[Call, ...], before: bool) -> bool:
    """Whether the newest call that tells may have written files, and did not pass a check."""
    for call in reversed(calls):
        if call.ran and call.check == "yes" and call.outcome == "pass":
            return False
        if call.ran and (call.writes or call.produced):
            return call.writes
    return before


def _no_check_called(run: RunSettled, *, changed_in_run: bool) -> bool:
    """Whether every call since the last change runs no check; calls that were not kept might have."""
    for call in reversed(run.calls):
        if not call.ran:
            continue
        if changed_in_run and call.produced:
            return True
        if call.check != "no" and (call.check is not None or call.kind not in RUNS_NOTHING):
            return False
    return run.calls_total <= len(run.calls)


def verified(checks: Checks) -> bool:
    """Whether a pass vouches for the work and no failure stands since the last change."""
    return not checks.failing and not VOUCHING.isdisjoint(checks.passing)


def missing(checks: Checks, words: str) -> tuple[str, ...]:
    """What keeps the work from being verified: in ``words`` that no pass vouches for it, and what failed."""
    failed = [" ".join(ran.command.split())[:SHOWN_CHARS] for ran in checks.failing]
    named = [f"`{command}` failed" for command in failed[-FAILED_NAMED:]]
    more = len(failed) - len(named)
    none = [words] if VOUCHING.isdisjoint(checks.passing) else []
    return (*none, *named, *([f"+{more} more failed"] if more else []))


def verify_word(work: Work) -> VerifyState:
    """The verify state of one machine: the first that holds, from ``none`` to ``unknown``."""
    if not work.last["change"] and not work.last["check"]:
        return "none"
    if not work.checks.newest:
        return "stale"
    if work.checks.failing:
        return "failing"
    return "passing" if verified(work.checks) else "unknown"


def record_of(state: BookState) -> Record:
    """What a claim made now is held against: the checks of the whole book, whatever their unit.

    >>> from loopbook.projections.state import EMPTY
    >>> record_of(EMPTY).failing
    ()
    """
    checks, last = state.work.checks, state.work.last
    none_ran = checks.no_check_called and not checks.newest
    return Record(
        failing=checks.failing,
        newest=checks.newest,
        passing=checks.passing,
        whole=checks.whole,
        before=checks.before,
        last_change=last["change"] or None,
        last_change_line=checks.change_line,
        surely_no_check=none_ran and last["child_reported"] <= last["change"],  # a child may have checked
        possibly_stale=checks.possibly_stale,
    )
