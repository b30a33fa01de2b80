"""Replay: every decision comes out again, from the entries alone; what does not is named."""

from __future__ import annotations

import builtins
import datetime as clock
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from loopbook import events as e
from loopbook.advisors.asking import Failure
from loopbook.advisors.basis import Basis
from loopbook.advisors.second_thought import SecondThought, Thresholds, policy, subjects, words
from loopbook.audit.explain import explain
from loopbook.audit.explained import lines
from loopbook.audit.replay import MAKERS, Makers, Replay, replay
from loopbook.books import Books
from loopbook.encoding import decode, encode
from loopbook.entry import Entry
from loopbook.judges.scripted import Scripted
from loopbook.projections import children
from loopbook.run import Call, ChildState, Observed
from loopbook.settlement import case, deliver
from tests.flows import CONTENT, NOON, Table
from tests.plain import Plain
from tests.projections import strategies as pool
from tests.strategies_events import json_values, models

OTHER = {**CONTENT, "move": "back", "quality": 0}


def outcomes(came: Replay) -> list[str]:
    return [one.verdict.outcome for one in came.decisions]


def edited(table: Table, kind: type[e.Event], **fields: object) -> list[Entry]:
    """The entries, the last of a kind having other fields."""
    found = [entry for entry in table.entries if isinstance(entry.event, kind)][-1]
    other = found._replace(event=found.event.model_copy(update=fields))
    return [other if entry is found else entry for entry in table.entries]


def told() -> Table:
    """A book with a notice, an agreement, a duplicate, silences of gates, and a judged close."""
    table = Table()
    table.change()
    table.settle("r1")
    table.settle("r2")
    table.check()
    table.add(e.TodoOpened(todo="t1", subject="tell the packagers"))
    table.settle("r3", OTHER)
    table.add(e.Task(text="go on"))
    table.add(e.Source(locator="x"))
    table.settle("r4", OTHER)
    table.settle(e.RunSettled(run="r5", stop="error"))
    table.add(e.ChildLinked(child="c1"))
    table.settle("r6")
    gone = Observed(now=NOON, children={"c1": ChildState(state="gone")})
    table.settle(e.RunSettled(run="r7", observed=gone))
    table.settle(e.RunSettled(run="r8", calls=(Call(ref="1", tool="goal_wait"),)))
    table.add(e.Decision(text="keep the name", decided_by="user"))
    table.settle("r9", Failure("timeout"))
    table.add(e.TodoCompleted(todo="t1"))
    table.add(e.Review(tier="light", reviewer="ada"))
    table.settle("r10")
    table.close()
    return table


def test_every_sort_of_decision_comes_out_the_same() -> None:
    table = told()
    came = replay(table.entries)
    assert set(outcomes(came)) == {"same"}
    assert came.difference is None
    assert came.state == table.state
    assert {one.words.partition(" ")[0].rstrip(":") for one in came.decisions} == {
        "says", "silent", "passed", "child",
    }  # fmt: skip
    assert [one.words for one in came.decisions][-1] == "silent: agrees and closes the loop: met"


def test_the_words_of_a_decision_stand_beside_where_the_work_stood() -> None:
    first, second, *_ = replay(told().entries).decisions
    assert (first.seq, first.last, first.run, first.advisor) == (4, 5, "r1", "second-thought")
    assert first.words.startswith('says and continues "next: verify (')
    assert first.said is not None
    assert first.phase.next == "verify"
    assert (second.words, second.said) == ("passed over: nothing-new", None)


def test_a_replay_up_to_an_entry_has_the_whole_decision_that_begins_there() -> None:
    table = told()
    came = replay(table.entries, to=4)
    assert (came.version, [one.last for one in came.decisions], outcomes(came)) == (5, [5], ["same"])
    assert replay(table.entries, to=3).decisions == ()
    assert replay(table.entries, to=0).version == 0
    for seq in range(len(table.entries) + 1):
        assert replay(table.entries, to=seq).difference is None


# --- no clock, no judge, no environment, no file --------------------------------------------------


