"""Why nothing was said, in a sentence for each reason; and what a gate that was passed has found.

Theory. A reason is a word in a book, for programs; a person is told a sentence. Both tables are whole: a
reason that the code can give and that has no sentence here fails a test. A book may hold others, of
advisors that nobody here knows; those are told as they stand.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopbook.advisors.asking import FAILURES

#: Why an advisor was silent. ``{detail}`` is what the entry names beside the reason.
SILENT: Mapping[str, str] = {
    "no-loop": "no loop is open in this book, so there is nothing to advise on",
    "subagent": "the session is a sub-agent's: the agent that sent it out judges its result",
    "no-judge": "there is no judge to ask, and without one nothing is judged here",
    "failed-run": "the run broke off ({detail}), and a run that broke off is neither judged nor continued",
    "waiting": "the run waits: it called {detail}, whose result is still to come",
    "child-out": "child {detail} is out; until it reports, is dropped or lost, nobody is judged or continued",
    "not-waiting-unit": "no unit waits on the coordinator: each has a child out, is not started, has ended,"
    " or was asked since its last evidence",
    "nothing-new": "there is no evidence and no newly loose todo that the last judgment has not read",
    "duplicate": "it would say again what it said last: same move, step, concerns, todos and findings",
    "agrees": "the judge agrees with where the work stands, and there is nothing to add",
    "stale": "the answer came too late to hold: {detail}",
    "judge-failed": "the judge gave no answer to go by ({detail}), and that changes nothing",
    "turn-taken": "another advisor has spoken for this run; at most one message goes out for each, so this"
    " one's turn is the next",
    "bound": "as many runs were continued as may be between two human prompts; the next prompt sets it back",
}

#: What a gate has found that did not pass over for this reason, where that is worth a line.
PASSED: Mapping[str, str] = {
    "no-loop": "a loop is open",
    "subagent": "the session is no sub-agent's",
    "no-judge": "there is a judge to ask",
    "failed-run": "the run came to rest by itself",
    "waiting": "the run called nothing that it still waits for",
    "child-out": "no child of the subject or of the loop is out",
    "not-waiting-unit": "the subject waits on the coordinator",
    "nothing-new": "there is evidence, a loose todo or a close that no judgment has read",
}

#: What made an answer too late.
LATE: Mapping[str, str] = {
    "busy": "the session was no longer idle",
    "newer-run": "another run had begun or settled meanwhile",
    "moved": "the work had moved on under it, and under the second answer too",
    "decided": "another session had decided the same meanwhile",
}

#: What is to be said of a run or a close about which a book has no decision.
UNRECORDED = (
    "nothing is recorded about it: no loop was open, the session was a sub-agent's or there was no judge"
    " (these three leave no trace), or the process ended before it was decided"
)


def silence(reason: str, detail: str | None = None) -> str:
    """The sentence of a reason.

    >>> silence("failed-run", "aborted")
    'the run broke off (aborted), and a run that broke off is neither judged nor continued'
    >>> silence("of-my-own", "x")
    'of-my-own (x)'
    """
    if reason not in SILENT:
        return f"{reason} ({detail})" if detail else reason
    told = FAILURES.get(detail or "", detail) if reason == "judge-failed" else LATE.get(detail or "", detail)
    return SILENT[reason].format(detail=told or "nothing more is known of it")
