"""Shell lines as hypothesis makes them: well-formed ones with a check in them, and plain noise."""

from __future__ import annotations

from hypothesis import strategies as st

#: Text of any sort, lone surrogates and NUL among it, with the shell's own characters frequent.
noise = st.text(
    st.one_of(st.sampled_from(list("|&;<>(){}$`\\\"'!#\n\t =-.*[]~0ab\0\ud800")), st.characters()),
    max_size=200,
)

plain_word = st.from_regex(r"[a-zA-Z0-9_./-]{1,12}", fullmatch=True)
quoted_word = st.one_of(
    plain_word, plain_word.map(lambda w: f"'{w} {w}'"), plain_word.map(lambda w: f'"$X {w}"')
)
other_command = st.builds(
    lambda program, words: " ".join([program, *words]),
    st.sampled_from(
        ["ls", "cat", "./run.sh", "grep -q x", "echo", "true", "false", "git status", "make docs", "cd a"]
    ),
    st.lists(quoted_word, max_size=3),
)
check_command = st.sampled_from(
    [
        "pytest -q",
        "uv run pytest tests/",
        "npm test",
        "mix test",
        "cargo test",
        "ruff check .",
        "tsc --noEmit",
        "FOO=1 timeout 60 npx jest",
        "go test ./...",
        "make test",
    ]
)
redirection = st.sampled_from(["", " 2>&1", " > log 2>&1", " 2>/dev/null", " &> out"])


def around(inner: st.SearchStrategy[str], *, loops: bool = True) -> st.SearchStrategy[str]:
    """Everything the grammar puts around a command."""
    two = st.tuples(inner, inner)
    pairs = [
        "{0} && {1}",
        "{0} || {1}",
        "{0}; {1}",
        "{0}\n{1}",
        "{0} | {1}",
        "if {0}; then {1}; fi",
        "if {0}; then true; else {1}; fi",
        "{0} && {1} || echo no",
        "set -e; {0}; {1}",
        "set -e; {0} && {1}; echo on",
    ]
    ones = [
        "( {0} )",
        "{{ {0}; }}",
        "! ( {0} )",
        "for i in 1 2; do {0}; done",
        "set -o pipefail; {0}",
        "set -e; {0}",
        "x=$( {0} )",
        'echo "$( {0} )"',
        '{0}; echo "exit: $?"',
        "{0}; rc=$?; echo; exit $rc",
        "{0} || exit 4",
        '{0} | cat; echo "ends ${{PIPESTATUS[0]}}"',
        "set -eo pipefail; {0}; true",
        "{0} | cat",
        "{0} && echo all fine || echo it broke",
    ]
    if loops:
        pairs.append("while {0}; do {1}; done")
    return st.one_of(
        st.builds(lambda form, parts: form.format(*parts), st.sampled_from(pairs), two),
        st.builds(lambda form, part: form.format(part), st.sampled_from(ones), inner),
    )


simple_command = st.builds(lambda c, r: c + r, st.one_of(check_command, other_command), redirection)
shell_line = st.recursive(simple_command, around, max_leaves=6)
