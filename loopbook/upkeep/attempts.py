"""Trying again while others write to the same streams."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

#: Attempts, and the longest pause before one, in seconds.
ATTEMPTS = 20
LONGEST = 0.2


def attempts() -> Iterator[int]:
    """The numbers of the attempts, from 0; before each but the first a pause that grows.

    Pauses are drawn, so that two who hinder each other do not go on doing so.
    """
    for number in range(ATTEMPTS):
        if number:
            time.sleep(random.uniform(0, min(LONGEST, 0.002 * 2**number)))
        yield number
