"""Snapshots: a saving that nothing depends on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given

from loopbook.book import Book, folding
from loopbook.book.snapshots import TOPIC, Snapshot, pack, unpack
from loopbook.encoding import encode
from loopbook.entry import Draft, Entry
from loopbook.errors import StoreUnavailable
from loopbook.events import Task
from loopbook.projections import FOLD_VERSION, fold
from loopbook.store import Row, Stand
from tests.book.drafts import OPENED, A, clock, todo
from tests.projections.books import opened
from tests.projections.strategies import odd_histories
from tests.store.raw import held

B = "loop:b"


@pytest.fixture(autouse=True)
def every_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "EVERY", 10)


def snapshot(book: Book, stream: str = A) -> Row | None:
    return book._records.rows.snapshot_newest(stream)


def kept_in(row: Row) -> Snapshot:
    snapshot = unpack(row)
    assert snapshot is not None
    return snapshot


def tasks(n: int) -> list[Draft]:
    return [Draft(Task(text=f"{k}")) for k in range(n)]


def filled(book: Book, n: int, stream: str = A) -> None:
    book.append(stream, OPENED, *tasks(n - 1), after=0)


def anew(book: Book) -> None:
    """As a process that has just opened the store."""
    book._places.clear()


@pytest.fixture
def read(book: Book, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many rows of entries were decoded since it was asked last."""
    count = [0]
    decode = type(book._records.codec).entry

    def counted(self: object, row: Row) -> object:
        count[0] += 1
        return decode(self, row)  # type: ignore[arg-type]  # passed on as it came

    def since() -> int:
        decoded, count[0] = count[0], 0
        return decoded

    monkeypatch.setattr(type(book._records.codec), "entry", counted)
    return since


@given(odd_histories())
def test_what_is_kept_of_a_state_is_the_state(history: list[Entry]) -> None:
    state = fold(history)
    if state.version:
        stands = (Stand(A, state.version, "5a"), Stand(B, 1, ""))
        kept = unpack(pack(stands, state))
        assert kept is not None
        assert (kept.state, kept.stands) == (state, stands)


def test_a_snapshot_is_taken_by_whoever_has_folded_enough(book: Book) -> None:
    filled(book, 9)
    anew(book)
    assert book.state(A).version == 9
    assert snapshot(book) is None
    book.record(A, *tasks(3))
    assert snapshot(book) is None, "an append does not wait for one"
    book.state(A)
    assert cast("Row", snapshot(book))[:3] == (A, 12, f"book_state.{FOLD_VERSION}")
    book.record(A, *tasks(9))
    book.state(A)
    assert cast("Row", snapshot(book))[1] == 12
    book.record(A, *tasks(1))
    book.state(A)
    assert cast("Row", snapshot(book))[1] == 22
    assert cast("Row", book._records.rows.snapshot_newest(A, 21))[1] == 12, "the older ones stay"


def test_a_fork_of_what_came_before_begins_with_the_snapshot_of_then(
    book: Book, read: Callable[[], int]
) -> None:
    filled(book, 12)
    anew(book)
    book.state(A)
    book.record(A, *tasks(30))
    book.state(A)
    read()
    book.fork(A, 20, B)
    assert read() == 20 - 12
    book.fork(A, 41, "loop:c")
    assert cast("Row", snapshot(book, "loop:c"))[1] == 42, "a long fork has one at once"
    anew(book)
    read()
    for stream in (B, "loop:c"):
        assert book.state(stream) == fold(book.entries(stream))


def test_a_book_is_opened_from_its_snapshot_and_only_the_rest_is_read(
    book: Book, read: Callable[[], int]
) -> None:
    filled(book, 30)
    book.record(A, todo("t"))
    anew(book)
    whole = book.state(A)
    assert read() >= 31
    book.record(A, *tasks(4))
    anew(book)
    read()
    assert book.state(A) == fold(book.entries(A))
    assert read() == 4 + 35
    assert list(whole.todos) == ["t"]


