"""Which loop of which store is meant, and whether a remedy speaks of the same one."""

from __future__ import annotations

import shlex

import pytest

from loopbook.cli.exits import FOUND, STORE, USAGE
from loopbook.cli.target import in_store
from tests.cli.conftest import Cli

TASK = ("loop", "record", "task", "x")
READS = (("loop", "status"), ("loop", "log"), ("loop", "export"), ("loop", "undelivered"))


@pytest.fixture
def two(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Two open loops, of which the session ``night`` goes on with ``fix-1``."""
    loop.ok("loop", "start", "--kind", "chore", "--intent", "Bump it", "--id", "fix-2")
    loop.ok("loop", "adopt", "fix-1", "--session", "night")
    monkeypatch.setenv("LOOPBOOK_SESSION", "night")
    return loop


# --- the order of choice ----------------------------------------------------------------------


def test_a_session_that_goes_on_with_an_open_loop_means_that_one(two: Cli) -> None:
    two.ok(*TASK)
    assert two.events("fix-1")[-1] == "task"
    for argv in READS:
        assert two(*argv).code == 0
    assert two.ok("loop", "status").startswith("fix-1: ")
    two.ok("loop", "settle", "r1", "--judge", "none")
    two.ok("loop", "acknowledge")
    two.ok("loop", "close", "--anyway", "--judge", "none")
    assert two.ok("loop", "status").startswith("fix-2: "), "its own is closed, and one other is open"


def test_what_is_named_comes_before_the_sessions_own(two: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    two.ok(*TASK, "--loop", "fix-2")
    assert two.events("fix-2")[-1] == "task"
    monkeypatch.setenv("LOOPBOOK_LOOP", "fix-2")
    assert two.ok("loop", "status").startswith("fix-2: ")
    assert two.ok("loop", "status", "--loop", "fix-1").startswith("fix-1: ")


def test_whoever_names_no_session_shares_it_and_has_to_name_the_loop(
    two: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOPBOOK_SESSION")
    two.ok("loop", "adopt", "fix-1")
    for argv in (TASK, *READS):
        assert "2 loops are open (fix-1, fix-2)" in two.error(USAGE, *argv)
    assert two.ok("loop", "status", "--session", "night").startswith("fix-1: ")


def test_a_session_with_no_loop_of_its_own_has_to_name_one_of_several(
    two: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_SESSION", "noon")
    assert "2 loops are open (fix-1, fix-2)" in two.error(USAGE, *TASK)


# --- a code to branch on -------------------------------------------------------------------------


def test_the_status_has_a_code_for_a_loop_that_is_open(loop: Cli) -> None:
    opened = loop("loop", "status", "--loop", "fix-1", "--exit-code")
    assert (opened.code, opened.out) == (FOUND, loop.ok("loop", "status", "--loop", "fix-1"))
    assert loop("loop", "status", "--loop", "fix-1", "--exit-code", "--json").code == FOUND
    loop.ok("loop", "status", "--loop", "fix-0", "--exit-code")


# --- remedies of the store that was named ----------------------------------------------------------


@pytest.mark.parametrize("argv", [("loop", "status"), TASK, ("store", "check"), ("store", "upgrade")])
def test_the_remedy_for_a_store_that_is_not_there_makes_that_store(
    cli: Cli, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = cli.error(STORE, *argv, "--store", "my own.db")
    assert line.endswith("make it with: loopbook store init --store 'my own.db'\n")
    cli.ok(*shlex.split(line.strip().partition("make it with: loopbook ")[2]))
    assert (cli.folder / "my own.db").exists()
    monkeypatch.setenv("LOOPBOOK_STORE", str(cli.folder / "other.db"))
    assert cli.error(STORE, *argv).endswith("make it with: loopbook store init\n")


def test_of_a_store_in_a_folder_that_is_not_there_the_folder_is_named_first(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = cli.error(STORE, "loop", "status", "--store", "bokos/books.db")
    assert f"there is no folder {cli.folder / 'bokos'}, so there is no store " in line
    assert line.endswith(
        "make the folder and then the store with: loopbook store init --store bokos/books.db\n"
    )
    monkeypatch.delenv("LOOPBOOK_STORE")
    line = cli.error(STORE, "loop", "status")
    assert "there is no folder" not in line, "that of the default store is made with it"


@pytest.mark.parametrize(
    ("argv", "remedy"),
    [
        (("loop", "status", "--loop", "none"), "see: loopbook loop list --store other.db"),
        (("store", "forget", "none", "--yes"), "see: loopbook loop list --store other.db"),
        (("loop", "status"), "start one with: loopbook loop start --store other.db"),
        (("loop", "acknowledge", "9", "--loop", "a"), "see: loopbook loop status --store other.db --loop a"),
    ],
)
def test_a_remedy_speaks_of_the_store_that_was_named(cli: Cli, argv: tuple[str, ...], remedy: str) -> None:
    cli.ok("store", "init", "--store", "other.db")
    if "a" in argv:
        cli.ok("loop", "start", "--kind", "fix", "--intent", "x", "--id", "a", "--store", "other.db")
    line = cli.error(USAGE, *argv, "--store", "other.db")
    assert line.endswith(f"{remedy}\n")


def test_what_a_settle_tells_to_call_is_called_on_the_store_that_was_named(cli: Cli) -> None:
    where = ("--store", "other.db")
    cli.ok("loop", "start", "--kind", "fix", "--intent", "x", "--id", "a", *where)
    cli.ok("loop", "close", "--anyway", "--judge", "none", *where)
    remedy = "reopen it with: loopbook loop reopen --store other.db --loop a"
    assert cli("loop", "settle", "r1", "--loop", "a", *where).err.endswith(f"{remedy}\n")
    assert cli.ok("loop", "adopt", "a", *where).endswith(f"{remedy}\n")
    cli.ok("loop", "reopen", "--store", "other.db", "--loop", "a")


def test_a_password_in_a_stores_url_is_in_no_remedy() -> None:
    told = in_store("see: loopbook loop list", "postgresql://me:pw-of-mine@localhost/books")
    assert "pw-of-mine" not in told
    assert "postgresql://me:***@localhost/books" in told


# --- nothing to read ------------------------------------------------------------------------------


def test_an_empty_standard_input_records_nothing_and_is_called_that(loop: Cli) -> None:
    before = loop.rows()
    ran = loop("loop", "record", "--json", "-", stdin="\n")
    assert (ran.code, ran.out) == (0, "")
    assert "standard input is empty: there was nothing to record" in ran.err
    assert loop.rows() == before
