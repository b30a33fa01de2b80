"""How runners end: the closing lines that say how a run went, as data.

A row reads one line of output. ``line`` recognises it; then ``failed`` tells a failure, then
``nothing`` a run that tested nothing, then ``passed`` a success; a line that none of the three
fits says nothing was tested. Rows of one name belong to one runner. A ``strong`` line is one that
no home-made script prints: it is taken for its runner's even when that was not recognised.
"""

from __future__ import annotations

from typing import NamedTuple

from loopbook.events import Scope


class Closing(NamedTuple):
    """One sort of closing line; the patterns are searched within a single line.

    They are compiled where they are first needed: a session meets few of them.
    """

    name: str
    scope: Scope
    line: str
    failed: str
    passed: str
    nothing: str
    strong: bool
    after: str | None  # what the nearest line before it with text must match


_NEVER = r"(?!)"
_ANY = r""
_N = r"[1-9]\d{0,6}"  # a number above zero


def _row(  # noqa: PLR0917 - a row of a table reads by position
    name: str,
    scope: Scope,
    line: str,
    failed: str = _NEVER,
    passed: str = _NEVER,
    nothing: str = _NEVER,
    strong: bool = True,
    after: str | None = None,
) -> Closing:
    return Closing(name, scope, line, failed, passed, nothing, strong, after)


_PYTEST_COUNT = (
    r"\d{1,7} (?:failed|passed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun"
    r"|subtests passed|subtests failed)"
)
_COUNT = (
    r"\d{1,7} (?:tests? )?(?:passed|failed|passing|failing|succeeded|failures?|errors?|skipped|pending"
    r"|todo|ignored|total)"
)
_TIME = r"\d{1,7}(?:\.\d{1,6})?"

