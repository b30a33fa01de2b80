"""What a book comes to: the state every projection folds into, and its bounds.

Theory. ``BookState`` answers every question a decision asks, and nothing else. It is bounded by
what is *open*, not by what happened: the last matching seq per need, open todos and findings,
living children, failing checks, the last notice per advisor and subject, the newest few of what
is only shown. What is over leaves it. Its price: an id that was used and has left (a done todo) is
known to the store's reservations, not here (``loopbook.projections.admission``).

Everything is a tuple, mapping, text, number, truth value, time or ``None``, so that a state can be
kept as JSON (a snapshot) and compared. No value is ever changed in place; mappings are plain dicts
that nobody writes to. ``FOLD_VERSION`` grows whenever the same entries would give another state.

A *subject* is what advice is about: the loop, or one unit when there are two or more. ``work`` is
always the whole book's; with two units the loop as a subject has only its ``close``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from loopbook.events import Opinion, Origin, Scope, Tier
from loopbook.evidence.record import Ran
from loopbook.run import Stop

#: Grows with every change of meaning of the fold: a snapshot of another version is not used.
FOLD_VERSION = 12

#: Bounds: characters (code points) or items.
TEXT_CHARS = 200  # a subject, task, friction line or summary
DIFF_CHARS = 1_200
COMMAND_CHARS = 2_000
TASKS = 20
FRICTIONS = 20
FAILING = 100  # failing checks that are remembered since one change
ENDED_UNITS = 50  # units that are done or dropped
LEFT = 50  # children that came back, were dropped or lost
LOST = 20
SETTLED_RUNS = 16
CONTINUED = 64  # (key, trigger) pairs
UNDELIVERED = 16


class OpenFinding(NamedTuple):
    """A blocker or concern that stands: who named it, and where (seq)."""

    id: str
    reviewer: str
    seq: int


class Checks(NamedTuple):
    """What was checked since the last change; ``before``: per scope, the newest result from before it.

    ``whole`` is the newest pass of a test run that nothing narrowed: runs of parts do not replace it.
    ``no_check_called`` (meaningful while ``newest`` is empty) and ``possibly_stale`` (while
    ``passing`` is not) are read from the calls of settled runs.
    """

    failing: tuple[Ran, ...] = ()
    newest: Mapping[Scope, Ran] = {}
    passing: Mapping[Scope, Ran] = {}
    whole: Ran | None = None
    before: Mapping[Scope, Ran] = {}
    change_line: int | None = None
    no_check_called: bool = True
    possibly_stale: bool = False


#: The last seq of each type of evidence, 0 for never: where every machine begins.
NEVER: Mapping[str, int] = {
    "change": 0,
    "check": 0,
    "review": 0,
    "decision": 0,
    "source": 0,
    "child_reported": 0,
}


class Work(NamedTuple):
    """One phase machine: what its evidence comes to.

    ``phase`` is the place of the phase that is next, ``since`` the seq since which it is: the two
    are the step. ``last`` holds the last seq of each type of evidence, ``matches`` per matching need
    of the kind, in its order, the last seq that met it. ``full`` and ``clean`` are the last full and
    the last clean review.
    """

    phase: int = 0
    since: int = 0
    last: Mapping[str, int] = NEVER
    matches: tuple[int, ...] = ()
    full: int = 0
    clean: int = 0
    findings: tuple[OpenFinding, ...] = ()
    checks: Checks = Checks()


class LastEvidence(NamedTuple):
    """A subject's newest evidence; ``word`` is its outcome, tier or summary, whichever it has."""

    type: str
    seq: int
    word: str
    unit: str | None = None


class Notice(NamedTuple):
    """What an advisor last said of a subject, as much of it as the next decision compares."""

    seq: int
    key: str
    trigger: int
    judged: int | None
    continues: bool


class Heard(NamedTuple):
    """One advisor about one subject: its last judgment (seq, and the seq it read up to), the seq its
    last ask covered (judged, or named in a notice), and its last notice of each sort."""

    judged: int = 0
    read_to: int = 0
    asked: int = 0
    away: Notice | None = None
    close: Notice | None = None


class Subject(NamedTuple):
    """What the loop, or a unit, is as the subject of advice; ``heard`` is by advisor."""

    evidence: LastEvidence | None = None
    diff_summary: str = ""
    heard: Mapping[str, Heard] = {}


class FrictionLine(NamedTuple):
    """Something that got in the way, under a child's name where it was a child's."""

    text: str
    child: str | None = None


