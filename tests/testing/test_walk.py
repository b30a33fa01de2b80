"""Every kind is walked: each short history can be brought to its close, and whatever hinders it is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Decision, Say
from loopbook.errors import InvalidKind
from loopbook.kinds import Kind, Need, Phase, parse
from loopbook.kinds.reading import Reader
from loopbook.kinds_at_hand import load_kinds
from loopbook.projections import BookState, findings, phases, verification
from loopbook.projections.state import Work
from loopbook.testing import Offence, sameness, walk
from loopbook.testing.alphabet import CHANGE, CLEAN, COMMON, FAIL, OBJECTION, PASS, letters
from loopbook.testing.sameness import same_as
from loopbook.testing.scenario_file import parse_scenarios
from loopbook.testing.scenario_model import Scenario
from loopbook.testing.scenario_verbs import Append
from loopbook.testing.scenarios import run_scenario
from loopbook.testing.sheet import Sheet
from tests.conftest import PROVE
from tests.projections.strategies import OWN

KINDS: Mapping[str, Kind] = {**load_kinds(), **{kind.name: kind for kind in map(parse, OWN)}}


@pytest.mark.parametrize("name", KINDS)
def test_every_short_history_of_a_kind_can_be_closed_and_nobody_repeats_himself(name: str) -> None:
    walked = walk(KINDS[name], depth=3 if PROVE else 2 if name in ("fix", "asked") else 1)
    assert walked.offence is None, str(walked.offence)
    assert walked.states > 50


def steps(offence: Offence | None) -> Scenario:
    assert offence is not None
    (scenario,) = parse_scenarios(offence.scenario, "found.yaml")
    return scenario


def words(offence: Offence | None) -> list[str]:
    return [step.word for step in steps(offence).steps]


# --- what hinders is told, by a shortest way there --------------------------------------------------

RING = Kind(
    "ring",
    "Needs that follow each other",
    (
        Phase("read", (Need("source", after="decision", missing="not read since"),)),
        Phase("decide", (Need("decision", after="source", missing="not decided since"),)),
        Phase("close", (Need(named="closable"),)),
    ),
)


def test_a_kind_that_does_not_hold_together_is_not_walked() -> None:
    with pytest.raises(InvalidKind, match="follow itself"):
        walk(RING)


def test_needs_that_follow_each_other_are_a_dead_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such kinds are refused; where they were not, a walk would tell."""
    monkeypatch.setattr(Reader, "check_rings", lambda *_: None)
    phases.plan_of.cache_clear()
    offence = walk(
        RING, depth=2, alphabet=[CHANGE, e.Source(locator="x"), e.Decision(text="y", decided_by="user")]
    )
    phases.plan_of.cache_clear()
    found = offence.offence
    assert found is not None
    assert found.what.startswith("a dead end: what was missing has been done again and again")
    assert words(found) == []


def test_a_need_that_nothing_meets_starves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "VOUCHING", frozenset())
    found = walk(KINDS["chore"]).offence
    assert found is not None
    assert found.what.startswith("starved: what the loop at verify (no passing check (")
    assert found.what.endswith(") misses has been done, and it stands where it stood")
    assert words(found) == []


def test_an_objection_that_no_decision_answers_is_found_by_the_shortest_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(findings, "resolved", lambda findings, _: findings)
    found = walk(KINDS["change"]).offence
    assert found is not None
    assert found.what.startswith("starved: what the loop at fix (f1) misses")
    assert words(found) == ["evidence", "evidence"]
    assert Append(OBJECTION) in [step.verb for step in steps(found).steps]


