"""An export read for the first time: every line verified, nothing asked of any store.

Theory. Of each line that holds a row it is asked whether it is sound (``loopbook.upkeep.rows``),
names a stream that can be, and follows the row before it. What is wrong with one line costs its
stream and nothing else: the stream is known to be bad before any of it is written. (A stream that
merely lost its last lines is still a book, a shorter one; that some are missing is told by the end
line.) Remembered is where each stream's lines lie, with 32 bytes for each entry, so that a file may
be larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from pydantic_core import from_json

from loopbook.book import CATALOGUE, is_name
from loopbook.entry import Entry
from loopbook.errors import NewerExport
from loopbook.events import Forked
from loopbook.sealing import holds, sum_in
from loopbook.store import Row
from loopbook.upkeep.rows import Unsound, verified
from loopbook.upkeep.transfer import FORMAT, NotALine, line_in

#: No line is longer: an entry is bounded by what a run may hold, a few megabytes at most.
LINE_BYTES = 64 << 20
#: The last version that a stream can have: what an integer of a database holds.
LAST = 2**63 - 1
#: Lines that no export wrote are told one by one up to so many: somebody named another file.
STRANGE = 20
_BOM = b"\xef\xbb\xbf"


class Problem(NamedTuple):
    """What could not be taken, and the 1-based line that shows it (``None``: the whole file). ``stream``:
    of which nothing is taken."""

    line: int | None
    why: str
    stream: str | None = None

    @property
    def what(self) -> str:
        """The problem in the words of an import."""
        return self.why if self.stream is None else f"nothing of {self.stream} was written: {self.why}"


class Run(NamedTuple):
    """Lines that follow each other: the byte where they begin, their first number, how many."""

    offset: int
    line: int
    lines: int


class Part:
    """A stream of the file: where its lines lie, and what is known of them."""

    def __init__(self, stream: str, line: int, entry: Entry) -> None:
        self.stream = stream
        self.line = line
        self.at: datetime = entry.at
        self.first = entry.seq
        self.last = entry.seq - 1
        self.prev = self.sum = entry.prev
        event = entry.event
        begins = entry.seq > 1 and isinstance(event, Forked) and entry.seq == event.version + 1
        self.parent = event.from_ if isinstance(event, Forked) and begins else None
        self.runs: list[Run] = []
        self._sums = bytearray()

    def has(self, entry: Entry) -> bool:
        """Whether this very entry came before: two exports in one file may share a parent."""
        at = 32 * (entry.seq - self.first)
        return at >= 0 and self._sums[at : at + 32] == bytes.fromhex(entry.sum)

    def holds(self, row: Row) -> bool:
        """Whether a row is the very one that was verified."""
        at = 32 * (row.originator_version - self.first)
        known = self._sums[at : at + 32].hex() if at >= 0 else ""
        return row.originator_id == self.stream and sum_in(row.state) == known and holds(*row)

    def add(self, entry: Entry, offset: int, line: int) -> None:
        """Remember one more line; lines that follow each other are one run."""
        self.last, self.sum = entry.seq, entry.sum
        self._sums += bytes.fromhex(entry.sum)
        run = self.runs[-1] if self.runs else None
        if run is not None and line == run.line + run.lines:
            self.runs[-1] = run._replace(lines=run.lines + 1)
        else:
            self.runs.append(Run(offset, line, 1))


def verify(lines: Iterable[bytes]) -> Verified:
    """Read all lines of a file, each with its line end. Raises ``NewerExport``.

    >>> verify([b'{"type":"user"}\\n']).problems[0]
    Problem(line=1, why='is not a line of a loopbook export', stream=None)
    """
    reading = Verified()
    for raw in lines:
        if not reading.take(raw):
            break
    reading.end()
    return reading


class Verified:
    """What a file holds: its streams, what is wrong with it, and what is worth knowing."""

    def __init__(self) -> None:
        self.parts: dict[str, Part] = {}
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self._bad: set[str] = set()
        self._number = self._offset = 0
        self._strange = 0
        self._entries = 0  # since the last head
        self._begun = self._crlf = False
        self._open: str | None = None  # the stream of the last line, while no end line has come

    def tell(self, line: int | None, why: str, stream: str | None = None) -> None:
        """Note a problem."""
        self.problems.append(Problem(line, why, stream))

    def take(self, raw: bytes) -> bool:
        """Take one more line; false where nothing after it can be read."""
        self._number += 1
        whole = raw.endswith(b"\n")
        if not whole and len(raw) >= LINE_BYTES:
            self.tell(
                self._number, f"it is longer than {LINE_BYTES >> 20} MB; the rest of the file was not read"
            )
            return False
        self._line(self._number, self._offset, raw, whole=whole)
        self._offset += len(raw)
        return True

    def end(self) -> None:
        """Tell what the end of the file shows."""
        if self._strange > STRANGE:
            self.tell(None, f"{self._strange - STRANGE} more lines are none of a loopbook export")
        if not self._number:
            self.tell(None, "the file is empty")
        elif self._begun:
            self.tell(
                self._number, "the file ends without its end line: it was cut, or is still being written"
            )
            if self._open is not None:
                self._refuse(self._number, self._open, "its end may be missing")

    def _line(self, number: int, offset: int, raw: bytes, *, whole: bool) -> None:
        text = raw.rstrip(b"\n")
        if number == 1 and text.startswith(_BOM):
            self.notes.append(Problem(1, "a byte order mark was passed over"))
            text, offset = text[len(_BOM) :], offset + len(_BOM)
        if text.endswith(b"\r"):
            text = text[:-1]
            if not self._crlf:
                self._crlf = True
                self.notes.append(Problem(number, "lines end with CRLF; the line ends were passed over"))
        if not text.strip():
            return
        if text.startswith(b'{"loopbook"'):
            self._mark(number, text)
            return
        try:
            row, damaged = line_in(text)
        except NotALine as wrong:
            self._none(number, f"{wrong}" if whole else f"{wrong}: the file ends in the middle of it")
            return
        if not self._begun:
            self.tell(number, "a head line should come first")
            self._begun = True
        self._entries += 1
        self._open = row.originator_id
        self._row(number, offset, row, damaged=damaged)

    def _none(self, number: int, what: str) -> None:
        """A line that no export wrote."""
        self._strange += 1
        if self._strange <= STRANGE:
            self.tell(number, what)

    def _mark(self, number: int, text: bytes) -> None:
        """A head or end line."""
        try:
            mark = from_json(text)
        except ValueError:
            mark = {}
        sort, version, entries = (mark.get(name) for name in ("loopbook", "version", "entries"))
        if sort == "books" and type(version) is int:
            if version > FORMAT:
                raise NewerExport(
                    f"line {number}: a newer loopbook wrote this file (format {str(version)[:20]}, and this"
                    f" one reads up to {FORMAT}); nothing was written; upgrade loopbook to read it"
                )
            self._begun, self._entries = True, 0
        elif sort == "end":
            if entries != self._entries:
                counted = f"which counts {str(entries)[:20]}"
                self.tell(number, f"{self._entries} entries came before this end line, {counted}")
            self._begun, self._open = False, None
        else:
            self._none(number, str(NotALine()))

    def _row(self, number: int, offset: int, row: Row, *, damaged: bool) -> None:
        stream = row.originator_id
        if stream in self._bad:
            return
        try:
            entry = _entry(row)
        except Unsound as wrong:
            was = " was exported as damaged" if damaged else ""
            self._refuse(number, stream, f"seq {row.originator_version}{was}: {wrong}")
            return
        part = self.parts.get(stream)
        if part is None:
            part = Part(stream, number, entry)
            if refusal := _cannot_begin(part):
                self._refuse(number, stream, refusal)
                return
            self.parts[stream] = part
        if part.has(entry):
            return
        if entry.seq != part.last + 1 or entry.prev != part.sum:
            self._refuse(number, stream, f"seq {entry.seq} does not follow seq {part.last}")
            return
        part.add(entry, offset, number)

    def _refuse(self, number: int, stream: str, why: str) -> None:
        """A stream of which one line is bad is not written at all; its first bad line is told."""
        self._bad.add(stream)
        self.parts.pop(stream, None)
        self.tell(number, why, stream)


def _entry(row: Row) -> Entry:
    if not 1 <= row.originator_version <= LAST:
        raise Unsound("it is no seq that a store can hold")
    return verified(row)


def _cannot_begin(part: Part) -> str:
    """Why a stream cannot be taken, by its name or its first entry; "" where it can."""
    if part.stream == CATALOGUE or part.stream.startswith("once:"):
        return "it follows from other entries, and is never imported"
    if not is_name(part.stream):
        return "no loop, session or guard can have this name"
    if part.parent is not None and not is_name(part.parent):
        return "it is a fork of what no loop, session or guard can be named"
    if part.first != 1 and part.parent is None:
        return f"it begins with seq {part.first}, and is no fork from there"
    if part.first == 1 and part.prev:
        return "seq 1 follows an entry that is not there"
    return ""
