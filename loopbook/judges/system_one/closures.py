"""Lines that a server closed, for as long as programs come and go that each ask once.

Theory. A server that has refused the key, or is not paid, would refuse every further request too, so none
is made until the key or the address is another, or time has passed: a person may have paid meanwhile, or
been given access. A coordinator that starts a command for every settle would send the key with each of
them. So the refusal is kept in a file that only its owner may read: the server, a hash of the key and when
it ends. It holds back a request and nothing else, so where the file cannot be read or written, or there is
none, this process alone knows.
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
#: No time that is meant has more digits; Python reads no number of thousands of them.
TIME_DIGITS = 15
#: No more lines than this are kept, the newest.
MOST = 50

#: What no file keeps, for all judges of this process.
_HERE: list[_Row] = []


class _Row(NamedTuple):
    origin: str
    key: str
    kind: str
    until: int

    @classmethod
    def read(cls, fields: list[str], now: float) -> _Row | None:
        """A row that counts now; a clock that was put back makes none count for longer."""
        origin, key, kind, until = fields
        if not until.isdecimal() or len(until) > TIME_DIGITS or not now < int(until) <= now + CLOSED_SEC + 1:
            return None
        return cls(origin, key, kind, int(until))


class Closures:
    """The file of closed lines in a folder, there or not; without a folder this process keeps them."""

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
        found: list[list[str]] = [[*map(str, row)] for row in _HERE]
        with suppress(KeyFileRefused):
            found += [] if self._file is None else rows_of(self._file, len(_Row._fields))
        now = time.time()
        return [row for fields in found if (row := _Row.read(fields, now))]

    def _keep(self, rows: list[_Row]) -> None:
        _HERE[:] = rows
        if self._file is not None:
            with suppress(OSError):
                keep_rows(self._file, rows)
                _HERE.clear()


def _names(line: LineId) -> tuple[str, str]:
    """Of the hash so much as tells two keys of one server apart."""
    return line.origin, line.key[:16] or "-"
