"""Runs, notices, notes and the life of a loop: what later decisions compare."""

from __future__ import annotations

from typing import Literal

import pytest

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.projections import BookState, evolve, fold
from loopbook.projections.state import CONTINUED, SETTLED_RUNS, UNDELIVERED, Notice, Prompt, Settled, Stance
from loopbook.run import Line, Observed
from tests.projections.books import START, book, change, entries, fails, on, review

HUMAN = e.Prompted(prompt="p1", text="add a retry")
ADVISOR = "second_thought"


def _notice(key: str = "k1", *, trigger: int = 2, sort: str = "away", advisor: str = ADVISOR) -> e.Noticed:
    fields = {"advisor": advisor, "run": "r1", "key": key, "text": "x", "sort": sort, "trigger": trigger}
    return e.Noticed.model_validate({**fields, "continues": sort == "away"})


def _passed(reason: str, run: str = "r1") -> e.PassedOver:
    return e.PassedOver(advisor=ADVISOR, run=run, reason=reason)


def _gated(state: BookState) -> dict[str, tuple[str, ...]]:
    gates = {one.run: one.gated for one in state.runs.settled}
    assert len(gates) == len(state.runs.settled), "a run is kept once"
    return gates


# --- prompts and runs -----------------------------------------------------------------------


def test_a_prompt_opens_a_run_and_settling_ends_it() -> None:
    state = book(HUMAN)
    assert (state.runs.open, state.runs.tasks) == (2, 1)
    assert on(state, e.RunSettled(run="r1")).runs.open == 0


def test_only_a_human_prompt_opens_a_task() -> None:
    state = book(HUMAN, e.Prompted(prompt="p2", text="next: verify", origin="advisor"))
    assert state.runs.tasks == 1
    assert state.runs.prompt is not None
    assert state.runs.human is not None
    assert (state.runs.prompt.prompt, state.runs.human.prompt) == ("p2", "p1")
    assert state.runs.open == 3, "a run it opens all the same"
    assert book(HUMAN).runs.prompt == state.runs.human == Prompt("p1", "add a retry", "human", 2)


def test_a_settled_run_is_kept_with_where_it_stands_and_its_session() -> None:
    assert book(e.RunSettled(run="r1")).runs.settled == (Settled("r1", 2, "s1"),)


def test_a_human_prompt_refills_the_budget_that_all_advisors_share() -> None:
    state = book(HUMAN, _notice("k1"), _notice("k2", advisor="follow_through"), _notice("k3", sort="close"))
    assert state.runs.continuations == 2
    state = on(state, _passed("bound"), _passed("bound"))
    assert state.runs.bound == 6
    assert on(state, e.Prompted(prompt="p2", text="x", origin="host")).runs.continuations == 2
    after = on(state, e.Prompted(prompt="p3", text="go on"))
    assert (after.runs.continuations, after.runs.bound) == (0, 0)
    assert len(after.runs.continued) == 2, "a pair is never continued twice, whoever prompts"


def test_pairs_of_key_and_trigger_that_were_continued_are_known_the_newest_first_to_stay() -> None:
    state = book(_notice("k1", trigger=2), _notice("k1", trigger=2), _notice("k1", trigger=5))
    assert state.runs.continued == (("k1", 2), ("k1", 5))
    state = on(state, *(_notice(f"x{n}") for n in range(CONTINUED)))
    assert len(state.runs.continued) == CONTINUED
    assert state.runs.continued[-1] == (f"x{CONTINUED - 1}", 2)


def test_a_notice_is_undelivered_until_a_host_says_it_was() -> None:
    state = book(_notice("k1"), _notice("k2"), _notice("k3"))
    assert state.runs.undelivered == (2, 3, 4)
    assert on(state, e.Delivered(notice=3)).runs.undelivered == (2, 4)
    many = on(state, *(_notice(f"x{n}") for n in range(UNDELIVERED)))
    assert many.runs.undelivered == tuple(range(5, 5 + UNDELIVERED)), "the newest"


