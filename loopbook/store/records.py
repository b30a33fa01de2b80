"""The library's application, with everything taken out that is not ours to leave open.

The library lets the process environment choose mapper, cipher, compressor and factory. A book is
the same whatever else runs in its process, so ``Records`` takes its whole configuration from the
store's URL and hands the library a mapper of its own: an entry is encoded by ``loopbook.entry``.
The library's repository is never asked; ``loopbook.book`` catches up by version instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from eventsourcing.application import Application
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import IntegrityError, JSONTranscoder, Mapper, StoredEvent
from eventsourcing.utils import Environment, EnvType

from loopbook.entry import Entry, decode, encode
from loopbook.errors import StoreUnavailable
from loopbook.store.urls import StoreURL

#: "LBOK": what ``file`` and every SQLite tool show of a loopbook store.
APPLICATION_ID = 0x4C424F4B
#: Raised by one when an older loopbook could no longer read or write a store. 2: snapshots, and
#: streams that begin with a fork. An older store is upgraded when it is opened, since all that is
#: needed is a further table.
SCHEMA = 2


class Row(NamedTuple):
    """A row as it is stored; its names are the library's."""

    originator_id: str
    originator_version: int
    topic: str
    state: bytes


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
    now, "" where all is well. ``foreign`` is what no loopbook made and what may change what is
    written, in the words in which SQL drops it: ``TRIGGER "t"``.
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

        So too where a stream would go on from a row that is not there (see ``stood_on``): it was
        forgotten since its writer looked.
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
        there is nothing to replace, or a version to be added is taken. Rows are added before streams
        are removed: one that is added to a stream to be removed says where that must end. Only
        upkeep does this.
        """

    def load(self, rows: Iterable[Row]) -> None:
        """Store all rows or none, made one by one while they are stored; only versions are looked at."""

    def scan(self, stream: str | None = None) -> Iterator[Stored]:
        """Every row of the store, or of a stream, as of one moment: snapshots first, then entries.

        In the order of stream (by code point) and version. Nothing that stands in a row stops it:
        bytes that are no UTF-8 come as lone surrogates. Raises ``StoreError`` where the file is damaged.
        """

    def vacuum(self) -> None:
        """Give back the space of what was removed, so that its bytes are nowhere any more.

        Snapshots go too, sound or not: whoever reads a long book makes a new one.
        """

    def snapshot_put(self, row: Row) -> None:
        """Keep a snapshot, in place of one of the same stream and version."""

    def snapshot_newest(self, stream: str, lte: int | None = None) -> Row | None:
        """The newest snapshot of a stream, at version ``lte`` or before."""

    def snapshots_delete(self, streams: Collection[str]) -> None:
        """Remove all snapshots of these streams."""

    def waiter(self) -> Waiter:
        """A waiter for what is committed from now on."""

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


def stood_on(rows: Iterable[Row]) -> dict[str, int]:
    """The row before the first one of each stream: its version by stream.

    None for a stream that begins with version 1 or as a fork, whose row before is its parent's.

    >>> stood_on([Row("a", 3, "task", b""), Row("a", 4, "task", b""), Row("b", 1, "task", b"")])
    {'a': 2}
    >>> stood_on([Row("b", 3, "forked", b""), Row("b", 4, "task", b"")])
    {}
    """
    first: dict[str, Row] = {}
    for row in rows:
        known = first.setdefault(row.originator_id, row)
        if row.originator_version < known.originator_version:
            first[row.originator_id] = row
    return {
        stream: row.originator_version - 1
        for stream, row in first.items()
        if row.originator_version > 1 and row.topic != "forked"
    }


def missing(stream: str, version: int) -> IntegrityError:
    """The refusal of rows whose stream would go on from a row that is not there."""
    return IntegrityError(f"{stream} seq {version} is not there, so nothing can follow it")


class EntryMapper(Mapper[str]):
    """Entry to row and back. The default one breaks pydantic models; cipher and compressor are not asked."""

    def to_stored_event(self, domain_event: DomainEventProtocol[str]) -> StoredEvent:
        """The row of an entry, its ``sum`` within."""
        return cast("StoredEvent", self.row(cast("Entry", domain_event)))

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[str]:
        """The entry of a row."""
        return cast("DomainEventProtocol[str]", self.entry(cast("Row", stored_event)))

    def row(self, entry: Entry) -> Row:
        """The same as ``to_stored_event``, with our types."""
        return Row(entry.originator_id, entry.originator_version, entry.event.type, encode(entry))

    def entry(self, row: Row) -> Entry:
        """The same as ``to_domain_event``, with our types."""
        return decode(*row)


class Records(Application[str]):
    """One open store. Made by ``open_records``; never shared with a forked process."""

    name = "loopbook"

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """Only what we say: a stray ``MAPPER_TOPIC`` or ``CIPHER_KEY`` of the process changes nothing."""
        return Environment(name, env)

    def construct_mapper(self) -> Mapper[str]:
        """Ours, whatever a topic in the environment says."""
        return EntryMapper(transcoder=JSONTranscoder())

    @property
    def rows(self) -> Recorder:
        """The recorder, with our types."""
        return cast("Recorder", self.recorder)

    @property
    def codec(self) -> EntryMapper:
        """The mapper, with our types."""
        return cast("EntryMapper", self.mapper)


def open_records(url: StoreURL) -> Records:
    """Open the store of a URL, making it if it is not there. Raises ``StoreError`` in its many forms."""
    if url.kind == "memory":
        return Records({"PERSISTENCE_MODULE": "loopbook.store.memory:Factory"})
    if url.kind == "postgresql":
        return _open_postgres(url)
    return Records(
        {
            # The class, not the module: the library counts the factories that a module names.
            "PERSISTENCE_MODULE": "loopbook.store.sqlite:Factory",
            "SQLITE_DBNAME": str(url.path),
            "ORIGINATOR_ID_TYPE": "text",
            "SYNCHRONOUS": "FULL" if url.full else "NORMAL",
            "BUSY_SECONDS": repr(url.busy_seconds),
        }
    )


def _open_postgres(url: StoreURL) -> Records:
    _need_driver(url)
    return Records(
        {
            "PERSISTENCE_MODULE": "loopbook.store.postgres:Factory",
            "SERVER": url.server,
            "SCHEMA": url.schema,
            "LOCK_SECONDS": repr(url.busy_seconds),
            "ORIGINATOR_ID_TYPE": "text",
            "CREATE_TABLE": "n",  # our own way to make one is taken, and once
        }
    )


def schema_of(url: StoreURL) -> int:
    """The schema of the store that is there; 0 where there is none. Nothing is made or changed.

    Raises ``StoreError``, so for what is no store.

    >>> from loopbook.store import parse_url
    >>> schema_of(parse_url("/nowhere/books.db"))
    0
    """
    # Each kind is imported where it is used: a store in memory needs neither.
    if url.path is not None:
        from loopbook.store.files import look  # noqa: PLC0415

        return look(url.path, url.busy_seconds)
    if url.kind == "postgresql":
        _need_driver(url)
        from loopbook.store.postgres import look_at  # noqa: PLC0415

        return look_at(url)
    return SCHEMA


def _need_driver(url: StoreURL) -> None:
    try:
        import loopbook.store.postgres  # noqa: F401, PLC0415 - the driver is an extra, and slow to import
    except ImportError as missing:
        raise StoreUnavailable(
            f"{url} needs the PostgreSQL driver ({str(missing).splitlines()[0]}); nothing was opened;"
            " pip install 'loopbook[postgres]'"
        ) from None
