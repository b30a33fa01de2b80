"""Forks: one book up to a version, two from there on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import cast

import pytest

from loopbook.book import CATALOGUE, Book
from loopbook.book.lineage import Segment, lineage
from loopbook.entry import Draft, Entry
from loopbook.errors import (
    AlreadyUsed,
    CannotFork,
    DamagedEntry,
    NoSuchLoop,
    ParentMissing,
    Refused,
    Stale,
    UnknownTodo,
)
from loopbook.events import (
    CloseDeclared,
    Finding,
    Forked,
    LoopClosed,
    Review,
    Task,
    TodoCompleted,
    UnitAdded,
)
from loopbook.projections import fold
from loopbook.sealing import holds
from loopbook.store import Row
from tests.book.drafts import NOON, OPENED, A, everything, todo
from tests.store.rows import put as damage

B, C = "loop:b", "loop:c"


def written(book: Book) -> None:
    """Five entries: opened, two todos, one of them done, a task."""
    book.append(
        A, OPENED, todo("t1", "r1"), todo("t2"), Draft(TodoCompleted(todo="t1")), task("five"), after=0
    )


def task(text: str) -> Draft:
    return Draft(Task(text=text))


def put(book: Book, *entries: Entry) -> None:
    """Rows that no book would write."""
    damage(book._records.rows, [book._records.codec.row(entry) for entry in entries])


def seqs(book: Book, stream: str, after: int = 0) -> list[tuple[str, int]]:
    return [(entry.stream[-1], entry.seq) for entry in book.entries(stream, after)]


def test_a_fork_reads_its_parent_up_to_the_fork_and_then_itself(book: Book) -> None:
    written(book)
    first = book.fork(A, 3, B, session="s2")
    assert (first.seq, first.event, first.session) == (4, Forked(from_=A, version=3), "s2")
    book.record(B, task("in b"))
    book.record(A, task("in a"))
    assert seqs(book, B) == [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 5)]
    assert [seqs(book, B, after) for after in (2, 3, 4, 5)] == [
        [("a", 3), ("b", 4), ("b", 5)], [("b", 4), ("b", 5)], [("b", 5)], []
    ]  # fmt: skip
    assert [seq for _, seq in seqs(book, A)] == [1, 2, 3, 4, 5, 6]
    assert book.head(B)[0] == book.state(B).version == 5
    assert list(book.state(B).todos) == ["t1", "t2"]
    assert book.state(B) == fold(book.entries(B))


def test_the_chain_runs_through_a_fork(book: Book) -> None:
    written(book)
    book.fork(A, 3, B)
    book.record(B, task("x"), task("y"))
    assert all(after.prev == before.sum for before, after in pairwise(book.entries(B)))
    assert all(holds(*row) for row in book._records.rows.select_events(B))  # type: ignore[misc]  # our rows


def test_the_newest_entry_of_a_type_is_found_across_the_fork(book: Book) -> None:
    written(book)
    book.record(A, task("six"))
    book.fork(A, 5, B)
    for stream, topic, seq in ((B, "task", 5), (B, "forked", 6), (B, "todo_opened", 3), (A, "task", 6)):
        found = book.newest(stream, topic)
        assert found is not None
        assert found.seq == seq
    assert book.newest(B, "review") is None
    book.record(B, task("own"))
    assert cast("Entry", book.newest(B, "task")).stream == B


def test_a_fork_of_a_fork_and_one_before_the_fork_of_its_parent(book: Book) -> None:
    written(book)
    book.fork(A, 3, B)
    book.record(B, task("b5"))
    book.fork(B, 5, C)
    book.fork(C, 6, "loop:d")
    book.fork("loop:d", 2, "loop:e")
    book.record(B, task("b6"))
    assert seqs(book, C) == [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 5), ("c", 6)]
    assert seqs(book, "loop:d")[-2:] == [("c", 6), ("d", 7)]
    assert seqs(book, "loop:e") == [("a", 1), ("a", 2), ("e", 3)]
    assert lineage(book._records.rows, C) == (Segment(A, 1, 3), Segment(B, 4, 5), Segment(C, 6))
    for stream in (A, B, C, "loop:d", "loop:e"):
        assert book.state(stream) == fold(book.entries(stream))


def test_a_fork_written_elsewhere_may_name_a_version_before_its_parents_own_fork(book: Book) -> None:
    """We name the stream in which the entry stands; others need not."""
    written(book)
    book.fork(A, 4, B)
    put(book, Entry(C, 3, Forked(from_=B, version=2), NOON, prev=[*book.entries(A)][1].sum))
    assert seqs(book, C) == [("a", 1), ("a", 2), ("c", 3)]
    assert book.state(C) == fold(book.entries(C))
    with pytest.raises(AlreadyUsed):
        book.record(C, todo("t1"))


# --- what was used is used ---


def test_what_was_used_before_the_fork_is_used_in_it(book: Book, other: Book) -> None:
    finding = Finding(id="f1", severity="concern", text="x")
    review = Draft(Review(tier="light", reviewer="ann", findings=(finding,)))
    clean = Draft(Review(tier="light", reviewer="ann"))
    written(book)
    book.record(A, Draft(UnitAdded(unit="u", subject="s")), review, clean)
    book.fork(A, 8, B)
    book.fork(B, 9, C)
    for writer in (book, other):
        for stream in (B, C):
            version = book.head(stream)[0]
            for draft in (todo("t1"), Draft(UnitAdded(unit="u", subject="s")), review):
                with pytest.raises(AlreadyUsed):
                    writer.record(stream, draft)
                with pytest.raises(AlreadyUsed):
                    writer.append(stream, task("good"), draft, after=version)
            assert writer.record(stream, Draft(Task(text="again"), host_ref="r1")) == ()
            assert writer.append(stream, todo("t9", "r1"), after=version) == ()
            assert writer.seen(stream, ["r1", "r2"]) == {"r1"}
            assert book.head(stream)[0] == version


def test_what_is_used_after_the_fork_is_each_ones_own(book: Book) -> None:
    written(book)
    book.fork(A, 5, B)
    for stream in (A, B):
        assert len(book.record(stream, todo("t3", "r3"), todo("t4", "r4"))) == 2
        assert (
            book.record(stream, todo("t3", "r3"), todo("t4", "r4"), todo("t5", "r5"))[0].seq
            == (book.head(stream)[0])
        )
    with pytest.raises(AlreadyUsed):
        book.record(B, Draft(TodoCompleted(todo="t3")), todo("t3"))


def test_a_row_fed_again_into_a_fork_goes_on_where_its_parent_was(book: Book) -> None:
    drafts = [Draft(Task(text=f"{n}"), host_ref=f"{n}") for n in range(10)]
    book.append(A, OPENED, *drafts[:6], after=0)
    book.fork(A, 4, B)  # three of them
    told: list[object] = []
    taken = book.record(B, *drafts, tell=lambda draft, why: told.append((draft, why)))
    assert [cast("Task", entry.event).text for entry in taken] == [f"{n}" for n in range(3, 10)]
    assert told == []


def test_told_of_what_the_parent_used_the_rest_goes_on(book: Book) -> None:
    written(book)
    book.fork(A, 5, B)
    told: list[Draft] = []
    book.record(B, todo("t1"), todo("t6"), tell=lambda draft, _why: told.append(draft))
    assert told == [todo("t1")]
    assert list(book.state(B).todos) == ["t2", "t6"]


# --- what cannot be forked ---


@pytest.mark.parametrize("version", [-1, 0, 6, 10**9])
def test_a_version_that_the_parent_has_not_is_refused(book: Book, version: int) -> None:
    written(book)
    before = everything(book)
    with pytest.raises(CannotFork, match="has the entries 1 to 5"):
        book.fork(A, version, B)
    with pytest.raises(NoSuchLoop, match="no loop:none in"):
        book.fork("loop:none", version, B)
    assert everything(book) == before
    assert [*book.entries(B)] == []


def test_a_stream_that_is_there_is_no_fork(book: Book) -> None:
    written(book)
    book.fork(A, 3, B)
    for stream in (A, B):
        with pytest.raises(Stale):
            book.fork(A, 2, stream)
    assert book.head(B)[0] == 4
    with pytest.raises(Stale):
        book.append(B, OPENED, after=0)


def test_a_fork_is_begun_by_forking_alone(book: Book) -> None:
    written(book)
    before = everything(book)
    for stream, after in ((A, 5), (B, 0)):
        with pytest.raises(Refused, match="begins a fork"):
            book.append(stream, Draft(Forked(from_=A, version=after)), after=after)
    assert everything(book) == before


def test_only_so_many_forks_stand_in_a_row(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopbook.book.parting.DEEPEST", 3)
    monkeypatch.setattr("loopbook.book.lineage.DEEPEST", 3)
    written(book)
    for n in range(3):
        book.fork(A if n == 0 else f"loop:f{n - 1}", 5 + n, f"loop:f{n}")
    assert book.state("loop:f2") == fold(book.entries("loop:f2"))
    with pytest.raises(CannotFork, match="the 3th fork in a row"):
        book.fork("loop:f2", 8, "loop:f3")
    put(book, Entry("loop:f3", 9, Forked(from_="loop:f2", version=8), NOON))
    with pytest.raises(DamagedEntry, match="too many forks"):
        book.state("loop:f3")


@pytest.mark.parametrize("moment", ["_attempt", "_insert"])
@pytest.mark.parametrize("forks", [True, False])
def test_an_id_begun_by_two_at_once_is_one_of_theirs(
    book: Book, other: Book, monkeypatch: pytest.MonkeyPatch, moment: str, forks: bool
) -> None:
    """A fork begins further on: their first rows have different keys."""
    written(book)
    other.state(A)

    def begin(by: Book, fork: bool) -> None:
        by.fork(A, 3, B) if fork else by.append(B, OPENED, after=0)

    inner: Callable[..., object] = getattr(book, moment)
    due = [True]

    def meanwhile(*arguments: object) -> object:
        if due:
            due.clear()
            begin(other, not forks)
        return inner(*arguments)

    monkeypatch.setattr(book, moment, meanwhile)
    with pytest.raises(Stale):
        begin(book, forks)
    assert len([*book._records.rows.select_events(B)]) == 1
    assert [entry.seq for entry in book.entries(CATALOGUE)] == [1, 2]


# --- the life of a fork ---


def test_a_fork_of_a_closed_loop_is_open_and_its_parent_stays_closed(book: Book) -> None:
    written(book)
    book.record(A, Draft(CloseDeclared()), Draft(LoopClosed(outcome="met")))
    book.fork(A, 7, B, session="s9")
    assert (book.state(A).life.outcome, book.state(B).life.outcome) == ("met", None)
    assert book.state(B).life.session == "s9"
    assert len(book.record(B, task("on"))) == 1


def test_admission_in_a_fork_knows_what_is_open_in_the_parent_up_to_there(book: Book) -> None:
    written(book)
    book.record(A, todo("late"))
    book.fork(A, 5, B)
    book.record(B, Draft(TodoCompleted(todo="t2")))
    with pytest.raises(UnknownTodo):
        book.record(B, Draft(TodoCompleted(todo="late")))
    assert list(book.state(A).todos) == ["t2", "late"]


# --- damage ---


def gone(book: Book, stream: str) -> None:
    book._records.rows.delete([stream])


def test_a_parent_that_is_gone_is_named(book: Book, other: Book) -> None:
    written(book)
    book.fork(A, 3, B)
    book.fork(B, 4, C)
    assert other.state(C).version == 5
    gone(book, A)
    for reader in (book, other):
        for stream in (B, C):
            for read in (lambda: reader.state(stream), lambda: [*reader.entries(stream)]):  # noqa: B023
                with pytest.raises(
                    ParentMissing, match="loop:b is a fork of loop:a, which is not in"
                ) as wrong:
                    read()
                assert (wrong.value.stream, wrong.value.parent) == (B, A)
    assert book.head(C)[0] == 5
    assert book.state(A).version == 0


def test_a_parent_that_was_cut_is_damage_and_names_what_is_missing(book: Book, other: Book) -> None:
    written(book)
    book.fork(A, 5, B)
    rows = cast("list[Row]", book._records.rows.select_events(A, lte=3))
    gone(book, A)
    book._records.rows.insert_events(rows)  # type: ignore[arg-type]  # our rows
    for reader in (book, other):
        with pytest.raises(DamagedEntry, match="loop:a seq 4 cannot be read"):
            reader.state(B)
        read = reader.entries(B)
        assert [next(read).seq for _ in range(3)] == [1, 2, 3]
        with pytest.raises(DamagedEntry, match="loop:a seq 4 cannot be read"):
            next(read)


def test_forks_in_a_circle_are_damage(book: Book) -> None:
    put(book, Entry(A, 6, Forked(from_=B, version=5), NOON), Entry(B, 8, Forked(from_=C, version=7), NOON))
    put(book, Entry(C, 7, Forked(from_=A, version=6), NOON))
    put(book, Entry("loop:self", 4, Forked(from_="loop:self", version=3), NOON))
    for stream in (A, B, C, "loop:self"):
        for read in (book.state, lambda stream: [*book.entries(stream)]):
            with pytest.raises(DamagedEntry, match="come from each other"):
                read(stream)


@pytest.mark.parametrize("event", [Task(text="x"), Forked(from_=A, version=2), Forked(from_=A, version=4)])
def test_a_stream_that_begins_in_the_middle_without_a_fork_is_damage(
    book: Book, event: Task | Forked
) -> None:
    written(book)
    put(book, Entry(B, 4, event, NOON))
    with pytest.raises(DamagedEntry, match="loop:b seq 1 cannot be read"):
        book.state(B)