def test_a_replay_reads_nothing_but_its_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = [(entry.stream, entry.seq, entry.event.type, encode(entry)) for entry in told().entries]
    entries = [decode(*row) for row in stored]

    def forbidden(*_: object, **__: object) -> object:
        raise AssertionError("a replay reads nothing")

    class NoClock(clock.datetime):
        now = utcnow = today = forbidden  # type: ignore[assignment]  # nobody may ask

    monkeypatch.setattr(builtins, "open", forbidden)
    monkeypatch.setattr(Path, "open", forbidden)
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(clock, "datetime", NoClock)
    monkeypatch.setattr(Scripted, "ask", forbidden)
    assert set(outcomes(replay(entries))) == {"same"}


# --- a rule that was changed is named -------------------------------------------------------------


#: What is changed in the code, by which the decision that begins at a seq then comes out otherwise.
MUTANTS: dict[str, tuple[object, str, object, int, str]] = {
    "a threshold": (SecondThought, "_concerns", lambda *_, **__: (), 11, 'says and continues "next: review'),
    "news": (subjects, "loop_has_news", lambda *_: True, 7, "asks the judge, in packet"),
    "failed runs": (SecondThought, "_waits", lambda *_: "Bash", 4, "silent: waiting (Bash)"),
    "children": (subjects, "children_of_loop", lambda _: (), 22, "passed over: nothing-new"),
    "waiting runs": (SecondThought, "_waits", lambda *_: None, 27, "passed over: nothing-new"),
    "what continues": (policy, "_continues", lambda *_: False, 4, "silent: agrees"),
    "how many todos are named": (words, "TODOS_NAMED", 0, 11, "+1 more"),
    "what must not be said twice": (policy, "_key", lambda *_: "k", 4, "noticed.key k"),
    "the words of a concern": (words, "CONCERNS", {**words.CONCERNS, "back": "turn"}, 11, "turn"),
    "what is said twice": (case, "held", lambda _c, _a, _s, say: (say, False), 16, "says"),
    "what a judgment reads": (subjects, "last_evidence", lambda *_: 0, 4, "silent: nothing-new"),
    "who is lost": (children, "past_grace", lambda _: (), 24, "decides nothing"),
}  # fmt: skip


