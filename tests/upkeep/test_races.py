"""Upkeep of one process meets another process at any moment: nothing is lost and nothing is torn."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from loopbook.books import Books
from loopbook.errors import CannotForget, CannotScrub, NoSuchLoop
from loopbook.events import Task, TodoOpened
from loopbook.store import Recorder
from loopbook.upkeep.forget import forget
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.importing import import_lines
from loopbook.upkeep.scrub import Asked, scrub
from loopbook.upkeep.transfer import books_of, everything, write
from tests.book.drafts import NOON
from tests.conftest import PROVE
from tests.upkeep.world import fill, opened

Deed = Callable[[Books], object]

READS = ("select_events", "taken", "newest", "streams", "snapshot_newest", "sizes", "scan")
WRITES = ("load", "replace", "insert_events", "delete")


class Disturbed:
    """A recorder at whose ``moment``-th call, before it is made, somebody else does something."""

    def __init__(self, rows: Recorder, moment: int, deed: Callable[[], object]) -> None:
        self._rows, self._deed, self._moment = rows, deed, moment
        self.calls = 0
        self._writing = False

    def __getattr__(self, name: str) -> object:
        method = getattr(self._rows, name)
        if name not in READS + WRITES:
            return method

        def call(*arguments: object, **named: object) -> object:
            # Within a write of ours the store lets nobody else write.
            if not self._writing:
                self.calls += 1
                if self.calls == self._moment:
                    self._deed()
            before, self._writing = self._writing, self._writing or name in WRITES
            try:
                return method(*arguments, **named)
            finally:
                self._writing = before

        return call


@contextmanager
def disturbed(books: Books, moment: int, deed: Callable[[], object]) -> Iterator[Disturbed]:
    """With somebody else who does something at one moment of all that is asked of the store."""
    records = books.book.records
    rows = records.rows
    between = Disturbed(rows, moment, deed)
    records.recorder = between  # type: ignore[assignment]  # it stands for the one behind it
    try:
        yield between
    finally:
        records.recorder = rows  # type: ignore[assignment]  # as it was


def at_every_moment(
    url: Callable[[], str], begin: Deed, do: Callable[[Books], object], deed: Deed, check: Deed
) -> None:
    """Do something once for each moment at which another process may come between."""
    moment = step = 0
    while True:
        where = url()
        step = step or (1 if PROVE or where.startswith("sqlite") else 4)  # a server's store is slow to make
        moment += step
        with opened(where) as books, opened(where) as other:
            begin(books)
            with disturbed(books, moment, lambda other=other: deed(other)) as between:  # type: ignore[misc]  # bound here
                do(books)
            assert fsck(books.book).findings == (), moment
            check(books)
        if between.calls < moment:
            return


@pytest.fixture
def url(shared_url: str) -> Callable[[], str]:
    """The URL of another fresh store with each call."""
    numbers = iter(range(1, 10**6))

    def fresh() -> str:
        number = next(numbers)
        if shared_url.startswith("sqlite"):
            return shared_url.replace("books.db", f"books{number}.db")
        return f"{shared_url}_{number}"

    return fresh


def exported(*loops: str) -> bytes:
    out = io.BytesIO()
    with opened("memory:") as books:
        fill(books)
        write(
            books_of(books.book, [f"loop:{loop}" for loop in loops]) if loops else everything(books.book), out
        )
    return out.getvalue()


FAMILY = exported("a-3")
PARENT = exported("a")


def bring(text: bytes) -> Deed:
    return lambda books: import_lines(books.book, io.BytesIO(text))


def forgets(loop: str) -> Deed:
    def deed(books: Books) -> None:
        with suppress(NoSuchLoop, CannotForget):
            forget(books.book, loop, now=NOON, with_forks=True)

    return deed


def scrubs(text: str) -> Deed:
    def deed(books: Books) -> None:
        with suppress(CannotScrub):
            scrub(books.book, Asked("loop:a", text=text), NOON)

    return deed


def grows(books: Books) -> None:
    books.loop("a").record(Task(text="meanwhile"), TodoOpened(todo="new", subject="s"), host_ref="meanwhile")


def another(books: Books) -> None:
    """The same name for another loop."""
    forgets("a")(books)
    books.start("chore", "another one", id="a").record(*(Task(text=f"{n}") for n in range(8)))


def nothing(_books: Books) -> None:
    """There is nothing more to be said."""


@pytest.mark.parametrize(
    "deed", [forgets("a"), another, scrubs("tell them"), grows, bring(FAMILY)],
    ids=["forgotten", "another one", "scrubbed", "grown", "brought"],
)  # fmt: skip
def test_forks_brought_while_their_parent_changes_are_never_orphans(
    url: Callable[[], str], deed: Deed
) -> None:
    at_every_moment(url, bring(PARENT), bring(FAMILY), deed, nothing)


@pytest.mark.parametrize(
    "deed", [forgets("a"), another, scrubs("tell them")], ids=["forgotten", "another", "scrubbed"]
)
def test_a_book_gone_on_with_while_it_changes_stays_one_chain(url: Callable[[], str], deed: Deed) -> None:
    whole = PARENT.splitlines(keepends=True)
    begun = b"".join([*whole[:5], b'{"loopbook":"end","entries":4}\n'])
    at_every_moment(url, bring(begun), bring(PARENT), deed, nothing)


def test_a_loop_brought_while_another_process_begins_it_is_one_loop(url: Callable[[], str]) -> None:
    def begins(books: Books) -> None:
        with suppress(ValueError):  # it is there
            books.start("fix", "mine", id="a-2")

    at_every_moment(url, nothing, bring(FAMILY), begins, nothing)


def test_what_a_session_does_while_its_name_is_scrubbed_is_kept(url: Callable[[], str]) -> None:
    """Its stream gets another name, and whoever writes to it under the old one loses nothing."""

    disturbed_stores: list[str] = []

    def begin(books: Books) -> None:
        books.start("fix", "i", id="a", session="me-hunter2").record(Task(text="x"), session="me-hunter2")
        books.own("me-hunter2").record(Task(text="before"), host_ref="r")

    def works(books: Books) -> None:
        books.own("me-hunter2").record(Task(text="meanwhile"), TodoOpened(todo="t", subject="s"))
        disturbed_stores.append(books.url)

    def takes_out(books: Books) -> None:
        scrub(books.book, Asked(None, text="hunter2"), NOON)

    def check(books: Books) -> None:
        kept = b"".join(stored.row.state for stored in books.book.records.rows.scan() if not stored.snapshot)
        assert kept.count(b'"text":"before"') == 1
        assert (
            kept.count(b'"text":"meanwhile"') == kept.count(b'"todo":"t"') == (books.url in disturbed_stores)
        )

    at_every_moment(url, begin, takes_out, works, check)
    assert disturbed_stores


def test_what_is_recorded_while_a_loop_is_forgotten_leaves_nothing_behind(url: Callable[[], str]) -> None:
    """No entry, and no key that a later loop of this name would find used."""

    def records(books: Books) -> None:
        with suppress(NoSuchLoop):
            grows(books)

    def check(books: Books) -> None:
        left = [stored.row.originator_id for stored in books.book.records.rows.scan()]
        assert not [name for name in left if "loop:a" in name and not name.startswith("session:")]

    at_every_moment(url, bring(PARENT), forgets("a"), records, check)
