"""What all judges of a process that ask the same server with the same key have in common.

Theory. A *line* is a server and a key. At most ``AT_ONCE`` requests are on it, whoever asks, from
whichever thread or event loop: servers queue more, and small ones drop them. Once the server has
refused the key, or is not paid, the line is *closed* (``closures``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from threading import BoundedSemaphore, Lock
from typing import NamedTuple

import anyio

from loopbook.judges.system_one.key import Key

#: How many requests are under way at once.
AT_ONCE = 4
#: How often somebody who waits for his turn looks, in seconds.
LOOK_SEC = 0.01


class LineId(NamedTuple):
    """Which line: the server, and a hash of the key."""

    origin: str
    key: str


class Line:
    """One server with one key."""

    def __init__(self) -> None:
        self._slots = BoundedSemaphore(AT_ONCE)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn; no event loop is held up, and a cancelled one gives nothing away."""
        while not self._slots.acquire(blocking=False):
            await anyio.sleep(LOOK_SEC)
        try:
            yield
        finally:
            self._slots.release()


_LINES: dict[LineId, Line] = {}
_LOCK = Lock()


def line_of(origin: str, key: Key | None) -> tuple[LineId, Line]:
    """The line to a server with a key."""
    name = LineId(origin, "" if key is None else sha256(key.reveal().encode()).hexdigest())
    with _LOCK:
        return name, _LINES.setdefault(name, Line())
