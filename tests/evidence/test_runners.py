"""The tables know the common runners: how each is called, and how each says it ended."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.events import Scope
from loopbook.evidence.closing_table import CLOSINGS, NEVER_STARTED
from loopbook.evidence.runner_table import NAMES, NEVER, OPTIONS, RUNNERS, VOID
from loopbook.evidence.runners import (
    Found,
    closed,
    find_runner,
    is_closing,
    only_reads,
    output_lines,
    rows_for,
    together,
    verdict_of,
)
from loopbook.evidence.shell import parse
from loopbook.evidence.text import compiled
from loopbook.evidence.wrappers import unfolded
from tests.growth import assert_linear


def kind(line: str) -> str:
    """``scope: program`` of the last simple command, or ``no`` or ``unsure``."""
    found = find_runner(parse(line).commands[-1].levels)
    return f"{found.runner.scope}: {found.program}" if isinstance(found, Found) else found


CALLS = """
pytest -q tests                         tests: pytest
python -m pytest                        tests: pytest
uv run python -m pytest -x              tests: pytest
py.test                                 tests: pytest
.venv/bin/pytest                        tests: pytest
pytest -k help                          tests: pytest
python -m unittest discover -s tests    tests: unittest
python manage.py test shop              tests: manage.py test
python setup.py test                    tests: setup.py test
nosetests                               tests: nosetests
tox -e py312                            tests: tox
nox -s tests                            tests: nox
hatch test                              tests: hatch test
hatch run test                          tests: hatch run test
pdm run lint                            lint: pdm run lint
coverage run -m pytest                  tests: pytest
python -m doctest a.py                  tests: doctest
mypy --strict src                       types: mypy
pyright                                 types: pyright
uv run ty check                         types: ty check
ruff check . --fix                      lint: ruff check
uvx ruff@latest check                   lint: ruff check
npx @biomejs/biome@1.9 check            lint: biome check
flake8                                  lint: flake8
pylint pkg                              lint: pylint
pre-commit run --all-files              lint: pre-commit run
ruff format --check .                   format: ruff format
black --check .                         format: black
isort -c .                              format: isort
python -m build                         build: python build
python -m compileall src                build: compileall
mkdocs build --strict                   build: mkdocs build
npx vitest run                          tests: vitest
pnpm vitest run                         tests: vitest
yarn jest --ci                          tests: jest
node_modules/.bin/jest                  tests: jest
npx mocha                               tests: mocha
c8 mocha                                tests: mocha
ava                                     tests: ava
node --test                             tests: node
npx playwright test                     tests: playwright test
cypress run                             tests: cypress run
npx tsc --noEmit -p .                   types: tsc
vue-tsc                                 types: vue-tsc
svelte-check                            types: svelte-check
eslint . --max-warnings 0               lint: eslint
npx biome ci                            lint: biome ci
oxlint                                  lint: oxlint
stylelint a.css                         lint: stylelint
next lint                               lint: next lint
prettier --check .                      format: prettier
prettier -l src                         format: prettier
vite build                              build: vite build
npx next build                          build: next build
webpack --mode production               build: webpack
rollup -c                               build: rollup
tsup                                    build: tsup
npm test                                tests: script test
npm t                                   tests: script test
npm run test:unit -- --run              tests: script test:unit
npm --prefix web run test               tests: script test
npm run -s lint                         lint: script lint
npm run typecheck                       types: script typecheck
npm run format:check                    format: script format:check
npm run build                           build: script build
npm run check                           lint: script check
yarn test                               tests: script test
yarn workspace web test                 tests: script workspace web test
pnpm -r test                            tests: script test
pnpm --filter web test                  tests: script test
bun run test                            tests: script test
bun test                                tests: bun test
turbo run test                          tests: turbo run test
npx nx run-many -t test                 tests: nx run-many
nx lint app                             lint: nx lint
deno test -A                            tests: deno test
deno task test                          tests: script test
deno lint                               lint: deno lint
deno check main.ts                      types: deno check
deno fmt --check                        format: deno fmt
go test ./... -race                     tests: go test
gotestsum ./...                         tests: gotestsum
go build ./...                          build: go build
go vet ./...                            lint: go vet
golangci-lint run                       lint: golangci-lint run
cargo test -q                           tests: cargo test
cargo +nightly test                     tests: cargo test
cargo nextest run                       tests: cargo nextest run
cargo test --no-run                     build: cargo test
cargo build --release                   build: cargo build
cargo check                             build: cargo check
cargo clippy -- -D warnings             lint: cargo clippy
cargo fmt --all -- --check              format: cargo fmt
mvn -q clean verify                     tests: mvn verify
./mvnw test -Dtest=A                    tests: mvn test
mvn install -DskipTests                 build: mvn install
./gradlew test                          tests: gradle test
./gradlew :app:testDebugUnitTest        tests: gradle testDebugUnitTest
gradle build -x test                    build: gradle build
gradle ktlintCheck                      lint: gradle ktlintCheck
gradle assemble                         build: gradle assemble
ktlint                                  lint: ktlint
detekt                                  lint: detekt
sbt test                                tests: sbt test
lein test                               tests: lein test
bundle exec rspec spec/a_spec.rb:3      tests: rspec
bin/rails test                          tests: rails test
rake test                               tests: rake test
ruby -Itest test/a_test.rb              tests: ruby test/a_test.rb
rubocop                                 lint: rubocop
vendor/bin/phpunit                      tests: phpunit
./vendor/bin/pest                       tests: pest
php artisan test                        tests: artisan test
phpstan analyse                         types: phpstan analyse
psalm                                   types: psalm
php-cs-fixer fix --dry-run              format: php-cs-fixer fix
composer test                           tests: composer test
dotnet test --no-build                  tests: dotnet test
dotnet build                            build: dotnet build
dotnet format --verify-no-changes       format: dotnet format
ctest --output-on-failure               tests: ctest
ctest -V                                tests: ctest
cmake --build build                     build: cmake
cmake --build build --target test       tests: cmake
ninja                                   build: ninja
ninja -C out test                       tests: ninja test
meson test -C build                     tests: meson test
clang-tidy a.cc                         lint: clang-tidy
gcc -c a.c                              build: gcc
make                                    build: make
make -j8 all                            build: make all
make test V=1                           tests: make test
make check                              tests: make check
make -C web lint                        lint: make lint
just test-unit                          tests: just test-unit
task lint                               lint: task lint
mix test test/a_test.exs:12             tests: mix test
mix compile --warnings-as-errors        build: mix compile
mix credo --strict                      lint: mix credo
mix dialyzer                            types: mix dialyzer
mix format --check-formatted            format: mix format
swift test --filter A                   tests: swift test
swift build                             build: swift build
xcodebuild -scheme A test               tests: xcodebuild test
flutter test                            tests: flutter test
dart analyze                            lint: dart analyze
dart format --set-exit-if-changed .     format: dart format
bazel test //...                        tests: bazel test
bazel build //app                       build: bazel build
prove -l t                              tests: prove
bats tests                              tests: bats
shellcheck a.sh                         lint: shellcheck
docker compose exec web pytest          tests: pytest
git diff --name-only | xargs eslint     lint: eslint
"""


@pytest.mark.parametrize("row", CALLS.strip().splitlines())
def test_common_runners_are_known_however_they_are_called(row: str) -> None:
    line, expected = re.split(r"\s{2,}", row)
    assert kind(line) == expected


NONE = """
ls -la | cd x | git status | git commit -m pytest | mkdir -p a | rm -rf build | cp a b | grep -rn pytest .
find . -name a | echo npm test | printf pytest | cat pytest.ini | head -5 test.log | npm install | npm ci
pip install pytest | uv sync | yarn | yarn add jest | pnpm i | cargo add x | go mod tidy | mix deps.get
bundle install | composer install | poetry install | pytest --help | pytest --version
pytest --collect-only -q | jest --listTests | vitest list | go test -list . | ctest -N
playwright test --list | make -n test | xcodebuild -list | tsc --init | rspec --dry-run
cargo test -- --list | tox -l | black . | ruff format . | prettier --write . | cargo fmt | mix format
gofmt -w . | ./run_tests.sh --help | test -f pytest.ini | sudo ls | timeout 5 tail -f log | which pytest
command -v pytest | docker ps | docker logs web | gh run view --log | curl -s x | [ -d x ]
ssh host cat log | ssh -p 22 host 'tail -5 log' | find . -name a -exec grep x {} + | docker exec app cat log
docker compose logs app | kubectl exec pod -- cat log | python -m json.tool x | python -m pip install x
man pytest | dd if=log | source ~/.bashrc | . env.sh
sed -n 1,5p a_test.py | awk /FAIL/ log | /usr/bin/cat test.log | export CI=1 | source .venv/bin/activate
"""


@pytest.mark.parametrize(
    "line", [part.strip() for row in NONE.strip().splitlines() for part in row.split(" | ")]
)
def test_what_is_known_to_be_no_check_is_said_to_be_none(line: str) -> None:
    assert kind(line) == "no"


UNSURE = """
./deploy.sh | python run_tests.py | python -c "print(1)" | node script.js | bash run.sh | ./test
bin/test | make docs | make sure | make install-test-deps | npm run test:watch | npm run dev
docker run x pytest | find . -exec pytest {} + | git bisect run pytest | ssh host pytest | mix quality
tmux send-keys -t 0 pytest Enter | screen -X stuff pytest | source ./run_tests.sh | . ./ci.sh | helm test x
docker-compose -f c.yml run app pytest | docker compose -f c.yml up | psql -f t.sql | ssh host 'cd x; cat l'
rake | gradle | hatch run serve | $RUNNER -q | NPM TEST | just
"""


@pytest.mark.parametrize(
    "line", [part.strip() for row in UNSURE.strip().splitlines() for part in row.split(" | ")]
)
def test_what_may_run_anything_is_unsure(line: str) -> None:
    assert kind(line) == "unsure"


def test_only_well_known_programs_only_read() -> None:
    assert only_reads((("cat", "log"),))
    assert only_reads((("sudo", "tail", "x"), ("tail", "x")))
    assert not only_reads((("./cat", "log"),))
    assert not only_reads(((),))
    assert not only_reads(unfolded(("hatch", "run", "cat"))[0])


# --- closing lines: (runner, passed, failed, nothing tested) ---------------------------------------------

SAMPLES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "pytest": (
        (
            "===== 3 passed in 0.45s =====",
            f"{'=' * 90} 3 passed in 62.45s (0:01:02) {'=' * 91}",  # as wide as the terminal
            "3 passed, 1 skipped, 2 warnings in 61.2s (0:01:01)",
            "1 xfailed in 0.1s",
        ),
        (
            "== 1 failed, 3 passed in 0.1s ==",
            f"{'=' * 25} 1 failed, 11 passed in 0.31s {'=' * 26}",
            "1 error in 0.2s",
            "2 failed, 1 error in 3.00s",
            "FAIL Required test coverage of 90% not reached. Total coverage: 81.20%",
            "!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!",
        ),
        (
            "no tests ran in 0.01s",
            "5 deselected in 0.02s",
            "3 skipped in 0.1s",
            "== no tests ran in 0.00s ==",
        ),
    ),
    "unittest": (
        ("Ran 3 tests in 0.001s\n\nOK", "Ran 3 tests in 0.001s\n\nOK (skipped=1)"),
        ("Ran 3 tests in 0.001s\n\nFAILED (failures=1)", "FAILED (errors=2, skipped=1)"),
        ("Ran 0 tests in 0.000s\n\nOK", "Ran 0 tests in 0.000s\n\nNO TESTS RAN"),
    ),
    "trial": (("PASSED (successes=4)",), ("FAILED (failures=1, successes=3)",), ()),
    "tox": (("  congratulations :) (3.20 seconds)",), ("  evaluation failed :( (1.2 seconds)",), ()),
    "nox": (("nox > Session tests was successful.",), ("nox > Session tests failed.",), ()),
    "behave": (("2 scenarios passed, 0 failed, 0 skipped",), ("1 scenario passed, 1 failed, 0 skipped",), ()),
    "robot": (("12 tests, 12 passed, 0 failed",), ("12 tests, 11 passed, 1 failed",), ()),
    "doctest": ((), ("***Test Failed*** 2 failures.",), ()),
    "vitest": (
        (" Test Files  1 passed (1)\n      Tests  3 passed (3)", "      Tests  3 passed | 1 skipped (4)"),
        (
            " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 8 passed (9)",
            "     Errors  1 error",
            "ERROR: Coverage for lines (52%) does not meet global threshold (80%)",
        ),
        ("No test files found, exiting with code 1", "      Tests  no tests"),
    ),
    "jest": (
        ("Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total",),
        (
            "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 passed, 3 total",
            'Jest: "global" coverage threshold for lines (80%) not met: 52%',
        ),
        ("No tests found, exiting with code 1", "Tests:       3 skipped, 3 total"),
    ),
    "mocha": (("  3 passing (12ms)",), ("  3 passing (12ms)\n  1 failing",), ("  0 passing (1ms)",)),
    "node-test": (
        ("# tests 3\n# pass 3\n# fail 0", "ℹ pass 3\nℹ fail 0"),
        ("# pass 2\n# fail 1",),
        ("# pass 0\n# fail 0",),
    ),
    "tap": (("# pass  5", "# pass 5/5"), ("# pass  4\n# fail  1",), ()),
    "ava": (
        ("  3 tests passed",),
        ("  2 tests passed\n  1 test failed", "  1 uncaught exception"),
        ("  ✘ Couldn't find any files to test",),
    ),
    "playwright": (
        ("  12 passed (3.4s)", "12 passed"),
        ("  1 failed\n  11 passed (3.4s)",),
        ("Error: No tests found",),
    ),
    "cypress": (("    ✔  All specs passed!      00:03",), ("    ✖  1 of 2 failed (50%)",), ()),
    "deno": (
        ("ok | 3 passed | 0 failed (12ms)",),
        ("FAILED | 2 passed | 1 failed (12ms)",),
        ("ok | 0 passed | 0 failed (2ms)",),
    ),
    "bun": (
        (" 3 pass\n 0 fail\nRan 3 tests across 1 file. [8.00ms]",),
        (" 2 pass\n 1 fail",),
        (" 0 pass\n 0 fail",),
    ),
    "go": (
        ("ok  \texample.com/a\t0.012s", "?   \ta\t[no test files]\nok  \tb\t(cached)"),
        (
            "--- FAIL: TestX (0.00s)\nFAIL\nFAIL\texample.com/a\t0.01s",
            "FAIL\ta [build failed]",
            "ok  \ta\t0.1s\nFAIL\tb\t0.2s",
        ),
        ("?   \texample.com/a\t[no test files]", "ok  \ta\t0.1s [no tests to run]"),
    ),
    "gotestsum": (
        ("DONE 12 tests in 1.201s",),
        ("DONE 12 tests, 1 failure in 1.201s",),
        ("DONE 0 tests in 0.1s",),
    ),
    "ginkgo": (
        ("SUCCESS! -- 3 Passed | 0 Failed | 0 Pending",),
        ("FAIL! -- 2 Passed | 1 Failed | 0 Pending",),
        (),
    ),
    "cargo": (
        ("test result: ok. 3 passed; 0 failed; 0 ignored\n\ntest result: ok. 0 passed; 0 failed; 0 ignored",),
        (
            "test result: FAILED. 2 passed; 1 failed; 0 ignored",
            "error: could not compile `a` (lib) due to 1 previous error",
            "error: test failed, to rerun pass `--lib`",
        ),
        ("test result: ok. 0 passed; 0 failed; 0 ignored",),
    ),
    "nextest": (
        ("     Summary [   0.012s] 3 tests run: 3 passed, 0 skipped",),
        ("     Summary [   0.012s] 3/9 tests run: 2 passed, 1 failed, 0 skipped",),
        (),
    ),
    "maven": (
        ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",),
        (
            "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
            "[ERROR] COMPILATION ERROR :",
            "[INFO] BUILD FAILURE",
        ),
        ("[INFO] No tests to run.\n[INFO] BUILD SUCCESS",),
    ),
    "ant": ((), ("BUILD FAILED",), ()),
    "gradle": (("BUILD SUCCESSFUL in 3s",), ("3 tests completed, 1 failed\nBUILD FAILED in 3s",), ()),
    "sbt": (
        ("[info] Passed: Total 3, Failed 0, Errors 0, Passed 3",),
        ("[error] Failed: Total 3, Failed 1, Errors 0",),
        (),
    ),
    "clojure": (("0 failures, 0 errors.",), ("1 failures, 0 errors.",), ()),
    "rspec": (
        ("3 examples, 0 failures", "3 examples, 0 failures, 1 pending"),
        ("3 examples, 1 failure", "0 examples, 0 failures, 1 error occurred outside of examples"),
        ("0 examples, 0 failures",),
    ),
    "minitest": (
        ("3 runs, 5 assertions, 0 failures, 0 errors, 0 skips",),
        ("3 runs, 5 assertions, 1 failures, 0 errors, 0 skips",),
        ("0 runs, 0 assertions, 0 failures, 0 errors, 0 skips",),
    ),
    "cucumber": (("3 scenarios (3 passed)",), ("3 scenarios (1 failed, 2 passed)",), ()),
    "phpunit": (
        ("OK (3 tests, 5 assertions)", "OK, but there were issues!\nTests: 3, Assertions: 5, Skipped: 1."),
        ("FAILURES!\nTests: 3, Assertions: 5, Failures: 1.",),
        ("No tests executed!",),
    ),
    "pest": (
        ("  Tests:    3 passed (5 assertions)",),
        ("  Tests:    1 failed, 2 passed (5 assertions)",),
        (),
    ),
    "dotnet": (
        (
            "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3",
            "Test summary: total: 3, failed: 0, succeeded: 3",
        ),
        ("Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3", "Test Run Failed."),
        ("No test is available in /a/b.dll. Make sure that test discoverer is registered",),
    ),
    "ctest": (
        ("100% tests passed, 0 tests failed out of 3",),
        ("67% tests passed, 1 tests failed out of 3",),
        ("No tests were found!!!",),
    ),
    "meson": (
        ("Ok:                 3\nFail:               0",),
        ("Ok:                 2\nFail:               1",),
        (),
    ),
    "mix": (
        ("14 doctests, 73 tests, 0 failures", "5 tests, 0 failures, 2 excluded", "2 doctests, 0 failures"),
        (
            "5 tests, 4 failures",
            "1 property, 3 tests, 1 failure",
            "== Compilation error in file test/a_test.exs ==",
        ),
        ("0 failures\n0 tests, 0 failures", "5 tests, 0 failures (5 excluded)", "There are no tests to run"),
    ),
    "rebar3": (
        ("Finished in 0.1 seconds\n3 tests, 0 failures", "  All 3 tests passed."),
        ("3 tests, 1 failures",),
        (),
    ),
    "gleam": (("3 tests, no failures",), ("3 tests, 1 failures",), ()),
    "swift": (
        (
            "Executed 3 tests, with 0 failures (0 unexpected) in 0.01 (0.02) seconds",
            "✔ Test run with 3 tests passed after 0.01 seconds.",
        ),
        (
            "Executed 3 tests, with 1 failure (0 unexpected) in 0.01",
            "✘ Test run with 3 tests failed after 0.01 seconds with 1 issue.",
            "** TEST FAILED **",
        ),
        ("Executed 0 tests, with 0 failures (0 unexpected) in 0.0",),
    ),
    "dart": (("00:01 +3: All tests passed!",), ("00:01 +2 -1: Some tests failed.",), ("No tests ran.",)),
    "bazel": (
        ("Executed 1 out of 3 tests: 3 tests pass.",),
        ("Executed 3 out of 3 tests: 2 tests pass and 1 fails locally.",),
        (),
    ),
    "prove": (
        ("Files=2, Tests=9,  1 wallclock secs\nResult: PASS",),
        ("Result: FAIL",),
        ("Result: NOTESTS",),
    ),
    "bats": (("3 tests, 0 failures",), ("3 tests, 1 failure",), ()),
    "zig": (("All 3 tests passed.",), ("2 passed; 0 skipped; 1 failed.",), ()),
    "hspec": (("3 examples, 0 failures",), ("3 examples, 1 failure",), ()),
    "cabal": (("1 of 1 test suites (1 of 1 test cases) passed.",), ("Test suite a: FAIL",), ()),
    "forge": (
        ("Ran 2 test suites in 1.2s: 9 tests passed, 0 failed, 0 skipped",),
        ("Suite result: FAILED. 2 passed; 1 failed",),
        (),
    ),
    "counts": (("12 passed, 0 failed", "3 tests passed."), ("2 passed, 1 failed",), ("0 passed, 0 failed",)),
    "mypy": (
        ("Success: no issues found in 5 source files",),
        (
            "Found 2 errors in 1 file (checked 5 source files)",
            "Found 1 error in 1 file (errors prevented further checking)",
        ),
        (),
    ),
    "pyright": (("0 errors, 0 warnings, 0 informations",), ("2 errors, 0 warnings, 0 informations",), ()),
    "ty": (("All checks passed!",), ("Found 5 diagnostics",), ()),
    "tsc": (
        ("Found 0 errors. Watching for file changes.",),
        (
            "src/a.ts(1,7): error TS2322: Type 'x' is not assignable",
            "Found 2 errors in the same file, starting at: src/a.ts:1",
        ),
        (),
    ),
    "svelte-check": (
        ("svelte-check found 0 errors and 0 warnings",),
        ("svelte-check found 2 errors and 0 warnings",),
        (),
    ),
    "dialyzer": (("done (passed successfully)",), ("done (warnings were emitted)",), ()),
    "phpstan": ((" [OK] No errors",), (" [ERROR] Found 3 errors",), ()),
    "psalm": (("No errors found!",), ("3 errors found",), ()),
    "ruff": (
        ("All checks passed!", "Found 2 errors (2 fixed, 0 remaining)."),
        ("Found 3 errors.", "Found 3 errors (1 fixed, 2 remaining)."),
        (),
    ),
    "flake8": ((), ("a.py:1:1: F401 'os' imported but unused",), ()),
    "pylint": ((), (), ("Your code has been rated at 9.50/10",)),
    "pre-commit": (
        ("ruff.....................................................Passed",),
        ("ruff....Failed",),
        ("ruff....(no files to check)Skipped",),
    ),
    "eslint": (
        ("✖ 2 problems (0 errors, 2 warnings)",),
        ("✖ 2 problems (1 error, 1 warning)", "ESLint found too many warnings (maximum: 0)."),
        (),
    ),
    "biome": (("Checked 5 files in 3ms. No fixes applied.",), ("Found 2 errors.",), ()),
    "oxlint": (("Found 1 warning and 0 errors.",), ("Found 0 warnings and 2 errors.",), ()),
    "stylelint": (("✖ 2 problems (0 errors, 2 warnings)",), ("✖ 2 problems (2 errors, 0 warnings)",), ()),
    "golangci-lint": (("0 issues.",), ("3 issues:",), ()),
    "credo": (("326 mods/funs, found no issues.",), ("326 mods/funs, found 2 code readability issues.",), ()),
    "rubocop": (
        ("5 files inspected, no offenses detected",),
        ("5 files inspected, 2 offenses detected",),
        (),
    ),
    "dart analyze": (("No issues found!",), ("3 issues found.",), ()),
    "swift lint": (
        ("Done linting! Found 2 violations, 0 serious in 9 files.",),
        ("Done linting! Found 2 violations, 1 serious in 9 files.",),
        (),
    ),
    "black": (
        ("5 files would be left unchanged.",),
        ("1 file would be reformatted, 4 files would be left unchanged.",),
        (),
    ),
    "ruff format": (
        ("5 files already formatted",),
        ("1 file would be reformatted, 4 files already formatted",),
        (),
    ),
    "prettier": (
        ("All matched files use Prettier code style!",),
        ("[warn] Code style issues found in 2 files. Run Prettier with --write to fix.",),
        (),
    ),
    "mix format": ((), ("** (Mix) mix format failed due to --check-formatted.",), ()),
    "cargo fmt": ((), ("Diff in /a/src/lib.rs:1:",), ()),
    "cargo-build": (
        ("    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.10s",),
        ("error: could not compile `a` (bin)",),
        (),
    ),
    "mix-compile": (
        ("Generated shop app",),
        ("== Compilation error in file lib/a.ex ==", "** (CompileError) lib/a.ex:3"),
        (),
    ),
    "dotnet-build": (
        ("Build succeeded.\n    0 Error(s)", "Build succeeded in 2.1s"),
        ("Build FAILED.\n    2 Error(s)",),
        (),
    ),
    "xcodebuild": (("** BUILD SUCCEEDED **", "Build complete! (1.2s)"), ("** BUILD FAILED **",), ()),
    "make": ((), ("make: *** [Makefile:4: test] Error 2",), ()),
    "script": (
        (),
        ("npm error Lifecycle script `test` failed with error:", "error Command failed with exit code 1."),
        (),
    ),
    "javascript build": (
        ("✓ built in 1.20s", "webpack 5.90.0 compiled successfully in 900 ms"),
        ("webpack 5.90.0 compiled with 2 errors in 900 ms", "Failed to compile."),
        (),
    ),
}

CASES = [
    (name, expected, sample)
    for name, samples in SAMPLES.items()
    for expected, texts in zip(("pass", "fail", "nothing"), samples, strict=True)
    for sample in texts
]


@pytest.mark.parametrize(
    ("name", "expected", "sample"), CASES, ids=[f"{n}-{e}-{s[:20]}" for n, e, s in CASES]
)
def test_a_runners_own_closing_lines_are_understood(name: str, expected: str, sample: str) -> None:
    rows = tuple(row for row in CLOSINGS if row.name == name and row.scope != "build") or tuple(
        row for row in CLOSINGS if row.name == name
    )
    assert together(closed(output_lines(f"noise\n{sample}\n"), rows)) == expected


def test_every_closing_row_has_samples() -> None:
    assert {row.name for row in CLOSINGS} == set(SAMPLES)


@pytest.mark.parametrize(
    "line",
    [
        "All tests passed",
        "All tests passed successfully.",
        "SUCCESS",
        "OK",
        "everything passed",
        "100% pass",
        "done",
        "tests: ok",
        "✓ all green",
        "PASS: everything",
        "0 problems",
    ],
)
def test_what_anybody_may_print_is_no_strong_closing_line(line: str) -> None:
    assert not [row for row in CLOSINGS if row.strong and is_closing(row, line) and row.after is None]


# --- the tables themselves ----------------------------------------------------------------------------------


def test_the_runner_table_is_sound() -> None:
    closings = {row.name for row in CLOSINGS}
    for runner in RUNNERS:
        assert runner.scope in get_args(Scope), runner
        assert set(runner.closing) <= closings | {"*"}, runner
        assert not runner.void & VOID, runner
        for call in runner.calls:
            for part in call.split():
                for name in re.findall(r"\{(\w+)\}", part):
                    assert name in NAMES, call
                if part.startswith("@"):
                    re.compile(part[1:])
    assert NEVER & {"--help", "--version"}
    for options in OPTIONS.values():
        assert not options.values & options.selects
        assert not options.selects & options.narrows


def test_no_call_pattern_stands_twice() -> None:
    seen: dict[str, str] = {}
    for runner in RUNNERS:
        for call in runner.calls:
            assert (
                seen.setdefault(call, runner.scope) == runner.scope or runner.unless or "--no-run" in call
            ), call


UNBOUNDED = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\})(?![)}])")


def test_no_pattern_of_the_tables_repeats_without_bound() -> None:
    for row in CLOSINGS:
        for pattern in (row.line, row.failed, row.passed, row.nothing):
            bare = (
                re.sub(r"\[[^\]]*\]|\\.", "x", pattern)
                .replace("^=*", "")
                .replace("=*$", "")
                .replace(" ?s", "s")
            )
            assert not UNBOUNDED.search(bare), pattern
    for name in NAMES.values():
        assert not UNBOUNDED.search(re.sub(r"\[[^\]]*\]|\\.", "x", name)), name


@pytest.mark.parametrize(
    "part", ["a", "1 ", "=", " ", "1 passed, ", "x.", "a:1:1: ", "FAILED (", ".", "\x1b[0m", "test-"]
)
def test_a_megabyte_is_searched_in_one_go(part: str) -> None:
    def search(text: str) -> None:
        closed(output_lines(text), CLOSINGS)
        closed(output_lines("\n".join([text[:400]] * (len(text) // 5_000))), CLOSINGS)
        compiled(NEVER_STARTED).search(text[: len(text) // 100])
        for pattern in NAMES.values():
            compiled(pattern).fullmatch(text[: len(text) // 100])

    assert_linear(lambda size: part * (size // len(part)), search, 1_000_000)


@given(st.text(max_size=300))
def test_any_output_is_read(text: str) -> None:
    for one in closed(output_lines(text), CLOSINGS):
        assert verdict_of(one.row, one.text) == one.verdict


def test_names_that_stand_for_anything_hear_every_runner_of_their_scope() -> None:
    found = find_runner((("make", "test"),))
    assert isinstance(found, Found)
    assert {"pytest", "jest", "make"} <= {row.name for row in rows_for(found.runner, "tests")}
    assert "mypy" not in {row.name for row in rows_for(found.runner, "tests")}


def test_only_the_ends_of_a_long_output_are_searched_and_the_last_line_among_them() -> None:
    text = "x\n" * 500_000 + "3 passed in 0.1s"
    assert together(closed(output_lines(text), CLOSINGS)) == "pass"
    assert sum(map(len, output_lines(text))) < 100_000
