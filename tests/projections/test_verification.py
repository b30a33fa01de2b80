"""Verification: second-thought.md §2 (verified, verify state), and the record claims are held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest

from loopbook import events as e
from loopbook.projections import EMPTY, BookState, fold, position, record_of, verify_state
from loopbook.projections.state import FAILING
from loopbook.projections.verification import RUNS_NOTHING
from loopbook.run import Call, ToolKind
from tests.projections.books import book, change, check, entries, fails, on, opened, passes

LINT_PASSES = passes("ruff check", "lint")
LINT_FAILS = fails("ruff check", "lint")


@pytest.mark.parametrize(("events", "word"), [
    ([], "none"),
    ([e.Source(locator="x")], "none"),
    ([change()], "stale"),
    ([passes(), change()], "stale"),
    ([passes()], "passing"),
    ([change(), passes()], "passing"),
    ([change(), passes("make", "build")], "passing"),
    ([change(), passes("read it", "manual")], "passing"),
    ([change(), LINT_PASSES], "unknown"),
    ([change(), passes("mypy", "types")], "unknown"),
    ([change(), passes("black --check .", "format")], "unknown"),
    ([change(), check("unknown")], "unknown"),
    ([change(), fails()], "failing"),
    ([change(), LINT_FAILS], "failing"),
    ([change(), passes(), LINT_FAILS], "failing"),
    ([change(), passes(), fails()], "failing"),
    ([change(), fails(), passes()], "passing"),
    ([fails(), change(), passes("pytest tests/a")], "passing"),
])  # fmt: skip
def test_verify_state_is_the_first_that_holds(events: Sequence[e.Event], word: str) -> None:
    assert verify_state(book(*events)) == word


def test_a_failure_is_answered_by_the_same_check_or_by_the_whole_and_by_nothing_else() -> None:
    state = book(change(), fails("pytest tests/a"), passes("pytest tests/b"))
    assert verify_state(state) == "failing"
    assert verify_state(on(state, passes("pytest tests/a"))) == "passing"
    assert verify_state(on(state, passes("pytest"))) == "passing"
    assert verify_state(on(state, passes("make", "build"))) == "failing"


def test_a_part_that_passes_does_not_answer_the_whole_that_failed() -> None:
    assert verify_state(book(change(), fails("pytest"), passes("pytest tests/a"))) == "failing"


def test_the_same_check_that_fails_twice_is_one_failure_the_newer() -> None:
    record = record_of(
        book(change(), fails("pytest tests/a"), fails(), fails("pytest -q"), fails("pytest tests/b"))
    )
    assert [(ran.command, ran.seq) for ran in record.failing] == [("pytest -q", 5), ("pytest tests/b", 6)]


def test_an_unknown_outcome_never_votes() -> None:
    assert verify_state(book(change(), passes(), check("unknown"))) == "passing"
    assert verify_state(book(change(), fails(), check("unknown"))) == "failing"


def test_the_record_says_what_failed_what_passed_and_what_was_before() -> None:
    state = book(
        passes("pytest -q"), LINT_FAILS, change(), fails(), passes("make", "build"), check("unknown")
    )
    record = record_of(state)
    assert [(ran.command, ran.seq) for ran in record.failing] == [("pytest", 5)]
    assert {scope: ran.outcome for scope, ran in record.newest.items()} == {
        "tests": "unknown",
        "build": "pass",
    }
    assert {scope: ran.seq for scope, ran in record.passing.items()} == {"build": 6}
    assert {scope: ran.outcome for scope, ran in record.before.items()} == {"tests": "pass", "lint": "fail"}
    assert record.last_change == 4
    assert record_of(on(state, change())).before["tests"].outcome == "unknown"


def test_a_check_is_kept_with_where_it_stands_and_who_ran_it() -> None:
    failed = e.Check(command="pytest", outcome="fail", exit_code=1, runner="pytest", masked=True, by="scout")
    opening, entry = entries([opened(), failed])
    (ran,) = record_of(fold([opening, entry._replace(line=7)])).failing
    assert (ran.seq, ran.line, ran.scope, ran.exit_code, ran.runner, ran.masked, ran.by) == (
        2,
        7,
        "tests",
        1,
        "pytest",
        True,
        "scout",
    )


def test_the_record_says_where_the_last_change_stands_also_after_checks() -> None:
    opening, changing, *checks = entries([opened(), change(), fails(), passes(), check("unknown")])
    record = record_of(fold([opening, changing._replace(line=9), *checks]))
    assert (record.last_change, record.last_change_line) == (2, 9)
    assert record_of(book()).last_change is None


def test_the_record_is_of_the_whole_book_whatever_the_unit() -> None:
    units = (e.UnitAdded(unit="a", subject="a"), e.UnitAdded(unit="b", subject="b"))
    state = book(*units, (change(), "a"), (fails(), "b"))
    assert len(record_of(state).failing) == 1
    assert (verify_state(state), verify_state(state, "a"), verify_state(state, "b")) == (
        "failing",
        "stale",
        "failing",
    )


def test_of_very_many_failures_the_newest_are_kept() -> None:
    state = book(change(), *(fails(f"pytest tests/{n}") for n in range(FAILING + 5)))
    record = record_of(state)
    assert len(record.failing) == FAILING
    assert record.failing[-1].command == f"pytest tests/{FAILING + 4}"


# --- what the calls of a run say ------------------------------------------------------------


def _run(*calls: Call, total: int | None = None) -> e.RunSettled:
    return e.RunSettled(run="r1", calls=calls, calls_total=len(calls) if total is None else total)


def _call(kind: ToolKind = "command", **fields: object) -> Call:
    return Call.model_validate({"ref": "1", "tool": "Tool", "kind": kind, **fields})


EDIT = _call("edit", produced=("a.py",))
ALL: frozenset[ToolKind] = frozenset(get_args(ToolKind))
LISTS = _call(check="no")
TESTS = _call(check="yes", outcome="pass")
PERHAPS = _call(check="unsure")
WRITES = _call(check="no", writes=True)


def _surely(*then: e.Event, before: BookState | None = None) -> bool:
    return record_of(on(before or book(change()), *then)).surely_no_check


def test_no_check_was_run_is_sure_when_every_command_is_recognised_as_none() -> None:
    assert _surely(_run(LISTS, _call("read"), _call("todos")))
    assert _surely(_run())
    assert record_of(EMPTY).surely_no_check, "where nothing happened, no check did"


@pytest.mark.parametrize(
    "call", [TESTS, PERHAPS, *(Call(ref="1", tool="T", kind=kind) for kind in sorted(ALL - RUNS_NOTHING))]
)
def test_anything_doubtful_ends_that(call: Call) -> None:
    assert not _surely(_run(LISTS, call, LISTS))
    assert not _surely(_run(call), e.RunSettled(run="r2")), "also for the runs that follow"


def test_a_call_that_never_ran_is_no_doubt() -> None:
    assert _surely(_run(_call(check="yes", ran=False)))
    assert not _surely(_run(PERHAPS, _call(check="yes", ran=False))), "and hides none that ran before it"


def test_what_was_called_before_the_runs_own_change_is_no_doubt() -> None:
    started = book()
    assert _surely(change(), _run(TESTS, PERHAPS, EDIT, LISTS), before=started)
    assert not _surely(change(), _run(EDIT, PERHAPS), before=started)


def test_an_edit_of_which_the_book_has_no_change_hides_nothing() -> None:
    state = on(book(change()), _run())
    assert not _surely(_run(PERHAPS, EDIT), before=state)
    assert not _surely(_run(PERHAPS, EDIT), before=book()), "nor in the first run of a book"
    assert _surely(change(), _run(PERHAPS, EDIT), before=EMPTY), "but a change that is its first entry does"


def test_calls_that_were_not_kept_might_have_been_checks() -> None:
    assert not _surely(_run(LISTS, total=300))
    assert _surely(change(), _run(LISTS, EDIT, LISTS, total=300), before=book())


def test_a_check_in_the_book_or_a_childs_report_ends_it_too() -> None:
    assert not _surely(check("unknown"), _run(EDIT, LISTS))
    assert not _surely(e.ChildReported(child="c1", ok=True), _run(LISTS))
    assert _surely(change(), before=book(change(), e.ChildReported(child="c1", ok=True)))


def test_a_change_begins_afresh() -> None:
    assert _surely(change(), before=book(change(), _run(PERHAPS)))


@pytest.mark.parametrize("kind", sorted(RUNS_NOTHING))
def test_tools_that_run_nothing_raise_no_doubt(kind: ToolKind) -> None:
    assert _surely(_run(_call(kind)))


def _stale(*then: e.Event) -> bool:
    return record_of(book(change(), *then)).possibly_stale


def test_a_command_that_may_write_after_the_last_pass_leaves_it_possibly_stale() -> None:
    assert _stale(passes(), _run(TESTS, WRITES))
    assert _stale(passes(), _run(TESTS), _run(WRITES, LISTS))
    assert _stale(passes(), _run(WRITES), _run(LISTS)), "what writes nothing mends nothing"
    assert not _stale(passes(), _run(WRITES, TESTS))
    assert not _stale(passes(), _run(TESTS, LISTS, _call(writes=True, ran=False)))


def test_only_a_check_that_passed_answers_for_what_was_written() -> None:
    assert _stale(passes(), _run(_call(check="no", outcome="pass", writes=True)))
    assert _stale(passes(), _run(_call(check="yes", outcome="fail", writes=True)))
    assert _stale(passes(), _run(WRITES, _call(check="yes", outcome="pass", ran=False)))
    assert _stale(passes(), _run(TESTS, WRITES), check("unknown"))


def test_a_later_pass_or_a_change_ends_it() -> None:
    assert not _stale(passes(), _run(TESTS, WRITES), passes())
    assert not _stale(passes(), _run(TESTS, WRITES), change())
    assert not _stale(_run(WRITES)), "nothing has passed that could be stale"


def test_possibly_stale_moves_no_phase() -> None:
    state = book(change(), passes(), _run(TESTS, WRITES))
    assert verify_state(state) == "passing"


def test_a_whole_run_that_passed_is_remembered_behind_the_runs_of_parts_until_something_changes() -> None:
    whole, part = passes("pytest"), passes("pytest tests/a.py")
    state = book(change(), whole, part)
    remembered = record_of(state).whole
    assert remembered is not None
    assert (remembered.command, record_of(state).passing["tests"].command) == ("pytest", "pytest tests/a.py")
    assert record_of(book(change(), part)).whole is None
    assert record_of(book(change(), passes("ruff check && pytest tests/a.py"))).whole is None
    assert record_of(on(state, change())).whole is None


NONE = "no passing check (tests, build, manual) since the last change"


@pytest.mark.parametrize(
    ("events", "missing"),
    [
        ([change()], (NONE,)),
        ([change(), fails("pytest")], (NONE, "`pytest` failed")),
        ([change(), passes(), fails("ruff  check\n.", "lint")], ("`ruff check .` failed",)),
        ([change(), passes(), fails("pytest " + "x" * 80)], (f"`pytest {'x' * 53}` failed",)),
        (
            [change(), passes("make", "build"), *(fails(f"pytest tests/{name}") for name in "abcd")],
            (*(f"`pytest tests/{name}` failed" for name in "bcd"), "+1 more failed"),
        ),
    ],
)
def test_what_is_missing_names_what_failed_and_says_that_nothing_passed_only_where_nothing_did(
    events: list[e.Event], missing: tuple[str, ...]
) -> None:
    assert position(book(*events)).missing == missing
