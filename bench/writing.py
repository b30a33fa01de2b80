"""Writing: ours against raw sqlite3 that writes the very rows we wrote."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import perf_counter

from bench import raw
from bench.facts import SECRETS, drafts, opening
from bench.timing import Row, Sizes, compared, in_turn, seconds
from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.evidence.redaction import Redactor

STREAM = "loop:bench"
BATCH = 100


class Writing:
    """Two files that grow alike: one written by a book, one by the driver."""

    def __init__(self, folder: Path, name: str) -> None:
        self.url = f"sqlite:///{folder}/{name}.db"
        self.book = Book(self.url, redactor=Redactor(SECRETS))
        self.book.record(STREAM, Draft(opening()), session="bench")
        self._seen = raw.attach(folder / f"{name}.db")
        self.driver = raw.connect(folder / f"{name}-raw.db")
        self._last = 0
        self._numbers = count()
        self.replay()

    def next_drafts(self, number: int) -> tuple[Draft, ...]:
        """Drafts nobody has written yet."""
        return drafts(next(self._numbers) * 10_000, number)

    def written(self) -> list[raw.RawRow]:
        """The rows that the book wrote since the last call."""
        rows = raw.rows_since(self._seen, self._last)
        self._last = raw.last_rowid(self._seen)
        return rows

    def replay(self) -> float:
        """Write them with the driver, one transaction each run of rows that began a version."""
        saves = list(_saves(self.written()))
        return seconds(lambda: raw.save_all(self.driver, saves))


def _saves(rows: list[raw.RawRow]) -> Iterator[list[raw.RawRow]]:
    """The rows of one event at a time: its own, then its reservations and whatever else it brought."""
    save: list[raw.RawRow] = []
    for row in rows:
        if row[0] == STREAM and save:
            yield save
            save = []
        save.append(row)
    if save:
        yield save


def _singles(folder: Path, sizes: Sizes) -> Row:
    writing = Writing(folder, "singles")

    def ours() -> float:
        new = writing.next_drafts(sizes.singles)
        return seconds(lambda: [writing.book.record(STREAM, draft, session="bench") for draft in new])

    each, floor = in_turn(ours, writing.replay, sizes.rounds)
    return compared("record one event", each / sizes.singles, floor / sizes.singles, 10, aim=", aim 5x")


def _singles_behind(folder: Path, sizes: Sizes) -> Row:
    """Another process wrote meanwhile, so what it wrote is read and folded first."""
    writing = Writing(folder, "behind")
    other = Book(writing.url)

    def ours() -> float:
        total = 0.0
        mine, others = writing.next_drafts(sizes.singles), writing.next_drafts(sizes.singles)
        for draft, another in zip(mine, others, strict=True):
            other.record(STREAM, another, session="other")
            start = perf_counter()
            writing.book.record(STREAM, draft, session="bench")
            total += perf_counter() - start
        return total

    def floor() -> float:
        saves, total = list(_saves(writing.written())), 0.0
        for at, rows in enumerate(saves):
            start = perf_counter()
            if at % 2:
                writing.driver.execute(raw.NEWER, (STREAM, rows[0][1] - 2)).fetchall()
            raw.save(writing.driver, rows)
            total += (perf_counter() - start) * (at % 2)
        return total

    each, least = in_turn(ours, floor, sizes.rounds)
    return compared(
        "record one event after another process's", each / sizes.singles, least / sizes.singles, None
    )


def _batches(folder: Path, sizes: Sizes) -> Row:
    writing = Writing(folder, "batches")
    number = sizes.batches * BATCH

    def ours() -> float:
        new = writing.next_drafts(number)
        after = writing.book.head(STREAM)[0]
        pieces = [(new[start : start + BATCH], after + start) for start in range(0, number, BATCH)]
        return seconds(
            lambda: [writing.book.append(STREAM, *piece, after=at, session="b") for piece, at in pieces]
        )

    def floor() -> float:
        saves = list(_saves(writing.written()))
        batches = [
            [row for save in saves[start : start + BATCH] for row in save]
            for start in range(0, number, BATCH)
        ]
        return seconds(lambda: raw.save_all(writing.driver, batches))

    each, least = in_turn(ours, floor, sizes.rounds)
    return compared("append 100 events, each", each / number, least / number, 4)


def rows(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """The rows of the table."""
    yield _singles(folder, sizes)
    yield _singles_behind(folder, sizes)
    yield _batches(folder, sizes)
