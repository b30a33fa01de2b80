"""Whether, and when, it is worth asking again. Pure, but for the dice.

A request is made again after a busy or failing server, and after a connection that was not to be had or
that ended before an answer began; never after an answer, a refusal, or one that broke inside an answer.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from loopbook.advisors.asking import Failure
from loopbook.judges.system_one.parsing import Reply

#: After which statuses a request is made again.
RETRIED = frozenset({408, 429, 500, 502, 503, 504, 529})
#: How long it is waited before the first and before the second time, in seconds: so often it is tried
#: again. And by which part that varies.
BACKOFF_SEC = (0.5, 1.0)
JITTER = 0.25
#: With less than this left (seconds) it is not worth asking again.
LEAST_SEC = 0.1


def pause_before_next(reply: Reply | Failure, usual: float) -> float | None:
    """How long to wait before asking again, in seconds; nothing where that would not help."""
    if isinstance(reply, Failure):
        told = None
        if reply.kind != "connect":
            return None
    elif reply.status in RETRIED:
        told = retry_after(reply.headers, time.time())
    else:
        return None
    return usual * random.uniform(1 - JITTER, 1 + JITTER) if told is None else told


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that a server asks to be left alone for; ``now`` is a POSIX time.

    >>> retry_after({"retry-after-ms": "250"}, 0), retry_after({"retry-after": "-1"}, 0)
    (0.25, None)
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:09 GMT"}, 4)
    5.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""), unit, now)
        if seconds is not None:
            return seconds
    return None


def _seconds(told: str, unit: float, now: float) -> float | None:
    try:
        seconds = float(told) / unit
    except ValueError:
        try:
            seconds = max(parsedate_to_datetime(told).timestamp() - now, 0.0)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
