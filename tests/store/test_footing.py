"""What a save stands on must be there as it was, in every store, however the save comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from eventsourcing.persistence import IntegrityError

from loopbook.errors import DamagedEntry, StoreUnavailable
from loopbook.sealing import sum_in
from loopbook.store import Recorder, Row, Stand, open_records, parse_url
from tests.store.raw import held
from tests.store.rows import chained, everything, fork, insert, plain, put, stand, stream_of, sum_of

#: The ways in which rows come into a store.
WAYS: dict[str, Callable[[Recorder, Sequence[Row]], object]] = {
    "insert": lambda store, rows: insert(store, *rows),
    "load": lambda store, rows: store.load(iter(rows)),
    "replace": lambda store, rows: store.replace([], rows),
}
Save = Callable[[Sequence[Row]], object]


@pytest.fixture
def store(store_url: str) -> Iterator[Recorder]:
    records = open_records(parse_url(store_url))
    yield records.rows
    records.close()


@pytest.fixture(params=WAYS)
def save(request: pytest.FixtureRequest, store: Recorder) -> Save:
    return lambda rows: WAYS[request.param](store, rows)


def refused(store: Recorder, save: Save, *rows: Row, match: str = "is not there as it was") -> None:
    """The rows are refused, and nothing happened."""
    before = everything(store)
    with pytest.raises(IntegrityError, match=match):
        save(rows)
    assert everything(store) == before


# --- a stream that goes on ---


def test_a_row_goes_on_from_the_very_row_it_was_chained_to(store: Recorder, save: Save) -> None:
    """Not from another one at its version: the stream was forgotten meanwhile and begun again."""
    old = chained("a", 1, "x", "y", "z")
    insert(store, *old[:2])
    store.delete(["a"])
    new = chained("a", 1, "X", "Y", "Z")
    insert(store, *new[:2])
    refused(store, save, old[2])
    refused(store, save, old[2], *chained("b", 1, "b"))
    save(new[2:])
    assert stream_of(store, "a") == new


def test_nothing_goes_on_from_a_row_that_is_not_there(store: Recorder, save: Save) -> None:
    insert(store, plain("a", 1), plain("a", 2), plain("c", 1))
    for rows in (
        [plain("a", 4)],
        [plain("a", 4), plain("a", 5)],
        [plain("none", 2)],
        [plain("c", 2), plain("a", 3), plain("none", 2), plain("new", 1)],
    ):
        refused(store, save, *rows)
    store.delete(["a"])
    store.replace([], [], ["c"])
    for name, version in (("a", 3), ("c", 2)):
        refused(store, save, plain(name, version))
    assert store.streams() == []


def test_rows_of_a_save_may_come_in_any_order(store: Recorder) -> None:
    insert(store, plain("a", 1))
    insert(store, plain("a", 3), plain("b", 2), plain("a", 2), plain("b", 1))
    assert [row[:2] for row in everything(store)] == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]


SUM = "5a" * 32
END = f',"sum":"{SUM}"}}'.encode()


@pytest.mark.parametrize(
    "state",
    [
        b'{"v":1' + END,
        END,
        END[1:],
        b"",
        b"x" * 66,
        b"x" * 74,
        b'{"v":1' + END + b"\n",
        b'{\n "v": 1,\n "sum": "' + SUM.encode() + b'"\n}',
        b'{"v":1' + END.replace(b"5a", b"5A"),
        b'{"v":1' + END.replace(b"5a5a", b"\xc3\xa9\xff\x005a", 1),
        b'{"v":1' + END.replace(b'"}', b"'}"),
    ],
)
def test_every_store_reads_the_sum_of_a_row_by_the_one_rule(store: Recorder, state: bytes) -> None:
    """Also of a row that another tool has written: it shows none, and so its stream can be forgotten."""
    put(store, [plain("a", 1, state)])
    assert sum_in(state) in {"", SUM}
    others = {"", SUM, state[-66:-2].decode("ascii", "replace")} - {sum_in(state)}
    for other in others:
        if "\0" not in other:
            with pytest.raises(IntegrityError):
                insert(store, *chained("a", 2, "x", prev=other))
            with pytest.raises(IntegrityError):
                store.snapshot_put(plain("a", 1), [Stand("a", 1, other)])
    store.snapshot_put(plain("a", 1), [Stand("a", 1, sum_in(state))])
    insert(store, *chained("a", 2, "x", prev=sum_in(state)))
    assert len(stream_of(store, "a")) == 2


# --- a fork ---


def test_a_fork_goes_on_from_the_very_row_of_its_parent(store: Recorder, save: Save) -> None:
    parent = chained("p", 1, "x", "y", "z")
    insert(store, *parent)
    first = fork("f", parent[1])
    rows = [first, *chained("f", 4, "on", prev=sum_of(first))]
    store.delete(["p"])
    refused(store, save, *rows)
    insert(store, *chained("p", 1, "x"))
    refused(store, save, *rows)
    insert(store, *chained("p", 2, "another", prev=sum_of(parent[0])))
    refused(store, save, *rows)
    store.delete(["p"])
    insert(store, *parent)
    save(rows)
    assert stream_of(store, "f") == rows


def test_a_fork_that_does_not_say_of_what_is_damage(store: Recorder, save: Save) -> None:
    parent = chained("p", 1, "x", "y", "z")
    insert(store, *parent)
    before = everything(store)
    for row in (plain("f", 3, b"{}", "forked"), fork("f", parent[0])._replace(originator_version=3)):
        with pytest.raises(DamagedEntry):
            save([row])
        assert everything(store) == before


# --- a stream that is begun ---


def test_a_stream_is_begun_once_whichever_version_it_begins_with(store: Recorder, save: Save) -> None:
    """A fork begins further on, where the primary key sees no conflict; nor does it see one before it."""
    parent = chained("p", 1, "x", "y", "z")
    insert(store, *parent)
    for begun, other in (
        (chained("a", 1, "x"), [fork("a", parent[1])]),
        ([fork("a", parent[1])], chained("a", 1, "x")),
        ([fork("a", parent[1])], [fork("a", parent[2])]),
        ([fork("a", parent[2])], [fork("a", parent[0])]),
        ([fork("a", parent[2])], chained("a", 1, "x", "y")),
    ):
        insert(store, *begun)
        refused(store, save, *other, match="has rows already|is not there as it was")
        store.delete(["a"])
        save(other)
        assert stream_of(store, "a") == other
        store.delete(["a"])


def test_a_long_stream_is_loaded_and_nothing_in_it_is_in_its_way(store: Recorder) -> None:
    rows = chained("a", 1, *map(str, range(2_000)))
    store.load(iter(rows))
    more = chained("a", 2_001, "on", prev=sum_of(rows[-1]))
    store.load(iter(more))
    assert stream_of(store, "a") == [*rows, *more]


# --- what upkeep writes ---


def test_what_is_added_stands_on_what_was_put_in_place_in_the_same_go(store: Recorder) -> None:
    old, new = chained("a", 1, "secret"), chained("a", 1, "gone")
    insert(store, *old)
    said_of_old = chained("a", 2, "scrubbed", prev=sum_of(old[0]))
    said_of_new = chained("a", 2, "scrubbed", prev=sum_of(new[0]))
    refused(store, lambda rows: store.replace(new, rows), *said_of_old)
    store.replace(new, said_of_new)
    assert everything(store) == [*new, *said_of_new]


def test_a_row_added_to_a_stream_that_goes_says_where_that_must_end(store: Recorder) -> None:
    rows = chained("a", 1, "x", "y")
    insert(store, *rows)
    for row in (
        chained("a", 2, "end", prev=sum_of(rows[0])),
        chained("a", 3, "end", prev=sum_of(rows[0])),
        chained("a", 4, "end", prev=sum_of(rows[1])),
    ):
        with pytest.raises(IntegrityError):
            store.replace([], row, ["a"])
        assert everything(store) == rows
    store.replace([], chained("a", 3, "end", prev=sum_of(rows[1])), ["a"])
    assert everything(store) == []


# --- snapshots ---


def test_a_snapshot_is_kept_where_all_that_it_stands_on_is_as_it_was(store: Recorder) -> None:
    parent = chained("p", 1, "x", "y")
    child = fork("f", parent[1])
    insert(store, *parent)
    insert(store, child)
    stands = [stand(child), stand(parent[1])]
    snapshot = plain("f", 3, b"state")
    for wrong in (
        [stands[0]._replace(sum="0" * 64), stands[1]],
        [stands[0], stands[1]._replace(sum="0" * 64)],
        [stands[0]._replace(version=4)],
        [Stand("none", 1, "")],
    ):
        with pytest.raises(IntegrityError, match="is not there as it was"):
            store.snapshot_put(snapshot, wrong)
        assert store.snapshot_newest("f") is None
    store.snapshot_put(snapshot, stands)
    assert store.snapshot_newest("f") == snapshot
    with pytest.raises(IntegrityError):
        store.snapshot_put(snapshot._replace(state=b"late"), [stands[0]._replace(sum="0" * 64)])
    assert store.snapshot_newest("f") == snapshot


# --- between the look and the commit ---


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[list[BaseException]]:
    """Something done in a thread of its own; what it raised."""
    wrong: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told to the test
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield wrong
    thread.join()


LATE: dict[str, Callable[[Recorder, list[Row]], object]] = {
    "insert": lambda store, old: insert(store, *chained("a", 2, "on", prev=sum_of(old[0]))),
    "load": lambda store, old: store.load(chained("a", 2, "on", prev=sum_of(old[0]))),
    "fork": lambda store, old: insert(store, fork("f", old[0])),
    "loaded fork": lambda store, old: store.load([fork("f", old[0])]),
    "snapshot": lambda store, old: store.snapshot_put(plain("a", 1, b"secret"), [stand(old[0])]),
}


@pytest.mark.parametrize("late", LATE)
def test_who_waited_for_a_row_to_be_replaced_stands_on_nothing(shared_url: str, late: str) -> None:
    """He came while somebody else had locked the rows and not yet committed."""
    records = open_records(parse_url(shared_url))
    store = records.rows
    old, new = chained("a", 1, "secret"), chained("a", 1, "gone")
    insert(store, *old)
    with held(shared_url) as sql:
        sql("UPDATE stored_events SET state=? WHERE originator_id='a'", new[0].state)
        sql("DELETE FROM stored_snapshots")
        with meanwhile(lambda: LATE[late](store, old)) as wrong:
            waiting = threading.Event()
            waiting.wait(0.3)
            sql("COMMIT")
    # A snapshot waits for nobody.
    assert [type(error) for error in wrong] == [StoreUnavailable if late == "snapshot" else IntegrityError]
    assert everything(store) == new
    records.close()


def test_rows_are_not_replaced_under_somebody_who_stands_on_them(shared_url: str) -> None:
    """A slow load: it has looked, or will look, at a row that must stay until it is committed."""
    records = open_records(parse_url(shared_url))
    store = records.rows
    old, new = chained("a", 1, "x"), chained("a", 1, "y")
    insert(store, *old)
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[Row]:
        yield fork("f", old[0])
        begun.set()
        go_on.wait(20)

    with meanwhile(lambda: store.load(slowly())) as wrong:
        begun.wait(20)
        with meanwhile(lambda: store.replace(new)):
            go_on.wait(0.3)
            assert stream_of(store, "a") == old
            go_on.set()
    assert wrong == []
    assert stream_of(store, "f") == [fork("f", old[0])]
    assert stream_of(store, "a") == new
    records.close()


def test_damage_can_still_be_made_for_tests(store: Recorder) -> None:
    put(store, [plain("a", 7), plain("a", 5)])
    assert [row.originator_version for row in everything(store)] == [5, 7]
    refused(store, lambda rows: insert(store, *rows), plain("b", 5))
