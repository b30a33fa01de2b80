"""Heads from before texts were scrubbed: which entry they were the ``sum`` of.

Theory. Whoever scrubs gives every later row of the stream another ``sum``, and any of those before
may have been noted elsewhere as a head. So the entry that tells of the scrubbing keeps all of them,
each cut to what no two of a book share by chance, in the order of their rows, which end right
before it. That is a note and no proof: who can write a book anew can write such an entry too.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopbook.events import Scrubbed

#: Digits kept of a ``sum``.
DIGITS = 12
#: More rows than that, the newest, are not told of: the entry stays within a line of an export.
MOST = 1_000_000


def kept(sums: Sequence[str]) -> str:
    """What is kept of the former sums of consecutive rows.

    >>> kept(["a" * 64, "b" * 64])
    'aaaaaaaaaaaabbbbbbbbbbbb'
    """
    return "".join(digest[:DIGITS] for digest in sums[-MOST:])


def seq_of(digest: str, event: Scrubbed, seq: int) -> int | None:
    """The entry that had a ``sum`` before a scrubbing, which is told at ``seq``; ``None`` for none.

    >>> sums = kept(["a" * 64, "b" * 64])
    >>> event = Scrubbed(of="loop:a", seqs=(3,), before="b" * 64, after="c" * 64, sums=sums)
    >>> seq_of("a" * 64, event, 5), seq_of("b" * 64, event, 5), seq_of("c" * 64, event, 5)
    (3, 4, None)
    """
    if digest == event.before:
        return seq - 1
    at = event.sums.find(digest[:DIGITS])
    while at % DIGITS and at > 0:
        at = event.sums.find(digest[:DIGITS], at + 1)
    return None if at < 0 else seq - (len(event.sums) - at) // DIGITS
