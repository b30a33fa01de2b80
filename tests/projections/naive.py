"""The rules of phases, verification, findings, todos, units and children, once more and naively.

Everything is asked of the whole history each time, nothing is remembered between two questions, and
nothing is shared with the fold but the vocabulary, the parsed kind and the identity of checks. Where
the two disagree under hypothesis, one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.errors import InvalidKind
from loopbook.evidence.identity import answers, identify
from loopbook.kinds import Kind, Need, Phase, from_definition
from loopbook.projections import Position

EVIDENCE = (e.Change, e.Check, e.Review, e.Decision, e.Source, e.ChildReported)


class Book(NamedTuple):
    """A history up to some point."""

    history: Sequence[Entry]

    def until(self, seq: int) -> Book:
        return Book([entry for entry in self.history if entry.seq <= seq])

    # --- the loop ---------------------------------------------------------------------------

    def opening(self) -> Entry | None:
        return next((entry for entry in self.history if isinstance(entry.event, e.LoopOpened)), None)

    def kind(self) -> Kind | None:
        entry = self.opening()
        if entry is None or not isinstance(entry.event, e.LoopOpened) or entry.event.definition is None:
            return None
        try:
            return from_definition(entry.event.definition)
        except InvalidKind:
            return None

    def tier(self) -> str:
        entry = self.opening()
        return entry.event.review_tier if entry and isinstance(entry.event, e.LoopOpened) else "light"

    # --- units ------------------------------------------------------------------------------

    def units(self) -> list[str]:
        """In the order of their (last) adding."""
        order: list[str] = []
        for entry in self.history:
            if isinstance(entry.event, e.UnitAdded):
                order = [name for name in order if name != entry.event.unit] + [entry.event.unit]
        return order

    def added(self, unit: str) -> int:
        return max(
            entry.seq
            for entry in self.history
            if isinstance(entry.event, e.UnitAdded) and entry.event.unit == unit
        )

    def is_ended(self, unit: str) -> bool:
        return any(
            isinstance(entry.event, e.UnitDone | e.UnitDropped)
            and entry.event.unit == unit
            and entry.seq > self.added(unit)
            for entry in self.history
        )

    def second_unit(self) -> int:
        """The seq at which the second unit came, 0 for not yet."""
        seen: set[str] = set()
        for entry in self.history:
            if isinstance(entry.event, e.UnitAdded):
                seen.add(entry.event.unit)
                if len(seen) == 2:
                    return entry.seq
        return 0

    # --- evidence ---------------------------------------------------------------------------

    def unit_of(self, entry: Entry) -> str | None:
        if not isinstance(entry.event, e.ChildReported):
            return entry.unit
        links = [
            (one.event.unit if one.event.unit is not None else one.unit)
            for one in self.history
            if one.seq < entry.seq
            and isinstance(one.event, e.ChildLinked)
            and one.event.child == entry.event.child
        ]
        return links[-1] if links else None

    def evidence(self, unit: str | None) -> list[Entry]:
        """All of the book's, or a unit's own since it was added."""
        found = [entry for entry in self.history if isinstance(entry.event, EVIDENCE)]
        if unit is None:
            return found
        return [one for one in found if self.unit_of(one) == unit and one.seq > self.added(unit)]


def last(evidence: Sequence[Entry], word: str) -> int:
    return max((entry.seq for entry in evidence if entry.event.type == word), default=0)


def open_findings(evidence: Sequence[Entry]) -> list[str]:
    """A reviewer's last review names it, and no later change or decision resolves it."""
    found: list[tuple[int, int, str]] = []
    for reviewer in {entry.event.reviewer for entry in evidence if isinstance(entry.event, e.Review)}:
        reviews = [
            entry
            for entry in evidence
            if isinstance(entry.event, e.Review) and entry.event.reviewer == reviewer
        ]
        for place, name in enumerate(_named(reviews[-1])):
            if not any(name in _resolves(entry) for entry in evidence if entry.seq > reviews[-1].seq):
                found.append((_open_since(evidence, reviews, name), place, name))
    return list(dict.fromkeys(name for _, _, name in sorted(found)))


