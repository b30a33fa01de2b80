"""Phases: second-thought.md §2, a claim a test."""

from __future__ import annotations

import pytest

from loopbook import events as e
from loopbook.kinds import parse
from loopbook.projections import BookState, Position, fold, position
from loopbook.projections.phases import plan_of
from tests.projections.books import book, change, check, entries, fails, on, opened, passes, review, session


def _where(state: BookState, unit: str | None = None) -> tuple[str, str]:
    now = position(state, unit)
    return now.current, now.next


def test_a_fresh_loop_is_open_and_its_first_phase_is_next_since_it_was_opened() -> None:
    assert position(book()) == Position("open", "change", ("nothing changed yet",), 1)


def test_a_loop_walks_its_phases_in_order() -> None:
    state = book(change())
    assert _where(state) == ("change", "verify")
    state = on(state, passes())
    assert _where(state) == ("verify", "review")
    state = on(state, review("f1"))
    assert _where(state) == ("review", "fix")
    state = on(state, e.Decision(text="leave it", decided_by="user", resolves=("f1",)))
    assert position(state) == Position("review", "close", (), 5)


def test_a_later_change_opens_verify_and_review_again() -> None:
    state = book(change(), passes(), review(), change())
    assert position(state) == Position(
        "change", "verify", ("no passing check (tests, build, manual) since the last change",), 5
    )
    assert _where(on(state, passes())) == ("verify", "review")


def test_a_phase_that_was_met_and_opened_again_is_a_new_step() -> None:
    state = book(change())
    assert position(state).since == 2
    assert position(on(state, change(), fails())).since == 2, "it was never met in between"
    assert position(on(state, passes(), change())).since == 4


def test_only_the_missing_words_may_change_within_a_step() -> None:
    state = book(change(), passes(), review(), e.TodoOpened(todo="t1", subject="x"))
    assert position(state) == Position("review", "close", ("1 todo without a follow-up",), 4)
    more = on(state, e.TodoOpened(todo="t2", subject="y"))
    assert position(more) == Position("review", "close", ("2 todos without a follow-up",), 4)


def test_fix_says_the_ids_of_what_is_open() -> None:
    state = book(change(), passes(), review("f2", "f1"))
    assert position(state).missing == ("f2", "f1")


def test_with_tier_none_review_and_fix_are_not_there() -> None:
    state = book(change(), passes(), tier="none")
    assert _where(state) == ("verify", "close")
    assert position(on(state, review("f1"))) == Position("verify", "close", (), 3)


@pytest.mark.parametrize(("asked", "done", "enough"), [
    ("light", "light", True), ("light", "full", True), ("full", "light", False), ("full", "full", True),
])  # fmt: skip
def test_a_review_of_at_least_the_asked_tier_is_needed(asked: e.Tier, done: str, enough: bool) -> None:
    state = book(change(), passes(), review(tier=done), tier=asked)
    assert (position(state).next == "close") is enough


def test_a_fix_begins_with_a_failing_check_of_tests_or_by_hand() -> None:
    for first in (passes(), fails("ruff check", "lint"), fails("make", "build"), check("unknown")):
        assert position(book(first, kind="fix")).next == "reproduce"
    for first in (fails(), fails("read it", "manual")):
        assert position(book(first, kind="fix")).next == "change"


def test_a_defect_once_reproduced_stays_reproduced() -> None:
    state = book(fails(), change(), passes(), kind="fix")
    assert _where(state) == ("verify", "review")
    assert _where(on(state, change())) == ("change", "verify")


def test_per_need_that_evidence_meets_the_last_that_did_is_known() -> None:
    state = book(kind="fix")
    assert state.work.matches == (0, 0)
    assert on(state, fails(), change(), passes(), fails()).work.matches == (5, 3)


def test_a_kind_of_ones_own_may_ask_for_something_after_something() -> None:
    kind = parse(
        'name = "own"\n[[phase]]\nname = "ask"\n'
        'needs = [{ evidence = "decision", where = { decided_by = "user" }, after = "source", '
        'missing = "no yes" }]\n'
        '[[phase]]\nname = "close"\nneeds = [{ is = "closable" }]'
    )
    state = fold(entries([e.LoopOpened(kind="own", intent="x", definition=kind.definition())]))
    by_user = e.Decision(text="yes", decided_by="user")
    assert position(on(state, by_user)).next == "close", "any match counts while there was no source"
    state = on(state, by_user, e.Source(locator="x"))
    assert position(state) == Position("open", "ask", ("no yes",), 3)
    assert position(on(state, e.Decision(text="yes", decided_by="agent"))).next == "ask"
    assert position(on(state, by_user)).next == "close"


def _opening(phases: str, tier: e.Tier) -> e.LoopOpened:
    kind = parse(
        f'name = "own"\n{phases}\n[[phase]]\nname = "close"\nneeds = [{{ is = "closable" }}]', "own.toml"
    )
    return e.LoopOpened(kind="own", intent="x", review_tier=tier, definition=kind.definition())


def _own(phases: str, *then: e.Event, tier: e.Tier = "light") -> BookState:
    return fold(entries([_opening(phases, tier), *then]))


def test_a_phase_is_there_when_any_of_its_needs_asks_for_something() -> None:
    phases = """
    [[phase]]
    name = "mend"
    needs = [{ is = "no_open_finding" }, { evidence = "change", missing = "nothing changed" }]
    """
    assert _where(_own(phases, change())) == ("mend", "close")


