"""``loopbook store init | check | upgrade``: a store made, looked at, brought up to date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.postgres import Postgres
from tests.store.raw import held, sql


def urls(cli: Cli, postgres: Postgres) -> list[str]:
    return [cli.store, postgres.schema()]


def test_init_makes_a_store_once_and_says_where(cli: Cli, postgres: Postgres) -> None:
    for url in urls(cli, postgres):
        made, again = (cli.ok("store", "init", "--store", url) for _ in range(2))
        assert made.endswith(": made, schema 2\n")
        assert again.endswith(": is there already, schema 2\n")
        assert url in made
        assert cli.ok("loop", "list", "--store", url) == ""


def test_check_says_what_a_store_is(cli: Cli, postgres: Postgres) -> None:
    for url, kind in zip(urls(cli, postgres), ("sqlite", "postgresql"), strict=True):
        cli.ok("loop", "start", "--kind", "fix", "--intent", "x", "--id", "a", "--store", url)
        said = json.loads(cli.ok("store", "check", "--json", "--store", url))["store"]
        assert (said["kind"], said["schema"], said["streams"], said["writable"]) == (kind, 2, 3, True)
        assert said["bytes"] > 1_000
        assert 0 < said["read_ms"] < 10_000
        assert "streams\t3\n" in cli.ok("store", "check", "--store", url)


def test_what_only_reads_makes_no_store(cli: Cli, postgres: Postgres) -> None:
    for url in urls(cli, postgres):
        for command in (("store", "check"), ("store", "upgrade"), ("loop", "list")):
            assert "make it with: loopbook store init" in cli.error(3, *command, "--store", url)
    assert not Path(cli.store).exists()


def test_a_store_that_cannot_be_written_is_told_with_code_1_and_a_remedy(
    cli: Cli, postgres: Postgres
) -> None:
    cli.ok("store", "init")
    with held(cli.store):
        ran = cli("store", "check", "--store", f"sqlite:///{cli.store}?timeout=0.1")
    assert ran.code == 1
    assert "writable\tFalse\n" in ran.out
    locked = "another process kept it locked; nothing was written; try again, or add ?timeout=30"
    assert ran.err == f"loopbook: {cli.store}: {locked}\n"
    url = postgres.schema()
    cli.ok("store", "init", "--store", url)
    read_only = f"{url}&options=-c%20default_transaction_read_only%3Don"
    ran = cli("store", "check", "--store", read_only)
    assert ran.code == 1
    assert ran.err.endswith(": the server is read-only; nothing was written; name the primary server\n")
    assert ran.err.count("nothing was written") == 1


def test_an_older_store_is_upgraded_and_the_newest_left(cli: Cli, postgres: Postgres) -> None:
    for url in urls(cli, postgres):
        cli.ok("loop", "start", "--kind", "fix", "--intent", "x", "--id", "a", "--store", url)
        sql(url, "DROP TABLE stored_snapshots")
        sql(url, "PRAGMA user_version=1" if url == cli.store else "UPDATE loopbook_store SET schema=1")
        for words in (("store", "check"), ("store", "init"), ("loop", "list"), ("store", "fsck")):
            cli.ok(*words, "--store", url)
        assert "schema\t1\n" in cli.ok("store", "check", "--store", url)
        assert cli.ok("store", "upgrade", "--store", url).endswith(": schema 1 is now 2\n")
        assert cli.ok("store", "upgrade", "--store", url).endswith(": schema 2 already\n")
        assert sql(url, "SELECT count(*) FROM stored_snapshots") == [(0,)]
        assert "a\t" in cli.ok("loop", "list", "--store", url)


def test_a_password_is_in_nothing_that_is_printed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBOOK_STORE", "postgresql://me:hunter22@127.0.0.1:1/books?password=hunter22")
    printed = [cli("settings", "show"), cli("settings", "show", "--json")]
    printed += [cli("store", word) for word in ("init", "check", "upgrade")] + [cli("loop", "list")]
    assert [ran.code for ran in printed] == [0, 0, 3, 3, 3, 3]
    assert not any("hunter22" in ran.out + ran.err for ran in printed)
    assert "postgresql://me:***@127.0.0.1:1/books" in printed[0].out
    assert "cannot be reached" in printed[2].err
