"""Reading: folding a long book, opening it from a snapshot, catching up with it, what its state weighs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from sys import getsizeof

from bench import raw
from bench.aggregate import Library
from bench.facts import all_drafts, drafts, opening
from bench.timing import Row, Sizes, compared, in_turn, seconds, told
from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.events import BY_TYPE
from loopbook.projections import fold

STREAM = "loop:bench"
#: How many times as long as the driver a book may take to open.
OPENED = 15


def _book(path: Path, number: int) -> Book:
    book = Book(f"sqlite:///{path}")
    book.record(STREAM, Draft(opening()))
    for piece in all_drafts(number - 1):
        book.record(STREAM, *piece, session="bench")
    return book


def _folding(book: Book, path: Path, sizes: Sizes) -> Iterator[Row]:
    driver = raw.attach(path)

    def validated() -> float:
        def read() -> None:
            for _, _, topic, state in driver.execute(raw.NEWER, (STREAM, 0)):
                BY_TYPE[topic].__pydantic_validator__.validate_json(state)

        return seconds(read)

    def folded() -> float:
        return seconds(lambda: fold(book.entries(STREAM)))

    def entries() -> float:
        return seconds(lambda: sum(1 for _ in book.entries(STREAM)))

    number, rounds = sizes.book, min(sizes.rounds, 5)
    what = f"fold {number:,} events, each"
    ours, floor = in_turn(folded, validated, rounds)
    yield compared(f"{what}; raw read and validated", ours / number, floor / number, 2.5)
    ours, floor = in_turn(folded, entries, rounds)
    yield compared(f"{what}; read as entries", ours / number, floor / number, None)


def _against_library(book: Book, folder: Path, sizes: Sizes) -> Row:
    library = Library(folder / "library.db", all_drafts(sizes.replayed - 1))

    def ours() -> float:
        return seconds(lambda: fold(islice(book.entries(STREAM), sizes.replayed)))

    each, theirs = in_turn(ours, lambda: seconds(library.replay), min(sizes.rounds, 3))
    number = sizes.replayed
    row = compared(
        f"replay {number:,} events, each; library's aggregate", each / number, theirs / number, None
    )
    return row._replace(ratio=f"{theirs / each:.1f}x fewer", bar=">= 3x fewer", met=theirs >= 3 * each)


def _opened(path: Path, sizes: Sizes) -> Iterator[Row]:
    """Against the driver that opens the file and reads the very rows that a book then needs."""

    def opened() -> None:
        with Book(f"sqlite:///{path}") as book:
            assert book.place(STREAM).kept

    def least() -> None:
        with closing(raw.attach(path)) as driver:
            version = driver.execute(raw.SNAPSHOT, (STREAM,)).fetchone()[1]
            driver.execute(raw.NEWER, (STREAM, version - 1)).fetchall()

    first = seconds(opened)
    ours, floor = in_turn(lambda: seconds(opened), lambda: seconds(least), max(sizes.rounds, 3))
    what = f"open store and book of {sizes.book:,} from its snapshot"
    yield compared(f"{what}; raw open and read", ours, floor, OPENED)
    yield Row("the same for the first time in a process", told(first), "", "")


def _caught_up(long: Book, folder: Path, sizes: Sizes) -> Row:
    short = _book(folder / "short.db", 1_000)
    readers = {book: Book(book.url) for book in (long, short)}
    begun = iter(range(1_000_000, 2_000_000, 10))

    def one(book: Book) -> float:
        reader = readers[book]
        reader.state(STREAM)
        book.record(STREAM, *drafts(next(begun), 10))
        return seconds(lambda: reader.state(STREAM))

    ours, reference = in_turn(lambda: one(long), lambda: one(short), max(3 * sizes.rounds, 5))
    return compared(f"catch up 10 events on {sizes.book:,}; on 1,000", ours, reference, 2)


def weight(value: object, seen: set[int]) -> int:
    """The bytes of a value and all it holds."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    inner: list[object] = []
    if isinstance(value, Mapping):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, tuple):
        inner = [*value]
    return getsizeof(value) + sum(weight(one, seen) for one in inner)


def _weight(book: Book, sizes: Sizes) -> Row:
    few = weight(fold(islice(book.entries(STREAM), 1_000)), set())
    many = weight(fold(islice(book.entries(STREAM), sizes.book // 1_000 * 1_000)), set())
    ratio = many / few
    what = f"weight of the state after {sizes.book:,} events; after 1,000"
    return Row(what, f"{many / 1024:.1f} KiB", f"{few / 1024:.1f} KiB", f"{ratio:.2f}x", "<= 2x", ratio <= 2)


def rows(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """The rows of the table."""
    path = folder / "long.db"
    book = _book(path, sizes.book)
    yield from _folding(book, path, sizes)
    yield _against_library(book, folder, sizes)
    yield _weight(book, sizes)
    Book(book.url).place(STREAM)  # a reader that folds so much leaves a snapshot
    yield from _opened(path, sizes)
    yield _caught_up(book, folder, sizes)
