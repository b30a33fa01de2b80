"""The programs that check, as data: how each is called and what it vouches for.

A *call* is a little pattern over the words of a simple command. Its first word is the program
(``|`` between alternatives, here and everywhere). Then, in order:

- ``word``      the next argument that is no option is this one (``*``: whatever it is);
- ``{tests}``   the next argument names a script or target of that sort (``NAMES``);
- ``@word``     some argument is this one, wherever it stands (a regular expression);
- ``-x``        this option is there (``-x:{tests}``: with such a value);
- ``.``         no argument follows that is no option.

The first row that fits is taken, so tests stand before what they include.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from loopbook.events import Scope
from loopbook.evidence.shell_table import word_set


class Runner(NamedTuple):
    """One program that checks.

    ``calls`` are call patterns. ``unless``: options or words with which it checks nothing.
    ``void``: exit codes that say that nothing was checked. ``closing`` names the rows of
    ``closing_table`` its output may end in (empty: those of its own name; ``*``: any of the scope,
    for names that may stand for anything). ``family``: whose whole run includes whose parts.
    """

    name: str
    scope: Scope
    calls: tuple[str, ...]
    unless: frozenset[str] = frozenset()
    void: frozenset[int] = frozenset()
    closing: tuple[str, ...] = ()
    family: str = ""


#: With these no program checks anything.
NEVER = frozenset({"--help", "-h", "--version", "-help", "-version", "help"})

#: Exit codes that never speak for a check: not executable, not found, stopped by a signal.
VOID = frozenset({126, 127, 129, 130, 131, 137, 141, 143})

#: Names that only prepare, show or serve what is named in them.
_PREPARES = (
    "deps?|data|setup|fixtures?|db|env|images?|clean|watch|install|prepare|seed|reports?|gen|generate|create|list"
    "|up|down|update|snapshots?|start|stop|serve|server|docs?|new|init|dev|open|upload|publish"
)
_NAMED = rf"(?!(?:.{{0,80}}[:._-])?(?:{_PREPARES})(?:[:._-]|$))(?:\+|[\w./@-]{{1,60}}[:_-])?"
_MORE = r"(?:[:._-][\w:.-]{1,60})?"

#: What a target or script of this name is for, whatever it runs.
NAMES: Mapping[str, str] = {
    name: f"(?i:{pattern})"
    for name, pattern in {
        "tests": rf"{_NAMED}(?:tests?|specs?|unit|e2e|integration|pytest|jest|vitest|rspec"
        rf"|coverage|testacc){_MORE}"
        r"|verify|ci|check[-_]all",
        "lint": rf"{_NAMED}(?:lint|eslint|clippy|stylelint|rubocop|credo|vet){_MORE}|lint.{{1,30}}",
        "types": rf"{_NAMED}(?:type-?checks?|types?|tsc|mypy|pyright|dialyzer)(?:[:._-](?:check|all))?"
        r"|check[:_-]?(?:types?|ts)|ts:check|svelte-check",
        "format": r"(?:format|fmt|prettier|style)[:._-]?(?:check|verify|ci)"
        r"|check[:._-](?:format|fmt|style|prettier)",
        "build": rf"(?:build|compile|bundle|assemble|all){_MORE}|[\w./@-]{{1,60}}:build",
        "check": "checks?",
    }.items()
}


def _runner(  # noqa: PLR0917 - a row of a table reads by position
    name: str, scope: Scope, calls: str, family: str = "", unless: str = "", void: str = "", closing: str = ""
) -> Runner:
    return Runner(
        name,
        scope,
        tuple(call.strip() for call in calls.split(" / ")),
        word_set(unless),
        frozenset(int(code) for code in void.split()),
        tuple(closing.split()),
        family,
    )


#: Sorts of names and what they vouch for; `check` is a project's lint, but `make check` its tests.
_NAMED_SCOPES: tuple[tuple[str, Scope], ...] = (
    ("types", "types"),
    ("format", "format"),
    ("lint", "lint"),
    ("check", "lint"),
    ("build", "build"),
)
_TESTS: tuple[tuple[str, Scope], ...] = (("tests", "tests"),)
_CHECK_TESTS: tuple[tuple[str, Scope], ...] = (("tests", "tests"), ("check", "tests"))

_MAKES = (
    "make|gmake|just|task|go-task|rake|mage|invoke|inv|poe|earthly|doit|nmake|mingw32-make|bmake"
    "|moon|tup|mask"
)
_SCRIPTS = "npm|pnpm|yarn|bun"
_PROJECTS = "hatch|pdm|rye|pixi|pipenv|poetry|uv|devbox"
_MONOREPOS = "turbo|nx|lerna|rush|wireit|melos|ultra"

RUNNERS: tuple[Runner, ...] = (
    # --- Python
    _runner("pytest", "tests", "pytest / pytest-xdist / pytest-watch", "py", void="4 5",
        unless="--collect-only --co --fixtures --markers --setup-plan --fixtures-per-test --cache-show -V"),
    _runner("unittest", "tests", "unittest", "py", void="5"),
    _runner("django", "tests", "manage.py test / django-admin test", "py", closing="unittest pytest"),
    _runner("setup.py", "tests", "setup.py test|pytest", "py", closing="unittest pytest"),
    _runner("nose", "tests", "nosetests / nose2 / nose", "py", closing="unittest"),
    _runner("tox", "tests", "tox", "py", unless="-l --listenvs -a --notest list config devenv",
        closing="tox pytest unittest"),
    _runner("nox", "tests", "nox", "py", unless="-l --list", closing="nox pytest unittest"),
    _runner("hatch test", "tests", "hatch test", "py", closing="pytest"),
    _runner("trial", "tests", "trial", "py", closing="trial unittest"),
    _runner("doctest", "tests", "doctest", "py"),
    _runner("behave", "tests", "behave", "py"),
    _runner("robot", "tests", "robot / pabot", "py"),
    _runner("python tests", "tests", "ward / green / stestr run / zope-testrunner", "py", closing="unittest"),
    _runner("mypy", "types", "mypy / dmypy run|check", "py", void="2"),
    _runner("pyright", "types", "pyright / basedpyright", "py", void="2 3 4"),
    _runner("ty", "types", "ty check", "py", void="2 101"),
    _runner("python types", "types", "pyre check / pyre . / pytype / pyrefly check", "py"),
    _runner("ruff format", "format", "ruff format --check|--diff", "py", void="2"),
    _runner("ruff", "lint", "ruff check", "py", void="2", unless="--show-files --show-settings"),
    _runner("flake8", "lint", "flake8", "py"),
    _runner("pylint", "lint", "pylint", "py", void="32", unless="--list-msgs"),
    _runner("pre-commit", "lint", "pre-commit run / prek run / prek .", void="3"),
    _runner("python lint", "lint",
        "pyflakes / pycodestyle / pydocstyle / bandit / vulture / lint-imports / interrogate / prospector "
        "/ pylama / deptry / slotscheck / semgrep", "py"),
    _runner("black", "format", "black --check|--diff", "py", void="2"),
    _runner("isort", "format", "isort --check|--check-only|-c|--diff", "py"),
    _runner("python format", "format", "yapf --diff|-d / autopep8 --diff / blue --check", "py"),
    _runner("python build", "build",
        "python -m build / poetry|uv|hatch|flit|pdm|rye|pipx build / compileall / py_compile / setup.py "
        "build|sdist|bdist_wheel|build_ext / mkdocs build / sphinx-build / maturin build|develop", "py"),
    # --- JavaScript and TypeScript
    _runner("vitest", "tests", "vitest", "js", unless="list init bench --mergeReports"),
    _runner("jest", "tests", "jest / react-scripts test / craco test / vue-cli-service test:unit", "js",
            unless="--listTests --showConfig --init --clearCache"),
    _runner("mocha", "tests", "mocha / electron-mocha", "js", unless="--dry-run --list-reporters"),
    _runner("node test", "tests", "node --test|--experimental-test-coverage / tsx --test", "js",
        closing="node-test"),
    _runner("playwright", "tests", "playwright test", "js", unless="--list"),
    _runner("cypress", "tests", "cypress run", "js"),
    _runner("ava", "tests", "ava", "js"),
    _runner("tap", "tests", "tap / tape / tap run", "js"),
    _runner("javascript tests", "tests",
        "jasmine / karma start / qunit / uvu / wdio / wdio run / testcafe / nightwatch / wtr / "
        "web-test-runner / cucumber-js / ng test|e2e / start-server-and-test / vue-cli-service test:e2e",
        "js", closing="*"),
    _runner("tsc", "types", "tsc|vue-tsc|tsgo", "js", unless="--init --showConfig --listFilesOnly --all -v"),
    _runner("javascript types", "types",
        "svelte-check / astro check / flow / flow check|status / tsd / glint / attw", "js",
        closing="svelte-check"),
    _runner("eslint", "lint", "eslint|eslint_d", "js", void="2", unless="--print-config --init -v"),
    _runner("biome", "lint", "biome lint|check|ci / rome check|ci", "js"),
    _runner("biome format", "format", "biome format", "js", unless="--write --fix", closing="biome"),
    _runner("oxlint", "lint", "oxlint", "js"),
    _runner("stylelint", "lint", "stylelint", "js", void="64 78"),
    _runner("javascript lint", "lint",
        "next lint / ng lint / standard / xo / jshint / markdownlint|markdownlint-cli2 / htmlhint / knip "
        "/ depcheck / semistandard / publint / commitlint", "js", closing="eslint"),
    _runner("prettier", "format", "prettier --check|-c|--list-different|-l / dprint check", "js", void="2"),
    _runner("javascript build", "build",
        "vite|next|nuxt|nuxi|astro|parcel|ng|react-scripts|craco|remix|gatsby|rspack|rsbuild"
        "|vue-cli-service|svelte-package|expo|docusaurus|vitepress|vuepress|wrangler|quasar|ionic"
        "|storybook build / webpack / rollup / tsup / esbuild / unbuild / tsdown / ncc build / swc / "
        "remix vite:build", "js", unless="--watch serve"),
    _runner("deno test", "tests", "deno test", "js", unless="--no-run", closing="deno"),
    _runner("deno check", "types", "deno check", "js"),
    _runner("deno lint", "lint", "deno lint", "js"),
    _runner("deno fmt", "format", "deno fmt --check", "js"),
    _runner("deno build", "build", "deno compile|bundle", "js"),
    _runner("bun test", "tests", "bun test", "js", closing="bun"),
    _runner("bun build", "build", "bun build", "js"),
    # --- Go
    _runner("go test", "tests", "go test / richgo test / gotestsum / ginkgo / ginkgo run", "go",
            unless="-list -c --watch", closing="go ginkgo gotestsum"),
    _runner("go build", "build", "go build|install", "go", unless="-n"),
    _runner("go vet", "lint", "go vet / staticcheck / revive / errcheck", "go"),
    _runner("golangci-lint", "lint", "golangci-lint run", "go", void="2 3 4 5 6 7"),
    # --- Rust
    _runner("cargo build", "build", "cargo test|t --no-run", "rust", closing="cargo-build"),
    _runner("cargo test", "tests",
        "cargo test|t / cargo llvm-cov|tarpaulin / cargo miri|hack|careful test", "rust", unless="--list",
        closing="cargo nextest"),
    _runner("cargo nextest", "tests", "cargo nextest run|r / cargo llvm-cov nextest", "rust", void="4",
            closing="nextest cargo"),
    _runner("cargo clippy", "lint", "cargo clippy / cargo deny check", "rust", closing="cargo-build"),
    _runner("cargo fmt", "format", "cargo fmt --check / rustfmt --check", "rust"),
    _runner("cargo build", "build",
        "cargo build|b|check|c|rustc / rustc / trunk build / wasm-pack build / cross build|check", "rust",
        closing="cargo-build"),
    _runner("wasm-pack", "tests", "wasm-pack test / cross test", "rust", closing="cargo"),
    # --- Java, Kotlin, Scala, Clojure
    _runner("maven", "tests",
        "mvn @(?:[\\w.-]{1,60}:)?(?:test|verify|package|install|deploy|integration-test|check)", "jvm",
        unless="-DskipTests -DskipTests=true -Dmaven.test.skip=true -Dmaven.test.skip -Pfast",
        closing="maven"),
    _runner("maven build", "build",
        "mvn @compile|test-compile|package|install|verify|process-classes|process-test-classes|site",
        "jvm", closing="maven"),
    _runner("gradle", "tests",
        "gradle @(?:[\\w:.-]{0,80}:)?(?:test|check|build|\\w{0,40}Test|\\w{0,40}Tests|test\\w{1,40})",
        "jvm", unless="-x --exclude-task --dry-run -m"),
    _runner("gradle lint", "lint",
        "gradle @(?:[\\w:.-]{0,80}:)?(?:ktlintCheck|detekt|lint\\w{0,40}|checkstyle\\w{0,20}|pmd\\w{0,20}"
        "|spotbugs\\w{0,20}|spotlessCheck)", "jvm", closing="gradle"),
    _runner("gradle build", "build",
        "gradle @(?:[\\w:.-]{0,80}:)?(?:build|assemble\\w{0,40}|compile\\w{0,40}|classes|jar|bootJar"
        "|testClasses|bundle\\w{0,20}|check)", "jvm", unless="--dry-run -m", closing="gradle"),
    _runner("jvm lint", "lint", "ktlint / detekt|detekt-cli / checkstyle / scalafix --check / clj-kondo",
        "jvm"),
    _runner("jvm format", "format",
        "scalafmt --check|--test / google-java-format --set-exit-if-changed|-n", "jvm"),
    _runner("sbt", "tests", "sbt @(?:\\w+/)?test(?:Only|Quick)?\\b.{0,200} / scala-cli test / mill "
        "@.{0,80}\\.test(?:\\..{1,40})?", "jvm", closing="sbt"),
    _runner("clojure", "tests",
        "lein test / clojure|clj @-[XM]:test\\S{0,80} / bb test / shadow-cljs test", "jvm",
        closing="clojure"),
    _runner("ant", "tests", "ant @test\\S{0,30}", "jvm", closing="maven ant"),
    _runner("jvm build", "build",
        "javac / kotlinc / scalac / sbt @compile / ant / ant build|compile|jar / lein compile|uberjar",
        "jvm"),
    # --- Ruby
    _runner("rspec", "tests", "rspec / parallel_rspec / turbo_tests / rails spec / rake spec", "rb",
        unless="--dry-run"),
    _runner("minitest", "tests",
        "rails test|test:system|test:all / m / ruby @(?:.{0,200}(?:_test|_spec)|.{0,200}/test_.{1,80}"
        "|test_.{1,80})\\.rb", "rb", closing="minitest rspec"),
    _runner("cucumber", "tests", "cucumber", "rb"),
    _runner("rubocop", "lint",
        "rubocop / standardrb / erblint|erb_lint / reek / brakeman / haml-lint / slim-lint", "rb", void="2"),
    _runner("ruby types", "types", "srb tc / steep check", "rb"),
    # --- PHP
    _runner("phpunit", "tests",
        "phpunit / paratest / simple-phpunit / artisan test / sail test|phpunit / codecept run", "php",
        unless="--list-tests --list-groups --list-suites", closing="phpunit pest"),
    _runner("pest", "tests", "pest / sail pest", "php", unless="--list-tests", closing="pest phpunit"),
    _runner("php tests", "tests", "behat / phpspec run / kahlan / atoum", "php", closing="*"),
    _runner("phpstan", "types", "phpstan analyse|analyze / phpstan / larastan", "php"),
    _runner("psalm", "types", "psalm / phan", "php"),
    _runner("php-cs-fixer", "format",
        "php-cs-fixer fix --dry-run / php-cs-fixer check / pint --test / ecs check", "php"),
    _runner("php lint", "lint",
        "phpcs / phpmd / php -l / parallel-lint / rector process --dry-run / tlint", "php"),
    # --- .NET
    _runner("dotnet test", "tests", "dotnet test|vstest / vstest.console / nunit3-console / xunit.console",
        "net", unless="--list-tests -t", closing="dotnet"),
    _runner("dotnet format", "format", "dotnet format --verify-no-changes", "net"),
    _runner("dotnet build", "build", "dotnet build|msbuild|publish|pack / msbuild / xbuild", "net",
        closing="dotnet-build"),
    # --- C and C++
    _runner("ctest", "tests", "ctest / cmake --build --target|-t:{tests}", "c",
        unless="-N --show-only --print-labels"),
    _runner("meson test", "tests", "meson test", "c", unless="--list", closing="meson"),
    _runner("c build", "build",
        "cmake --build / ninja . / ninja {build} / meson compile / samu / gcc|g++|clang|clang++|cc|c++ / "
        "scons / cl / emcc / nvcc / bear", "c", unless="-E -dumpversion -dumpmachine -v"),
    _runner("c tests", "tests", "ninja {tests}|{check}", "c", closing="*"),
    _runner("clang-format", "format", "clang-format --dry-run|-n", "c"),
    _runner("c lint", "lint", "clang-tidy / cppcheck / cpplint / run-clang-tidy / include-what-you-use", "c"),
    # --- Elixir, Erlang
    _runner("mix test", "tests",
        "mix test|coveralls|coveralls.html|coveralls.json|espec|test.watch|cmd_test", "ex", closing="mix"),
    _runner("mix format", "format", "mix format --check-formatted", "ex"),
    _runner("mix credo", "lint", "mix credo|sobelow|doctor", "ex", unless="explain gen.config list",
        closing="credo"),
    _runner("mix dialyzer", "types", "mix dialyzer / dialyzer", "ex", unless="--plt explain",
        closing="dialyzer"),
    _runner("mix compile", "build", "mix compile|compile.all|release / elixirc / erlc", "ex",
        closing="mix-compile"),
    _runner("rebar3", "tests", "rebar3 eunit|ct|proper / rebar3 as test eunit|ct", "ex"),
    _runner("rebar3 build", "build", "rebar3 compile|release", "ex"),
    _runner("rebar3 types", "types", "rebar3 dialyzer|xref", "ex"),
    _runner("gleam", "tests", "gleam test", "ex"),
    _runner("gleam build", "build", "gleam build|check", "ex"),
    _runner("gleam format", "format", "gleam format --check", "ex"),
    # --- Swift, Dart
    _runner("swift test", "tests", "swift test / xcodebuild @test|test-without-building|build-and-test",
        "swift", unless="--list-tests list -list -showBuildSettings", closing="swift"),
    _runner("swift build", "build", "swift build / xcodebuild / swiftc", "swift",
        unless="-list -showBuildSettings -version", closing="xcodebuild"),
    _runner("swift lint", "lint", "swiftlint / swiftlint lint / swift-format lint", "swift",
        unless="rules version"),
    _runner("swift format", "format", "swiftformat --lint", "swift"),
    _runner("dart test", "tests",
        "flutter test|drive / dart test / very_good test / dart run test / patrol test", "dart",
        closing="dart"),
    _runner("dart analyze", "lint", "dart|flutter analyze / dart run custom_lint", "dart"),
    _runner("dart format", "format", "dart format --set-exit-if-changed", "dart"),
    _runner("dart build", "build", "flutter build / dart compile", "dart"),
    # --- others
    _runner("bazel test", "tests", "bazel|bazelisk|blaze test|coverage / buck|buck2|pants|please|plz test",
        void="4", closing="bazel"),
    _runner("bazel build", "build",
        "bazel|bazelisk|blaze build / buck|buck2|plz|please build / pants package"),
    _runner("pants", "lint", "pants lint|check"),
    _runner("prove", "tests", "prove", "perl", closing="prove"),
    _runner("bats", "tests", "bats", closing="bats tap"),
    _runner("zig test", "tests", "zig test / zig build test", "zig", closing="zig"),
    _runner("zig build", "build", "zig build|build-exe|build-lib", "zig"),
    _runner("haskell", "tests", "cabal test|v2-test / stack test", "hs", closing="hspec cabal"),
    _runner("haskell build", "build", "cabal build|v2-build / stack build / ghc", "hs"),
    _runner("dune test", "tests", "dune test|runtest", "ocaml"),
    _runner("dune build", "build", "dune build", "ocaml"),
    _runner("forge", "tests", "forge test|coverage / hardhat test / truffle test / anchor test", "sol",
        closing="forge mocha"),
    _runner("forge build", "build", "forge build / hardhat compile / anchor build", "sol"),
    _runner("forge fmt", "format", "forge fmt --check", "sol"),
    _runner("tests", "tests",
        "crystal spec / busted / opa test / conftest test / helm unittest / nim test / nimble test / "
        "shellspec / terraform test / act / molecule test", closing="*"),
    _runner("lint", "lint",
        "shellcheck / hadolint / yamllint / actionlint / ansible-lint / sqlfluff lint / vale / typos / "
        "codespell / luacheck / selene / tflint / helm lint / buf lint / hlint / credo / reuse lint / "
        "zizmor / terraform validate / nix flake check / trunk check / statix check / swiftlint"),
    _runner("format", "format",
        "shfmt -d|-l / terraform fmt -check / stylua --check / nixfmt --check|-c / taplo fmt|format "
        "--check / buf format --diff|-d|--exit-code / cmake-format --check / ormolu --mode"),
    # --- names that stand for whatever a project put there
    _runner("script", "tests",
        f"{_SCRIPTS} test|t|tst / {_SCRIPTS} run|run-script {{tests}} / yarn|pnpm {{tests}}"
        " / yarn workspace * {tests} / yarn workspace * run {tests} / yarn workspaces run|foreach {tests} "
        "/ deno task {tests} / npm-run-all|run-s|run-p|wireit {tests} / composer test / composer run"
        "|run-script {tests}", "js", unless="test:watch --if-present-only", closing="*"),
    *(
        _runner("script", scope,
            f"{_SCRIPTS} run|run-script {{{name}}} / yarn|pnpm {{{name}}} / yarn workspace * {{{name}}} / "
            f"yarn workspace * run {{{name}}} / deno task {{{name}}} / npm-run-all|run-s|run-p {{{name}}} "
            f"/ composer run|run-script {{{name}}} / composer {{{name}}}", "js", closing="*")
        for name, scope in _NAMED_SCOPES
    ),
    *(
        _runner("project script", scope,
            f"{_PROJECTS} run {{{name}}} / {_MONOREPOS} run {{{name}}} / {_MONOREPOS} {{{name}}} / nx "
            f"run-many|affected -t|--target|--targets:{{{name}}} / cargo make|xtask {{{name}}}",
            closing="*")
        for name, scope in (*_TESTS, *_NAMED_SCOPES)
    ),
    *(
        _runner("make", scope, f"{_MAKES} @{{{name}}}",
            unless="-n --dry-run --just-print --list -l --summary", closing="*")
        for name, scope in (*_CHECK_TESTS, *_NAMED_SCOPES)
    ),
    _runner("make", "build", "make|gmake|nmake|mingw32-make|bmake .", unless="-n --dry-run", closing="*"),
)  # fmt: skip


class Options(NamedTuple):
    """A program's options that change what is read behind them.

    ``values`` take a value that does not matter, ``selects`` one that narrows what is checked;
    ``narrows`` narrow it without a value.
    """

    values: frozenset[str] = frozenset()
    selects: frozenset[str] = frozenset()
    narrows: frozenset[str] = frozenset()


def _options(values: str = "", selects: str = "", narrows: str = "") -> Options:
    return Options(word_set(values), word_set(selects), word_set(narrows))


_PYTEST = _options(
    "-n --numprocesses -c --config-file -o --override-ini --tb --maxfail --durations -p -W --rootdir "
    "--confcutdir --cov-report --cov-config --junitxml --junit-xml --log-level --log-cli-level --timeout "
    "--color --capture --import-mode --dist --reruns -r --basetemp --verbosity --tx",
    "-k -m --deselect --ignore --ignore-glob",
    "--lf --last-failed --sw --stepwise --nf",
)
_JS_TESTS = _options(
    "-c --config --reporter --reporters -w --maxWorkers --max-workers --root --outputFile --seed "
    "--coverageReporters --env --environment --pool -R --timeout --test-timeout --testTimeout --workers "
    "-j --retries --concurrency",
    "-t --testNamePattern --test-name-pattern --testPathPattern --testPathPatterns --project --projects "
    "-g --grep --filter --shard --selectProjects --exclude --spec -s --tag --grep-invert -f --fgrep --dir",
    "--onlyChanged -o --onlyFailures --changed --findRelatedTests --related --last-failed",
)
_CARGO = _options(
    "--manifest-path --target-dir --profile -j --jobs --color --message-format --config -Z --target "
    "--test-threads",
    "-p --package --test --bin --example --features -F --exclude --skip -E --filter-expr",
    "--lib --doc --bins --examples --tests --benches --all-features --no-default-features --ignored",
)

#: By program; ``""`` holds for all others.
OPTIONS: Mapping[str, Options] = {
    "": _options(
        "-c --config --config-file -j --jobs --color --format --output-format -o --output --reporter "
        "--timeout --seed --log-level --max-warnings --cache-dir --cache-location --rcfile -C --directory "
        "--cwd --target-dir",
        "-p --project -k -t --filter --exclude --ext --package -e --env -s --session --workspace -w -F "
        "--select --ignore"),
    "pytest": _PYTEST,
    "hatch": _PYTEST,
    "unittest": _options("-s -t -c --locals", "-k -p"),
    "manage.py": _options(
        "--parallel --settings -v --verbosity --pattern --testrunner", "-k --tag --exclude-tag"),
    "jest": _JS_TESTS, "vitest": _JS_TESTS, "mocha": _JS_TESTS, "playwright": _JS_TESTS, "node": _JS_TESTS,
    "cypress": _JS_TESTS, "bun": _JS_TESTS, "deno": _JS_TESTS,
    "npm": _options("--prefix --loglevel",
        "-w --workspace -t -k --filter --grep -g --testNamePattern --testPathPattern"),
    "pnpm": _options("-C --dir --reporter", "-F --filter -t --testNamePattern --testPathPattern --grep"),
    "yarn": _options("--cwd", "-t --testNamePattern --testPathPattern --grep"),
    "cargo": _CARGO,
    "go": _options(
        "-timeout -count -p -parallel -coverprofile -covermode -coverpkg -o -cpu -exec -mod -C -vet "
        "-json-file -ldflags", "-run -skip -tags -bench", "-short"),
    "mvn": _options("-f --file -s --settings -T --threads -l", "-pl --projects -P"),
    "gradle": _options(
        "-b -p --project-dir --console --max-workers -c -I --init-script", "--tests -x --exclude-task"),
    "make": _options("-C --directory -f --file -j --jobs -l -I -o"),
    "mix": _options("--seed --max-cases --formatter --timeout --max-failures --partitions",
        "--only --exclude --include", "--stale --failed"),
    "rspec": _options(
        "-f --format -o --out --seed --order -r --require -I", "-e --example -t --tag -P --pattern",
        "--only-failures --next-failure"),
    "phpunit": _options("-c --configuration --bootstrap --log-junit --order-by --coverage-html",
        "--filter --group --testsuite --exclude-group"),
    "dotnet": _options(
        "-c --configuration -v --verbosity -l --logger -f --framework -o -r --runtime --settings "
        "--results-directory", "--filter"),
    "ctest": _options("-j --parallel --test-dir -C --build-config --timeout -S -D",
        "-R --tests-regex -E --exclude-regex -L -LE", "--rerun-failed"),
    "cmake": _options("--config -j --parallel --preset", "--target -t"),
    "ninja": _options("-C -j -f -k -l"),
    "tox": _options("-c --workdir -p", "-e -f -m"),
    "nox": _options("-f -p --python", "-s -k -t -e --session --sessions"),
    "swift": _options("--package-path -c --configuration -j --build-path --scratch-path",
        "--filter --skip --test-product"),
    "xcodebuild": _options(
        "-project -workspace -configuration -sdk -destination -derivedDataPath -resultBundlePath",
        "-scheme -only-testing -skip-testing -testPlan"),
    "flutter": _options("-d --device-id -j --concurrency -r --reporter", "--name --plain-name -t --tags"),
    "bazel": _options("-c --jobs --config", "--test_filter --test_tag_filters"),
    "tsc": _options(
        "--target -t --module -m --outDir --lib --jsx --moduleResolution", "-p --project -b --build"),
    "mypy": _options(
        "--config-file --python-version --cache-dir --exclude --follow-imports --platform", "-m -p -c"),
    "docker": _options("-f --file -p --project-name"),
}  # fmt: skip
