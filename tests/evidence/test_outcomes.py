"""A check's outcome is its exit code where that speaks for it, else its runner's word, else unknown."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopbook.evidence.calls import CallResult, Status
from loopbook.evidence.outcomes import (
    CheckOutcome,
    CommandOutcome,
    Rules,
    UserCheck,
    outcomes,
    read_command,
)
from loopbook.evidence.worlds import MAX_CHECKS
from tests.evidence.shell_strategies import around, check_command, noise, redirection, shell_line
from tests.growth import assert_linear

PYTEST_PASS = "=== 3 passed in 0.12s ==="
PYTEST_FAIL = "=== 1 failed, 2 passed in 0.12s ==="


def run(command: str, code: int | None = 0, text: str = "", rules: Rules | None = None) -> CommandOutcome:
    status: Status = "ok" if code == 0 else "error"
    result = CallResult(status, text, code)
    return outcomes(command, result, rules) if rules else outcomes(command, result)


def only(command: str, code: int | None = 0, text: str = "") -> CheckOutcome:
    """The one check of a command."""
    checks = run(command, code, text).checks
    assert len(checks) == 1, checks
    return checks[0]


# --- what is a run ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["echo npm test", "printf 'pytest\\n'", "cat pytest.ini", "grep -rn 'npm test' .",
     "git commit -m 'pytest passes'", "cat <<EOF > run.sh\npytest\nEOF", "# npm test", "which pytest",
     "echo \"$(cat pytest.log)\""],
)  # fmt: skip
def test_a_mention_of_a_runner_is_no_run(command: str) -> None:
    said = run(command, 0, f"npm test\n{PYTEST_PASS}")
    assert said.checks == ()
    assert said.check == "no"


@pytest.mark.parametrize(
    "command",
    ["cat test.log", "tail -5 out", "grep passed log | head -1", "sed -n 1,9p log", "echo x; cat log"],
)
def test_what_only_reads_text_proves_nothing_even_with_a_closing_line(command: str) -> None:
    assert run(command, 0, PYTEST_PASS) == CommandOutcome((), "no")


@pytest.mark.parametrize(
    ("command", "text", "runner"),
    [
        ("python run_tests.py", "3 passed in 0.01s", "pytest"),
        ("./test.sh", "..\nRan 2 tests in 0.1s\n\nOK", "unittest"),
        ("bash ci.sh 2>&1 | tail -4", "14 doctests, 65 tests, 0 failures", "mix"),
        ("ssh host 'cd x && pytest'", PYTEST_PASS, "pytest"),
        (
            "docker run image",
            "Tests:       3 passed, 3 total\nSnapshots:   0 total\nTime: 1 s\nRan all test suites.",
            "jest",
        ),
        ("cat log; ./run.sh", PYTEST_PASS, "pytest"),
        ("$(", PYTEST_PASS, "pytest"),
    ],
)
def test_an_unrecognised_program_that_ends_in_a_closing_line_is_a_check_of_that_runner(
    command: str, text: str, runner: str
) -> None:
    said = run(command, 0, text)
    assert [(c.outcome, c.runner) for c in said.checks] == [("pass", runner)]
    assert said.check == "yes"


@pytest.mark.parametrize(
    "command",
    ["python3 -c \"print(open('log').read())\"", "python3 - <<'EOF'\nprint(open('log').read())\nEOF",
     "tail log | python3 -c 'import sys; print(sys.stdin.read())'", "perl -ne 'print if /passed/' log",
     "node -e \"console.log(require('fs').readFileSync('log', 'utf8'))\""],
)  # fmt: skip
def test_what_inline_code_prints_is_no_runners_word_though_it_may_have_run_anything(command: str) -> None:
    assert run(command, 0, PYTEST_FAIL) == CommandOutcome((), "unsure")


@pytest.mark.parametrize(
    "command",
    ['python3 -c "import pytest; pytest.main()"', "python3 - <<'EOF'\nsubprocess.run(['pytest'])\nEOF"],
)
def test_inline_code_that_starts_something_is_heard(command: str) -> None:
    assert only(command, 0, PYTEST_FAIL).outcome == "fail"


def test_each_runner_of_a_line_is_given_its_own_closing_line() -> None:
    text = f"{PYTEST_FAIL}\nTests:       3 passed, 3 total"
    said = {check.command: check.outcome for check in run("pytest; npm test", 0, text).checks}
    assert said == {"pytest": "fail", "npm test": "pass"}


def test_under_a_zero_exit_of_its_own_a_runners_last_word_counts() -> None:
    text = f"1 failed in 0.01s\n.\n{PYTEST_PASS}"  # a test of a test runner, shown by -s
    assert only("pytest -s", 0, text).outcome == "pass"
    assert only("pytest -s | tail", 0, text).outcome == "fail"
    gate = "FAIL Required test coverage of 90% not reached. Total coverage: 81.20%"
    assert only("pytest", 0, f"{gate}\n\n\n\n{PYTEST_PASS}").outcome == "fail"


@pytest.mark.parametrize(
    ("loop", "outcome"),
    [
        ("for i in 1 2 3; do pytest && break; done", "unknown"),
        ("until pytest; do sleep 1; done", "unknown"),
        ("while ! pytest; do sleep 1; done", "unknown"),
        ("for d in a b; do (cd $d && pytest); done", "fail"),
    ],
)
def test_what_a_loop_tried_until_it_passed_is_not_known_to_have_failed(loop: str, outcome: str) -> None:
    assert only(loop, 0, f"1 failed in 0.01s\n\n\n\n{PYTEST_PASS}").outcome == outcome


def test_a_command_that_timed_out_has_not_failed() -> None:
    assert only("pytest", None, "Command timed out after 2m 0.0s").outcome == "unknown"
    assert only("pytest", None, f"Command timed out after 2m\n{PYTEST_FAIL}").outcome == "fail"


def test_a_home_made_all_tests_passed_proves_nothing() -> None:
    for text in ("All tests passed", "All tests passed!", "SUCCESS: 3 tests ok", "OK", "12 passed", "PASS"):
        assert run("./run_all.sh", 0, text) == CommandOutcome((), "unsure"), text


def test_a_closing_line_far_above_the_end_makes_no_check_of_an_unrecognised_program() -> None:
    assert run("./deploy.sh", 0, PYTEST_PASS + "\nuploading" * 30).checks == ()


def test_an_unrecognised_program_with_a_passing_line_may_have_failed_at_something_else() -> None:
    said = only("python deploy.py", 1, PYTEST_PASS + "\nError: no network")
    assert (said.outcome, said.exit_code, said.basis) == ("unknown", None, None)
    assert only("python deploy.py", 1, PYTEST_FAIL).outcome == "fail"


@pytest.mark.parametrize("status", ["refused", "never_ran", "interrupted"])
def test_a_call_that_never_ran_is_no_run(status: Status) -> None:
    assert outcomes("pytest > log", CallResult(status, PYTEST_PASS, 0)) == CommandOutcome()


def test_a_check_in_the_background_is_unknown_until_its_result_is_read() -> None:
    command = "mix test 2>&1 | tail -5"
    begun = outcomes(command, CallResult("background", "Command running in background", task="b1"))
    assert [(c.outcome, c.basis) for c in begun.checks] == [("unknown", None)]
    ended = outcomes(command, CallResult("ok", "5 tests, 1 failure", 0))
    assert [(c.command, c.outcome) for c in ended.checks] == [(begun.checks[0].command, "fail")]


# --- the exit code ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "pytest 2>&1",
        "pytest > log 2>&1",
        "cd web && pytest",
        "set -o pipefail; pytest | tail -5",
        "set -euo pipefail\npytest | tee log\necho done",
        "bash -o pipefail -c 'pytest'",
        "bash -c 'cd x && pytest'",
        "(cd web && pytest)",
        "pytest; exit $?",
        "pytest | tail; exit ${PIPESTATUS[0]}",
        "pytest > log; rc=$?; cat log; exit $rc",
        "set -e; pytest; echo done",
        "export X=1; pytest",
        "git add . && pytest && echo ok",
        "pytest || exit 1",
        "if pytest; then echo ok; else exit 1; fi",
        "x=$(pytest)",
        "echo start; pytest",
        "timeout 600 uv run pytest",
        "exec pytest",
    ],
)
def test_an_exit_code_that_speaks_for_the_check_decides(command: str) -> None:
    assert only(command, 0)[2:] == ("pass", 0, False, "exit", "pytest")
    if not command.startswith("git add"):  # there two commands can fail
        assert only(command, 1).outcome == "fail"
        assert only(command, None).outcome == "fail"


@pytest.mark.parametrize(
    "command",
    [
        "pytest | tail -5",
        "pytest 2>&1 | tail -20",
        "pytest || true",
        "pytest || echo failed",
        "pytest; true",
        "pytest > log; cat log",
        "pytest; echo done",
        "pytest & wait",
        "bash -c 'pytest; true'",
        "(pytest; true)",
        "for d in a b; do pytest; done",
        "if pytest; then echo ok; else echo no; fi",
        "echo $(pytest)",
        "pytest && echo fine || echo broken",
        "! pytest || true",
        "set -o pipefail; set +o pipefail; pytest | tail",
        "(set -o pipefail); pytest | tail",
        "trap 'exit 0' EXIT; pytest",
        "trap 'rm -rf t; exit 0' 0; pytest",
        "done_with() { rm -rf t; exit 0; }; trap done_with EXIT; pytest",
    ],
)
def test_a_masked_exit_code_decides_nothing_and_the_closing_line_does(command: str) -> None:
    said = run(command, 0, "")
    assert said.masked
    assert [(c.outcome, c.exit_code, c.masked) for c in said.checks] == [("unknown", None, True)]
    assert only(command, 0, PYTEST_PASS)[2:6] == ("pass", None, True, "summary")
    assert only(command, 0, PYTEST_FAIL)[2:6] == ("fail", None, True, "summary")


@pytest.mark.parametrize(
    "command",
    ["make -i test", "make -ki test", "make test --ignore-errors", "mvn test -fn", "ruff check --exit-zero"],
)
def test_a_zero_exit_of_what_was_told_to_end_so_decides_nothing(command: str) -> None:
    assert only(command, 0, "x")[2:5] == ("unknown", None, True)
    assert only(command, 1, "x").outcome == "fail"


@pytest.mark.parametrize(("digits", "outcome"), [("9" * 5000, "pass"), ("256" + "0" * 5000, "unknown")])
def test_a_status_of_any_length_is_read(digits: str, outcome: str) -> None:
    assert only(f"pytest || exit {digits}", 0).outcome == outcome


@pytest.mark.parametrize("command", ["trap 'rm -rf t' EXIT; pytest", "make -C i test", "make -I inc test"])
def test_a_trap_or_an_option_that_changes_no_status_masks_nothing(command: str) -> None:
    assert only(command, 0, "x")[2:5] == ("pass", 0, False)


def test_pipefail_with_a_head_that_closes_the_pipe_is_benign() -> None:
    assert run("set -o pipefail; yes | head", 141, "y") == CommandOutcome((), "no")
    assert only("set -o pipefail; pytest | head -3", 141, "").outcome == "unknown"


def test_a_negated_check_that_exits_zero_has_failed() -> None:
    assert only("! pytest", 0).outcome == "fail"
    assert only("! pytest", 1).outcome == "pass"


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ('pytest -q | tail; echo "exit: ${PIPESTATUS[0]}"', "x\nexit: 2", ("fail", 2)),
        ("pytest > log 2>&1; echo EXIT $?; tail log", "EXIT 0\nx", ("pass", 0)),
        ("pytest > log; rc=$?; echo rc=$rc", "rc=1", ("fail", 1)),
        ("pytest; echo $?", "..F\n1", ("fail", 1)),
        ("pytest; echo done; echo $?", "done\n0", ("unknown", None)),
        ("pytest >/dev/null && echo all fine || echo it broke", "it broke", ("fail", None)),
        ("pytest >/dev/null && echo all fine || echo it broke", "all fine", ("pass", 0)),
        ("ls; echo $?; pytest | tail", "0", ("unknown", None)),
    ],
)
def test_an_exit_code_that_the_line_itself_prints_is_heard(
    command: str, text: str, expected: tuple[str, int | None]
) -> None:
    assert only(command, 0, text)[2:4] == expected


def test_an_older_host_that_tells_no_exit_code_but_an_error_means_nonzero() -> None:
    assert only("pytest", None, "boom")[2:] == ("fail", None, False, "exit", "pytest")
    assert only("pytest", None, "bash: pytest: command not found").outcome == "unknown"
    assert outcomes("pytest", CallResult("ok", "")).checks[0][2:4] == ("pass", 0)


# --- nothing tested -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("pytest", 5, "no tests ran in 0.01s"),
        ("pytest", 5, ""),
        ("pytest -k nope", 5, "3 deselected in 0.01s"),
        ("pytest nope.py", 4, "ERROR: file or directory not found: nope.py\n\nno tests ran in 0.00s"),
        ("pytest --tpyo", 4, "ERROR: usage: pytest"),
        ("pytest", 127, "bash: line 1: pytest: command not found"),
        ("pytest", 126, "permission denied"),
        ("pytest", 137, "Killed"),
        ("pytest", 130, "^C"),
        ("timeout 60 pytest", 124, "..."),
        ("python -m pytest", 1, "/usr/bin/python: No module named pytest"),
        ("npm test", 1, 'npm error Missing script: "test"'),
        ("make test", 2, "make: *** No rule to make target 'test'.  Stop."),
        ("uv run pytest", 2, "error: Failed to spawn: `pytest`"),
        ("mix tset; mix test", 1, "** (Mix) The task \"test\" could not be found"),
        ("cd nope && pytest", 1, "bash: cd: nope: No such file or directory"),
        ("eslint .", 2, "Oops! Something went wrong! :("),
        ("mypy --nope", 2, "mypy: error: unrecognized arguments: --nope"),
        ("go test ./nope/...", 1, 'go: warning: "./nope/..." matched no packages\nno packages to test'),
        ("cargo test 2>&1 | tail -3", 0, "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured"),
        ("go test ./...", 0, "?   \ta\t[no test files]"),
        ("python -m unittest", 0, "Ran 0 tests in 0.000s\n\nOK"),
        ("mix test --only nope", 0, "5 tests, 0 failures, 5 excluded"),
        ("npx vitest run --passWithNoTests", 0, "No test files found, exiting with code 0"),
        ("jest --passWithNoTests", 0, "No tests found, exiting with code 0"),
        ("pytest tests/skipped", 0, "4 skipped in 0.2s"),
    ],
)  # fmt: skip
def test_where_nothing_was_tested_nothing_is_known(command: str, code: int, text: str) -> None:
    assert run(command, code, text).checks[-1].outcome == "unknown"


# --- two witnesses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code", "text", "expected"),
    [
        ("pytest", 0, PYTEST_FAIL, ("fail", 0, "summary")),
        (
            "pytest --cov",
            0,
            "FAIL Required test coverage of 90% not reached. Total coverage: 80%\n" + PYTEST_PASS,
            ("fail", 0, "summary"),
        ),
        (
            "pytest --cov",
            1,
            "FAIL Required test coverage of 90% not reached\n" + PYTEST_PASS,
            ("fail", 1, "exit"),
        ),
        ("pytest", 1, PYTEST_PASS, ("fail", 1, "exit")),
        ("pytest", 2, "1 error in 0.1s", ("fail", 2, "exit")),
        ("mypy .", 2, "Found 1 error in 1 file (errors prevented further checking)", ("fail", 2, "exit")),
        ("npm test", 0, "Tests:       1 failed, 2 passed, 3 total", ("fail", 0, "summary")),
        ("npm test | tail", 0, "      Tests  12 passed (12)", ("pass", None, "summary")),
        ("npm test 2>&1 | tail -3", 0, "12 passed", ("pass", None, "summary")),
        (
            "mix test | tail",
            0,
            "** (CompileError) test/a_test.exs: cannot compile",
            ("fail", None, "summary"),
        ),
        (
            "cargo build 2>&1 | tail -20",
            0,
            "error: could not compile `a` (bin) due to 1 previous error",
            ("fail", None, "summary"),
        ),
        ("cargo build 2>&1 | tail -20", 0, "warning: unused", ("unknown", None, None)),
        ("npx tsc --noEmit | head", 0, "a.ts(1,2): error TS2322: Type", ("fail", None, "summary")),
        ("make test | tail", 0, "make: *** [Makefile:3: test] Error 1", ("fail", None, "summary")),
        ("go test ./... | tail -4", 0, "ok  \ta\t0.1s\nFAIL\tb\t0.2s\nFAIL", ("fail", None, "summary")),
        ("ruff check . || true", 0, "Found 3 errors.", ("fail", None, "summary")),
        ("pytest; cat old.log", 0, "", ("unknown", None, None)),
    ],
)
def test_the_failing_witness_wins_and_a_missing_one_is_not_invented(
    command: str, code: int, text: str, expected: tuple[str, int | None, str | None]
) -> None:
    found = only(command, code, text)
    assert (found.outcome, found.exit_code, found.basis) == expected


def test_another_runners_closing_line_is_not_heard() -> None:
    assert only("pytest | tail", 0, "test result: ok. 3 passed; 0 failed").outcome == "unknown"
    assert only("ruff check . | tail", 0, PYTEST_PASS).outcome == "unknown"


# --- several checks in one line -----------------------------------------------------------------------


def ends(command: str, code: int, text: str) -> list[tuple[str, str]]:
    return [(c.command, c.outcome) for c in run(command, code, text).checks]


def test_each_check_of_a_chain_gets_its_own_outcome() -> None:
    chain = "ruff check . && mypy . && pytest -q"
    assert ends(chain, 0, "") == [("ruff check .", "pass"), ("mypy .", "pass"), ("pytest -q", "pass")]
    assert ends(chain, 1, "All checks passed!\nFound 2 errors in 1 file (checked 3 source files)") == [
        ("ruff check .", "pass"), ("mypy .", "fail"),
    ]  # fmt: skip
    types = "Success: no issues found in 3 source files"
    assert ends(chain, 1, f"All checks passed!\n{types}\n{PYTEST_FAIL}") == [
        ("ruff check .", "pass"), ("mypy .", "pass"), ("pytest -q", "fail"),
    ]  # fmt: skip
    assert ends(chain, 1, "") == [
        ("ruff check .", "unknown"),
        ("mypy .", "unknown"),
        ("pytest -q", "unknown"),
    ]


def test_what_a_chain_never_reached_is_no_run() -> None:
    assert ends("ruff check . && pytest", 1, "Found 3 errors.") == [("ruff check .", "fail")]
    assert ends("mix compile && mix test | tail -3", 0, "18 tests, 0 failures") == [
        ("mix compile", "pass"), ("mix test", "pass"),
    ]  # fmt: skip
    assert ends("pytest a && pytest b", 1, PYTEST_FAIL) == [("pytest a", "fail")]


def test_runs_of_one_runner_are_dealt_their_closing_lines_in_order() -> None:
    two = f"{PYTEST_FAIL}\nx\n{PYTEST_PASS}"
    assert ends("pytest a; pytest b", 0, two) == [("pytest a", "fail"), ("pytest b", "pass")]
    assert ends("pytest a | tail; pytest b | tail", 0, PYTEST_PASS) == [
        ("pytest a", "unknown"),
        ("pytest b", "unknown"),
    ]


def test_a_loop_that_failed_once_has_failed() -> None:
    assert (
        ends("for d in a b; do (cd $d && pytest -q); done", 0, f"{PYTEST_FAIL}\n\n{PYTEST_PASS}")[0][1]
        == "fail"
    )


def test_many_checks_in_one_line_are_each_told() -> None:
    line = " && ".join(f"pytest t{n}.py" for n in range(9))
    assert {outcome for _, outcome in ends(line, 0, "")} == {"pass"}
    assert len(ends(line, 0, "")) == 9


def test_a_checks_text_names_its_folder() -> None:
    assert only("cd web && npm test 2>&1 | tail", 0).command == "cd web && npm test"
    assert only("(cd web && ls); pytest", 0).command == "pytest"
    assert only("cd web; (cd app && pytest)", 0).command == "cd web/app && pytest"
    assert only("cd web && cd /r && if true; then pytest; fi", 0).command == "cd /r && pytest"
    assert only("cd 'a b' && pytest", 0).command == "cd 'a b' && pytest"
    assert only("cd web && cd - && pytest", 0).command == "pytest"
    assert only("FOO=1 uv run pytest -q > log", 0).command == "FOO=1 uv run pytest -q"


# --- reading ---------------------------------------------------------------------------------------------


def test_no_check_is_said_only_of_what_is_known_to_be_none() -> None:
    assert read_command("ls && git status").check == "no"
    assert read_command("ls && ./anything").check == "unsure"
    assert read_command("ls && pytest").check == "yes"
    assert read_command("echo 'open").check == "unsure"
    assert read_command("").check == "no"


def test_a_users_own_check_command_is_a_check() -> None:
    rules = Rules((UserCheck("./verify.sh", "tests"), UserCheck("make audit-*", "lint")))
    assert [(c.scope, c.outcome, c.exit_code) for c in run("./verify.sh --fast", 3, "", rules).checks] == [
        ("tests", "fail", 3)
    ]
    assert run("make audit-all", 0, "", rules).checks[0].scope == "lint"
    assert run("./verify.sh | tail", 0, PYTEST_PASS, rules).checks[0].outcome == "pass"
    assert run("./verify.sh2", 0, "", rules).check == "unsure"
    assert run("cat ./verify.sh", 0, "", rules).check == "no"


# --- what always holds --------------------------------------------------------------------------------------


@given(noise, st.sampled_from([None, 0, 1, 2, 5, 127, 141]), noise)
def test_any_command_and_output_are_read(command: str, code: int | None, text: str) -> None:
    run(command, code, text)


@given(
    shell_line,
    st.sampled_from([None, 0, 1, 2, 5]),
    st.sampled_from(["", PYTEST_PASS, PYTEST_FAIL, "exit: 0", "exit: 1"]),
)
def test_a_line_that_exits_nonzero_passes_no_check_whose_exit_it_is(
    command: str, code: int | None, text: str
) -> None:
    for check in run(command, code, text).checks:
        assert not (check.outcome == "pass" and check.exit_code not in (0, None))
        assert not (check.outcome == "unknown" and check.basis is not None)
        assert (check.basis is None) == (check.outcome == "unknown")


@given(
    check_command,
    redirection,
    st.sampled_from([1, 2, 101]),
    st.sampled_from(["", PYTEST_PASS, "12 passed", "ok  \ta\t0.1s"]),
)
def test_a_check_alone_never_passes_with_a_nonzero_exit(
    command: str, redirect: str, code: int, text: str
) -> None:
    assert only(command + redirect, code, text).outcome != "pass"


@given(shell_line)
def test_quoting_a_line_makes_it_no_run(line: str) -> None:
    quoted = line.replace("'", "")
    assert run(f"echo '{quoted}'", 0, PYTEST_PASS).checks == ()


@given(
    check_command,
    st.sampled_from([" | tail -5", " | tee /tmp/x", " || true", "; true", " | cat", "; echo done"]),
)
def test_masking_never_makes_a_pass_without_a_closing_line(command: str, mask: str) -> None:
    assert only(command + mask, 0, "some output").outcome == "unknown"


BASH = shutil.which("bash")

#: A line for the real shell: checks and other programs are functions whose ends we choose.
checks_in_bash = st.sampled_from(["pytest a", "mypy b", "env ruff check c"])
others_in_bash = st.sampled_from(
    ["true", "false", "echo x", "other", "cd /", "cat /dev/null", "exit 3", "exit"]
)
bash_line = st.recursive(
    st.one_of(checks_in_bash, others_in_bash), lambda inner: around(inner, loops=False), max_leaves=6
)

PRELUDE = """
ran() { echo "$1 $2" >> "$LOG"; return $2; }
pytest() { ran pytest $PYTEST; }
mypy() { ran mypy $MYPY; }
env() { ran ruff $RUFF; }
other() { return $OTHER; }
"""


def bash(line: str, folder: Path, ends: tuple[int, ...]) -> tuple[int, str, dict[str, list[int]]]:
    """Run a line in the real shell: its exit code, its output, and how each check in it ended."""
    log = folder / "log"
    log.write_text("", "utf-8")
    names = dict(zip(("PYTEST", "MYPY", "RUFF", "OTHER"), map(str, ends), strict=True))
    assert BASH is not None
    done = subprocess.run(
        [BASH, "-c", f"{PRELUDE}\n{line}"], env={**names, "LOG": str(log), "PATH": "/usr/bin:/bin"},
        text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20, cwd=folder,
    )  # fmt: skip
    ran: dict[str, list[int]] = {}
    for row in log.read_text("utf-8").split("\n")[:-1]:
        ran.setdefault(row.split()[0], []).append(int(row.split()[1]))
    return done.returncode, done.stdout, ran


@pytest.mark.skipif(BASH is None, reason="no bash on this machine")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bash_line, st.tuples(*[st.sampled_from([0, 0, 1, 2])] * 4))
def test_what_is_said_of_a_line_is_what_the_real_shell_did(
    tmp_path: Path, line: str, ends: tuple[int, ...]
) -> None:
    """Each check is made to end in a chosen way and the line is run: a pass is said only of a check that
    ran and succeeded, a failure only of one that failed, with its code, and "never ran" is true."""
    code, output, ran = bash(line, tmp_path, ends)
    said = run(line, code, output)
    found = read_command(line).checks
    for check in said.checks:
        ended = ran.get(str(check.runner), [])
        if check.outcome == "pass":
            assert 0 in ended
        if check.outcome == "fail":
            assert [end for end in ended if end]
            assert check.exit_code in (None, *ended)
    if len(said.checks) < len(found) <= MAX_CHECKS:
        told = {check.runner for check in said.checks}
        assert not {check.runner.name for check in found if check.runner} - told - {None} & set(ran)


@pytest.mark.parametrize(
    ("unit", "times"), [("pytest; ", 250), ("a && ", 250), ("(pytest; ls) || ", 50), ("x | ", 100)]
)
def test_the_time_for_long_lines_grows_with_their_length_alone(unit: str, times: int) -> None:
    def weigh(units: int) -> None:
        run(unit * units + "pytest", 1, f"{PYTEST_FAIL}\n" * (2 * units))

    assert_linear(int, weigh, times)


def test_every_shell_command_of_the_recorded_sessions_is_read(shared: Path) -> None:
    """Real sessions, of several versions: no command is broken, and those known by hand end as read."""
    import json  # noqa: PLC0415 - only where the sessions are

    commands: list[str] = []
    for file in sorted((shared / "data" / "transcripts").rglob("*.jsonl")):
        for line in file.read_text("utf-8", "replace").splitlines():
            content = (json.loads(line).get("message") or {}).get("content")
            commands += (
                block["input"]["command"]
                for block in (content if isinstance(content, list) else ())
                if block.get("type") == "tool_use" and block.get("name") == "Bash"
            )
    assert len(commands) > 50
    assert not [command for command in commands if read_command(command).script.broken]
    checks = list(itertools.chain.from_iterable(read_command(command).checks for command in commands))
    assert {check.scope for check in checks} == {"tests", "build", "lint", "types"}
    assert {check.runner.name for check in checks if check.runner} == {
        "mix test",
        "mix compile",
        "mix credo",
        "pytest",
        "ty",
    }


@pytest.mark.parametrize(
    ("command", "text", "outcome"),
    [("npm test", "Tests: 1 failed, 2 passed, 3 total", "fail"), ("pytest -q", "2 passed in 0.1s", "pass"),
     ("pytest -q", "collecting ...", "unknown"), ("pytest", "", "unknown"),
     ("./check.sh", "2 passed in 0.1s", "pass")],
)  # fmt: skip
def test_of_a_command_whose_end_nobody_told_only_the_closing_lines_are_heard(
    command: str, text: str, outcome: str
) -> None:
    (check,) = outcomes(command, CallResult("ok", text), ended=False).checks
    assert check.outcome == outcome
    assert check.exit_code is None
    assert check.basis in (None, "summary")
