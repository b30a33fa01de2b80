"""The library's application, with everything taken out that is not ours to leave open.

The library lets the process environment choose mapper, cipher, compressor and factory. A book is
the same whatever else runs in its process, so ``Records`` takes its whole configuration from the
store's URL and hands the library a mapper of its own: an entry is encoded by ``loopbook.entry``.
The library's repository is never asked; ``loopbook.book`` catches up by version instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol, cast

from eventsourcing.application import Application
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent
from eventsourcing.utils import Environment, EnvType

from loopbook.entry import Entry, decode, encode
from loopbook.store.urls import StoreURL


class Row(NamedTuple):
    """A row as it is stored; its names are the library's."""

    originator_id: str
    originator_version: int
    topic: str
    state: bytes


class Recorder(Protocol):
    """What a book asks of a store: the library's recorder, and two questions about many rows at once."""

    def insert_events(self, stored_events: Sequence[StoredEvent], /) -> Sequence[int] | None:
        """Store all rows or none; the library's ``IntegrityError`` where a version is taken."""

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
    if url.path is None:
        return Records({"PERSISTENCE_MODULE": "loopbook.store.memory:Factory"})
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
