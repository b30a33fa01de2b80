"""Runs: what was asked last, what came to rest, and how often it may still go on by itself.

Theory. A prompt opens a run and ``run_settled`` ends it. Only a human prompt opens a task: it sets
back the number of continuations, which all advisors share, and the mark that their bound was said.
A settled run remembers which advisors' gates it has been through, so that a hook that fires twice,
or a restart, asks nobody again; a failed or stale answer is no passing of the gate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from loopbook.events import Judged, Noticed, PassedOver, Prompted, RunSettled
from loopbook.projections.state import CONTINUED, SETTLED_RUNS, UNDELIVERED, LastRun, Prompt, Runs, Settled
from loopbook.run import FINAL_TEXT_CHARS, LINES, LINES_CHARS, PROMPT_CHARS, Line

#: Reasons after which the same run may be asked about again.
ASK_AGAIN = ("judge-failed", "stale")
#: The reason of a silence because too many runs were continued.
BOUND = "bound"


def prompted(runs: Runs, event: Prompted, seq: int) -> Runs:
    """The runs after a prompt."""
    prompt = Prompt(event.prompt, event.text[:PROMPT_CHARS], event.origin, seq)
    if event.origin != "human":
        return runs._replace(prompt=prompt, open=seq)
    return runs._replace(
        prompt=prompt, human=prompt, tasks=runs.tasks + 1, open=seq, continuations=0, bound=0
    )


def settled(runs: Runs, event: RunSettled, seq: int, session: str) -> Runs:
    """The runs after one came to rest. Settled twice, it is one run, and no gate opens again."""
    one = Settled(event.run, seq, session)
    others = []
    for before in runs.settled:
        if before.run == event.run:
            one = before._replace(seq=seq, session=session)
        else:
            others.append(before)
    return runs._replace(open=0, settled=(*others, one)[-SETTLED_RUNS:], last=_last(event, seq))


def _last(event: RunSettled, seq: int) -> LastRun:
    begins, rest = event.final_text[:FINAL_TEXT_CHARS], event.final_text[FINAL_TEXT_CHARS:]
    text = begins + rest[-FINAL_TEXT_CHARS:]  # all of it, but for a foreign writer's: ours keep the bounds
    lines = _newest(event.lines)
    return LastRun(
        event.run, seq, event.stop, event.interactive, text, lines, event.calls_total, event.observed.now
    )


def _newest(lines: tuple[Line, ...]) -> tuple[tuple[str, str], ...]:
    kept: list[tuple[str, str]] = []
    room = LINES_CHARS
    for line in reversed(lines[-LINES:]):
        if room:
            kept.append((line.role, line.text[:room]))
            room -= len(kept[-1][1])
    return tuple(reversed(kept))


def gated(runs: Runs, run: str | None, advisor: str) -> Runs:
    """The runs once an advisor has looked at one."""
    return _with(runs, run, lambda one: one._replace(gated=_and(one.gated, advisor)))


def _with(runs: Runs, run: str | None, change: Callable[[Settled], Settled]) -> Runs:
    """The runs with something more of one of them; they are as they were where nothing is."""
    place = len(runs.settled)
    for one in reversed(runs.settled):
        place -= 1
        if one.run == run:
            after = change(one)
            if after == one:
                return runs
            return runs._replace(settled=(*runs.settled[:place], after, *runs.settled[place + 1 :]))
    return runs


_K = TypeVar("_K")


def _and(known: tuple[_K, ...], one: _K) -> tuple[_K, ...]:
    return known if one in known else (*known, one)


def judged(runs: Runs, event: Judged, unit: str | None) -> Runs:
    """The runs after a judgment about a subject for one of them."""
    pair = (event.advisor, unit)
    runs = gated(runs, event.run, event.advisor)
    return _with(runs, event.run, lambda one: one._replace(judged=_and(one.judged, pair)))


def noticed(runs: Runs, event: Noticed, seq: int) -> Runs:
    """The runs after a notice: its run was told something, it is to be delivered; a continuation is spent,
    and the pair it was for is known."""
    runs = _with(runs, event.run, lambda one: one._replace(spoke=_and(one.spoke, event.advisor)))
    runs = runs._replace(undelivered=(*runs.undelivered, seq)[-UNDELIVERED:])
    if not event.continues:
        return runs
    pair = (event.key, event.trigger)
    before = runs.continued
    if pair in before:
        before = tuple(one for one in before if one != pair)
    pairs = (*before, pair)[-CONTINUED:]
    return runs._replace(continuations=runs.continuations + 1, continued=pairs)


def delivered(runs: Runs, notice: int) -> Runs:
    """The runs once a host has handed a notice on."""
    return runs._replace(undelivered=tuple(seq for seq in runs.undelivered if seq != notice))


def passed_over(runs: Runs, event: PassedOver, seq: int) -> Runs:
    """The runs after a silence."""
    if event.reason == BOUND and not runs.bound:
        runs = runs._replace(bound=seq)
    if event.reason in ASK_AGAIN or event.sort == "close":
        return runs
    return gated(runs, event.run, event.advisor)
