"""Whoever does what fsck says has a store in which it finds nothing more."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest

from loopbook.book.snapshots import pack
from loopbook.books import Books
from loopbook.cli.exits import FOUND
from loopbook.projections import EMPTY
from loopbook.store import Stand
from tests.cli.conftest import Cli

EVENTS, OF = "stored_events", "WHERE originator_id ="
LISTED = f"{OF} 'catalogue' AND originator_version ="
AT = f"{OF} 'loop:fix-1' AND originator_version ="

OLDER = "make a new store: import an older export into it, if there is one, and then an export of this"
SAME = "make a new store: import an export of this store into it"
VACUUM = "it is left unused; remove it with: loopbook store vacuum"
NO_TEXT = "originator_id = CAST(x'6c6f6f703affff' AS TEXT)"

#: What somebody does to a store by hand, and the beginning of what is to be done about it.
DAMAGES = {
    "an edited entry": (
        f"UPDATE {EVENTS} SET state = CAST(replace(CAST(state AS TEXT), 'packagers', 'p') AS BLOB) {AT} 2",
        OLDER,
    ),
    "an entry of another type": (f"UPDATE {EVENTS} SET topic = 'task' {AT} 3", OLDER),
    "a removed entry": (f"DELETE FROM {EVENTS} {AT} 2", OLDER),
    "a name that is no text": (f"UPDATE {EVENTS} SET {NO_TEXT} {AT} 3", OLDER),
    "entries that changed places": (f"UPDATE {EVENTS} SET originator_version = 9 {AT} 2", OLDER),
    "a lost parent of a fork": (f"DELETE FROM {EVENTS} {OF} 'loop:fix-1'", OLDER),
    "a lost book": (f"DELETE FROM {EVENTS} {OF} 'loop:fix-0'", "loopbook store forget fix-0 --yes"),
    "a lost line of the catalogue": (f"DELETE FROM {EVENTS} {LISTED} 2", OLDER),
    "a cut catalogue": (f"DELETE FROM {EVENTS} {LISTED} 4", SAME),
    "a lost reservation": (f"DELETE FROM {EVENTS} {OF} 'once:loop:fix-1:todo:t1'", SAME),
    "a reservation of nothing": (
        f"UPDATE {EVENTS} SET originator_id = 'once:loop:fix-1:todo:t2' {OF} 'once:loop:fix-1:todo:t1'", SAME,
    ),
    "an edited snapshot": ("UPDATE stored_snapshots SET state = CAST('{}' AS BLOB)", VACUUM),
    "a snapshot with a name that is no text": (f"UPDATE stored_snapshots SET {NO_TEXT}", VACUUM),
    "a trigger": (
        f'CREATE TRIGGER "odd ""one" AFTER INSERT ON {EVENTS} BEGIN DELETE FROM stored_snapshots; END',
        "look at what it did, and remove it: DROP TRIGGER",
    ),
}  # fmt: skip


def sql(cli: Cli, statement: str) -> None:
    with closing(sqlite3.connect(cli.store)) as store:
        store.execute(statement)
        store.commit()


@pytest.fixture
def store(busy: Cli) -> Cli:
    """A store with a fork and a snapshot, and an export of it from before somebody laid hands on it."""
    busy.ok("store", "export", "--output", "before.jsonl")
    with Books.open(busy.store) as books:
        books.fork("fix-1", new_id="fix-2")
        place = books.book.place("loop:fix-1")
        stand = Stand("loop:fix-1", place.version, place.sum)
        books.book.records.rows.snapshot_put(pack((stand,), place.state), (stand,))
    busy.ok("store", "fsck")
    return busy


def findings(cli: Cli, store: str) -> list[dict[str, str]]:
    ran = cli("store", "fsck", "--json", "--store", store)
    found: list[dict[str, str]] = json.loads(ran.out)["findings"]
    assert ran.code == (FOUND if found else 0)
    return found


def follow(cli: Cli, remedy: str) -> str:
    """Do what a remedy says; the store to look at afterwards."""
    if remedy.startswith("make a new store"):
        if "older export" in remedy:
            cli.ok("store", "import", "before.jsonl", "--store", "new.db")
        text = cli("store", "export").out  # ends with 1 where some of it is damaged
        cli("store", "import", "-", "--store", "new.db", stdin=text)  # and where some of it is refused
        return "new.db"
    if drop := re.search("DROP .*", remedy):
        sql(cli, drop[0])
    for words in re.findall(r"loopbook (store [-\w ]+)", remedy):
        cli.ok(*words.split())
    return cli.store


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_store_whose_damage_is_told_is_sound_after_the_remedy(store: Cli, damage: str) -> None:
    statement, remedy = DAMAGES[damage]
    sql(store, statement)
    found = findings(store, store.store)
    assert any(finding["remedy"].startswith(remedy) for finding in found), found
    followed = [follow(store, words) for words in dict.fromkeys(finding["remedy"] for finding in found)]
    where = "new.db" if "new.db" in followed else store.store
    assert findings(store, where) == []
    loops = {line.split("\t")[0] for line in store.ok("loop", "list", "--store", where).splitlines()}
    assert {"fix-1", "fix-2"} - loops <= ({"fix-2"} if damage == "a lost parent of a fork" else set())


def test_a_lost_book_is_brought_back_after_it_was_forgotten(store: Cli) -> None:
    sql(store, f"DELETE FROM {EVENTS} {OF} 'loop:fix-0'")
    store.ok("store", "forget", "fix-0", "--yes")
    assert "loop:fix-0: 2 entries written" in store.ok("store", "import", "before.jsonl")
    assert findings(store, store.store) == []


def test_a_damaged_loop_can_be_forgotten(store: Cli) -> None:
    """Also one that cannot be read at all, and one whose fork cannot."""
    sql(store, "UPDATE stored_events SET state = x'00' WHERE originator_id IN ('loop:fix-0', 'loop:fix-2')")
    assert store.ok("store", "forget", "fix-0", "--yes").startswith("fix-0 is forgotten")
    assert store.ok("store", "forget", "fix-2", "--yes").startswith("fix-2 is forgotten")
    assert findings(store, store.store) == []


def test_a_store_without_its_table_of_snapshots_is_told_and_the_table_made_when_asked_for(store: Cli) -> None:
    sql(store, "DROP TABLE stored_snapshots")
    for _ in range(2):
        out = store.ok("store", "fsck")
        assert out.startswith("the store is of schema 1; for 2, run: loopbook store upgrade\n")
        assert out.endswith("nothing is wrong\n")
    store.ok("store", "upgrade")
    assert store.ok("store", "fsck").count("\n") == 1
    store.ok("loop", "show", "--loop", "fix-1")


def test_a_store_that_says_an_older_schema_is_told(store: Cli) -> None:
    for schema in (0, 1):
        sql(store, f"PRAGMA user_version={schema}")
        assert "the store is of schema 1; for 2, run:" in store.ok("store", "fsck")


def test_a_store_without_its_entries_is_no_store(store: Cli) -> None:
    sql(store, "DROP TABLE stored_events")
    for words in (("store", "fsck"), ("loop", "list"), ("store", "init"), ("store", "check")):
        assert "has no table of entries" in store.error(3, *words)


def test_what_else_stands_in_the_file_is_told_and_is_no_damage(store: Cli) -> None:
    sql(store, "CREATE TABLE notes (x)")
    sql(store, "CREATE INDEX mine ON stored_events (topic)")
    out = store.ok("store", "fsck")
    assert 'the store also has a INDEX "mine"' in out
    assert 'the store also has a TABLE "notes"' in out


def test_a_snapshot_that_lies_goes_with_a_vacuum(store: Cli) -> None:
    """It vouches for itself: only the fold shows it."""
    with Books.open(store.store) as books:
        version, head = books.book.head("loop:fix-1")
        stand = Stand("loop:fix-1", version, head)
        books.book.records.rows.snapshot_put(pack((stand,), EMPTY._replace(version=version)), (stand,))
    (finding,) = findings(store, store.store)
    assert finding["what"] == "a snapshot is not the fold of the entries"
    follow(store, finding["remedy"])
    assert findings(store, store.store) == []
