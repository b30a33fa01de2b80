"""Somebody else works between any two statements of an operation: the chain is whole, or it is told.

Each operation is done once for each of its statements, and before that one another process forgets,
scrubs, begins anew, forks, records or imports. Whatever comes of it: the store is sound, the states
are folds of what stands there, and no text that was scrubbed is in any of them, nor in a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from loopbook import Books
from loopbook.book import Book, folding
from loopbook.book.snapshots import Snapshot
from loopbook.entry import Draft
from loopbook.errors import (
    AlreadyUsed,
    CannotForget,
    CannotFork,
    CannotScrub,
    ChangedMeanwhile,
    LoopbookError,
    NoSuchLoop,
    Refused,
    Stale,
)
from loopbook.events import RunSettled, Task, TodoOpened
from loopbook.projections import fold
from loopbook.store import Recorder, Row
from loopbook.store.memory import MemoryRecorder
from loopbook.upkeep.forget import forget
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.importing import Imported, import_lines
from loopbook.upkeep.scrub import Asked, scrub
from loopbook.upkeep.transfer import everything, write
from tests.book.drafts import NOON, clock
from tests.conftest import PROVE

SECRET = "qwertz-secret"
#: What an operation may end with: its caller's own matter, told as such. Damage is none of it.
TOLD = (
    NoSuchLoop, CannotFork, AlreadyUsed, Stale, Refused, CannotForget, CannotScrub, ChangedMeanwhile,
)  # fmt: skip
#: Of how many statements one is interrupted in a run of the tests; all of them are in ``make prove``.
EACH = 1 if PROVE else 25


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several pieces to a stream, and several snapshots."""
    monkeypatch.setattr(folding, "CHUNK", 2)
    monkeypatch.setattr(folding, "EVERY", 3)


class Interrupted:
    """A recorder before one of whose statements somebody else does something.

    A load of a file keeps others from writing until it has ended, so nobody comes between its reads.
    """

    def __init__(self, inner: Recorder, at: int, work: Callable[[], object]) -> None:
        self._inner, self._at, self._work = inner, at, work
        self._alone = False
        self.done = 0

    def __getattr__(self, name: str) -> object:
        method = getattr(self._inner, name)

        def call(*arguments: object, **named: object) -> object:
            if self._alone:
                return method(*arguments, **named)
            self.done += 1
            if self.done == self._at:
                self._work()
            self._alone = name == "load" and not isinstance(self._inner, MemoryRecorder)
            try:
                return method(*arguments, **named)
            finally:
                self._alone = False

        return call


def opened(recorder: object, session: str) -> Books:
    books = Books.open("memory:", session=session, clock=clock)
    books.book._records.recorder = recorder  # type: ignore[assignment]  # or one that looks like it
    return books


class World(NamedTuple):
    """The rows that all begin with, and a file of the same books as they went on elsewhere."""

    rows: tuple[Row, ...]
    file: bytes


@pytest.fixture(scope="module")
def world() -> World:
    """Two loops and a fork; elsewhere all of them, one of the loops longer and forked once more."""
    books = opened(MemoryRecorder(), "s0")
    loop = books.start("chore", "p", id="p")
    for n in range(4):
        loop.record(Task(text=f"{n} {SECRET}"), host_ref=f"call-{n}")
    books.start("chore", "r", id="r").record(*[Task(text="r")] * 4, TodoOpened(todo="t", subject="s"))
    books.fork("p", 4, new_id="q").record(Task(text="in q"))
    rows = tuple(stored.row for stored in books.book.records.rows.scan() if not stored.snapshot)
    loop.record(TodoOpened(todo="t", subject="later"))
    books.fork("p", 6, new_id="f").record(Task(text="in f"))
    file = BytesIO()
    write(everything(books.book), file)
    return World(rows, file.getvalue())


def again(recorder: MemoryRecorder) -> Books:
    return opened(recorder, "s2")


def forgotten(books: Books, *then: Callable[[], object]) -> None:
    forget(books.book, "p", now=NOON, with_forks=True)
    for work in then:
        work()


def brought(book: Book, file: bytes) -> Imported:
    return import_lines(book, BytesIO(file))


