"""fsck is silent about what was written, and names whatever else stands in a store."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from loopbook.book import CATALOGUE, Book
from loopbook.book.snapshots import pack
from loopbook.encoding import encode
from loopbook.entry import Draft, Entry
from loopbook.events import Catalogued, Task
from loopbook.projections import EMPTY
from loopbook.sealing import holds, sum_in
from loopbook.store import Row, Stand, Stored
from loopbook.upkeep.fsck import Finding, Head, Report, fsck
from loopbook.upkeep.importing import import_lines
from loopbook.upkeep.scrub import Asked, scrub
from loopbook.upkeep.transfer import everything, write
from tests.book.drafts import NOON, OPENED, clock, told_nothing
from tests.conftest import PROVE
from tests.store.raw import sql
from tests.strategies_events import histories
from tests.upkeep.world import EVENTS, SNAPSHOTS, Cannot, Hands, fill, hands, opened, raw

EXAMPLES = settings(
    max_examples=1_000 if PROVE else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class World(NamedTuple):
    """A sound store, and hands that can change it."""

    book: Book
    hands: Hands
    rows: list[Row]
    snapshots: list[Row]


@pytest.fixture
def world(shared_url: str) -> Iterator[World]:
    with ExitStack() as stack:
        books = stack.enter_context(opened(shared_url))
        fill(books)
        by_hand = stack.enter_context(hands(shared_url))
        yield World(books.book, by_hand, by_hand.rows(EVENTS), by_hand.rows(SNAPSHOTS))


def found(world: World, *heads: Head) -> tuple[Finding, ...]:
    return fsck(world.book, heads).findings


def test_a_store_with_something_of_everything_is_sound(world: World) -> None:
    report = fsck(world.book)
    assert report == Report(len({row.originator_id for row in world.rows}), len(world.rows), ())
    assert {row.originator_id.partition(":")[0] for row in world.rows} == {
        "loop", "session", "guard", "catalogue", "once",
    }  # fmt: skip
    assert len(world.snapshots) == 2


@settings(max_examples=200 if PROVE else 20)
@given(histories())
def test_whatever_a_book_takes_is_sound(history: list[Draft]) -> None:
    with Book("memory:", clock=clock) as book:
        refs = [draft._replace(host_ref=f"r{n}") if n % 2 else draft for n, draft in enumerate(history)]
        book.record("loop:a", OPENED, *refs, tell=told_nothing)
        assert fsck(book).findings == ()


# --- one byte --------------------------------------------------------------------------------


def flipped(row: Row, column: int, place: int, bit: int) -> Row:
    """A row with one bit of one column turned."""
    if column == 1:
        number = row.originator_version ^ (1 << (place * 8 + bit) % 63)
        return row._replace(originator_version=number)
    old = (raw(row.originator_id), b"", raw(row.topic), row.state)[column]
    at = place % len(old)
    new = old[:at] + bytes([old[at] ^ (1 << bit)]) + old[at + 1 :]
    if column == 3:
        return row._replace(state=new)
    text = new.decode(errors="surrogateescape")
    return row._replace(originator_id=text) if column == 0 else row._replace(topic=text)


@contextmanager
def changed(world: World, table: str, row: Row) -> Iterator[None]:
    """With one more row, for a while. Raises ``Cannot`` where the database refuses it."""
    world.hands.put(table, row)
    try:
        yield
    finally:
        world.hands.remove(table, row)


def test_any_flipped_bit_of_any_column_of_any_row_is_named(world: World) -> None:
    @EXAMPLES
    @given(st.data())
    def holds_for(data: st.DataObject) -> None:
        table = data.draw(st.sampled_from([EVENTS, EVENTS, EVENTS, SNAPSHOTS]))
        row = data.draw(st.sampled_from(world.rows if table == EVENTS else world.snapshots))
        new = flipped(
            row, data.draw(st.integers(0, 3)), data.draw(st.integers(0, 5_000)), data.draw(st.integers(0, 7))
        )
        world.hands.remove(table, row)
        try:
            with changed(world, table, new):
                names = {(finding.stream, finding.seq) for finding in found(world)}
        except Cannot:
            assume(False)
        finally:
            world.hands.put(table, row)
        assert names & {row[:2], new[:2]}, (row, new)

    holds_for()
    assert found(world) == ()


def test_values_of_another_type_are_named(world: World) -> None:
    """SQLite keeps a text where a BLOB was declared: the same bytes, and yet not the same."""
    if not hasattr(world.hands, "connection") or "sqlite" not in world.book.url:
        pytest.skip("PostgreSQL keeps no value of another type")
    row = next(row for row in world.rows if row[:2] == ("loop:a", 2))
    world.hands.remove(EVENTS, row)
    world.hands.put(EVENTS, row._replace(state=row.state.decode()))  # type: ignore[arg-type]  # the point of it
    assert ("loop:a", 2) in {(finding.stream, finding.seq) for finding in found(world)}


# --- rows removed, moved, added -----------------------------------------------------------------


def newest(world: World, row: Row) -> bool:
    return row.originator_version == max(
        other.originator_version for other in world.rows if other.originator_id == row.originator_id
    )


def derived(row: Row) -> bool:
    return row.originator_id == CATALOGUE or row.originator_id.startswith("once:")


def test_any_removed_row_is_named_and_a_streams_newest_by_its_head(world: World) -> None:
    for row in world.rows:
        world.hands.remove(EVENTS, row)
        findings = found(world)
        if newest(world, row) and not derived(row):
            findings = found(world, Head(sum_in(row.state), row.originator_id))
        world.hands.put(EVENTS, row)
        told = " ".join(f"{finding.stream} {finding.what}" for finding in findings)
        assert row.originator_id in told, row
    assert found(world) == ()


def exchanged(one: Row, other: Row, how: str) -> tuple[Row, Row]:
    """Two rows that stand in each other's place, or have each other's state."""
    if how == "state":
        return other._replace(state=one.state), one._replace(state=other.state)
    return (
        Row(other.originator_id, other.originator_version, one.topic, one.state),
        Row(one.originator_id, one.originator_version, other.topic, other.state),
    )


def test_rows_that_changed_places_are_named(world: World) -> None:
    @EXAMPLES
    @given(
        st.sampled_from(world.rows),
        st.sampled_from(world.rows),
        st.sampled_from(["state", "place"]),
    )
    def holds_for(one: Row, other: Row, how: str) -> None:
        assume(one != other)
        for row in (one, other):
            world.hands.remove(EVENTS, row)
        pair = exchanged(one, other, how)
        try:
            for row in pair:
                world.hands.put(EVENTS, row)
            names = {(finding.stream, finding.seq) for finding in found(world)}
        finally:
            for row in pair:
                world.hands.remove(EVENTS, row)
            for row in (one, other):
                world.hands.put(EVENTS, row)
        assert {one[:2], other[:2]} <= names

    holds_for()


def forged(stream: str, version: int, prev: str, text: str = "x") -> Row:
    """A row that vouches for itself."""
    entry = Entry(stream, version, Task(text=text), NOON, "s", prev=prev)
    row = Row(stream, version, "task", encode(entry))
    assert holds(*row)
    return row


def test_a_row_written_anew_with_a_sum_that_fits_it_is_named_by_the_next(world: World) -> None:
    """Also where the next one is another stream's: the first entry of a fork."""
    for version, witness in ((2, ("loop:a", 3)), (5, ("loop:a-2", 6))):
        row = next(row for row in world.rows if row[:2] == ("loop:a", version))
        prev = next(one for one in world.rows if one[:2] == ("loop:a", version - 1))
        world.hands.remove(EVENTS, row)
        new = forged("loop:a", version, sum_in(prev.state))
        world.hands.put(EVENTS, new)
        assert witness in {(finding.stream, finding.seq) for finding in found(world)}
        world.hands.remove(EVENTS, new)
        world.hands.put(EVENTS, row)


