"""A forgotten loop is gone with all that was there because of it; nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loopbook.book import CATALOGUE
from loopbook.errors import CannotForget, NoSuchLoop
from loopbook.events import Catalogued, Task, TodoOpened
from loopbook.loop import Books
from loopbook.upkeep.forget import forget
from loopbook.upkeep.fsck import fsck
from tests.book.drafts import NOON
from tests.upkeep.world import SNAPSHOTS, fill, hands, opened, rows_of


@pytest.fixture
def books(store_url: str) -> Iterator[Books]:
    with opened(store_url) as there:
        fill(there)
        yield there


def test_a_loop_goes_with_its_reservations_and_the_rest_stays_byte_for_byte(books: Books) -> None:
    other = books.start("chore", "mine", id="a.2")
    other.record(TodoOpened(todo="t", subject="s"), host_ref="r")
    before = rows_of(books.book)
    assert forget(books.book, "done", now=NOON, session="me") == ["done"]
    after = rows_of(books.book)
    said = [row for row in after if row not in before]
    assert [row for row in after if row not in said] == [
        row for row in before if row.originator_id != "loop:done"
    ]
    (entry,) = [*books.book.entries(CATALOGUE)][-1:]
    assert entry.event == Catalogued(loop="done", change="forgotten")
    assert (len(said), entry.at, entry.session) == (1, NOON, "me")
    assert fsck(books.book).findings == ()
    assert [row.id for row in books.list()] == ["a", "a-2", "a-3", "a.2"]
    with pytest.raises(NoSuchLoop):
        books.loop("done")


def test_a_loop_with_forks_is_refused_and_goes_with_them_where_that_is_asked(books: Books) -> None:
    before = rows_of(books.book)
    for loop, forks in (("a", "loop:a-2, loop:a-3"), ("a-2", "loop:a-3")):
        with pytest.raises(CannotForget, match=forks):
            forget(books.book, loop, now=NOON)
    assert rows_of(books.book) == before
    assert forget(books.book, "a-3", now=NOON) == ["a-3"]
    assert forget(books.book, "a", now=NOON, with_forks=True) == ["a", "a-2"]
    assert fsck(books.book).findings == ()
    assert [row.id for row in books.list()] == ["done"]
    left = {row.originator_id for row in rows_of(books.book)}
    assert not any(name.startswith(("loop:a", "once:loop:a")) for name in left)


def test_what_is_not_there_is_told(books: Books) -> None:
    before = rows_of(books.book)
    with pytest.raises(NoSuchLoop):
        forget(books.book, "nobody", now=NOON)
    assert rows_of(books.book) == before


def test_an_id_can_be_used_again_afterwards(books: Books) -> None:
    forget(books.book, "done", now=NOON)
    again = books.start("fix", "a new one", id="done")
    again.record(Task(text="x"), host_ref="call-1")
    assert [(row.id, row.intent) for row in books.list()][-1] == ("done", "a new one")
    assert fsck(books.book).findings == ()
    forget(books.book, "done", now=NOON)
    assert fsck(books.book).findings == ()


def test_snapshots_and_bytes_are_gone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    with opened(url) as books:
        fill(books)
        books.loop("a").record(TodoOpened(todo="q-hunter2", subject="hunter2"), host_ref="hunter2" * 40)
        forget(books.book, "a", now=NOON, with_forks=True)
        with hands(url) as by_hand:
            assert by_hand.rows(SNAPSHOTS) == []
        books.book.records.rows.vacuum()
        for path in tmp_path.iterdir():
            assert b"hunter2" not in path.read_bytes(), path.name


def test_a_fork_begun_meanwhile_is_seen(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(shared_url) as books, opened(shared_url) as other:
        books.start("fix", "i", id="a")
        rows, left = books.book.records.rows, [1]
        replace = rows.replace

        def disturbed(*arguments: object) -> None:
            if left[0]:
                left[0] = 0
                other.fork("a", new_id="b")
            replace(*arguments)  # type: ignore[arg-type]  # passed on

        monkeypatch.setattr(rows, "replace", disturbed)
        with pytest.raises(CannotForget, match="loop:b"):
            forget(books.book, "a", now=NOON)
        assert fsck(books.book).findings == ()