CLOSINGS: tuple[Closing, ...] = (
    # --- tests
    _row("pytest", "tests",
        rf"^=* ?(?:{_PYTEST_COUNT}(?:, {_PYTEST_COUNT}){{0,9}}|no tests ran|no tests collected.{{0,40}}) "
        rf"in {_TIME} ?s.{{0,20}}?=*$", rf"\b{_N} (?:failed|errors?|subtests failed)\b",
        rf"\b{_N} (?:passed|xfailed|xpassed)\b"),
    _row("pytest", "tests",
        r"^(?:FAIL|ERROR|CRITICAL):? Required test coverage of .{1,40} not reached|^Coverage failure: "
        r"total of .{1,40} is less than fail-under", _ANY),
    _row("pytest", "tests",
        r"^!{3,80} .{0,20}(?:Interrupted: \d{1,6} errors? during collection|stopping after \d{1,6} "
        r"failures?).{0,5}!{3,80}$", _ANY),
    _row("pytest", "tests",
        r"^(?:ERROR: usage: |ERROR: not found: |ERROR: file or directory not found: |ERROR collecting )",
        _NEVER, strong=False),
    _row("unittest", "tests", r"^(?:Ran 0 tests? in |NO TESTS RAN)", nothing=_ANY),
    _row("unittest", "tests",
        r"^FAILED \((?:failures|errors|unexpected successes|skipped|expected failures)=.{1,120}\)$", _ANY),
    _row("unittest", "tests", r"^OK(?: \((?:skipped|expected failures)=.{1,80}\))?$", passed=_ANY,
        after=rf"^Ran {_N} tests? in "),
    _row("trial", "tests", r"^(?:PASSED|FAILED) \(.{1,120}\)$", r"^FAILED", r"successes=[1-9]", strong=False),
    _row("tox", "tests", r"^\s{0,4}(?:congratulations :\)|evaluation failed :\().{0,40}$", "failed",
        "congrat"),
    _row("nox", "tests",
        r"^nox > (?:\* \S{1,80}: (?:success|failed|aborted)|Session \S{1,80} (?:was successful"
        r"|failed).{0,80})", "failed|aborted", "success"),
    _row("behave", "tests", r"^\d{1,6} scenarios? passed, \d{1,6} failed", rf"\b{_N} (?:failed|error)",
        rf"^{_N} scenario"),
    _row("robot", "tests",
        r"^\d{1,6} (?:tests?|critical tests?)(?: total)?, \d{1,6} passed, \d{1,6} failed",
        rf"\b{_N} failed", rf"\b{_N} passed"),
    _row("doctest", "tests", r"^\*\*\*Test Failed\*\*\* \d{1,6} failures?", _ANY),
    _row("vitest", "tests",
        r"^\s{0,8}(?:Tests|Test Files)\s{1,4}(?:no tests|\d{1,6} (?:failed|passed|skipped|todo).{0,120})$",
        rf"\b{_N} failed", rf"\b{_N} passed"),
    _row("vitest", "tests",
        r"^\s{0,8}(?:No test files found, exiting|Errors\s{1,4}\d{1,6} errors?|ERROR: Coverage for "
        r".{1,60} does not meet)", r"Errors\s|ERROR: Coverage", nothing="No test files"),
    _row("jest", "tests", r"^(?:Tests|Test Suites): .{0,120}\b\d{1,6} total$", rf"\b{_N} failed",
        rf"\b{_N} passed"),
    _row("jest", "tests",
        r"^(?:No tests found, exiting|Jest: \"?.{0,60}coverage threshold .{0,80}not met)", "not met",
        nothing="No tests"),
    _row("mocha", "tests", r"^\s{0,8}\d{1,6} (?:passing|failing)(?: \(.{1,20}\))?$", rf"{_N} failing",
        rf"{_N} passing"),
    _row("node-test", "tests", r"^(?:#|ℹ) (?:pass|fail) \d{1,6}$", rf"fail {_N}", rf"pass {_N}", r"fail 0"),
    _row("tap", "tests",
        r"^# (?:pass|fail|failed)\s{1,4}\d{1,6}(?:/\d{1,6})?$|^# (?:Failed|failed) \d{1,6} ",
        rf"^# fail(?:ed)?\s{{1,4}}{_N}|# [Ff]ailed {_N} ", rf"pass\s{{1,4}}{_N}", r"^# fail\s{1,4}0"),
    _row("ava", "tests",
        r"^\s{0,8}\d{1,6} (?:tests? passed|tests? failed|tests? skipped|uncaught exceptions?|unhandled "
        r"rejections?)$|^\s{1,8}✘? ?Couldn.t find any files to test",
        rf"{_N} (?:tests? failed|uncaught|unhandled)", rf"{_N} tests? passed"),
    _row("playwright", "tests",
        r"^\s{0,8}\d{1,6} (?:passed|failed|flaky|skipped|did not run|interrupted) \(.{1,20}\)$",
        rf"{_N} (?:failed|interrupted)", rf"{_N} (?:passed|flaky)"),
    _row("playwright", "tests",
        r"^\s{0,8}\d{1,6} (?:passed|failed|flaky|skipped|did not run|interrupted)$",
        rf"{_N} (?:failed|interrupted)", rf"{_N} (?:passed|flaky)", strong=False),
    _row("playwright", "tests", r"^Error: No tests found", nothing=_ANY),
    _row("cypress", "tests", r"^\s{0,8}(?:✖|✔)\s{1,4}(?:\d{1,4} of \d{1,4} failed|All specs passed!)", "✖",
        "✔"),
    _row("deno", "tests", r"^(?:ok|FAILED) \| \d{1,6} passed.{0,80}\(.{1,20}\)$", r"^FAILED",
        rf"\b{_N} passed"),
    _row("bun", "tests", r"^\s{0,4}\d{1,6} (?:pass|fail)$|^Ran \d{1,6} tests across \d{1,6} files?\.",
        rf"{_N} fail$", rf"{_N} pass$", r"Ran|0 fail$"),
    _row("go", "tests",
        r"^(?:ok  ?\t|FAIL\t|\?   ?\t|--- FAIL: |FAIL$|PASS$|panic: test timed out).{0,300}$",
        r"^(?:FAIL|--- FAIL|panic)", r"^ok", r"\[no tests? (?:files|to run)\]"),
    _row("gotestsum", "tests", rf"^DONE \d{{1,7}} tests.{{0,80}} in {_TIME}s$",
        rf"\b{_N} (?:failures?|errors?)", rf"DONE {_N} tests"),
    _row("ginkgo", "tests", r"^(?:SUCCESS|FAIL)! -- \d{1,6} Passed", r"^FAIL", rf"\b{_N} Passed"),
    _row("cargo", "tests", r"^test result: (?:ok|FAILED)\. \d{1,7} passed; \d{1,7} failed;", "FAILED",
        rf"\b{_N} passed"),
    _row("cargo", "tests",
        r"^error: (?:test failed, to rerun|could not compile |doctest failed|\d{1,4} targets? failed)",
        _ANY),
    _row("nextest", "tests", r"^\s{0,12}Summary \[.{1,20}\] \d{1,7}(?:/\d{1,7})? tests? run:",
        rf"\b{_N} (?:failed|timed out|exec failed)", rf"\b{_N} passed"),
    _row("maven", "tests",
        r"^(?:\[(?:INFO|WARNING|ERROR)\] )?Tests run: \d{1,7}, Failures: \d{1,7}, Errors: \d{1,7}, "
        r"Skipped: \d{1,7}(?!.{0,40}Time elapsed)", rf"(?:Failures|Errors): {_N}", rf"run: {_N}"),
    _row("maven", "tests", r"^\[(?:INFO|ERROR)\] BUILD (?:FAILURE|SUCCESS)|^\[ERROR\] COMPILATION ERROR",
        "FAILURE|COMPILATION ERROR", nothing="SUCCESS"),
    _row("ant", "tests", r"^BUILD FAILED$", _ANY, strong=False),
    _row("gradle", "tests", r"^BUILD (?:SUCCESSFUL|FAILED) in ", "FAILED", "SUCCESSFUL"),
    _row("gradle", "tests", r"^\d{1,7} tests? completed, \d{1,7} failed", rf"\b{_N} failed", rf"^{_N} test"),
    _row("sbt", "tests",
        r"^\[(?:info|error)\] (?:(?:Passed|Failed): Total \d{1,7}, .{1,120}|(?:All tests passed|\*\*\* "
        r"\d{1,6} TESTS? FAILED \*\*\*)\.?)", "FAILED|Failed: Total|^.error", rf"Total {_N}|All tests"),
    _row("clojure", "tests", r"^\d{1,7} failures?, \d{1,7} errors?\.$", rf"{_N} (?:failure|error)",
        r"^0 failures, 0 errors"),
    _row("rspec", "tests", r"^\d{1,7} examples?, \d{1,7} failures?(?:, .{1,80})?$",
        rf"\b{_N} (?:failures?|errors?)", rf"^{_N} example"),
    _row("minitest", "tests",
        r"^\d{1,7} (?:runs|tests), \d{1,7} assertions, \d{1,7} failures, \d{1,7} errors",
        rf"\b{_N} (?:failures|errors)", rf"^{_N} "),
    _row("cucumber", "tests", r"^\d{1,6} scenarios? \(.{1,120}\)$",
        rf"\b{_N} (?:failed|undefined|pending|ambiguous)", rf"\b{_N} passed"),
    _row("phpunit", "tests",
        r"^(?:OK \(\d{1,7} tests?, \d{1,7} assertions?\)|OK, but .{1,80}|Tests: \d{1,7}, Assertions: "
        r"\d{1,7}.{0,120}|FAILURES!|ERRORS!|No tests executed!)$",
        rf"^(?:FAILURES|ERRORS)|(?:Failures|Errors): {_N}", r"^OK"),
    _row("pest", "tests", r"^\s{1,6}Tests:\s{1,6}\d{1,7} (?:passed|failed|skipped|todos?|risky|warnings?"
        r"|incomplete).{0,120}\(\d{1,7} assertions?\)$", rf"\b{_N} failed", rf"\b{_N} passed"),
    _row("dotnet", "tests",
        r"^(?:Passed!|Failed!|Skipped!) {1,4}- Failed: {1,12}\d{1,7}, Passed: {1,12}\d{1,7}", r"^Failed!",
        rf"Passed: {{1,12}}{_N}"),
    _row("dotnet", "tests",
        r"^\s{0,8}(?:Total tests: \d{1,7}|Passed: \d{1,7}|Failed: \d{1,7}|Test Run (?:Successful|Failed"
        r"|Aborted)\.|No test is available in .{1,300}|Test summary: total: \d{1,7}, failed: "
        r"\d{1,7}.{0,80})", rf"Failed: {_N}|Run (?:Failed|Aborted)|, failed: {_N}",
        rf"Passed: {_N}|Successful|summary: total: {_N}", r"Total tests|Failed: 0"),
    _row("ctest", "tests",
        r"^\d{1,3}% tests passed, \d{1,6} tests? failed out of \d{1,6}|^No tests were found!!!",
        rf", {_N} tests? failed", rf"out of {_N}"),
    _row("meson", "tests", r"^(?:Ok|Fail|Unexpected Pass|Timeout): {1,20}\d{1,7}\s{0,4}$",
        rf"(?:Fail|Timeout|Unexpected Pass): {{1,20}}{_N}", rf"^Ok: {{1,20}}{_N}", r": {1,20}0"),
    _row("mix", "tests",
        r"^(?:\d{1,6} doctests?, )?(?:\d{1,6} properties, |1 property, )?\d{1,7} tests?, \d{1,7} "
        r"failures?(?:.{0,60})$|^(?:\d{1,6} doctests?|\d{1,6} properties|1 property), \d{1,7} failures?",
        rf"\b{_N} (?:failures?|invalid)", rf"\b{_N} (?:tests?|doctests?|propert)",
        r"^(\d{1,7}) tests?, 0 failures.{1,3}\1 (?:excluded|skipped)|^All tests have been excluded"),
    _row("mix", "tests",
        r"^All tests have been excluded|^There are no tests to run|^== Compilation error in file |^\*\* "
        r"\((?:CompileError|SyntaxError|TokenMissingError)\) |^\*\* \(Mix\) Could not compile",
        "Compil|Syntax|Token|compile"),
    _row("rebar3", "tests",
        r"^(?:  ?All \d{1,7} tests passed\.|Finished in .{1,40}|Failed: \d{1,7}\.  Skipped: \d{1,7}\. "
        r" Passed: \d{1,7}\.|\d{1,7} tests, \d{1,7} failures)", rf"Failed: {_N}|, {_N} failures",
        rf"All {_N} tests|Passed: {_N}|^{_N} tests", "Finished"),
    _row("gleam", "tests",
        r"^(?:\d{1,7} (?:tests|passed), (?:no|\d{1,7}) failures?|Ran \d{1,7} tests, \d{1,7} failed)",
        rf", {_N} fail", rf"^(?:Ran )?{_N} "),
    _row("swift", "tests",
        r"^\s{0,4}(?:Executed \d{1,7} tests?, with \d{1,7} failures?|\S{0,4} ?Test run with \d{1,7} "
        r"tests? (?:in \d{1,5} suites? )?(?:passed|failed)|\*\* TEST (?:SUCCEEDED|FAILED) \*\*)",
        rf"with {_N} failure|run .{{1,60}} failed|FAILED",
        rf"Executed {_N}|with {_N} tests? .{{0,30}}passed|SUCCEEDED"),
    _row("dart", "tests",
        r"^(?:\d\d:\d\d \+\d{1,7}.{0,20}: )?(?:All tests passed!|Some tests failed\.|No tests ran\.|No "
        r"tests match.{0,80})$", "Some", "All", strong=False),
    _row("bazel", "tests", r"^Executed \d{1,7} out of \d{1,7} tests?: .{1,120}\.$",
        rf"\b{_N} (?:fails?|fail locally|failed)\b", rf"\b{_N} tests? pass|tests? pass"),
    _row("prove", "tests", r"^(?:Result: (?:PASS|FAIL|NOTESTS)|Files=\d{1,6}, Tests=\d{1,7}, )", "FAIL",
        "PASS", "Files="),
    _row("bats", "tests", r"^\d{1,7} tests?, \d{1,7} failures?(?:, \d{1,7} skipped)?(?: in .{1,20})?$",
        rf", {_N} failure", rf"^{_N} test"),
    _row("zig", "tests",
        r"^(?:All \d{1,7} tests passed\.|\d{1,7} passed; \d{1,7} skipped; \d{1,7} failed\.)$",
        rf"; {_N} failed", rf"All {_N} tests|^{_N} passed"),
    _row("hspec", "tests", r"^\d{1,7} examples?, \d{1,7} failures?", rf", {_N} failure", rf"^{_N} example"),
    _row("cabal", "tests",
        r"^\d{1,6} of \d{1,6} test suites \(.{1,60}\) passed\.$|^Test suite \S{1,80}: (?:PASS|FAIL)$",
        "FAIL|^0 of [1-9]", rf"^{_N} of|PASS"),
    _row("forge", "tests",
        r"^(?:Ran \d{1,6} test suites?.{0,60}: \d{1,7} tests? passed, \d{1,7} failed|Suite result: (?:ok"
        r"|FAILED)\. \d{1,7} passed; \d{1,7} failed)", rf"\b{_N} failed", rf"\b{_N} (?:tests? )?passed"),
    # Counts of no runner known by name: heard only of a check whose runner is unknown (`npm test`).
    _row("counts", "tests", rf"^\s{{0,8}}(?:{_COUNT}[,;|] ?){{0,5}}{_COUNT}(?: (?:in|\().{{1,30}})?\.?$",
        rf"\b{_N} (?:tests? )?(?:failed|failures?|failing|errors?)",
        rf"\b{_N} (?:tests? )?(?:passed|passing|succeeded)", strong=False),
    # --- types
    _row("mypy", "types",
        r"^(?:Success: no issues found in \d{1,7} source files?|Found \d{1,7} errors? in \d{1,7} files? "
        r"\((?:checked|errors prevented).{1,60}\))$", "^Found", "^Success"),
    _row("pyright", "types", r"^\d{1,7} errors?, \d{1,7} warnings?, \d{1,7} (?:informations?|notes?)",
        rf"^{_N} error", "^0 errors"),
    _row("ty", "types", r"^(?:All checks passed!|Found \d{1,7} diagnostics?)$", "^Found", "^All",
        strong=False),
    _row("tsc", "types",
        r"^(?:Found \d{1,7} errors?(?: in .{1,200}|\..{0,60})|.{1,300}error TS\d{1,6}: .{0,400})$",
        r"error TS|Found [1-9]", "Found 0 errors"),
    _row("svelte-check", "types", r"^svelte-check found \d{1,6} errors?", rf"found {_N} error",
        "found 0 error"),
    _row("dialyzer", "types",
        r"^(?:Total errors: \d{1,6}, Skipped: \d{1,6}, Unnecessary Skips: \d{1,6}|done \((?:passed "
        r"successfully|warnings were emitted)\))", r"warnings were", r"passed successfully", "^Total",
        strong=True),
    _row("phpstan", "types", r"^\s{0,4}\[(?:OK|ERROR)\] (?:No errors|Found \d{1,7} errors?)", "ERROR", "OK"),
    _row("psalm", "types", r"^\s{0,8}(?:No errors found!|\d{1,7} errors? found)\s{0,8}$", rf"{_N} error",
        "No errors", strong=False),
    # --- lint and format
    _row("ruff", "lint",
        r"^(?:All checks passed!|Found \d{1,7} errors?(?:\.| \(\d{1,7} fixed, \d{1,7} remaining\)\.))$",
        rf"(?:^Found {_N} errors?\.|, {_N} remaining)", r"^All|, 0 remaining", strong=False),
    _row("flake8", "lint", r"^\S{1,300}:\d{1,7}:\d{1,5}: [A-Z]{1,4}\d{1,5} ", _ANY, strong=False),
    _row("pylint", "lint", r"^Your code has been rated at ", nothing=_ANY),
    _row("pre-commit", "lint", r"^.{1,120}\.{3,100}(?:\(.{1,40}\))?(?:Passed|Failed|Skipped)$", "Failed$",
        "Passed$"),
    _row("eslint", "lint", r"^✖ \d{1,7} problems? \(\d{1,7} errors?, \d{1,7} warnings?\)",
        rf"\({_N} error", r"\(0 errors"),
    _row("eslint", "lint", r"^ESLint found too many warnings", _ANY),
    _row("biome", "lint",
        r"^(?:Found \d{1,7} errors?\.|Checked \d{1,7} files? in .{1,20}\. (?:No fixes applied|Fixed "
        r"\d{1,6} files?)\.?)$", "^Found", "^Checked"),
    _row("oxlint", "lint", r"^Found \d{1,7} warnings? and \d{1,7} errors?\.", rf"and {_N} error",
        "and 0 errors"),
    _row("stylelint", "lint", r"^✖ \d{1,7} problems? \(\d{1,7} errors?, \d{1,7} warnings?\)",
        rf"\({_N} error", r"\(0 errors"),
    _row("golangci-lint", "lint", r"^\d{1,7} issues[.:]", rf"^{_N} issues", "^0 issues"),
    _row("credo", "lint", r"^\d{1,7} mods/funs, found ",
        rf"found .{{0,120}}\b{_N} (?:warning|error|refactoring|code readability|consistency|software "
        rf"design)", "found no issues"),
    _row("rubocop", "lint", r"^\d{1,7} files? inspected, (?:no|\d{1,7}) offenses?(?: detected)?",
        rf", {_N} offense", ", no offenses"),
    _row("dart analyze", "lint", r"^\s{0,4}(?:No issues found!.{0,40}|\d{1,6} issues? found\..{0,40})$",
        rf"{_N} issue", "No issues", strong=False),
    _row("swift lint", "lint", r"^Done linting! Found \d{1,7} violations?, \d{1,7} serious",
        rf", {_N} serious", ", 0 serious"),
    _row("black", "format",
        r"^(?:\d{1,7} files? would be (?:reformatted|left unchanged)|All done! ✨)|^\d{1,7} files? would "
        r"fail to reformat", r"would be reformatted|would fail|failed to reformat", r"left unchanged",
        "All done", strong=False),
    _row("ruff format", "format", r"^\d{1,7} files? (?:would be reformatted|already formatted)",
        "would be reformatted", "already formatted"),
    _row("prettier", "format",
        r"^(?:All matched files use Prettier code style!|\[(?:warn|error)\] Code style issues .{1,80})",
        "issues", "^All"),
    _row("mix format", "format", r"^\*\* \(Mix\) mix format failed", _ANY),
    _row("cargo fmt", "format", r"^Diff in .{1,300}(?: at line|:)\s?\d{0,7}", _ANY, strong=False),
    # --- build
    _row("cargo-build", "build",
        r"^(?:\s{1,8}Finished .{1,120}target\(s\) in |error: could not compile |error: aborting due to )",
        "error", "Finished"),
    _row("mix-compile", "build",
        r"^(?:Generated \S{1,80} app|== Compilation error in file |\*\* \((?:CompileError|SyntaxError"
        r"|TokenMissingError)\) |Compilation failed due to warnings|\*\* \(Mix\) Could not compile)",
        "rror|failed|Could not", "Generated", strong=False),
    _row("maven", "build", r"^\[(?:INFO|ERROR)\] BUILD (?:FAILURE|SUCCESS)|^\[ERROR\] COMPILATION ERROR",
        "FAILURE|COMPILATION ERROR", "SUCCESS"),
    _row("gradle", "build", r"^BUILD (?:SUCCESSFUL|FAILED) in ", "FAILED", "SUCCESSFUL"),
    _row("dotnet-build", "build",
        r"^(?:Build succeeded\.|Build FAILED\.|\s{0,8}\d{1,7} Error\(s\)|Build (?:succeeded|failed) "
        r"(?:with .{1,60} )?in )", rf"FAILED|failed|\b{_N} Error", "succeeded|0 Error"),
    _row("xcodebuild", "build", r"^\*\* (?:BUILD|ARCHIVE) (?:SUCCEEDED|FAILED) \*\*|^Build complete!",
        "FAILED", "SUCCEEDED|complete"),
    _row("script", "tests",
        r"^(?:npm (?:ERR!|error) (?:Test failed\.|Lifecycle script `.{1,60}` failed|code ELIFECYCLE)"
        r"|.{0,3}ELIFECYCLE.{1,3}(?:Test|Command) failed|error Command failed with exit code \d{1,3}\."
        r"|error: script \".{1,60}\" exited with code \d{1,3})", _ANY),
    _row("make", "build", r"^g?make(?:\[\d{1,3}\])?: \*\*\* (?!No rule to make target [^,]{1,200}Stop)"
        r".{1,300}(?:Error \d{1,3}|Stop\.)", _ANY,
        nothing=_NEVER),
    _row("javascript build", "build",
        r"^(?:webpack \S{1,20} compiled |✓ built in |✓ Compiled successfully|Compiled successfully|Failed "
        r"to compile\.|error during build:|.{0,20}Build failed |created .{1,200} in )",
        "with \\d{1,6} error|Failed|error during|failed", "compiled|built|Compiled|created", strong=False),
)  # fmt: skip

