"""Where a stream goes on: from a parent that others may forget, scrub or begin anew meanwhile."""

from __future__ import annotations

from loopbook.book.folding import Place
from loopbook.book.lineage import DEEPEST, lineage
from loopbook.book.reading import Reader
from loopbook.encoding import damaged
from loopbook.errors import CannotFork, DamagedEntry, NoSuchLoop
from loopbook.store import Stand


def parting(reader: Reader, parent: str, version: int) -> Place:
    """Where a fork goes on: a version of its parent, which may be forgotten or scrubbed meanwhile."""
    while True:
        head = reader.head(parent)
        if not head[0]:
            raise no_such(reader, parent)
        if not 1 <= version <= head[0]:
            raise CannotFork(
                f"{parent} has the entries 1 to {head[0]}, and no {version}; nothing was written;"
                " name one of them"
            )
        try:
            place = _place_in(reader, parent, version)
        except DamagedEntry:
            if reader.head(parent) == head:
                raise
        else:
            if place.version == version:
                return place


def _place_in(reader: Reader, parent: str, version: int) -> Place:
    """A version of a stream, standing on the stream in which that entry is; (0, ...) for none."""
    segments = lineage(reader.records.rows, parent, version)
    if not segments:
        return Place()
    source = segments[-1].stream
    place = reader.place_at(source, version)
    if len(place.forebears) >= DEEPEST:
        raise CannotFork(
            f"{parent} is the {DEEPEST}th fork in a row; nothing was written; fork one before it"
        )
    return place._replace(forebears=(Stand(source, version, place.sum), *place.forebears))


def no_such(reader: Reader, stream: str) -> NoSuchLoop:
    """The error that names a stream which is not there."""
    return NoSuchLoop(f"no {stream} in {reader.url}; nothing was written; see: loopbook loop list")


def look_for_sum(place: Place, stream: str) -> None:
    """Refuse to go on from a row that shows no ``sum``: whatever followed would be chained to nothing."""
    if place.version and not place.sum:
        parent = place.forebears[0] if place.forebears else None
        where = parent.stream if parent and parent.version == place.version else stream
        raise damaged(where, place.version, "it does not end with its sum")
