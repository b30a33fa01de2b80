"""Starting, reading and exporting loops."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import sys
from typing import IO, cast

import pytest

from loopbook.cli.exits import INTERRUPTED, PIPE, STORE, USAGE
from loopbook.encoding import encode
from loopbook.events import LoopOpened
from tests.cli.conftest import Cli

START = ("loop", "start", "--kind", "fix", "--intent", "Crash on empty input")


def opened(cli: Cli, loop: str) -> LoopOpened:
    event = cli.entries(loop)[0].event
    assert isinstance(event, LoopOpened)
    return event


def test_start_prints_the_id_and_nothing_else_so_that_a_shell_can_keep_it(cli: Cli) -> None:
    out = cli.ok(*START, "--anchor", "3f2a91c", "--session", "s7")
    loop = out.strip()
    assert out == f"{loop}\n"
    event = opened(cli, loop)
    assert (event.kind, event.intent, event.anchor) == ("fix", "Crash on empty input", "3f2a91c")
    assert cli.entries(loop)[0].session == "s7"
    assert cli.ok(*START, "--id", "mine") == "mine\n"


def test_a_session_whose_name_is_no_text_starts_and_goes_on_with_loops(loop: Cli) -> None:
    session = ("--session", "night\udcff")
    started = loop.ok(*START, *session).strip()
    assert loop.entries(started)[0].session == "night\ufffd"
    loop.ok("loop", "adopt", "fix-1", *session)
    loop.ok("loop", "fork", "fix-1", *session)
    loop.ok("store", "fsck")


def test_the_review_tier_is_the_settings_unless_it_is_given(cli: Cli) -> None:
    assert opened(cli, cli.ok(*START).strip()).review_tier == "light"
    (cli.folder / ".loopbook.toml").write_text('review_tier = "full"\n')
    assert opened(cli, cli.ok(*START).strip()).review_tier == "full"
    assert opened(cli, cli.ok(*START, "--review-tier", "none").strip()).review_tier == "none"


def test_kinds_of_the_users_folder_can_be_started(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "kinds").mkdir()
    text = 'name = "mine"\n[[phase]]\nname = "close"\nneeds = [{ is = "closable" }]\n'
    (cli.folder / "kinds" / "mine.toml").write_text(text)
    monkeypatch.setenv("LOOPBOOK_KINDS_DIR", "kinds")
    cli.ok("loop", "start", "--kind", "mine", "--intent", "x", "--id", "m")
    assert opened(cli, "m").kind == "mine"


def test_a_folder_of_kinds_that_is_not_there_is_no_folder_without_kinds(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_KINDS_DIR", "nodir")
    assert "nodir is not there" in cli.error(USAGE, "kinds", "list")


def size(cli: Cli, loop: str) -> str:
    """The bytes of a loop's states, as plain SQL counts them."""
    return str(sum(len(cast("bytes", row[3])) for row in cli.rows() if row[0] == f"loop:{loop}"))


def test_list_has_a_line_for_each_loop_to_cut_and_sort(loop: Cli) -> None:
    rows = [line.split("\t") for line in loop.ok("loop", "list").splitlines()]
    assert rows == [
        ["fix-1", "fix", "open", "1", size(loop, "fix-1"), "", "Crash on empty input"],
        ["fix-0", "chore", "unjudged", "2", size(loop, "fix-0"), "", "Bump the pin"],
    ]


def test_a_list_as_json(loop: Cli) -> None:
    told = json.loads(loop.ok("loop", "list", "--json"))
    assert told["version"] == 1
    assert [(row["id"], row["outcome"]) for row in told["loops"]] == [("fix-1", None), ("fix-0", "unjudged")]
    assert [(row["entries"], str(row["bytes"])) for row in told["loops"]] == [
        (1, size(loop, "fix-1")),
        (2, size(loop, "fix-0")),
    ]