class Parrot(SecondThought):
    """Says the same of every run, under another key."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        if packet is not None and packet.sort == "close":
            return super().decide(state, packet, answer)
        return Decision(Say("go on", f"k{state.version}", 0), judged=False)


def test_a_parrot_is_told() -> None:
    found = walk(KINDS["chore"], advisors=(Parrot(),)).offence
    assert found is not None
    assert found.what == "second-thought says twice, with no evidence between: 'go on'"
    assert words(found) in (["evidence", "settle", "settle"], ["todo", "settle", "settle"])


class Doubter(SecondThought):
    """Is never content with a close."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        if packet is not None and packet.sort == "close":
            return Decision(Say("not yet", "k", 0, concerns=("never",), sort="close"))
        return super().decide(state, packet, answer)


def test_a_close_that_is_never_met_is_a_dead_end() -> None:
    found = walk(KINDS["chore"], advisors=(Doubter(),)).offence
    assert found is not None
    assert "whatever is answered it is not closed: not yet" in found.what
    assert words(found) == []
    assert str(found).endswith(found.scenario)


def test_what_a_walk_finds_is_a_scenario_that_runs() -> None:
    scenario = steps(walk(KINDS["chore"], advisors=(Parrot(),)).offence)
    assert run_scenario(scenario).passed, "with the usual advisor nothing is wrong in it"


# --- letters, and states that are as good as one ------------------------------------------------------


def test_the_letters_of_a_kind_meet_its_needs_and_miss_them() -> None:
    kind = parse(
        """
        name = "own"
        [[phase]]
        name = "tried"
        needs = [{ evidence = "check", where = { command = "make e2e", scope = "manual" }, missing = "m" }]
        [[phase]]
        name = "asked"
        needs = [{ evidence = "decision", where = { decided_by = "user" }, missing = "n" }]
        [[phase]]
        name = "close"
        needs = [{ is = "closable" }]
        """
    )
    own: list[e.Event] = [*letters(kind)]
    assert {one.decided_by for one in own if isinstance(one, e.Decision)} == {"user", "agent"}
    assert e.Check(command="make e2e", outcome="pass", scope="manual") in own
    assert len(own) == len({repr(one) for one in own})
    assert all(one in own for one in COMMON)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((CHANGE, PASS), (CHANGE, FAIL, PASS), False),
        ((CHANGE,), (CHANGE, CHANGE), True),
        ((CHANGE, CHANGE), (CHANGE, CHANGE, CHANGE), True),
        ((CHANGE, PASS, CHANGE), (CHANGE, CHANGE), False),
        ((CLEAN, CHANGE), (CHANGE, CLEAN), False),
        ((OBJECTION,), (CHANGE, OBJECTION), False),
        ((e.Watch(text="a"), CHANGE), (CHANGE, e.Watch(text="b")), True),
        ((e.TodoOpened(todo="t", subject="x"), CHANGE), (CHANGE, e.TodoOpened(todo="t", subject="x")), False),
        ((e.RunSettled(run="r1"), CHANGE), (e.RunSettled(run="r2"), e.RunSettled(run="r3"), CHANGE), True),
    ],
)
def test_states_are_as_good_as_one_when_only_how_long_ago_differs(
    one: tuple[e.Event, ...], other: tuple[e.Event, ...], same: bool
) -> None:
    def after(events: tuple[e.Event, ...]) -> object:
        kind = KINDS["fix"]
        sheet = Sheet().add(e.LoopOpened(kind="fix", intent="x", definition=kind.definition()))
        for event in events:
            sheet = sheet.add(event)
        return same_as(sheet.state)

    assert (after(one) == after(other)) is same


def test_a_step_is_told_by_its_own_seq_alone() -> None:
    """Two steps are as good as one wherever they began, but not a step and the one it was told at."""
    state = BookState(work=Work(since=7))
    assert same_as(state) == same_as(BookState(work=Work(since=9)))


def test_what_a_state_is_compared_without_are_fields_of_it() -> None:
    for table in (sameness._SEQS, sameness._OVER):
        for cls, names in table.items():
            assert names <= set(getattr(cls, "_fields")), cls  # noqa: B009 - no attribute of ``type``