def _named(entry: Entry) -> list[str]:
    assert isinstance(entry.event, e.Review)
    return [finding.id for finding in entry.event.findings if finding.severity != "nit"]


def _resolves(entry: Entry) -> tuple[str, ...]:
    return entry.event.resolves if isinstance(entry.event, e.Change | e.Decision) else ()


def _open_since(evidence: Sequence[Entry], reviews: Sequence[Entry], name: str) -> int:
    since = reviews[-1].seq
    for review in reversed(reviews):
        if name not in _named(review):
            break
        if any(name in _resolves(entry) for entry in evidence if review.seq < entry.seq < since):
            break
        since = review.seq
    return since


def checks(evidence: Sequence[Entry]) -> list[tuple[int, e.Check]]:
    since = last(evidence, "change")
    return [(x.seq, x.event) for x in evidence if isinstance(x.event, e.Check) and x.seq > since]


def failures_that_stand(evidence: Sequence[Entry]) -> list[str]:
    """The commands that failed and were not answered: by the same check, or the whole that it is part of."""
    ran = checks(evidence)
    found = []
    for seq, check in ran:
        if check.outcome == "fail":
            mine = identify(check.command, check.scope)
            later = [one for at, one in ran if at > seq and one.outcome != "unknown"]
            if not any(answers(identify(one.command, one.scope), mine) for one in later):
                found.append(check.command)
    return found


def is_vouched(evidence: Sequence[Entry]) -> bool:
    return any(
        check.outcome == "pass" and check.scope in ("tests", "build", "manual")
        for _, check in checks(evidence)
    )


def is_verified(evidence: Sequence[Entry]) -> bool:
    return is_vouched(evidence) and not failures_that_stand(evidence)


def verify_state(book: Book, unit: str | None = None) -> str:
    evidence = book.evidence(unit if book.second_unit() else None)
    if not any(isinstance(entry.event, e.Change | e.Check) for entry in evidence):
        return "none"
    if not checks(evidence):
        return "stale"
    if failures_that_stand(evidence):
        return "failing"
    return "passing" if is_verified(evidence) else "unknown"


# --- phases ---------------------------------------------------------------------------------


def applies(phase: Phase, book: Book, evidence: Sequence[Entry]) -> bool:
    """``reviewed`` asks nothing with tier none, ``no_open_finding`` only while one is open."""
    for need in phase.needs:
        if need.named == "reviewed" and book.tier() == "none":
            continue
        if need.named == "no_open_finding" and (book.tier() == "none" or not open_findings(evidence)):
            continue
        return True
    return False


def unmet(need: Need, book: Book, unit: str | None, evidence: Sequence[Entry]) -> list[str]:
    """The words of what this need misses."""
    if need.named == "verified":
        failed = failures_that_stand(evidence)[-20:]
        named = [f"`{' '.join(command.split())[:60]}` failed" for command in failed[-3:]]
        more = [f"+{len(failed) - 3} more failed"] if len(failed) > 3 else []
        return ([] if is_vouched(evidence) else [need.missing]) + named + more
    if need.named == "reviewed":
        enough = ("full",) if book.tier() == "full" else ("light", "full")
        done = any(
            isinstance(entry.event, e.Review) and entry.event.tier in enough
            and entry.seq > last(evidence, "change")
            for entry in evidence
        )  # fmt: skip
        return [] if done or book.tier() == "none" else [need.missing]
    if need.named == "no_open_finding":
        return open_findings(evidence) if book.tier() != "none" else []
    if need.named == "closable":
        return closable(book) if unit is None else ([] if book.is_ended(unit) else ["mark it done"])
    opening = book.opening()
    matching = [
        entry.seq
        for entry in evidence
        if entry.event.type == need.evidence
        and opening is not None
        and entry.seq > opening.seq
        and all(getattr(entry.event, field) in values for field, values in need.where)
    ]
    after = last(evidence, need.after) if need.after else 0
    return [] if any(seq > after for seq in matching) else [need.missing]


