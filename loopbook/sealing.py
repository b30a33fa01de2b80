"""The chain: each row carries a sum over itself and over the one before it.

Theory. With ``body`` the state's bytes up to and without ``,"sum":"<64 hex digits>"}``::

    sum = hex(SHA-256(net(stream) + net(version in decimal) + net(topic) + body))
    net(text) = <length of its UTF-8 in bytes, decimal> ":" <its UTF-8> ","

``prev``, within the body, is the ``sum`` before it in the same stream ("" for the first). So any
edit of a row shows with nothing but SHA-256, and no JSON library's habits are part of the format.
Stored bytes are never written again; a copy of a book copies them.
"""

from __future__ import annotations

import re
from hashlib import sha256

#: The length of ``,"sum":"`` + 64 hex digits + ``"}``.
_TAIL = 8 + 64 + 2
_SUM = re.compile(rb',"sum":"([0-9a-f]{64})"}')
#: What stands before ``prev``, and nowhere before it.
_PREV = b',"prev":"'


def seal(stream: str, version: int, topic: str, body: bytes) -> str:
    """The ``sum`` of a row, from its state's bytes without their ``sum`` member (see the theory).

    >>> seal("loop:a", 1, "task", b'{"v":1,"prev":"","text":"look"')[:16]
    '467554f18df04539'
    """
    name, number, word = stream.encode(), b"%d" % version, topic.encode()
    where = len(name), name, len(number), number, len(word), word
    return sha256(b"%d:%b,%d:%b,%d:%b,%b" % (*where, body)).hexdigest()


def holds(stream: str, version: int, topic: str, state: bytes) -> bool:
    """Whether a row's ``sum`` is that of the row: false for any row that was edited or moved."""
    body = state[:-_TAIL]
    return state == sealed(body, seal(stream, version, topic, body))


def sealed(body: bytes, digest: str) -> bytes:
    """The whole state, with its ``sum`` as the last member."""
    return b'%b,"sum":"%b"}' % (body, digest.encode())


def sum_in(state: bytes) -> str:
    """The ``sum`` that a state, or the end of one, carries; "" where it does not end with one.

    What a row's ``sum`` is, this says alone: whatever another tool made of it carries none.

    >>> sum_in(b'{"v":1,"sum":"%b"}' % (b"5a" * 32)) == "5a" * 32, sum_in(b'{ "sum": "5a" }')
    (True, '')
    """
    found = _SUM.fullmatch(state[-_TAIL:])
    return found[1].decode() if found else ""


def prev_in(state: bytes) -> str:
    """The ``prev`` that a state carries, without reading the rest of it; "" where it has none.

    >>> prev_in(b'{"at":"x","v":1,"prev":"5a","text":"look"')
    '5a'
    """
    start = state.find(_PREV)  # within a text its quotes would be escaped
    if start < 0:
        return ""
    start += len(_PREV)
    return state[start : state.find(b'"', start)].decode("ascii", "replace")
