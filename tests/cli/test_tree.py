"""Every command is helped, exemplified and documented, and every example works."""

from __future__ import annotations

import shlex

import pytest
import typer

from loopbook.cli import reference
from loopbook.cli.app import app
from loopbook.cli.exits import EXIT_CODES
from loopbook.cli.reference import Described, commands
from tests.cli.conftest import PREPARED, Cli, lay_out
from tests.conftest import ROOT
from tests.judges.faulty import Faulty

COMMANDS = commands()
LEAVES = [described for described in COMMANDS if not described.group]
EXAMPLES = sorted({line for described in COMMANDS for line in described.examples})


def path_of(described: Described) -> str:
    return described.path


def test_the_tree_holds_what_is_promised() -> None:
    paths = {described.path.removeprefix("loopbook ") for described in COMMANDS}
    assert paths >= {
        "audit", "loop start", "loop record", "loop todo add", "loop todo followup", "loop todo done",
        "loop todo drop", "loop unit add", "loop unit start", "loop unit done", "loop unit drop",
        "loop child link", "loop child report", "loop child drop", "loop reopen", "loop list", "loop show",
        "loop log", "loop fork", "loop adopt", "loop settle", "loop close", "loop status", "loop undelivered",
        "loop acknowledge",
        "loop export", "replay", "explain",
        "store fsck", "store export", "store import", "store forget",
        "store scrub", "store vacuum", "kinds list", "kinds check", "kinds draw", "spec run", "settings show",
        "judge ask", "judge probe", "judge key set", "judge key status",
    }  # fmt: skip


@pytest.mark.parametrize("described", COMMANDS, ids=path_of)
def test_a_command_says_what_it_does(described: Described) -> None:
    assert (described.command.help or "").strip().endswith(".")


@pytest.mark.parametrize("described", LEAVES, ids=path_of)
def test_a_command_has_an_example_of_itself(described: Described) -> None:
    assert described.examples
    for line in described.examples:
        assert line.startswith(f"{described.path} ") or line == described.path


@pytest.mark.parametrize("described", LEAVES, ids=path_of)
def test_every_option_and_argument_says_what_it_is(described: Described) -> None:
    for param in described.command.params:
        assert (param.help or "").strip(), param.name


#: What needs a person at a terminal is tried with one in ``test_judge``.
TYPED = {"loopbook judge key set"}


@pytest.mark.parametrize("line", [line for line in EXAMPLES if line not in TYPED])
def test_every_example_works_as_it_stands(
    busy: Cli, line: str, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", faulty.at("fine"))
    lay_out(busy.folder)
    for before in PREPARED:
        busy.ok(*before)
    program, *argv = shlex.split(line)
    assert program == "loopbook"
    ran = busy(*argv)
    assert ran.code == 0, ran
    assert ran.err == "" or argv[0] == "audit", ran  # an audit may show its progress


@pytest.mark.parametrize("described", COMMANDS, ids=path_of)
def test_help_is_printed_and_nothing_else_happens(cli: Cli, described: Described) -> None:
    out = cli.ok(*described.path.split()[1:], "--help")
    assert out.startswith("Usage: " + described.path)
    for line in described.examples:
        assert f"{line}\n" in out, "an example stands on one line, to be copied"
    assert not (cli.folder / "books.db").exists()


def test_a_bare_call_prints_the_help_with_the_exit_codes(cli: Cli) -> None:
    out = cli.ok()
    for row in EXIT_CODES:
        assert f"{row.code}  {row.meaning}\n" in out


def test_the_version_is_printed(cli: Cli) -> None:
    assert cli.ok("--version").startswith("loopbook 0.")


def test_the_page_of_commands_is_fresh_and_holds_every_command() -> None:
    page = reference.markdown()
    assert (ROOT / "docs" / "commands.md").read_text("utf-8") == page, "run `make docs`"
    for described in COMMANDS:
        assert f"\n## {described.path}\n" in page
    for row in EXIT_CODES:
        assert f"| {row.code} | {row.meaning} |" in page


def test_exit_codes_are_each_told_once() -> None:
    codes = [row.code for row in EXIT_CODES]
    assert codes == sorted(set(codes))


def test_the_tree_is_a_typer_app_that_others_may_call() -> None:
    assert isinstance(app, typer.Typer)