def walk(book: Book, unit: str | None) -> tuple[str, str, tuple[str, ...]]:
    """current, next and missing of the machine over a subject's own events."""
    kind, evidence = book.kind(), book.evidence(unit)
    if kind is None:
        return "open", "", ()
    current = "open"
    for phase in kind.phases:
        if applies(phase, book, evidence):
            missing = [word for need in phase.needs for word in unmet(need, book, unit, evidence)]
            if missing or phase is kind.phases[-1]:
                return current, phase.name, tuple(missing)
            current = phase.name
    raise AssertionError("the last phase applies always")


def position(book: Book, unit: str | None = None) -> Position:
    opening = book.opening()
    if book.kind() is None or opening is None:
        return Position("open", "", (), 0)
    second = book.second_unit()
    if second and unit is None:
        return Position("open", "close", tuple(closable(book)), max(second, opening.seq))
    unit = unit if second else None
    start = opening.seq if unit is None else max(opening.seq, book.added(unit))
    current, following, missing = walk(book, unit)
    since = book.history[-1].seq
    while since > start and walk(book.until(since - 1), unit)[1] == following:
        since -= 1
    return Position(current, following, missing, since)


# --- what close waits for -------------------------------------------------------------------


def closable(book: Book) -> list[str]:
    words = [f"unit {name}" for name in book.units() if not book.is_ended(name)]
    words += [f"child {name} is out" for name in out(book)]
    loose = len(loose_todos(book))
    if loose:
        words.append(f"{loose} todo{'s' * (loose > 1)} without a follow-up")
    return words


def loose_todos(book: Book) -> list[str]:
    """Opened, not ended since, and what was last said of its follow-up since is none or not valid."""
    opened = {
        entry.event.todo: (entry.seq, entry.event)
        for entry in book.history
        if isinstance(entry.event, e.TodoOpened)
    }
    in_order = sorted(opened.items(), key=lambda item: item[1][0])
    return [name for name, (seq, opening) in in_order if _is_loose(book, seq, opening)]


def _is_loose(book: Book, seq: int, opening: e.TodoOpened) -> bool:
    followup: object = opening.followup
    for entry in book.history:
        if entry.seq > seq and getattr(entry.event, "todo", None) == opening.todo:
            if isinstance(entry.event, e.TodoFollowupSet):
                followup = entry.event.followup
            elif isinstance(entry.event, e.TodoCompleted | e.TodoDropped):
                return False
    return not _valid(followup)


def _valid(followup: object) -> bool:
    if isinstance(followup, str):
        return bool(followup.strip()) and len(followup.strip()) <= 200
    return isinstance(followup, dict) and bool(str(followup.get("ref", "")).strip())


def out(book: Book) -> list[str]:
    """Dispatched more often than reported, and not gone past its grace when last looked at."""
    counts: dict[str, int] = {}
    for entry in book.history:
        match entry.event:
            case e.ChildLinked(child=child):
                counts[child] = counts.get(child, 0) + 1
            case e.ChildReported(child=child) if counts.get(child):
                counts[child] -= 1
            case e.ChildDropped(child=child) | e.ChildLost(child=child):
                counts[child] = 0
        counts = {child: count for child, count in counts.items() if count}
    return [child for child in counts if not _gone(book, child)]


def _gone(book: Book, child: str) -> bool:
    looks = [entry for entry in book.history if isinstance(entry.event, e.RunSettled)]
    link = [
        entry
        for entry in book.history
        if isinstance(entry.event, e.ChildLinked) and entry.event.child == child
    ][-1]
    if not looks or looks[-1].seq < link.seq:
        return False
    assert isinstance(looks[-1].event, e.RunSettled)
    assert isinstance(link.event, e.ChildLinked)
    seen = looks[-1].event.observed
    state = seen.children.get(child)
    if state is None or state.state != "gone":
        return False
    if state.last_write is None:
        return True
    grace = timedelta(seconds=30 + (link.event.accept.timeout_sec if link.event.accept else 0))
    return (seen.now or looks[-1].at) - state.last_write > grace
