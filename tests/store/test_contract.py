"""What every store promises: one suite over memory, a SQLite file and a real PostgreSQL server."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

import pytest
from eventsourcing.persistence import IntegrityError
from hypothesis import given, settings
from hypothesis import strategies as st

from loopbook.errors import InvalidEvent, StoreUnavailable
from loopbook.store import Facts, Recorder, Records, Row, Size, open_records, parse_url
from tests.conftest import PROVE
from tests.postgres import Postgres
from tests.store.rows import everything, insert, plain, put, stream_of
from tests.store.worker import Process

#: Names that sort in one order by code point and in others by locale, case or UTF-16.
NAMES = [
    "",
    "a",
    "A",
    "aa",
    "a:b",
    "a b",
    "b",
    "B",
    "é",
    "\u00df",
    "\ue000",
    "\uffff",
    "\U0001f600",
    "%",
    "_",
]


@pytest.fixture
def records(store_url: str) -> Iterator[Records]:
    opened = open_records(parse_url(store_url))
    yield opened
    opened.close()


@pytest.fixture
def rows(records: Records) -> Recorder:
    return records.rows


# --- rows -------------------------------------------------------------------------------------


def test_rows_come_back_as_they_went_in(rows: Recorder) -> None:
    states = [b"", b"\0", bytes(range(256)), "é\u2028\U0001f600".encode(), b'{"a":"\\u0000"}', b"\xff\xfe"]
    kept = [plain("a", version, state) for version, state in enumerate(states, 1)]
    insert(rows, *kept)
    read = stream_of(rows, "a")
    assert read == kept
    assert {type(one.state) for one in read} == {bytes}


def test_a_large_row_is_kept_whole(rows: Recorder) -> None:
    large = os.urandom(4 * 2**20)
    insert(rows, plain("a", 1, large), plain("a", 2))
    assert stream_of(rows, "a")[0].state == large
    assert rows.sizes(["a"]) == {"a": Size(2, len(large) + 1)}


def test_any_name_that_is_text_names_a_stream_of_its_own(rows: Recorder) -> None:
    insert(rows, *(plain(name, 1, name.encode()) for name in NAMES))
    assert rows.taken([*NAMES, "c"]) == set(NAMES)
    for name in NAMES:
        assert stream_of(rows, name) == [plain(name, 1, name.encode())]


def test_a_name_with_nul_is_kept_or_refused_and_never_another_ones(records: Records) -> None:
    """PostgreSQL keeps no NUL in a text; no name of ours has one."""
    rows = records.rows
    insert(rows, plain("a", 1))
    assert rows.taken(["a\0b"]) == set()
    assert stream_of(rows, "a\0b") == []
    assert rows.sizes(["a\0b"]) == {}
    try:
        insert(rows, plain("a\0b", 1), plain("c", 1))
    except InvalidEvent:
        assert rows.streams() == ["a"]
    else:
        assert rows.streams() == ["a", "a\0b", "c"]


def test_a_save_is_whole_or_nothing_and_says_when_a_version_is_taken(rows: Recorder) -> None:
    insert(rows, plain("a", 1), plain("once:a:todo:t", 1))
    before = everything(rows)
    for refused in (
        [plain("a", 2), plain("once:a:todo:t", 1)],
        [plain("b", 1), plain("b", 1)],
        [plain("a", 1, b"x")],
    ):
        with pytest.raises(IntegrityError):
            insert(rows, *refused)
        assert everything(rows) == before
    insert(rows)
    assert everything(rows) == before
    insert(rows, plain("a", 2))
    assert [one.originator_version for one in stream_of(rows, "a")] == [1, 2]


def test_who_appends_while_a_stream_is_removed_leaves_nothing_behind(rows: Recorder) -> None:
    """Whichever comes first: the row goes with its stream, or is refused."""

    def write() -> None:
        with suppress(IntegrityError):
            for version in range(2, 10_000):
                insert(rows, plain("a", version))

    removals: list[Callable[[], None]] = [lambda: rows.delete(["a"]), lambda: rows.replace([], [], ["a"])]
    for remove in removals * 5:
        insert(rows, plain("a", 1))
        writer = threading.Thread(target=write)
        writer.start()
        while len(rows.select_events("a", limit=4)) < 4:
            pass
        remove()
        writer.join()
        assert everything(rows) == []


class Bounds(NamedTuple):
    """What is asked of a stream."""

    gt: int | None
    lte: int | None
    desc: bool
    limit: int | None


BOUNDS = st.builds(
    Bounds,
    st.none() | st.integers(0, 13),
    st.none() | st.integers(0, 13),
    st.booleans(),
    st.none() | st.integers(0, 5),
)


@settings(max_examples=100 if PROVE else 15)
@given(st.sets(st.integers(1, 12)), st.lists(BOUNDS, min_size=1, max_size=8))
def test_select_keeps_its_bounds(many: Recorder, versions: set[int], asked: list[Bounds]) -> None:
    """Whatever versions there are: a fork begins where its parent was left, and damage leaves gaps."""
    many.delete(["a"])
    put(many, (plain("a", version) for version in versions))
    for gt, lte, desc, limit in asked:
        read = cast("Sequence[Row]", many.select_events("a", gt=gt, lte=lte, desc=desc, limit=limit))
        within = [v for v in versions if (gt is None or v > gt) and (lte is None or v <= lte)]
        assert [one.originator_version for one in read] == sorted(within, reverse=desc)[:limit]


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """One store for all examples of a property."""
    url = "memory:" if request.param == "memory" else str(tmp_path_factory.mktemp("many") / "books.db")
    if request.param == "postgres":
        url = cast("Postgres", request.getfixturevalue("postgres")).schema()
    opened = open_records(parse_url(url))
    yield opened.rows
    opened.close()


def test_the_newest_row_of_a_topic(rows: Recorder) -> None:
    insert(
        rows,
        plain("a", 1, topic="x"),
        plain("a", 2, topic="y"),
        plain("a", 3, topic="x"),
        plain("b", 1, topic="z"),
    )
    found = [rows.newest("a", topic) for topic in "xyz"]
    assert [one and one.originator_version for one in found] == [3, 2, None]


def test_many_rows_of_many_streams_in_one_save(rows: Recorder) -> None:
    insert(rows, *(plain(f"s{n}", 1) for n in range(0, 3_000, 2)))
    assert rows.taken([f"s{n}" for n in range(3_000)]) == {f"s{n}" for n in range(0, 3_000, 2)}
    assert len(rows.sizes([f"s{n}" for n in range(3_000)])) == 1_500


# --- many streams at once ---------------------------------------------------------------------


def test_streams_are_listed_by_code_point_page_by_page(rows: Recorder) -> None:
    rows.load(plain(name, version) for name in NAMES[1:] for version in (1, 2))
    names = sorted(NAMES[1:])
    assert rows.streams() == names
    for limit in (1, 4, 100):
        found: list[str] = []
        while page := rows.streams(after=found[-1] if found else "", limit=limit):
            assert len(page) <= limit
            found += page
        assert found == names
    for prefix in (*NAMES, "zz", "a:", "\U0010ffff"):
        assert rows.streams(prefix) == [name for name in names if name.startswith(prefix)]
        assert rows.streams(prefix, after="a") == [n for n in names if n.startswith(prefix) and n > "a"]


def test_sizes_count_rows_and_bytes(rows: Recorder) -> None:
    insert(rows, plain("a", 1, b"12345"), plain("a", 2, b""), plain("b", 1, b"\0\0"))
    assert rows.sizes(["a", "b", "c"]) == {"a": Size(2, 5), "b": Size(1, 2)}
    assert rows.sizes([]) == {}


def test_what_is_deleted_is_gone_with_its_snapshots_and_nothing_else(rows: Recorder) -> None:
    insert(rows, plain("a", 1), plain("a", 2), plain("ab", 1), plain("b", 1))
    for name in ("a", "ab"):
        rows.snapshot_put(plain(name, 1), [])
    rows.delete(["a", "b", "not there", "a\0b"])
    rows.delete([])
    assert everything(rows) == [plain("ab", 1)] * 2
    insert(rows, plain("a", 1, b"anew"))
    assert stream_of(rows, "a") == [plain("a", 1, b"anew")]
    rows.vacuum()
    assert rows.streams() == ["a", "ab"]


def test_rows_are_replaced_and_added_at_once_or_not_at_all(rows: Recorder) -> None:
    insert(rows, plain("a", 1), plain("a", 2), plain("b", 1), plain("c", 1))
    for name in "ab":
        rows.snapshot_put(plain(name, 1), [])
    before = everything(rows)
    for replaced, added, gone in (
        ([plain("a", 1, b"x"), plain("a", 7)], [], []),
        ([plain("a", 1, b"x")], [plain("a", 2)], []),
        ([plain("a", 1, b"x")], [plain("b", 1)], ["c"]),
    ):
        with pytest.raises(IntegrityError):
            rows.replace(replaced, added, gone)
        assert everything(rows) == before
    rows.replace([plain("a", 1, b"new", "other")], [plain("a", 3)], ["c"])
    assert stream_of(rows, "a") == [plain("a", 1, b"new", "other"), plain("a", 2), plain("a", 3)]
    assert rows.snapshot_newest("a") is None
    assert rows.snapshot_newest("b") == plain("b", 1)
    assert stream_of(rows, "c") == []


def test_a_row_that_makes_itself_is_loaded_and_all_or_none(rows: Recorder) -> None:
    def some(n: int) -> Iterator[Row]:
        for version in range(1, n + 1):
            yield plain("a", version, b"%d" % version)
        if n == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rows.load(some(3))
    assert everything(rows) == []
    rows.load(some(2_000))
    assert rows.sizes(["a"]) == {"a": Size(2_000, sum(len(str(n)) for n in range(1, 2_001)))}
    with pytest.raises(IntegrityError):
        rows.load(iter([plain("b", 1), plain("a", 1)]))
    assert rows.streams() == ["a"]


def test_a_scan_is_of_one_moment_and_in_order(rows: Recorder) -> None:
    insert(rows, *(plain(name, version) for name in ("b", "a", "é") for version in (1, 2)))
    rows.snapshot_put(plain("b", 2), [])
    scan = rows.scan()
    first = next(scan)
    insert(rows, plain("a", 3), plain("c", 1))
    rest = list(scan)
    assert (first.snapshot, first.row) == (True, plain("b", 2))
    assert [(one.row.originator_id, one.row.originator_version) for one in rest] == [
        (name, version) for name in ("a", "b", "é") for version in (1, 2)
    ]
    assert [one.row.originator_version for one in rows.scan("a")] == [1, 2, 3]


# --- snapshots --------------------------------------------------------------------------------


def test_the_newest_snapshot_up_to_a_version(rows: Recorder) -> None:
    insert(rows, plain("a", 1))
    assert rows.snapshot_newest("a") is None
    for version in (10, 2, 5):
        rows.snapshot_put(plain("a", version, b"%d\0\xff" % version), [])
    rows.snapshot_put(plain("b", 7), [])
    found = {lte: rows.snapshot_newest("a", lte) for lte in (None, 1, 2, 4, 9, 10, 99)}
    assert {lte: one and one.originator_version for lte, one in found.items()} == {
        None: 10, 1: None, 2: 2, 4: 2, 9: 5, 10: 10, 99: 10,
    }  # fmt: skip
    assert found[9] == plain("a", 5, b"5\0\xff")
    rows.snapshot_put(plain("a", 10, b"in place", "other"), [])
    assert rows.snapshot_newest("a") == plain("a", 10, b"in place", "other")
    rows.snapshot_put(plain("a", 3), [], [10, 5, 7, 99])
    assert [rows.snapshot_newest("a", lte) for lte in (None, 2)] == [plain("a", 3), found[2]]
    assert rows.snapshot_newest("b") == plain("b", 7)
    assert stream_of(rows, "a") == [plain("a", 1)]


# --- closing ----------------------------------------------------------------------------------


def test_a_store_that_is_closed_is_neither_read_nor_written(records: Records) -> None:
    rows = records.rows
    insert(rows, plain("a", 1))
    records.close()
    records.close()
    uses: list[Callable[[], object]] = [
        lambda: insert(rows, plain("a", 2)),
        lambda: rows.load([plain("a", 2)]),
        lambda: rows.replace([plain("a", 1, b"x")]),
        lambda: rows.delete(["a"]),
        lambda: rows.snapshot_put(plain("a", 1), []),
        lambda: rows.snapshot_newest("a"),
        lambda: rows.select_events("a"),
        lambda: rows.newest("a", "task"),
        lambda: rows.taken(["a"]),
        rows.streams,
        lambda: rows.sizes(["a"]),
        lambda: list(rows.scan()),
        rows.vacuum,
        rows.waiter,
        rows.facts,
    ]
    for use in uses:
        with pytest.raises(StoreUnavailable, match="is closed; nothing was read or written; open"):
            use()


# --- waiting ----------------------------------------------------------------------------------


def test_a_waiter_hears_every_commit_since_it_was_made_once(rows: Recorder) -> None:
    insert(rows, plain("a", 1))
    waiter = rows.waiter()
    assert not waiter.wait(0)
    assert not waiter.wait(0.05)
    changes: list[Callable[[], object]] = [
        lambda: insert(rows, plain("a", 2), plain("a", 3)),
        lambda: rows.load([plain("a", 4)]),
        lambda: rows.replace([plain("a", 1, b"x")]),
        lambda: rows.delete(["a"]),
        lambda: rows.load([plain("b", n) for n in range(1, 30)]),
    ]
    for change in changes:
        change()
        assert waiter.wait(20)
        assert not waiter.wait(0.05)
    with pytest.raises(IntegrityError):
        insert(rows, plain("b", 1))
    waiter.close()
    waiter.close()


def test_a_waiter_wakes_at_once_and_else_after_its_time(rows: Recorder) -> None:
    waiter = rows.waiter()
    started = time.monotonic()
    assert not waiter.wait(0.2)
    assert 0.15 < time.monotonic() - started < 20
    threading.Timer(0.1, insert, (rows, plain("a", 1))).start()
    started = time.monotonic()
    assert waiter.wait(20)
    assert time.monotonic() - started < 20
    waiter.close()


def test_no_wake_up_is_lost(rows: Recorder) -> None:
    """Whoever reads after each True has read everything once it is quiet, whatever the timing."""
    waiter, seen = rows.waiter(), 0

    def write() -> None:
        for n in range(1, 101):
            insert(rows, plain("a", n))

    writer = threading.Thread(target=write)
    writer.start()
    until = time.monotonic() + 60
    while seen < 100 and time.monotonic() < until:
        assert waiter.wait(20), f"asleep at {seen}"
        seen = len(rows.select_events("a"))
    writer.join()
    waiter.close()
    assert seen == 100


def test_a_commit_of_another_process_is_heard(shared_url: str) -> None:
    records = open_records(parse_url(shared_url))
    waiter = records.rows.waiter()
    process = Process()
    process.ask("open", shared_url)
    assert not waiter.wait(0.05)
    process.send("start", "a")
    assert waiter.wait(20)
    assert process.read() == "a"
    process.close()
    waiter.close()
    records.close()


# --- threads, facts ---------------------------------------------------------------------------


def test_threads_share_a_store(rows: Recorder) -> None:
    """Some write, some read, all at once; more of them than a store keeps connections."""
    wrong: list[BaseException] = []

    def run(work: Callable[[int], object]) -> threading.Thread:
        def each() -> None:
            try:
                for n in range(1, 26):
                    work(n)
            except BaseException as error:  # noqa: BLE001 - told below, in the test's own thread
                wrong.append(error)

        return threading.Thread(target=each)

    threads = [run(lambda n, who=who: insert(rows, plain(f"s{who}", n))) for who in range(6)]  # type: ignore[misc]  # mypy cannot infer the default
    threads += [
        run(lambda _: (rows.streams("s"), rows.sizes(["s1"]), stream_of(rows, "s2"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert rows.sizes([f"s{who}" for who in range(6)]) == {f"s{who}": Size(25, 25) for who in range(6)}


def test_one_of_two_threads_has_a_version(rows: Recorder) -> None:
    won: list[tuple[int, int]] = []

    def run(who: int) -> None:
        for n in range(1, 41):
            try:
                insert(rows, plain("a", n, b"%d" % who))
            except IntegrityError:
                continue
            won.append((n, who))

    threads = [threading.Thread(target=run, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [(one.originator_version, int(one.state)) for one in stream_of(rows, "a")]
    assert len(won) == 40


def test_a_store_says_of_itself(rows: Recorder) -> None:
    assert rows.facts()[:2] == (2, 0)
    insert(rows, plain("a", 1), plain("a", 2), plain("b", 1, b"x" * 50_000))
    facts = rows.facts()
    assert facts == Facts(2, 2, facts.bytes, "")
    assert facts.bytes > 0
