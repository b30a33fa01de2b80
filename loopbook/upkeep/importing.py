"""Bringing books back from JSON Lines: everything verified before anything is written.

Theory. The file is read twice: once to verify it (``loopbook.upkeep.verifying``), and then one stream
after the other is written as one transaction, parents before their forks, row by row as it is read.
What appending asks is asked of each entry, on the state that it is folded into. With the rows go the
reservations that their keys need and what the catalogue must say.

What a stream is compared with is read first, the catalogue's head before all; whoever appends,
forgets, scrubs or imports meanwhile is seen by the store (``loopbook.store.footing``), and then it is
looked at again.

Bringing the same rows again changes nothing; a stream that goes on from what the store has is gone
on with; other rows under the same name are refused, and named. What is refused leaves the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import BinaryIO, NamedTuple

from loopbook.book import CATALOGUE, Book, look_at, reservation
from loopbook.book.folding import Place
from loopbook.book.lineage import DEEPEST, used_before
from loopbook.book.streams import What, catalogued, reserves
from loopbook.encoding import decode, encode_reserved
from loopbook.entry import Entry
from loopbook.errors import DamagedEntry, InvalidEvent, NoSuchLoop, Refused
from loopbook.events import Catalogued, Scrubbed
from loopbook.projections import Folding, take
from loopbook.sealing import sum_in
from loopbook.store import IntegrityError, Row, Stand
from loopbook.upkeep.attempts import attempts
from loopbook.upkeep.rows import head_of, row_at, rows_of
from loopbook.upkeep.transfer import NotALine, row_of
from loopbook.upkeep.verifying import LINE_BYTES, Part, Problem, verify

#: Reservations asked about at once.
ASKED = 500


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


def import_lines(book: Book, file: BinaryIO) -> Imported:
    """Bring the books of a seekable file into a store. Raises ``NewerExport`` and ``StoreError``."""
    file.seek(0)
    found = verify(iter(lambda: file.readline(LINE_BYTES), b""))
    written: dict[str, int] = {}
    for part in _in_order(found.parts):
        try:
            written[part.stream] = _Bringing(book, file, part).bring()
        except _Refused as wrong:
            found.tell(wrong.line, str(wrong), part.stream)
        except DamagedEntry as wrong:
            told = str(wrong).partition("; ")[0]
            found.tell(part.line, f"in the store, {told}", part.stream)
    problems = sorted(found.problems, key=lambda one: (one.line is None, one.line))
    return Imported(written, tuple(problems), tuple(found.notes))


def _in_order(parts: Mapping[str, Part]) -> Iterator[Part]:
    """The oldest first, each after the one that it is a fork of."""
    passed = set[str]()
    for part in sorted(parts.values(), key=lambda part: (part.at, part.line)):
        line: list[Part] = []
        here: Part | None = part
        while here is not None and here.stream not in passed:
            passed.add(here.stream)
            line.append(here)
            here = None if here.parent is None else parts.get(here.parent)
        yield from reversed(line)


class _Heads(NamedTuple):
    """What a stream is compared with, the first of it read first."""

    catalogue: tuple[int, str]
    stream: tuple[int, str]


class _Bringing:
    """One stream of the file on its way into the store."""

    def __init__(self, book: Book, file: BinaryIO, part: Part) -> None:
        self._book, self._file, self._part = book, file, part
        self._store = book.records.rows

    def bring(self) -> int:
        """Write what the store does not have of the stream, all of it or nothing; how many entries."""
        part = self._part
        for _ in attempts():
            heads = self._heads()
            known = heads.stream[0]
            if known:
                self._compare(known)
            if known >= part.last:
                return 0
            place = self._place(known)
            if place.version not in {known, part.first - 1}:
                continue  # it was forgotten meanwhile
            try:
                self._store.load(self._with_all(place, heads.catalogue))
            except IntegrityError:
                if self._heads() == heads:
                    self._look_at_keys(place)
                continue  # somebody wrote to this stream, its parent or the catalogue: look again
            return part.last - place.version
        raise _Refused(part.line, "others write to the store all the while; try again")

    def _heads(self) -> _Heads:
        return _Heads(head_of(self._book, CATALOGUE), self._book.head(self._part.stream))

    def _rows(self) -> Iterator[tuple[int, Row]]:
        """The rows of the stream, each with its line."""
        for offset, first, lines in self._part.runs:
            self._file.seek(offset)
            for number in range(first, first + lines):
                try:
                    row = row_of(self._file.readline(LINE_BYTES).rstrip(b"\r\n"))
                except NotALine:
                    row = None
                if row is None or not self._part.holds(row):
                    raise _Refused(number, "the file was changed while it was read")
                yield number, row

    def _rows_after(self, version: int) -> Iterator[tuple[int, Row]]:
        return islice(self._rows(), max(version + 1 - self._part.first, 0), None)

    # --- what the store has ------------------------------------------------------------------

    def _compare(self, newest: int) -> None:
        """Refuse the stream where the store's is another one; ``newest`` is the last that it has."""
        ours = rows_of(self._store, self._part.stream)
        for number, row in self._rows():
            if row.originator_version > newest:
                break
            if next(ours, None) != row:
                raise _Refused(number, f"the store has another seq {row.originator_version} of it")

    def _place(self, known: int) -> Place:
        """What the rows to be written go on from."""
        part = self._part
        if known:
            return self._book.place_at(part.stream, known)
        return Place() if part.parent is None else self._forked(part.parent, part.first - 1)

    def _forked(self, parent: str, version: int) -> Place:
        line = self._part.runs[0].line
        row = row_at(self._store, parent, version)
        if row is None:
            raise _Refused(line, f"it is a fork of {parent} seq {version}, which is not here")
        if sum_in(row.state) != self._part.prev:
            raise _Refused(line, f"it is a fork of another {parent} seq {version} than the store's")
        place = self._book.place_at(parent, version)
        if len(place.forebears) >= DEEPEST:
            raise _Refused(line, f"it is more than {DEEPEST} forks away from where it began")
        return place._replace(forebears=(Stand(parent, version, place.sum), *place.forebears))

    # --- what goes into it ---------------------------------------------------------------------

    def _with_all(self, place: Place, catalogue: tuple[int, str]) -> Iterator[Row]:
        """Each row, its reservations behind it, and at the end what the catalogue must say."""
        said: list[tuple[Entry, Catalogued]] = []
        used = _Used(self._book, place.forebears, self._part.stream)
        here = _Here(Folding(place.state), place.forebears)
        for number, row in self._rows_after(place.version):
            yield row
            entry = decode(*row)
            for what, name, _ in _keys(number, here, entry):
                used.note(number, name)
                yield Row(name, 1, "reserved", encode_reserved(entry, name, what))
            take(here.state, entry)
            if (event := catalogued(entry.stream, entry.event, here.state)) is not None:
                said.append((entry, event))
        used.look()
        version, digest = catalogue
        for seq, (entry, event) in enumerate(said, version + 1):
            listed = self._book.records.codec.row(
                Entry(CATALOGUE, seq, event, entry.at, entry.session, prev=digest)
            )
            digest = sum_in(listed.state)
            yield listed

    def _look_at_keys(self, place: Place) -> None:
        """Refuse the stream by the key that stands in the way, if one does."""
        lines: dict[str, tuple[int, str]] = {}
        here = _Here(Folding(place.state), place.forebears)
        for number, row in self._rows_after(place.version):
            entry = decode(*row)
            for what, name, key in _keys(number, here, entry):
                if name in lines:
                    raise _Refused(number, f"seq {entry.seq} uses the {what} {key[:80]!r} a second time")
                lines[name] = number, f"seq {entry.seq} uses the {what} {key[:80]!r}"
            take(here.state, entry)
        names = [*lines]
        for start in range(0, len(names), ASKED):
            for name in self._store.taken(names[start : start + ASKED]):
                number, use = lines[name]
                raise _Refused(number, f"{use}, which the store has reserved; see: loopbook store fsck")


