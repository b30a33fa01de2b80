"""Where books are kept: the only code, with ``loopbook.book``, that knows the event store library.

Theory. A *store* is a table of rows (stream, version, topic, state) whose primary key is (stream,
version). That key is all there is of concurrency: whoever writes a version first has it, and a
save of several rows is kept whole or not at all; what it was chained to must stand there still.
Everything else here is care at the edges: which
file is ours, what a process that died or was forked leaves behind, what SQLite leaves unsaid.

``contract`` is what every store promises, ``footing`` what each asks before it keeps a save.
``urls`` reads a store's URL; ``memory``, ``sqlite`` and ``postgres`` are the kinds of it. The latter
two have what a book asks in a file of its own (``sqlite_books``, ``postgres_books``) and stand on
``files`` and ``connections``, on ``databases``, ``server`` and ``statements``. ``forking`` keeps a
child of this process out of its parent's files; ``records`` is the library's application with
everything that the process environment could change taken out.
"""

from eventsourcing.persistence import IntegrityError

from loopbook.store.contract import Facts, Recorder, Row, Size, Stand, Stored, Waiter
from loopbook.store.footing import parent_of
from loopbook.store.records import Records, open_records, schema_of
from loopbook.store.refusals import swallowed
from loopbook.store.urls import StoreURL, parse_url, without_password

__all__ = [
    "Facts",
    "IntegrityError",
    "Recorder",
    "Records",
    "Row",
    "Size",
    "Stand",
    "StoreURL",
    "Stored",
    "Waiter",
    "open_records",
    "parent_of",
    "parse_url",
    "schema_of",
    "swallowed",
    "without_password",
]
