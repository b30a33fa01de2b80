"""``replay`` and ``explain`` on the command line: which book, what is printed, and the exit code."""

from __future__ import annotations

import json
import re

import pytest

from loopbook.advisors.second_thought import policy, words
from loopbook.books import Books
from loopbook.cli.exits import FOUND, STORE, USAGE
from loopbook.events import Change, RunSettled
from loopbook.judges.scripted import Scripted
from loopbook.upkeep.transfer import end_line, head_line
from tests.cli.conftest import Cli
from tests.flows import CONTENT

SAYS = 'says "next: reproduce (no failing check reproduces it) go back before reproduce: the work may not'
SUM = "loop:fix-1: 7 entries, 2 decisions, 1 notice; decided again: "


@pytest.fixture
def told(loop: Cli) -> Cli:
    """A loop with a notice, a silence, and entries at which nothing was decided."""
    with Books.open(loop.store, session="cli") as books:
        fix = books.loop("fix-1")
        fix.record(Change(summary="guard the empty case"))
        fix.settle_blocking(RunSettled(run="r1"), judge=Scripted([{**CONTENT, "move": "back"}]))
        fix.settle_blocking(RunSettled(run="r2"), judge=Scripted([CONTENT]))
    return loop


def test_decisions_are_printed_in_order_with_where_the_work_stood(told: Cli) -> None:
    assert told.ok("replay", "fix-1").splitlines() == [
        f'    4  second-thought, run r1, open > reproduce: {SAYS} support the work so far"',
        "    7  second-thought, run r2, open > reproduce: passed over: nothing-new",
        "loop:fix-1: 7 entries, 2 decisions, 1 notice; next: reproduce (no failing check reproduces it)",
    ]
    assert told.ok("replay", "fix-1", "--to", "4").splitlines()[-1].startswith("loop:fix-1: 5 entries, 1 dec")
    assert told.ok("replay", "fix-1", "--to", "2").splitlines() == [
        "loop:fix-1: 2 entries, 0 decisions, 0 notices; next: reproduce (no failing check reproduces it)"
    ]


def test_verified_it_is_one_line_and_the_code_is_0(told: Cli) -> None:
    assert told.ok("replay", "fix-1", "--verify") == f"{SUM}2 the same\n"


def test_a_difference_is_shown_with_both_sides_and_the_code_is_1(
    told: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "CONCERNS", {**words.CONCERNS, "back": "turn round"})
    ran = told("replay", "fix-1", "--verify")
    assert (ran.code, ran.err) == (FOUND, "")
    assert ran.out.splitlines() == [
        "loop:fix-1 entry 4, run r1:",
        "  again     it comes out otherwise",
        f'            recorded: {SAYS} support the work so far"',
        '            again:    says "next: reproduce (no failing check reproduces it) turn round"',
        f"{SUM}1 otherwise (the first is above), 1 the same",
    ]
    assert told("replay", "fix-1").code == 0, "it is only asked what was decided"
    told_json = json.loads(told("replay", "fix-1", "--verify", "--json").out)["books"][0]
    assert (told_json["agrees"], told_json["first_difference"]) == (False, 4)


def test_rules_of_another_version_may_differ_and_the_code_is_0(
    told: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "VERSION", "2")
    monkeypatch.setattr(words, "CONCERNS", {**words.CONCERNS, "back": "turn round"})
    out = told.ok("replay", "fix-1", "--verify")
    assert "it comes out otherwise, as it may: decided by policy 1; this is policy 2\n" in out
    assert "1 otherwise, by rules of another version, 1 the same" in out


def test_as_json_it_is_versioned_data(told: Cli) -> None:
    one = json.loads(told.ok("replay", "fix-1", "--json"))
    assert one["version"] == 1
    (book,) = one["books"]
    assert (book["book"], book["entries"], book["agrees"]) == ("loop:fix-1", 7, True)
    assert book["outcomes"] == {"same": 2}
    assert [(d["seq"], d["run"], d["verdict"]["outcome"]) for d in book["decisions"]] == [
        (4, "r1", "same"),
        (7, "r2", "same"),
    ]
    assert book["decisions"][0]["phase"]["next"] == "reproduce"


# --- which book -------------------------------------------------------------------------------------


