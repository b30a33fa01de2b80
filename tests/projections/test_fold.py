"""The fold: one state, however it is reached, and the one that the naive rules give."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.errors import Refused, UnknownUnit, VersionGap
from loopbook.projections import EMPTY, BookState, Folding, evolve, fold, position, take, verify_state
from loopbook.projections.admission import admit
from loopbook.projections.children import out
from loopbook.projections.todos import loose
from tests.projections import naive
from tests.projections.books import START, book, change, entries, opened, passes
from tests.projections.strategies import (
    ANYTHING,
    EVIDENCE,
    OTHERS,
    histories,
    odd_histories,
    openings_of_any_kind,
)

STATES = TypeAdapter(BookState)


def _agrees(history: Sequence[Entry]) -> None:
    state, plain = fold(history), naive.Book(history)
    assert list(loose(state)) == naive.loose_todos(plain)
    assert list(out(state)) == naive.out(plain)
    for unit in (None, *plain.units()):
        assert verify_state(state, unit) == naive.verify_state(plain, unit)
        if history:
            assert position(state, unit) == naive.position(plain, unit)


@given(histories())
def test_the_fold_says_what_the_naive_rules_say_of_the_whole_history(history: list[Entry]) -> None:
    _agrees(history)


@given(histories(openings_of_any_kind(), max_size=12))
def test_they_agree_also_on_kinds_that_nobody_has_thought_of(history: list[Entry]) -> None:
    _agrees(history)


@given(odd_histories())
def test_they_agree_also_on_books_that_nobody_would_have_admitted(history: list[Entry]) -> None:
    _agrees(history)


@given(odd_histories(), st.data())
def test_a_state_kept_as_json_at_any_point_is_gone_on_from_as_if_it_had_never_left(
    history: list[Entry], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(history)))
    kept = STATES.validate_json(STATES.dump_json(fold(history[:cut])))
    assert kept == fold(history[:cut])
    assert fold(history[cut:], kept) == fold(history)


def test_whatever_happened_a_state_holds_what_its_types_say() -> None:
    state = EMPTY
    for entry in entries([opened("fix"), *ANYTHING, *ANYTHING]):
        state = evolve(state, entry)
        assert STATES.validate_json(STATES.dump_json(state, warnings="error")) == state


@given(odd_histories())
def test_stepwise_is_whole_and_the_state_counts_its_entries(history: list[Entry]) -> None:
    state = EMPTY
    for seq, entry in enumerate(history, 1):
        before = pickle.dumps(state)
        after = evolve(state, entry)
        assert pickle.dumps(state) == before, "evolve changed the state it was given"
        state = after
        assert state.version == seq
    assert state == fold(history)


@given(odd_histories())
def test_a_state_taken_while_a_fold_goes_on_is_the_stepwise_one_and_does_not_move(
    history: list[Entry],
) -> None:
    now, stepwise = Folding(EMPTY), EMPTY
    taken: list[tuple[BookState, bytes]] = []
    for entry in history:
        take(now, entry)
        stepwise = evolve(stepwise, entry)
        assert now.state() == stepwise
        taken.append((now.state(), pickle.dumps(stepwise)))
    assert all(pickle.dumps(state) == before for state, before in taken)


@given(odd_histories())
def test_every_position_is_one_of_its_kind(history: list[Entry]) -> None:
    state = fold(history)
    for unit in (None, *state.units):
        now = position(state, unit)
        assert 0 <= now.since <= state.version
        assert now.next != now.current or not now.next
        assert bool(now.next) == bool(state.life.definition)


@given(histories())
def test_what_admission_takes_is_folded_and_what_it_refuses_is_refused_by_name(history: list[Entry]) -> None:
    taken: list[Entry] = []
    state = EMPTY
    for offered in history:
        entry = offered._replace(originator_version=state.version + 1)
        refusal = _refusal(state, entry)
        if refusal is None:
            state = evolve(state, entry)
            taken.append(entry)
        else:
            assert "; the book is unchanged; " in refusal
    _agrees(taken)


def _refusal(state: BookState, entry: Entry) -> str | None:
    try:
        admit(state, entry.event, entry.unit)
    except Refused as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("version", [-1, 0, 1, 2, 4, 99])
def test_an_entry_that_does_not_follow_is_refused_by_name(version: int) -> None:
    state = book(change())
    gap = Entry("loop:t", version, change(), START)
    with pytest.raises(VersionGap, match=f"loop:t: entry {version} came after version 2"):
        evolve(state, gap)


def test_an_event_nobody_knows_only_counts() -> None:
    state = book(change())
    after = fold(entries([e.Unknown(type="from_tomorrow")], state.version), state)
    assert after == state._replace(version=3)


def test_a_unit_that_is_not_there_has_no_position() -> None:
    with pytest.raises(UnknownUnit, match="no unit 'x'"):
        position(book(), "x")


# --- bounded ----------------------------------------------------------------------------------


def _flood(n: int) -> list[Entry]:
    """A long history in which nothing stays open: what opens something is followed by its end."""
    pool: list[e.Event] = [event for event in EVIDENCE if not isinstance(event, e.ChildReported)]
    pool += [event for event in OTHERS if not isinstance(event, e.ChildLinked | e.UnitAdded)]
    for serial in range(97):
        pool += [e.TodoOpened(todo=f"x{serial}", subject="x"), e.TodoCompleted(todo=f"x{serial}")]
        pool += [e.ChildLinked(child=f"y{serial}", unit="a"), e.ChildReported(child=f"y{serial}", ok=True)]
        pool += [e.UnitAdded(unit=f"u{serial}", subject="x"), passes(f"pytest {serial}"), change()]
        pool += [e.UnitDone(unit=f"u{serial}"), e.RunSettled(run=f"run{serial}")]
        pool += [e.Noticed(advisor="a", key=f"k{serial}", text="x", continues=True, trigger=serial)]
    return entries([opened("fix"), *islice(cycle(pool), n)])


def _size(n: int) -> int:
    return len(pickle.dumps(fold(_flood(n))))


def test_a_state_is_as_large_after_many_events_as_after_few() -> None:
    assert _size(12_000) < 2 * _size(1_300)


@pytest.mark.prove
def test_a_state_is_as_large_after_a_hundred_thousand_events_as_after_a_thousand() -> None:
    assert _size(100_000) < 2 * _size(1_300)
