"""How the time of a piece of work grows with its input: ratios within one run, never seconds.

Four times the input takes four times as long where the work is linear and sixteen times where it is
quadratic; the line between is drawn at ten. Only this process's own time counts, and the best of
several rounds, so that a machine which does much else besides changes nothing. Each round has an
input of its own, so that no cache answers.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Four times the input may take so many times as long.
LINEAR = 10.0
#: What is quicker (seconds) is taken to be as slow as this: its ratio would say nothing.
FLOOR = 0.02
#: A work that does not show its time in so many rounds has not got it.
ROUNDS = 6


def spent(work: Callable[[], object]) -> float:
    """The seconds of this process's own time that a work takes.

    Without the garbage collector: what it takes grows with what other tests have left behind.
    """
    gc.disable()
    try:
        begun = time.process_time()
        work()
        return time.process_time() - begun
    finally:
        gc.enable()


def assert_linear(make: Callable[[int], T], work: Callable[[T], object], size: int) -> None:
    """Working on ``make(size)`` takes less than ten times as long as on ``make(size / 4)``.

    ``make`` gives an input of about so many characters or things.
    """
    small, large = [], []
    for more in range(ROUNDS):
        quarter, whole = make(size // 4 + more), make(size + more)
        small.append(spent(lambda given=quarter: work(given)))  # type: ignore[misc] # bound here and now
        large.append(spent(lambda given=whole: work(given)))  # type: ignore[misc] # bound here and now
        if min(large) < LINEAR * max(min(small), FLOOR):
            return
    raise AssertionError(f"{min(small):.3f} s for a quarter, {min(large):.3f} s for the whole")