def test_the_last_settled_run_is_kept_within_bounds() -> None:
    lines = tuple(Line(role="user", text=f"{n:02}" + "x" * 10_000) for n in range(30))
    settled = e.RunSettled(run="r1", stop="length", final_text="a" * 9_000 + "z", lines=lines, calls_total=7)
    last = book(settled).runs.last
    assert last is not None
    assert (last.run, last.stop, last.calls_total, last.interactive) == ("r1", "length", 7, True)
    assert (len(last.final_text), last.final_text[-1]) == (8_000, "z")
    assert [text[:2] for _, text in last.lines] == ["27", "28", "29"]
    assert sum(len(text) for _, text in last.lines) == 24_000


def test_of_a_run_of_few_words_all_are_kept_and_when_it_came_to_rest() -> None:
    lines = (Line(role="user", text="go on"), Line(role="assistant", text="done"))
    settled = e.RunSettled(run="r1", final_text="All pass.", lines=lines, observed=Observed(now=START))
    last = book(settled).runs.last
    assert last is not None
    assert (last.final_text, last.now) == ("All pass.", START)
    assert last.lines == (("user", "go on"), ("assistant", "done"))


def test_of_many_lines_the_newest_twenty_are_kept() -> None:
    lines = tuple(Line(role="user", text=str(n)) for n in range(25))
    last = book(e.RunSettled(run="r1", lines=lines)).runs.last
    assert last is not None
    assert [text for _, text in last.lines] == [str(n) for n in range(5, 25)]


def test_of_settled_runs_the_newest_are_kept_and_one_that_settles_twice_is_one() -> None:
    state = book(*(e.RunSettled(run=f"r{n}") for n in range(SETTLED_RUNS + 2)), e.RunSettled(run="r5"))
    assert len(state.runs.settled) == SETTLED_RUNS
    assert state.runs.settled[-1].run == "r5"


def test_a_run_that_an_advisor_looked_at_is_known_also_when_it_settles_twice() -> None:
    run = e.RunSettled(run="r1")
    for looked in (e.Judged(advisor=ADVISOR, run="r1", read_to=1), _passed("nothing-new"), _notice()):
        assert _gated(book(run, looked)) == {"r1": (ADVISOR,)}
        assert _gated(book(run, looked, looked, run)) == {"r1": (ADVISOR,)}


def test_each_run_has_its_own_gates() -> None:
    state = book(*(e.RunSettled(run=name) for name in ("r1", "r2", "r3")))
    for name in ("r1", "r2", "r3"):
        gates = _gated(on(state, _passed("nothing-new", name)))
        assert gates == {**_gated(state), name: (ADVISOR,)}
        assert list(gates) == ["r1", "r2", "r3"]


def test_a_failed_or_stale_answer_leaves_the_run_to_be_asked_about_again() -> None:
    for reason in ("judge-failed", "stale"):
        assert _gated(book(e.RunSettled(run="r1"), _passed(reason))) == {"r1": ()}


# --- judgments and notices ------------------------------------------------------------------


def test_the_last_judgment_and_the_last_notice_of_each_sort_are_kept_per_advisor() -> None:
    judged = e.Judged(advisor=ADVISOR, run="r1", read_to=2)
    state = book(
        change(), judged, _notice("k1"), _notice("k2", sort="close"), _notice("k3"), _notice(advisor="x")
    )
    heard = state.loop.heard[ADVISOR]
    assert (heard.judged, heard.read_to, heard.asked) == (3, 2, 2)
    assert heard.away == Notice(6, "k3", 2, None, True)
    assert heard.close == Notice(5, "k2", 2, None, False)
    assert state.loop.heard["x"].judged == 0


def test_a_notice_is_kept_with_the_judgment_it_came_from() -> None:
    came_from = e.Noticed(advisor=ADVISOR, run="r1", key="k1", text="x", trigger=2, judged=3)
    away = book(change(), e.Judged(advisor=ADVISOR, read_to=2), came_from).loop.heard[ADVISOR].away
    assert away == Notice(4, "k1", 2, 3, False)


