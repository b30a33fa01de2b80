"""The words of an audit's text: nothing that was not asked for, nothing that is not explained."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loopbook.audit import model as m
from loopbook.audit.render import LEGEND
from loopbook.cli import main
from tests.audit.samples import an_audit
from tests.audit.test_cli import FALSE, HONEST, _own_settings
from tests.audit.test_render import written

__all__ = ["_own_settings"]


def lines(text: str, what: str) -> Iterator[str]:
    """The lines of the timeline that are about one thing."""
    return (line for line in text.splitlines() if line[17:].startswith(f"  {what} "))


def test_without_the_timeline_neither_heading_nor_left_out_lines_are_printed(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", FALSE, "--no-timeline"]) == 0
    text = capsys.readouterr().out
    assert "timeline" not in text
    assert "left out" not in text
    assert "claims" in text


def test_two_claims_of_one_sentence_differ_by_what_they_are_about() -> None:
    one = m.WeighedClaim(text="Tests and lint pass", category="tests", verdict="unknown", reason="x")
    both = (one, one.model_copy(update={"category": "lint"}))
    text = written(an_audit().model_copy(update={"claims": both}))
    assert 'said "Tests and lint pass" (tests)' in text
    assert 'said "Tests and lint pass" (lint)' in text


def test_a_claims_line_in_the_timeline_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", HONEST]) == 0
    told = list(lines(capsys.readouterr().out, "claim"))
    assert told
    assert all("supported, tests: " in line for line in told)


def test_todos_are_told_by_their_subjects_not_by_made_up_ids(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", FALSE]) == 0
    text = capsys.readouterr().out
    assert 'completed: "Run the tests"' in text
    assert 'opened: "Run the tests"' in text
    assert "todo-" not in text


def test_the_marks_that_occur_are_explained_and_no_others() -> None:
    text = written(an_audit())
    assert "\nmarks\n" in text
    for mark in ("possibly stale", "run not settled", "of a part"):
        assert f"  {mark}: {LEGEND[mark]}" in text
    assert "exit code masked: " not in text
    check = m.CheckRef(command="x | tail", outcome="fail", scope="tests", masked=True)
    plain = {"partial": False, "open": False, "possibly_stale": False, "check": check}
    [claim] = an_audit().claims
    masked = an_audit().model_copy(update={"claims": (claim.model_copy(update=plain),)})
    assert written(masked).partition("\nmarks\n")[2].startswith("  exit code masked: ")
    without = masked.model_copy(
        update={"claims": (claim.model_copy(update={**plain, "check": None}),), "timeline": ()}
    )
    assert "\nmarks\n" not in written(without)


def test_a_session_whose_only_run_is_open_says_that_alone() -> None:
    audit = an_audit()
    summary = audit.summary.model_copy(update={"runs": {}})
    text = written(audit.model_copy(update={"summary": summary}))
    assert "runs       1 open, 4 calls so far" in text


def test_equal_problems_are_one_line_with_their_first_lines_and_their_number() -> None:
    same = tuple(m.FileProblem(line=line, text="not a JSON object") for line in range(1, 21))
    other = m.FileProblem(line=9, text="torn")
    text = written(an_audit().model_copy(update={"problems": (*same[:9], other, *same[9:])}))
    assert "  lines 1, 2, 3, 4, 5 and 15 more: not a JSON object\n  line 9: torn\n" in text
