"""Rows with other texts, and all that must follow in their chains.

Theory. A changed row has another ``sum``, so every later row's ``prev`` and ``sum`` in the stream,
and in every fork that reads through it, are written anew. That cannot be told from forgery by the
rows themselves, hence each of these streams says it in a last entry, ``scrubbed``, with the
sums that its rows had before (``heads``). A row that is not sound is never written anew: it would look so.

A stream whose name must change is written under its new name and removed under the old one. Where
the old one ends is said by a row that is added to it, and removed with it: whoever writes to it
meanwhile is seen. A reservation whose key or stream has another name gets its new name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from loopbook.book import Book, reservation
from loopbook.book.streams import reserves
from loopbook.encoding import decode, encode_reserved
from loopbook.entry import Entry
from loopbook.errors import CannotScrub
from loopbook.events import Event, Reserved, Scrubbed
from loopbook.projections import EMPTY
from loopbook.sealing import prev_in, sum_in
from loopbook.store import Row
from loopbook.upkeep.family import Fork, streams
from loopbook.upkeep.heads import kept
from loopbook.upkeep.rows import Unsound, row_at, rows_of, sealed, verified

Key = tuple[str, int]


class End(NamedTuple):
    """Where a stream ended before it was written anew, and the ``sum`` it ends with now."""

    version: int
    before: str
    after: str


class Rewriting:
    """What is to be written, gathered stream by stream, parents before their forks.

    ``take`` gives a row with other texts, or as it is; ``names`` are the streams with another name.
    """

    def __init__(
        self,
        book: Book,
        forks: Mapping[str, Fork],
        names: Mapping[str, str],
        take: Callable[[Row], Row],
    ) -> None:
        self._store, self._codec = book.records.rows, book.records.codec
        self._forks, self._names, self._take = forks, names, take
        self.texts: dict[str, list[int]] = {}  # by stream, the rows with other texts
        self.anew: dict[Key, Row] = {}  # by where they stand now, all rows that are written anew
        self.ends: dict[str, End] = {}
        self._sums: dict[str, list[str]] = {}  # by stream, what those of the rows written anew were
        self.added: list[Row] = []
        self.gone: list[str] = []
        self._reserved: list[Row] = []

    @property
    def replaced(self) -> list[Row]:
        """The rows that stay where they are with other bytes."""
        return [*(row for key, row in self.anew.items() if key == row[:2]), *self._reserved]

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that were written anew, by their new names."""
        return tuple(self.name(stream) for stream in self.ends)

    def name(self, stream: str) -> str:
        """The name that a stream has afterwards."""
        return self._names.get(stream, stream)

    def anchor(self, stream: str, upto: int | None = None) -> None:
        """Seal a stream anew from its first changed row on."""
        version, before, after, anew = 0, "", "", False
        for row in rows_of(self._store, stream, upto):
            new = self._take(row)
            old_prev = prev_in(row.state)
            prev = after if version else self._parent_sum(stream, old_prev)
            if new != row:
                self.texts.setdefault(stream, []).append(row.originator_version)
            if new != row or prev != old_prev or stream in self._names:
                _must_be_sound(row, before if version else old_prev)
                anew = True
                self._sums.setdefault(stream, []).append(sum_in(row.state))
                new = sealed(new._replace(originator_id=self.name(stream)), prev)
                self.anew[row[:2]] = new
            version, before, after = row.originator_version, sum_in(row.state), sum_in(new.state)
        if anew:
            self.ends[stream] = End(version, before, after)

    def _parent_sum(self, stream: str, prev: str) -> str:
        """The ``prev`` of a stream's first row: in a fork, its parent's ``sum`` there, perhaps a new one."""
        fork = self._forks.get(stream)
        row = None if fork is None else self.anew.get((fork.parent, fork.version))
        return prev if row is None else sum_in(row.state)

    def say(self, now: datetime, session: str, reason: str, *, named: Callable[[str], str]) -> None:
        """Let each stream say that it was written anew; ``named`` takes the text out of a stream's name."""
        for stream, end in self.ends.items():
            of = self._source(stream)
            seqs = tuple(self.texts.get(of, ()))
            source, before = named(self.name(of)), end.before
            sums = kept(self._sums[stream])
            event = Scrubbed(of=source, seqs=seqs, reason=reason, before=before, after=end.after, sums=sums)
            self.append(stream, event, now, session)
            if stream in self._names:
                self._leave(stream, event, now)

    def append(self, stream: str, event: Event, now: datetime, session: str) -> None:
        """Add an entry to a stream that was written anew."""
        end = self.ends[stream]
        row = self._codec.row(Entry(self.name(stream), end.version + 1, event, now, session, prev=end.after))
        self.added.append(row)
        self.ends[stream] = End(end.version + 1, end.before, sum_in(row.state))

    def _leave(self, stream: str, event: Event, now: datetime) -> None:
        """Remove a stream under its old name, where it ends as it was read."""
        self.added += [row for key, row in self.anew.items() if key[0] == stream]
        end = self.ends[stream]
        self.added.append(self._codec.row(Entry(stream, end.version, event, now, prev=end.before)))
        self.gone += [stream, *streams(self._store, f"once:{stream}:")]

    def _source(self, stream: str) -> str:
        """The stream whose changed texts are why this one was written anew: itself, or one before it."""
        while stream not in self.texts and (fork := self._forks.get(stream)) is not None:
            stream = fork.parent
        return stream

    # --- reservations ----------------------------------------------------------------------------

    def reserve(self) -> None:
        """Give reservations their new names and bytes."""
        for stream in self.ends:
            every = stream in self._names
            for version in self._versions(stream) if every else self.texts.get(stream, ()):
                row = row_at(self._store, stream, version)
                if row is not None:
                    self._rename(decode(*row), decode(*self.anew[stream, version]))

    def _versions(self, stream: str) -> Iterator[int]:
        return (key[1] for key in self.anew if key[0] == stream)

    def _rename(self, old: Entry, new: Entry) -> None:
        for (what, key), (_, new_key) in zip(reserves(EMPTY, old), reserves(EMPTY, new), strict=True):
            name, new_name = (
                reservation(entry.stream, what, one) for entry, one in ((old, key), (new, new_key))
            )
            there = row_at(self._store, name, 1)
            event = decode(*there).event if there else None
            if there is None or not isinstance(event, Reserved) or event.seq != old.seq:
                continue  # a finding that was named before
            kept = Row(new_name, 1, "reserved", encode_reserved(new, new_name, what))
            if new_name != name:
                self.gone.append(name)
                self.added.append(kept)
            elif kept != there:
                self._reserved.append(kept)


def _must_be_sound(row: Row, prev: str) -> None:
    try:
        sound = verified(row).prev == prev
    except Unsound:
        sound = False
    if not sound:
        raise CannotScrub(
            f"{row.originator_id} seq {row.originator_version} is damaged, and would look sound when it is"
            " written anew; nothing was written; see: loopbook store fsck"
        )