def test_below_two_units_what_names_the_unit_is_said_of_the_loop() -> None:
    state = book(
        e.UnitAdded(unit="a", subject="a"), (e.Judged(advisor=ADVISOR, read_to=2), "a"), (_notice(), "a")
    )
    assert state.loop.heard[ADVISOR].judged == 3
    assert state.loop.heard[ADVISOR].away is not None


def test_a_subjects_last_evidence_is_kept_in_a_word() -> None:
    words = {
        change("retry added"): "retry added",
        fails(): "fail",
        review(tier="full"): "full",
        e.Decision(text="exponential", decided_by="user"): "exponential",
        e.Source(locator="rfc9110", summary="when to retry"): "when to retry",
        e.ChildReported(child="c1", ok=True, summary="fine"): "fine",
    }
    for event, word in words.items():
        evidence = book(event).loop.evidence
        assert evidence is not None
        assert (evidence.type, evidence.seq, evidence.word) == (event.type, 2, word)
    assert book(e.Task(text="x")).loop.evidence is None


def test_the_last_diff_summary_is_kept_to_twelve_hundred_characters() -> None:
    state = book(e.Change(summary="one", diff_summary="d" * 5_000), change("two"))
    assert state.loop.diff_summary == "d" * 1_200


# --- notes ----------------------------------------------------------------------------------


def test_the_newest_twenty_tasks_and_frictions_are_kept_two_hundred_characters_long() -> None:
    events = [event for n in range(25) for event in (e.Task(text=f"t{n}"), e.Friction(text=f"f{n}"))]
    state = book(*events, e.Task(text="x" * 999), e.Friction(text="y" * 999, child="c9"))
    assert len(state.notes.tasks) == len(state.notes.friction) == 20
    assert (state.notes.tasks[0], state.notes.tasks[-1]) == ("t6", "x" * 200)
    assert state.notes.friction[-1] == ("y" * 200, "c9")


def test_a_units_tasks_are_its_own_and_the_books() -> None:
    units = [e.UnitAdded(unit=name, subject=name) for name in "ab"]
    state = book(*units, (e.Task(text="of a"), "a"), e.Task(text="of all"))
    assert state.notes.tasks == ("of a", "of all")
    assert [unit.notes.tasks for unit in state.units.values()] == [("of a",), ()]


def test_base_and_watch_only_count() -> None:
    state = book()
    assert on(state, e.Base(text="main"), e.Watch(text="ci")) == state._replace(version=3)


# --- the life of a loop ---------------------------------------------------------------------


def test_a_run_knows_who_has_spoken_for_it_about_whatever() -> None:
    def said(run: str | None, advisor: str = ADVISOR, sort: Literal["away", "close"] = "away") -> e.Noticed:
        return e.Noticed(advisor=advisor, run=run, sort=sort, key="k", text="x")

    runs = [e.RunSettled(run="r1"), e.RunSettled(run="r2")]
    state = book(*runs, said("r1"), said("r2", "b", "close"), said(None, "c"), said("r2"), said("r2"))
    spoke = {"r1": (ADVISOR,), "r2": ("b", ADVISOR)}
    assert {one.run: one.spoke for one in state.runs.settled} == spoke
    again = fold([Entry("loop:t", state.version + 1, e.RunSettled(run="r1"), START, "s2")], state)
    assert again.runs.settled[-1][:3] == ("r1", state.version + 1, "s2")
    assert {one.run: (one.spoke, one.gated) for one in again.runs.settled} == {
        "r2": (spoke["r2"], ("b", ADVISOR)),
        "r1": (spoke["r1"], (ADVISOR,)),
    }


@pytest.mark.parametrize("unit", [None, "a"])
def test_a_close_that_a_run_has_judged_has_read_the_run_where_it_says_something(unit: str | None) -> None:
    units = [e.UnitAdded(unit=name, subject="x") for name in "ab"]
    judged = e.Judged(advisor=ADVISOR, run="r1", read_to=5, sort="close", packet="p")
    silent = e.PassedOver(advisor=ADVISOR, run="r1", sort="close", reason="agrees")
    said = e.Noticed(advisor=ADVISOR, run="r1", sort="close", key="k", text="x", judged=6)
    state = book(*units, e.CloseDeclared(), e.RunSettled(run="r1"), (judged, unit) if unit else judged)
    assert state.version == 6

    def heard(after: BookState) -> tuple[int, int, int]:
        about = after.loop if unit is None else after.units[unit].about
        return about.heard[ADVISOR][:3] if ADVISOR in about.heard else (0, 0, 0)

    assert heard(on(state, (silent, unit) if unit else silent)) == (0, 0, 0)
    assert heard(on(state, (said, unit) if unit else said)) == (6, 5, 5)
    assert [one.gated for one in on(state, silent).runs.settled] == [()]


