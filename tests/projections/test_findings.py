"""Findings: when a blocker or concern is open."""

from __future__ import annotations

from loopbook import events as e
from loopbook.projections import BookState
from loopbook.projections.findings import open_ids
from tests.projections.books import book, change, on, review


def _open(state: BookState) -> tuple[str, ...]:
    return open_ids(state.work.findings)


def test_blockers_and_concerns_are_open_and_nits_never() -> None:
    concern = e.Finding(id="f2", severity="concern", text="no bound")
    both = e.Review(tier="light", reviewer="r1", findings=(*review("f1", nits=("n1",)).findings, concern))
    assert _open(book(both)) == ("f1", "f2")


def test_a_later_change_or_decision_resolves_by_id() -> None:
    state = book(review("f1", "f2"))
    assert _open(on(state, change(resolves=("f1",)))) == ("f2",)
    assert _open(on(state, e.Decision(text="no", decided_by="user", resolves=("f2", "f1")))) == ()
    assert _open(on(state, change(resolves=("f9",)))) == ("f1", "f2")


def test_an_earlier_change_resolves_nothing() -> None:
    assert _open(book(change(resolves=("f1",)), review("f1"))) == ("f1",)


def test_a_later_review_by_the_same_reviewer_that_no_longer_names_it_closes_it() -> None:
    state = book(review("f1", "f2"))
    assert _open(on(state, review("f2"))) == ("f2",)
    assert _open(on(state, review(nits=("f1", "f2")))) == ()
    assert _open(on(state, review(by="r2"))) == ("f1", "f2"), "another reviewer says nothing of it"


def test_what_is_named_again_is_open_since_it_was_first_named() -> None:
    state = book(review("f1"), review("f2", "f1"))
    assert [(one.id, one.seq) for one in state.work.findings] == [("f1", 2), ("f2", 3)]


def test_two_reviewers_of_one_id_have_two_findings_that_one_change_resolves() -> None:
    state = book(review("f1"), review("f1", by="r2"))
    assert _open(state) == ("f1",)
    assert _open(on(state, review())) == ("f1",), "the other still names it"
    assert _open(on(state, change(resolves=("f1",)))) == ()


def test_the_last_full_and_the_last_clean_review_are_known() -> None:
    state = book(review(tier="full"), review("f1"), review(nits=("n1",)))
    assert (state.work.full, state.work.clean, state.work.last["review"]) == (2, 4, 4)
