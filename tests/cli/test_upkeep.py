"""``loopbook store``: what its commands print, how they end, and what they leave."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest

from loopbook.cli.exits import FOUND, STORE, USAGE
from loopbook.events import Scrubbed, TodoOpened
from loopbook.store import Row
from loopbook.upkeep.transfer import Exported, write
from tests.cli.conftest import Cli


def edit(cli: Cli, statement: str) -> None:
    """Change the store with plain SQL."""
    with closing(sqlite3.connect(cli.store)) as store:
        assert store.execute(statement).rowcount >= 1
        store.commit()


DAMAGE = (
    "UPDATE stored_events SET state = CAST(replace(CAST(state AS TEXT), 'packagers', 'neighbours') AS BLOB)"
    " WHERE originator_id = 'loop:fix-1' AND originator_version = 2"
)


# --- fsck --------------------------------------------------------------------------------------


def test_fsck_of_a_sound_store_says_so_in_a_line(busy: Cli) -> None:
    before = busy.rows()
    rows = len(before)
    assert (
        busy.ok("store", "fsck")
        == f"{rows} rows in {len({row[0] for row in before})} streams: nothing is wrong\n"
    )
    told = json.loads(busy.ok("store", "fsck", "--json"))
    assert (told["version"], told["rows"], told["findings"], told["notes"]) == (1, rows, [], [])
    assert busy.rows() == before


def test_fsck_names_what_is_wrong_and_what_to_do_and_ends_with_1(busy: Cli) -> None:
    edit(busy, DAMAGE)
    ran = busy("store", "fsck")
    assert (ran.code, ran.err) == (FOUND, "")
    first, last = ran.out.splitlines()
    assert first.startswith(
        "loop:fix-1 seq 2: its sum is not that of the row: it was edited or moved; make a new store: "
    )
    assert last.endswith("1 finding")
    ran = busy("store", "fsck", "--json")
    assert ran.code == FOUND
    (finding,) = json.loads(ran.out)["findings"]
    assert (finding["stream"], finding["seq"]) == ("loop:fix-1", 2)
    assert finding["what"]
    assert finding["remedy"]


def test_a_head_noted_from_the_list_shows_a_cut_end(busy: Cli) -> None:
    head = json.loads(busy.ok("loop", "list", "--json"))["loops"][0]["head"]
    for noted in (head, f"fix-1={head}", f"loop:fix-1={head}"):
        busy.ok("store", "fsck", "--head", noted)
    edit(busy, "DELETE FROM stored_events WHERE originator_id = 'loop:fix-1' AND originator_version = 4")
    busy.ok("store", "fsck")  # a chain cannot show that its end was cut
    for noted in (head, f"fix-1={head}"):
        ran = busy("store", "fsck", "--head", noted)
        assert (ran.code, head in ran.out) == (FOUND, True)


@pytest.mark.parametrize("head", ["abc", "fix-1=", "a b=" + "0" * 64, "X" * 64])
def test_a_head_that_is_none_is_the_callers_mistake(busy: Cli, head: str) -> None:
    busy.error(USAGE, "store", "fsck", "--head", head)


# --- export and import ----------------------------------------------------------------------------


def test_a_store_moves_to_another_place(busy: Cli) -> None:
    busy.ok("store", "export", "--output", "all.jsonl")
    file = busy.folder / "all.jsonl"
    assert busy.ok("store", "export") == file.read_text("utf-8")
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    out = busy.ok("store", "import", "all.jsonl", "--store", "new.db")
    assert "loop:fix-1: 4 entries written\n" in out
    assert busy.ok("store", "export", "--store", "new.db") == file.read_text("utf-8")
    assert busy.ok("loop", "list", "--store", "new.db") == busy.ok("loop", "list")
    assert "loop:fix-1: is here already\n" in busy.ok(
        "store", "import", "-", "--store", "new.db", stdin=file.read_bytes()
    )
    busy.ok("store", "fsck", "--store", "new.db")


def test_one_loop_is_exported_in_the_same_lines_by_both_commands(busy: Cli) -> None:
    assert busy.ok("store", "export", "fix-0") == busy.ok("loop", "export", "--loop", "fix-0")
    assert busy.ok("store", "export", "fix-0").count("\n") == 4
    assert "no loop" in busy.error(USAGE, "store", "export", "nobody")


def test_what_is_wrong_in_a_file_is_told_by_line_and_the_rest_is_written(busy: Cli) -> None:
    text = busy.ok("store", "export", "fix-1", "fix-0").replace("packagers", "neighbours")
    ran = busy("store", "import", "-", "--store", "new.db", stdin=text + "hello\n")
    assert ran.code == FOUND
    assert ran.out == "loop:fix-0: 2 entries written\n"
    edited = 1 + next(at for at, line in enumerate(text.splitlines()) if "neighbours" in line)
    assert [line.split(":")[1] for line in ran.err.splitlines()] == [f" line {edited}", " line 9"]


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"{}", b'{"type": "user"}\n'])
def test_a_file_that_is_no_export_is_told(cli: Cli, text: bytes) -> None:
    (cli.folder / "x.jsonl").write_bytes(text)
    ran = cli("store", "import", "x.jsonl")
    assert (ran.code, ran.out) == (FOUND, "")
    assert ran.err.startswith("loopbook: ")


def test_hostile_lines_are_told_one_by_one_and_obeyed_by_no_terminal(busy: Cli) -> None:
    good = busy.ok("store", "export", "fix-0").splitlines(keepends=True)
    bad = [
        good[1].replace('"version":1,', f'"version":{2**63},').replace("fix-0", "big"),
        good[1].replace("fix-0", "\\u001b[2J\\u0000\\ud800"),
        good[1]
        .replace("fix-0", "deep")
        .replace('"session":', '"x":' + "[" * 300 + "]" * 300 + ',"session":'),
        good[1].replace("fix-0", "nan").replace('"session":', '"x":NaN,"session":'),
    ]
    text = "".join([good[0], *bad, *good[1:-1], good[-1].replace(":2", f":{2 + len(bad)}")])
    ran = busy("store", "import", "-", "--store", "new.db", stdin=text)
    assert (ran.code, ran.out) == (FOUND, "loop:fix-0: 2 entries written\n")
    assert [line.split(":")[1] for line in ran.err.splitlines()] == [
        f" line {number}" for number in range(2, 6)
    ]
    assert "\x1b" not in ran.err
    busy.ok("store", "fsck", "--store", "new.db")


def test_files_that_cannot_be_read_or_written_are_one_line(busy: Cli) -> None:
    assert "no such file" in busy.error(STORE, "store", "import", "none.jsonl")
    (busy.folder / "there").write_text("mine")
    assert "exists" in busy.error(STORE, "store", "export", "--output", "there")
    (busy.folder / "newer.jsonl").write_text('{"loopbook":"books","version":9}\n')
    assert "upgrade loopbook" in busy.error(STORE, "store", "import", "newer.jsonl")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such rights there")
def test_an_export_can_be_read_by_nobody_else_from_its_first_moment(
    busy: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked(rows: Iterable[Row], out: BinaryIO) -> Exported:
        assert stat.S_IMODE(os.fstat(out.fileno()).st_mode) == 0o600
        return write(rows, out)

    monkeypatch.setattr("loopbook.upkeep.transfer.write", looked)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # which comes a moment late
    before = os.umask(0)
    try:
        busy.ok("store", "export", "--output", "all.jsonl")
    finally:
        os.umask(before)


def test_an_export_that_fails_leaves_nothing_in_the_way_of_the_next(busy: Cli) -> None:
    for n in range(20):
        busy.ok("loop", "record", "task", f"{n} " * 2_000, "--loop", "fix-1")
    with closing(sqlite3.connect(busy.store)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = Path(busy.store)
    sound = file.read_bytes()
    file.write_bytes(sound[: len(sound) // 2] + b"\xff" * (len(sound) - len(sound) // 2))
    busy.error(STORE, "store", "export", "--output", "all.jsonl")
    assert not (busy.folder / "all.jsonl").exists()
    file.write_bytes(sound)
    busy.ok("store", "export", "--output", "all.jsonl")


# --- forget, scrub, vacuum ---------------------------------------------------------------------------


def test_a_loop_is_forgotten_and_the_file_shrinks(busy: Cli) -> None:
    busy.ok("loop", "record", "task", "x" * 400_000, "--loop", "fix-1")
    size = (busy.folder / "books.db").stat().st_size
    assert busy.ok("store", "forget", "fix-1", "--yes").startswith("fix-1 is forgotten; ")
    assert [line.split("\t")[0] for line in busy.ok("loop", "list").splitlines()] == ["fix-0"]
    assert "no loop" in busy.error(USAGE, "store", "forget", "fix-1", "--yes")
    busy.ok("store", "vacuum")
    assert (busy.folder / "books.db").stat().st_size < size - 300_000
    busy.ok("store", "fsck")


IRREVOCABLE = [
    (("store", "forget", "fix-1"), "forget fix-1 and its 4 entries, for ever?"),
    (("store", "scrub", "fix-1", "--seq", "2"), "scrub fix-1: the texts are gone for ever?"),
    (
        ("store", "scrub", "--everywhere", "--text", "packagers"),
        "scrub every book: the texts are gone for ever?",
    ),
]


@pytest.mark.parametrize(("argv", "question"), IRREVOCABLE)
def test_what_is_gone_for_ever_goes_after_a_yes_alone(
    busy: Cli, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...], question: str
) -> None:
    before = busy.rows()
    told = busy.error(USAGE, *argv)  # a pipe, or nothing at all
    words = "there is no terminal to ask on; nothing was removed; say it with --yes"
    assert told == f"loopbook: {question} {words}\n"
    assert busy.rows() == before
    monkeypatch.setattr("loopbook.cli.asking._is_terminal", lambda: True)
    for answer in ("n\n", "\n", ""):
        ran = busy(*argv, stdin=answer)
        assert (ran.code, ran.out) == (FOUND, "")
        assert ran.err == f"{question} [y/N] loopbook: nothing was removed\n"
        assert busy.rows() == before
    assert busy(*argv, stdin="y\n").code == 0
    assert busy.rows() != before


def test_an_entry_is_scrubbed_and_says_why(busy: Cli) -> None:
    out = busy.ok(
        "store", "scrub", "fix-1", "--seq", "2", "--yes", "--reason", "a name; token=hunter2hunter2"
    )
    assert out.startswith("loop:fix-1 seq 2: scrubbed\nanchored anew: loop:fix-1; ")
    todo, *_, last = (entry.event for entry in busy.entries()[1:])
    assert isinstance(todo, TodoOpened)
    assert (todo.todo, todo.subject) == ("t1", "[scrubbed 18 chars]")
    assert isinstance(last, Scrubbed)
    assert last.reason.startswith("a name; token=[redacted")
    busy.ok("store", "fsck")


def test_a_text_is_found_and_taken_out_wherever_it_is(busy: Cli) -> None:
    busy.ok("loop", "record", "task", "ask the packagers", "--loop", "fix-1")
    assert busy.ok("store", "scrub", "fix-1", "--find", "packagers") == (
        "loop:fix-1 seq 2: todo_opened\nloop:fix-1 seq 5: task\n"
    )
    busy.ok("store", "scrub", "fix-1", "--text", "-", "--yes", stdin="packagers\n")
    assert busy.ok("store", "scrub", "fix-1", "--find", "packagers") == ""
    busy.ok("store", "vacuum")
    for path in busy.folder.iterdir():
        assert b"packagers" not in path.read_bytes()


def test_a_leaked_secret_is_taken_out_of_everything_with_one_command(busy: Cli) -> None:
    busy.ok("loop", "record", "task", "it is hunter2", "--loop", "fix-1", "--session", "me-hunter2")
    busy.ok(
        "loop", "start", "--kind", "chore", "--intent", "hunter2", "--id", "fix-2", "--session", "me-hunter2"
    )
    assert busy.ok("store", "scrub", "--everywhere", "--find", "hunter2").splitlines() == [
        "catalogue seq 4: catalogued",
        "loop:fix-1 seq 5: task",
        "loop:fix-2 seq 1: loop_opened",
        "session:loopbook:me-hunter2: its name",
        "session:loopbook:me-hunter2 seq 1: book_chosen",
    ]
    ran = busy("store", "scrub", "fix-1", "--text", "hunter2", "--yes")
    assert (ran.code, ran.out.splitlines()[0]) == (FOUND, "loop:fix-1 seq 5: scrubbed")
    *left, remedy = ran.err.splitlines()
    assert left[0] == "loopbook: catalogue seq 4: catalogued; it still stands there"
    assert len(left) == 4
    assert remedy.endswith("to take it out of every book: loopbook store scrub --everywhere --text -")
    busy.ok(
        "store", "scrub", "--everywhere", "--text", "-", "--yes", "--session", "hunter2", stdin="hunter2\n"
    )
    assert busy.ok("store", "scrub", "--everywhere", "--find", "hunter2") == ""
    busy.ok("store", "vacuum")
    for path in busy.folder.iterdir():
        assert b"hunter2" not in path.read_bytes()
    busy.ok("store", "fsck")


def test_a_loop_whose_name_is_the_secret_is_forgotten_first(busy: Cli) -> None:
    busy.ok("loop", "start", "--kind", "fix", "--intent", "i", "--id", "fix-hunter2")
    told = busy.error(USAGE, "store", "scrub", "--everywhere", "--text", "hunter2", "--yes")
    assert "loopbook store forget fix-hunter2; then scrub --everywhere" in told
    busy.ok("store", "forget", "fix-hunter2", "--yes")
    busy.ok("store", "scrub", "--everywhere", "--text", "hunter2", "--yes")
    busy.ok("store", "vacuum")
    for path in busy.folder.iterdir():
        assert b"hunter2" not in path.read_bytes()


def test_a_session_can_be_scrubbed_by_its_streams_name(busy: Cli) -> None:
    assert "has no text" in busy.error(USAGE, "store", "scrub", "session:loopbook:cli", "--seq", "1", "--yes")


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("--seq", "1", "--find", "x"),
        ("--text", "abcd", "--find", "x"),
        ("--seq", "0"),
        ("--find", ""),
        ("--everywhere", "--text", "abcd"),
    ],
)
def test_scrub_asks_for_one_of_its_ways(busy: Cli, argv: tuple[str, ...]) -> None:
    before = busy.rows()
    busy.error(USAGE, "store", "scrub", "fix-1", *argv)
    assert busy.rows() == before


@pytest.mark.parametrize("command", ["fsck", "export", "vacuum"])
def test_a_store_that_is_not_there_is_not_made(cli: Cli, command: str) -> None:
    cli.error(STORE, "store", command)
    assert not (cli.folder / "books.db").exists()


def test_an_export_over_a_file_that_is_there_asks_for_a_new_one(busy: Cli) -> None:
    (busy.folder / "all.jsonl").write_text("mine")
    told = busy.error(STORE, "store", "export", "--output", "all.jsonl")
    assert told == "loopbook: all.jsonl: file exists; nothing was written; name a new file\n"
    assert (busy.folder / "all.jsonl").read_text() == "mine"


def test_the_id_of_a_forgotten_loop_is_free_and_the_list_names_it_no_more(busy: Cli) -> None:
    busy.ok("store", "forget", "fix-1", "--yes")
    assert "fix-1" not in busy.ok("loop", "list")
    assert busy.ok("loop", "start", "--kind", "fix", "--intent", "anew", "--id", "fix-1") == "fix-1\n"