@pytest.mark.parametrize("rule", MUTANTS)
def test_a_rule_that_was_changed_by_mistake_is_seen_at_the_first_decision_it_changes(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = told().entries
    owner, name, mutant, seq, now = MUTANTS[rule]
    monkeypatch.setattr(owner, name, mutant)
    found = replay(entries).difference
    assert found is not None
    assert found.seq == seq
    assert now in found.verdict.now
    assert found.verdict.then
    assert found.verdict.then != found.verdict.now


def test_what_was_kept_decides_and_not_what_would_be_decided_by_today() -> None:
    table = Table()
    table.change()
    strict = SecondThought(frozenset({"Wait"}), {"Send": "to"}, Thresholds(done=0.95, quality=2.5))
    table.settle("r1", {**CONTENT, "quality": 2}, advisors=(strict,))
    table.settle(e.RunSettled(run="r2", calls=(Call(ref="1", tool="Wait"),)), advisors=(strict,))
    table.settle(e.RunSettled(run="r3", calls=(Call(ref="1", tool="Send"),)), advisors=(strict,))
    table.settle(e.RunSettled(run="r4", calls=(Call(ref="1", tool="goal_wait"),)), advisors=(strict,))
    came = replay(table.entries)
    assert outcomes(came) == ["same"] * 4
    assert "thin" in str(came.decisions[0].said)
    by_today: Makers = {"second-thought": lambda _: SecondThought()}
    assert outcomes(replay(table.entries, by_today)) == ["differs"] * 4


def test_as_many_continuations_as_were_allowed_then() -> None:
    for most in (0, 1, None):
        table = Table()
        for i in range(4):
            table.change(summary=f"{i}")
            table.settle(f"r{i}", {**CONTENT, "move": ("advance", "back")[i % 2], "quality": i}, most=most)
        assert set(outcomes(replay(table.entries))) == {"same"}


# --- what was tampered with -----------------------------------------------------------------------

TAMPERED: dict[str, tuple[type[e.Event], dict[str, object], str]] = {
    "an answer": (e.Judged, {"answers": {"move": {"choice": "back"}}}, "says"),
    "a threshold": (e.Judged, {"thresholds": {"done": 0.95, "quality": 1.5}}, "says"),
    "a digest": (e.Judged, {"packet": "0" * 64}, "asks the judge"),
    "an outcome": (e.LoopClosed, {"outcome": "over_concerns"}, "closes the loop"),
    "a reason": (e.PassedOver, {"reason": "nothing-new"}, "silent: agrees"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_book_whose_decisions_were_edited_does_not_replay(what: str) -> None:
    table = Table("chore")
    table.change()
    table.check()
    table.close()
    assert outcomes(replay(table.entries)) == ["same"]
    kind, fields, now = TAMPERED[what]
    found = replay(edited(table, kind, **fields)).difference
    assert found is not None
    assert now in found.verdict.now


def test_evidence_that_was_edited_shows_in_what_was_asked() -> None:
    table = Table()
    table.change()
    table.settle()
    found = replay(edited(table, e.Change, summary="another")).difference
    assert found is not None
    assert found.verdict.now.startswith("asks the judge, in packet ")


def test_a_decision_that_was_put_in_twice_is_none() -> None:
    table = Table()
    table.change()
    table.settle("r1")
    for entry in table.entries[-2:]:
        table.add(entry.event, entry.unit)
    found = replay(table.entries).difference
    assert found is not None
    assert (found.seq, found.verdict.now) == (6, "silent: stale (decided)")


def test_a_silence_or_an_observation_that_was_put_in_twice_is_none() -> None:
    failed = e.RunSettled(run="r1", stop="error")
    for advisor, now in (
        (SecondThought(), "decides nothing: it was decided before"),
        (Plain("p", "observe"), "silent: stale (decided)"),
    ):
        table = Table()
        for later in table.settle(failed, advisors=(advisor,)).later:
            table.drive(deliver(table.state, later), {"ok": 0.5})
        table.add(table.entries[-1].event)
        made: Makers = {**MAKERS, "p": Plain("p").under}
        assert outcomes(replay(table.entries, made))[-1] == "differs", advisor.name
        found = replay(table.entries, made).difference
        assert found is not None
        assert found.seq == table.state.version
        assert found.verdict.now == now


def test_a_unit_that_was_judged_in_silence_is_not_judged_again_for_the_same_run_whatever_came_since() -> None:
    table = Table()
    table.units("a", "b")
    table.add(e.Decision(text="keep the name", decided_by="user"), "a")
    table.settle("r1")
    table.add(e.Decision(text="and the sign", decided_by="user"), "a")
    table.settle("r2")
    as_one_run = [
        one._replace(event=e.Watch(text="ci"))
        if isinstance(one.event, e.RunSettled) and one.event.run == "r2"
        else one._replace(event=one.event.model_copy(update={"run": "r1"}))
        if isinstance(one.event, e.Judged | e.PassedOver)
        else one
        for one in table.entries
    ]
    assert outcomes(replay(table.entries)) == ["same", "same"]
    assert outcomes(replay(as_one_run)) == ["same", "differs"]


@pytest.mark.parametrize("basis", [{"observed": True}, {"failure": "timeout"}, {"packets": ["0" * 64]}])
def test_a_silence_that_rests_on_what_cannot_be_is_read_and_differs(basis: dict[str, JsonValue]) -> None:
    table = Table()
    table.change()
    table.add(e.RunSettled(run="r1"))
    table.add(e.PassedOver(advisor="second-thought", run="r1", reason="stale", basis=basis))
    assert outcomes(replay(table.entries)) == ["differs"]


@pytest.mark.parametrize("reason", ["stale", "turn-taken", "child-out", "bound", "duplicate"])
def test_a_silence_that_had_no_cause_is_told(reason: str) -> None:
    table = Table()
    table.change()
    table.add(e.RunSettled(run="r1"))
    table.add(e.PassedOver(advisor="second-thought", run="r1", reason=reason))
    found = replay(table.entries).difference
    assert found is not None
    assert found.verdict.then == f"passed over: {reason}"
    assert found.verdict.now.startswith("asks the judge")


def test_a_close_that_was_written_by_hand_is_told() -> None:
    table = Table("chore")
    table.add(e.CloseDeclared(claim="done"))
    table.add(e.LoopClosed(outcome="unjudged"))
    assert outcomes(replay(table.entries)) == ["differs"], "something is missing"
    table = Table("chore")
    table.add(e.LoopClosed(outcome="met"))
    assert outcomes(replay(table.entries)) == ["differs"], "nobody judged it"
    table = Table("chore")
    table.add(e.LoopClosed(outcome="unjudged"))
    table.add(e.LoopReopened())
    table.add(e.LoopClosed(outcome="over_concerns"))
    assert outcomes(replay(table.entries)) == [], "these are nobody's decisions but their maker's"


# --- what is no fault -----------------------------------------------------------------------------


def test_a_book_by_rules_of_another_version_may_differ_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = told().entries
    monkeypatch.setattr(policy, "VERSION", "7")
    assert set(outcomes(replay(entries))) == {"same"}
    monkeypatch.setattr(words, "CONCERNS", {**words.CONCERNS, "back": "turn round"})
    came = replay(entries)
    assert came.difference is None
    (other,) = [one for one in came.decisions if one.verdict.outcome == "other-rules"]
    assert other.verdict.why == "decided by policy 1; this is policy 7"
    assert "turn round" in other.verdict.now


def test_the_code_may_be_another_without_the_rules_being_others(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = told().entries
    monkeypatch.setattr(policy, "__version__", "99")
    monkeypatch.setattr(words, "CONCERNS", {**words.CONCERNS, "back": "turn round"})
    assert replay(entries).difference is not None


def test_a_default_that_changes_needs_another_version() -> None:
    """A book keeps settings where they are not those of its version."""
    usual = SecondThought()
    assert (policy.VERSION, sorted(usual.waiting_tools), dict(usual.subagent_tools), usual.thresholds) == (
        "1", ["LoopCreate", "MonitorCreate", "goal_wait"], {"subagent": "child"}, (0.5, 1.5),
    )  # fmt: skip


def test_what_was_scrubbed_since_may_differ_and_says_so() -> None:
    table = Table()
    table.change(summary="a secret")
    table.settle()
    entries = edited(table, e.Change, summary="[scrubbed 8 chars]")
    scrub = e.Scrubbed(of="loop:t", seqs=(2,), before="", after="")
    entries.append(Entry("loop:t", len(entries) + 1, scrub, NOON))
    came = replay(entries)
    assert outcomes(came) == ["scrubbed"]
    assert "seq 2" in came.decisions[0].verdict.why
    later = entries[-1]._replace(event=scrub.model_copy(update={"seqs": (6,)}))
    assert outcomes(replay([*entries[:-1], later])) == ["differs"]


def test_what_reads_no_scrubbed_text_is_not_excused_by_a_scrub() -> None:
    table = Table()
    table.change(summary="a secret")
    table.settle()
    entries = edited(table, e.Change, summary="forged")
    scrub = e.Scrubbed(of="loop:t", seqs=(1,), before="", after="")
    assert outcomes(replay([*entries, Entry("loop:t", len(entries) + 1, scrub, NOON)])) == ["differs"]


def test_who_is_not_here_is_not_checked() -> None:
    table = Table()
    table.settle(advisors=(Plain("mine"),))
    came = replay(table.entries)
    assert outcomes(came) == ["unchecked"]
    assert came.decisions[0].verdict.why == "the advisor 'mine' is not here"
    mine: Makers = {**MAKERS, "mine": Plain("mine").under}
    assert outcomes(replay(table.entries, mine)) == ["same"]
    without = [one._replace(originator_version=n) for n, one in enumerate(table.entries, 1) if n != 2]
    renumbered = [one._replace(originator_version=n) for n, one in enumerate(without, 1)]
    assert "'r1' is not among" in replay(renumbered, mine).decisions[0].verdict.why


# --- deferred, observed, forked, stored -----------------------------------------------------------


def test_what_was_put_off_or_only_observed_comes_out_the_same() -> None:
    answered: dict[str, object] = {"ok": 0.5}
    for gate, said in (("later", answered), ("observe", answered), ("observe", Failure("timeout"))):
        table = Table()
        (later,) = table.settle(advisors=(Plain("p", gate),)).later
        table.drive(deliver(table.state, later), said)
        (later,) = table.settle("r2", advisors=(Plain("p", gate, key="other"),)).later
        table.change()
        table.drive(deliver(table.state, later), said)
        came = replay(table.entries, {"p": Plain("p").under})
        assert set(outcomes(came)) == {"same"}
        assert len(came.decisions) == (2 if gate == "later" else 4)


def test_an_observed_answer_is_no_decision_to_be_silent() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("p", "observe"),)).later
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert [one.words for one in replay(table.entries, {"p": Plain("p").under}).decisions][-1] == (
        "keeps the answer"
    )


def test_a_fork_replays_with_what_it_goes_on_from() -> None:
    with Books.open("memory:") as books:
        loop = books.start("change", "Add a retry", id="a")
        loop.record(e.Change(summary="one"))
        assert loop.settle_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
        fork = books.fork("a", new_id="b")
        fork.record(e.Check(command="pytest", outcome="pass"))
        assert fork.settle_blocking(e.RunSettled(run="r2"), judge=Scripted([CONTENT]))
        assert outcomes(replay(fork.entries())) == ["same", "same"]


def test_a_fork_from_within_a_decision_replays_as_far_as_it_has_it() -> None:
    with Books.open("memory:") as books:
        loop = books.start("change", "Add a retry", id="a")
        loop.record(e.Change(summary="one"))
        assert loop.settle_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
        (judged,) = [entry.seq for entry in loop.entries() if isinstance(entry.event, e.Judged)]
        fork = books.fork("a", judged, new_id="b")
        fork.record(e.Change(summary="two"))
        assert fork.settle_blocking(e.RunSettled(run="r2"), judge=Scripted([CONTENT]))
        assert outcomes(replay(fork.entries())) == ["same", "same"]
        answers = [
            one._replace(event=one.event.model_copy(update={"packet": "0" * 64}))
            if one.seq == judged
            else one
            for one in fork.entries()
        ]
        assert outcomes(replay(answers))[0] == "differs", "what the fork has of it is compared"


def test_a_run_that_is_settled_again_with_other_words_is_decided_as_it_was_settled_first() -> None:
    with Books.open("memory:") as books:
        loop = books.start("change", "Add a retry")
        loop.record(e.Change(summary="one"))
        loop.record(e.RunSettled(run="r1", stop="error"), host_ref="settled:r1")
        came = loop.settlement_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
        assert [one.reason for one in came.trace] == ["failed-run"]
        assert outcomes(replay(loop.entries())) == ["same"]


def test_a_child_whose_name_is_a_secret_is_known_by_the_name_in_the_book() -> None:
    name = "AKIAIOSFODNN7EXAMPLE"
    with Books.open("memory:") as books:
        loop = books.start("change", "Add a retry")
        loop.record(e.Change(summary="one"), e.ChildLinked(child=name), e.ChildReported(child=name, ok=True))
        run = e.RunSettled(run="r1", calls=(Call(ref="1", tool="subagent", input=f'{{"child": "{name}"}}'),))
        assert loop.settle_blocking(run, judge=Scripted([CONTENT])), "the child is known, and has reported"
        assert name not in str(list(loop.entries()))
        assert outcomes(replay(loop.entries())) == ["same"]


def test_words_that_are_a_secret_only_together_are_the_same_once_redacted() -> None:
    with Books.open("memory:") as books:
        loop = books.start("change", "Add a retry")
        loop.record(e.TodoOpened(todo="t1", subject="API_KEY='a"), e.TodoOpened(todo="t2", subject="b'"))
        assert loop.settle_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
        (notice,) = [one.event for one in loop.entries() if isinstance(one.event, e.Noticed)]
        assert "redacted" in notice.text, "else this test is of nothing"
        assert outcomes(replay(loop.entries())) == ["same"]


# --- whatever happens -----------------------------------------------------------------------------

_ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "move": st.sampled_from(["advance", "back", "ask_user", "sideways"]),
        "done": st.sampled_from([0, 0.5, 0.51, 1]),
        "review_tier": st.sampled_from(["none", "light", "full"]),
        "quality": st.sampled_from([0, 1.5, 1.6, 3]),
    },
)
_SAID = st.one_of(_ANSWERS, st.builds(Failure, st.sampled_from(["timeout", "error", "cap"])))
#: What may be written beside a flow: all but the end that a flow alone writes.
_EVENTS = st.sampled_from(
    [one for one in (*pool.EVIDENCE, *pool.OTHERS) if one != e.LoopClosed(outcome="met")]
)
_ADVISORS = st.sampled_from(
    (
        (SecondThought(),),
        (SecondThought(frozenset({"Bash"}), {"Agent": "child"}, Thresholds(0.2, 2.5)),),
        (Plain("first", key="k1"), SecondThought(), Plain("last", "ask", key="k2")),
        (
            Plain("note", takes_turn=False),
            Plain("watcher", "observe"),
            SecondThought(),
            Plain("slow", "later"),
        ),
    )
)