def test_a_whole_stream_written_anew_shows_by_a_head_noted_elsewhere(world: World) -> None:
    rows = [row for row in world.rows if row.originator_id == "guard:p"]
    head = sum_in(rows[-1].state)
    for row in rows:
        world.hands.remove(EVENTS, row)
    first = forged("guard:p", 1, "")
    for row in (first, forged("guard:p", 2, sum_in(first.state), "y")):
        world.hands.put(EVENTS, row)
    assert found(world) == ()
    for where in ("guard:p", None):
        (finding,) = found(world, Head(head, where))
        assert (finding.stream, head in finding.what) == (where or "store", True)


def test_a_head_holds_as_long_as_its_entry_is_there(world: World) -> None:
    head = sum_in(world.rows[-1].state)
    stream = world.rows[-1].originator_id
    world.book.record(stream, Draft(Task(text="later")))
    assert found(world, Head(head), Head(head, stream)) == ()
    (finding,) = found(world, Head(head, "loop:done"))
    assert finding.stream == "loop:done"


def test_a_reservation_without_an_entry_and_an_entry_without_one_are_told_apart(world: World) -> None:
    row = next(row for row in world.rows if row.originator_id == "once:loop:a:todo:t1")
    world.hands.remove(EVENTS, row)
    (finding,) = found(world)
    assert (finding.stream, finding.seq) == ("loop:a", 3)
    assert "once:loop:a:todo:t1" in finding.what
    other = Row("once:loop:a:todo:t9", 1, "reserved", row.state)
    sealed = encode(world.book.records.codec.entry(other)._replace(prev=""))
    world.hands.put(EVENTS, row)
    world.hands.put(EVENTS, other._replace(state=sealed))
    (finding,) = found(world)
    assert (finding.stream, finding.seq) == ("once:loop:a:todo:t9", 1)


