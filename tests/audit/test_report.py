"""The report is a fold over entries: counts are of all, claims are weighed where they were said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from loopbook.audit.model import FIRST_ITEMS, LAST_ITEMS, Audit, Session
from loopbook.audit.report import Report
from loopbook.entry import Entry
from loopbook.events import (
    Change,
    Check,
    ChildLinked,
    ChildReported,
    Event,
    LoopOpened,
    Prompted,
    RunSettled,
    Source,
    TodoCompleted,
    TodoOpened,
    Unknown,
)
from loopbook.kinds import Kind
from loopbook.kinds_at_hand import load_kinds
from loopbook.projections import fold
from loopbook.run import Call

START = datetime(2026, 1, 1, tzinfo=UTC)
KIND: Kind = load_kinds()["change"]
SESSION = Session(
    file="s.jsonl", host="h", session="s", lines=9, loop="audit-h-s", kind="change", intent="do it"
)

FAILED = Check(command="pytest -q", outcome="fail", exit_code=1)
PASSED = Check(command="pytest -q", outcome="pass", exit_code=0)
EDIT = Change(summary="edited a.py", paths=("a.py",))


def book(*events: Event) -> list[Entry]:
    """Entries as a book has them; the line of each is ten times its seq."""
    opened = LoopOpened(kind="change", intent="do it", definition=KIND.definition())
    return [
        Entry("loop:x", seq, event, START + timedelta(seconds=seq), line=10 * seq)
        for seq, event in enumerate((opened, *events), 1)
    ]


def audited(*events: Event, open_run: RunSettled | None = None, open_line: int | None = None) -> Audit:
    report = Report(open_run, open_line)
    for _ in report.lines(book(*events)):
        pass
    return report.audit(SESSION)


def says(text: str, *calls: Call) -> RunSettled:
    return RunSettled(run="r1", final_text=text, calls=calls, calls_total=len(calls))


def test_a_claim_is_held_against_the_last_known_result_and_names_it() -> None:
    [claim] = audited(EDIT, FAILED, says("All tests pass.")).claims
    assert claim.verdict == "contradicted"
    assert claim.check is not None
    assert (claim.check.command, claim.check.exit_code, claim.check.line) == ("pytest -q", 1, 30)
    assert (claim.line, claim.run, claim.open) == (40, "r1", False)


def test_a_claim_is_held_against_what_was_recorded_then_not_later() -> None:
    told = audited(EDIT, PASSED, says("All tests pass."), EDIT, FAILED)
    assert [claim.verdict for claim in told.claims] == ["supported"]
    told = audited(EDIT, FAILED, says("All tests pass."), PASSED)
    assert [claim.verdict for claim in told.claims] == ["contradicted"]


def test_a_claim_with_surely_no_check_is_unbacked() -> None:
    call = Call(ref="c", tool="Edit", kind="edit", produced=("a.py",))
    [claim] = audited(EDIT, says("All tests pass.", call)).claims
    assert claim.verdict == "unbacked"
    assert claim.check is None


def test_claims_of_the_open_last_run_are_weighed_and_the_state_stays_as_it_is() -> None:
    told = audited(EDIT, FAILED, open_run=says("All tests pass."), open_line=99)
    [claim] = told.claims
    assert (claim.verdict, claim.open, claim.line, claim.seq) == ("contradicted", True, 99, None)
    assert told.summary.runs == {}
    assert told.open_run is not None
    assert told.open_run.line == 99


def test_a_pass_that_a_writing_command_followed_is_marked_possibly_stale_and_still_counts() -> None:
    wrote = Call(ref="c", tool="Bash", kind="command", input="sed -i s/a/b/ a.py", check="no", writes=True)
    told = audited(EDIT, PASSED, says("All tests pass.", wrote))
    [claim] = told.claims
    assert (claim.verdict, claim.possibly_stale) == ("supported", True)
    assert [item.possibly_stale for item in told.timeline if item.what == "run"] == [True]
    assert (told.summary.possibly_stale, told.summary.verify) == (True, "passing")


def test_the_calls_of_the_open_run_are_part_of_the_record() -> None:
    unread = Call(ref="c", tool="Bash", kind="command", check="unsure")
    [claim] = audited(EDIT, open_run=says("All tests pass.", unread)).claims
    assert claim.verdict == "unknown"


def test_the_open_run_comes_last_among_the_claims() -> None:
    told = audited(EDIT, PASSED, says("All tests pass."), open_run=says("The linter is clean."))
    assert [claim.open for claim in told.claims] == [False, True]


def test_a_phase_line_stands_where_what_is_next_changes_and_nowhere_else() -> None:
    told = audited(Prompted(prompt="p", text="do it"), EDIT, EDIT, PASSED)
    phases = [(item.seq, item.text.partition(" (")[0]) for item in told.timeline if item.what == "phase"]
    assert phases == [(3, "next: verify"), (5, "next: review")]


def test_counts_are_of_all_that_happened() -> None:
    summary = audited(
        Prompted(prompt="p", text="do it"),
        TodoOpened(todo="a", subject="a"),
        TodoOpened(todo="b", subject="b", followup="issue 7"),
        TodoOpened(todo="c", subject="c"),
        TodoCompleted(todo="c"),
        ChildLinked(child="k"),
        ChildReported(child="k", ok=True),
        ChildLinked(child="m"),
        Source(locator="https://example.org"),
        EDIT,
        FAILED,
        PASSED,
        Check(command="ruff check", outcome="unknown", scope="lint", masked=True),
        says("done"),
    ).summary
    todos, children = summary.todos, summary.children
    assert (todos.opened, todos.completed, todos.open, todos.loose) == (3, 1, 2, 1)
    assert (children.linked, children.reported, children.out) == (2, 1, 1)
    assert (summary.changes, summary.sources, summary.prompts, summary.runs) == (
        1, 1, {"human": 1}, {"end": 1},
    )  # fmt: skip
    tests, lint = summary.checks
    assert (tests.passed, tests.failed, tests.unknown, tests.masked) == (1, 1, 0, 0)
    assert (lint.scope, lint.unknown, lint.masked) == ("lint", 1, 1)
    assert summary.verify == "passing"


def test_a_completed_todo_is_named_by_its_subject() -> None:
    told = audited(TodoOpened(todo="t1", subject="write the changelog"), TodoCompleted(todo="t1"))
    assert told.timeline[-1].text == 'completed: "write the changelog"'


def test_an_event_of_a_newer_writer_is_told_by_its_type() -> None:
    [item] = audited(Unknown(type="weather")).timeline
    assert (item.what, item.text) == ("other", "weather")


@given(st.integers(0, FIRST_ITEMS + LAST_ITEMS + 20))
def test_the_timeline_is_bounded_and_says_how_much_it_left_out(many: int) -> None:
    told = audited(*[Source(locator=str(n)) for n in range(many)])
    assert len(told.timeline) + told.timeline_left_out == many
    assert len(told.timeline) <= FIRST_ITEMS + LAST_ITEMS
    assert told.summary.sources == many
    if many:
        assert (told.timeline[0].text, told.timeline[-1].text) == ("0", str(many - 1))


def test_contradicted_claims_are_not_crowded_out_by_others() -> None:
    events = [EDIT, FAILED, says("All tests pass."), PASSED, *[says("All tests pass.")] * 500]
    told = audited(*events)
    assert told.claims[0].verdict == "contradicted"
    assert told.summary.claims["supported"] == 500
    assert len(told.claims) + told.claims_left_out == 501


def test_the_state_told_is_the_fold_of_the_entries() -> None:
    events = [EDIT, FAILED, PASSED, says("All tests pass.")]
    report = Report(open_run=says("more"))
    for _ in report.lines(book(*events)):
        pass
    assert report.state == fold(book(*events))