def test_a_fork_is_opened_from_its_parents_snapshot_and_then_from_its_own(
    book: Book, read: Callable[[], int]
) -> None:
    filled(book, 30)
    anew(book)
    book.state(A)
    book.record(A, *tasks(5))
    book.fork(A, 33, B)
    anew(book)
    read()
    assert book.state(B).version == 34
    assert read() == 4
    book.record(B, *tasks(12), todo("t"))
    anew(book)
    book.state(B)
    assert cast("Row", snapshot(book, B))[1] == 47
    anew(book)
    read()
    assert list(book.state(B).todos) == ["t"]
    assert read() == 0
    assert book.state(B) == fold(book.entries(B))
    assert [stand.version for stand in book.place(B).forebears] == [33]
    anew(book)
    book.fork(B, 40, "loop:c")  # before the snapshot of b: from that of a
    assert book.state("loop:c") == fold(book.entries("loop:c"))


# --- none is trusted that does not stand on what is there ---


def begun_again(book: Book, stream: str, text: str) -> None:
    """The stream forgotten and written anew, as long as before."""
    version = book.head(stream)[0]
    snapshots = snapshot(book, stream)
    book._records.rows.delete([stream])
    book._records.rows.delete([f"once:{stream}:todo:t"])
    book.append(stream, OPENED, todo("t"), *[Draft(Task(text=text))] * (version - 2), after=0)
    if snapshots:
        book._records.rows.snapshot_put(snapshots, ())  # as if it had come back from a copy


def test_a_snapshot_of_a_stream_that_was_begun_again_is_foreign(book: Book) -> None:
    filled(book, 25)
    book.state(A)
    assert snapshot(book)
    begun_again(book, A, "other")
    anew(book)
    assert book.state(A) == fold(book.entries(A))
    assert list(book.state(A).todos) == ["t"]


def test_a_snapshot_of_a_fork_whose_parent_was_begun_again_is_foreign(book: Book) -> None:
    filled(book, 5)
    book.fork(A, 4, B)
    book.record(B, *tasks(20))
    book.state(B)
    assert snapshot(book, B)
    begun_again(book, A, "other")
    for _ in range(2):
        assert list(book.state(B).todos) == ["t"]
        assert book.state(B) == fold(book.entries(B))
        anew(book)


def test_a_scrubbed_entry_takes_the_snapshot_and_every_cached_state_with_it(book: Book, other: Book) -> None:
    filled(book, 25)
    assert other.state(A).notes.tasks[-1] == "23"
    kept = snapshot(other)
    entries = [*book.entries(A)]
    last = entries[-1]._replace(event=Task(text="[scrubbed 2 chars]"))
    rows = [Row(A, last.seq, "task", encode(last))]
    book._records.rows.replace(rows)
    assert snapshot(book) is None
    book._records.rows.snapshot_put(cast("Row", kept), ())
    for reader in (book, other):
        for _ in range(2):
            assert reader.state(A).notes.tasks[-1] == "[scrubbed 2 chars]"
            assert reader.state(A) == fold(reader.entries(A))
            anew(reader)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: row._replace(topic="book_state.1"),
        lambda row: row._replace(topic="task"),
        lambda row: row._replace(state=b""),
        lambda row: row._replace(state=row.state.replace(b"fix", b"fit")),
        lambda row: row._replace(state=row.state[:-1]),
        lambda row: pack((Stand(A, 25, "0" * 64),), kept_in(row).state),
        lambda row: pack((Stand(B, 25, "0" * 64),), kept_in(row).state)._replace(originator_id=A),
        lambda row: pack((*kept_in(row).stands, Stand(B, 3, "0" * 64)), kept_in(row).state),
        lambda row: pack(kept_in(row).stands, kept_in(row).state._replace(version=24)),
    ],
)
def test_a_snapshot_that_is_stale_edited_or_foreign_is_folded_over_and_replaced(
    book: Book, spoil: Callable[[Row], Row]
) -> None:
    filled(book, 25)
    whole = book.state(A)
    good = cast("Row", snapshot(book))
    book._records.rows.snapshot_put(spoil(good), ())
    anew(book)
    assert book.state(A) == whole
    assert cast("Row", snapshot(book))[:3] == (A, 25, TOPIC)
    assert unpack(cast("Row", snapshot(book))) == unpack(good)


