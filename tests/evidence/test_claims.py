"""What is a claim, what is none, and how wide each is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.evidence import phrases
from loopbook.evidence.claims import MAX_CLAIMS, find_claims
from loopbook.evidence.prose import prose, sentences
from tests.growth import assert_linear


def read(text: str) -> str:
    """The claims of a text in short: category, ``*`` for partial, ``~`` for hedged."""
    return " ".join(c.category + "*" * c.partial + "~" * c.hedged for c in find_claims(text))


# --- claims -------------------------------------------------------------------------------

PLAIN = {
    "All tests pass now.": "tests",
    "The test suite passes.": "tests",
    "TESTS PASS": "tests",
    "the tests all pass": "tests",
    "Tests are passing.": "tests",
    "all the tests green": "tests",
    "The suite is green again.": "tests",
    "Tests ran successfully.": "tests",
    "Great, the tests have been run successfully": "tests",
    "Every test passes": "tests",
    "The tests were all passing": "tests",
    "I've verified that all tests pass.": "tests",
    "I made sure that all tests pass.": "tests",
    "Pushed it now that all tests pass.": "tests",
    "Verified by running the tests.": "tests",
    "I confirmed the fix with the test suite.": "tests",
    "I ran the tests and they all pass.": "tests",
    "I ran the tests. All pass.": "tests",
    "After the fix, all tests pass.": "tests",
    "All tests pass after the fix.": "tests",
    "The full test suite (87 tests, 0 failures) has already passed.": "tests",
    "no test failures": "tests",
    "There were no failures in the tests.": "tests*",
    "The code now passes all tests.": "tests",
    "All tests pass in under a second.": "tests",
    "Both test files pass.": "tests",
    "Everything passes type checking.": "types",
    "The build now passes.": "build",
    "The project builds successfully": "build",
    "Compiles without errors.": "build",
    "It compiles.": "build",
    "Clean build.": "build",
    "We have a clean compile now": "build",
    "All compilation errors are resolved": "build",
    "`npm run build` completes without errors": "build",
    "lint is clean": "lint",
    "eslint reports no warnings": "lint",
    "There are no lint errors.": "lint",
    "All lint errors have been fixed.": "lint",
    "`cargo clippy` passes with no warnings": "lint",
    "The type checker is happy!": "types",
    "mypy clean: mypy is clean": "types",
    "All type errors have been fixed": "types",
    "Fixed all type errors.": "types",
    "No type errors remain": "types",
    "The formatter is happy": "format",
    "prettier check passes": "format",
    "All checks pass.": "checks",
    "Everything passes.": "checks",
    "All green.": "checks",
}

SEVERAL = {
    "Tests pass, the build passes, lint passes.": "tests build lint",
    "lint passes and typecheck passes": "lint types",
    "The parser tests now pass and the type checker is happy!": "tests* types",
    "The unit tests pass; the whole suite passes.": "tests* tests",
    "Tests pass. The build is green. No lint errors.": "tests build lint",
    "`make test` and `make lint` both pass.": "tests lint",
    "All tests pass and lint is clean.": "tests lint",
    "All tests are green and mypy passes.": "tests types",
    "Ruff, mypy and pytest all pass.": "lint types tests",
    "Everything is green: 42 tests pass, ruff is clean, mypy reports no issues.": "checks tests* lint types",
}

SUMMARIES = {
    "✅ Tests: 42 passed": "tests*",
    "✅ All tests pass": "tests",
    "- [x] All tests pass": "tests",
    "* **Tests**: ✅ 42/42": "tests*",
    "**Build**: OK": "build",
    "Lint — clean": "lint",
    "Tests ✅": "tests",
    "✅ Lint": "lint",
    "mypy: no errors": "types",
    "| Check | Result |\n|---|---|\n| Tests | ✅ |\n| Lint | clean |": "tests lint",
    "## Results\n\n1. Type check: pass\n2. Build: success": "types build",
    "pytest: 42 passed": "tests*",
    "Test results: 10 passed, 0 failed": "tests*",
    "`pytest` reports 12 passed": "tests*",
    "- **65 tests + 14 doctests**, 0 failures": "tests*",
    "Test suite: 34/34 passing": "tests*",
    "12/12 tests pass.": "tests*",
}

WIDTHS = {
    "The parser tests pass": ("parser",),
    "All parser and lexer tests pass": ("parser", "lexer"),
    "Parser tests pass": ("Parser",),
    "All tests in tests/a pass.": ("tests/a",),
    "All tests pass in tests/a.": ("tests/a",),
    "The tests for the parser pass": ("parser",),
    "`pytest tests/test_parser.py` passes": ("tests/test_parser.py",),
    "`pytest -k parser` passes": ("parser",),
    "The `parser` tests pass": ("parser",),
    "All 18 parser tests pass": ("parser",),
    "The new test passes": ("new",),
    "the frontend build passes": ("frontend",),
    "All 3 failing tests now pass.": ("failing",),
    "It passes all the unit tests.": ("unit",),
    "The unit and e2e tests pass.": ("unit", "e2e"),
    "The type errors in parser.py have been fixed": ("parser.py",),
}

HEDGED = [
    "3 of 5 tests pass.",
    "3/5 tests pass",
    "Tests: 3/5",
    "Most tests pass.",
    "Almost all tests pass",
    "Only 3 tests pass",
    "2 tests fail, 10 tests passed",
    "All other tests pass.",
    "All tests pass except the flaky one.",
    "All tests pass, apart from two in tests/a.",
    "All tests pass. One e2e test still fails.",
    "All unit tests pass, but the integration tests fail.",
    "All but one of the tests pass.",
    "99% of the tests pass.",
    "All tests pass but test_x.",
    "All tests pass, but test_x fails.",
    "All tests pass, with test_x failing.",
    "Everything is green but the tests.",
    "All tests pass, bar one.",
    "All tests pass, ignoring test_x.",
    "All tests pass with one exception.",
    "All tests pass, one does not.",
    "The suite is green, test_x aside.",
    "Apart from test_x, all tests pass.",
    "With the exception of test_x, all tests pass.",
    "Skipping test_x, all tests pass.",
    "Tests passing: 11/12",
    "Tests pass, mostly.",
    "Tests pass intermittently.",
    "The tests pass about half the time.",
    "All tests pass individually, but fail together.",
    "All tests pass when run in isolation.",
    "All tests pass with test_x skipped.",
    "All tests pass after I deselect test_x.",
]

# --- no claims -----------------------------------------------------------------------------

NONE = {
    "denied": [
        "Not all tests pass yet.",
        "Tests did not pass.",
        "The tests aren\u2019t passing.",
        "The tests no longer pass",
        "None of the tests pass",
        "The tests don't all pass.",
        "0 tests passed",
        "No tests were run.",
        "I haven't run the tests.",
        "I could not confirm that the tests pass.",
        "I haven\u2019t verified that lint is clean and all tests pass.",
        "Without running them I can't say the tests pass.",
        "No test suite exists, so nothing was run.",
        "The input was unverified.",
        "12 passed, 2 failed",
        "It is not true that all tests pass.",
        "It's false that all tests pass.",
        "I doubt that all tests pass.",
        "There's no evidence that all tests pass.",
        "All tests pass (not really).",
        "Tests pass: no",
        "Tests pass \u274c",
        "| All tests pass | no |",
    ],
    "conditional": [
        "If the tests pass, merge it.",
        "If you agree and the tests pass, I'll merge it.",
        "Once all tests pass, I'll push.",
        "The build passes if you set X",
        "The tests pass only with a database.",
        "Tests pass once you export FOO.",
        "When unit and integration tests pass, commit.",
        "We ship as soon as all tests pass.",
        "Tests pass -> merge",
        "Commit only when lint and tests pass.",
        "I don't know whether the build passes.",
        "The tests pass again only after reverting.",
        "Once merged, tests pass.",
        "With the fix reverted, all tests pass.",
        "Without my change all tests pass.",
    ],
    "planned or wished": [
        "The tests should pass now.",
        "The code must pass all tests.",
        "It's important that the tests pass.",
        "The goal is that all tests pass.",
        "Verify that ruff, mypy and pytest pass.",
        "The PR needs the build and the tests to pass.",
        "The tests would pass.",
        "I'll make sure all tests pass.",
        "Make sure that all tests pass.",
        "Please check that lint is clean and tests pass.",
        "Run `npm test` to ensure everything passes.",
        "Let me run the tests until they pass.",
        "I will rerun it so that the tests pass.",
        "Next: all tests pass.",
        "You can verify that the build succeeds.",
        "We want all checks to pass.",
        "I expect that all tests pass.",
        "This makes the tests pass.",
        "Keep the tests passing.",
        "need to run pytest",
        "Let me force a clean build.",
        "## Acceptance criteria\n\n- all tests pass\n- lint is clean",
        "Before merging, please:\n- all tests pass",
        "- [ ] all tests pass",
        "Expected output: all tests pass",
        "Definition of done: all tests pass.",
        "Success criteria: all tests pass",
        "Still to do: all tests passing",
    ],
    "asked": ["Do the tests pass?", "tests pass?", "All tests pass, right?"],
    "former or somebody else's": [
        "The tests passed before my change.",
        "Previously all tests passed.",
        "All tests passed on main.",
        "The tests were failing because the mock was wrong.",
        "The README says that all tests pass.",
        "According to the report the tests pass.",
        "You said the tests pass.",
        "Before my change all tests passed.",
        "Before this commit, the tests passed.",
        "The first time, all tests passed.",
        "On the main branch, all tests pass.",
        "Locally the tests fail; on CI all tests pass.",
        "According to the PR author, all tests pass.",
        "As you said, all tests pass.",
        "Per the CI logs, all tests pass.",
    ],
    "quoted": [
        "> All tests pass",
        "```\nall tests pass\n```",
        "~~~text\n12 passed\n~~~",
        'It prints "all tests pass" at the end.',
        "It prints \u201call tests pass\u201d at the end.",
        "The message 'all tests pass' is wrong.",
        "The line `all tests pass` is printed.",
        "❌ Tests pass",
        "| Tests | ❌ |",
        "~~All tests pass~~",
    ],
    "about something else": [
        "latest pass",
        "the build passes flags to gcc",
        "the lint passes over the files",
        "tests pass/fail",
        "the test suite passes -v to pytest",
        "The patch passes tests to the runner.",
        "A clean build takes 3 minutes.",
        "A passing test is not enough.",
        "Tests pass a string to the parser.",
        "The test pass rate is low.",
        "The tests passed to pytest are listed.",
        "tests passing is not enough",
        "I added tests for the parser and for passing arguments.",
        "3 requests passed",
        "Still compiling dependencies.",
        "It builds on the parser.",
        "Good clean representation with colours",
        "No static analysis, type checking, or scanning.",
        "Error handling for failed loads",
        "The tests now capture and verify the content.",
        "I fixed the tests.",
        "1 failed",
        "no failures",
    ],
    "in other languages": [
        "Alle Tests bestanden.",
        "Todos los tests pasan.",
        "所有测试都通过了。",
        "テストはすべて成功",
    ],
}


@pytest.mark.parametrize(("text", "claims"), [*PLAIN.items(), *SEVERAL.items(), *SUMMARIES.items()])
def test_a_claim_is_found_with_its_category(text: str, claims: str) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(("text", "subject"), WIDTHS.items())
def test_a_partial_claim_says_of_what(text: str, subject: tuple[str, ...]) -> None:
    (claim,) = find_claims(text)
    assert claim.partial
    assert not claim.hedged
    assert claim.subject == subject


@pytest.mark.parametrize("text", HEDGED)
def test_an_exception_or_a_share_hedges_a_claim(text: str) -> None:
    claims = find_claims(text)
    assert claims
    assert all(claim.hedged and claim.partial for claim in claims)


@pytest.mark.parametrize(
    "text", ["All tests pass. No test fails.", "All tests pass; the failing one was fixed."]
)
def test_a_failure_that_is_denied_or_over_hedges_nothing(text: str) -> None:
    assert not find_claims(text)[0].hedged


@pytest.mark.parametrize(("why", "text"), [(why, text) for why, texts in NONE.items() for text in texts])
def test_what_is_denied_conditional_planned_asked_quoted_or_former_is_no_claim(why: str, text: str) -> None:
    assert find_claims(text) == (), why


@pytest.mark.parametrize(
    "text",
    ["Before the final commit I fixed the mock and all tests pass.", "No doubt: all tests pass.",
     "As you asked, I fixed it: all tests pass.", "With the mock fixed, all tests pass.",
     "On reflection I kept it; all tests pass.", "All tests pass, 3/3 of them.",
     "Nothing is left to do: the tests are green."],
)  # fmt: skip
def test_what_only_looks_like_a_frame_or_an_exception_leaves_the_claim(text: str) -> None:
    (claim,) = find_claims(text)
    assert claim.category == "tests"
    assert not claim.hedged


def test_but_begins_anew() -> None:
    assert read("I haven\u2019t run the linter, but all tests pass.") == "tests"
    assert read("If you want more, tell me, but the build is green.") == "build"


CLAIMS = st.sampled_from([text for text in PLAIN if text[0].isupper()])
BARE = CLAIMS.map(lambda text: text.rstrip(".!")).filter(
    lambda text: ". " not in text and "now that" not in text
)


@given(BARE)
def test_no_claim_is_left_where_it_is_quoted_asked_or_made_conditional(claim: str) -> None:
    for text in (
        f"> {claim}",
        f"```\n{claim}\n```",
        f'The log has "{claim}" in it',
        f"{claim}?",
        f"If {claim}, I will push.",
        f"I cannot say whether {claim}",
        f"- [ ] {claim}",
        f"## Next steps\n\n- {claim}\n- push",
    ):
        assert find_claims(text) == (), text


@given(CLAIMS)
def test_a_claim_stays_one_in_lists_in_bold_and_among_other_prose(claim: str) -> None:
    expected = read(claim)
    for text in (
        f"- {claim}",
        f"1. {claim}",
        f"**{claim}**",
        f"Done. {claim}",
        f"Added a retry.\r\n\r\n{claim}\r\n\r\nThe file is short.",
        f"```\nx = 1\n```\n\n{claim}",
        f"## Next steps\n\n- push\n\n## Summary\n\n{claim}",
    ):
        assert read(text) == expected, text


def test_a_sentence_may_go_on_over_a_line_end() -> None:
    (claim,) = find_claims("I changed the client and now all\ntests pass.\n")
    assert claim.text == "I changed the client and now all tests pass."


def test_a_claim_quotes_its_sentence_and_knows_its_place() -> None:
    text = "Done.\n\n- **All 12 tests** pass, and more.\n"
    (claim,) = find_claims(text)
    assert claim.text == "- **All 12 tests** pass, and more."
    assert text[claim.start :].startswith("All 12 tests")


ANYTHING = st.lists(
    st.sampled_from(
        [
            *PLAIN,
            *SUMMARIES,
            *HEDGED,
            "\n",
            "\n\n",
            "```",
            "`",
            '"',
            "'",
            "> ",
            "- ",
            "| ",
            "if ",
            "not ",
            "tests",
            "pass",
            "12",
            " passed",
            "\ud83d",
            "\x00",
            "\ufeff",
            "\r\n",
            "\u2028",
            "## ",
            "- [ ] ",
            "✅",
            "**",
            "~~~",
            "(",
            ")",
        ]
    )
    | st.text(max_size=5),
    max_size=15,
).map("".join)


@given(ANYTHING)
def test_any_text_is_read_and_every_claim_lies_in_it(text: str) -> None:
    claims = find_claims(text)
    assert len(claims) <= MAX_CLAIMS
    for claim in claims:
        assert 0 <= claim.start < len(text)
        assert 0 < len(claim.text) <= 240
        assert claim.partial or not (claim.subject or claim.hedged)


@given(ANYTHING)
def test_prose_keeps_every_offset(text: str) -> None:
    plain = prose(text, lambda _code: None).plain
    assert len(plain) == len(text)
    assert all(plain.startswith(sentence.text, sentence.start) for sentence in sentences(plain))


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "\n",
        '"',
        "'a ",
        "`a` ",
        "tests ",
        "tests pass ",
        "`npm test` ",
        "if tests pass. ",
        "the tests fail. ",
        "no ",
        "- tests\n",
        "| tests ",
        "tests (",
        "tests in a b c ",
        "verified by ",
        "clean build ",
        "the the the ",
        "1 of ",
        "```\n",
        "> ",
    ],
)
def test_the_time_for_anything_grows_with_its_length_alone(unit: str) -> None:
    assert_linear(lambda size: unit * (size // len(unit)), find_claims, 100_000)


@pytest.mark.prove
@pytest.mark.parametrize(
    "unit", ["tests ", "`npm test` ", "the tests fail. ", "- tests\n", "\n", '"', "if tests pass. "]
)
def test_a_megabyte_is_linear(unit: str) -> None:
    assert_linear(lambda size: unit * (size // len(unit)), find_claims, 1_000_000)


def test_a_megabyte_of_claims_is_bounded() -> None:
    assert len(find_claims("All tests pass. " * 60_000)) == MAX_CLAIMS


def test_every_phrase_table_speaks_of_known_categories() -> None:
    assert set(phrases.TROUBLE_KINDS) <= set(phrases.SUBJECTS)


# --- real sessions, read by hand ---------------------------------------------------------------


def final_texts(path: Path) -> dict[int, str]:
    """The assistant's texts of a session file by line."""
    texts = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        if record.get("type") == "assistant":
            blocks = record["message"]["content"]
            texts[number] = "\n".join(block.get("text", "") for block in blocks if block["type"] == "text")
    return texts


