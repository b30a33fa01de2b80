"""Every kind, walked: over all short sequences of evidence, and kinds nobody has thought of yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook import events as e
from loopbook.kinds import Kind, Need
from loopbook.projections import BookState, fold, position
from loopbook.projections.findings import open_ids
from tests.conftest import PROVE
from tests.projections.books import book, change, check, entries, fails, kind_named, on, passes, review
from tests.projections.strategies import EVIDENCE, KINDS, TIERS, kinds

ALPHABET: tuple[e.Event, ...] = (
    change(),
    change(resolves=("f1",)),
    passes(),
    fails("pytest tests/a"),
    check("unknown"),
    review(),
    review("f1", tier="full"),
    e.Source(locator="rfc9110"),
    e.Decision(text="leave it", decided_by="user", resolves=("f1",)),
)
DEPTH = 5 if PROVE else 3


def _cure(state: BookState, kind: Kind) -> e.Event:
    """One event towards what the next phase misses."""
    place = next(n for n, phase in enumerate(kind.phases) if phase.name == position(state).next)
    words = position(state).missing
    need = next(
        need
        for need in kind.phases[place].needs
        if need.missing in words
        or (need.named == "no_open_finding" and state.work.findings)
        or (need.named == "verified" and state.work.checks.failing)
    )
    if need.named == "verified":
        failing = state.work.checks.failing
        return check("pass", failing[0].command, failing[0].scope) if failing else passes()
    if need.named == "reviewed":
        return review(*open_ids(state.work.findings), tier="full")
    if need.named == "no_open_finding":
        return e.Decision(text="leave it", decided_by="user", resolves=open_ids(state.work.findings))
    return _matching(need)


def _matching(need: Need) -> e.Event:
    least: dict[str, dict[str, object]] = {
        "change": {"summary": "x"},
        "check": {"command": "pytest", "outcome": "pass"},
        "review": {"tier": "light", "reviewer": "r1"},
        "decision": {"text": "x", "decided_by": "user"},
        "source": {"locator": "x"},
        "child_reported": {"child": "c", "ok": True},
    }
    assert need.evidence is not None
    wanted = {field: values[0] for field, values in need.where}
    return e.build_event({"type": need.evidence, **least[need.evidence], **wanted})


def _can_close(state: BookState, kind: Kind, patience: int) -> bool:
    for _ in range(patience):
        now = position(state)
        if now.next == "close" and not now.missing:
            return True
        state = on(state, _cure(state, kind))
    return False


def _walks(state: BookState, depth: int) -> Iterator[BookState]:
    yield state
    if depth:
        for event in ALPHABET:
            yield from _walks(on(state, event), depth - 1)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", KINDS)
def test_from_wherever_a_loop_got_it_can_still_be_closed(name: str, tier: e.Tier) -> None:
    kind = kind_named(name)
    names = [phase.name for phase in kind.phases]
    for state in _walks(book(kind=name, tier=tier), DEPTH - 1):
        assert position(state).next in names
        assert position(state).current in ("open", *names)
        assert _can_close(state, kind, patience=12), position(state)


@pytest.mark.parametrize("name", KINDS)
def test_every_phase_is_reached_and_none_is_jumped_by_a_lone_event_that_others_must_precede(
    name: str,
) -> None:
    """All phases but ``fix`` (which needs a finding) are next at some time on the plain way to close."""
    kind = kind_named(name)
    state, seen = book(kind=name), []
    while position(state).missing:
        seen.append(position(state).next)
        state = on(state, _cure(state, kind))
    assert seen == [phase.name for phase in kind.phases if phase.name not in ("fix", "close")]
    assert position(state).next == "close"


@pytest.mark.parametrize("name", KINDS)
def test_a_loop_takes_a_new_step_only_with_evidence_and_never_counts_back(name: str) -> None:
    for state in _walks(book(kind=name), DEPTH - 1):
        before = position(state)
        for event in ALPHABET:
            after = position(on(state, event))
            if after.next == before.next:
                assert after.since == before.since
            else:
                assert after.since == state.version + 1


# --- kinds that people will write -----------------------------------------------------------


@given(kinds(), st.sampled_from(TIERS), st.lists(st.sampled_from(EVIDENCE), max_size=10))
def test_a_kind_that_loads_can_be_closed_from_wherever_it_got(
    kind: Kind, tier: e.Tier, before: list[e.Event]
) -> None:
    start = e.LoopOpened(kind="own", intent="x", review_tier=tier, definition=kind.definition())
    state = fold(entries([start, *before]))
    assert _can_close(state, kind, patience=40), position(state)