def test_a_snapshot_of_another_fold_is_not_used_though_it_is_whole(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(book, 25)
    whole = book.state(A)
    with monkeypatch.context() as newer:
        stands = kept_in(cast("Row", snapshot(book))).stands
        newer.setattr("loopbook.book.snapshots.TOPIC", "book_state.999999")
        other = pack(stands, whole._replace(units_added=7))
    book._records.rows.snapshot_put(other, ())
    anew(book)
    assert book.state(A) == whole


def test_a_snapshot_of_no_use_does_not_hide_those_that_are_taken_after_it(book: Book) -> None:
    filled(book, 25)
    book.state(A)
    book._records.rows.snapshot_put(Row(A, 99, TOPIC, b"{}"), ())
    book.record(A, *tasks(12))
    book.state(A)
    assert cast("Row", snapshot(book))[1] == 37


def versions(book: Book, stream: str = A) -> list[int]:
    kept = [stored.row for stored in book._records.rows.scan(stream) if stored.snapshot]
    return [row.originator_version for row in kept]


def test_who_catches_up_takes_no_good_snapshot_away(book: Book, other: Book) -> None:
    """Somebody else had taken one since this reader's last."""
    filled(book, 10)
    anew(book)
    assert other.state(A).version == 10
    book.record(A, *tasks(10))
    anew(book)
    book.state(A)
    assert versions(book) == [10, 20]
    book.record(A, *tasks(2))
    assert other.state(A).version == 22
    assert versions(book) == [10, 20, 22]


def test_only_what_is_of_no_use_is_removed(book: Book) -> None:
    filled(book, 12)
    anew(book)
    book.state(A)
    good = kept_in(cast("Row", snapshot(book)))
    foreign = pack((Stand(A, 15, "0" * 64),), good.state._replace(version=15))
    for row in (foreign, Row(A, 99, TOPIC, b"{}"), Row(A, 70, "book_state.1", b"{}")):
        book._records.rows.snapshot_put(row, ())
    book.record(A, *tasks(13))
    book.state(A)
    assert versions(book) == [12, 25]


def test_reading_does_not_wait_for_a_writer(book: Book, other: Book) -> None:
    """A snapshot is due, and another process is amid a long save."""
    filled(book, 25)
    began = time.monotonic()
    with held(other.url) as transaction:
        assert other.state(A).version == 25
        transaction("ROLLBACK")
    assert time.monotonic() - began < 3, "the whole timeout is five seconds"
    assert versions(book) == []
    filled(book, 25, B)
    assert other.state(B).version == 25
    assert versions(book, B) == [25], "and it waits again for what it must"


def test_an_edited_snapshot_is_seen(book: Book) -> None:
    filled(book, 25)
    book.state(A)
    row = cast("Row", snapshot(book))
    for at in range(len(row.state)):
        edited = bytearray(row.state)
        edited[at] ^= 1
        assert unpack(row._replace(state=bytes(edited))) is None


def test_a_snapshot_that_cannot_be_kept_hinders_nobody(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(book, 25)
    whole = fold(book.entries(A))
    tries = []

    def full(_recorder: object, row: Row, _stands: object, _useless: object) -> None:
        tries.append(row)
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(type(book._records.recorder), "snapshot_put", full)
    for _ in range(3):
        assert book.state(A) == whole
    assert len(tries) == 1, "it is not tried again at every look"


def test_a_state_that_json_cannot_hold_has_no_snapshot(book: Book) -> None:
    filled(book, 12)
    place = book.place(A)
    odd = place._replace(state=place.state._replace(notes=place.state.notes._replace(tasks=("\ud800",))))
    assert folding.keep_snapshot(book._records, A, odd).kept == 12
    anew(book)
    assert book.state(A) == place.state


def test_the_bound_is_a_thousand() -> None:
    from loopbook.book import snapshots  # noqa: PLC0415 - not the one that these tests set

    assert snapshots.EVERY == 1_000


def test_the_kind_of_a_loop_survives_a_snapshot() -> None:
    with Book("memory:", clock=clock) as book:
        book.append(A, Draft(opened("fix")), *tasks(20), after=0)
        book.state(A)
        anew(book)
        assert book.state(A).life.definition == fold(book.entries(A)).life.definition != ""
