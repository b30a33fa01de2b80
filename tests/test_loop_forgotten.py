"""A loop that is forgotten while somebody still holds it: he is told, and begins nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from loopbook import Books, Loop
from loopbook.entry import Draft
from loopbook.errors import CannotFork, LoopbookError, NoSuchLoop
from loopbook.events import RunSettled, Task, TodoOpened
from loopbook.upkeep.forget import forget
from loopbook.upkeep.fsck import fsck

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def books(store_url: str) -> Iterator[Books]:
    with Books.open(store_url, session="s1", clock=lambda: NOON) as opened:
        yield opened


@pytest.fixture
def others(books: Books) -> Iterator[Books]:
    """Another process at the same store, as far as a store in memory has one: nothing cached is shared."""
    with Books.open(books.url, session="s2", clock=lambda: NOON) as opened:
        opened.book._records.close()
        opened.book._records = books.book._records
        yield opened


def everything(books: Books) -> list[object]:
    return [stored.row for stored in books.book.records.rows.scan()]


def drafts() -> Iterator[Draft]:
    """More than one save of them."""
    yield from (Draft(Task(text=f"{n}"), host_ref=f"{n}") for n in range(700))


WRITES: dict[str, Callable[[Loop], object]] = {
    "record": lambda loop: loop.record(Task(text="x")),
    "record with a host_ref": lambda loop: loop.record(Task(text="x"), host_ref="call-1"),
    "record a known host_ref": lambda loop: loop.record(Task(text="x"), host_ref="known"),
    "record many": lambda loop: loop.record(Task(text="x"), TodoOpened(todo="t", subject="s")),
    "append": lambda loop: loop.append(Task(text="x"), after=2),
    "append to nothing": lambda loop: loop.append(Task(text="x"), after=0),
    "feed": lambda loop: loop.feed(drafts()),
    "feed and tell": lambda loop: loop.feed(drafts(), tell=lambda _draft, _why: None),
    "settle": lambda loop: loop.settle_blocking(RunSettled(run="r1")),
    "close": lambda loop: loop.close_blocking("done"),
    "close anyway": lambda loop: loop.close_anyway(),
    "reopen": lambda loop: loop.reopen(),
}


@pytest.mark.parametrize("warm", [True, False], ids=["cached", "cold"])
@pytest.mark.parametrize("write", WRITES)
def test_whoever_holds_a_forgotten_loop_is_told_and_begins_no_book(
    books: Books, others: Books, write: str, warm: bool
) -> None:
    """Whether the state of before is at hand or not."""
    loop = books.start("chore", "x", id="a")
    loop.record(Task(text="y"), host_ref="known")
    if not warm:
        books.book._places.clear()
    forget(others.book, "a", now=NOON)
    before = everything(others)
    with pytest.raises(NoSuchLoop) as told:
        WRITES[write](loop)
    assert "\n" not in str(told.value)
    assert "nothing was written" in str(told.value)
    assert everything(others) == before
    assert fsck(others.book).findings == ()


@pytest.mark.parametrize("warm", [True, False], ids=["cached", "cold"])
@pytest.mark.parametrize("again", ["opened", "forked"])
def test_whoever_holds_a_loop_that_was_begun_anew_writes_into_the_one_that_is_there(
    books: Books, others: Books, warm: bool, again: str
) -> None:
    """A loop is a name; what is written under it hangs together with what stands there by then."""
    loop = books.start("chore", "x", id="a")
    loop.record(TodoOpened(todo="t", subject="s"))
    if not warm:
        books.book._places.clear()
    forget(others.book, "a", now=NOON)
    if again == "opened":
        others.start("fix", "another", id="a").record(Task(text="y"), Task(text="z"))
    else:
        others.start("fix", "another", id="p").record(Task(text="y"))
        others.fork("p", new_id="a")
    loop.record(TodoOpened(todo="t", subject="free again"), Task(text="on"), host_ref="call-1")
    entries = [*others.loop("a").entries()]
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
    assert all(after.prev == before.sum for before, after in pairwise(entries))
    assert loop.state == others.loop("a").state
    assert fsck(others.book).findings == ()


def test_a_forgotten_loop_is_no_sessions_current_one(books: Books, others: Books) -> None:
    """What the session does then goes into its own book."""
    books.start("chore", "x", id="a")
    forget(others.book, "a", now=NOON)
    for opened in (books, others):
        assert opened.current("s1") is None
        assert opened.current_book("s1").stream == "session:loopbook:s1"
    books.current_book().record(Task(text="x"))
    assert fsck(others.book).findings == ()


@pytest.mark.parametrize("use", ["loop", "adopt", "fork", "fork at"])
def test_a_forgotten_loop_is_not_found(books: Books, others: Books, use: str) -> None:
    books.start("chore", "x", id="a").record(Task(text="y"))
    forget(others.book, "a", now=NOON)
    uses: dict[str, Callable[[], object]] = {
        "loop": lambda: books.loop("a"),
        "adopt": lambda: books.adopt("a"),
        "fork": lambda: books.fork("a"),
        "fork at": lambda: books.fork("a", 2, new_id="b"),
    }
    before = everything(others)
    with pytest.raises(NoSuchLoop):
        uses[use]()
    assert everything(others) == before


def test_a_fork_of_a_version_that_the_parent_has_no_more_is_told(books: Books, others: Books) -> None:
    books.start("chore", "x", id="a").record(*[Task(text="y")] * 5)
    forget(others.book, "a", now=NOON)
    others.start("chore", "x", id="a")
    with pytest.raises(CannotFork, match="has the entries 1 to 1, and no 4"):
        books.fork("a", 4, new_id="b")
    with pytest.raises(LoopbookError):
        books.loop("b")
