"""Units: order, ends, and what the first takes over."""

from __future__ import annotations

from loopbook import events as e
from loopbook.projections import position
from loopbook.projections.state import ENDED_UNITS, Heard, LastEvidence
from loopbook.projections.units import going_on
from tests.projections.books import book, change, on

A, B = e.UnitAdded(unit="a", subject="module a"), e.UnitAdded(unit="b", subject="module b")
JUDGED = e.Judged(advisor="second_thought", run="r1", read_to=3)
NOTICED = e.Noticed(advisor="second_thought", run="r1", key="k1", text="next: verify", trigger=3)


def test_units_go_on_in_the_order_added_until_done_or_dropped() -> None:
    state = book(B, A, e.UnitStarted(unit="a"))
    assert going_on(state) == ("b", "a")
    assert (state.units["a"].started, state.units["b"].started) == (4, 0)
    assert going_on(on(state, e.UnitDone(unit="b"))) == ("a",)
    dropped = on(state, e.UnitDropped(unit="a", why="later"))
    assert (going_on(dropped), dropped.units["a"].dropped) == (("b",), True)


def test_the_first_start_and_the_first_end_stand() -> None:
    state = book(A, e.UnitStarted(unit="a"), e.UnitStarted(unit="a"), e.UnitDone(unit="a"))
    state = on(state, e.UnitDropped(unit="a", why="late"))
    unit = state.units["a"]
    assert (unit.started, unit.ended, unit.dropped) == (3, 5, False)


def test_the_first_unit_takes_over_what_was_judged_and_said_of_the_loop() -> None:
    alone = book(A, (change(), "a"), JUDGED, NOTICED)
    assert not alone.units["a"].about.heard
    state = on(alone, B)
    assert state.units["a"].about.heard == alone.loop.heard != {}
    assert not state.units["b"].about.heard


def test_a_third_unit_takes_nothing() -> None:
    state = book(A, B, JUDGED, e.UnitAdded(unit="c", subject="module c"))
    assert state.loop.heard
    assert not state.units["a"].about.heard


def test_a_unit_added_twice_starts_afresh_and_counts_once() -> None:
    """No book of ours takes such an event; one from elsewhere may hold it."""
    state = book(A, B, JUDGED, (change(), "a"))
    again = on(state, A)
    assert again.units_added == 2
    assert position(again).since == position(state).since == 3
    assert (position(state, "a").next, position(again, "a").next) == ("verify", "change")
    assert not again.units["b"].about.heard
    assert not again.units["a"].about.heard
    assert on(book(A), A).units_added == 1
    assert (going_on(state), going_on(again)) == (("a", "b"), ("b", "a"))


def test_with_two_units_a_subject_hears_only_what_is_of_it() -> None:
    state = book(A, B, (change(), "a"), (JUDGED, "a"), (NOTICED, "a"))
    heard = state.units["a"].about.heard["second_thought"]
    assert (heard.judged, heard.read_to, heard.asked) == (5, 3, 3)
    assert heard.away is not None
    assert heard.away.seq == 6
    assert not state.loop.heard
    assert not state.units["b"].about.heard


def test_a_unit_that_was_named_has_been_asked_and_nothing_was_said_of_it() -> None:
    named = e.Noticed(advisor="second_thought", key="k1", text="next: a verify", units=("a", "b", "nowhere"))
    state = book(A, B, (named, "a"))
    assert state.units["b"].about.heard == {"second_thought": Heard(asked=4)}
    judged = on(state, (e.Judged(advisor="second_thought", read_to=2), "b")).units["b"].about.heard
    assert judged["second_thought"].asked == 4, "a judgment that had read less takes nothing back"


def test_to_be_named_takes_nothing_from_what_was_judged_and_said() -> None:
    named = e.Noticed(advisor="second_thought", key="k2", text="next: a verify", units=("b",))
    before = book(A, B, (JUDGED, "b"), (NOTICED, "b"))
    heard = before.units["b"].about.heard["second_thought"]
    after = on(before, (named, "a")).units["b"].about.heard["second_thought"]
    assert after == heard._replace(asked=6)


def test_below_two_units_a_units_evidence_is_the_loops_too() -> None:
    state = book(A, (change("of a"), "a"))
    assert state.loop.evidence == state.units["a"].about.evidence == LastEvidence("change", 3, "of a", "a")


def test_evidence_takes_nothing_from_what_was_judged_and_said() -> None:
    state = book(A, B, JUDGED, (JUDGED, "b"))
    after = on(state, change(), (change(), "b"))
    assert after.loop.heard == state.loop.heard != {}
    assert after.units["b"].about.heard == state.units["b"].about.heard != {}


def test_a_units_evidence_is_its_own_and_the_loops_is_what_names_none() -> None:
    state = book(A, B, (change("of a"), "a"), change("of all"))
    of_unit, of_loop = state.units["a"].about.evidence, state.loop.evidence
    assert of_unit is not None
    assert of_loop is not None
    assert (of_unit.word, of_unit.unit, of_loop.word, of_loop.unit) == ("of a", "a", "of all", None)
    assert state.units["b"].about.evidence is None


def test_evidence_that_names_a_unit_nobody_added_is_the_loops() -> None:
    state = book(A, B, (change("of x"), "x"))
    assert state.loop.evidence is not None
    assert state.loop.evidence.word == "of x"


def test_ended_units_are_kept_the_newest_fifty() -> None:
    many = [
        event
        for n in range(ENDED_UNITS + 3)
        for event in (e.UnitAdded(unit=f"u{n}", subject="x"), e.UnitDone(unit=f"u{n}"))
    ]
    state = book(e.UnitAdded(unit="on", subject="x"), *many)
    assert len(state.units) == ENDED_UNITS + 1
    assert list(state.units)[:2] == ["on", "u3"]
    assert state.units_added == ENDED_UNITS + 4
