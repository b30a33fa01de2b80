"""Whether a store is what its writers wrote: every row, every chain, and all that follows from them.

Theory. The store is read through once, as of one moment, and nothing is kept but a few words a stream.

- *A row* vouches for itself: its ``sum`` is over its place, type and bytes (``loopbook.entry``).
- *A stream* hangs together: versions from 1 without a gap, each ``prev`` the ``sum`` before it. A
  fork begins after its parent's entry, whose ``sum`` is its first ``prev``.
- *What is derived* is derived again: the reservations of a stream from its entries, what the
  catalogue says of a loop from its book, a snapshot from a fold. Reservations are as many as keys
  are, so they are not remembered but added up: every key that the entries name is counted in under
  a digest, every reservation out, and only where something is left the store is read once more.

A chain cannot show that its end was cut off, nor that somebody wrote it anew from some point. Who
notes the ``sum`` of a newest entry elsewhere (``loop list --json`` prints them) can ask for it here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple

from loopbook.book import CATALOGUE, Book, reservation
from loopbook.book.snapshots import unpack
from loopbook.book.streams import catalogued, reserves
from loopbook.entry import Entry, decode, holds, sum_in
from loopbook.errors import DamagedEntry, LoopbookError
from loopbook.events import Catalogued, Forked, LoopOpened, Reserved, Scrubbed
from loopbook.projections import EMPTY, evolve
from loopbook.projections.state import TEXT_CHARS
from loopbook.run import PROMPT_CHARS
from loopbook.store import Row, Stored

_COPY = "bring the row back from a copy or an export of the store"
_CUT = "bring what is missing back from a copy or an export of the store"
_UNUSED = "remove it with: loopbook store vacuum; the entries are folded without it"
_DIGEST = 1 << 128


class Finding(NamedTuple):
    """Something that is not as it was written; ``seq`` is ``None`` where it concerns the whole stream."""

    stream: str
    seq: int | None
    what: str
    remedy: str


class Report(NamedTuple):
    """What was looked at, what was found, and what is worth knowing though it is no damage."""

    streams: int
    rows: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


class Head(NamedTuple):
    """A newest entry's ``sum``, noted earlier; of any stream where none is named."""

    sum: str
    stream: str | None = None


def fsck(book: Book, heads: Iterable[Head] = ()) -> Report:
    """Look through the whole store of a book.

    >>> from loopbook.loop import Books
    >>> books = Books.open("memory:")
    >>> _ = books.start("chore", "Tidy the imports", id="tidy")
    >>> fsck(books.book)
    Report(streams=3, rows=3, findings=(), notes=())
    """
    look = Look(tuple(heads))
    for stored in book.records.rows.scan():
        look.at(stored)
    look.at_forks(book)
    look.at_catalogue()
    look.at_heads()
    if wrong := look.keys_left():
        look.findings += _differences(book, wrong, look)
    for stream, rows in look.snapshots.items():
        look.findings += _snapshots(book, stream, rows)
    return Report(len(look.newest), look.rows, tuple(look.findings), tuple(look.notes))


class _Fork(NamedTuple):
    stream: str
    parent: str
    version: int
    prev: str