def test_list_and_show_as_json_print_heads_for_people_to_note(loop: Cli) -> None:
    heads = {row["id"]: row["head"] for row in json.loads(loop.ok("loop", "list", "--json"))["loops"]}
    assert heads == {name: loop.entries(name)[-1].sum for name in ("fix-1", "fix-0")}
    assert json.loads(loop.ok("loop", "show", "--json"))["loop"]["head"] == heads["fix-1"]


def test_a_fork_goes_on_from_an_entry_of_a_loop_open_or_closed(busy: Cli) -> None:
    assert busy.ok("loop", "fork", "fix-1", "--at", "2", "--id", "fix-1b") == "fix-1b\n"
    again = busy.ok("loop", "fork", "fix-0", "--session", "s9").strip()
    assert busy.events("fix-1b") == ["todo_opened", "forked"]
    busy.ok("loop", "record", "task", "x", "--loop", again)
    assert busy.events(again) == ["loop_closed", "forked", "task"]
    rows = [line.split("\t") for line in busy.ok("loop", "list").splitlines()]
    assert [(row[0], row[1], row[2], row[3], row[5], row[6]) for row in rows[2:]] == [
        ("fix-1b", "fix", "open", "1", "fix-1", "Crash on empty input"),
        (again, "chore", "open", "2", "fix-0", "Bump the pin"),
    ]
    listed = json.loads(busy.ok("loop", "list", "--json"))["loops"]
    assert [row["parent"] for row in listed] == [None, None, "fix-1", "fix-0"]
    assert "\tforked\tforked from loop:fix-1 seq 2\n" in busy.ok("loop", "log", "--loop", "fix-1b")


def test_a_fork_of_what_is_not_there_writes_nothing(loop: Cli) -> None:
    before = loop.rows()
    for argv in (("none",), ("fix-1", "--at", "9"), ("fix-1", "--at", "0"), ("fix-1", "--id", "fix-0"),
                 ("fix-1", "--id", "a b")):  # fmt: skip
        assert "; nothing was written; " in loop.error(USAGE, "loop", "fork", *argv)
    assert loop.rows() == before


def test_a_log_is_followed_until_nothing_comes(loop: Cli) -> None:
    plain = loop.ok("loop", "log", "--loop", "fix-1")
    assert loop.ok("loop", "log", "--loop", "fix-1", "--follow", "--idle", "0") == plain
    lines = loop.ok("loop", "log", "--loop", "fix-0", "--after", "1", "--idle", "0", "--json").splitlines()
    whole = json.loads(loop.ok("loop", "log", "--loop", "fix-0", "--after", "1", "--json"))
    assert [json.loads(line) for line in lines] == whole["entries"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.usefixtures("ctrl_c")
def test_a_followed_log_says_what_is_new_at_once_and_ends_with_ctrl_c(loop: Cli) -> None:
    argv = [sys.executable, "-c", "import sys; from loopbook.cli import main; sys.exit(main())"]
    argv += ["loop", "log", "--loop", "fix-1", "--follow", "--after", "1"]
    program = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for n in range(3):
            loop.ok("loop", "record", "task", f"t{n}", "--loop", "fix-1")
            line = cast("IO[str]", program.stdout).readline()
            assert line.split("\t")[3:] == ["task", f'task: "t{n}"\n']
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=30)
    finally:
        program.kill()
        program.communicate()
    assert program.returncode == INTERRUPTED
    assert "stopped by Ctrl-C" in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe shows when it is written to")
@pytest.mark.parametrize("taken", [0, 1])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_followed_log_ends_when_its_reader_goes_away_though_nothing_new_comes(
    loop: Cli, taken: int, more: tuple[str, ...]
) -> None:
    argv = [sys.executable, "-c", "import sys; from loopbook.cli import main; sys.exit(main())"]
    argv += ["loop", "log", "--loop", "fix-1", "--follow", *more]
    program = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = cast("IO[bytes]", program.stdout), cast("IO[bytes]", program.stderr)
    try:
        for _ in range(taken):
            assert out.readline()
        out.close()
        assert (program.wait(60), err.read()) == (PIPE, b"")
    finally:
        program.kill()
        program.wait()
        err.close()


