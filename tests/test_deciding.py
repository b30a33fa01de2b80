"""The words of a status that the page on deciding explains are the code's, and mean what it says."""

from __future__ import annotations

from typing import get_args

import pytest

from loopbook import Books, Change, Check, Event, Loop, Review, Scripted
from loopbook.events import LoopClosed
from loopbook.judges import Failure
from loopbook.projections import verify_state
from loopbook.projections.verification import VerifyState
from tests.conftest import ROOT
from tests.flows import CONTENT

PAGE = (ROOT / "docs" / "deciding.md").read_text("utf-8")

CHANGE = Change(summary="one", paths=("a.py",))
PASS = Check(command="pytest", outcome="pass")
FAIL = Check(command="pytest", outcome="fail")
LINT = Check(command="ruff check", outcome="pass")
DONE = (CHANGE, PASS, Review(tier="light", reviewer="ada"))

#: Histories that come to each word.
VERIFY: dict[str, list[tuple[Event, ...]]] = {
    "none": [(), (Review(tier="light", reviewer="ada"),)],
    "stale": [(CHANGE,), (PASS, CHANGE), (CHANGE, FAIL, CHANGE)],
    "failing": [
        (CHANGE, FAIL),
        (CHANGE, PASS, FAIL),
        (FAIL, LINT),
        (CHANGE, PASS, Check(command="make", outcome="fail")),
    ],
    "passing": [
        (CHANGE, PASS),
        (CHANGE, FAIL, PASS),
        (PASS,),
        (CHANGE, Check(command="x", outcome="pass", scope="build")),
    ],
    "unknown": [(CHANGE, LINT), (CHANGE, Check(command="pytest | tail", outcome="unknown"))],
}


def words(heading: str) -> list[str]:
    """The words of the table under a heading."""
    table = PAGE.partition(f"| {heading} | |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    return [line.split("`")[1] for line in table]


def begun(*events: Event) -> Loop:
    loop = Books.open("memory:").start("change", "Add a retry")
    loop.record(*events)
    return loop


def test_every_word_of_verification_is_explained_and_no_other_is() -> None:
    assert words("verify") == [*get_args(VerifyState)] == [*VERIFY]


@pytest.mark.parametrize(
    ("word", "history"), [(word, events) for word, histories in VERIFY.items() for events in histories]
)
def test_a_history_comes_to_the_word_that_is_explained(word: str, history: tuple[Event, ...]) -> None:
    assert verify_state(begun(*history).state) == word


def test_every_outcome_is_explained_and_no_other_is() -> None:
    assert words("outcome") == [*get_args(LoopClosed.model_fields["outcome"].annotation)]


def test_a_judge_that_agrees_closes_as_met() -> None:
    loop = begun(*DONE)
    assert loop.close_blocking("done", judge=Scripted([CONTENT])).closed
    assert loop.state.life.outcome == "met"


def test_without_a_judge_a_close_of_which_nothing_is_missing_closes_unjudged_and_no_other_does() -> None:
    loop = begun(*DONE)
    assert loop.close_blocking("done").closed
    assert loop.state.life.outcome == "unjudged"
    loop = begun(CHANGE)
    assert loop.close_blocking("done").missing
    assert loop.state.life.outcome is None


def test_a_judge_that_fails_closes_nothing() -> None:
    loop = begun(*DONE)
    assert not loop.close_blocking("done", judge=Scripted([Failure("timeout")])).closed
    assert loop.state.life.outcome is None


def test_what_is_closed_anyway_is_closed_over_concerns() -> None:
    assert begun(CHANGE).close_anyway().state.life.outcome == "over_concerns"
