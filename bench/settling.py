"""Settling a run of a long book where no judge is asked, and deciding a book again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

from bench import raw
from bench.facts import all_drafts, drafts, opening
from bench.timing import Row, Sizes, compared, in_turn, seconds
from loopbook.audit.replay import replay
from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.events import Prompted, RunSettled
from loopbook.judges.scripted import Scripted
from loopbook.ledger import Ledger
from loopbook.projections import fold

STREAM = "loop:bench"
#: How many times as long as a raw append and read a settle may take where nobody is asked.
SETTLED = 50
ANSWERS = {"move": "advance", "done": 1, "review_tier": "none", "quality": 3}


class _Book:
    """A book of so many events, the last of which a judge has read: what is settled then is passed over."""

    def __init__(self, path: Path, number: int) -> None:
        book = Book(f"sqlite:///{path}")
        book.record(STREAM, Draft(opening()))
        for piece in all_drafts(number - 1):
            book.record(STREAM, *piece, session="bench")
        self.ledger = Ledger(book, STREAM, "bench")
        self.judge = Scripted([ANSWERS])
        self.runs = count()
        self._begun = book.head(STREAM)[0]
        self.driver, self._seen = raw.connect(path.with_suffix(".raw.db")), raw.attach(path)
        self.settle()

    def settle(self) -> None:
        """Settle one more run."""
        run = RunSettled(run=f"settled-{next(self.runs)}", final_text="It is done.")
        self.ledger.settlement_blocking(run, judge=self.judge)

    def settles(self, times: int) -> float:
        """The median of so many, in seconds; nobody is asked."""
        asked, took = len(self.judge.asked), []
        for _ in range(times):
            start = perf_counter()
            self.settle()
            took.append(perf_counter() - start)
        assert len(self.judge.asked) == asked, "nobody was to be asked"
        return median(took)

    def floor(self, times: int) -> float:
        """The median of as many runs that the driver appends, reading what is newest first."""
        took = []
        for row in self._rows()[-times:]:
            start = perf_counter()
            self.driver.execute(raw.NEWER, (STREAM, row[1] - 1)).fetchall()
            raw.save(self.driver, [row])
            took.append(perf_counter() - start)
        self.driver.execute("DELETE FROM stored_events")
        return median(took)

    def _rows(self) -> list[raw.RawRow]:
        return self._seen.execute(raw.NEWER, (STREAM, self._begun)).fetchall()


def _settling(folder: Path, sizes: Sizes) -> Iterator[Row]:
    long, short = _Book(folder / "settled.db", sizes.book), _Book(folder / "settled-short.db", 1_000)
    times = max(sizes.singles // 10, 5)
    long.settles(times), short.settles(times)
    ours, reference = in_turn(lambda: long.settles(times), lambda: short.settles(times), sizes.rounds)
    what = f"settle a run, nobody asked, on {sizes.book:,} events; on 1,000"
    yield compared(what, ours, reference, 1.5)
    ours, floor = in_turn(lambda: long.settles(times), lambda: long.floor(times), sizes.rounds)
    yield compared(f"the same on {sizes.book:,}; a raw append and read", ours, floor, SETTLED)


def _replayed(folder: Path, sizes: Sizes) -> Row:
    """A book in which every twentieth entry or so is a decision."""
    book = Book(f"sqlite:///{folder}/replayed.db")
    book.record(STREAM, Draft(opening()))
    ledger, judge = Ledger(book, STREAM, "bench"), Scripted([ANSWERS])
    for start in range(0, sizes.replayed, 20):
        book.record(STREAM, *drafts(start, 15), Draft(Prompted(prompt=f"go-{start}", text="go on")))
        ledger.settlement_blocking(RunSettled(run=f"settled-{start}"), judge=judge)
    entries = list(ledger.entries())
    assert replay(entries).difference is None

    def ours() -> float:
        return seconds(lambda: replay(entries))

    mine, reference = in_turn(ours, lambda: seconds(lambda: fold(entries)), min(sizes.rounds, 5))
    number = len(entries)
    return compared(f"replay {number:,} entries, each; fold them", mine / number, reference / number, None)


def rows(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """The rows of the table."""
    yield from _settling(folder, sizes)
    yield _replayed(folder, sizes)