def test_an_exported_file_is_a_book_and_needs_no_store(told: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    told.ok("loop", "export", "--loop", "fix-1", "--output", "fix-1.jsonl")
    told.ok("store", "export", "--output", "all.jsonl")
    exported = (told.folder / "fix-1.jsonl").read_bytes()
    monkeypatch.setenv("LOOPBOOK_STORE", "nowhere.db")
    line = f"{SUM}2 the same\n"
    assert told.ok("replay", "fix-1.jsonl", "--verify") == line
    assert told.ok("replay", "-", "--verify", stdin=exported) == line
    assert line in told.ok("replay", "all.jsonl", "--verify")
    assert told.ok("explain", "fix-1.jsonl", "7").startswith("entry 7 (second-thought, run r2): passed over")


def test_of_a_file_with_several_books_the_one_that_is_meant_is_named(told: Cli) -> None:
    told.ok("store", "export", "--output", "all.jsonl")
    why = told.error(USAGE, "explain", "all.jsonl", "--last")
    assert "the file holds 3 books (" in why
    assert why.endswith("nothing was done; name the one that is meant with --stream\n")
    for name in ("fix-1", "loop:fix-1"):
        named = ("all.jsonl", "--stream", name)
        assert told.ok("explain", *named, "--last").startswith("entry 7 (second-thought, run r2): passed")
        assert told.ok("replay", *named, "--verify") == f"{SUM}2 the same\n"
    none = told.error(USAGE, "replay", "all.jsonl", "--stream", "fix-9")
    assert "the file holds no book 'loop:fix-9', but " in none
    assert "--stream names a book of an exported file" in told.error(
        USAGE, "replay", "fix-1", "--stream", "fix-1"
    )
    (told.folder / "none.jsonl").write_bytes(head_line() + end_line(0))
    assert "the file holds no book; " in told.error(USAGE, "explain", "none.jsonl", "--last")


@pytest.fixture
def forked(told: Cli) -> Cli:
    """A fork, in which something was decided; its parent has gone on."""
    with Books.open(told.store, session="cli") as books:
        fork = books.fork("fix-1", 5, new_id="fix-2")
        fork.record(Change(summary="guard it otherwise"))
        fork.settle_blocking(RunSettled(run="r3"), judge=Scripted([CONTENT]))
    return told


def test_of_an_exported_fork_with_its_parents_the_fork_is_explained(forked: Cli) -> None:
    forked.ok("loop", "export", "--loop", "fix-2", "--output", "fork.jsonl")
    assert forked.ok("explain", "fork.jsonl", "--last") == forked.ok("explain", "fix-2", "--last")
    assert forked.ok("explain", "fork.jsonl", "4") == forked.ok("explain", "fix-2", "4"), "its parent's"
    parent = ("explain", "fork.jsonl", "7", "--stream", "fix-1")
    assert forked.ok(*parent) == forked.ok("explain", "fix-1", "7")
    names = [
        line.partition(":")[2].partition(":")[0]
        for line in forked.ok("replay", "fork.jsonl", "--verify").splitlines()
    ]
    assert names == ["fix-1", "fix-2"], "nothing of the file is left unverified"


def test_of_the_fork_of_a_fork_it_is_the_newest_and_of_two_siblings_none(forked: Cli) -> None:
    forked.ok("loop", "fork", "fix-2", "--id", "fix-3")
    forked.ok("loop", "export", "--loop", "fix-3", "--output", "three.jsonl")
    assert json.loads(forked.ok("explain", "three.jsonl", "--last", "--json"))["book"] == "loop:fix-3"
    forked.ok("loop", "fork", "fix-1", "--id", "fix-4")
    forked.ok("store", "export", "fix-2", "fix-4", "--output", "siblings.jsonl")
    told = forked.error(USAGE, "explain", "siblings.jsonl", "--last")
    assert "the file holds 3 books (loop:fix-1, loop:fix-2, loop:fix-4); " in told


def edited(cli: Cli, name: str) -> str:
    """An export in which somebody has changed a reason by hand."""
    cli.ok("store", "export", "--output", name)
    file = cli.folder / name
    file.write_bytes(file.read_bytes().replace(b'"reason":"nothing-new"', b'"reason":"child-out"'))
    return name


@pytest.mark.parametrize(
    "argv", [("replay",), ("replay", "--verify"), ("explain", "--last", "--stream", "fix-1")]
)
def test_a_file_that_was_edited_is_told_as_one_that_is_read(told: Cli, argv: tuple[str, ...]) -> None:
    before = told.rows()
    ran = told(*argv, edited(told, "all.jsonl"))
    assert ran.code == FOUND
    place, whole = ran.err.splitlines()
    assert re.fullmatch(
        r"loopbook: all\.jsonl, line \d+: loop:fix-1 cannot be read: seq 7: its sum is not that of .*",
        place,
    )
    assert whole == (
        "loopbook: all.jsonl is not as it was exported: what cannot be read was left out; nothing was"
        " written; export it anew, or check its store with: loopbook store fsck"
    )
    assert "import" not in ran.err
    assert "loop:fix-1" not in ran.out
    assert ("loop:fix-0: " in ran.out) == (argv[0] == "replay"), "what is sound is read"
    assert told.rows() == before


def test_a_fork_whose_parent_was_edited_cannot_be_read_either(forked: Cli) -> None:
    ran = forked("explain", edited(forked, "all.jsonl"), "--last", "--stream", "fix-2")
    assert (ran.code, ran.out) == (FOUND, "")
    assert "loop:fix-2 cannot be read: it is a fork of loop:fix-1 seq 5, which is not here" in ran.err


def test_a_sessions_own_book_is_named_by_its_stream_and_leads_to_its_loop(told: Cli) -> None:
    assert told.ok("replay", "session:loopbook:cli").splitlines()[-1] == (
        "session:loopbook:cli goes on in loop:fix-0: see that"
    )
    assert told.ok("replay", "loop:fix-1", "--verify").endswith("2 the same\n")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("replay", "fix-9"), USAGE, "no loop 'fix-9'"),
        (("replay", "session:pi:nobody"), USAGE, "no stream 'session:pi:nobody'"),
        (("replay", "nowhere.jsonl"), STORE, "nowhere.jsonl"),
        (("replay", "fix-1", "--to", "-1"), USAGE, "greater than or equal to 0"),
        (("replay",), USAGE, "BOOK"),
        (("explain", "fix-1"), USAGE, "give the number of an entry, or --last"),
        (("explain", "fix-1", "4", "--last"), USAGE, "give the number of an entry, or --last"),
        (("explain", "fix-1", "2"), USAGE, "the next decision is at 4"),
        (("explain", "fix-1", "99"), USAGE, "there is no entry 99"),
        (("explain", "fix-0", "--last"), USAGE, "nothing was decided in this book"),
    ],
)
def test_what_is_no_book_or_no_decision_is_told_in_one_line(
    told: Cli, argv: tuple[str, ...], code: int, words: str
) -> None:
    assert words in told.error(code, *argv)


