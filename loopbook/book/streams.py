"""The names of streams, and what an event reserves.

Five sorts of stream, told by their prefix: ``loop:<id>``, ``session:<host>:<id>``,
``guard:<project>``, ``catalogue``, and ``once:<stream>:<what>:<key>``, a *reservation*. A
reservation's stream ever holds one entry, so the store's primary key says no to the second use of
a key, whichever process asks. It is derivable from the entry that it was saved with.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from loopbook.entry import Entry
from loopbook.errors import InvalidLoopId
from loopbook.events import (
    Catalogued,
    Event,
    Forked,
    LoopClosed,
    LoopOpened,
    LoopReopened,
    Review,
    SessionAdopted,
    TodoOpened,
    UnitAdded,
)
from loopbook.evidence.text import clean
from loopbook.projections import EMPTY, BookState, Folding

CATALOGUE = "catalogue"

What = Literal["host_ref", "todo", "unit", "finding"]

_ID, _PLAIN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}", r"(?!sha256=)[!-~]{1,200}"
#: Asked of every event that is appended; few are of these types.
_NAMING: frozenset[type[Event]] = frozenset({TodoOpened, UnitAdded, Review})
_TOLD: frozenset[type[Event]] = frozenset({LoopOpened, Forked, SessionAdopted, LoopClosed, LoopReopened})

_LOOP_ID, _PLAIN_KEY = re.compile(_ID), re.compile(_PLAIN)
_HASHED, _HOST = "sha256=[0-9a-f]{64}", _PLAIN.replace("!-~", "!-9;-~")  # a host has no colon
_NAME = re.compile(
    rf"loop:{_ID}|session:(?:{_HASHED}|{_HOST}):(?:{_HASHED}|{_PLAIN})|guard:(?:{_HASHED}|{_PLAIN})"
)


def loop_stream(loop_id: str) -> str:
    """The stream of a loop. Raises ``InvalidLoopId``.

    >>> loop_stream("audit-codex-17")
    'loop:audit-codex-17'
    """
    if not _LOOP_ID.fullmatch(loop_id):
        raise InvalidLoopId(
            f"{loop_id[:80]!r} cannot be a loop's id; nothing was written;"
            " use 1 to 120 letters, digits, dots, dashes and underscores, a letter or digit first"
        )
    return f"loop:{loop_id}"


def is_name(stream: str) -> bool:
    """Whether a loop, a session or a guard can have a stream of this name.

    >>> [is_name(name) for name in ("loop:a", "session:codex:0199-ab", "loop:../a", "catalogue")]
    [True, True, False, False]
    """
    return _NAME.fullmatch(stream) is not None


def session_stream(host: str, session: str) -> str:
    """The stream of a host's session.

    >>> session_stream("codex", "0199-ab")
    'session:codex:0199-ab'
    """
    return f"session:{_key(host.replace(':', '-'))}:{_key(session)}"


def reservation(stream: str, what: What, key: str) -> str:
    """The stream that holds the one use of a key; a key too long or odd for a name by its hash.

    >>> reservation("loop:a", "todo", "t1")
    'once:loop:a:todo:t1'
    """
    return f"once:{stream}:{what}:{_key(key)}"


def _key(text: str) -> str:
    if _PLAIN_KEY.fullmatch(text):
        return text
    return f"sha256={hashlib.sha256(clean(text).encode()).hexdigest()}"  # as the entries have it


def begins(stream: str, event: Event) -> bool:
    """Whether an event may be the first entry of a stream: a loop is opened, or forked from another.

    So whoever holds a loop that was forgotten meanwhile begins no book without a beginning.

    >>> begins("loop:a", LoopOpened(kind="fix", intent="i")), begins("loop:a", LoopReopened())
    (True, False)
    """
    return not stream.startswith("loop:") or isinstance(event, LoopOpened | Forked)


def reserves(before: BookState | Folding, entry: Entry) -> Iterator[tuple[What, str]]:
    """What an entry uses for the first and only time, given the state before it.

    A finding that stands open may be named again by its reviewer, and that is no second use.
    """
    if entry.host_ref is not None:
        yield "host_ref", entry.host_ref
    yield from named(before, entry.event)


def named(before: BookState | Folding, event: Event) -> Sequence[tuple[What, str]]:
    """What an event itself uses for the first and only time."""
    if event.__class__ not in _NAMING:
        return ()
    match event:
        case TodoOpened(todo=todo):
            return (("todo", todo),)
        case UnitAdded(unit=unit):
            return (("unit", unit),)
        case Review(findings=findings, reviewer=reviewer):
            standing = {finding.id for finding in before.work.findings if finding.reviewer == reviewer}
            told = [finding.id for finding in findings if finding.severity != "nit"]
            return [("finding", name) for name in told if name not in standing]
    return ()


def catalogued(stream: str, event: Event, state: BookState | Folding = EMPTY) -> Catalogued | None:
    """What the catalogue must say of an event in a loop's stream, so that listing reads no loop.

    ``state`` is that after the event: what a fork is of, its parent says.
    """
    if event.__class__ not in _TOLD or not stream.startswith("loop:"):
        return None
    loop = stream.removeprefix("loop:")
    match event:
        case LoopOpened(kind=kind, intent=intent):
            return Catalogued(loop=loop, change="opened", kind=kind, intent=intent)
        case Forked(from_=parent):
            life, of = state.life, parent.removeprefix("loop:")
            return Catalogued(loop=loop, change="opened", kind=life.kind, intent=life.intent, parent=of)
        case SessionAdopted():
            return Catalogued(loop=loop, change="adopted")
        case LoopClosed(outcome=outcome):
            return Catalogued(loop=loop, change="closed", outcome=outcome)
        case LoopReopened():
            return Catalogued(loop=loop, change="reopened")
    return None
