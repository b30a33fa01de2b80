"""How the program ends: one line and one code for every mistake, and nothing written."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from loopbook import errors
from loopbook.cli import main, target
from loopbook.cli.exits import BUG, FOUND, INTERRUPTED, PIPE, STORE, USAGE, code_for, explain
from loopbook.errors import LoopbookError
from tests.cli.conftest import Cli

PROGRAM = [sys.executable, "-c", "import sys; from loopbook.cli import main; sys.exit(main())"]

RECORD = ("loop", "record", "task", "x")
START = ("loop", "start", "--kind", "fix", "--intent", "x")


# --- the caller's mistakes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("lop",), ["no such command 'lop'", "loopbook --help"]),
        (("loop", "start"), ["missing option '--kind'", "loopbook loop start --help"]),
        (("loop",), ["missing command", "loopbook loop --help"]),
        (("loop", "list", "--jsn"), ["no such option", "loopbook loop list --help"]),
        (("loop", "record"), ["missing the type of event"]),
        (("loop", "record", "check", "--command", "x"), ["--outcome", "--exit-code"]),
        (("loop", "record", "check", "--command", "x", "--outcome", "meh"), ["'meh'", "pass"]),
        (("loop", "record", "--json", "{}", "task", "x"), ["not both"]),
        (
            ("loop", "start", "--kind", "fxi", "--intent", "x"),
            ["there is no kind 'fxi'", "change, chore, fix"],
        ),
        (("loop", "start", "--kind", "fix", "--intent", "x", "--id", "fix-1"), ["'fix-1' already"]),
        (("loop", "start", "--kind", "fix", "--intent", "x", "--id", "a b"), ["'a b' cannot be a loop's id"]),
        ((*RECORD, "--loop", "none"), ["no loop 'none'"]),
        ((*RECORD, "--loop", "fix-0"), ["closed", "reopen"]),
        (("loop", "todo", "add", "t9", "x", "--followup", "  "), ["follow-up"]),
        (("loop", "todo", "done", "t9"), ["'t9'"]),
        (("loop", "todo", "add", "t1", "again"), ["'t1'"]),
        (("loop", "unit", "start", "zz"), ["'zz'"]),
        (("loop", "record", "change", "--summary", "x", "--unit", "zz"), ["'zz'"]),
        (("loop", "reopen", "--loop", "fix-1"), ["not closed"]),
        (("loop", "record", "--json", "{"), ["not JSON"]),
        (("loop", "record", "--json", "[1]"), ["a JSON object"]),
        (("loop", "record", "--json", '{"type": "soup"}'), ["no event of type 'soup'"]),
        (("loop", "record", "--json", '{"type": "change"}'), ["summary is missing"]),
        (("loop", "record", "--json", '{"type": "change", "summary": "x", "u": 1}'), ["no field 'u'"]),
        (
            ("loop", "record", "--json", '{"type": "change", "summary": "x", "unit": 1}'),
            ["unit must be a text"],
        ),
        (("loop", "record", "--json", '{"type": "loop_closed", "outcome": "met"}'), ["loopbook alone"]),
        (
            ("loop", "record", "review", "--tier", "light", "--reviewer", "r", "--finding", "f"),
            ["id:severity"],
        ),
        (("spec", "run", "."), ["no scenario file"]),
        (("kinds", "draw", "none"), ["no kind or file 'none'", "kinds list"]),
        (("settings", "show", "--store", ""), ["store must be"]),
    ],
)
def test_a_mistake_is_one_line_with_its_remedy_and_writes_nothing(
    busy: Cli, argv: tuple[str, ...], words: list[str]
) -> None:
    before = busy.rows()
    line = busy.error(USAGE, *argv)
    for word in words:
        assert word in line
    assert "; " in line
    assert busy.rows() == before


def test_a_mistake_in_a_settings_file_is_the_callers(cli: Cli) -> None:
    (cli.folder / ".loopbook.toml").write_text("store = 'x'\n")
    assert "may not be set by a project" in cli.error(USAGE, "loop", "list")


# --- stores and files --------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [("loop", "list"), ("loop", "log"), RECORD, START])
@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("letter.db", "letter.db"),
        ("recipes.db", "recipes.db"),
        (".", "folder"),
        ("letter.db/books.db", "letter.db"),
        ("mysql://x/y", "mysql"),
        ("sqlite:///", "no store URL"),
        ("postgresql://x/y", "postgresql://x/y"),
    ],
)
def test_a_store_that_is_none_is_one_line_and_stays_as_it_is(
    cli: Cli, argv: tuple[str, ...], store: str, words: str
) -> None:
    (cli.folder / "letter.db").write_text("not a database, but a letter to a friend\n" * 50)
    with closing(sqlite3.connect(cli.folder / "recipes.db")) as other:
        other.execute("create table recipes (soup text)")
    before = sorted((path.name, path.is_file() and path.read_bytes()) for path in cli.folder.iterdir())
    assert words in cli.error(STORE, *argv, "--store", store)
    after = sorted((path.name, path.is_file() and path.read_bytes()) for path in cli.folder.iterdir())
    assert after == before


@pytest.mark.parametrize(
    "argv", [("loop", "list"), ("loop", "log"), ("loop", "show"), ("loop", "export"), RECORD]
)
def test_only_a_start_makes_a_store_so_a_slip_in_its_name_is_seen(cli: Cli, argv: tuple[str, ...]) -> None:
    line = cli.error(STORE, *argv, "--store", "bokos/books.db")
    assert "there is no store" in line
    assert "loopbook store init" in line
    assert list(cli.folder.iterdir()) == []
    (cli.folder / "bokos").mkdir()
    cli.ok(*START, "--store", "bokos/books.db")
    assert (cli.folder / "bokos" / "books.db").is_file()


def test_a_store_that_somebody_holds_is_told_and_nothing_is_written(loop: Cli) -> None:
    before = loop.rows()
    with closing(sqlite3.connect(loop.store, isolation_level=None)) as other:
        other.execute("begin exclusive")
        loop.error(STORE, *RECORD, "--store", f"sqlite:///{loop.store}?timeout=0")
        other.execute("rollback")
    assert loop.rows() == before


def test_a_damaged_entry_is_named(busy: Cli) -> None:
    with closing(sqlite3.connect(busy.store)) as store:
        (table,) = store.execute(
            "select name from sqlite_master where sql like '%originator_version%' and type = 'table'"
        ).fetchone()
        store.execute(
            f"update {table} set state = 'x' where originator_id = 'loop:fix-1' and originator_version = 3"
        )
        store.commit()
    for argv in (("loop", "show"), RECORD):
        ran = busy(*argv)
        assert (ran.code, ran.err.count("\n")) == (STORE, 1)
        assert "loop:fix-1 seq 3 cannot be read" in ran.err
    ran = busy("loop", "export")  # which keeps what there is
    assert (ran.code, ran.err.count("\n")) == (FOUND, 1)
    assert "loop:fix-1 seq 3 is damaged" in ran.err
    assert '"version":3,"topic":"unit_added","damaged":"eA=="}' in ran.out


def test_a_file_that_is_not_there_is_one_line(cli: Cli) -> None:
    for argv in (("spec", "run", "none.yaml"), ("kinds", "check", "none.toml")):
        assert "no such file" in cli.error(STORE, *argv)


def test_an_export_never_overwrites(loop: Cli) -> None:
    (loop.folder / "book.jsonl").write_text("mine")
    assert "exists" in loop.error(STORE, "loop", "export", "--loop", "fix-1", "--output", "book.jsonl")
    assert (loop.folder / "book.jsonl").read_text() == "mine"


# --- which loop ---------------------------------------------------------------------------------


def test_with_one_open_loop_it_is_the_one_that_is_meant(loop: Cli) -> None:
    loop.ok(*RECORD)
    assert loop.events() == ["task"]


def test_with_none_or_several_open_the_error_says_so(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    loop.ok("loop", "start", "--kind", "chore", "--intent", "y", "--id", "fix-2")
    line = loop.error(USAGE, *RECORD)
    assert "2 loops are open (fix-1, fix-2)" in line
    assert "--loop" in line
    monkeypatch.setenv("LOOPBOOK_LOOP", "fix-2")
    loop.ok(*RECORD)
    assert loop.events("fix-2") == ["task"]
    loop.ok(*RECORD, "--loop", "fix-1")
    assert loop.events("fix-1") == ["task"]
    assert "no loop is open" in loop.error(USAGE, *RECORD, "--loop", "", "--store", "memory:")


# --- codes ----------------------------------------------------------------------------------------


def test_every_error_of_loopbook_is_the_callers_or_the_stores() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, LoopbookError)]
    stores: set[type[LoopbookError]] = {
        c for c in classes if issubclass(c, errors.StoreError | errors.TranscriptUnreadable)
    }
    stores |= {errors.Stale, errors.ChangedMeanwhile, errors.KeyFileRefused}
    for cls in classes:
        assert code_for(cls.__new__(cls)) == (STORE if cls in stores else USAGE), cls


def test_a_fault_of_loopbook_names_how_to_see_the_traceback(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero\nindeed")

    monkeypatch.setattr(target, "settings_for", broken)
    line = cli.error(BUG, "loop", "list")
    assert "ZeroDivisionError: by zero indeed" in line
    assert "LOOPBOOK_DEBUG=1" in line
    monkeypatch.setenv("LOOPBOOK_DEBUG", "1")
    ran = cli("loop", "list")
    assert ran.code == BUG
    assert "Traceback (most recent call last)" in ran.err


def test_an_error_of_the_system_without_a_name_is_told_too() -> None:
    assert explain(OSError("odd")) == "odd; what was already written is kept; check where the output goes"


def test_ctrl_c_is_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(target, "settings_for", stopped)
    assert "Ctrl-C" in cli.error(INTERRUPTED, "loop", "list")


# --- real processes ---------------------------------------------------------------------------------


def environment(cli: Cli, **more: str) -> dict[str, str]:
    return {**os.environ, "LOOPBOOK_STORE": cli.store, "HOME": str(cli.folder), **more}


def test_a_reader_that_goes_away_ends_it_quietly(loop: Cli) -> None:
    loop.ok(*RECORD[:3], "x" * 300)
    process = subprocess.Popen(
        [*PROGRAM, "loop", "log", "--loop", "fix-1", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(loop),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert (process.wait(60), process.stderr.read()) == (PIPE, b"")
    process.stderr.close()


HOSTILE = "red \x1b[31m bell \x07 back \r\n turn \u202e nul \x00 half \ud800 é 表 😀"


@pytest.mark.parametrize("encoding", ["ascii", "cp932", "utf-8"])
@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_hostile_text_and_old_terminals_do_no_harm(
    loop: Cli, encoding: str, json_too: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.ok("loop", "record", "--json", "-", stdin=json.dumps({"type": "friction", "text": HOSTILE}))
    loop.ok("loop", "start", "--kind", "fix", "--intent", HOSTILE.replace("\ud800", ""), "--id", "fix-3")
    which = {"show": ["--loop", "fix-1"], "log": ["--loop", "fix-1"], "list": []}
    for command, more in which.items():
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
        assert main(["loop", command, *more, *json_too]) == 0
        text = raw.getvalue().decode(encoding)
        assert not set(text) & set("\x1b\x07\x00\u202e\r")
        assert "red" in text
        if json_too:
            assert json.loads(text)["version"] == 1


def test_an_error_with_hostile_text_stays_one_harmless_line(
    loop: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, "ascii", write_through=True))
    assert main(["loop", "todo", "done", "evil\x1b[2J\nsecond é 表"]) == USAGE
    assert raw.getvalue().count(b"\n") == 1
    assert b"\x1b" not in raw.getvalue()


def test_a_giant_mistake_is_still_one_short_line(loop: Cli) -> None:
    assert len(loop.error(USAGE, "loop", "todo", "done", "x" * 100_000)) < 3_000


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.usefixtures("ctrl_c")
def test_a_real_ctrl_c_ends_with_one_line_and_nothing_written(loop: Cli) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "loop", "record", "--json", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(loop),
    )  # fmt: skip
    assert process.stdin is not None
    event = b'{"type": "task", "text": "' + b"x" * 1_000 + b'"}\n'
    process.stdin.write(event * 1_000)  # more than a pipe holds: when it is written, it is being read
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count(b"\n")) == (INTERRUPTED, b"", 1)
    assert err.startswith(b"loopbook: ")
    assert loop.events() == []


def test_main_takes_the_programs_own_words_by_default(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")  # as it sets it, but undone afterwards
    monkeypatch.setattr(sys, "argv", ["loopbook", "--version"])
    assert main() == 0
    assert Path(cli.store).exists() is False


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_were_closed_before_it_began_stop_nothing(closed: str) -> None:
    program = shlex.quote(sys.executable), "-c", "'from loopbook.cli import main; raise SystemExit(main())'"
    command = f"{' '.join(program)} kinds list {closed}"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
