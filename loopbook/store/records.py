"""The library's application, with everything taken out that is not ours to leave open.

The library lets the process environment choose mapper, cipher, compressor and factory. A book is
the same whatever else runs in its process, so ``Records`` takes its whole configuration from the
store's URL and hands the library a mapper of its own: an entry is encoded by ``loopbook.encoding``.
The library's repository is never asked; ``loopbook.book`` catches up by version instead.
"""

from __future__ import annotations

from typing import cast

from eventsourcing.application import Application
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent
from eventsourcing.utils import Environment, EnvType

from loopbook.encoding import decode, encode
from loopbook.entry import Entry
from loopbook.errors import StoreUnavailable
from loopbook.store.contract import SCHEMA, Recorder, Row
from loopbook.store.urls import StoreURL


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
