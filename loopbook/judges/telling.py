"""Saying something once: what a person should know about a judge, and would not want to hear each time.

The words go to the logger ``loopbook.judges``; Python prints warnings on standard error unless the
program around it says otherwise. They hold no key, no state and no words of a server.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from threading import Lock

_LOG = logging.getLogger("loopbook.judges")
_LOCK = Lock()
_TOLD: set[Hashable] = set()


def tell_once(about: Hashable, words: str) -> None:
    """Log ``words`` as a warning, once for each ``about`` in this process."""
    with _LOCK:
        if about in _TOLD:
            return
        _TOLD.add(about)
    _LOG.warning("%s", words)