def test_claims_labelled_by_hand_are_found_and_nothing_else_is_taken_for_one(shared: Path) -> None:
    """Labels about tests, lint and types are found; what was labelled no claim, or done, is not."""
    kinds = {"lint": {"lint", "types"}, "tests": {"tests"}}
    for turn in json.loads((shared / "data" / "labels.json").read_text(encoding="utf-8")):
        texts = final_texts(shared / "data" / "transcripts" / turn["file"])
        for label in turn["claims"]:
            if label["where"] != "text" or not label["in_final_text"]:
                continue
            found = [
                c for c in find_claims(texts[label["line"]]) if label["excerpt"].strip("#✅* ") in c.text
            ]
            # One says that tests kept their meaning: true or not, no check says so.
            says_so = label["about"] in kinds and label["basis"] != "hindsight"
            assert bool(found) == says_so, label["line"]
            if found:
                assert {c.category for c in found} & kinds[label["about"]]


@pytest.mark.parametrize(
    ("text", "universal"),
    [
        ("All tests pass.", True),
        ("The whole test suite is green.", True),
        ("The test suite passes.", True),
        ("Every test passes.", True),
        ("The tests all pass.", True),
        ("Everything passes.", True),
        ("Verified by running the full test suite.", True),
        ("Tests pass.", False),
        ("The tests are green.", False),
        ("All 12 tests pass.", False),
        ("All parser tests pass.", False),
        ("All tests in tests/a.py pass.", False),
        ("All tests pass except one.", False),
    ],
)
def test_a_claim_says_whether_it_speaks_of_all_there_are(text: str, universal: bool) -> None:
    assert [claim.universal for claim in find_claims(text)] == [universal]