@st.composite
def _happenings(draw: st.DrawFn, table: Table) -> Sequence[Callable[[], None]]:
    events = draw(st.lists(_EVENTS, max_size=2))
    return [partial(table.add, event) for event in events]


@given(st.data())
def test_whatever_happens_while_runs_settle_every_decision_comes_out_the_same(data: st.DataObject) -> None:
    table = Table(opened=False)
    for entry in data.draw(pool.histories(max_size=10)):
        table.add(entry.event, entry.unit)
    for number in range(data.draw(st.integers(1, 6))):
        for event in data.draw(st.lists(_EVENTS, max_size=4)):
            table.add(event)
        table.thinking = [*data.draw(_happenings(table))]
        table.before_append = [*data.draw(_happenings(table))]
        table.idle = data.draw(st.sampled_from([True, True, True, False]))
        said, judge = data.draw(_SAID), data.draw(st.sampled_from([True, True, True, False]))
        if data.draw(st.sampled_from([False, False, False, True])) and table.state.life.opened:
            if table.state.life.outcome is None:
                table.close(said, judge=judge)
            continue
        run = data.draw(st.sampled_from([f"x{number}", "x0", "r2"]))
        advisors, most = data.draw(_ADVISORS), data.draw(st.sampled_from([8, 1, 0, None]))
        for later in table.settle(run, said, advisors=advisors, judge=judge, most=most).later:
            for event in data.draw(st.lists(_EVENTS, max_size=1)):
                table.add(event)
            table.drive(deliver(table.state, later), said)


