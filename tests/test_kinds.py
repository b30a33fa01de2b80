"""Loop kinds: the five that come along, and what is said of a text that is none."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.errors import InvalidKind
from loopbook.kinds import Kind, draw, from_definition, mistakes, parse, words
from loopbook.kinds_at_hand import load_kinds
from loopbook.loop import Loop
from loopbook.projections.verification import VOUCHING

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "specs" / "kinds").glob("*.toml"))
BUILT_IN = [parse(file.read_text("utf-8"), file.name) for file in FILES]

CLOSE = '[[phase]]\nname = "close"\nneeds = [{ is = "closable" }]\n'


def _own(
    needs: str = '{ evidence = "change", missing = "no" }', *, name: str = "own", phase: str = "work"
) -> str:
    return f'name = "{name}"\n[[phase]]\nname = "{phase}"\nneeds = [{needs}]\n{CLOSE}'


def _where(where: str) -> str:
    return _own(f'{{ evidence = "check", where = {where}, missing = "no e2e" }}')


def _phases(kind: Kind) -> dict[str, list[str]]:
    return {phase.name: [words(need) for need in phase.needs] for phase in kind.phases}


def test_the_five_kinds_have_the_phases_of_the_table() -> None:
    assert {kind.name: " ".join(phase.name for phase in kind.phases) for kind in BUILT_IN} == {
        "change": "change verify review fix close",
        "fix": "reproduce change verify review fix close",
        "research": "gather draft verify review fix close",
        "review": "read report verify close",
        "chore": "change verify close",
    }


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_verify_review_and_fix_continue_and_nothing_else_does(kind: Kind) -> None:
    for phase in kind.phases:
        assert phase.continues == (phase.name in ("verify", "review", "fix"))


def test_the_built_in_needs_read_as_they_are_meant() -> None:
    kinds = {kind.name: _phases(kind) for kind in BUILT_IN}
    assert kinds["fix"]["reproduce"] == ["one check with outcome fail, scope tests or manual"]
    assert kinds["research"]["gather"] == kinds["review"]["read"] == ["one source"]
    assert kinds["research"]["draft"] == kinds["review"]["report"] == ["one change"]
    for phases in kinds.values():
        assert phases["verify"] == ["verified since the last change"]
        assert phases["close"] == ["units, children and todos settled"]


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_a_kind_kept_as_json_is_the_same_kind(kind: Kind) -> None:
    assert from_definition(kind.definition()) == kind


def test_every_file_is_named_as_its_kind() -> None:
    assert [file.stem for file in FILES] == [kind.name for kind in BUILT_IN]


# --- what is wrong is said with file, key and remedy ------------------------------------------

WRONG = [
    ("name = ", "not TOML: Invalid value (at end of document)", "correct the file there"),
    (f'name = "x"\nphase = {"7" * 5000}\n', "not TOML: a number is too long", "correct the file there"),
    (f"name = 0x{'7' * 5000}\n" + CLOSE, "name: a number of very many digits is no", "use small letters"),
    ("", "name: missing", "use small letters, digits, - and _"),
    (_own(name="My kind"), "name: 'My kind' is no name", "use small letters"),
    ('name = "x"\ntitle = ""\n' + CLOSE, "title: not one line", "say in a few words"),
    ('name = "x"\n', "phase: missing", "give the kind its phases as [[phase]] tables"),
    ('name = "x"\nphase = 3\n', "phase: missing", "give the kind its phases"),
    ('name = "x"\nphase = [3]\n', "phase[0]: not a table", "write it as [[phase]]"),
    ('name = "x"\nphases = 3\n' + CLOSE, "phases: unknown key", "use only name, title or phase"),
    ('name = "x"\n' + CLOSE * 41, "phase: 41 phases", "have at most 40"),
    (_own(phase="Work"), "phase[0].name: 'Work' is no name", "use small letters"),
    (_own(phase="open"), "phase[0].name: `open` is where every loop begins", "rename it"),
    (_own(phase="close"), "phase[1].name: 'close' is there twice", "rename one"),
    (_own() + "continues = 1\n", "phase[1].continues: not true or false", "write true"),
    (_own() + "needed = 1\n", "phase[1].needed: unknown key", "use only name, needs or continues"),
    (_own(""), "phase[0].needs: missing", "say what ends 'work'"),
    (_own('"change"'), "phase[0].needs[0]: not a table", 'write it as { evidence = "..."'),
    (_own("{ }"), "phase[0].needs[0]: needs either `evidence` or `is`", "keep exactly one"),
    (_own('{ is = "verified", evidence = "check" }'), "needs either `evidence` or `is`", "keep exactly one"),
    (_own('{ evidence = "task", missing = "x" }'), "phase[0].needs[0].evidence: 'task' is no evidence",
     "use change, check, child_reported, decision, review or source"),
    (_own('{ evidence = [], missing = "x" }'), "evidence: [] is no evidence", "use change"),
    (_own('{ evidence = "change" }'), "phase[0].needs[0].missing: missing", "say in a few words"),
    (_own('{ evidence = "change", missing = " " }'), "missing: not one line", "say in a few words"),
    (_own('{ evidence = "change", after = "todo", missing = "x" }'), "'todo' is no evidence", "use"),
    (_own('{ evidence = "change", words = "x", missing = "x" }'), "[0].words: unknown key", "use only"),
    (_where('3'), "where: not a table", 'write it as { field = "value" }'),
    (_where('{ result = "fail" }'),
     "where.result: check has no such field to match", "use command, outcome, exit_code, scope"),
    (_where('{ outcome = "failed" }'),
     "where.outcome: outcome is never 'failed'", "use pass, fail or unknown"),
    (_where('{ outcome = [] }'), "no value would match", "leave the field out"),
    (_where('{ exit_code = "1" }'), "'1' will not do", "give a whole number"),
    (_where('{ masked = 1 }'), "1 will not do", "give true or false"),
    (_where('{ output = "x" }'), "where.output: check has no such field to match", "use command"),
    (_where('{ command = ["' + '", "'.join("abcdefghijklmnopqrstu") + '"] }'), "too many", "give at most 20"),
    (_where('{ command = "' + "x" * 201 + '" }'), "too many or too long", "at most 200 characters"),
    (_own('{ is = "' + "x" * 9_999 + '" }'), "called 'xxxxxxxxxxxx...xxxxxxxxxxxxx'", "use verified"),
    ('name = "x"\n"a\\nb" = 1\n' + CLOSE, "own.toml: 'a\\nb': unknown key", "use only name"),
    (_own('{ is = "done", missing = "x" }'), "is: no need is called 'done'",
     "use verified, reviewed, no_open_finding or closable"),
    (_own('{ is = "verified" }'), "phase[0].needs[0].missing: missing", "say in a few words"),
    (_own('{ is = "verified", after = "source", missing = "x" }'), "verified is counted from the last change",
     "leave `after` out"),
    (_own('{ is = "no_open_finding", missing = "x" }'), "needs[0].missing: unknown key", "use only is"),
    (_own('{ is = "closable" }'), "phase[0].needs: `closable` before the end", "keep it for `close`"),
    ('name = "x"\n[[phase]]\nname = "work"\nneeds = [{ evidence = "change", missing = "x" }]\n',
     "phase[0]: the last phase must be `close`", "end with [[phase]]"),
    ('name = "x"\n[[phase]]\nname = "close"\nneeds = [{ evidence = "change", missing = "x" }]\n',
     "the last phase must be `close`", 'needs = [{ is = "closable" }]'),
    (_own('{ evidence = "check", after = "check", missing = "x" }'),
     "the last check would have to follow itself", "drop one `after`"),
    (_own('{ evidence = "change", after = "check", missing = "x" }, { is = "verified", missing = "y" }'),
     "would have to follow itself", "drop one `after`, or no loop could ever close"),
    (_own('{ evidence = "source", after = "decision", missing = "x" }, '
          '{ evidence = "decision", after = "review", missing = "y" }, '
          '{ evidence = "review", after = "source", missing = "z" }'),
     "would have to follow itself", "drop one"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problem", "remedy"), WRONG)
def test_a_wrong_kind_is_refused_with_file_key_and_remedy(text: str, problem: str, remedy: str) -> None:
    with pytest.raises(InvalidKind) as raised:
        parse(text, "own.toml")
    message = str(raised.value)
    assert message.startswith("own.toml: ")
    assert problem in message
    assert remedy in message
    assert "\n" not in message


@pytest.mark.parametrize("text", [text for text, _, _ in WRONG])
def test_the_first_of_all_mistakes_is_the_one_that_is_raised(text: str) -> None:
    with pytest.raises(InvalidKind) as raised:
        parse(text, "own.toml")
    assert mistakes(text, "own.toml")[0] == str(raised.value)


def test_mistakes_in_every_part_are_all_told_in_the_order_of_the_file() -> None:
    text = """