def test_show_says_where_the_loop_stands(busy: Cli) -> None:
    busy.ok("loop", "record", "check", "--command", "pytest", "--exit-code", "1")
    busy.ok("loop", "record", "friction", "no compiler", "--child", "scout-7")
    busy.ok(
        "loop", "record", "review", "--tier", "light", "--reviewer", "r", "--finding", "f1:concern:no bound"
    )
    linked = f"{busy.entries()[3].at:%Y-%m-%dT%H:%M:%SZ}"
    lines = busy.ok("loop", "show").splitlines()
    assert lines == [
        "fix-1: Crash on empty input",
        "kind: fix, open, 7 entries",
        "next: change (nothing changed yet), after reproduce",
        "verify: failing",
        "unit a: module a (added)",
        "todo t1: tell the packagers (no follow-up)",
        f"children out: c1 since {linked}",
        "open findings: f1",
        "friction: scout-7: no compiler",
    ]


def test_show_as_json_says_the_same(busy: Cli) -> None:
    busy.ok("loop", "unit", "add", "b", "module b")
    busy.ok("loop", "unit", "start", "a")
    busy.ok("loop", "todo", "followup", "t1", "issue 7")
    told = json.loads(busy.ok("loop", "show", "--json"))
    assert told["version"] == 1
    shown = told["loop"]
    assert (shown["id"], shown["kind"], shown["outcome"], shown["seq"]) == ("fix-1", "fix", None, 7)
    assert shown["phase"] == {
        "current": "open",
        "next": "close",
        "missing": ["unit a", "unit b", "child c1 is out"],
    }
    assert shown["units"]["a"]["state"] == "started"
    assert shown["units"]["b"]["phase"]["next"] == "reproduce"
    assert shown["todos"] == {"t1": {"subject": "tell the packagers", "loose": False}}
    assert shown["children_out"] == ["c1"]
    assert {name: one["state"] for name, one in shown["children"].items()} == {"c1": "unknown"}


def test_a_closed_loop_shows_how_it_closed_and_nothing_next_and_goes_on_when_reopened(loop: Cli) -> None:
    loop.ok("loop", "unit", "add", "a", "module a")
    loop.ok("loop", "unit", "add", "b", "module b")
    loop.ok("loop", "close", "--judge", "none", "--anyway")
    for name, outcome in (("fix-0", "unjudged"), ("fix-1", "over concerns")):
        title, first, kind, *rest = loop.ok("loop", "show", "--loop", name).splitlines()
        assert (title.partition(":")[0], first) == (name, f"closed: {outcome}")
        assert kind.startswith("kind: ")
        assert "open" not in kind
        assert not any("next:" in line for line in rest)
        told = json.loads(loop.ok("loop", "show", "--loop", name, "--json"))["loop"]
        assert told["outcome"] == outcome.replace(" ", "_")
        loop.ok("loop", "reopen", "--loop", name)
        again = loop.ok("loop", "show", "--loop", name)
        assert "open, " in again.splitlines()[1]
        assert "\nnext: " in again
        assert "closed" not in again


def test_a_fork_shows_what_it_goes_on_from(loop: Cli) -> None:
    loop.ok("loop", "record", "change", "--summary", "x", "--loop", "fix-1")
    loop.ok("loop", "fork", "fix-1", "--at", "1", "--id", "fix-2")
    loop.ok("loop", "fork", "fix-2", "--id", "fix-3")
    loop.ok("loop", "fork", "fix-3", "--at", "1", "--id", "fix-4")
    for name, origin in (
        ("fix-1", None),
        ("fix-2", ("fix-1", 1)),
        ("fix-3", ("fix-2", 2)),
        ("fix-4", ("fix-1", 1)),
    ):
        told = json.loads(loop.ok("loop", "show", "--loop", name, "--json"))["loop"]["forked_from"]
        assert told == (origin and {"loop": origin[0], "seq": origin[1]})
        line = f"forked from: {origin[0]}, after its entry {origin[1]}" if origin else "forked from"
        assert (line in loop.ok("loop", "show", "--loop", name)) == bool(origin)


