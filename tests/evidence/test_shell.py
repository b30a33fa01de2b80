"""Command lines are read for what they run, whatever surrounds it, and never trip the reader."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given

from loopbook.evidence.shell import MAX_COMMANDS, parse, without_heredocs
from loopbook.evidence.shell_table import WRAPPERS
from loopbook.evidence.shell_tree import (
    Branch,
    Chain,
    Group,
    Loose,
    Negated,
    Node,
    Pipeline,
    Sequence,
    places,
)
from loopbook.evidence.wrappers import inline_script, program_of, unfolded
from tests.evidence.shell_strategies import noise, shell_line
from tests.growth import assert_linear


def words(line: str) -> list[str]:
    """The simple commands of a line, innermost words."""
    return [" ".join(command.words) for command in parse(line).commands]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pytest -q", ["pytest -q"]),
        ("a && b || c; d & e", ["a", "b", "c", "d", "e"]),
        ("a 2>&1 | tail -5 | tee log", ["a", "tail -5", "tee log"]),
        ("(cd x && a) || { b; c; }", ["cd x", "a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for f in x y; do a $f; done", ["a $f"]),
        ("case $x in p|q) a;; *) b;; esac", ["a", "b"]),
        ("f() { a; }; f", ["a", "f"]),
        ("[ -f x ] && a", ["[", "a"]),
        ("a `b` $(c) <(d)", ["a `b` $(c) <(d)", "b", "c", "d"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a \\\n  --long", ["a --long"]),
        ("", []),
        ("# pytest", []),
    ],
)
def test_every_simple_command_is_listed_in_source_order(line: str, expected: list[str]) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo 'npm test; true'", ["echo npm test; true"]),
        ('echo "a && pytest"', ["echo a && pytest"]),
        ('echo "say \\"x\\"" # pytest', ['echo say "x"']),
        ("cat <<EOF\npytest && npm test\nEOF\nls", ["cat", "ls"]),
        ("cat <<'A' > f && pytest\nnpm test\nA", ["cat", "pytest"]),
        ("python - <<'EOF' 2>&1 | tail -5 && echo hi\npytest\nEOF", ["python", "tail -5", "echo hi"]),
        ("cat <<-EOF\n\tpytest\n\tEOF\nls", ["cat", "ls"]),
        ("cat <<A <<B\npytest\nA\nnpm test\nB\nls", ["cat", "ls"]),
        (
            "git commit -m \"$(cat <<'EOF'\nit's pytest\nEOF\n)\" && ls",
            ["git commit -m $(cat \n)", "cat", "ls"],
        ),
    ],
)
def test_quoted_text_comments_and_heredocs_are_no_commands(line: str, expected: list[str]) -> None:
    assert words(line) == expected
    assert not parse(line).broken


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("FOO=1 BAR='a b' pytest", "pytest"),
        ("env -u X A=1 pytest -q", "pytest -q"),
        ("time -p pytest", "pytest"),
        ("timeout -k 5 60s pytest", "pytest"),
        ("nice -n 10 stdbuf -oL pytest", "pytest"),
        ("sudo -u me pytest", "pytest"),
        ("uv run --with x python -m pytest -q", "pytest -q"),
        ("uv run -- pytest", "pytest"),
        ("uv run -m pytest", "pytest"),
        ("poetry run pytest", "pytest"),
        ("pipenv run pytest", "pytest"),
        ("pdm run pytest", "pytest"),
        ("conda run -n dev pytest", "pytest"),
        ("coverage run --source x -m pytest", "pytest"),
        ("python3.12 -W error -m pytest", "pytest"),
        ("npx --yes -p typescript tsc", "tsc"),
        ("npm exec -- jest", "jest"),
        ("pnpm dlx vitest run", "vitest run"),
        ("yarn exec jest", "jest"),
        ("bunx vitest", "vitest"),
        ("bundle exec rspec", "rspec"),
        ("php artisan test", "artisan test"),
        ("docker compose -f a.yml exec -T web pytest", "pytest"),
        ("kubectl exec -n a pod -- pytest", "pytest"),
        ("nix develop -c pytest", "pytest"),
        ("mise exec node@20 -- jest", "jest"),
        ("command -v pytest", "command -v pytest"),
        ("python -c 'import pytest'", "python -c import pytest"),
        ("docker run image pytest", "docker run image pytest"),
    ],
)
def test_wrappers_are_unfolded_to_what_runs(line: str, expected: str) -> None:
    assert words(line) == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bash -c 'npm test; true'", ["npm test", "true"]),
        ('sh -lc "cd web && npm test"', ["cd web", "npm test"]),
        ("timeout 9 bash -o pipefail -c 'a | b'", ["a", "b"]),
        ("eval 'npm test'", ["npm test"]),
        ("bash -c \"bash -c 'npm test'\"", ["bash -c npm test", "npm test"]),
    ],
)
def test_a_script_in_an_argument_is_read_like_a_line(line: str, expected: list[str]) -> None:
    assert words(line)[1:] == expected


def test_a_wrapper_with_an_exit_code_of_its_own_is_marked() -> None:
    assert unfolded(("xargs", "-n1", "eslint"))[1] is False
    assert unfolded(("timeout", "5", "eslint"))[1] is True


def shape(node: Node) -> str:
    """A tree in short: node types and commands by place."""
    match node:
        case Sequence():
            return "; ".join(
                shape(item) + ("!" if strict else "") for item, strict in zip(*node, strict=True)
            )
        case Chain():
            return f"({shape(node.left)} {node.op} {shape(node.right)})"
        case Pipeline():
            return (" |! " if node.pipefail else " | ").join(map(shape, node.items))
        case Negated():
            return f"not({shape(node.item)})"
        case Group():
            return f"[{shape(node.item)}]"
        case Branch():
            return f"if({shape(node.condition)},{shape(node.body)},{shape(node.other) if node.other else ''})"
        case Loose():
            return f"loose{'0' if node.zero else ''}({','.join(map(shape, node.items))})"
        case _:
            return node.words[0] if node.words else "="


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a && b || c", "((a && b) || c)"),
        ("a | b; c", "a | b; c"),
        ("! a | b", "not(a | b)"),
        ("a & b", "loose0(a); b"),
        ("(a; b)", "[a; b]"),
        ("{ a; b; }", "a; b"),
        ("set -o pipefail; a | b", "set; a |! b"),
        ("set -euo pipefail\na | b", "set!; a |! b!"),
        ("set -o pipefail && a | b", "(set && a |! b)"),
        ("set -o pipefail; set +o pipefail; a | b", "set; set; a | b"),
        ("(set -o pipefail; a | b); a | b", "[set; a |! b]; a | b"),
        ("set -e; a; set +e; b", "set!; a!; set; b"),
        ("set -o errexit; a", "set!; a!"),
        ("if a; then b; elif c; then d; else e; fi", "if(a,b,if(c,d,e))"),
        ("if a; then b; elif c; then d; elif e; then f; fi", "if(a,b,if(c,d,if(e,f,)))"),
        ("while a; do b; done", "loose(a; b)"),
        ("f() { a; }", "loose0(a)"),
    ],
)
def test_the_surroundings_are_kept(line: str, expected: str) -> None:
    assert shape(parse(line).node) == expected


def test_redirections_tell_files_from_descriptors_and_devices() -> None:
    found = parse("a > f 2>&1 >> 'g h' 2>/dev/null &> all < in").redirects
    assert [(r.target, r.writes) for r in found] == [
        ("f", True), ("1", False), ("g h", True), ("/dev/null", False), ("all", True), ("in", False),
    ]  # fmt: skip
    assert parse("{ a; b; } > f").redirects[0].writes
    assert parse("a > /tmp/x.log").redirects[0].writes is False


ABSURD = {
    "60 quotes": '"' * 60,
    "61 quotes": '"' * 61,
    "open substitutions": "$(" * 1000,
    "quoted open substitutions": '"$(' * 3000,
    "1 MB of a": "a" * 1_000_000,
    "1 MB of lines": "x\n" * 500_000,
    "open heredoc": "cat <<EOF\nfoo",
    "many heredocs": "\n<<A" * 9000,
    "many closed heredocs": "b <<A\nA\n" * 5000,
    "heredocs of one name": "<<A\n" * 15000 + "A",
    "long pipeline": "a|" * 10_000 + "b",
    "long list": "a;" * 20_000,
    "long chain": "a && " * 10_000 + "b",
    "open brackets": "(" * 20_000,
    "open arrays": "a=(" * 5000,
    "open expansions": "${" * 5000,
    "open ifs": "if a; then " * 2000,
    "many !": "! " * 5000 + "a",
    "backticks": "`" * 9999,
    "NUL": "a\0b; pytest",
    "surrogates": "\ud800 pytest \udfff",
    "BOM": "\ufeffpytest",
}


@pytest.mark.parametrize("line", ABSURD.values(), ids=ABSURD.keys())
def test_absurd_input_is_read_in_bounds_and_never_raises(line: str) -> None:
    assert len(parse(line).commands) <= MAX_COMMANDS
    assert_linear(lambda size: line * (size // len(line) + 1), parse, 4 * len(line))


@pytest.mark.parametrize(
    "line", ["$(", "echo 'open", "cat <<EOF\nfoo", "if a; then", "(" * 100, "a" * 300_000]
)
def test_what_the_grammar_cannot_read_is_broken(line: str) -> None:
    assert parse(line).broken


def test_an_emoji_behind_a_brace_does_not_end_the_process() -> None:
    """The grammar's scanner reads beyond its tables there: it must never see what is not ASCII."""
    code = (
        "from loopbook.evidence.shell import parse\n"
        "for emoji in (0x1F600, 0x88400, 0x10FFFF):\n"
        "    for line in ('\\x1e{%c.', 'echo {%c', '${%c}', '[[ a =~ %c ]]', '%c\\x1e{%c'):\n"
        "        parse(line.replace('%c', chr(emoji)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_words_beyond_ascii_come_back_as_they_were() -> None:
    assert parse("echo 'ünïcode' 😀 > größe.txt").commands[0].words == ("echo", "ünïcode", "😀")


@given(noise)
def test_any_text_is_read(line: str) -> None:
    script = parse(line)
    assert [command.at for command in script.commands] == list(range(len(script.commands)))


@given(shell_line)
def test_well_formed_lines_are_read_whole(line: str) -> None:
    script = parse(line)
    assert not script.broken
    assert sorted(places(script.node)) == [command.at for command in script.commands]


@given(noise)
def test_text_in_single_quotes_is_one_word(text: str) -> None:
    inside = text.replace("'", "").replace("\0", "").replace("\r", "").replace("<<", "")
    script = parse(f"echo '{inside}'")
    assert not script.broken or inside.count("(") + inside.count("{") > 60
    if not script.broken:
        assert [command.words[0] for command in script.commands] == ["echo"]


@given(noise)
def test_taking_heredocs_out_leaves_text_without_them_alone(text: str) -> None:
    text = text.replace("<<", "< <")
    assert without_heredocs(text) == text


def test_program_names_lose_folder_and_suffix() -> None:
    assert program_of("C:\\tools\\jest.cmd") == "jest"
    assert program_of("vendor/bin/phpunit") == "phpunit"
    assert program_of("./mvnw") == "mvn"
    assert program_of("pythonista") == "pythonista"


def test_only_shells_take_inline_scripts() -> None:
    assert inline_script(("bash", "run.sh", "-c", "x")) is None
    assert inline_script(("python", "-c", "x")) is None
    assert inline_script(("bash", "-c")) is None


def test_every_wrapper_row_can_run_something() -> None:
    for program, rows in WRAPPERS.items():
        for row in rows:
            sub = [word.split("|")[0] for word in row.sub]
            marker = [row.marker] if row.marked else []
            call = (program, *sub, *["x"] * row.skip, *marker, "some-program", "arg")
            assert ("some-program", "arg") in unfolded(call)[0], (program, row)
