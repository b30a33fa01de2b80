"""Bringing books back from JSON Lines: everything verified before anything is written.

Theory. The file is read twice. The first time each line is verified (its ``sum``, the chain of its
stream), and remembered is only where each stream's lines lie, with 32 bytes for each entry; so a
stream with a bad line is known to be bad before any of it is written. (A stream that merely lost its
last lines is still a book, a shorter one; that some are missing is told by the end line.) The
second time one stream after the other is written as one transaction, parents before their forks,
row by row as it is read. With the rows go the reservations that their keys need and what the
catalogue must say.

Bringing the same rows again changes nothing; a stream that goes on from what the store has is gone
on with; other rows under the same name are refused, and named. What is refused leaves the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import BinaryIO, NamedTuple

from pydantic_core import from_json

from loopbook.book import CATALOGUE, Book, reservation
from loopbook.book.lineage import used_before
from loopbook.book.reading import Place
from loopbook.book.snapshots import Stand
from loopbook.book.streams import catalogued, reserves
from loopbook.entry import Entry, decode, holds, sum_in
from loopbook.errors import DamagedEntry, NewerExport
from loopbook.events import Catalogued, Forked, Reserved
from loopbook.projections import EMPTY
from loopbook.store import IntegrityError, Row
from loopbook.upkeep.transfer import FORMAT, NotALine, row_of

#: No line is longer: an entry is bounded by what a run may hold, a few megabytes at most.
LINE_BYTES = 64 << 20
#: Rows of the store compared at once.
CHUNK = 1_000
#: Attempts to write a stream while others write to the store.
ATTEMPTS = 20
_PREFIXES = ("loop:", "session:", "guard:")
_BOM = b"\xef\xbb\xbf"


class Problem(NamedTuple):
    """What could not be taken, and the 1-based line that shows it (``None``: the whole file)."""

    line: int | None
    what: str


class Imported(NamedTuple):
    """Entries written by stream; 0 for a stream that the store had already."""

    streams: dict[str, int]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()


class _Refused(Exception):
    """A stream that cannot be written, and the line that shows why."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class _Part:
    """A stream of the file: where its lines lie, and what is known of them."""

    def __init__(self, stream: str, line: int, entry: Entry) -> None:
        self.stream = stream
        self.line = line
        self.at: datetime = entry.at
        self.first = entry.seq
        self.last = entry.seq - 1
        self.sum = entry.prev
        event = entry.event
        self.parent = event.from_ if isinstance(event, Forked) and entry.seq == event.version + 1 else None
        self.runs: list[list[int]] = []  # offset, first line, lines
        self._sums = bytearray()

    def has(self, entry: Entry) -> bool:
        """Whether this very entry came before: two exports in one file may share a parent."""
        at = 32 * (entry.seq - self.first)
        return at >= 0 and self._sums[at : at + 32] == bytes.fromhex(entry.sum)

    def add(self, entry: Entry, offset: int, line: int) -> None:
        """Remember one more line; lines that follow each other are one run."""
        self.last, self.sum = entry.seq, entry.sum
        self._sums += bytes.fromhex(entry.sum)
        run = self.runs[-1] if self.runs else None
        if run is not None and line == run[1] + run[2]:
            run[2] += 1
        else:
            self.runs.append([offset, line, 1])


def import_lines(book: Book, file: BinaryIO) -> Imported:
    """Bring the books of a seekable file into a store. Raises ``NewerExport`` and ``StoreError``."""
    reading = _Reading(file)
    reading.all()
    written: dict[str, int] = {}
    waiting = sorted(reading.parts.values(), key=lambda part: (part.at, part.line))
    while waiting:
        # A fork waits for its parent as long as that is still to be written.
        names = {part.stream for part in waiting}
        ready = [part for part in waiting if part.parent not in names] or waiting[:1]
        for part in ready:
            try:
                written[part.stream] = _bring(book, file, part)
            except _Refused as wrong:
                reading.tell(wrong.line, f"nothing of {part.stream} was written: {wrong}")
        waiting = [part for part in waiting if part not in ready]
    problems = sorted(reading.problems, key=lambda one: one.line or 0)
    return Imported(written, tuple(problems), tuple(reading.notes))


