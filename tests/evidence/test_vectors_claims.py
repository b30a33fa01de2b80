"""The cases of an earlier system, replayed; where ours differs on purpose the reason stands here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loopbook.events import Outcome, Scope
from loopbook.evidence.claims import find_claims
from loopbook.evidence.record import Ran, Record
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.verdicts import weigh

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "claims.json").read_text(encoding="utf-8")
)

#: Its words for ours.
CATEGORY = {"tests": "test", "build": "build", "lint": "lint", "types": "lint"}
BASIS = {"unbacked": "no_command", "contradicted": "not_passed"}


class Difference(NamedTuple):
    """A claim that ends otherwise here: what we flag instead, and why that is right."""

    flagged: list[tuple[str, str]]
    reason: str


NO_TESTS = [("test", "no_command")]
#: By claim and whether tests ran.
DIFFERENCES = {
    ("All tests pass.", True): Difference([], "B4: an outcome that could not be read contradicts nothing"),
    ("tests are passing", False): Difference(NO_TESTS, "B10: this tense is a claim, too"),
    ("test passes", False): Difference(NO_TESTS, "B10: one test is a claim, too"),
    ("compiles cleanly", False): Difference([("build", "no_command")], "B10: the verb is a claim, too"),
    ("Tests: 12 passed", False): Difference(NO_TESTS, "B10: a line of a summary is a claim, too"),
    ("Fixed the failing test; suite is green.", False): Difference(NO_TESTS, "B10: a suite is of tests"),
    ("Not all tests pass yet.", False): Difference([], "B10: denied"),
    ("I should verify the tests pass before I claim anything.", False): Difference([], "B10: a plan"),
    ("0 tests passed", False): Difference([], "B10: none passed is no success"),
    ("lint passes", True): Difference(
        [], "a check was run: that none was of lint is said to be unknown, since a script may hide one"
    ),
    ("Tests pass, build passes, lint passes, no test failures.", False): Difference(
        [*NO_TESTS, ("build", "no_command"), ("lint", "no_command")],
        "B10: its table misses a second bare verb; we read every part of a list",
    ),
}
#: Redaction: the mark is ours everywhere; this one is replaced, though its key is short.
SHORT_KEYS = {"fifteenchars123": "B8: keys of 8 characters and more are secret, not of 16"}


def record_of(evidence: dict[str, bool | None]) -> Record:
    """Its three-valued facts as a record: one check a scope, tests run but unread as unknown."""
    said: dict[Scope, bool | None] = {"build": evidence["build_ok"], "lint": evidence["lint_ok"]}
    runs: dict[Scope, Ran] = {
        scope: Ran(scope, scope, "pass" if ok else "fail", seq=2)
        for scope, ok in said.items()
        if ok is not None
    }
    if evidence["tests_run"]:
        passed = evidence["tests_passed"]
        outcomes: dict[bool | None, Outcome] = {None: "unknown", True: "pass", False: "fail"}
        runs["tests"] = Ran("tests", "npm test", outcomes[passed], seq=3)
    return Record(
        failing=tuple(ran for ran in runs.values() if ran.outcome == "fail"),
        newest=runs,
        passing={scope: ran for scope, ran in runs.items() if ran.outcome == "pass"},
        last_change=1,
        surely_no_check=not runs,
    )


def flagged(case: dict[str, Any]) -> list[tuple[str, str]]:
    """What we would hold against the claim, in its words, one a category."""
    record = record_of(case["evidence"])
    found = [(claim.category, weigh(claim, record).verdict) for claim in find_claims(case["claim"])]
    return list(dict.fromkeys((CATEGORY[c], BASIS[v]) for c, v in found if v in BASIS))


def test_every_claim_ends_as_it_did_or_differs_for_a_reason_given() -> None:
    differing = set()
    for case in VECTORS["claims"]:
        theirs = [(one["category"], one["basis"]) for one in case["expect"]]
        ours = flagged(case)
        if ours != theirs:
            key = (case["claim"], case["evidence"]["tests_run"])
            assert ours == DIFFERENCES[key].flagged, key
            differing.add(key)
    assert differing == set(DIFFERENCES), "a listed difference no longer differs"


@pytest.mark.parametrize("case", VECTORS["redaction"], ids=lambda case: str(case["text"])[:20])
def test_every_redaction_is_as_it_was_but_for_the_mark(case: dict[str, Any]) -> None:
    secret = case["secret"]
    ours = Redactor([secret]).text(case["text"])
    theirs = case["expect"].replace("[redacted-key]", f"[redacted secret {len(secret)} chars]")
    if secret in SHORT_KEYS:
        assert (ours, theirs) == (f"[redacted secret {len(secret)} chars]", secret), SHORT_KEYS[secret]
    else:
        assert ours == theirs