name = "My kind"
titel = "x"
[[phase]]
name = "work"
continue = true
needs = [
  { evidence = "change", missing = "" },
  { evidence = "check", where = { outcome = ["failed", "broken"], scop = "tests" }, after = "todo" },
  { evidence = "chek", where = { outcome = "failed", scop = "tests", ok = 1 }, missing = "x" },
  { is = "verified", after = "source" },
  { is = "done" },
]
[[phase]]
name = "work"
continues = 1
needs = [{ is = "closable" }, { evidence = "check", after = "check", missing = "x" }]
[[phase]]
name = "end"
"""
    told = [line.removeprefix("own.toml: ").partition(": ")[0::2] for line in mistakes(text, "own.toml")]
    assert [(key, words.partition(";")[0]) for key, words in told] == [
        ("titel", "unknown key"),
        ("name", "'My kind' is no name"),
        ("phase[0].continue", "unknown key"),
        ("phase[0].needs[0].missing", "not one line of 1 to 200 characters"),
        ("phase[0].needs[1].after", "'todo' is no evidence"),
        ("phase[0].needs[1].where.outcome", "outcome is never 'failed'"),
        ("phase[0].needs[1].where.outcome", "outcome is never 'broken'"),
        ("phase[0].needs[1].where.scop", "check has no such field to match"),
        ("phase[0].needs[1].missing", "missing"),
        ("phase[0].needs[2].evidence", "'chek' is no evidence"),
        ("phase[0].needs[2].where.outcome", "outcome is never 'failed'"),
        ("phase[0].needs[2].where.scop", "no evidence has such a field to match"),
        ("phase[0].needs[2].where.ok", "1 will not do"),
        ("phase[0].needs[3].after", "verified is counted from the last change"),
        ("phase[0].needs[3].missing", "missing"),
        ("phase[0].needs[4].is", "no need is called 'done'"),
        ("phase[1].continues", "not true or false"),
        ("phase[2].needs", "missing"),
        ("phase[1].name", "'work' is there twice"),
        ("phase[2]", "the last phase must be `close`"),
        ("phase[1].needs", "`closable` before the end"),
        ("phase", "the last check would have to follow itself (by way of `after`)"),
    ]


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_in_a_kind_there_is_no_mistake(kind: Kind) -> None:
    assert mistakes((ROOT / "specs" / "kinds" / f"{kind.name}.toml").read_text("utf-8")) == ()


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(("", "change", "close", "closable", "x", "\ud800")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("name", "phase", "needs", "is", "evidence", "where", "missing", "outcome", "\n")
            ),
            inner,
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(("name", "title", "phase", "x")), _JSON))
def test_anything_else_is_a_kind_or_is_refused_and_never_crashes(definition: dict[str, object]) -> None:
    try:
        kind = from_definition(definition)
    except InvalidKind:
        return
    assert kind.phases[-1].name == "close"


@given(st.text(max_size=200))
def test_any_text_is_a_kind_or_is_refused(text: str) -> None:
    with pytest.raises(InvalidKind):
        parse(text)


def test_a_kind_of_ones_own_works_like_a_built_in_one() -> None:
    kind = parse(
        _own(
            '{ evidence = "check", where = { command = "make e2e", exit_code = [0, 5] }, missing = "no e2e" }'
        )
    )
    assert _phases(kind)["work"] == ["one check with command make e2e, exit_code 0 or 5"]
    assert kind.title == "own"


# --- drawing ----------------------------------------------------------------------------------


def test_the_drawing_shows_what_opens_a_phase_again_and_what_is_there_only_sometimes() -> None:
    fix = next(kind for kind in BUILT_IN if kind.name == "fix")
    assert draw(fix).splitlines() == [
        "flowchart LR",
        '    open([open]) --> p0["<b>reproduce</b><br/>one check with outcome fail, scope tests or manual"]',
        '    p0 --> p1["<b>change</b><br/>one change"]',
        '    p1 --> p2["<b>verify</b><br/>verified since the last change"]',
        '    p2 --> p3["<b>review</b><br/>reviewed since the last change (unless review_tier is none)"]',
        '    p3 --> p4["<b>fix</b><br/>no open finding (there only while one is open)"]',
        '    p4 --> p5["<b>close</b><br/>units, children and todos settled"]',
        '    p5 -. "a later change" .-> p2',
        '    p5 -. "a failing check" .-> p2',
        "    classDef optional stroke-dasharray: 4",
        "    class p3,p4 optional",
    ]


def test_words_of_a_users_own_cannot_break_out_of_the_drawing() -> None:
    kind = parse(_own("""{ evidence = "check", where = { command = 'a"]<script> & b' }, missing = "x" }"""))
    assert "a#quot;]#lt;script#gt; #amp; b" in draw(kind)


def test_the_example_of_the_page_is_a_kind() -> None:
    page = (ROOT / "docs" / "kinds.md").read_text("utf-8")
    (example,) = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert [phase.name for phase in parse(example).phases] == ["agree", "verify", "close"]


def test_the_example_of_the_page_is_loaded_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "kinds.md").read_text("utf-8")
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "release.toml").write_text(page.split("```toml\n")[1].split("```")[0], "utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(page.split("```python\n")[1].split("```")[0], "docs/kinds.md", "exec"), names)
    assert isinstance(names["loop"], Loop)


def test_a_folder_of_kinds_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidKind, match=r"kinds_dir .*nodir is not there"):
        load_kinds(tmp_path / "nodir")


def test_a_broken_kind_at_hand_says_that_nothing_was_written_and_where_all_its_mistakes_are_told(
    tmp_path: Path,
) -> None:
    file = tmp_path / "own kind.toml"
    for content in (b'named = "x"', b"\xff"):
        file.write_bytes(content)
        with pytest.raises(InvalidKind) as raised:
            load_kinds(tmp_path)
        assert "nothing was written; " in str(raised.value)
    file.write_text('named = "x"')
    with pytest.raises(InvalidKind, match=f"loopbook kinds check '{file}'$"):
        load_kinds(tmp_path)


def test_the_generated_page_is_fresh() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert (ROOT / "docs" / "kinds.md").read_text("utf-8") == generate.kinds_page(), "run `make docs`"


def test_the_words_of_a_verify_need_name_the_checks_that_count() -> None:
    for kind in BUILT_IN:
        for need in (need for phase in kind.phases for need in phase.needs if need.named == "verified"):
            named = need.missing.partition("(")[2].partition(")")[0]
            assert set(named.split(", ")) == VOUCHING, kind.name