def test_a_catalogue_that_says_something_else_is_named(world: World) -> None:
    version, digest = world.book.head(CATALOGUE)
    row = world.book.records.codec.row(
        Entry(
            CATALOGUE,
            version + 1,
            Catalogued(loop="a", change="closed", outcome="met"),
            NOON,
            "s",
            prev=digest,
        )
    )
    world.hands.put(EVENTS, row)
    (finding,) = found(world)
    assert (finding.stream, "the loop a " in finding.what) == (CATALOGUE, True)


def test_a_snapshot_that_is_not_the_fold_is_named(world: World) -> None:
    """Even one that vouches for itself; and one of entries that are not there."""
    row = next(row for row in world.snapshots if row.originator_id == "loop:a")
    version, head = world.book.head("loop:a")
    lie = pack((Stand("loop:a", version, head),), EMPTY._replace(version=version))
    world.hands.remove(SNAPSHOTS, row)
    world.hands.put(SNAPSHOTS, lie)
    (finding,) = found(world)
    assert (finding.stream, finding.seq, "not the fold" in finding.what) == ("loop:a", version, True)
    world.hands.remove(SNAPSHOTS, lie)
    world.hands.put(SNAPSHOTS, pack((Stand("loop:z", 3, head),), EMPTY._replace(version=3)))
    (finding,) = found(world)
    assert (finding.stream, finding.seq) == ("loop:z", 3)


# --- what is not in the chains ---------------------------------------------------------------------


def removed(world: World, stream: str, *versions: int) -> None:
    for row in world.rows:
        if row.originator_id == stream and (not versions or row.originator_version in versions):
            world.hands.remove(EVENTS, row)


def test_a_sessions_stream_that_was_removed_or_cut_is_told_by_the_loops_that_name_it(world: World) -> None:
    """No damage that could be proven: a loop that was exported alone comes without its sessions."""
    removed(world, "session:loopbook:s3")
    removed(
        world, "session:loopbook:s1", max(row[1] for row in world.rows if row[0] == "session:loopbook:s1")
    )
    report = fsck(world.book)
    assert report.findings == ()
    told, again = report.notes
    assert told.startswith("the session s1 went on with loop:done, and no session's stream says so")
    assert again.startswith("the session s3 went on with loop:a, and")