def test_log_prints_the_entries_oldest_first(busy: Cli) -> None:
    rows = [line.split("\t") for line in busy.ok("loop", "log").splitlines()]
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("1", "cli", "loop_opened"),
        ("2", "cli", "todo_opened"),
        ("3", "cli", "unit_added"),
        ("4", "cli", "child_linked"),
    ]
    assert all(row[1].endswith("Z") and row[4] for row in rows)
    assert busy.ok("loop", "log", "--after", "3").split("\t")[0] == "4"
    assert busy.ok("loop", "log", "--after", "9") == ""


def test_log_as_json_holds_every_entry_as_it_is_stored(busy: Cli) -> None:
    told = json.loads(busy.ok("loop", "log", "--json"))
    assert (told["version"], told["loop"]) == (1, "fix-1")
    stored = [json.loads(encode(entry)) for entry in busy.entries()]
    assert [
        {key: entry[key] for key in state} for entry, state in zip(told["entries"], stored, strict=True)
    ] == stored
    first = told["entries"][0]
    assert (first["stream"], first["seq"], first["type"]) == ("loop:fix-1", 1, "loop_opened")
    assert json.loads(busy.ok("loop", "log", "--json", "--after", "9"))["entries"] == []


def test_export_writes_a_head_and_every_entry_as_it_is_stored(busy: Cli) -> None:
    head, *lines, end = busy.ok("loop", "export").splitlines()
    assert json.loads(head) == {"loopbook": "books", "version": 1}
    assert json.loads(end) == {"loopbook": "end", "entries": 4}
    for line, entry in zip(lines, busy.entries(), strict=True):
        told = json.loads(line)
        assert (told["stream"], told["version"], told["topic"]) == (entry.stream, entry.seq, entry.event.type)
        assert line.endswith(f'"state":{encode(entry).decode()}}}')


def test_export_writes_a_file_that_only_its_owner_reads(busy: Cli) -> None:
    assert busy.ok("loop", "export", "--output", "book.jsonl") == ""
    file = busy.folder / "book.jsonl"
    assert file.read_text("utf-8") == busy.ok("loop", "export")
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "no such" in busy.error(STORE, "loop", "export", "--output", "none/book.jsonl")


@pytest.mark.parametrize("more", [(), ("--idle", "0")])
def test_on_a_terminal_a_log_has_a_heading_and_columns_and_as_json_none(
    busy: Cli, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    plain, told = busy.ok("loop", "log", *more), busy.ok("loop", "log", "--json", *more)
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    head, *rows = busy.ok("loop", "log", *more).splitlines()
    assert re.split("  +", head) == ["seq", "time", "session", "type", "what it says"]
    assert [re.split("  +", row) for row in rows] == [line.split("\t") for line in plain.splitlines()]
    assert {row.index("cli ") for row in rows} == {head.index("session")}
    assert busy.ok("loop", "log", "--json", *more) == told


def test_on_a_terminal_rows_are_a_table(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")  # a terminal without colours
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    lines = loop.ok("loop", "list").splitlines()
    assert lines[0].split() == ["loop", "kind", "state", "entries", "bytes", "fork", "of", "intent"]
    assert "\t" not in lines[1]
    assert lines[1].split() == [
        "fix-1",
        "fix",
        "open",
        "1",
        size(loop, "fix-1"),
        *["Crash", "on", "empty", "input"],
    ]
