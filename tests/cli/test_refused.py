"""What is blank, contradicts itself or stands in the wrong place is refused in words that help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from loopbook.cli.app import command_tree
from loopbook.cli.exits import PIPE, STORE, USAGE
from loopbook.cli.reference import commands
from loopbook.errors import TranscriptUnreadable
from loopbook.events import Check
from tests.cli.conftest import Cli
from tests.cli.test_main import PROGRAM, environment
from tests.conftest import ROOT

HONEST = str(ROOT / "examples" / "sessions" / "honest.jsonl")


# --- options in front of a sub-command --------------------------------------------------------


@pytest.mark.parametrize(
    "early",
    [("--store", "a.db"), ("--loop", "fix-0"), ("--session", "me"), ("--store", "a.db", "--session", "me")],
)
def test_an_option_in_front_of_the_type_of_event_is_refused_not_dropped(
    busy: Cli, early: tuple[str, ...]
) -> None:
    before = busy.rows()
    line = busy.error(USAGE, "loop", "record", *early, "task", "x")
    assert f"{early[0]} stands before 'task': give it after" in line or "--store stands before" in line
    assert busy.rows() == before
    assert not (busy.folder / "a.db").exists()
    busy.ok("loop", "record", "--json", '{"type": "task", "text": "x"}', "--loop", "fix-1")


def test_variables_are_inherited_and_refuse_nothing(busy: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBOOK_SESSION", "me")
    monkeypatch.setenv("LOOPBOOK_LOOP", "fix-1")
    busy.ok("loop", "record", "task", "x")
    assert busy.entries()[-1].session == "me"


def test_no_other_group_takes_options_that_could_be_dropped() -> None:
    """``record`` refuses them; the others have none but those that print something and stop."""
    taken = {
        described.path: {param.name for param in described.command.params} - {"help"}
        for described in commands()
        if described.group
    }
    assert {path: names for path, names in taken.items() if names} == {
        "loopbook": {"version"},
        "loopbook loop record": {"events", "loop", "store", "session"},
    }
    assert isinstance(command_tree(), typer.core.TyperGroup)


# --- blank and contradictory ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ("loop", "start", "--kind", "fix", "--intent", "  "),
        ("loop", "record", "change", "--summary", ""),
        ("loop", "record", "check", "--command", " ", "--outcome", "pass"),
        ("loop", "record", "decision", "--text", "\t", "--by", "user"),
        ("loop", "record", "source", "--locator", " "),
        ("loop", "record", "task", " "),
        ("loop", "todo", "add", "t9", " \n"),
        ("loop", "todo", "drop", "t1", "--why", " "),
        ("loop", "unit", "add", "z", " "),
    ],
)
def test_what_must_be_said_is_not_blank(busy: Cli, argv: tuple[str, ...]) -> None:
    before = busy.rows()
    assert "it is blank" in busy.error(USAGE, *argv)
    assert busy.rows() == before


@pytest.mark.parametrize(("code", "outcome"), [("1", "pass"), ("0", "fail"), ("-9", "pass")])
def test_exit_code_and_outcome_may_differ_only_where_the_code_is_masked(
    busy: Cli, code: str, outcome: str
) -> None:
    check = ("loop", "record", "check", "--command", "pytest", "--exit-code", code)
    line = busy.error(USAGE, *check, "--outcome", outcome)
    assert f"exit code {code} and outcome {outcome} contradict each other" in line
    assert "--masked" in line
    busy.ok(*check, "--outcome", outcome, "--masked")
    event = busy.entries()[-1].event
    assert isinstance(event, Check)
    assert (event.outcome, event.exit_code, event.masked) == (outcome, int(code), True)
    assert "missing option '--outcome'" in busy.error(USAGE, *check, "--masked")


# --- words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            ("audit", HONEST, "--fail-on", "contradict"),
            ["'contradict' is not one of 'contradicted', 'unbacked', 'problems'", "repeat the option"],
        ),
        (("loop", "record", "check", "--command", "x", "--exit-code", "one"), ["a whole number is needed"]),
        (("loop", "child", "link", "c", "--timeout", "soon"), ["a number is needed"]),
        (("loop", "log", "--after", "-1"), ["it must be greater than or equal to 0"]),
        (
            ("loop", "record", "--json", '{"type": "sorce"}'),
            ["no event of type 'sorce'", "did you mean source?"],
        ),
        (("loop", "record", "--json", '{"type": "zzz"}'), ["there are base, change, check"]),
        (
            ("loop", "todo", "followup", "t1", "x", "--due", "tomorrow"),
            ["'tomorrow' is no date", "2030-01-31"],
        ),
        (("loop", "child", "report", "c1"), ["'--ok' or '--failed'"]),
    ],
)
def test_a_mistake_is_told_in_words_of_its_own_with_what_is_allowed(
    busy: Cli, argv: tuple[str, ...], words: list[str]
) -> None:
    line = busy.error(USAGE, *argv)
    for word in words:
        assert word in line
    assert "Value error" not in line
    assert "Input should" not in line


@pytest.mark.parametrize("argv", [("show",), ("log",), ("list",), ("export",)])
def test_what_only_reads_does_not_speak_of_writing(cli: Cli, argv: tuple[str, ...]) -> None:
    line = cli.error(STORE, "loop", *argv, "--store", "boks.db")
    assert "there is no store" in line
    assert "boks.db" in line
    assert "written" not in line


def test_a_folder_is_no_store(cli: Cli) -> None:
    line = cli.error(STORE, "loop", "start", "--kind", "fix", "--intent", "x", "--store", str(cli.folder))
    assert f"{cli.folder} is a folder; nothing was written; name a file in it" in line


def test_without_the_postgresql_driver_the_extra_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("psycopg", "loopbook.store.postgres"))]:
        monkeypatch.delitem(sys.modules, name)  # another test may have needed it
    for name in ("psycopg", "psycopg_pool"):
        monkeypatch.setitem(sys.modules, name, None)
    line = cli.error(STORE, "loop", "list", "--store", "postgresql://me:pw@localhost/books")
    assert "needs the PostgreSQL driver" in line
    assert "pip install 'loopbook[postgres]'" in line
    assert "pw" not in line


# --- what audit is given ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "it is empty"), (b"\x1f\x8b\x08", "gzip"), (b"[]\n", "JSON"), (b'{"a":1}\n', "no record")],
)
def test_a_file_that_is_no_session_is_one_line_and_nothing_is_kept(
    cli: Cli, content: bytes, words: str
) -> None:
    (cli.folder / "x.jsonl").write_bytes(content)
    line = cli.error(STORE, "audit", "x.jsonl", "--store", "kept.db")
    assert "x.jsonl is no session: " in line
    assert words in line
    assert not (cli.folder / "kept.db").exists()
    assert issubclass(TranscriptUnreadable, OSError)


def test_of_a_folder_audit_names_the_newest_session(cli: Cli) -> None:
    (cli.folder / "p").mkdir()
    (cli.folder / "p" / "a.jsonl").write_bytes(b"")
    assert f"its newest session is {Path('p') / 'a.jsonl'}" in cli.error(STORE, "audit", "p")


# --- folders of stores ---------------------------------------------------------------------------------


def test_a_named_stores_folder_must_be_there(cli: Cli) -> None:
    for argv in (
        ("loop", "start", "--kind", "fix", "--intent", "x"),
        ("audit", HONEST),
        ("store", "init"),
    ):
        for url in ("no/such/b.db", f"sqlite:///{cli.folder}/no/b.db"):
            line = cli.error(STORE, *argv, "--store", url)
            assert "there is no folder " in line
            assert "nothing was written" in line
    assert list(cli.folder.iterdir()) == []


@pytest.mark.parametrize("argv", [("loop", "start", "--kind", "fix", "--intent", "x"), ("store", "init")])
def test_the_default_stores_folder_is_made(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    monkeypatch.delenv("LOOPBOOK_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(cli.folder / "deep" / "data"))
    cli.ok(*argv)
    if sys.platform.startswith("linux"):
        store = cli.folder / "deep" / "data" / "loopbook" / "books.db"
        assert store.is_file()
        assert store.parent.stat().st_mode & 0o777 == store.parent.parent.stat().st_mode & 0o777 == 0o700


# --- readers that go away -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ("audit", HONEST),
        ("audit", HONEST, "--json"),
        ("audit", HONEST, "--full"),
        ("loop", "log"),
        ("loop", "list"),
        ("loop", "show", "--json"),
        ("kinds", "list"),
        ("settings", "show"),
        ("spec", "run", str(ROOT / "specs" / "scenarios" / "loops" / "life.yaml")),
        ("loop", "--help"),
        ("--version",),
    ],
    ids=" ".join,
)
def test_a_reader_that_has_gone_is_141_for_every_command(busy: Cli, argv: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [*PROGRAM, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(busy),
        cwd=busy.folder,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (PIPE, b"")
