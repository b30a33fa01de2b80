"""What an audit says, as versioned data: the text and the JSON are two views of these values.

Theory. Everything here is bounded by constants, not by the session: counts are exact, lists keep
their first and last members and say how many they left out. The timeline of a whole huge
session is only ever written as a stream (``loopbook audit --full``), never held.

A field is added without a new ``version``; one that changes its meaning needs a new number.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from loopbook.audit.said import What
from loopbook.events import Outcome, Scope
from loopbook.run import Stop

VERSION: Literal[1] = 1

#: What is kept of a timeline: its first and its last lines. Counts are always of all.
FIRST_ITEMS = 200
LAST_ITEMS = 200
#: What is kept of the claims: contradicted ones, and the others.
CLAIMS = 200
PROBLEMS = 100

Verdict = Literal["supported", "contradicted", "unbacked", "unknown"]


class Part(BaseModel):
    """A frozen piece of an audit; a field that is not there is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckRef(Part):
    """The check a verdict rests on. ``line`` is where its result stands in the session file."""

    command: str
    outcome: Outcome
    scope: Scope
    exit_code: int | None = None
    masked: bool = False
    line: int | None = None
    by: str | None = None


class WeighedClaim(Part):
    """Something a run's final text says, held against the record at that run's end.

    ``possibly_stale``: a command that may have written files ran after the last pass.
    ``open``: said in a last run that has not come to rest.

    >>> WeighedClaim(text="All tests pass", category="tests", verdict="unknown", reason="").open
    False
    """

    text: str
    category: str
    verdict: Verdict
    reason: str
    partial: bool = False
    check: CheckRef | None = None
    possibly_stale: bool = False
    open: bool = False
    run: str | None = None
    seq: int | None = None
    line: int | None = None


class Item(Part):
    """One line of the timeline: ``line`` of the session file, ``seq`` in the book."""

    what: What
    text: str
    seq: int | None = None
    line: int | None = None
    at: datetime | None = None
    by: str | None = None
    scope: Scope | None = None
    outcome: Outcome | None = None
    exit_code: int | None = None
    masked: bool = False
    possibly_stale: bool = False
    verdict: Verdict | None = None


class FileProblem(Part):
    """Something in the session file that could not be used as it stands; never fatal."""

    line: int | None
    text: str


class OpenRun(Part):
    """The last run where it has not come to rest; no event of the book."""

    run: str
    stop: Stop
    calls: int
    line: int | None = None


class Session(Part):
    """What was read, and which book it went into. ``store`` is ``None`` where none was kept."""

    file: str
    host: str
    session: str
    lines: int
    loop: str
    kind: str
    intent: str
    first_at: datetime | None = None
    last_at: datetime | None = None
    store: str | None = None


class CheckCount(Part):
    """How the checks of one scope ended; ``masked`` of them were not told by their exit code alone."""

    scope: Scope
    passed: int = 0
    failed: int = 0
    unknown: int = 0
    masked: int = 0


class TodoCount(Part):
    """Todos over the session; ``open`` and ``loose`` are those at its end."""

    opened: int = 0
    completed: int = 0
    dropped: int = 0
    open: int = 0
    loose: int = 0


class ChildCount(Part):
    """Children over the session; ``out`` are those still out at its end."""

    linked: int = 0
    reported: int = 0
    dropped: int = 0
    lost: int = 0
    out: int = 0


class PhaseNow(Part):
    """Where the loop stands at the end of the session."""

    current: str
    next: str
    missing: tuple[str, ...] = ()


class Summary(Part):
    """Counts over the whole session, and the state at its end."""

    prompts: Mapping[str, int]
    runs: Mapping[str, int]
    changes: int
    checks: tuple[CheckCount, ...]
    reviews: int
    sources: int
    decisions: int
    todos: TodoCount
    children: ChildCount
    phase: PhaseNow | None
    verify: str
    possibly_stale: bool
    claims: Mapping[str, int]
    problems: int


class Audit(Part):
    """What one session did and claimed. ``notes`` say what to know before reading on.

    ``timeline_left_out`` lines stood after the first ``FIRST_ITEMS`` of the timeline.
    """

    version: Literal[1] = VERSION
    session: Session
    notes: tuple[str, ...] = ()
    timeline: tuple[Item, ...] = ()
    timeline_left_out: int = 0
    claims: tuple[WeighedClaim, ...] = ()
    claims_left_out: int = 0
    open_run: OpenRun | None = None
    problems: tuple[FileProblem, ...] = ()
    problems_left_out: int = 0
    summary: Summary
