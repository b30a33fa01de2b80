"""Appending to streams.

Theory. A state is only ever folded from what stands in the store: what is appended is decoded
again from its own bytes before it is folded, and what cannot be read back is refused before
anything is stored. Nobody holds a lock while writing.

*Appending is one attempt* at one version: admit, encode and fold each event in turn, then save all
rows at once, with what they reserve and what the catalogue and other streams must say. The primary
key refuses the save if any version of any row is taken, and the store if the rows that it was
chained to are not there as they were. Then it is seen why: the stream has grown (``Stale``, or
another attempt) or was forgotten (``NoSuchLoop``), a key was used before, or another stream has
grown (another attempt).
No read is needed where nobody else writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import cast

from eventsourcing.persistence import IntegrityError, StoredEvent

from loopbook.book.asked import Asked, Patience, Tell, Tried, refuse, without
from loopbook.book.attempt import Attempt, Ready, once, ready
from loopbook.book.folding import Place, with_snapshot
from loopbook.book.hygiene import Hygiene
from loopbook.book.lineage import used_before
from loopbook.book.parting import look_for_sum, no_such, parting
from loopbook.book.reading import Reader
from loopbook.book.streams import CATALOGUE, catalogued, reservation
from loopbook.entry import Draft, Entry, utc
from loopbook.errors import InvalidEvent, NoSuchLoop, Refused, Stale
from loopbook.events import Event, Forked
from loopbook.evidence.redaction import Redactor
from loopbook.sealing import sum_in
from loopbook.store import Row


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

    @property
    def hygiene(self) -> Hygiene:
        """What every text goes through on its way in."""
        return self._hygiene

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
        also: Sequence[tuple[str, Event]] = (),
    ) -> tuple[Entry, ...]:
        """Append if the stream still stands at version ``after``; all drafts, or none and an error.

        Drafts whose host_ref the stream has are skipped; what was written is returned. ``also``
        are events for other streams, saved at once with these whatever their versions are.
        Raises ``Stale``, ``Refused`` (see ``loopbook.projections.admission``) or ``InvalidEvent`` (so
        where ``also`` names the stream itself), and
        ``NoSuchLoop`` where nothing stands at that version any more: the loop was forgotten.
        """
        clean = self._hygiene.drafts(drafts)
        return self._save(Asked(stream, ready(clean, once(stream, clean)), session, also, after=after))

    def record(
        self,
        stream: str,
        *drafts: Draft,
        session: str = "",
        also: Sequence[tuple[str, Event]] = (),
        tell: Tell | None = None,
    ) -> tuple[Entry, ...]:
        """Append whatever else has been appended meanwhile; all drafts in one save, or none.

        Drafts whose host_ref the stream has are skipped. Raises ``Refused`` or ``InvalidEvent``
        for the first draft that cannot be taken, unless ``tell`` is there to be told of each:
        then the others go on. ``NoSuchLoop`` for a loop that is not there, or not any more.
        """
        clean = self._hygiene.drafts(drafts)
        names = once(stream, clean)
        # Many are asked about at once; one is simply tried.
        taken = self._taken(stream, names) if len(names) > 1 else ()
        return self._save(Asked(stream, ready(clean, names, taken), session, also, tell=tell))

    def fork(
        self,
        parent: str,
        version: int,
        stream: str,
        *,
        session: str = "",
        also: Sequence[tuple[str, Event]] = (),
    ) -> Entry:
        """Begin a stream that goes on from a version of another one; its first entry is returned.

        Whoever reads it reads the first ``version`` entries of ``parent`` before its own, and what
        was used there once is used here. A version that stands in a parent of ``parent`` is forked
        from there. Raises ``CannotFork``, and ``Stale`` where ``stream`` is there already.
        """
        patience = Patience(self.url)
        while True:
            place = parting(self, parent, version)
            forked = Draft(Forked(from_=place.forebears[0].stream, version=version))
            tried = self._attempt(Asked(stream, ready((forked,), ("",)), session, also), place)
            for _, refusal in tried.refused:
                raise refusal
            patience.goes_on(place[:2], tried.heads)
            if self._insert(tried.rows):
                self._keep(stream, with_snapshot(self._records, stream, tried.attempt.place()))
                return tried.attempt.entries[0]
            if self.head(stream)[0]:
                raise Stale(stream, 0)

    def _save(self, asked: Asked) -> tuple[Entry, ...]:
        """Attempt until the outcome is sure: each turn either ends or knows more than the one before.

        A turn that does not is taken a few times: what it stood on may have come back meanwhile.
        """
        place = self._start(asked)
        patience = Patience(self.url)
        while True:
            attempt, rows, refused, heads = tried = self._attempt(asked, place)
            patience.goes_on(asked, place, heads)
            if refused and not (attempt.entries and asked.tell):
                # Refused on the state at ``place``, which need not be the newest.
                newer = self._newer(asked, place)
                unseen = self._unseen(asked)
                if newer is place and len(unseen) == len(asked.drafts):
                    return refuse(asked, tried)
                asked, place = asked._replace(drafts=unseen), newer
            elif used := used_before(self._records.rows, place.forebears, asked.stream, attempt.keys):
                asked = without(asked, used)
            elif not rows or self._insert(rows):
                if rows:
                    self._keep(asked.stream, attempt.place())
                for draft, refusal in refused:
                    cast("Tell", asked.tell)(draft, refusal)
                return tuple(attempt.entries)
            else:
                asked, place = self._after_conflict(asked, attempt, place)

    def _start(self, asked: Asked) -> Place:
        self._store()
        if any(other == asked.stream for other, _ in asked.also):
            raise InvalidEvent(f"what is to be told to other streams names {asked.stream} itself")
        known = self._known(asked.stream)
        if known is None or (asked.after is not None and known.version != asked.after):
            known = self.place(asked.stream)
        if asked.after and not known.version:
            raise no_such(self, asked.stream)
        if asked.after is not None and known.version != asked.after:
            raise Stale(asked.stream, asked.after)
        return known

    def _newer(self, asked: Asked, place: Place) -> Place:
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

    def _after_conflict(self, asked: Asked, attempt: Attempt, place: Place) -> tuple[Asked, Place]:
        """Why the store refused a save, and what to attempt next."""
        newer = self._newer(asked, place)
        left = without(asked, self._store().rows.taken(attempt.keys))
        if newer is place and len(left.drafts) == len(asked.drafts):
            # Nothing new in the stream: an id was used by what the state need not remember any more,
            # or only another stream (the catalogue) has grown, and the next attempt reads its head.
            return left, newer
        return asked._replace(drafts=left.drafts), newer

    def _attempt(self, asked: Asked, place: Place) -> Tried:
        look_for_sum(place, asked.stream)
        now, session = self._clock(), self._hygiene.session(asked.session)
        attempt = Attempt(asked.stream, place, session, now, asked.used)
        others, refused = (
            [(other, Draft(event)) for other, event in asked.also],
            list[tuple[Draft, Refused | InvalidEvent]](),
        )
        for one in asked.drafts:
            if one.once in attempt.keys:
                continue  # the same thing twice within one call
            try:
                entry = attempt.enter(one)
            except (Refused, InvalidEvent) as refusal:
                refused.append((one.draft, refusal))
                if asked.tell:
                    continue
                return Tried(attempt, (), refused)
            if (said := catalogued(asked.stream, entry.event, attempt.state)) is not None:
                others.append((CATALOGUE, Draft(said, at=entry.at, session=entry.session)))
        if not attempt.entries:
            return Tried(attempt, attempt.rows, refused)
        begun = {stream: self._head(stream) for stream, _ in others}
        attempt.rows += self._others(others, {**begun}, session, now)
        return Tried(
            attempt, attempt.rows, refused, {stream: digest for stream, (_, digest) in begun.items()}
        )

    def _others(
        self,
        others: Iterable[tuple[str, Draft]],
        heads: dict[str, tuple[int, str]],
        session: str,
        now: datetime,
    ) -> Iterator[Row]:
        """The rows for other streams, each after its stream's newest."""
        for stream, draft in others:
            version, digest = heads[stream]
            by = self._hygiene.session(session if draft.session is None else draft.session)
            event = self._hygiene.model(draft.event)
            row = self._records.codec.row(
                Entry(stream, version + 1, event, utc(draft.at or now), by, prev=digest)
            )
            heads[stream] = version + 1, sum_in(row.state)
            yield row

    def _head(self, stream: str) -> tuple[int, str]:
        version, digest = self.head(stream)
        look_for_sum(Place(version, digest), stream)
        return version, digest

    def _insert(self, rows: Sequence[Row]) -> bool:
        """Whether the rows were saved; false where another row stands where one of them would, or before."""
        try:
            self._store().rows.insert_events(cast("Sequence[StoredEvent]", rows))
        except IntegrityError:
            return False
        return True

    def _unseen(self, asked: Asked) -> tuple[Ready, ...]:
        return without(asked, self._taken(asked.stream, {one.once for one in asked.drafts})).drafts

    def _taken(self, stream: str, names: Collection[str]) -> set[str]:
        """Which of these reservations of a stream are there, its own and those from before its fork."""
        names = {name for name in names if name}
        if not names:
            return set()
        place = self._known(stream) or self.place(stream)
        rows = self._store().rows
        return rows.taken(names) | used_before(rows, place.forebears, stream, names)
