"""Books: streams of entries, appended to and caught up with.

``core`` appends what is ``asked``, as often as ``attempt`` makes entries of drafts; ``parting`` knows
where a fork goes on; ``hygiene`` is what every text goes through on its way in. ``reading`` reads and
catches up, ``folding`` makes states of rows, ``snapshots`` keeps them, ``lineage`` knows where the
entries of a fork stand, ``following`` waits for what is new. ``streams`` knows the names of streams
and what an event reserves.
"""

from loopbook.book.asked import Tell
from loopbook.book.attempt import look_at
from loopbook.book.core import Book
from loopbook.book.streams import CATALOGUE, is_name, loop_stream, reservation, session_stream

__all__ = ["CATALOGUE", "Book", "Tell", "is_name", "look_at", "loop_stream", "reservation", "session_stream"]
