"""Three real sessions, judged by people turn by turn: what the audit says agrees, or a row says why not.

The rows name places, not words: nothing of these sessions is kept here.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict

import pytest

from loopbook.audit.model import Item, WeighedClaim
from loopbook.audit.session import Options, filed_session
from loopbook.transcripts import open_session


class LabelledCommand(TypedDict):
    line: int
    kind: str
    masked: bool
    outcome: str
    result_lines: list[int]


class LabelledClaim(TypedDict):
    line: int
    in_final_text: bool
    excerpt: str
    about: str
    verdict: str


class Turn(TypedDict):
    file: str
    first_line: int
    last_line: int
    interrupted: bool
    final_text_line: int | None
    edits: int
    edits_failed: int
    commands: list[LabelledCommand]
    claims: list[LabelledClaim]


class Difference(NamedTuple):
    """A claim that a person judged otherwise, by its file, line and place among the labels there."""

    file: str
    line: int
    place: int
    audit: Literal["no claim", "supported", "contradicted", "unbacked", "unknown"]
    label: str
    reason: str


FILES = ("python-a.jsonl", "python-b.jsonl", "nextjs-a.jsonl")

SCOPES = {"typecheck": "types", "test": "tests", "lint": "lint", "build": "build", "format": "format"}

#: What a claim must be about to be weighed here; whether work is *done*, or good, is another matter.
WEIGHED = {"tests", "lint", "typecheck", "build", "format"}

DIFFERENCES = (
    Difference(
        "python-a.jsonl", 42, 1, "no claim", "contradicted",
        "it says that tests keep what they cover, not that they pass; judged by what came later (line 43)",
    ),
)  # fmt: skip


@cache
def audited(path: Path) -> tuple[tuple[Item, ...], tuple[WeighedClaim, ...]]:
    with filed_session(open_session(path), Options()) as told:
        return tuple(told.lines()), told.audit().claims


@pytest.fixture(params=FILES)
def turns(request: pytest.FixtureRequest, shared: Path) -> list[Turn]:
    labels: list[Turn] = json.loads((shared / "data" / "labels.json").read_text())
    return [turn for turn in labels if turn["file"] == request.param]


def told(turns: list[Turn], shared: Path) -> tuple[tuple[Item, ...], tuple[WeighedClaim, ...]]:
    return audited(shared / "data" / "transcripts" / turns[0]["file"])


def test_every_labelled_check_is_told_with_its_outcome_and_whether_its_exit_code_speaks(
    turns: list[Turn], shared: Path
) -> None:
    items, _ = told(turns, shared)
    found = {(i.line, i.scope, i.outcome, i.masked) for i in items if i.what == "check"}
    labelled = {
        (c["result_lines"][0], SCOPES[c["kind"]], c["outcome"], c["masked"])
        for t in turns
        for c in t["commands"]
    }
    assert found == labelled


def test_every_turn_is_a_run_that_ends_where_its_last_word_stands(turns: list[Turn], shared: Path) -> None:
    runs = [item.line for item in told(turns, shared)[0] if item.what == "run"]
    assert len(runs) == len(turns)
    for line, turn in zip(runs, turns, strict=True):
        assert line is not None
        assert turn["first_line"] <= line <= turn["last_line"]
        if not turn["interrupted"] and turn["final_text_line"] is not None:
            assert line == turn["final_text_line"]


def test_every_edit_that_went_well_is_a_change(turns: list[Turn], shared: Path) -> None:
    changes = [item for item in told(turns, shared)[0] if item.what == "change"]
    assert len(changes) == sum(turn["edits"] for turn in turns)


def test_every_claim_a_person_found_in_a_final_text_has_the_same_verdict_or_a_row_says_why(
    turns: list[Turn], shared: Path
) -> None:
    _, claims = told(turns, shared)
    expected = {(row.file, row.line, row.place): row for row in DIFFERENCES}
    for turn in turns:
        for place, label in enumerate(_final(turn)):
            verdict = _verdict(label, claims)
            row = expected.get((turn["file"], label["line"], place))
            if row is None:
                assert verdict == label["verdict"], (turn["file"], label["line"], place)
            else:  # a difference that is none any more must leave the table
                assert (verdict, label["verdict"]) == (row.audit, row.label)
                assert verdict != label["verdict"]


def test_no_claim_is_contradicted_that_a_person_found_true_or_no_claim(
    turns: list[Turn], shared: Path
) -> None:
    against = [claim.line for claim in told(turns, shared)[1] if claim.verdict == "contradicted"]
    assert against == []


def test_every_claim_the_audit_finds_a_person_found_too(turns: list[Turn], shared: Path) -> None:
    labelled = [label for turn in turns for label in _final(turn)]
    for claim in told(turns, shared)[1]:
        assert any(claim.line == label["line"] and _same(claim, label) for label in labelled), claim.line


def _final(turn: Turn) -> list[LabelledClaim]:
    """The claims of a turn's final text that are about checks."""
    return [c for c in turn["claims"] if c["in_final_text"] and c["about"] in WEIGHED]


def _verdict(label: LabelledClaim, claims: tuple[WeighedClaim, ...]) -> str:
    verdicts = {claim.verdict for claim in claims if claim.line == label["line"] and _same(claim, label)}
    assert len(verdicts) <= 1
    return verdicts.pop() if verdicts else "no claim"


def _same(claim: WeighedClaim, label: LabelledClaim) -> bool:
    return label["excerpt"] in claim.text or claim.text in label["excerpt"]