OPERATIONS: dict[str, Callable[[Books, World], object]] = {
    "fork": lambda books, _: books.fork("p", new_id="f"),
    "fork at": lambda books, _: books.fork("p", 3, new_id="f"),
    "fork of a fork": lambda books, _: books.fork("q", 6, new_id="f"),
    "fork of what a fork reads": lambda books, _: books.fork("q", 2, new_id="f"),
    "start": lambda books, _: books.start("chore", "f", id="f"),
    "adopt": lambda books, _: books.adopt("p", "s9"),
    "record": lambda books, _: books.loop("p").record(Task(text="x")),
    "record in a fork": lambda books, _: books.loop("q").record(Task(text="x"), host_ref="call-1"),
    "record many": lambda books, _: books.loop("p").record(
        Task(text="x"), TodoOpened(todo="t", subject="s"), host_ref="call"
    ),
    "append": lambda books, _: books.loop("p").append(Task(text="x"), after=5),
    "settle": lambda books, _: books.loop("p").settle_blocking(RunSettled(run="r1")),
    "close": lambda books, _: books.loop("q").close_blocking("done"),
    "import": lambda books, world: brought(books.book, world.file),
    "scrub": lambda books, _: scrub(books.book, Asked("loop:p", text=SECRET), NOON),
    "scrub a fork": lambda books, _: scrub(books.book, Asked("loop:q", text=SECRET), NOON),
    "forget": lambda books, _: forgotten(books),
    "forget without forks": lambda books, _: forget(books.book, "p", now=NOON),
    "export": lambda books, _: write(everything(books.book), BytesIO()),
    "log of a fork": lambda books, _: [*books.loop("q").entries()],
    "newest in a fork": lambda books, _: books.book.newest("loop:q", "task"),
    "read": lambda books, _: [books.book.state(f"loop:{name}") for name in "pqr"],
}
MEANWHILE: dict[str, Callable[[Books, World], object]] = {
    "forget": lambda books, _: forgotten(books),
    "forget, start": lambda books, _: forgotten(books, lambda: books.start("fix", "p", id="p")),
    "forget, start, record": lambda books, _: forgotten(
        books, lambda: books.start("fix", "p", id="p").record(*[Task(text="new")] * 6)
    ),
    "forget, fork": lambda books, _: forgotten(books, lambda: books.fork("r", 3, new_id="p")),
    "forget, import": lambda books, world: forgotten(books, lambda: brought(books.book, world.file)),
    "scrub": lambda books, _: scrub(books.book, Asked("loop:p", text=SECRET), NOON),
    "scrub an entry": lambda books, _: scrub(books.book, Asked("loop:p", seq=2), NOON),
    "start f": lambda books, _: books.start("fix", "f", id="f"),
    "fork into f": lambda books, _: books.fork("r", 2, new_id="f"),
    "record": lambda books, _: books.loop("p").record(Task(text="between"), host_ref="call-9"),
    "import": lambda books, world: brought(books.book, world.file),
}


def streams(book: Book) -> Iterator[str]:
    return (name for name in book.records.rows.streams() if not name.startswith("once:"))


def sound(books: Books, others: Books) -> None:
    """What holds whatever happened."""
    assert fsck(others.book).findings == ()
    for stream in streams(others.book):
        whole = fold(others.book.entries(stream))
        assert books.book.state(stream) == others.book.state(stream) == whole
    for stored in others.book.records.rows.scan():
        if stored.snapshot:
            kept = Snapshot.model_validate_json(stored.row.state)
            stream, version, _ = kept.stands[0]
            assert kept.state == others.book.place_at(stream, version).state


@pytest.mark.parametrize("warm", [True, False], ids=["cached", "cold"])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_between_any_two_statements_anybody_may_do_anything(
    world: World, operation: str, meanwhile: str, warm: bool
) -> None:
    for at in count(1 + len(operation + meanwhile) % EACH, EACH):
        recorder = MemoryRecorder()
        recorder._put(world.rows)
        others = opened(recorder, "s2")
        books = opened(recorder, "s1")
        if warm:
            for stream in ("loop:p", "loop:q", "loop:r", "catalogue"):
                books.book.state(stream)
        interrupted = Interrupted(recorder, at, lambda: MEANWHILE[meanwhile](others, world))  # noqa: B023
        books.book._records.recorder = interrupted  # type: ignore[assignment]  # it looks like one
        with suppress(*TOLD):
            OPERATIONS[operation](books, world)
        books.book._records.recorder = recorder  # nobody comes between any more
        if interrupted.done < at:
            break
        sound(books, others)
        if meanwhile == "scrub" and operation != "import":
            held = [*recorder.scan(), *(books.book.state(stream) for stream in streams(others.book))]
            assert SECRET not in repr(held), f"before statement {at}"


@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_and_so_in_a_file(world: World, operation: str, meanwhile: str, tmp_path: Path) -> None:
    """Before one of the statements that there are; before each of them in ``make prove``."""
    first = 1 + len(operation + meanwhile) % 9
    for at in count(1) if PROVE else (first,):
        url = f"sqlite:///{tmp_path}/{at}.db"
        with Books.open(url, session="s2", clock=clock) as others, Books.open(url, clock=clock) as books:
            others.book.records.rows.load(world.rows)
            for stream in ("loop:p", "loop:q", "catalogue")[: at % 4]:
                books.book.state(stream)
            recorder = books.book.records.rows
            interrupted = Interrupted(recorder, at, lambda: MEANWHILE[meanwhile](others, world))
            books.book._records.recorder = interrupted  # type: ignore[assignment]  # it looks like one
            with suppress(*TOLD):
                OPERATIONS[operation](books, world)
            books.book._records.recorder = recorder  # type: ignore[assignment]  # it is one
            if interrupted.done < at:
                break
            sound(books, others)


def test_the_errors_that_are_told_are_no_damage() -> None:
    from loopbook.errors import DamagedEntry, StoreError  # noqa: PLC0415 - for this one line

    assert not any(issubclass(error, DamagedEntry | StoreError) for error in TOLD)
    assert all(issubclass(error, LoopbookError) for error in TOLD)
    assert Draft(Task(text="x")).at is None
