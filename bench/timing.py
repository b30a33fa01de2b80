"""Timing in turn, and the rows of the table."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import NamedTuple


class Sizes(NamedTuple):
    """How much of everything is done."""

    rounds: int
    singles: int  # events recorded one by one, a round
    batches: int  # appends of 100, a round
    book: int  # events in the long book
    replayed: int  # of them, how many the library's aggregate replays too
    processes: tuple[int, ...]
    seconds: float  # that processes contend
    starts: int  # processes started


FULL = Sizes(7, 300, 10, 100_000, 20_000, (1, 4, 16), 2.0, 15)
QUICK = Sizes(2, 10, 1, 1_500, 300, (1, 2), 0.1, 1)


class Row(NamedTuple):
    """One row of the table, in words; ``met`` is ``None`` where there is no bar."""

    what: str
    ours: str
    reference: str
    ratio: str
    bar: str = ""
    met: bool | None = None


def seconds(do: Callable[[], object]) -> float:
    """How long something takes, the garbage of what was before collected first."""
    gc.collect()
    start = perf_counter()
    do()
    return perf_counter() - start


def in_turn(ours: Callable[[], float], reference: Callable[[], float], rounds: int) -> tuple[float, float]:
    """The medians of both, done in turn."""
    times = [(ours(), reference()) for _ in range(rounds)]
    return median(one for one, _ in times), median(other for _, other in times)


def compared(what: str, ours: float, reference: float, bar: float | None, aim: str = "") -> Row:
    """A row of two times in seconds, each for one of what is counted; ours may take ``bar`` times as long."""
    ratio = f"{ours / reference:.2f}x"
    if bar is None:
        return Row(what, told(ours), told(reference), ratio)
    return Row(what, told(ours), told(reference), ratio, f"<= {bar:g}x{aim}", ours <= bar * reference)


def told(time: float) -> str:
    """A time in words.

    >>> told(0.000_004_5), told(0.25)
    ('4.5 us', '250.0 ms')
    """
    return f"{time * 1e6:.1f} us" if time < 0.001 else f"{time * 1e3:.1f} ms"
