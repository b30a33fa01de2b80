"""How large loops are, without reading their books."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loopbook.book import Book, loop_stream
from loopbook.catalogue import LoopRow
from loopbook.store import Size

_NONE = Size(0, 0)


class Measured(NamedTuple):
    """A loop's own entries (a fork's parent's are not counted), the bytes of their states, its head.

    ``head`` is the ``sum`` of the newest entry: noted elsewhere, it lets ``fsck`` see a cut end.
    """

    entries: int
    bytes: int
    head: str = ""


def measured(book: Book, loops: Iterable[LoopRow], *, heads: bool = False) -> list[tuple[LoopRow, Measured]]:
    """Each loop with its size, and with ``heads`` its head: counted where they are stored."""
    rows = [(row, loop_stream(row.id)) for row in loops]
    sizes = book.records.rows.sizes([stream for _, stream in rows])
    return [
        (row, Measured(*sizes.get(stream, _NONE), book.head(stream)[1] if heads else ""))
        for row, stream in rows
    ]
