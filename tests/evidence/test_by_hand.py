"""A check that is recorded by hand is read by the audit's own rules."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loopbook.evidence.by_hand import Counted, counted
from loopbook.evidence.calls import CallResult
from loopbook.evidence.outcomes import outcomes
from tests.evidence.shell_strategies import around

ENDS = {
    ("! pytest", 0): "fail",
    ("! pytest", 1): "pass",
    ("! ./verify-all", 0): "fail",
    ("if pytest; then exit 1; fi", 0): "fail",
    ("pytest", 5): "unknown",  # no tests were collected
    ("ruff check && pytest", 0): "pass",
    ("ruff check && pytest", 1): "fail",  # one of them, whichever
    ("npm install && pytest", 1): "unknown",
    ("echo checked by eye", 1): "fail",  # whoever calls it a check means the line
}


@pytest.mark.parametrize(("command", "code"), ENDS)
def test_the_outcome_is_what_the_line_lets_the_exit_code_tell(command: str, code: int) -> None:
    told = counted(command, code, "")
    assert (told.outcome, told.masked) == (ENDS[command, code], False)


@pytest.mark.parametrize(
    "command",
    ["true || pytest", "pytest | tail", "trap 'exit 0' EXIT; pytest", "make -i test", "pytest )("],
)
def test_where_the_check_never_ran_or_its_exit_is_lost_nothing_is_known_and_nothing_contradicted(
    command: str,
) -> None:
    assert counted(command, 0, "") == Counted("tests", "unknown", masked=True)


def test_what_cannot_have_been_is_never() -> None:
    assert counted("pytest", 5, "").never == {"pass"}
    assert counted("npm install && pytest", 1, "").never == {"pass"}
    assert counted("pytest && ./deploy.sh", 1, "").never == set()
    assert counted("! pytest", 0, "").never == {"pass"}


@given(
    st.recursive(
        st.sampled_from(["pytest", "true", "false", "other"]), lambda inner: around(inner, loops=True)
    ),
    st.sampled_from([0, 1, 5, 127]),
    st.sampled_from(["", "== 2 passed in 0.1s ==", "== 1 failed, 2 passed in 0.1s =="]),
)
@example("! pytest", 0, "")
def test_of_one_check_nothing_else_is_said_than_an_audit_says(line: str, code: int, output: str) -> None:
    audit = outcomes(line, CallResult("error" if code else "ok", output, code)).checks
    if line.count("pytest") != 1 or len(audit) != 1:
        return
    told = counted(line, code, output)
    assert (told.outcome, told.masked) == (audit[0].outcome, audit[0].masked)
    assert told.outcome not in told.never
