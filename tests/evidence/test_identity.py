"""A later check answers an earlier one when it is the same, or the whole of which that was a part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.evidence.identity import CheckId, answers, identify, narrowed
from tests.evidence.shell_strategies import noise
from tests.growth import assert_linear, spent


def of(command: str) -> CheckId:
    return identify(command, "tests")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest", "uv run pytest"),
        ("pytest", "python -m pytest -q -x --color=yes -n 4 --tb short"),
        ("pytest", "FOO=1 timeout 60 .venv/bin/pytest > log 2>&1"),
        ("pytest tests/a.py", "pytest ./tests/a.py -vv"),
        ("mix test", "mix test 2>&1 | tail -5"),
        ("mix test", "mix test --seed 0 | grep -v warning | head"),
        ("npm test", "npm run test"),
        ("npm test", "npm t"),
        ("npm test", "pnpm test"),
        ("npm run test:unit", "yarn test:unit"),
        ("go test ./...", "go test -v -count=1 ./..."),
        ("cargo test", "cargo test -q -- --test-threads 1"),
        ("npx jest -t 'a b'", 'yarn jest -t "a b" --coverage'),
        ("make test", "make -j8 test"),
        ("./gradlew test", "gradle --info test"),
        ("docker compose exec web pytest", "pytest"),
        ("cd web && npm test", "cd web/ && npm test | tail"),
        ("npm run build && npm test", "npm test"),
    ],
)
def test_how_a_check_is_run_makes_no_other_check(one: str, other: str) -> None:
    assert of(one) == of(other)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("pytest", "pytest tests/a.py"),
        ("pytest .", "pytest tests/a.py"),
        ("pytest tests/", "pytest tests/a.py"),
        ("pytest tests/a.py", "pytest tests/a.py::TestX::test_y"),
        ("pytest tests/a.py::TestX", "pytest 'tests/a.py::TestX::test_y[1]'"),
        ("pytest -k x", "pytest -k x tests/a.py"),
        ("pytest a.py b.py", "pytest b.py"),
        ("pytest", "pytest -m slow -k x"),
        ("mix test test/a_test.exs", "mix test test/a_test.exs:12"),
        ("go test ./...", "go test ./pkg/a -run TestX"),
        ("go test ./pkg/...", "go test ./pkg/a"),
        ("cargo test", "cargo test -p core parse::tests"),
        ("gradle test", "gradle :app:test"),
        ("npm test", "npx vitest run src/a.test.ts"),
        ("npm test", "npx jest"),
        ("tox", "pytest"),
        ("make test", "pytest tests/a.py"),
        ("pytest", "cd web && pytest"),
        ("cd /repo && pytest", "pytest"),
        ("cd web && npm test", "cd /repo/web && npm test"),
        ("cd /repo && npm test", "cd /repo/web && npm test"),
    ],
)
def test_the_whole_answers_its_parts_and_a_part_not_the_whole(later: str, earlier: str) -> None:
    assert answers(of(later), of(earlier))
    if of(later).selectors != of(earlier).selectors or of(later).program != of(earlier).program:
        assert not answers(of(earlier), of(later))


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("pytest", "npm test"),
        ("pytest tests/a", "pytest tests/ab.py"),
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("pytest -k x", "pytest"),
        ("pytest --lf", "pytest"),
        ("pytest --ignore tests/slow", "pytest"),
        ("npm run test:unit", "npm test"),
        ("npm run test:unit", "npx vitest run a.test.ts"),
        ("npm test", "pytest tests/a.py"),
        ("make test", "pytest"),
        ("pytest", "make test"),
        ("cd web && npm test", "npm test"),
        ("cd a && pytest", "cd b && pytest"),
        ("mix test --stale", "mix test"),
        ("ruff check src", "ruff check ."),
    ],
)
def test_another_check_does_not_answer(later: str, earlier: str) -> None:
    assert not answers(of(later), of(earlier))


def test_scopes_are_never_mixed() -> None:
    assert not answers(identify("npm test", "lint"), identify("npm test", "tests"))


def test_of_several_checks_in_a_text_the_one_of_the_scope_is_meant() -> None:
    assert identify("ruff check . && pytest", "lint").program == "ruff check"
    assert identify("ruff check . && pytest", "tests").program == "pytest"


def test_a_command_of_nobodys_table_is_itself() -> None:
    assert of("./verify.sh --fast").program == "verify.sh --fast"
    assert answers(of("./verify.sh --fast"), of("scripts/verify.sh --fast > log"))
    assert not answers(of("./verify.sh"), of("./verify.sh --fast"))


@given(noise)
def test_any_text_has_an_identity_and_answers_itself(command: str) -> None:
    assert answers(of(command), of(command))


paths = st.lists(
    st.sampled_from(["tests/a.py", "tests", "tests/a.py::t", "b.py", "-k x", "-m slow", "--lf"]), max_size=3
)


@given(st.sampled_from(["pytest -q", "uv run pytest", "python -m pytest -x ."]), paths)
def test_a_run_of_the_whole_answers_any_part_of_it(command: str, narrowing: list[str]) -> None:
    assert answers(of(command), of(command + " " + " ".join(narrowing)))


@given(*[st.builds(lambda p: "pytest " + " ".join(p), paths)] * 3)
def test_answering_goes_on_through_a_third(a: str, b: str, c: str) -> None:
    if answers(of(a), of(b)) and answers(of(b), of(c)):
        assert answers(of(a), of(c))


def test_it_is_cheap_in_a_long_fold() -> None:
    one, other = of("uv run pytest -q tests/a.py"), of("pytest")
    assert answers(other, one)
    same = spent(lambda: [identify("uv run pytest -q tests/a.py", "tests") for _ in range(2_000)])
    new = spent(lambda: [identify(f"uv run pytest -q tests/{n}.py", "tests") for n in range(2_000)])
    assert same < new / 2, "what was identified once is known"


@pytest.mark.parametrize("unit", ["a", "'", "\\", "> ", "a=1 ", 'a"b'])
def test_the_time_for_absurd_text_grows_with_its_length_alone(unit: str) -> None:
    assert_linear(lambda size: unit * (size // len(unit)), of, 400_000)


@pytest.mark.parametrize(
    "command",
    ["pytest", "pytest -q tests", "pytest ./tests/", "npm test", "npx vitest run", "go test ./...",
     "cargo test", "cd web && npm test", "mix test --seed 0", "rspec spec", "pytest -x --tb=short ."],
)  # fmt: skip
def test_a_run_of_the_test_folder_or_of_no_place_is_not_narrowed(command: str) -> None:
    assert not narrowed(identify(command, "tests"))


@pytest.mark.parametrize(
    "command",
    ["pytest tests/a.py", "pytest -k parser", "pytest tests/unit", "pytest -m 'not slow'", "pytest --lf",
     "go test ./pkg", "cargo test --lib", "npx vitest run src/a.test.ts", "npm test -- -t name",
     "mix test test/a_test.exs:3"],
)  # fmt: skip
def test_a_run_of_some_file_name_or_sort_is_narrowed(command: str) -> None:
    assert narrowed(identify(command, "tests"))
