"""What a save stands on: one question, asked by every store within the transaction that writes.

Theory. Each row carries the ``sum`` of the row before it, as its ``prev``. So the first row of each
stream in a save says itself what must be there when it is written:

- *It goes on*: the row before it, in its own stream, has that ``sum``.
- *It begins a fork*: the row before it, in the parent's stream, has that ``sum``.
- *It begins a stream*, with version 1 or as a fork: no other row of that stream is there. The
  primary key alone does not see it, since a fork's versions begin further on.

Whoever read a row that was forgotten, scrubbed or brought in anew meanwhile is refused, whatever
stands at its version by now; the chain of what is written is whole without a look of the writer's.
A reservation's stream ever holds one row, which its primary key says already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eventsourcing.persistence import IntegrityError

from loopbook.encoding import damaged, decode
from loopbook.events import Forked
from loopbook.sealing import prev_in
from loopbook.store.contract import Row, Stand


class Begun(NamedTuple):
    """A stream that a save begins, and the versions that it writes: no other one may be there."""

    stream: str
    first: int
    last: int


class Footing(NamedTuple):
    """What must hold for a save to be kept."""

    stands: tuple[Stand, ...]
    begun: tuple[Begun, ...] = ()

    @property
    def forks(self) -> bool:
        """Whether a fork begins with it, which a store of the first schema cannot hold."""
        return any(begun.first > 1 for begun in self.begun)


class Gathered:
    """Rows on their way into a store, one by one, and what they come to stand on.

    >>> gathered = Gathered()
    >>> rows = [Row("a", 3, "task", b',"prev":"5a"'), Row("a", 4, "task", b""), Row("b", 1, "task", b"")]
    >>> len([*gathered.passing(rows)]), *gathered.footing()
    (3, (Stand(stream='a', version=2, sum='5a'),), (Begun(stream='b', first=1, last=1),))
    """

    __slots__ = ("_first", "_last", "passed")

    def __init__(self) -> None:
        self.passed = 0
        self._first: dict[str, Row] = {}
        self._last: dict[str, int] = {}

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows as they are, noting each."""
        for row in rows:
            self.note((row,))
            self.passed += 1
            yield row

    def note(self, rows: Iterable[Row]) -> None:
        """Remember of each stream where it begins and ends."""
        first, last = self._first, self._last
        for row in rows:  # inline: every row of every save comes by here
            stream, version = row[0], row[1]
            if stream.startswith("once:"):  # a book may hold an event of the type "reserved"
                continue
            known = first.get(stream)
            if known is None:
                first[stream], last[stream] = row, version
            elif version > last[stream]:
                last[stream] = version
            elif version < known[1]:
                first[stream] = row

    def footing(self) -> Footing:
        """What they stand on. Raises ``DamagedEntry`` for a fork that does not say of what."""
        stands: list[Stand] = []
        begun: list[Begun] = []
        for stream, version, topic, state in self._first.values():
            if version == 1 or topic == "forked":
                begun.append(Begun(stream, version, self._last[stream]))
            if version > 1:
                where = parent_of(Row(stream, version, topic, state)) if topic == "forked" else stream
                stands.append(Stand(where, version - 1, prev_in(state)))
        return Footing(tuple(stands), tuple(begun))


def footing(rows: Iterable[Row]) -> Footing:
    """What rows at hand stand on."""
    gathered = Gathered()
    gathered.note(rows)
    return gathered.footing()


def parent_of(row: Row) -> str:
    """The stream that a fork's first row goes on from. Raises ``DamagedEntry`` where it is no such row."""
    stream, version = row.originator_id, row.originator_version
    event = decode(*row).event if row.topic == "forked" else None
    if not isinstance(event, Forked) or event.version != version - 1:
        raise damaged(stream, 1, "it is missing")
    return event.from_


def unfounded(what: Stand | Begun | None = None) -> IntegrityError:
    """The refusal of rows that do not stand on what is there."""
    if isinstance(what, Begun):
        return IntegrityError(f"{what.stream} has rows already, so nothing can begin it")
    where = "what they go on from" if what is None else f"{what.stream} seq {what.version}"
    return IntegrityError(f"{where} is not there as it was, so nothing can follow it")