# --- the first time: verified --------------------------------------------------------------


class _Reading:
    """The first reading of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.parts: dict[str, _Part] = {}
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self._bad: set[str] = set()
        self._entries = 0  # since the last head
        self._begun = self._crlf = False
        self._open: str | None = None  # the stream of the last line, while no end line has come

    def tell(self, line: int | None, what: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(line, what))

    def all(self) -> None:
        """Read all lines."""
        self._file.seek(0)
        offset, number, whole = 0, 0, True
        while raw := self._file.readline(LINE_BYTES):
            number += 1
            whole = raw.endswith(b"\n")
            if not whole and len(raw) == LINE_BYTES:
                self.tell(
                    number, f"it is longer than {LINE_BYTES >> 20} MB; the rest of the file was not read"
                )
                break
            self._line(number, offset, raw, whole=whole)
            offset += len(raw)
        if not number:
            self.tell(None, "the file is empty")
        elif self._begun:
            self.tell(number, "the file ends without its end line: it was cut, or is still being written")
            if self._open is not None:
                self._refuse(number, self._open, "its end may be missing")

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
            row = row_of(text)
        except NotALine as wrong:
            self.tell(number, f"{wrong}" if whole else f"{wrong}: the file ends in the middle of it")
            return
        if not self._begun:
            self.tell(number, "a head line should come first")
            self._begun = True
        self._entries += 1
        self._open = row.originator_id
        self._row(number, offset, row)

    def _mark(self, number: int, text: bytes) -> None:
        """A head or end line."""
        try:
            mark = from_json(text)
        except ValueError:
            mark = {}
        sort = mark.get("loopbook")
        if sort == "books" and isinstance(mark.get("version"), int):
            if mark["version"] > FORMAT:
                raise NewerExport(
                    f"line {number}: a newer loopbook wrote this file (format {mark['version']}, and this one"
                    f" reads up to {FORMAT}); nothing was written; upgrade loopbook to import it"
                )
            self._begun, self._entries = True, 0
        elif sort == "end":
            if mark.get("entries") != self._entries:
                self.tell(
                    number,
                    f"{self._entries} entries came before this end line, which counts {mark.get('entries')}",
                )
            self._begun, self._open = False, None
        else:
            self.tell(number, "is not a line of a loopbook export")

    def _row(self, number: int, offset: int, row: Row) -> None:
        stream = row.originator_id
        if stream in self._bad:
            return
        try:
            entry = _verified(row)
        except NotALine as wrong:
            self._refuse(number, stream, str(wrong))
            return
        part = self.parts.get(stream)
        if part is None:
            part = _Part(stream, number, entry)
            if not stream.startswith(_PREFIXES):
                self._refuse(number, stream, "such a stream is never imported")
                return
            if entry.seq != 1 and part.parent is None:
                self._refuse(number, stream, f"seq 1 to {entry.seq - 1} are missing")
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
        self.tell(number, f"nothing of {stream} was written: {why}")


def _verified(row: Row) -> Entry:
    try:
        if holds(*row):
            return decode(*row)
    except (DamagedEntry, UnicodeEncodeError):
        pass
    raise NotALine(f"seq {row.originator_version} is damaged, its sum is not that of the line")


# --- the second time: written -----------------------------------------------------------------


def _rows(file: BinaryIO, part: _Part) -> Iterator[tuple[int, Row]]:
    """The rows of a stream, each with its line."""
    for offset, first, lines in part.runs:
        file.seek(offset)
        for number in range(first, first + lines):
            try:
                yield number, row_of(file.readline(LINE_BYTES).rstrip(b"\r\n"))
            except NotALine as wrong:
                raise _Refused(number, f"the file changed while it was read: {wrong}") from None


def _bring(book: Book, file: BinaryIO, part: _Part) -> int:
    """Write what the store does not have of a stream, all of it or nothing; how many entries."""
    for _ in range(ATTEMPTS):
        known = _known(book, file, part)
        if known >= part.last:
            return 0
        if known < part.first:
            _look_at_parent(book, file, part)
        added = (row for _, row in islice(_rows(file, part), max(known + 1 - part.first, 0), None))
        try:
            book.records.rows.load(_Derived(book, part).rows(added))
        except IntegrityError:
            continue  # somebody wrote to this stream or the catalogue meanwhile: look again
        return part.last - max(known, part.first - 1)
    raise _Refused(
        part.line, "its keys are reserved already, or the store is too busy; see: loopbook store fsck"
    )


def _known(book: Book, file: BinaryIO, part: _Part) -> int:
    """Up to which seq the store has the very rows of the file (or more); refused for other rows."""
    newest, _ = book.head(part.stream)
    if not newest:
        return 0
    ours: Iterator[Row] = iter(())
    version = part.first - 1
    for number, row in _rows(file, part):
        if row.originator_version > newest:
            break
        mine = next(ours, None)
        if mine is None:
            ours = iter(book.records.rows.select_events(part.stream, gt=version, limit=CHUNK))  # type: ignore[arg-type]  # our rows
            mine = next(ours, None)
        if mine != row:
            raise _Refused(number, f"the store has another seq {row.originator_version} of it")
        version = row.originator_version
    return newest


def _look_at_parent(book: Book, file: BinaryIO, part: _Part) -> None:
    if part.parent is None:
        return
    version = part.first - 1
    found = book.records.rows.select_events(part.parent, gt=version - 1, lte=version)
    number, row = next(_rows(file, part))
    if not found:
        raise _Refused(number, f"it is a fork of {part.parent} seq {version}, which the store does not have")
    if sum_in(found[0].state) != decode(*row).prev:
        raise _Refused(number, f"it is a fork of another {part.parent} seq {version} than the store's")


class _Derived:
    """The rows of a stream with what follows from them, made while they are written."""

    def __init__(self, book: Book, part: _Part) -> None:
        self._book = book
        self._named: set[str] = set()
        self._parent = Place()
        self._forebears: tuple[Stand, ...] = ()
        if part.parent is not None:
            version = part.first - 1
            self._parent = book.place_at(part.parent, version)
            self._forebears = (Stand(part.parent, version, self._parent.sum), *self._parent.forebears)

    def rows(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Each row, its reservations behind it, and at the end what the catalogue must say."""
        said: list[tuple[Entry, Catalogued]] = []
        for row in rows:
            yield row
            entry = decode(*row)
            yield from self._reservations(entry)
            if (event := catalogued(entry.stream, entry.event, self._parent.state)) is not None:
                said.append((entry, event))
        version, digest = self._book.head(CATALOGUE) if said else (0, "")
        for seq, (entry, event) in enumerate(said, version + 1):
            row = self._row(Entry(CATALOGUE, seq, event, entry.at, entry.session, prev=digest))
            digest = sum_in(row.state)
            yield row

    def _reservations(self, entry: Entry) -> Iterator[Row]:
        for what, key in reserves(EMPTY, entry):
            if what == "finding":  # may stand, and then it was reserved when it was named first
                if key in self._named or self._stood(entry.stream, key):
                    continue
                self._named.add(key)
            reserved = Reserved(what=what, stream=entry.stream, seq=entry.seq)
            yield self._row(Entry(reservation(entry.stream, what, key), 1, reserved, entry.at, entry.session))

    def _stood(self, stream: str, finding: str) -> bool:
        """Whether the store has a finding already, of this stream or one that it was forked from."""
        rows, names = self._book.records.rows, [reservation(stream, "finding", finding)]
        return bool(rows.taken(names) or used_before(rows, self._forebears, stream, names))

    def _row(self, entry: Entry) -> Row:
        return self._book.records.codec.row(entry)
