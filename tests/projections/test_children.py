"""Children: second-thought.md §4, a claim a test."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from loopbook import events as e
from loopbook.projections import BookState
from loopbook.projections.children import linked_before, out, past_grace, standing
from loopbook.projections.friction import LOST
from loopbook.projections.state import LEFT
from loopbook.run import ChildState, Observed
from tests.projections.books import START, book, change, on

LINK, REPORT = e.ChildLinked(child="c1"), e.ChildReported(child="c1", ok=True)
NOW = START + timedelta(hours=1)


def _seen(state: BookState, said: str, ago: float | None = None, now: datetime | None = NOW) -> BookState:
    write = None if ago is None else NOW - timedelta(seconds=ago)
    child = ChildState.model_validate({"state": said, "last_write": write})
    return on(state, e.RunSettled(run="r1", observed=Observed(now=now, children={"c1": child})))


def test_a_child_is_out_from_its_link_to_its_report() -> None:
    assert out(book()) == ()
    assert out(book(LINK)) == ("c1",)
    assert out(book(LINK, REPORT)) == ()


def test_dispatched_again_it_is_out_again_until_as_many_reports_came() -> None:
    assert out(book(LINK, REPORT, LINK)) == ("c1",)
    assert out(book(LINK, LINK, REPORT)) == ("c1",)
    assert out(book(LINK, LINK, REPORT, REPORT)) == ()
    thrice = book(LINK, LINK, LINK, REPORT, REPORT)
    assert (out(thrice), out(on(thrice, REPORT))) == (("c1",), ())


def test_a_late_second_report_does_not_count_against_the_next_dispatch() -> None:
    assert out(book(LINK, REPORT, REPORT, LINK)) == ("c1",)
    assert out(book(REPORT, LINK)) == ("c1",)


@pytest.mark.parametrize("end", [e.ChildDropped(child="c1", why="too long"), e.ChildLost(child="c1")])
def test_dropped_or_lost_nothing_is_out_of_it_however_often_it_was_linked(end: e.Event) -> None:
    assert out(book(LINK, LINK, end)) == ()
    assert out(book(LINK, end, LINK)) == ("c1",)


@pytest.mark.parametrize(
    ("ago", "is_out"), [(0, True), (30, True), (30.001, False), (-500, True), (None, False)]
)
def test_a_gone_child_is_out_for_thirty_seconds_after_its_last_write(ago: float | None, is_out: bool) -> None:
    state = _seen(book(LINK), "gone", ago)
    assert bool(out(state)) is is_out
    assert standing(state.children.living["c1"]) == ("in_grace" if is_out else "gone")


@pytest.mark.parametrize(("ago", "is_out"), [(150, True), (150.001, False)])
def test_accept_adds_its_timeout_to_the_grace(ago: float, is_out: bool) -> None:
    link = e.ChildLinked(child="c1", accept=e.Accept(command="pytest", timeout_sec=120))
    assert bool(out(_seen(book(link), "gone", ago))) is is_out


def test_the_timeout_is_six_hundred_seconds_unless_said_and_may_be_endless() -> None:
    link = e.ChildLinked(child="c1", accept=e.Accept(command="pytest"))
    assert out(_seen(book(link), "gone", 630))
    assert not out(_seen(book(link), "gone", 631))
    endless = e.ChildLinked(child="c1", accept=e.Accept(command="pytest", timeout_sec=float("inf")))
    assert out(_seen(book(endless), "gone", 10_000_000))


@pytest.mark.parametrize("said", ["out", "unknown"])
def test_what_is_not_known_to_be_gone_is_out(said: str) -> None:
    assert out(_seen(book(LINK), said, 10_000)) == ("c1",)
    assert standing(_seen(book(LINK), said).children.living["c1"]) == "out"


def test_of_what_a_host_no_longer_speaks_nothing_is_known() -> None:
    for gone in (_seen(book(LINK), "gone"), _seen(book(LINK), "gone", 5)):
        silent = on(gone, e.RunSettled(run="r2"))
        child = silent.children.living["c1"]
        assert (child.state, child.past_grace) == ("unknown", False)
        assert (out(silent), standing(child)) == (("c1",), "out")


def test_an_observation_says_nothing_of_a_later_dispatch() -> None:
    assert out(on(_seen(book(LINK), "gone"), LINK)) == ("c1",)


def test_without_a_clock_of_the_hosts_the_entrys_time_counts() -> None:
    write = START + timedelta(seconds=3 - 31)
    gone = ChildState(state="gone", last_write=write)
    state = on(book(LINK), e.RunSettled(run="r1", observed=Observed(children={"c1": gone})))
    assert not out(state)


def test_a_time_without_a_zone_is_read_as_utc() -> None:
    naive = ChildState(state="gone", last_write=(NOW - timedelta(seconds=10)).replace(tzinfo=None))
    state = on(book(LINK), e.RunSettled(run="r1", observed=Observed(now=NOW, children={"c1": naive})))
    assert out(state) == ("c1",)


def test_two_times_of_different_zones_are_as_far_apart_as_they_are() -> None:
    there = timezone(timedelta(hours=2))
    for ago, is_out in ((30, True), (31, False)):
        gone = ChildState(state="gone", last_write=(NOW - timedelta(seconds=ago)).astimezone(there))
        state = on(book(LINK), e.RunSettled(run="r1", observed=Observed(now=NOW, children={"c1": gone})))
        assert bool(out(state)) is is_out


def test_a_child_is_kept_with_the_time_of_its_last_link() -> None:
    assert book(LINK, change(), LINK).children.living["c1"].at == START + timedelta(seconds=4)


def test_the_children_of_a_unit_are_told_from_the_loops() -> None:
    units = (e.UnitAdded(unit="a", subject="a"), e.UnitAdded(unit="b", subject="b"))
    state = book(*units, LINK, e.ChildLinked(child="c2", unit="b"))
    assert (out(state), out(state, "a"), out(state, "b")) == (("c1", "c2"), (), ("c2",))


def test_a_link_whose_envelope_alone_names_the_unit_is_the_units() -> None:
    assert out(book(e.UnitAdded(unit="a", subject="a"), (LINK, "a")), "a") == ("c1",)


def test_a_report_belongs_to_the_unit_of_its_link_also_when_it_comes_late() -> None:
    units = (e.UnitAdded(unit="a", subject="a"), e.UnitAdded(unit="b", subject="b"))
    state = book(*units, e.ChildLinked(child="c1", unit="b"), REPORT)
    for later in (state, on(state, REPORT)):
        assert later.units["b"].work.last["child_reported"] == later.version
        assert later.loop.evidence is None


def test_a_report_of_a_child_that_was_never_linked_is_the_loops() -> None:
    state = book(e.UnitAdded(unit="a", subject="a"), e.UnitAdded(unit="b", subject="b"), (REPORT, "a"))
    assert state.loop.evidence is not None
    assert state.units["a"].about.evidence is None


def test_a_lost_child_is_listed_with_friction_until_it_is_heard_of_again() -> None:
    state = book(LINK, e.ChildLost(child="c1"))
    assert state.children.lost == ("c1",)
    assert state.notes.friction == ((LOST, "c1"),)
    assert on(state, REPORT).children.lost == on(state, LINK).children.lost == ()


def test_the_lost_are_listed_in_the_order_they_were_last_found_so_each_once() -> None:
    lost = [e.ChildLost(child=name) for name in ("c1", "c2", "c1")]
    assert book(*lost).children.lost == ("c2", "c1")


@pytest.mark.parametrize(("end", "text"), [
    (e.ChildLost(child="c1"), LOST), (e.ChildReported(child="c1", ok=False, friction="slow"), "slow"),
])  # fmt: skip
def test_what_became_of_a_child_is_friction_of_its_unit(end: e.Event, text: str) -> None:
    units = (e.UnitAdded(unit="a", subject="a"), e.UnitAdded(unit="b", subject="b"))
    state = book(*units, e.ChildLinked(child="c1", unit="b"), end)
    assert state.units["b"].notes.friction == state.notes.friction == ((text, "c1"),)
    assert not state.units["a"].notes.friction


def test_friction_is_of_the_unit_it_names_and_else_of_its_childs() -> None:
    units = (e.UnitAdded(unit="a", subject="a"), e.UnitAdded(unit="b", subject="b"))
    state = book(*units, e.ChildLinked(child="c1", unit="b"))
    slow = e.Friction(text="slow network", child="c1")
    named, unnamed = on(state, (slow, "a")), on(state, slow)
    assert [len(unit.notes.friction) for unit in named.units.values()] == [1, 0]
    assert [len(unit.notes.friction) for unit in unnamed.units.values()] == [0, 1]


def test_whoever_came_back_is_known_to_have_been_linked_and_each_once() -> None:
    other = e.ChildLinked(child="c2")
    state = book(LINK, REPORT, other, e.ChildDropped(child="c2", why="x"), LINK, REPORT)
    assert state.children.over == ("c2", "c1")
    assert [linked_before(state, name) for name in ("c1", "c2", "c3")] == [True, True, False]
    assert linked_before(book(LINK), "c1"), "also while it is out"


def test_those_past_their_grace_are_told() -> None:
    state = _seen(book(LINK, e.ChildLinked(child="c2")), "gone")
    assert (past_grace(state), out(state)) == (("c1",), ("c2",))


def test_a_childs_friction_stands_under_its_name() -> None:
    state = book(LINK, e.ChildReported(child="c1", ok=False, friction="no compiler"))
    assert state.notes.friction == (("no compiler", "c1"),)


def test_of_the_children_that_left_only_the_newest_are_remembered() -> None:
    events = [
        event
        for n in range(LEFT + 9)
        for event in (e.ChildLinked(child=f"c{n}", unit="a"), e.ChildReported(child=f"c{n}", ok=True))
    ]
    state = book(e.UnitAdded(unit="a", subject="a"), *events)
    assert list(state.children.left) == [f"c{n}" for n in range(9, LEFT + 9)]
    assert not state.children.living