class _Here(NamedTuple):
    """Where the next entry stands."""

    state: Folding
    forebears: tuple[Stand, ...]

    @property
    def version(self) -> int:
        """The version before it."""
        return self.state.version


def _keys(number: int, here: _Here, entry: Entry) -> Iterator[tuple[What, str, str]]:
    """What an entry reserves, once it is one that appending would take: what, its name, its key."""
    try:
        if not isinstance(entry.event, Scrubbed):  # which upkeep appends, to a closed loop too
            look_at(here, entry)
    except (Refused, InvalidEvent, NoSuchLoop) as wrong:
        refusal = str(wrong).partition(";")[0]
        raise _Refused(number, f"seq {entry.seq} could not have been appended: {refusal}") from None
    for what, key in reserves(here.state, entry):
        yield what, reservation(entry.stream, what, key), key


class _Used:
    """The keys of a fork, as far as it is not known yet whether its parents used them before it."""

    def __init__(self, book: Book, forebears: tuple[Stand, ...], stream: str) -> None:
        self._store, self._forebears, self._stream = book.records.rows, forebears, stream
        self._lines: dict[str, int] = {}

    def note(self, number: int, name: str) -> None:
        """A line uses the key of this reservation."""
        if self._forebears:
            self._lines[name] = number
            if len(self._lines) >= ASKED:
                self.look()

    def look(self) -> None:
        """Refuse the stream where one of them was used before the fork."""
        for name in used_before(self._store, self._forebears, self._stream, self._lines):
            what = name.removeprefix(f"once:{self._stream}:")[:100]
            raise _Refused(self._lines[name], f"{what!r} was used before the fork")
        self._lines = {}
