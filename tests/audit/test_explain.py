"""Explanations: who was asked, what came back, what had changed, and a sentence for every silence."""

from __future__ import annotations

import ast
from typing import Literal, get_args

import pytest

from loopbook import events as e
from loopbook.advisors.asking import FAILURES, Failure
from loopbook.advisors.second_thought import SecondThought
from loopbook.audit import looking
from loopbook.audit.explain import Explanation, Objection, explain
from loopbook.audit.explained import lines
from loopbook.audit.reasons import LATE, PASSED, SILENT, silence
from loopbook.audit.replay import MAKERS
from loopbook.books import Books
from loopbook.errors import NothingDecided
from loopbook.judges.scripted import Scripted
from loopbook.settlement import deliver
from loopbook.settlement.steps import BOUND
from loopbook.testing.scenario_model import Quiet
from tests.audit.test_replay import OTHER, told
from tests.conftest import ROOT
from tests.flows import CONTENT, Table
from tests.plain import Closer, Plain

# --- the table of reasons -------------------------------------------------------------------------


def reasons_in_the_code() -> set[str]:
    """The reasons that advisors and flow give: the first argument of every pass-over and silence."""
    found = {BOUND}
    for folder in ("advisors", "settlement"):
        for file in (ROOT / "loopbook" / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                    first = node.args[0]
                    given = node.func.id in ("PassOver", "Silence") and isinstance(first, ast.Constant)
                    found |= {str(first.value)} if given and isinstance(first, ast.Constant) else set()
    return found - {""}  # what the trace notes of an ask


def test_every_reason_that_the_code_can_give_has_its_sentence_and_no_other_has() -> None:
    assert reasons_in_the_code() == set(SILENT) == set(get_args(Quiet))


def test_the_page_on_deciding_has_every_reason_in_its_words() -> None:
    page = (ROOT / "docs" / "deciding.md").read_text("utf-8")
    table = page.partition("| reason | in words |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    told_there = [line.strip("| ").replace("`", "").split(" | ") for line in table]
    assert told_there == [[word, sentence.format(detail="…")] for word, sentence in SILENT.items()]


def test_the_gates_stand_in_the_order_in_which_they_are_looked_at() -> None:
    assert list(PASSED) == list(SILENT)[: len(PASSED)]


@pytest.mark.parametrize("reason", SILENT)
def test_a_sentence_is_one_and_says_what_there_is_to_say(reason: str) -> None:
    for detail in (None, "c1"):
        sentence = silence(reason, detail)
        assert "{" not in sentence
        assert sentence[:1].islower()
        assert not sentence.endswith(".")
    assert ("c1" in silence(reason, "c1")) == ("{detail}" in SILENT[reason])


def test_every_kind_of_failure_and_of_lateness_is_told_in_words() -> None:
    for kind, words in FAILURES.items():
        assert words in silence("judge-failed", kind)
    for late, words in LATE.items():
        assert words in silence("stale", late)


# --- what is explained --------------------------------------------------------------------------------


def only(table: Table, seq: int | None = None, **makers: Plain) -> Explanation:
    found = explain(table.entries, seq, {**MAKERS, **{name: one.under for name, one in makers.items()}})
    assert len(found) == 1
    return found[0]


def test_a_notice_is_explained_with_answers_thresholds_gates_and_what_had_changed() -> None:
    one = only(told(), 12)
    assert (one.seq, one.last, one.run) == (11, 12, "r3")
    assert one.asked is not None
    assert [(a.question, a.answer, a.threshold) for a in one.asked.answers] == [
        ("move", "back (confidence 1.00)", None),
        ("done", "0.90", 0.5),
        ("review_tier", "none (confidence 1.00)", None),
        ("quality", "0.00", 1.5),
    ]
    assert one.asked.read_to == 10
    assert len(one.asked.packets) == 1
    assert PASSED["nothing-new"] in one.passed
    assert one.since is not None
    assert (one.since.seq, one.since.entries["check"]) == (5, 1)
    assert one.since.otherwise == (
        "move back, was advance",
        "step review since 8, was verify since 2",
        "concerns back, quality, were none",
        "todos t1, were none",
    )
    assert one.concerns == ("back", "quality")
    assert one.goes_on == "the run goes on: continuation 2 since the last human prompt, of at most 8"
    assert one.silent is None
    assert one.verdict.outcome == "same"


def reviewed(
    table: Table, *findings: tuple[str, Literal["blocker", "concern", "nit"], str], by: str = "ann"
) -> None:
    found = [e.Finding(id=name, severity=severity, text=text) for name, severity, text in findings]
    table.add(e.Review(tier="light", reviewer=by, findings=tuple(found)))


def test_a_notice_that_names_findings_is_explained_with_how_they_were_put_last() -> None:
    table = Table("change")
    table.change()
    table.check()
    reviewed(table, ("f1", "concern", "an old way"), ("f2", "blocker", "it hangs"), ("n1", "nit", "naming"))
    reviewed(table, ("f1", "blocker", "red \x1b[31m and wrong"), by="bob")
    reviewed(table, ("f1", "concern", "the new way"), ("f2", "blocker", "it hangs"))
    table.settle("r1")
    reviewed(table, ("f1", "concern", "said later"))
    one = only(table, 7)
    assert one.said == "next: fix (f1, f2)"
    assert one.findings == (
        Objection("f1", "ann", "concern", "the new way"),
        Objection("f2", "ann", "blocker", "it hangs"),
        Objection("f1", "bob", "blocker", "red \x1b[31m and wrong"),
    )
    assert [line[12:] for line in [*lines(one)][1:] if '"' in line] == [
        'f1 (concern, ann): "the new way"',
        'f2 (blocker, ann): "it hangs"',
        'f1 (blocker, bob): "red \\x1b[31m and wrong"',
    ]


def test_findings_that_a_notice_does_not_name_are_not_told_and_one_of_long_ago_is_told_without_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Table("change")
    table.check()
    reviewed(table, ("f1", "concern", "it hangs"))
    table.change()
    table.settle("r1")
    assert only(table).findings == (), "what comes next is to verify"
    table.check()
    reviewed(table, ("f1", "concern", "it hangs"))
    reviewed(table, ("n1", "nit", "naming"), by="bob")
    table.settle("r2")
    assert only(table).findings == (Objection("f1", "ann", "concern", "it hangs"),)
    monkeypatch.setattr(looking, "LOOKS_BACK", 1)
    assert only(table).findings == (Objection("f1", "ann"),)
    assert "  findings  f1 (ann)" in list(lines(only(table)))


@pytest.mark.parametrize("seq", [11, 12, 10])
def test_any_entry_of_a_decision_and_the_run_that_it_is_about_lead_to_it(seq: int) -> None:
    assert only(told(), seq) == only(told(), 11)


def test_the_last_one_is_explained_where_no_entry_is_named() -> None:
    one = only(told())
    assert one.decision == "silent: agrees and closes the loop: met"
    assert one.last == len(told().entries)


@pytest.mark.parametrize(
    ("seq", "words"),
    [
        (2, r"at entry 2 \(change\) nothing was decided; nothing was done; the next decision is at 4"),
        (99, "there is no entry 99, the last is 39; nothing was done; name another one"),
    ],
)
def test_an_entry_at_which_nothing_was_decided_says_where_the_next_decision_is(seq: int, words: str) -> None:
    with pytest.raises(NothingDecided, match=words):
        explain(told().entries, seq)


def test_after_the_last_decision_none_follows() -> None:
    table = told()
    table.add(e.LoopReopened())
    with pytest.raises(NothingDecided, match="none follows it either"):
        explain(table.entries, len(table.entries))
    with pytest.raises(NothingDecided, match="nothing was decided in this book"):
        explain(Table().entries)


def test_a_run_about_which_nothing_is_recorded_is_explained_by_none() -> None:
    table = Table()
    table.change()
    table.settle(judge=False)
    assert explain(table.entries, 3) == ()


def test_all_that_was_decided_about_a_run_is_explained() -> None:
    table = Table()
    table.change()
    table.settle(advisors=(Plain("mine"), SecondThought()))
    first, second = explain(table.entries, 3)
    assert (first.advisor, first.verdict.outcome) == ("mine", "unchecked")
    assert first.passed == (), "whose gates nobody here knows"
    assert (second.advisor, second.silent) == ("second-thought", SILENT["turn-taken"])


def test_a_declared_close_is_explained_by_what_was_decided_about_it() -> None:
    table = Table("chore")
    table.change()
    table.close({**CONTENT, "done": 0.1})
    table.close({**CONTENT, "done": 0.1})
    first, second = explain(table.entries, 3)
    assert first.concerns == ("not-done",)
    assert first.goes_on == "the run ends: a close continues nothing"
    assert first.passed == (PASSED["no-loop"], PASSED["no-judge"], PASSED["child-out"])
    assert second.silent == SILENT["duplicate"]
    table.close()
    agrees = only(table)
    assert agrees.silent is not None
    assert agrees.silent.endswith(
        "; the loop stays open: no passing check (tests, build, manual) since the last change"
    )
    assert agrees.since is not None
    assert agrees.since.seq == first.last, "closes are compared with closes"


def test_a_close_about_which_others_have_yet_to_be_heard_is_pending_and_then_all_agree() -> None:
    table = Table("chore")
    table.change()
    table.check()
    table.close({**CONTENT, "ok": 0.9}, advisors=(SecondThought(), Closer("quick"), Closer("quiet", "quiet")))
    first, second = explain(table.entries, 4)
    assert first.silent == f"{SILENT['agrees']}; the close is pending: others have yet to be heard about it"
    assert (second.silent, second.decision) == (SILENT["agrees"], "silent: agrees and closes the loop: met")


def test_a_close_that_ends_by_itself_ends_because_all_agree() -> None:
    table = Table("chore")
    table.change()
    table.check()
    slow = Closer("slow", "later")
    (later,) = table.close({**CONTENT, "ok": 0.9}, advisors=(SecondThought(), slow)).later
    slow.kind = "gone"
    table.drive(deliver(table.state, later), {})
    assert (
        explain(table.entries)[0].silent == "all who were asked about the close agree, and nothing is missing"
    )


def test_of_a_decision_that_a_fork_has_half_of_it_is_told_that_the_fork_goes_on_from_there() -> None:
    with Books.open("memory:") as books:
        loop = books.start("change", "Add a retry", id="a")
        loop.record(e.Change(summary="one"))
        assert loop.settle_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
        (judged,) = [entry.seq for entry in loop.entries() if isinstance(entry.event, e.Judged)]
        (half,) = explain(books.fork("a", judged, new_id="b").entries(), judged)
        assert (half.decision, half.silent) == ("judges", "a fork goes on from here")


def test_a_failed_answer_a_lost_one_and_a_late_one_are_told_apart() -> None:
    table = Table()
    table.change()
    table.settle("r1", Failure("http-busy"))
    failed = only(table)
    assert failed.asked is not None
    assert failed.asked.failure == "http-busy"
    assert FAILURES["http-busy"] in str(failed.silent)
    table.settle("r2", {"done": 0.5, "move": "sideways"})
    lost = only(table)
    assert lost.asked is not None
    assert ("move", "lost: not a value of this question") in [(a[0], a[1]) for a in lost.asked.answers]
    assert "move: not a value of this question" in str(lost.silent)
    table.idle = False
    table.settle("r3")
    assert LATE["busy"] in str(only(table).silent)
    table.idle = True
    table.thinking = [lambda: table.change(summary="two"), lambda: table.change(summary="three")]
    table.settle("r4")
    moved = only(table)
    assert LATE["moved"] in str(moved.silent)
    assert moved.asked is not None
    assert len(moved.asked.packets) == 2
    table.thinking = [lambda: table.add(e.Prompted(prompt="p", text="x"))]
    table.settle("r5")
    assert LATE["newer-run"] in str(only(table).silent)


def test_why_a_run_ends_though_something_was_said() -> None:
    table = Table()
    table.change()
    table.settle("r1", most=0)
    assert "as many runs were continued" in str(only(table, 5).goes_on)
    table = Table()
    table.change()
    table.settle("r1", {**CONTENT, "move": "back"})
    assert str(only(table).goes_on).endswith("not for the agent to go on with by itself")
    table = Table()
    for number, key in enumerate("ABA"):
        table.settle(f"r{number}", advisors=(Plain("p", key=key),))
    assert "the same words for the same evidence" in str(only(table, p=Plain("p")).goes_on)


def test_an_observed_answer_a_lost_child_and_an_unjudged_close_have_their_sentences() -> None:
    table = Table("chore")
    (later,) = table.settle(advisors=(Plain("p", "observe"),)).later
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert only(table, p=Plain("p")).silent == "the answer was only to be kept"
    assert str(only(told(), 24).silent).startswith("its host says that it is gone")
    table.change()
    table.check()
    table.close(judge=False)
    assert only(table, p=Plain("p")).silent == "there was nobody to judge the close, and nothing was missing"


# --- in lines -------------------------------------------------------------------------------------------


def test_an_explanation_is_a_fact_a_line_and_does_nothing_to_a_terminal() -> None:
    table = Table()
    table.change()
    table.add(e.TodoOpened(todo="t1", subject="red \x1b[31m\ntodo"))
    table.settle("r\x1b[1m", OTHER)
    told_lines = list(lines(only(table)))
    assert told_lines[0].startswith("entry 5 to 6 (second-thought, run r\\x1b[1m): says and continues ")
    assert not any(char in line for line in told_lines for char in "\x1b\n")
    labels = [line[2:12].strip() for line in told_lines[1:]]
    assert [label for label in labels if label] == [
        "passed", "asked", "answered", "before", "said", "concerns", "then", "rules", "again",
    ]  # fmt: skip


def test_a_difference_shows_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = told().entries
    monkeypatch.setattr(SecondThought, "_concerns", lambda *_, **__: ())
    (one,) = explain(entries, 11)
    said = "\n".join(lines(one))
    assert "it comes out otherwise\n" in said
    assert 'recorded: says and continues "next: review' in said
    assert "again:    says and continues" in said
