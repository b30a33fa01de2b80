"""Books: streams of entries, appended to and caught up with.

``core`` appends and reads, ``streams`` knows the names of streams and what an event reserves,
``hygiene`` is what every text goes through on its way in.
"""

from loopbook.book.attempt import look_at
from loopbook.book.core import Book, Tell
from loopbook.book.streams import CATALOGUE, is_name, loop_stream, reservation, session_stream

__all__ = ["CATALOGUE", "Book", "Tell", "is_name", "look_at", "loop_stream", "reservation", "session_stream"]
