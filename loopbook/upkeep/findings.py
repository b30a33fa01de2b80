"""What fsck has to say: findings, and what a person can do about each of them.

A remedy is a promise: whoever follows it has a store in which fsck finds nothing more of the kind,
which a test holds by following each of them.
"""

from __future__ import annotations

from typing import NamedTuple

#: For what was edited, moved or removed: whatever hangs together in this store goes into a new one.
RESCUE = "make a new store: import an older export into it, if there is one, and then an export of this store"
#: For what follows from the entries, which an import writes anew.
DERIVE = "make a new store: import an export of this store into it"
#: For a loop of which nothing is left.
FORGET = "loopbook store forget {} --yes; then import the loop, if there is an export of it"
#: For snapshots.
VACUUM = "it is left unused; remove it with: loopbook store vacuum"


class Finding(NamedTuple):
    """Something that is not as it was written; ``seq`` is ``None`` where it concerns the whole stream."""

    stream: str
    seq: int | None
    what: str
    remedy: str


class Report(NamedTuple):
    """What was looked at, what was found, and what is worth knowing though it is no damage."""

    streams: int
    rows: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


class Head(NamedTuple):
    """A newest entry's ``sum``, noted earlier; of any stream where none is named."""

    sum: str
    stream: str | None = None
