"""What a store promises: the rows it keeps, and what a book and upkeep ask of it.

Every kind of store is held to this by one suite, ``tests/store/test_contract.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from eventsourcing.persistence import StoredEvent

#: "LBOK": what ``file`` and every SQLite tool show of a loopbook store.
APPLICATION_ID = 0x4C424F4B
#: Raised by one when an older loopbook could no longer read or write a store. 2: snapshots, and
#: streams that begin with a fork. An older store is read and written as it is, without snapshots, until
#: somebody upgrades it or begins a fork in it: all that is needed is a further table.
SCHEMA = 2


class Row(NamedTuple):
    """A row as it is stored; its names are the library's."""

    originator_id: str
    originator_version: int
    topic: str
    state: bytes


class Stand(NamedTuple):
    """A row that something stands on, as it was then."""

    stream: str
    version: int
    sum: str


class Stored(NamedTuple):
    """A row met while a whole store is read: an entry's, or a snapshot's.

    ``typed``: every value is of its column's type. One that is not is shown as well as it can be.
    """

    snapshot: bool
    row: Row
    typed: bool = True

    @classmethod
    def of(cls, snapshot: bool, values: Sequence[object]) -> Stored:
        """What stands there, whatever it is."""
        stream, version, topic, state = values
        typed = all(map(isinstance, values, (str, int, str, bytes)))
        row = Row(
            str(stream),
            version if isinstance(version, int) else 0,
            str(topic),
            state if isinstance(state, bytes) else str(state).encode(errors="surrogateescape"),
        )
        return cls(snapshot, row, typed)


class Size(NamedTuple):
    """How large a stream is: its rows, and the bytes of their states."""

    rows: int
    bytes: int


class Facts(NamedTuple):
    """What a store says of itself.

    ``bytes`` is all it takes on disk (in memory: its rows); ``refusal`` why nothing can be written
    now and what to do, as an error says it, "" where all is well. ``foreign`` is what no loopbook made
    and what may change what is written, in the words in which SQL drops it: ``TRIGGER "t"``.
    """

    schema: int
    streams: int
    bytes: int
    refusal: str = ""
    foreign: tuple[str, ...] = ()


class Waiter(Protocol):
    """Waits for commits of anybody, from the moment it was made. For one thread; close it afterwards."""

    def wait(self, timeout: float) -> bool:
        """Whether anything was committed since the last ``True`` (else since it was made).

        Returns as soon as there is something, and ``False`` after ``timeout`` seconds without. No
        commit is missed; now and then it wakes for nothing. Raises ``StoreUnavailable``.
        """

    def close(self) -> None:
        """Give up what it holds."""


class Recorder(Protocol):
    """What a book asks of a store: the library's recorder, and what concerns many rows or none.

    A snapshot is a row in a table of its own; nothing here knows what its state means.
    """

    def insert_events(self, stored_events: Sequence[StoredEvent], /) -> Sequence[int] | None:
        """Store all rows or none; the library's ``IntegrityError`` where a version is taken.

        So too where what they stand on is not there as it was (see ``loopbook.store.footing``): it
        was forgotten, scrubbed or brought in anew since their writer looked.
        """

    def select_events(
        self,
        originator_id: str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The rows of a stream, oldest first unless ``desc``."""

    def taken(self, streams: Collection[str]) -> set[str]:
        """Which of these streams have a first row."""

    def newest(self, stream: str, topic: str) -> Row | None:
        """The newest row of a topic in a stream."""

    def streams(self, prefix: str = "", after: str = "", limit: int = 1_000) -> Sequence[str]:
        """The names of streams that begin with ``prefix`` and follow ``after``, in code point order.

        At most ``limit``: ask again after the last one for more.
        """

    def sizes(self, streams: Collection[str]) -> Mapping[str, Size]:
        """How large these streams are; one that is not there is left out."""

    def delete(self, streams: Collection[str]) -> None:
        """Remove all rows of these streams, their snapshots too; all at once or nothing."""

    def replace(self, rows: Sequence[Row], added: Sequence[Row] = (), gone: Collection[str] = ()) -> None:
        """Put other topics and states where rows stand, remove streams, add rows; all at once or nothing.

        The snapshots of all streams concerned go with it. The library's ``IntegrityError`` where
        there is nothing to replace, a version to be added is taken, or what the added rows stand on
        is not there as it is once the others are replaced. Rows are added before streams
        are removed: one that is added to a stream to be removed says where that must end. Only
        upkeep does this.
        """

    def load(self, rows: Iterable[Row]) -> None:
        """Store all rows or none, made one by one while they are stored.

        The library's ``IntegrityError`` where ``insert_events`` would raise it.
        """

    def scan(self, stream: str | None = None) -> Iterator[Stored]:
        """Every row of the store, or of a stream, as of one moment: snapshots first, then entries.

        In the order of stream (by code point) and version. Nothing that stands in a row stops it:
        bytes that are no UTF-8 come as lone surrogates. Raises ``StoreError`` where the file is damaged.
        """

    def vacuum(self) -> None:
        """Give back the space of what was removed, so that its bytes are nowhere any more.

        Snapshots go too, sound or not: whoever reads a long book makes a new one.
        """

    def snapshot_put(self, row: Row, stands: Sequence[Stand], useless: Collection[int] = ()) -> None:
        """Keep a snapshot, in place of one of its stream and version, and of the ``useless`` versions.

        The library's ``IntegrityError`` where a row that it stands on is not there as it was. Nobody
        is waited for: ``StoreUnavailable`` where somebody else is writing.
        """

    def snapshot_newest(self, stream: str, lte: int | None = None) -> Row | None:
        """The newest snapshot of a stream, at version ``lte`` or before."""

    def waiter(self) -> Waiter:
        """A waiter for what is committed from now on."""

    def upgrade(self) -> None:
        """Bring an older store to this schema; an older loopbook cannot open it then."""

    def facts(self) -> Facts:
        """What the store says of itself; nothing is written. Raises ``StoreError``."""


def past(prefix: str) -> str | None:
    """The least text that follows all texts with this prefix; nothing where there is none.

    >>> past("loop:"), past("a" + chr(0x10FFFF)), past("")
    ('loop;', 'b', None)
    """
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    after = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if after == 0xD800 else after)  # a text has no surrogates
