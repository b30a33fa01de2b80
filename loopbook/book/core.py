"""Appending to streams.

Theory. A state is only ever folded from what stands in the store: what is appended is decoded
again from its own bytes before it is folded, and what cannot be read back is refused before
anything is stored. Nobody holds a lock while writing.

*Appending is one attempt* at one version: admit, encode and fold each event in turn, then save all
rows at once, with what they reserve and what the catalogue and other streams must say. The primary
key refuses the save if any version of any row is taken, and the store if the row before is gone.
Then it is seen why: the stream has grown (``Stale``, or another attempt) or was forgotten
(``Stale``, ``NoSuchLoop``), a key was used before, or another stream has grown (another attempt).
No read is needed where nobody else writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from datetime import UTC, datetime
from typing import NamedTuple, cast

from eventsourcing.persistence import IntegrityError, StoredEvent

from loopbook.book.folding import Place, following, with_snapshot
from loopbook.book.hygiene import Hygiene
from loopbook.book.lineage import DEEPEST, lineage, used_before
from loopbook.book.reading import Reader
from loopbook.book.streams import CATALOGUE, What, begins, catalogued, reservation, reserves
from loopbook.entry import Draft, Entry, damaged, encode_and_read, encode_reserved, shares_unit, sum_in, utc
from loopbook.errors import AlreadyUsed, CannotFork, DamagedEntry, InvalidEvent, NoSuchLoop, Refused, Stale
from loopbook.events import BY_TYPE, Event, Forked
from loopbook.evidence.redaction import Redactor
from loopbook.projections.admission import admit
from loopbook.store import Row, Stand

_TYPE_WORD = re.compile(r"[a-z][a-z0-9_.-]{0,99}")

#: Told of a draft that could not be taken, so that the others may go on.
Tell = Callable[[Draft, Refused | InvalidEvent], None]


class _Asked(NamedTuple):
    """What a caller wants saved. ``used`` are reservations found taken since the first attempt."""

    stream: str
    drafts: tuple[Draft, ...]
    session: str
    also: Sequence[tuple[str, Draft]] = ()
    after: int | None = None
    tell: Tell | None = None
    used: frozenset[str] = frozenset()


class _Attempt:
    """One attempt: its entries, the place they lead to, all rows, and the keys that these reserve."""

    __slots__ = ("entries", "keys", "place", "refused", "rows")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.entries: list[Entry] = []
        self.rows: list[Row] = []
        self.keys: dict[str, What] = {}
        self.refused: list[tuple[Draft, Refused | InvalidEvent]] = []


class Book(Reader):
    """The streams of one store. Safe across threads; a forked process opens the store anew.

    ``clock`` gives the time of entries that bring none, ``redactor`` knows the secrets.

    >>> from loopbook.events import Task
    >>> book = Book("memory:")
    >>> book.append("guard:p", Draft(Task(text="look")), after=0)[0].seq
    1
    >>> book.append("guard:p", Draft(Task(text="again")), after=0)
    Traceback (most recent call last):
    loopbook.errors.Stale: guard:p has grown since version 0; nothing was appended. Catch up and decide again.
    """

    def __init__(
        self,
        url: str,
        *,
        redactor: Redactor | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(url)
        self._clock = clock
        self._hygiene = Hygiene(redactor or Redactor())

    def seen(self, stream: str, host_refs: Iterable[str]) -> set[str]:
        """Which of these host_refs a stream has already."""
        names = {reservation(stream, "host_ref", self._hygiene.text(ref)): ref for ref in host_refs}
        return {names[name] for name in self._taken(stream, names)}

    # --- appending ---------------------------------------------------------------------

    def append(
        self,
        stream: str,
        *drafts: Draft,
        after: int,
        session: str = "",
        also: Sequence[tuple[str, Draft]] = (),
    ) -> tuple[Entry, ...]:
        """Append if the stream still stands at version ``after``; all drafts, or none and an error.

        Drafts whose host_ref the stream has are skipped; what was written is returned. ``also``
        are drafts for other streams, saved at once with these whatever their versions are.
        Raises ``Stale``, ``Refused`` (see ``loopbook.projections.admission``) or ``InvalidEvent``, and
        ``NoSuchLoop`` where nothing stands at that version any more: the loop was forgotten.
        """
        self._look_over(drafts)
        return self._save(_Asked(stream, drafts, session, also, after=after))

    def record(
        self,
        stream: str,
        *drafts: Draft,
        session: str = "",
        also: Sequence[tuple[str, Draft]] = (),
        tell: Tell | None = None,
    ) -> tuple[Entry, ...]:
        """Append whatever else has been appended meanwhile; all drafts in one save, or none.

        Drafts whose host_ref the stream has are skipped. Raises ``Refused`` or ``InvalidEvent``
        for the first draft that cannot be taken, unless ``tell`` is there to be told of each:
        then the others go on. ``NoSuchLoop`` for a loop that is not there, or not any more.
        """
        if len(drafts) > 1:  # many are asked about at once; one is simply tried
            self._look_over(drafts)
            drafts = self._unseen(stream, drafts)
        return self._save(_Asked(stream, drafts, session, also, tell=tell))

    def fork(
        self,
        parent: str,
        version: int,
        stream: str,
        *,
        session: str = "",
        also: Sequence[tuple[str, Draft]] = (),
    ) -> Entry:
        """Begin a stream that goes on from a version of another one; its first entry is returned.

        Whoever reads it reads the first ``version`` entries of ``parent`` before its own, and what
        was used there once is used here. A version that stands in a parent of ``parent`` is forked
        from there. Raises ``CannotFork``, and ``Stale`` where ``stream`` is there already.
        """
        while True:
            place = self._parting(parent, version)
            forked = Forked(from_=place.forebears[0].stream, version=version)
            attempt = self._attempt(_Asked(stream, (Draft(forked),), session, also), place)
            for _, refusal in attempt.refused:
                raise refusal
            if self._insert(attempt.rows):
                self._keep(stream, with_snapshot(self._records, stream, attempt.place))
                return attempt.entries[0]
            if self.head(stream)[0]:
                raise Stale(stream, 0)

    def _parting(self, parent: str, version: int) -> Place:
        """Where a fork goes on: a version of its parent, which may be forgotten or scrubbed meanwhile."""
        while True:
            head = self.head(parent)
            if not head[0]:
                raise self._no_such(parent)
            if not 1 <= version <= head[0]:
                raise CannotFork(
                    f"{parent} has the entries 1 to {head[0]}, and no {version}; nothing was written;"
                    " name one of them"
                )
            try:
                place = self._place_in(parent, version)
            except DamagedEntry:
                if self.head(parent) == head:
                    raise
            else:
                if place.version == version:
                    return place

    def _place_in(self, parent: str, version: int) -> Place:
        """A version of a stream, standing on the stream in which that entry is; (0, ...) for none."""
        segments = lineage(self._store().rows, parent, version)
        if not segments:
            return Place()
        source = segments[-1].stream
        place = self.place_at(source, version)
        if len(place.forebears) >= DEEPEST:
            raise CannotFork(
                f"{parent} is the {DEEPEST}th fork in a row; nothing was written; fork one before it"
            )
        return place._replace(forebears=(Stand(source, version, place.sum), *place.forebears))

    def _no_such(self, stream: str) -> NoSuchLoop:
        return NoSuchLoop(f"no {stream} in {self.url}; nothing was written; see: loopbook loop list")

    def _save(self, asked: _Asked) -> tuple[Entry, ...]:
        """Attempt until the outcome is sure: each turn either ends or knows more than the one before."""
        place = self._start(asked)
        while True:
            attempt = self._attempt(asked, place)
            if attempt.refused and not (attempt.entries and asked.tell):
                # Refused on the state at ``place``, which need not be the newest.
                newer = self._newer(asked, place)
                unseen = self._unseen(asked.stream, asked.drafts)
                if newer is place and len(unseen) == len(asked.drafts):
                    return _refuse(asked, attempt)
                asked, place = asked._replace(drafts=unseen), newer
            elif used := used_before(self._records.rows, place.forebears, asked.stream, attempt.keys):
                asked = self._without(asked, used)
            elif not attempt.rows or self._insert(attempt.rows):
                if attempt.rows:
                    self._keep(asked.stream, attempt.place)
                for draft, refusal in attempt.refused:
                    cast("Tell", asked.tell)(draft, refusal)
                return tuple(attempt.entries)
            else:
                asked, place = self._after_conflict(asked, attempt, place)

    def _start(self, asked: _Asked) -> Place:
        self._store()
        known = self._known(asked.stream)
        if known is None or (asked.after is not None and known.version != asked.after):
            known = self.place(asked.stream)
        if asked.after and not known.version:
            raise self._no_such(asked.stream)
        if asked.after is not None and known.version != asked.after:
            raise Stale(asked.stream, asked.after)
        return known

    def _newer(self, asked: _Asked, place: Place) -> Place:
        newer = self.place(asked.stream)
        if newer[:2] == place[:2]:
            return place
        if place.version and not newer.version:
            raise NoSuchLoop(
                f"{asked.stream} was forgotten meanwhile; nothing was written; see: loopbook loop list"
            )
        if asked.after is not None:
            raise Stale(asked.stream, asked.after)
        return newer

    def _after_conflict(self, asked: _Asked, attempt: _Attempt, place: Place) -> tuple[_Asked, Place]:
        """Why the store refused a save, and what to attempt next."""
        newer = self._newer(asked, place)
        without = self._without(asked, self._store().rows.taken(attempt.keys))
        if newer is place and len(without.drafts) == len(asked.drafts):
            # Nothing new in the stream: an id was used by what the state need not remember any more,
            # or only another stream (the catalogue) has grown, and the next attempt reads its head.
            return without, newer
        return asked._replace(drafts=without.drafts), newer

    def _without(self, asked: _Asked, taken: Set[str]) -> _Asked:
        """What is left to save once these keys are known to be taken."""
        unseen = tuple(draft for draft in asked.drafts if self._once(asked.stream, draft) not in taken)
        return asked._replace(drafts=unseen, used=asked.used | taken)

    def _attempt(self, asked: _Asked, place: Place) -> _Attempt:
        _look_for_sum(place, asked.stream)
        attempt = _Attempt(place)
        others = list(asked.also)
        now = self._clock()
        for draft in asked.drafts:
            if self._once(asked.stream, draft) in attempt.keys:
                continue  # the same thing twice within one call
            try:
                entry, row = self._enter(asked, attempt.place, draft, now)
                keys = self._keys(asked, attempt, entry)
            except (Refused, InvalidEvent) as refusal:
                attempt.refused.append((draft, refusal))
                if asked.tell:
                    continue
                return attempt
            attempt.rows.append(row)
            attempt.rows += (
                Row(name, 1, "reserved", encode_reserved(entry, name, what)) for name, what in keys.items()
            )
            attempt.keys |= keys
            attempt.entries.append(entry)
            attempt.place = following(attempt.place, entry)
            if (said := catalogued(asked.stream, entry.event, attempt.place.state)) is not None:
                others.append((CATALOGUE, Draft(said, at=entry.at, session=entry.session)))
        if attempt.entries:
            attempt.rows += self._others(others, asked.session, now)
        return attempt

    def _enter(self, asked: _Asked, place: Place, draft: Draft, now: datetime) -> tuple[Entry, Row]:
        """Admit a draft, and give the entry as it will be read, with its row."""
        clean = self._hygiene
        event = clean.model(draft.event)
        unit = _unit(event, draft.unit)
        entry = Entry(
            asked.stream,
            place.version + 1,
            event,
            utc(draft.at or now),
            clean.text(asked.session if draft.session is None else draft.session),
            unit and clean.text(unit),
            draft.host_ref and clean.text(draft.host_ref),
            draft.line,
            place.sum,
        )
        look_at(place, entry)
        try:
            state, read = encode_and_read(entry)
            return read, Row(asked.stream, place.version + 1, event.type, state)
        except DamagedEntry as wrong:
            raise InvalidEvent(f"{event.type} could not be read back ({wrong})") from None

    def _keys(self, asked: _Asked, attempt: _Attempt, entry: Entry) -> dict[str, What]:
        keys: dict[str, What] = {}
        for what, key in reserves(attempt.place.state, entry):
            name = reservation(asked.stream, what, key)
            if name in attempt.keys or name in asked.used or name in keys:
                raise AlreadyUsed(
                    f"the {what} id {key[:80]!r} was used in this book before; nothing was written;"
                    " take a new id"
                )
            keys[name] = what
        return keys

    def _others(self, others: Iterable[tuple[str, Draft]], session: str, now: datetime) -> Iterator[Row]:
        """The rows for other streams, each after its stream's newest."""
        heads: dict[str, tuple[int, str]] = {}
        for stream, draft in others:
            version, digest = heads.get(stream) or self._head(stream)
            by = session if draft.session is None else draft.session
            event = self._hygiene.model(draft.event)
            row = self._records.codec.row(
                Entry(stream, version + 1, event, utc(draft.at or now), self._hygiene.text(by), prev=digest)
            )
            heads[stream] = version + 1, sum_in(row.state)
            yield row

    def _head(self, stream: str) -> tuple[int, str]:
        version, digest = self.head(stream)
        _look_for_sum(Place(version, digest), stream)
        return version, digest

    def _insert(self, rows: Sequence[Row]) -> bool:
        """Whether the rows were saved; false where another row stands where one of them would, or before."""
        try:
            self._store().rows.insert_events(cast("Sequence[StoredEvent]", rows))
        except IntegrityError:
            return False
        return True

    def _once(self, stream: str, draft: Draft) -> str:
        """The name of a draft's host_ref reservation, "" where it has none."""
        if draft.host_ref is None:
            return ""
        return reservation(stream, "host_ref", self._hygiene.text(draft.host_ref))

    def _look_over(self, drafts: tuple[Draft, ...]) -> None:
        refs = [draft.host_ref for draft in drafts if draft.host_ref is not None]
        self._hygiene.look_over([draft.event for draft in drafts], refs)

    def _unseen(self, stream: str, drafts: tuple[Draft, ...]) -> tuple[Draft, ...]:
        names = {name for draft in drafts if (name := self._once(stream, draft))}
        taken = self._taken(stream, names)
        return tuple(draft for draft in drafts if self._once(stream, draft) not in taken)

    def _taken(self, stream: str, names: Collection[str]) -> set[str]:
        """Which of these reservations of a stream are there, its own and those from before its fork."""
        if not names:
            return set()
        place = self._known(stream) or self.place(stream)
        rows = self._store().rows
        return rows.taken(names) | used_before(rows, place.forebears, stream, names)


