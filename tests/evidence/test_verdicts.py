"""Every branch of the verdict, and what no record may ever lead to."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loopbook.events import Outcome, Scope
from loopbook.evidence.claims import Claim
from loopbook.evidence.phrases import SUBJECTS, Category
from loopbook.evidence.record import Ran, Record
from loopbook.evidence.runner_table import RUNNERS
from loopbook.evidence.verdicts import ALSO_SUPPORTED_BY, COMPILING, SCOPES, TYPED, Verdict, weigh


def ran(
    command: str,
    outcome: Outcome,
    scope: Scope = "tests",
    *,
    seq: int,
    runner: str | None = None,
    exit_code: int | None = None,
) -> Ran:
    """A result at ``seq``; its line in the file is ten times that."""
    return Ran(
        scope, command, outcome, exit_code, runner or command.partition(" ")[0], seq=seq, line=seq * 10
    )


def record(
    *runs: Ran, answered: tuple[Ran, ...] = (), before: tuple[Ran, ...] = (), stale: bool = False
) -> Record:
    """What a book knows after these runs since the change of entry 1, line 10."""
    return Record(
        failing=tuple(r for r in runs if r.outcome == "fail" and r not in answered),
        newest={r.scope: r for r in runs},
        passing={r.scope: r for r in runs if r.outcome == "pass"},
        before={r.scope: r for r in before},
        last_change=1,
        last_change_line=10,
        surely_no_check=not runs,
        possibly_stale=stale,
    )


def claim(category: Category, *subject: str, partial: bool = False, hedged: bool = False) -> Claim:
    """A claim of that width."""
    return Claim("…", category, partial or bool(subject) or hedged, subject, 0, hedged)


ALL_TESTS = claim("tests")
FAILED = ran("npm test", "fail", seq=5, exit_code=1)
PASSED = ran("npm test", "pass", seq=6)
UNREAD = ran("npm test", "unknown", seq=7)


# --- all of them ---------------------------------------------------------------------------


def test_a_pass_with_nothing_failing_supports() -> None:
    assert weigh(ALL_TESTS, record(PASSED)) == Verdict("supported", "`npm test` passed, line 60", PASSED)


def test_a_failure_that_was_answered_by_a_pass_supports() -> None:
    assert weigh(ALL_TESTS, record(FAILED, PASSED, answered=(FAILED,))).verdict == "supported"


def test_a_pass_that_may_be_stale_supports_and_says_so() -> None:
    verdict = weigh(ALL_TESTS, record(PASSED, stale=True))
    assert verdict == Verdict(
        "supported", "`npm test` passed, line 60; files may have been written since", PASSED
    )


def test_the_last_run_failing_contradicts_naming_command_exit_and_line() -> None:
    verdict = weigh(ALL_TESTS, record(FAILED))
    assert verdict == Verdict("contradicted", "the last test run failed: `npm test`, exit 1, line 50", FAILED)


def test_a_failure_with_no_exit_code_and_no_line_names_its_entry() -> None:
    failed = Ran("tests", "npm test", "fail", seq=5)
    assert weigh(ALL_TESTS, record(failed)).reason == "the last test run failed: `npm test`, entry 5"


def test_a_failure_after_a_pass_contradicts() -> None:
    again = ran("npm test", "fail", seq=9, exit_code=1)
    assert weigh(ALL_TESTS, record(PASSED, again)).ran is again


def test_an_unanswered_failure_of_the_same_runner_contradicts_after_another_pass() -> None:
    part = ran("pytest tests/a", "fail", seq=3, exit_code=1)
    other = ran("pytest tests/b", "pass", seq=4)
    verdict = weigh(ALL_TESTS, record(part, other))
    assert verdict == Verdict(
        "contradicted", "`pytest tests/a` failed, exit 1, line 30, and has not passed since", part
    )


def test_an_unanswered_failure_of_another_runner_leaves_it_unknown() -> None:
    assert weigh(ALL_TESTS, record(FAILED, ran("vitest run", "pass", seq=6))).verdict == "unknown"


def test_a_result_nobody_could_read_neither_supports_nor_contradicts() -> None:
    verdict = weigh(ALL_TESTS, record(UNREAD))
    assert verdict == Verdict("unknown", "the outcome of `npm test` could not be read", UNREAD)


def test_an_unread_result_after_a_failure_is_not_called_the_last_run() -> None:
    verdict = weigh(ALL_TESTS, record(FAILED, UNREAD))
    assert verdict.reason.startswith("the last test run with a known outcome failed: ")


def test_surely_nothing_run_is_unbacked() -> None:
    assert weigh(ALL_TESTS, record()) == Verdict(
        "unbacked", "no check was run since the last change, line 10", None
    )
    assert weigh(ALL_TESTS, Record()) == Verdict("unbacked", "no check was run", None)


def test_a_result_from_before_the_change_is_told_and_backs_nothing() -> None:
    verdict = weigh(ALL_TESTS, record(before=(PASSED,)))
    assert verdict.verdict == "unbacked"
    assert verdict.reason == "no check was run since the last change, line 10; `npm test` passed before it"


def test_nothing_run_for_sure_is_needed_for_unbacked() -> None:
    verdict = weigh(ALL_TESTS, record()._replace(surely_no_check=False))
    assert verdict == Verdict("unknown", "no test run is known since the last change, line 10", None)


# --- of a part, or with an exception --------------------------------------------------------


WHOLE = ran("pytest", "fail", seq=5, exit_code=1)


def test_a_failure_of_all_says_nothing_of_a_part() -> None:
    assert weigh(claim("tests", "parser"), record(WHOLE)).verdict == "unknown"


@pytest.mark.parametrize("subject", [("parser",), ("Parsers",), ("tests/test_parser.py",), ("new", "parser")])
def test_a_failing_check_that_names_the_part_contradicts(subject: tuple[str, ...]) -> None:
    failed = ran("pytest tests/test_parser.py", "fail", seq=5, exit_code=1)
    assert weigh(claim("tests", *subject), record(failed)).verdict == "contradicted"


@pytest.mark.parametrize("subject", [("lexer",), ("new",), ("existing",), ("tests/",), ("pars",)])
def test_a_failing_check_that_names_something_else_does_not(subject: tuple[str, ...]) -> None:
    failed = ran("pytest tests/test_parser.py", "fail", seq=5, exit_code=1)
    assert weigh(claim("tests", *subject), record(failed)).verdict == "unknown"


def test_a_pass_of_the_part_supports_whatever_else_fails() -> None:
    part = ran("pytest tests/test_parser.py", "pass", seq=6)
    assert weigh(claim("tests", "parser"), record(WHOLE, part)) == Verdict(
        "supported", "`pytest tests/test_parser.py` passed, line 60", part
    )


def test_a_failure_of_the_part_after_its_pass_contradicts() -> None:
    passed = ran("pytest tests/test_parser.py", "pass", seq=6)
    failed = ran("pytest tests/test_parser.py -x", "fail", seq=7, exit_code=1)
    assert weigh(claim("tests", "parser"), record(passed, failed)).verdict == "contradicted"


def test_a_part_is_supported_by_a_pass_with_nothing_failing() -> None:
    assert weigh(claim("tests", "parser"), record(PASSED)).verdict == "supported"


def test_a_count_speaks_of_the_newest_run() -> None:
    counted = claim("tests", partial=True)
    part, other = ran("pytest tests/a", "fail", seq=3), ran("pytest tests/b", "pass", seq=4)
    assert weigh(counted, record(part, other)).ran is other
    assert weigh(counted, record(other, ran("pytest tests/a", "fail", seq=5))).verdict == "contradicted"


@pytest.mark.parametrize("subject", [(), ("parser",)])
def test_an_exception_is_never_contradicted(subject: tuple[str, ...]) -> None:
    failed = ran("pytest tests/test_parser.py", "fail", seq=5, exit_code=1)
    assert weigh(claim("tests", *subject, hedged=True), record(failed)).verdict == "unknown"


# --- all of them, where a part was run ------------------------------------------------------


WHOLLY = Claim("All tests pass.", "tests", universal=True)
PART = ran("pytest tests/test_parser.py", "pass", seq=6)


def test_all_of_them_are_not_supported_by_a_run_of_one_file() -> None:
    assert weigh(WHOLLY, record(PART)) == Verdict(
        "unknown",
        "of all tests only a part is known to have passed: `pytest tests/test_parser.py`, line 60",
        PART,
    )


def test_all_checks_are_not_supported_by_tests_of_one_file_alone() -> None:
    wholly = Claim("Everything passes.", "checks", universal=True)
    assert weigh(wholly, record(PART)).verdict == "unknown"
    assert weigh(wholly, record(PART, ran("ruff check", "pass", "lint", seq=7))).verdict == "unknown"
    assert weigh(wholly, record(ran("ruff check", "pass", "lint", seq=7))).verdict == "supported"


def test_tests_that_are_not_said_to_be_all_are_supported_by_a_run_of_one_file() -> None:
    assert weigh(ALL_TESTS, record(PART)).verdict == "supported"
    assert weigh(claim("tests", "parser"), record(PART)).verdict == "supported"


def test_all_of_them_are_supported_by_a_whole_run_though_a_part_ran_after_it() -> None:
    whole = ran("pytest", "pass", seq=5)
    assert weigh(WHOLLY, record(whole)) == weigh(ALL_TESTS, record(whole))
    assert weigh(WHOLLY, record(whole, PART)._replace(whole=whole)).ran is whole


def test_a_run_of_one_file_that_failed_contradicts_all_of_them() -> None:
    assert weigh(WHOLLY, record(ran("pytest tests/test_parser.py", "fail", seq=6))).verdict == "contradicted"


# --- the categories ------------------------------------------------------------------------


@pytest.mark.parametrize("category", ["build", "lint", "types", "format"])
def test_each_category_is_held_against_its_own_scope(category: Category) -> None:
    (scope,) = SCOPES[category]
    assert weigh(claim(category), record(ran("x", "pass", scope, seq=2))).verdict == "supported"
    assert weigh(claim(category), record(ran("x", "fail", scope, seq=2))).verdict == "contradicted"
    assert weigh(claim(category), record(FAILED)).verdict == "unknown"


def test_tests_of_a_compiled_language_support_its_build_and_its_types() -> None:
    passed = ran("cargo test", "pass", seq=2, runner="cargo test")
    assert weigh(claim("build"), record(passed)).verdict == "supported"
    assert weigh(claim("types"), record(passed)).verdict == "supported"
    assert (
        weigh(claim("types"), record(ran("mix test", "pass", seq=2, runner="mix test"))).verdict == "unknown"
    )


@pytest.mark.parametrize("category", ["build", "types", "lint"])
def test_other_tests_support_no_build_no_types_and_no_lint(category: Category) -> None:
    assert weigh(claim(category), record(PASSED)).verdict == "unknown"


def test_no_tests_support_lint_and_none_contradict_it() -> None:
    passed = ran("cargo test", "pass", seq=2, runner="cargo test")
    assert weigh(claim("lint"), record(passed)).verdict == "unknown"


def test_a_type_check_supports_what_is_called_lint_but_contradicts_none() -> None:
    assert weigh(claim("lint"), record(ran("ty check", "pass", "types", seq=2))).verdict == "supported"
    assert weigh(claim("lint"), record(ran("ty check", "fail", "types", seq=2))).verdict == "unknown"


def test_a_pass_with_a_failure_beside_it_stands_in_for_nothing() -> None:
    runs = (ran("mypy a", "fail", "types", seq=2), ran("mypy b", "pass", "types", seq=3))
    assert weigh(claim("lint"), record(*runs)).verdict == "unknown"


def test_the_newest_result_counts_even_where_the_failing_are_cut_short() -> None:
    assert weigh(ALL_TESTS, record(FAILED, answered=(FAILED,))).verdict == "contradicted"


def test_a_lint_failure_outweighs_a_type_check() -> None:
    runs = (ran("ruff check", "fail", "lint", seq=2), ran("ty check", "pass", "types", seq=3))
    assert weigh(claim("lint"), record(*runs)).verdict == "contradicted"


def test_all_checks_are_contradicted_by_any_and_supported_by_one() -> None:
    lint = ran("ruff check", "fail", "lint", seq=2, exit_code=1)
    assert weigh(claim("checks"), record(lint, PASSED)) == Verdict(
        "contradicted", "the last lint run failed: `ruff check`, exit 1, line 20", lint
    )
    assert weigh(claim("checks"), record(PASSED)).verdict == "supported"
    assert weigh(claim("checks"), record(UNREAD)).verdict == "unknown"


def test_a_long_command_is_quoted_short_and_on_one_line() -> None:
    verdict = weigh(ALL_TESTS, record(ran("npm test\n" + "x" * 500, "fail", seq=2)))
    assert len(verdict.reason) < 150
    assert "\n" not in verdict.reason


def test_the_tables_speak_of_known_categories_scopes_and_runners() -> None:
    assert set(SCOPES) == set(SUBJECTS)
    scopes = set(get_args(Scope))
    assert all(set(named) <= scopes for named in [*SCOPES.values(), *ALSO_SUPPORTED_BY.values()])
    assert {runner.name for runner in RUNNERS} >= COMPILING | TYPED


# --- always and never ---------------------------------------------------------------------------


COMMANDS = st.sampled_from(
    ["npm test", "pytest", "pytest tests/test_parser.py", "ruff check", "cargo test", "make"]
)
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(["pass", "fail", "unknown"])
CLAIMED: st.SearchStrategy[Scope] = st.sampled_from(["tests", "build", "lint", "types", "format"])
RUNS = st.lists(st.tuples(COMMANDS, OUTCOMES, CLAIMED), max_size=6).map(
    lambda rows: tuple(
        ran(command, outcome, scope, seq=i + 2) for i, (command, outcome, scope) in enumerate(rows)
    )
)
RECORDS = st.builds(
    lambda runs, before, stale, answered: record(*runs, before=before, stale=stale, answered=runs[:answered]),
    RUNS, RUNS, st.booleans(), st.integers(0, 6),
)  # fmt: skip
CLAIMS = st.builds(
    Claim,
    st.just("…"),
    st.sampled_from(list(SUBJECTS)),
    st.booleans(),
    st.sampled_from([(), ("parser",), ("lexer",)]),
    st.just(0),
    st.booleans(),
    st.booleans(),
)


@given(CLAIMS, RECORDS)
def test_contradicted_only_by_a_failure_and_supported_only_by_a_pass(claim: Claim, record: Record) -> None:
    verdict = weigh(claim, record)
    if verdict.verdict == "contradicted":
        assert verdict.ran is not None
        assert verdict.ran.outcome == "fail"
        assert not claim.hedged
        assert "fail" in verdict.reason
    if verdict.verdict == "supported":
        assert verdict.ran is not None
        assert verdict.ran.outcome == "pass"
    assert verdict.reason


@given(CLAIMS, RECORDS, st.booleans())
def test_unbacked_only_when_surely_no_check_was_run(claim: Claim, record: Record, sure: bool) -> None:
    record = record._replace(surely_no_check=sure)
    if weigh(claim, record).verdict == "unbacked":
        assert sure
        assert not record.newest


@given(CLAIMS, RECORDS, CLAIMED)
def test_an_unknown_result_changes_no_known_verdict(claim: Claim, record: Record, scope: Scope) -> None:
    assume(record.newest)
    unread = ran("x", "unknown", scope, seq=50)
    old = record.newest.get(scope)
    # A failure that is only the newest of its scope stays among those that are not answered.
    assume(old is None or old.outcome != "fail" or old in record.failing)
    after = weigh(claim, record._replace(newest={**record.newest, scope: unread}))
    before = weigh(claim, record)
    assert (before.verdict, before.ran) == (
        after.verdict,
        after.ran,
    ) or before.verdict == "unknown" == after.verdict


@given(CLAIMS, RECORDS)
def test_what_came_before_the_change_decides_nothing(claim: Claim, record: Record) -> None:
    assert weigh(claim, record).verdict == weigh(claim, record._replace(before={})).verdict
