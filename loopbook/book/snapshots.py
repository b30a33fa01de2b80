"""Snapshots: a book's state kept beside it, so that a long book opens at once.

Theory. A snapshot is a saving and never a source: whatever is wrong with one, the entries are
folded as if it were not there. It is a row of the store's snapshot table: the version it was taken
at, a topic that names the version of the fold, and a JSON object with the state and what it *stands
on*, the ``sum`` of the newest entry folded and, in a fork, of the newest one read in each parent.
A row whose entry has another ``sum`` by now (scrubbed, forgotten and written anew, imported from
elsewhere) makes the snapshot foreign. Its last member is a ``sum`` of its own, as in an entry.

One is taken by a reader that catches up, once 1,000 entries have been folded since the last, and by
a fork of such a length. The older ones stay, for forks of what came before; those that turn out to
be of no use are removed with the next that is taken.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from loopbook.projections import FOLD_VERSION, BookState
from loopbook.sealing import holds, seal
from loopbook.store import Row, Stand

#: Entries folded since the last snapshot before another one is taken.
EVERY = 1_000
#: The topic of a snapshot whose state the present fold gave.
TOPIC = f"book_state.{FOLD_VERSION}"


class Snapshot(BaseModel):
    """A state and the rows it stands on: the book's newest, then each parent's, the nearest first."""

    model_config = ConfigDict(frozen=True, defer_build=True)  # most processes never meet one

    stands: tuple[Stand, ...]
    state: BookState


def pack(stands: tuple[Stand, ...], state: BookState) -> Row:
    """The row of a snapshot. Raises ``ValueError`` for a state that JSON cannot hold.

    >>> from loopbook.projections import EMPTY
    >>> row = pack((Stand("loop:a", 7, "5a"),), EMPTY._replace(version=7))
    >>> row[:3] == ("loop:a", 7, TOPIC), unpack(row).state.version
    (True, 7)
    """
    stream, version, _ = stands[0]
    body = Snapshot(stands=stands, state=state).model_dump_json().encode()[:-1]
    digest = seal(stream, version, TOPIC, body)
    return Row(stream, version, TOPIC, b'%b,"sum":"%b"}' % (body, digest.encode()))


def unpack(row: Row) -> Snapshot | None:
    """The snapshot of a row; nothing for one that is stale, edited, moved or unreadable."""
    if row.topic != TOPIC or not holds(*row):
        return None
    try:
        snapshot = Snapshot.model_validate_json(row.state)
    except ValidationError:
        return None
    at = snapshot.stands[0][:2] if snapshot.stands else None
    if at != row[:2] or snapshot.state.version != row.originator_version:
        return None
    return snapshot