def _refuse(asked: _Asked, attempt: _Attempt) -> tuple[Entry, ...]:
    """What becomes of a save of which nothing can be taken."""
    for draft, refusal in attempt.refused:
        if asked.tell is None:
            raise refusal
        asked.tell(draft, refusal)
    return ()


def look_at(place: Place, entry: Entry) -> None:
    """Whether a book takes an entry at a place: what appending asks, and whoever brings entries in.

    Raises ``Refused`` or ``InvalidEvent``, and ``NoSuchLoop`` where a loop would begin with it that
    was neither opened nor forked.
    """
    event = entry.event
    if not place.version and not begins(entry.stream, event):
        raise NoSuchLoop(f"no {entry.stream} is there; nothing was written; see: loopbook loop list")
    if type(event) is not BY_TYPE.get(event.type) and not _TYPE_WORD.fullmatch(event.type):
        raise InvalidEvent(f"{event.type[:80]!r} cannot be an event's type", ("type",))
    if isinstance(event, Forked) and not _begins(event, place):
        raise Refused("forked begins a fork and stands nowhere else; the book is unchanged; use fork")
    admit(place.state, event, entry.unit)


def _look_for_sum(place: Place, stream: str) -> None:
    """Refuse to go on from a row that shows no ``sum``: whatever followed would be chained to nothing."""
    if place.version and not place.sum:
        parent = place.forebears[0] if place.forebears else None
        where = parent.stream if parent and parent.version == place.version else stream
        raise damaged(where, place.version, "it does not end with its sum")


def _begins(event: Forked, place: Place) -> bool:
    """Whether an event is the first of the fork that a place stands for."""
    parent = place.forebears[0] if place.forebears else None
    return parent is not None and parent[:2] == (event.from_, event.version) == (event.from_, place.version)


def _unit(event: Event, unit: str | None) -> str | None:
    """The unit that event and envelope share."""
    own: str | None = getattr(event, "unit", None) if shares_unit(type(event)) else None
    if own is not None and unit is not None and own != unit:
        raise InvalidEvent(f"{event.type} names unit {own!r} and the entry unit {unit!r}", ("unit",))
    return unit if own is None else own