#: What a shell, launcher or host says when nothing of the command ran at all, or not to its end.
NEVER_STARTED = (
    r"(?m:^Command timed out after \d"
    r"|command not found|: not found$|is not recognized as an internal or external command"
    r"|No module named '?[\w.]{1,80}'?$|[Mm]issing script:|No rule to make target|could not determine "
    r"executable"
    r"|ERR_PNPM_(?:NO_SCRIPT|RECURSIVE_EXEC|NO_IMPORTER)|Command \"[^\"\n]{1,80}\" not found|Command not "
    r"found:"
    r"|The task \"[^\"\n]{1,80}\" could not be found|Failed to spawn|error: no such (?:sub)?command"
    r"|(?:bash|zsh|sh)(?:: line \d{1,5}|:\d{1,5})?: .{1,200}: (?:No such file or directory|Permission denied)"
    r"|cd: .{1,200}: No such file or directory|cd: no such file or directory|Exec format error"
    r"|matched no packages|no packages to test|no Go files in|file or directory not found: "
    r"|error: unrecognized arguments|[Uu]nknown (?:option|flag|argument)|unknown shorthand flag|^flag "
    r"provided but not defined"
    r"|Justfile does not contain recipe|Don't know how to build task|Task \"[^\"\n]{1,80}\" does not exist"
    r"|Could not open requirements file|Cannot connect to the Docker daemon|Couldn't find a package.json)"
)