# --- explain ------------------------------------------------------------------------------------------


def test_an_explanation_is_printed_as_lines_or_as_json(told: Cli) -> None:
    lines = told.ok("explain", "fix-1", "--last").splitlines()
    assert lines[0] == "entry 7 (second-thought, run r2): passed over: nothing-new"
    assert lines[-1] == "  again     decided again from the entries before it, it comes out the same"
    one = json.loads(told.ok("explain", "fix-1", "4", "--json"))
    assert (one["version"], one["book"]) == (1, "loop:fix-1")
    (decision,) = one["decisions"]
    assert decision["concerns"] == ["back"]
    assert decision["asked"]["answers"][0]["answer"] == "back (confidence 1.00)"
    assert decision["verdict"]["outcome"] == "same"
    assert decision["since"] is None


def test_a_run_about_which_nothing_is_recorded_says_so(told: Cli) -> None:
    told.ok("loop", "settle", "r3", "--judge", "none", "--loop", "fix-1")
    assert told.ok("explain", "fix-1", "8").startswith("entry 8: nothing is recorded about it: ")


@pytest.mark.parametrize("content", [b"\n\n \n", b"\xef\xbb\xbf"], ids=["blank lines", "a byte order mark"])
@pytest.mark.parametrize(
    "how", [("replay",), ("replay", "--verify"), ("replay", "--json"), ("explain", "--last")]
)
def test_a_file_that_holds_no_book_is_told(cli: Cli, content: bytes, how: tuple[str, ...]) -> None:
    (cli.folder / "none.jsonl").write_bytes(content)
    command, *more = how
    assert "the file holds no book" in cli.error(USAGE, command, "none.jsonl", *more)


@pytest.mark.parametrize("how", [("replay", "--verify"), ("explain", "--last")])
def test_an_empty_file_is_told_and_the_code_is_1(cli: Cli, how: tuple[str, ...]) -> None:
    (cli.folder / "none.jsonl").write_bytes(b"")
    command, *more = how
    ran = cli(command, "none.jsonl", *more)
    assert (ran.code, ran.out) == (FOUND, "")
    assert "the file is empty" in ran.err
