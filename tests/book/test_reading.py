"""Catching up: only what is new is read, and what is not right is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import pytest

from loopbook.book import CATALOGUE, Book
from loopbook.errors import (
    DamagedEntry,
)  # fmt: skip
from loopbook.projections import EMPTY
from tests.book.drafts import OPENED, OWN, everything, todo
from tests.store.raw import sql


def test_must_5_catching_up_reads_only_what_is_new(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's repository would read everything since the first look, again and again."""
    book.record(OWN, *(todo(f"t{n}") for n in range(50)))
    book.state(OWN)
    recorder = book._records.recorder
    asked: list[tuple[object, int]] = []
    select = recorder.select_events

    def spy(stream: str, **bounds: int | None) -> object:
        rows = select(stream, **bounds)  # type: ignore[arg-type]  # passed on as they came
        asked.append((bounds["gt"], len(rows)))
        return rows

    monkeypatch.setattr(recorder, "select_events", spy)
    book.state(OWN)
    book.record(OWN, todo("new"))
    book.state(OWN)
    assert asked == [(49, 1), (50, 1)]  # the row that the state stands on, and nothing else


def test_a_long_stream_is_read_in_pieces(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    book.record(OWN, *(todo(f"t{n}") for n in range(23)))
    monkeypatch.setattr("loopbook.book.folding.CHUNK", 5)
    assert [entry.seq for entry in book.entries(OWN, after=2)] == [*range(3, 24)]
    book._places.clear()
    assert book.state(OWN).version == 23


def test_must_8_a_missing_version_is_damage_and_named(book: Book, other: Book) -> None:
    """The library takes gaps."""
    book.record(OWN, *(todo(f"t{n}") for n in range(5)))
    sql(book.url, "DELETE FROM stored_events WHERE originator_id=? AND originator_version=3", OWN)
    for read in (lambda: other.state(OWN), lambda: [*other.entries(OWN)]):
        with pytest.raises(DamagedEntry, match="session:h:own seq 3 cannot be read"):
            read()


def test_a_damaged_row_is_named_and_the_entries_before_it_are_read(book: Book, other: Book) -> None:
    book.record(OWN, todo("t1"), todo("t2"))
    change = "UPDATE stored_events SET state=? WHERE originator_id=? AND originator_version=2"
    sql(book.url, change, b"{", OWN)
    read = other.entries(OWN)
    assert next(read).seq == 1
    with pytest.raises(DamagedEntry, match="session:h:own seq 2"):
        next(read)


def test_only_so_many_states_are_kept(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopbook.book.reading.CACHED", 3)
    for n in range(10):
        book.record(f"session:h:{n}", todo("t"))
    assert len(book._places) == 3
    assert all(book.state(f"session:h:{n}").version == 1 for n in range(10))


def test_the_state_of_a_stream_that_is_not_there_is_empty(book: Book) -> None:
    assert book.state("loop:none") == EMPTY
    assert [*book.entries("loop:none")] == []
    assert book.newest("loop:none", "task") is None


def test_nothing_goes_on_from_a_row_that_shows_no_sum(book: Book, other: Book) -> None:
    """Its JSON was written anew by another tool: read as ever, but nothing could be chained to it."""
    book.append("loop:a", OPENED, todo("t1"), todo("t2"), after=0)
    newest = "originator_id=? AND originator_version=(SELECT max(originator_version) FROM stored_events e"
    newest += " WHERE e.originator_id=stored_events.originator_id)"

    def rewrite(stream: str) -> None:
        ((state,),) = sql(book.url, f"SELECT state FROM stored_events WHERE {newest}", stream)
        other_way = json.dumps(json.loads(cast("bytes", state)), indent=1).encode()
        sql(book.url, f"UPDATE stored_events SET state=? WHERE {newest}", other_way, stream)

    rewrite("loop:a")
    writes: list[tuple[str, Callable[[Book], object]]] = [
        ("loop:a seq 3", lambda writer: writer.record("loop:a", todo("t3"))),
        ("loop:a seq 3", lambda writer: writer.append("loop:a", todo("t3"), after=3)),
        ("loop:a seq 3", lambda writer: writer.fork("loop:a", 3, "loop:b")),
    ]
    before = everything(other, "loop:a")
    for where, write in writes:
        for writer in (book, other):
            with pytest.raises(DamagedEntry, match=f"{where} cannot be read .*its sum"):
                write(writer)
    assert everything(other, "loop:a") == before
    assert list(other.state("loop:a").todos) == ["t1", "t2"]
    book.fork("loop:a", 2, "loop:b")
    rewrite(CATALOGUE)
    with pytest.raises(DamagedEntry, match="catalogue seq 2"):
        book.fork("loop:a", 2, "loop:c")
    assert [*other.entries("loop:c")] == []
    assert book.record("loop:b", todo("t3"))[0].seq == 4
