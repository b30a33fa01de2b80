"""Replaying a book: every decision decided again, from the entries before it alone.

Theory. ``replay`` is a function of entries. It reads no clock, asks no judge, opens no file: the kind of
the loop stands in its first entry, the answers in the judgments, and what else came from outside beside
each decision (``loopbook.advisors.basis``). What is decided again is decided by the flow's own rules
(``loopbook.settlement.again``). So a book in which every decision comes out the same was written by
these rules, and by nothing else; and a rule that was changed by mistake is seen in every book there is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from loopbook.audit.replay.recorded import Recorded, Walk, decisions
from loopbook.audit.replay.verdict import MAKERS, Makers, Outcome, Verdict, told, verdict_on
from loopbook.entry import Entry
from loopbook.errors import UnknownUnit
from loopbook.events import Noticed, Scrubbed
from loopbook.projections import BookState, Position, position

__all__ = [
    "MAKERS", "Decided", "Makers", "Outcome", "Recorded", "Replay", "Verdict", "decisions", "replay", "told",
    "verdict_on",
]  # fmt: skip


class Decided(NamedTuple):
    """One decision: its first and last seq, who decided about which run and unit, what in words, where
    the work stood before it, and what came of deciding it again."""

    seq: int
    last: int
    advisor: str
    run: str | None
    unit: str | None
    words: str
    said: str | None
    phase: Position
    verdict: Verdict


class Replay(NamedTuple):
    """A book up to ``version``, what it has come to, and its decisions in order."""

    version: int
    state: BookState
    decisions: tuple[Decided, ...]

    @property
    def difference(self) -> Decided | None:
        """The first decision that comes out differently though the rules are the same."""
        return next((one for one in self.decisions if one.verdict.outcome == "differs"), None)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How many decisions came to what."""
        return Counter(one.verdict.outcome for one in self.decisions)


def replay(entries: Iterable[Entry], makers: Makers = MAKERS, *, to: int | None = None) -> Replay:
    """Decide every decision of a book again.

    ``entries`` are a book's, from its first on, each once; with ``to`` only those up to that seq, and the
    rest of a decision that begins there. ``makers`` make the advisors by name: a decision by another one
    is ``unchecked``. Raises ``VersionGap`` where an entry is missing.

    >>> from loopbook import Books, Change, RunSettled
    >>> from loopbook.judges.scripted import Scripted
    >>> loop = Books.open("memory:").start("chore", "Tidy up")
    >>> _ = loop.record(Change(summary="tidied"))
    >>> advice = loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([{"move": "advance"}]))
    >>> [(one.seq, one.words) for one in replay(loop.entries()).decisions]
    [(4, 'says and continues "next: verify (no passing check (tests, build, manual) since the last change)"')]
    >>> replay(loop.entries()).difference is None
    True
    """
    walk = Walk()
    scrubbed: list[tuple[int, ...]] = []

    def upto() -> Iterable[Entry]:
        for entry in takewhile(lambda entry: to is None or entry.seq <= to or walk.goes_on(entry), entries):
            if isinstance(entry.event, Scrubbed):
                scrubbed.append(entry.event.seqs)
            yield entry

    decided: list[Decided] = []
    marked: set[int] = set()
    for one in decisions(upto(), walk):
        decided.append(_decided(one, makers))
        if decided[-1].verdict.outcome == "differs" and _reads_marks(one):
            marked.add(one.first.seq)
    since = min((min(seqs) for seqs in scrubbed if seqs), default=None)
    excused = (_excused(one, since if one.seq in marked else None) for one in decided)
    return Replay(walk.state.version, walk.state, tuple(excused))


#: What stands where a text was scrubbed from.
_MARK = re.compile(
    r"\[(?:scrubbed \d{1,20} chars|scrubbed-\d{1,20}-chars(?:-\d{1,20})?|removed(?:-\d{1,20})?)\]"
)


def _decided(recorded: Recorded, makers: Makers) -> Decided:
    first, said = recorded.first, recorded.said
    spoken = next((entry.event for entry in recorded.entries if isinstance(entry.event, Noticed)), None)
    return Decided(
        seq=first.seq,
        last=recorded.entries[-1].seq,
        advisor=said.advisor if said else "",
        run=said.run if said else None,
        unit=first.unit,
        words=told([(entry.event, entry.unit) for entry in recorded.entries]),
        said=spoken.text if spoken else None,
        phase=_position(recorded),
        verdict=verdict_on(recorded, makers),
    )


def _reads_marks(recorded: Recorded) -> bool:
    """Whether texts were scrubbed from what a decision was made of: its state, its run, and itself."""
    events = [entry.event for entry in recorded.entries]
    return any(_MARK.search(repr(part)) for part in (recorded.before, recorded.run, events))


def _position(recorded: Recorded) -> Position:
    try:
        return position(recorded.before, recorded.first.unit)
    except UnknownUnit:
        return position(recorded.before)


def _excused(one: Decided, since: int | None) -> Decided:
    """A difference of a decision that reads what has lost texts is no fault of the rules."""
    if one.verdict.outcome != "differs" or since is None or since > one.last:
        return one
    why = f"texts were scrubbed from entries since, of seq {since} and perhaps later"
    return one._replace(verdict=one.verdict._replace(outcome="scrubbed", why=why))