class Look:
    """One pass over the rows of a store, in the order of stream and version."""

    def __init__(self, heads: tuple[Head, ...] = ()) -> None:
        self.rows = 0
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.newest: dict[str, tuple[int, str]] = {}
        self.forks: dict[str, _Fork] = {}
        self.snapshots: dict[str, list[Row]] = defaultdict(list)
        self.named: dict[str, dict[str, int]] = defaultdict(dict)  # findings: where each was named first
        self._opened: dict[str, LoopOpened] = {}
        self._keys: dict[str, int] = defaultdict(int)
        self._said: dict[str, list[Catalogued]] = defaultdict(list)  # what the catalogue says of a loop
        self._told: dict[str, list[Catalogued]] = defaultdict(list)  # and what its book does
        self._heads = list(heads)

    def find(self, stream: str, seq: int | None, what: str, remedy: str) -> None:
        """Note a finding."""
        self.findings.append(Finding(stream, seq, what, remedy))

    def at(self, stored: Stored) -> None:
        """Look at one more row."""
        row = stored.row
        if stored.snapshot:
            self.snapshots[row.originator_id].append(row)
            return
        self.rows += 1
        entry = self._entry(row, typed=stored.typed)
        if row.originator_id.startswith("once:"):
            self.newest.setdefault(row.originator_id, (row.originator_version, ""))
            if entry is not None:
                self._reservation(entry)
        else:
            self._chain(row, entry)
            if entry is not None:
                self._derive(entry)

    def _entry(self, row: Row, *, typed: bool) -> Entry | None:
        """The entry of a row, if it can be read; where the row does not vouch for it, that is found."""
        stream, version, _, state = row
        try:
            sound = typed and holds(*row)
        except UnicodeEncodeError:
            sound = False
        if not sound:
            self.find(stream, version, "its sum is not that of the row: it was edited or moved", _COPY)
        try:
            entry = decode(*row)
        except DamagedEntry as wrong:
            if sound:
                self.find(stream, version, str(wrong).split("; ", maxsplit=1)[0], _COPY)
            return None
        if sound:
            self._look_for(stream, sum_in(state))
        return entry

    def _look_for(self, stream: str, digest: str) -> None:
        if self._heads:
            self._heads = [
                head for head in self._heads if head.sum != digest or head.stream not in {None, stream}
            ]

    def _chain(self, row: Row, entry: Entry | None) -> None:
        stream, version, topic, state = row
        before, digest = self.newest.get(stream, (0, ""))
        begins = before == 0
        if begins and entry is not None and topic == "forked" and version > 1:
            self._fork(entry)
        elif version != before + 1:
            gap = (
                f"seq {before + 1} is" if version == before + 2 else f"seq {before + 1} to {version - 1} are"
            )
            self.find(stream, before + 1, f"{gap} missing before seq {version}", _CUT)
        elif entry is not None and entry.prev != digest:
            what = f"it does not follow the entry before it: seq {before} was written anew or another one"
            self.find(stream, version, what if before else "it follows an entry that is not there", _COPY)
        self.newest[stream] = version, sum_in(state)

    def _fork(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Forked) and event.version == entry.seq - 1:
            self.forks[entry.stream] = _Fork(entry.stream, event.from_, event.version, entry.prev)
        else:
            self.find(entry.stream, entry.seq, "it begins with a fork that says another seq", _COPY)

    def _derive(self, entry: Entry) -> None:
        """Count in what follows from an entry."""
        for what, key in reserves(EMPTY, entry):
            if what == "finding":
                self.named[entry.stream].setdefault(key, entry.seq)
            else:
                self._count(entry.stream, reservation(entry.stream, what, key), entry.seq)
        said = entry.event if isinstance(entry.event, Catalogued) else None
        if said is not None and entry.stream == CATALOGUE:
            self._said[said.loop].append(said)
        elif (told := catalogued(entry.stream, entry.event)) is not None:
            self._told[told.loop].append(told)
        if isinstance(entry.event, LoopOpened):
            self._opened.setdefault(entry.stream, entry.event)
        if isinstance(entry.event, Scrubbed):
            self._scrubbed(entry.stream, entry.seq, entry.event)

    def _scrubbed(self, stream: str, seq: int, event: Scrubbed) -> None:
        for head in [*self._heads]:
            if head.sum == event.before and head.stream in {None, stream}:
                self._heads.remove(head)
                self.notes.append(
                    f"the head {head.sum} of {stream} is from before texts were scrubbed (told at seq {seq});"
                    f" the same entry now has {event.after}"
                )

    def _reservation(self, entry: Entry) -> None:
        event = entry.event
        if (
            not isinstance(event, Reserved)
            or entry.seq != 1
            or not entry.stream.startswith(f"once:{event.stream}:{event.what}:")
        ):
            self.find(entry.stream, entry.seq, "it is no reservation of what its name says", _COPY)
        else:
            self._count(event.stream, entry.stream, event.seq, -1)

    def _count(self, stream: str, name: str, seq: int, sign: int = 1) -> None:
        digest = blake2b(f"{seq} {name}".encode(errors="surrogateescape"), digest_size=16).digest()
        self._keys[stream] = (self._keys[stream] + sign * int.from_bytes(digest, "big")) % _DIGEST

    # --- after the last row -----------------------------------------------------------------

    def at_forks(self, book: Book) -> None:
        """Whether each fork goes on from an entry that is there, and the findings that are its own."""
        for fork in self.forks.values():
            try:
                rows = book.records.rows.select_events(fork.parent, gt=fork.version - 1, lte=fork.version)
            except DamagedEntry:
                continue  # which is found already
            if not rows:
                what = f"{fork.parent} seq {fork.version}, from which it was forked, is not there"
                self.find(fork.stream, fork.version + 1, what, _CUT)
            elif sum_in(rows[0].state) != fork.prev:
                what = f"{fork.parent} seq {fork.version}, from which it was forked, was written anew"
                self.find(fork.stream, fork.version + 1, what, _COPY)
        for stream in self.named:
            for key, seq in self.own_findings(stream).items():
                self._count(stream, reservation(stream, "finding", key), seq)

    def own_findings(self, stream: str) -> Mapping[str, int]:
        """The findings that a stream named first, and where: not those that stood before a fork."""
        own, fork, passed = dict(self.named[stream]), self.forks.get(stream), {stream}
        while fork is not None and fork.parent not in passed:
            before = self.named.get(fork.parent, {})
            own = {key: seq for key, seq in own.items() if before.get(key, fork.version + 1) > fork.version}
            passed.add(fork.parent)
            fork = self.forks.get(fork.parent)
        return own

    def keys_left(self) -> set[str]:
        """The streams whose reservations are not those of their entries."""
        return {stream for stream, left in self._keys.items() if left}

    def at_catalogue(self) -> None:
        """Whether the catalogue says of every loop what its book does."""
        for loop in sorted({*self._said, *self._told}):
            said = _since_forgotten(self._said.get(loop, []))
            told = [self._of_parent(event) for event in self._told.get(loop, [])]
            if said == told:
                continue
            if not told:
                what = f"it lists the loop {loop}, whose book is not there"
                remedy = f"bring the book back, or run: loopbook store forget {loop} --yes"
            else:
                what = f"what it says of the loop {loop} is not what its book does"
                remedy = "bring the catalogue back from a copy; the loop's own book is not touched by this"
            self.find(CATALOGUE, None, what, remedy)

    def _of_parent(self, event: Catalogued) -> Catalogued:
        """What a book says of itself; a fork says it in its parent's words."""
        stream, passed = f"loop:{event.loop}", set[str]()
        while event.parent is not None and (fork := self.forks.get(stream)) and stream not in passed:
            passed.add(stream)
            stream = fork.parent
            if (opened := self._opened.get(stream)) is not None:
                words = {"kind": opened.kind[:TEXT_CHARS], "intent": opened.intent[:PROMPT_CHARS]}
                return event.model_copy(update=words)
        return event

    def at_heads(self) -> None:
        """Whether every head noted elsewhere was met."""
        for head in self._heads:
            what = (
                f"no entry has the sum {head.sum}, noted elsewhere: its end was cut, or it was written anew"
            )
            self.find(head.stream or "store", None, what, _CUT)


