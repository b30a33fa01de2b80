"""What a store keeps and how it answers: the same on every kind of store."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import StoredEvent

from loopbook.book import Book
from loopbook.entry import Draft, Entry
from loopbook.errors import DamagedEntry
from loopbook.events import Check, Finding, Review, Task
from loopbook.store import Records, Row, open_records, parse_url

NOON = datetime(2026, 1, 1, tzinfo=UTC)
REVIEW = Review(tier="light", reviewer="r", findings=(Finding(id="f", severity="nit", text="t"),))


STRAY = {
    "MAPPER_TOPIC": "zlib", "CIPHER_KEY": "zlib", "COMPRESSOR_TOPIC": "zlib", "TRANSCODER_TOPIC": "zlib",
    "PERSISTENCE_MODULE": "zlib", "APPLICATION_RECORDER_TOPIC": "zlib", "IS_SNAPSHOTTING_ENABLED": "y",
    "AGGREGATE_CACHE_MAXSIZE": "zlib", "SQLITE_DBNAME": "/nowhere/x.db", "CREATE_TABLE": "n",
    "ORIGINATOR_ID_TYPE": "uuid",
}  # fmt: skip


@pytest.fixture
def records(url: str) -> Iterator[Records]:
    opened = open_records(parse_url(url))
    yield opened
    opened.close()


def row(stream: str, version: int, topic: str = "task") -> Row:
    return Row(stream, version, topic, b"%d" % version)


def insert(records: Records, *rows: Row) -> None:
    records.rows.insert_events(cast("list[StoredEvent]", rows))


def select(
    records: Records,
    stream: str,
    *,
    gt: int | None = None,
    lte: int | None = None,
    desc: bool = False,
    limit: int | None = None,
) -> list[Row]:
    rows = records.rows.select_events(stream, gt=gt, lte=lte, desc=desc, limit=limit)
    return cast("list[Row]", list(rows))


def test_must_1_an_event_through_our_mapper_is_whole(records: Records) -> None:
    """Through the library's own, ``==`` and ``model_copy`` raise, and nested models cannot be written."""
    entry = Entry("session:h:a", 1, REVIEW, NOON, "s")
    records.events.put([cast("DomainEventProtocol[str]", entry)])
    read = cast("list[Entry]", list(records.events.get("session:h:a")))
    assert [one.event for one in read] == [REVIEW]
    assert read[0].event.model_copy() == REVIEW
    assert select(records, "session:h:a")[0].topic == "review"


def test_must_4_nothing_in_the_process_environment_changes_a_book(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for prefix in ("", "LOOPBOOK_", "RECORDS_"):
        for name, value in STRAY.items():
            monkeypatch.setenv(prefix + name, value)
    with Book(url) as book:
        book.append("session:h:a", Draft(Task(text="plain")), after=0)
        assert b'"text":"plain"' in select(book._records, "session:h:a")[0].state
        assert next(book.entries("session:h:a")).event == Task(text="plain")


def test_must_13_the_factory_is_named_with_its_class(records: Records) -> None:
    module, _, name = records.env["PERSISTENCE_MODULE"].partition(":")
    assert module.startswith("loopbook.store.")
    assert name == "Factory"


def test_memory_with_threads(url: str) -> None:
    """DO NOT of the library's page: ``:memory:`` gives each thread its own database."""
    with Book(url) as book:
        book.append("session:h:a", Draft(Task(text="x")), after=0)
        seen: list[int] = []

        def count() -> list[int]:
            return [len([*book.entries("session:h:a")])]

        threads = [
            threading.Thread(target=lambda: seen.append(len([*book.entries("session:h:a")])))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [1] * 4


def test_threads_that_record_at_once_lose_nothing(url: str) -> None:
    with Book(url) as book:
        texts = [[f"{who}-{n}" for n in range(40)] for who in range(6)]

        def record(mine: list[str]) -> None:
            for text in mine:
                book.record("session:h:a", Draft(Check(command=text, outcome="unknown")))

        threads = [threading.Thread(target=record, args=(mine,)) for mine in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        entries = [*book.entries("session:h:a")]
        commands = [cast("Check", entry.event).command for entry in entries]
        assert [entry.seq for entry in entries] == [*range(1, 241)]
        assert sorted(commands) == sorted(text for mine in texts for text in mine)
        assert all([c for c in commands if c in mine] == mine for mine in texts)
        assert book.state("session:h:a").version == 240


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_the_store_anew_and_both_go_on(tmp_path: Path) -> None:
    with Book(str(tmp_path / "books.db")) as book:
        book.append("session:h:a", Draft(Task(text="parent")), after=0)
        parents = book._records
        child = os.fork()
        if child == 0:
            code = 1
            try:
                book.record("session:h:a", Draft(Task(text="child")))
                code = 0 if book._records is not parents else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        book.record("session:h:a", Draft(Task(text="parent again")))
        assert book._records is parents
        texts = [cast("Task", entry.event).text for entry in book.entries("session:h:a")]
        assert texts == ["parent", "child", "parent again"]


def test_a_row_whose_text_is_no_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with Book(str(path)) as book:
        book.append("session:h:a", Draft(Task(text="x")), Draft(Task(text="y")), after=0)
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE stored_events SET topic=CAST(x'ff74' AS TEXT) WHERE originator_version=2")
        with pytest.raises(DamagedEntry, match="session:h:a seq 2 cannot be read"):
            list(book.entries("session:h:a"))


def test_plain_sql_reads_a_book(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with Book(str(path)) as book:
        book.append("session:h:a", Draft(Task(text="héllo")), after=0)
    with closing(sqlite3.connect(path)) as other:
        query = "SELECT topic, json_extract(CAST(state AS TEXT), '$.text') FROM stored_events"
        assert other.execute(query).fetchall() == [("task", "héllo")]


def test_a_memory_store_imports_no_sqlite_store() -> None:
    script = (
        "import sys; from loopbook.book import Book; Book('memory:');"
        "print('eventsourcing.sqlite' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
