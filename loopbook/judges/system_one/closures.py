"""Lines that a server closed, for as long as programs come and go that each ask once.

Theory. A coordinator that starts a command for every settle would send a key that was refused with each of
them. So the refusal is kept: the server, a hash of the key and when it ends, in a file that only its owner
may read. It holds back a request and nothing else, so one that cannot be read or written is not there, and
it ends by itself: a person may have paid meanwhile, or been given access.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from loopbook.errors import KeyFileRefused
from loopbook.judges.system_one.key import keep_rows, rows_of
from loopbook.judges.system_one.lines import LineId

FILE = "judge-closed"
#: How long a line stays closed, in seconds.
CLOSED_SEC = 900
#: No more lines than this are kept, the newest.
MOST = 50


class _Row(NamedTuple):
    origin: str
    key: str
    kind: str
    until: int

    @classmethod
    def read(cls, fields: list[str], now: float) -> _Row | None:
        """A row that counts now; a clock that was put back makes none count for longer."""
        origin, key, kind, until = fields
        if not until.isdecimal() or not now < int(until) <= now + CLOSED_SEC + 1:
            return None
        return cls(origin, key, kind, int(until))


class Closures:
    """The file of closed lines in a folder, there or not; without a folder nothing is kept."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = None if folder is None else folder / FILE

    def kind(self, line: LineId) -> str:
        """The kind of failure that closed a line, or nothing."""
        return next((row.kind for row in self._rows() if row[:2] == _names(line)), "")

    def close(self, line: LineId, kind: str) -> None:
        """Keep that a line is closed, from now on."""
        others = [row for row in self._rows() if row[:2] != _names(line)]
        self._keep([*others[1 - MOST :], _Row(*_names(line), kind, int(time.time()) + CLOSED_SEC)])

    def open(self, origin: str) -> None:
        """Forget it of every key of a server."""
        rows = self._rows()
        left = [row for row in rows if row.origin != origin]
        if left != rows:
            self._keep(left)

    def _rows(self) -> list[_Row]:
        try:
            found = [] if self._file is None else rows_of(self._file, len(_Row._fields))
        except KeyFileRefused:
            return []
        now = time.time()
        return [row for fields in found if (row := _Row.read(fields, now))]

    def _keep(self, rows: list[_Row]) -> None:
        if self._file is not None:
            with suppress(OSError):
                keep_rows(self._file, rows)


def _names(line: LineId) -> tuple[str, str]:
    """Of the hash so much as tells two keys of one server apart."""
    return line.origin, line.key[:16] or "-"