def test_a_stream_of_a_guard_that_was_removed_shows_by_the_keys_it_used(world: World) -> None:
    world.book.record("guard:p", Draft(Task(text="y"), host_ref="r"))
    for row in world.hands.rows(EVENTS):
        if row.originator_id == "guard:p":
            world.hands.remove(EVENTS, row)
    (finding,) = found(world)
    assert (finding.stream, finding.seq) == ("once:guard:p:host_ref:r", 1)


def test_a_trigger_on_the_rows_is_found_and_what_only_stands_beside_them_is_told(
    world: World, shared_url: str
) -> None:
    if shared_url.startswith("sqlite"):
        sql(shared_url, "CREATE TRIGGER t BEFORE DELETE ON stored_events BEGIN SELECT 1; END")
        sql(shared_url, "CREATE TABLE notes (x)")
        assert fsck(world.book).notes == ('the store also has a TABLE "notes", which is not loopbook\'s',)
    else:
        sql(shared_url, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
        sql(shared_url, "CREATE TRIGGER t BEFORE INSERT ON stored_events FOR EACH ROW EXECUTE FUNCTION f()")
        sql(shared_url, "CREATE RULE r AS ON DELETE TO stored_events DO ALSO SELECT 1")
    for finding in found(world):
        assert finding.stream == "store"
        sql(shared_url, finding.remedy[finding.remedy.index("DROP ") :])
    assert found(world) == ()


def test_a_schema_that_was_set_back_while_the_store_is_open_is_found(world: World, shared_url: str) -> None:
    sqlite = shared_url.startswith("sqlite")
    sql(shared_url, "PRAGMA user_version=1" if sqlite else "UPDATE loopbook_store SET schema=1")
    assert found(world) == ()
    notes = fsck(world.book).notes
    assert notes == ("the store is of schema 1; for 2, run: loopbook store upgrade",)
    world.book.records.rows.upgrade()
    assert fsck(world.book).notes == ()


def test_what_is_scrubbed_or_forgotten_while_fsck_reads_is_no_damage(world: World, shared_url: str) -> None:
    """The rows are of one moment; what is looked up afterwards is of another."""
    with opened(shared_url) as other:
        scan = world.book.records.rows.scan

        def scanned(stream: str | None = None) -> Iterator[Stored]:
            yield from scan(stream)
            if stream is None and not done:
                done.append(True)
                scrub(other.book, Asked("loop:a", text="tell them"), NOON)

        for loop in ("a-2", "a-3"):
            done: list[bool] = []
            world.book.records.rows.scan = scanned  # type: ignore[method-assign]  # somebody comes between
            assert found(world) == ()
            assert done
            world.book.records.rows.scan = scan  # type: ignore[method-assign]  # as it was
            other.loop(loop).record(Task(text="tell them"))
            other.book.record("loop:a", Draft(Task(text="tell them")))


def test_whatever_happened_to_a_row_a_new_store_from_an_export_is_sound(world: World) -> None:
    """What fsck says is to be done about most of what it finds."""

    @settings(EXAMPLES, max_examples=300 if PROVE else 12)
    @given(st.data())
    def holds_for(data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(world.rows))
        new = flipped(
            row, data.draw(st.integers(0, 3)), data.draw(st.integers(0, 5_000)), data.draw(st.integers(0, 7))
        )
        world.hands.remove(EVENTS, row)
        out = io.BytesIO()
        try:
            with changed(world, EVENTS, new):
                write(everything(world.book), out)
        except Cannot:
            assume(False)
        finally:
            world.hands.put(EVENTS, row)
        with opened("memory:") as there:
            import_lines(there.book, out)
            assert fsck(there.book).findings == ()

    holds_for()