def _since_forgotten(said: list[Catalogued]) -> list[Catalogued]:
    """What the catalogue says of a loop that is there: since it was last forgotten, scrubbing left out."""
    changes = [event.change for event in said]
    start = len(changes) - changes[::-1].index("forgotten") if "forgotten" in changes else 0
    return [event for event in said[start:] if event.change != "scrubbed"]


def _differences(book: Book, streams: set[str], look: Look) -> Iterator[Finding]:
    """Which reservations are missing, and which are of nothing, in streams where the count is not even."""
    due: dict[str, tuple[str, int]] = {}
    for stream in sorted(streams):
        for key, seq in look.own_findings(stream).items():
            due[reservation(stream, "finding", key)] = stream, seq
    there: dict[str, tuple[str, int]] = {}
    for _, row, _typed in book.records.rows.scan():
        try:
            entry = decode(*row)
        except DamagedEntry:
            continue
        if isinstance(entry.event, Reserved) and row.originator_id.startswith("once:"):
            if entry.event.stream in streams:
                there[entry.stream] = entry.event.stream, entry.event.seq
        elif entry.stream in streams:
            for what, key in reserves(EMPTY, entry):
                if what != "finding":
                    due.setdefault(reservation(entry.stream, what, key), (entry.stream, entry.seq))
    for name in sorted(due.keys() | there.keys()):
        yield from _difference(name, due.get(name), there.get(name))


def _difference(name: str, due: tuple[str, int] | None, there: tuple[str, int] | None) -> Iterator[Finding]:
    if due is not None and there is None:
        yield Finding(due[0], due[1], f"its reservation {name} is not there", _COPY)
    elif due is None and there is not None:
        yield Finding(name, 1, f"it reserves for {there[0]} seq {there[1]} what no entry there uses", _COPY)
    elif due != there and due is not None and there is not None:
        yield Finding(
            name, 1, f"it is of {there[0]} seq {there[1]}, and {due[0]} seq {due[1]} uses it", _COPY
        )


def _snapshots(book: Book, stream: str, rows: list[Row]) -> Iterator[Finding]:
    """Whether the snapshots of a stream hold what the fold of its entries gives."""
    wanted: dict[int, Row] = {}
    for row in rows:
        try:
            sound = holds(*row)
        except UnicodeEncodeError:
            sound = False
        snapshot = unpack(row) if sound else None
        if not sound:
            yield Finding(stream, row.originator_version, "a snapshot was edited or moved", _UNUSED)
        elif snapshot is not None:
            wanted[row.originator_version] = row
    if not wanted:
        return
    state = EMPTY
    try:
        for entry in book.entries(stream):
            state = evolve(state, entry)
            row_here = wanted.pop(entry.seq, None)
            snapshot = unpack(row_here) if row_here else None
            if snapshot is not None and (snapshot.stands[0].sum != entry.sum or snapshot.state != state):
                yield Finding(stream, entry.seq, "a snapshot is not the fold of the entries", _UNUSED)
            if not wanted:
                return
    except LoopbookError:
        pass  # the rows have their own findings
    for version in wanted:
        yield Finding(stream, version, "a snapshot is of entries that are not there", _UNUSED)