REVIEW_FIRST = """
[[phase]]
name = "review"
needs = [{ is = "reviewed", missing = "not reviewed" }]
[[phase]]
name = "change"
needs = [{ evidence = "change", missing = "nothing changed" }]
"""


@pytest.mark.parametrize(("tier", "first"), [("none", "change"), ("light", "review"), ("full", "review")])
def test_a_loop_and_its_units_begin_and_go_on_as_their_tier_of_review_lets_them(
    tier: e.Tier, first: str
) -> None:
    alone, units = _own(REVIEW_FIRST, tier=tier), [e.UnitAdded(unit=name, subject=name) for name in "ab"]
    assert _where(alone) == ("open", first)
    state = on(alone, *units)
    assert _where(state, "a") == _where(state, "b") == ("open", first)
    after = on(state, (change(), "a"))
    assert _where(after, "a") == (("change", "close") if tier == "none" else ("open", "review"))
    assert _where(after, "b") == ("open", first)


@pytest.mark.parametrize(("tier", "first"), [("none", "change"), ("light", "review")])
def test_units_that_were_there_before_the_loop_begin_with_it(tier: e.Tier, first: str) -> None:
    """No command of ours adds one there; a book from elsewhere may hold it."""
    units = [e.UnitAdded(unit=name, subject=name) for name in "ab"]
    state = fold(entries([*units, _opening(REVIEW_FIRST, tier)]))
    for name in "ab":
        assert _where(state, name) == ("open", first)
        assert position(state, name).since == 3


@pytest.mark.parametrize("definition", [None, {}, {"name": "x", "phase": "none"}, {"name": "from tomorrow"}])
def test_a_loop_whose_kind_is_not_in_the_book_has_no_phases(definition: dict[str, str] | None) -> None:
    state = fold(
        entries([e.LoopOpened(kind="change", intent="x", definition=definition), change(), passes()])
    )
    assert position(state) == Position("open", "", (), 0)
    assert state.life.definition == ""


def test_a_loop_whose_kind_is_no_json_has_no_phases() -> None:
    """No event is read or built with one; one made past all checks still folds."""
    opening = opened().model_copy(update={"definition": {"name": b"bytes"}})
    state = fold(entries([opening, change()]))
    assert (position(state).next, state.life.definition) == ("", "")


def test_a_book_without_a_loop_has_no_phases_and_still_folds_its_evidence() -> None:
    state = session(e.Prompted(prompt="p1", text="hi"), change(), fails())
    assert position(state) == Position("open", "", (), 0)
    assert state.work.last["change"] == 2


def test_a_plan_is_made_once_per_text() -> None:
    text = book().life.definition
    assert plan_of(text) is plan_of(text.encode().decode())


# --- units ----------------------------------------------------------------------------------


def _two(*then: e.Event | tuple[e.Event, str], kind: str = "change") -> BookState:
    return book(
        e.UnitAdded(unit="a", subject="module a"), e.UnitAdded(unit="b", subject="module b"), *then, kind=kind
    )


def test_below_two_units_every_event_belongs_to_the_loop() -> None:
    state = book(e.UnitAdded(unit="a", subject="module a"), (change(), "a"))
    assert _where(state) == _where(state, "a") == ("change", "verify")


def test_with_two_units_each_has_a_machine_over_its_own_events() -> None:
    state = _two((change(), "a"), (passes(), "b"))
    assert _where(state, "a") == ("change", "verify")
    assert _where(state, "b") == ("open", "change")
    assert position(state, "b").since == 3


def test_what_a_unit_did_before_the_second_came_is_its_own() -> None:
    state = book(e.UnitAdded(unit="a", subject="a"), (change(), "a"), e.UnitAdded(unit="b", subject="b"))
    assert position(state, "a").next == "verify"
    assert position(state, "b").next == "change"


def test_with_two_units_the_loop_has_only_its_close() -> None:
    state = _two(change(), e.TodoOpened(todo="t1", subject="x"), e.ChildLinked(child="c1", unit="b"))
    missing = ("unit a", "unit b", "child c1 is out", "1 todo without a follow-up")
    assert position(state) == Position("open", "close", missing, 3)


def test_a_unit_at_its_close_is_to_be_marked_done() -> None:
    state = _two((change(), "a"), (passes(), "a"), kind="chore")
    assert position(state, "a") == Position("verify", "close", ("mark it done",), 5)
    assert position(on(state, e.UnitDone(unit="a")), "a").missing == ()


def test_close_waits_for_units_that_are_neither_done_nor_dropped() -> None:
    state = on(_two(), e.UnitDone(unit="a"))
    assert position(state).missing == ("unit b",)
    assert position(on(state, e.UnitDropped(unit="b", why="later"))).missing == ()


def test_a_finding_of_one_unit_is_not_resolved_by_a_change_of_another() -> None:
    state = _two((change(), "a"), (passes(), "a"), (review("f1"), "a"), (change(resolves=("f1",)), "b"))
    assert position(state, "a").next == "fix"


def test_a_close_may_need_more_than_that_nothing_is_open() -> None:
    kind = parse(
        'name = "own"\n[[phase]]\nname = "do"\n'
        'needs = [{ evidence = "change", missing = "nothing changed" }]\n'
        '[[phase]]\nname = "close"\n'
        'needs = [{ evidence = "source", missing = "no source" }, { is = "closable" }]'
    )
    opened_ = e.LoopOpened(kind="own", intent="x", definition=kind.definition())
    state = fold(entries([opened_, change(), e.TodoOpened(todo="t", subject="x")]))
    assert position(state).missing == ("no source", "1 todo without a follow-up")