class Notes(NamedTuple):
    """The newest 20 tasks and friction lines, oldest first."""

    tasks: tuple[str, ...] = ()
    friction: tuple[FrictionLine, ...] = ()


class Unit(NamedTuple):
    """A unit; ``ended`` is the seq of its end (0: it goes on). ``notes`` are its own, which are among the
    book's too. Units stand in the order added."""

    subject: str
    started: int = 0
    ended: int = 0
    dropped: bool = False
    work: Work = Work()
    about: Subject = Subject()
    notes: Notes = Notes()


class Todo(NamedTuple):
    """An open todo. ``loose`` is the seq since which it has no valid follow-up (0: it has one),
    ``named`` the seq of the last notice that named it, ``unit`` the one it was opened for."""

    subject: str
    opened: int
    loose: int = 0
    named: int = 0
    unit: str | None = None


class Child(NamedTuple):
    """A child with work out: ``out`` counts the dispatches without a report.

    ``grace`` is in seconds; ``at`` is the time of its last link; ``state`` what the host said when a
    run last settled, ``past_grace`` what follows from it.
    """

    out: int
    at: datetime
    unit: str | None = None
    grace: float = 30.0
    state: Literal["out", "gone", "unknown"] = "unknown"
    past_grace: bool = False


class Children(NamedTuple):
    """The living; of those who left and had a unit, that unit (newest 50); the newest 20 lost; and
    whoever came back, was dropped or lost, unit or not (``over``, newest 50)."""

    living: Mapping[str, Child] = {}
    left: Mapping[str, str] = {}
    lost: tuple[str, ...] = ()
    over: tuple[str, ...] = ()


class Prompt(NamedTuple):
    """A prompt as it stands in the book."""

    prompt: str
    text: str
    origin: Origin
    seq: int


class Settled(NamedTuple):
    """A settled run, the advisors whose gate it has been through, those that have spoken for it, and what
    was judged for it: advisor and subject."""

    run: str
    seq: int
    session: str
    gated: tuple[str, ...] = ()
    spoke: tuple[str, ...] = ()
    judged: tuple[tuple[str, str | None], ...] = ()


class LastRun(NamedTuple):
    """What the last settled run left to decide on."""

    run: str
    seq: int
    stop: Stop
    interactive: bool
    final_text: str
    lines: tuple[tuple[str, str], ...]
    calls_total: int
    now: datetime | None


class Runs(NamedTuple):
    """Runs and what they may still do.

    ``human`` is the last human prompt: it opens a task (counted in ``tasks``) and sets back
    ``continuations`` and ``bound`` (the seq of the first silence for that reason since, 0: none).
    ``open`` is the seq of the prompt whose run has not settled (0: none); ``undelivered`` holds the
    seqs of the newest 16 notices whose delivery nobody has acknowledged.
    """

    prompt: Prompt | None = None
    human: Prompt | None = None
    tasks: int = 0
    open: int = 0
    settled: tuple[Settled, ...] = ()
    last: LastRun | None = None
    continuations: int = 0
    bound: int = 0
    continued: tuple[tuple[str, int], ...] = ()
    undelivered: tuple[int, ...] = ()


class Stance(NamedTuple):
    """What an advisor makes of the close that is pending; it stands while it would ask that ``packet``."""

    packet: str
    opinion: Opinion


class Life(NamedTuple):
    """The loop itself. ``definition`` is its kind as JSON text ("" where it has none that holds);
    ``session`` the one that opened or last adopted it; ``claim`` a declared close not yet decided,
    at seq ``declared``, and ``stances`` who has been heard about it, by advisor; ``outcome`` is there
    while it is closed."""

    opened: int = 0
    kind: str = ""
    intent: str = ""
    anchor: str | None = None
    review_tier: Tier = "light"
    definition: str = ""
    session: str = ""
    claim: str | None = None
    declared: int = 0
    stances: Mapping[str, Stance] = {}
    outcome: Literal["met", "over_concerns", "unjudged"] | None = None


class Spent(NamedTuple):
    """What the answers of judges took: how many there were, tokens and US dollars as far as they are
    known, and of how many answers the cost is not (``unpriced``)."""

    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


class BookState(NamedTuple):
    """The state of a book at ``version``: the fold of its first ``version`` entries."""

    version: int = 0
    life: Life = Life()
    work: Work = Work()
    loop: Subject = Subject()
    units: Mapping[str, Unit] = {}
    units_added: int = 0
    todos: Mapping[str, Todo] = {}
    children: Children = Children()
    notes: Notes = Notes()
    runs: Runs = Runs()
    spent: Spent = Spent()


#: The state of a book with no entry.
EMPTY = BookState()
