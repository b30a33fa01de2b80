"""One attempt at an append: drafts made into entries, one after the other, at a place in a stream.

Theory. What of an entry does not depend on its place is done once (``Ready``): the draft cleaned of
secrets, its event written as JSON and read back, its reservation named. An attempt does the rest, and
as often as somebody else was faster: each draft is looked at in the state that the ones before it
lead to, sealed into the chain, and folded as it will be read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from datetime import datetime
from typing import NamedTuple, Protocol

from loopbook.book.folding import Place
from loopbook.book.streams import What, begins, named, reservation
from loopbook.encoding import Written, encode_and_read, encode_reserved, shares_unit, written
from loopbook.entry import Draft, Entry, utc
from loopbook.errors import AlreadyUsed, DamagedEntry, InvalidEvent, NoSuchLoop, Refused
from loopbook.events import BY_TYPE, Event, Forked
from loopbook.events.building import retold
from loopbook.projections import BookState, Folding, take
from loopbook.projections.admission import admit
from loopbook.store import Row, Stand

_TYPE_WORD = re.compile(r"[a-z][a-z0-9_.-]{0,99}")


class Ready(NamedTuple):
    """A clean draft; ``once`` names the reservation of its host_ref ("": it has none), ``ahead`` is its
    event as far as it could be written ahead."""

    draft: Draft
    once: str
    ahead: Written | None


def ready(drafts: Iterable[Draft], names: Iterable[str], taken: Container[str] = ()) -> tuple[Ready, ...]:
    """Clean drafts made ready for as many attempts as it takes, without those whose name is taken."""
    return tuple(
        Ready(draft, name, written(draft.event))
        for draft, name in zip(drafts, names, strict=True)
        if name not in taken
    )


def once(stream: str, drafts: Iterable[Draft]) -> list[str]:
    """The names of clean drafts' host_ref reservations, "" for one that has none."""
    refs = (draft.host_ref for draft in drafts)
    return ["" if ref is None else reservation(stream, "host_ref", ref) for ref in refs]


class Attempt:
    """Entries that follow a place: they, their rows, the keys that these reserve, and what they lead to."""

    __slots__ = (
        "_begun", "_now", "_session", "_used", "entries", "forebears", "keys", "rows", "state", "stream",
        "sum", "version",
    )  # fmt: skip

    def __init__(
        self, stream: str, place: Place, session: str, now: datetime, used: frozenset[str] = frozenset()
    ) -> None:
        self.stream, self._begun, self._session, self._now, self._used = stream, place, session, now, used
        self.version, self.sum, state, self.forebears, _ = place
        self.state = Folding(state)
        self.entries: list[Entry] = []
        self.rows: list[Row] = []
        self.keys: dict[str, What] = {}

    def place(self) -> Place:
        """Where it has led to."""
        return self._begun._replace(version=self.version, sum=self.sum, state=self.state.state())

    def enter(self, one: Ready) -> Entry:
        """Enter a draft after what stands. Raises ``Refused`` or ``InvalidEvent``; nothing has moved then."""
        entry, state = self._entered(one)
        keys = self._reserved(one.once, entry.event)
        take(self.state, entry)
        self.version, self.sum = entry.originator_version, entry.sum
        self.keys |= keys
        self.entries.append(entry)
        self.rows.append(Row(self.stream, entry.originator_version, entry.event.type, state))
        for name, what in keys.items():
            self.rows.append(Row(name, 1, "reserved", encode_reserved(entry, name, what)))
        return entry

    def _entered(self, one: Ready) -> tuple[Entry, bytes]:
        """The entry as it will be read, and its state."""
        event, unit, host_ref, line, at, session = one.draft
        unit, at = _unit(event, unit), utc(at or self._now)
        session = self._session if session is None else session
        entry = Entry(self.stream, self.version + 1, event, at, session, unit, host_ref, line, self.sum)
        look_at(self, entry)
        try:
            state, entry = encode_and_read(entry, one.ahead)
        except DamagedEntry as wrong:
            raise retold(event, f"{event.type} could not be read back ({wrong})") from None
        except InvalidEvent as wrong:
            raise retold(event, wrong.what) from None
        return entry, state

    def _reserved(self, once: str, event: Event) -> dict[str, What]:
        """The reservations of an entry. Raises ``AlreadyUsed``; a host_ref is looked for before."""
        keys: dict[str, What] = {once: "host_ref"} if once else {}
        for what, key in named(self.state, event):
            name = reservation(self.stream, what, key)
            if name in self.keys or name in self._used or name in keys:
                raise AlreadyUsed(
                    f"the {what} id {key[:80]!r} was used in this book before; nothing was written;"
                    " take a new id"
                )
            keys[name] = what
        return keys


class Standing(Protocol):
    """Where an entry would stand: a place, or an attempt so far."""

    @property
    def version(self) -> int: ...
    @property
    def state(self) -> BookState | Folding: ...
    @property
    def forebears(self) -> tuple[Stand, ...]: ...


def look_at(standing: Standing, entry: Entry) -> None:
    """Whether a book takes an entry where it stands: what appending asks, and whoever brings entries in.

    Raises ``Refused`` or ``InvalidEvent``, and ``NoSuchLoop`` where a loop would begin with it that
    was neither opened nor forked.
    """
    event = entry.event
    if not standing.version and not begins(entry.stream, event):
        raise NoSuchLoop(f"no {entry.stream} is there; nothing was written; see: loopbook loop list")
    if type(event) is not BY_TYPE.get(event.type) and not _TYPE_WORD.fullmatch(event.type):
        raise InvalidEvent(f"{event.type[:80]!r} cannot be an event's type", ("type",))
    if isinstance(event, Forked) and not _begins(event, standing):
        raise Refused("forked begins a fork and stands nowhere else; the book is unchanged; use fork")
    admit(standing.state, event, entry.unit)


def _begins(event: Forked, standing: Standing) -> bool:
    """Whether an event is the first of the fork that a place stands for."""
    parent = standing.forebears[0] if standing.forebears else None
    named = event.from_, event.version
    return parent is not None and parent[:2] == named == (event.from_, standing.version)


def _unit(event: Event, unit: str | None) -> str | None:
    """The unit that event and envelope share."""
    own: str | None = getattr(event, "unit", None) if shares_unit(type(event)) else None
    if own is not None and unit is not None and own != unit:
        raise InvalidEvent(f"{event.type} names unit {own!r} and the entry unit {unit!r}", ("unit",))
    return unit if own is None else own
