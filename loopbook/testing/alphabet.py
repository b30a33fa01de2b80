"""The letters of a kind: the few events between which its phases can tell.

Theory. A phase moves by evidence alone, and its needs say which. So for each need an event that meets it
and, where it asks for more than a type, one of that type that does not; and beside them what the named
needs tell apart: checks that pass, fail and tell nothing, a check that cannot vouch for the work, reviews
with an objection and without, a decision that answers it. Ids are few on purpose, so that they meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loopbook.events import (
    Change,
    Check,
    ChildReported,
    Decision,
    Event,
    Finding,
    Review,
    Source,
    build_event,
)
from loopbook.kinds import Kind, Need

CHANGE = Change(summary="a change", paths=("a.py",))
PASS = Check(command="pytest", outcome="pass")
FAIL = Check(command="pytest", outcome="fail")
#: An objection with this id is what the letters open and answer.
FINDING = "f1"
OBJECTION = Review(
    tier="light", reviewer="r1", findings=(Finding(id=FINDING, severity="concern", text="unbounded"),)
)
CLEAN = Review(tier="full", reviewer="r1")
ANSWER = Decision(text="leave it", decided_by="user", resolves=(FINDING,))

#: What the named needs tell apart.
COMMON: tuple[Event, ...] = (
    CHANGE,
    Change(summary="bounded now", paths=("a.py",), resolves=(FINDING,)),
    PASS,
    FAIL,
    Check(command="pytest", outcome="unknown"),
    Check(command="ruff check", outcome="pass", scope="lint"),
    OBJECTION,
    CLEAN,
    ANSWER,
    Source(locator="rfc9110", summary="when to retry"),
)

#: Two events of each type; what a need asks for is put into the first.
_OF_TYPE: Mapping[str, tuple[Event, Event]] = {
    "change": (CHANGE, COMMON[1]),
    "check": (PASS, FAIL),
    "review": (CLEAN, OBJECTION),
    "decision": (Decision(text="yes", decided_by="user"), Decision(text="so be it", decided_by="agent")),
    "source": (COMMON[-1], Source(locator="notes.md", summary="")),
    "child_reported": (ChildReported(child="c9", ok=True), ChildReported(child="c9", ok=False)),
}


def letters(kind: Kind) -> tuple[Event, ...]:
    """The evidence that a kind is walked with, each letter once.

    >>> from loopbook.kinds_at_hand import load_kinds
    >>> len(letters(load_kinds()["chore"])), len(letters(load_kinds()["fix"]))
    (10, 10)
    """
    own = (event for phase in kind.phases for need in phase.needs for event in _of(need))
    kept: list[Event] = []
    for event in (*COMMON, *own):
        if event not in kept:
            kept.append(event)
    return tuple(kept)


def meeting(need: Need) -> Event:
    """An event that meets a need for a match."""
    plain = _OF_TYPE[need.evidence or ""][0].model_dump(exclude_unset=True)
    return build_event({**plain, "type": need.evidence, **{name: values[0] for name, values in need.where}})


def _of(need: Need) -> Iterator[Event]:
    """An event that meets a need, and one of its type that does not, where a need asks for more than that."""
    if need.evidence is not None:
        yield meeting(need)
        yield from (event for event in _OF_TYPE[need.evidence] if not _matches(need, event))


def _matches(need: Need, event: Event) -> bool:
    return all(getattr(event, name) in values for name, values in need.where)