def _forged() -> st.SearchStrategy[tuple[e.Event, str | None]]:
    """Decisions that nobody has made, of anything."""
    said = st.one_of(
        [cast("st.SearchStrategy[e.Event]", models(cls)) for cls in (e.Judged, e.Noticed, e.PassedOver)]
    )
    kept = json_values() | st.builds(lambda one: dict.fromkeys(Basis._fields, one), json_values())
    return st.tuples(
        st.builds(
            lambda event, run, basis, answers: event.model_copy(
                update={"advisor": "second-thought", "run": run, "basis": basis, **answers}
            ),
            said,
            st.sampled_from(["r1", "r2", "nobody", None]),
            kept.filter(lambda one: isinstance(one, dict)),
            st.builds(lambda one: {"answers": one} if isinstance(one, dict) else {}, json_values()),
        ),
        st.sampled_from([None, "a", "b", "nowhere"]),
    )


@given(pool.odd_histories(), st.lists(_forged(), min_size=1, max_size=4), st.data())
def test_whatever_a_book_holds_it_is_replayed_and_explained(
    entries: list[Entry], forged: list[tuple[e.Event, str | None]], data: st.DataObject
) -> None:
    items = [(entry.event, entry.unit) for entry in entries]
    for item in forged:
        items.insert(data.draw(st.integers(0, len(items))), item)
    odd = [Entry("loop:t", seq, event, NOON, "s", unit) for seq, (event, unit) in enumerate(items, 1)]
    came = replay(odd)
    assert came.version == len(odd)
    assert {one.advisor for one in came.decisions} >= {"second-thought"}
    for one in came.decisions:
        assert list(lines(explain(odd, one.seq)[0]))
