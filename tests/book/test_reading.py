"""Catching up: only what is new is read, and what is not right is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import pytest

from loopbook.book import CATALOGUE, Book
from loopbook.errors import ChangedMeanwhile, DamagedEntry
from loopbook.projections import EMPTY
from loopbook.store import Row
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


# --- what changes while it is read ---


def long_one(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopbook.book.folding.CHUNK", 3)
    book.append("loop:a", OPENED, *(todo(f"t{n}") for n in range(8)), after=0)


def begun_anew(book: Book, n: int) -> None:
    gone = [name for name in book.records.rows.streams() if name.startswith(("loop:a", "once:loop:a"))]
    book.records.rows.delete(gone)
    if n:
        book.append("loop:a", OPENED, *(todo(f"other{k}") for k in range(n - 1)), after=0)


@pytest.mark.parametrize("length", [0, 2, 3, 6, 9, 20])
def test_entries_are_never_of_two_books_nor_silently_cut_short(
    book: Book, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """Forgotten, or forgotten and begun anew, while somebody reads it in pieces."""
    long_one(book, monkeypatch)
    for at in range(1, 9):
        read = book.entries("loop:a")
        first = [next(read) for _ in range(at)]
        before = {entry.sum for entry in [*first, *book.entries("loop:a")]}
        begun_anew(book, length)
        got = list(first)
        with pytest.raises(ChangedMeanwhile, match="loop:a changed while it was read: seq"):
            got.extend(read)
        assert {entry.sum for entry in got} <= before
        begun_anew(book, 0)
        book.append("loop:a", OPENED, *(todo(f"t{n}") for n in range(8)), after=0)


def test_entries_of_a_fork_are_told_where_its_parent_or_itself_goes(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_one(book, monkeypatch)
    book.fork("loop:a", 7, "loop:b")
    book.record("loop:b", todo("b1"), todo("b2"))
    rows = book.records.rows
    kept = {name: cast("list[Row]", list(rows.select_events(name))) for name in ("loop:a", "loop:b")}
    for gone in ("loop:a", "loop:b"):
        read = book.entries("loop:b")
        assert next(read).seq == 1
        rows.delete([gone])
        with pytest.raises(ChangedMeanwhile):
            list(read)
        rows.load(kept[gone])
    assert [entry.seq for entry in book.entries("loop:b")] == [*range(1, 11)]


def test_a_chain_that_is_torn_in_the_store_is_read_over(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """To say that a book is damaged is the work of fsck."""
    long_one(book, monkeypatch)
    row = cast("Row", book.records.rows.select_events("loop:a", gt=3, limit=1)[0])
    book.records.rows.replace([row._replace(state=row.state.replace(b'"prev":"', b'"prev":"0', 1))])
    assert [entry.seq for entry in book.entries("loop:a")] == [*range(1, 10)]


def test_only_so_many_entries_as_are_wanted_are_read(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    long_one(book, monkeypatch)
    book.fork("loop:a", 7, "loop:b")
    asked: list[int | None] = []
    select = book.records.recorder.select_events

    def spy(stream: str, **bounds: object) -> object:
        asked.append(cast("int | None", bounds.get("limit")))
        return select(stream, **bounds)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(book.records.recorder, "select_events", spy)
    for stream, after, limit, seqs in (
        ("loop:a", 4, 1, [5]), ("loop:a", 4, 4, [5, 6, 7, 8]), ("loop:a", 9, 2, []), ("loop:a", 0, 0, []),
        ("loop:b", 5, 2, [6, 7]), ("loop:b", 6, 2, [7, 8]), ("loop:b", 7, 2, [8]),
    ):  # fmt: skip
        asked.clear()
        assert [entry.seq for entry in book.entries(stream, after, limit)] == seqs
        assert all(one is not None and one <= max(limit, 1) for one in asked)


def test_the_newest_of_a_type_that_is_not_there_is_asked_for_once(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_one(book, monkeypatch)
    asked: list[str] = []
    newest = book.records.recorder.newest  # type: ignore[attr-defined]  # ours has it

    def spy(stream: str, topic: str) -> object:
        asked.append(stream)
        return newest(stream, topic)

    monkeypatch.setattr(book.records.recorder, "newest", spy)
    assert book.newest("loop:a", "judged") is None
    assert asked == ["loop:a"]
