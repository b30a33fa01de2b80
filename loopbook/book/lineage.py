"""Forks: where the entries of a stream stand.

Theory. A fork is a stream that is numbered on from its parent: its first row, ``forked {from,
version}``, stands at ``version + 1``, and its ``prev`` is the parent's ``sum`` at ``version``. So
the versions of a book are contiguous whoever wrote which part of it, a seq that an event names
means the same on both sides, and the chain runs through. A book is then a row of *segments*, the
oldest first: a stream, the first version that is read in it, and the last (``None``: all it has).

A parent may be a fork itself. The way back is walked with a list of the streams passed, so that
rows which name each other in a circle are damage and not a hang.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, cast

from loopbook.encoding import damaged, decode
from loopbook.errors import DamagedEntry, ParentMissing
from loopbook.events import Reserved
from loopbook.store import Recorder, Row, Stand, parent_of

#: How many forks may stand in a row: each one costs a read when a book is opened.
DEEPEST = 64


class Segment(NamedTuple):
    """A part of a book: versions ``first`` to ``last`` of a stream, which begins with ``first``."""

    stream: str
    first: int = 1
    last: int | None = None


def first_row(rows: Recorder, stream: str) -> Row | None:
    """The row a stream begins with."""
    return next(iter(cast("list[Row]", rows.select_events(stream, limit=1))), None)


def lineage(rows: Recorder, stream: str, upto: int | None = None) -> tuple[Segment, ...]:
    """Where the first ``upto`` entries of a book stand (``None``: all); nothing for no stream.

    Raises ``ParentMissing`` where a parent is not in the store any more, and ``DamagedEntry`` for a
    stream that does not begin as it must, for a circle, and for more than 64 forks in a row.
    """
    met = ""
    while True:
        try:
            return _walked(rows, stream, upto)
        except DamagedEntry as wrong:
            if str(wrong) == met:
                raise
            met = str(wrong)  # or a family was forgotten between two looks: what is missing is so twice


def _walked(rows: Recorder, stream: str, upto: int | None) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    passed: list[str] = []
    here, last = stream, upto
    while (row := first_row(rows, here)) is not None:
        first = row.originator_version
        if last is None or first <= last:
            segments.append(Segment(here, first, last))
        if first == 1:
            return tuple(reversed(segments))
        last = first - 1 if last is None else min(last, first - 1)
        passed.append(here)
        here = parent_of(row)
        if here in passed or len(passed) > DEEPEST:
            why = "its forks come from each other" if here in passed else "too many forks in a row"
            raise damaged(passed[-1], first, why)
    if passed:
        raise ParentMissing(passed[-1], here)
    return ()


def used_before(rows: Recorder, forebears: Iterable[Stand], stream: str, names: Collection[str]) -> set[str]:
    """Which of these reservations of a fork were made in a parent before the fork.

    Nothing can be reserved there any more, so it is enough to look before a save.
    """
    used = set[str]()
    for parent, version, _ in forebears:
        theirs = {f"once:{parent}{name.removeprefix(f'once:{stream}')}": name for name in names}
        for reservation in rows.taken(theirs):
            row = first_row(rows, reservation)
            reserved = decode(*row).event if row else None
            if isinstance(reserved, Reserved) and reserved.seq <= version:
                used.add(theirs[reservation])
    return used