def test_a_close_stays_pending_while_others_have_yet_to_be_heard() -> None:
    declared = e.CloseDeclared(claim="done")
    first = e.Judged(advisor="a", read_to=2, sort="close", packet="p", pending="agrees")
    again = e.Judged(advisor="a", read_to=3, sort="close", packet="q", pending="objects")
    last = e.Judged(advisor="b", read_to=4, sort="close", packet="r")
    state = book(declared, first, again)
    assert state.life.stances == {"a": Stance("q", "objects")}
    assert (state.life.claim, state.life.declared) == ("done", 2)
    said = e.Noticed(advisor="facts", sort="close", key="k", text="x")
    silent = e.PassedOver(advisor="facts", reason="duplicate")
    for other in (said.model_copy(update={"judged": 3}), said.model_copy(update={"sort": "away"}), silent):
        assert on(state, other).life == state.life
    nothing: tuple[object, ...] = (None, 0, {})
    on_facts = (said, silent.model_copy(update={"detail": "facts"}))
    for end in (last, e.LoopClosed(outcome="over_concerns"), *on_facts):
        life = on(state, end).life
        assert (life.claim, life.declared, life.stances) == nothing
    life = on(state, e.CloseDeclared(claim="anew")).life
    assert (life.claim, life.declared, life.stances) == ("anew", 5, {})
    life = book(first).life
    assert (life.claim, life.declared, life.stances) == nothing, "nothing was declared"


def test_a_declared_close_stays_pending_until_a_judgment_at_close() -> None:
    state = book(e.CloseDeclared(claim="done"), e.Judged(advisor="completion", read_to=2))
    assert (state.life.claim, state.life.declared) == ("done", 2)
    judged = on(state, e.Judged(advisor=ADVISOR, read_to=2, sort="close")).life
    assert (judged.claim, judged.declared) == (None, 0)
    closed = on(state, e.LoopClosed(outcome="met")).life
    assert (closed.claim, closed.declared) == (None, 0)


def test_a_closed_loop_says_how_until_it_is_reopened() -> None:
    state = book(e.LoopClosed(outcome="over_concerns"))
    assert state.life.outcome == "over_concerns"
    assert on(state, e.LoopReopened()).life.outcome is None


def test_a_loop_knows_who_opened_and_who_adopted_it_and_is_opened_once() -> None:
    state = book()
    assert (state.life.session, state.life.opened, state.life.kind) == ("s1", 1, "change")
    (adoption,) = entries([e.SessionAdopted()], 1)
    adopted = evolve(state, adoption._replace(session="s2", at=START))
    assert adopted.life.session == "s2"
    again = on(adopted, e.LoopOpened(kind="fix", intent="another"))
    assert again.life == adopted.life


def test_a_loop_is_kept_with_what_it_is_for_within_bounds() -> None:
    opening = e.LoopOpened(kind="k" * 300, intent="i" * 9_000, anchor="a" * 9_000, review_tier="full")
    life = fold(entries([opening])).life
    assert (life.kind, life.intent, life.anchor) == ("k" * 200, "i" * 8_000, "a" * 8_000)
    assert life.review_tier == "full"
    assert book().life.anchor is None


def test_a_fork_goes_on_in_the_session_that_made_it_also_where_its_parent_was_closed() -> None:
    state = book(e.LoopClosed(outcome="met"))
    (fork,) = entries([e.Forked(from_="loop:p", version=2)], state.version)
    life = evolve(state, fork._replace(session="s2")).life
    assert life == state.life._replace(session="s2", outcome=None)
