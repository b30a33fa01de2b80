"""Shell lines as hypothesis makes them: well-formed ones with a check in them, and plain noise."""

from __future__ import annotations

from hypothesis import strategies as st

#: Text of any sort, lone surrogates and NUL among it, with the shell's own characters frequent.
noise = st.text(
    st.one_of(st.sampled_from(list("|&;<>(){}$`\\\"'!#\n\t =-.*[]~0ab\0\ud800")), st.characters()), max_size=200
)

plain_word = st.from_regex(r"[a-zA-Z0-9_./-]{1,12}", fullmatch=True)
quoted_word = st.one_of(plain_word, plain_word.map(lambda w: f"'{w} {w}'"), plain_word.map(lambda w: f'"$X {w}"'))
other_command = st.builds(
    lambda program, words: " ".join([program, *words]),
    st.sampled_from(["ls", "cat", "./run.sh", "grep -q x", "echo", "true", "false", "git status", "make docs", "cd a"]),
    st.lists(quoted_word, max_size=3),
)
check_command = st.sampled_from(
    ["pytest -q", "uv run pytest tests/", "npm test", "mix test", "cargo test", "ruff check .", "tsc --noEmit",
     "FOO=1 timeout 60 npx jest", "go test ./...", "make test"]
)  # fmt: skip
redirection = st.sampled_from(["", " 2>&1", " > log 2>&1", " 2>/dev/null", " &> out"])


def _around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Everything the grammar puts around a command."""
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: f"{p[0]} && {p[1]}"),
        two.map(lambda p: f"{p[0]} || {p[1]}"),
        two.map(lambda p: f"{p[0]}; {p[1]}"),
        two.map(lambda p: f"{p[0]}\n{p[1]}"),
        two.map(lambda p: f"{p[0]} | {p[1]}"),
        two.map(lambda p: f"if {p[0]}; then {p[1]}; fi"),
        two.map(lambda p: f"if {p[0]}; then true; else {p[1]}; fi"),
        two.map(lambda p: f"while {p[0]}; do {p[1]}; done"),
        inner.map(lambda c: f"( {c} )"),
        inner.map(lambda c: f"{{ {c}; }}"),
        inner.map(lambda c: f"! ( {c} )"),
        inner.map(lambda c: f"for i in 1 2; do {c}; done"),
        inner.map(lambda c: f"set -o pipefail; {c}"),
        inner.map(lambda c: f"set -e; {c}"),
        inner.map(lambda c: f"x=$({c})"),
        inner.map(lambda c: f'echo "$({c})"'),
        inner.map(lambda c: f'{c}; echo "exit: $?"'),
        inner.map(lambda c: f"{c}; rc=$?; ls; exit $rc"),
    )


simple_command = st.builds(lambda c, r: c + r, st.one_of(check_command, other_command), redirection)
shell_line = st.recursive(simple_command, _around, max_leaves=6)
