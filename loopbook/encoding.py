"""An entry as the bytes that a store keeps, and back: the envelope and its event, sealed.

Theory. A row is (stream, version, topic, state). The topic is the event's ``type``; the state is
one JSON object in UTF-8: the envelope's ``at, session, unit, host_ref, line, v, prev`` (those
that are there), then the event's own fields, and ``sum`` as its last member. A field shared by
envelope and event (``unit``) stands there once.

*Reading is lenient.* A type nobody here knows becomes ``Unknown``. An older shape is upcast. A
newer one is read as far as it fits, or else as ``Unknown``; its ``v`` stays among the event's
fields, so that written again it is still what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json

from loopbook.entry import Entry, utc
from loopbook.errors import DamagedEntry, InvalidEvent
from loopbook.events import BY_TYPE, ENVELOPE, Event, Reserved, Unknown
from loopbook.sealing import seal, sealed

#: What an old shape's fields must become: ``(type, v) -> fields of v + 1``. Applied until the
#: class's ``VERSION``; the test holds that no step is missing. The dict may be changed in place.
UPCASTS: Mapping[tuple[str, int], Callable[[dict[str, object]], dict[str, object]]] = {}

#: What of the envelope is never an event's own.
_NOT_SHARED = ENVELOPE - {"unit"}


# --- writing -----------------------------------------------------------------------------


def encode(entry: Entry) -> bytes:
    """The state of an entry, its ``sum`` computed anew (``entry.sum`` is not looked at).

    Raises ``InvalidEvent`` for what JSON cannot hold, and for a field the envelope owns.

    >>> from loopbook.events import Task
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> encode(Entry("loop:a", 1, Task(text="look"), noon, "s"))[:-74]
    b'{"at":"2026-01-01T12:00:00Z","session":"s","v":1,"prev":"","text":"look"'
    """
    event = entry.event
    v, excluded = _version_written(event)
    try:
        own = type(event).__pydantic_serializer__.to_json(event, exclude=excluded, warnings="error")
        body = _body(entry, v, own[1:-1])
        return sealed(body, seal(entry.originator_id, entry.originator_version, event.type, body))
    except (PydanticSerializationError, ValueError, RecursionError) as wrong:
        raise InvalidEvent(f"{event.type!r} cannot be written as JSON ({wrong})") from None


class Written(NamedTuple):
    """What of an entry does not depend on where it will stand: the event as it will be read, and the
    members of its own part of the state."""

    event: Event
    own: bytes


def written(event: Event) -> Written | None:
    """An event written and read back; nothing where that takes more care, or cannot be done.

    The envelope need not be parsed to know what will be read of it, and an event that comes back
    equal was of the declared types: pydantic's own look at them costs more than this one.
    """
    cls = type(event)
    if cls is not BY_TYPE.get(event.type) or event.__pydantic_extra__ or shares_unit(cls):
        return None
    try:
        own = cls.__pydantic_serializer__.to_json(event, exclude=_excluded(cls), warnings=False)
        back: Event = cls.__pydantic_validator__.validate_json(own)
    except (PydanticSerializationError, ValueError, RecursionError):
        return None
    return Written(back, own[1:-1]) if back.__dict__ == event.__dict__ else None


def encode_and_read(entry: Entry, ahead: Written | None = None) -> tuple[bytes, Entry]:
    """The state of an entry, and the entry as it will be read from it.

    ``ahead`` is its event ``written`` before. Raises ``InvalidEvent`` like ``encode``, and
    ``DamagedEntry`` for what could not be read back.
    """
    return (ahead and _with_event(entry, *ahead)) or _with_care(entry)


def _with_care(entry: Entry) -> tuple[bytes, Entry]:
    state = encode(entry)
    return state, decode(entry.originator_id, entry.originator_version, entry.event.type, state)


def _with_event(entry: Entry, event: Event, own: bytes) -> tuple[bytes, Entry] | None:
    """The same for an event that was read back; nothing where the envelope is not of its types."""
    stream, seq, _, at, session, unit, host_ref, line, prev, _ = entry
    if at.__class__ is not datetime or (line is not None and line.__class__ is not int):
        return None
    try:
        body = _body(entry, event.VERSION, own)
        digest = seal(stream, seq, event.type, body)
        read = Entry(stream, seq, event, utc(at), session, unit, host_ref, line, prev, digest)
        return sealed(body, digest), read
    except ValueError:
        return None


def encode_reserved(entry: Entry, name: str, what: str) -> bytes:
    """The state of the reservation ``name`` that ``entry`` makes: what ``encode`` gives for it.

    Every saved event brings one or more of these, so they are written without making models.

    >>> encode_reserved(Entry("loop:a", 7, Event(type="x"), datetime.now(UTC)), "once:x", "todo")[-129:-74]
    b'"v":1,"prev":"","what":"todo","stream":"loop:a","seq":7'
    """
    stream = quoted(entry.originator_id)
    own = f'"what":{quoted(what)},"stream":{stream},"seq":{entry.originator_version}'
    body = f'{_who(entry.at, entry.session)},"v":{Reserved.VERSION},"prev":"",{own}'.encode()
    return sealed(body, seal(name, 1, "reserved", body))


def _body(entry: Entry, v: object, own: bytes) -> bytes:
    """The state without its sum, ``own`` being the members of the event's own part."""
    begun = head(entry, v).encode()
    return b"%b,%b" % (begun, own) if own else begun


def head(entry: Entry, v: object) -> str:
    """The beginning of a state: the envelope's members, the optional ones where they are there."""
    unit = "" if entry.unit is None else f',"unit":{quoted(entry.unit)}'
    host_ref = "" if entry.host_ref is None else f',"host_ref":{quoted(entry.host_ref)}'
    line = "" if entry.line is None else f',"line":{int(entry.line)}'
    return f'{_who(entry.at, entry.session)}{unit}{host_ref}{line},"v":{v},"prev":"{entry.prev}"'


@lru_cache(maxsize=64)  # an entry and its reservations say the same
def _who(at: datetime, session: str) -> str:
    return f'{{"at":"{utc(at).isoformat()[:-6]}Z","session":{quoted(session)}'


@lru_cache(maxsize=256)
def _excluded(cls: type[Event]) -> set[str]:
    """What an event's own bytes leave out: the topic says its type, the envelope its unit."""
    return {"type", "unit"} if shares_unit(cls) else {"type"}


@lru_cache(maxsize=256)
def shares_unit(cls: type[Event]) -> bool:
    """Whether events of this class name a unit themselves, which the envelope is then told."""
    return "unit" in cls.model_fields


def _version_written(event: Event) -> tuple[object, set[str]]:
    """The ``v`` to write, and the fields to leave out of the event's own part."""
    cls, extra = type(event), event.__pydantic_extra__
    if not extra or ENVELOPE.isdisjoint(extra):
        return cls.VERSION, _excluded(cls)
    if owned := ENVELOPE.intersection(extra) - {"v"}:
        raise InvalidEvent(f"{event.type} may not have a field {min(owned)!r}: the envelope has it", ())
    return extra["v"], _excluded(cls) | {"v"}


# --- reading -----------------------------------------------------------------------------


def decode(stream: str, version: int, topic: str, state: bytes) -> Entry:
    """The entry of a row. Raises ``DamagedEntry``, naming stream and seq, for what is none.

    >>> row = ("loop:a", 1, "task", b'{"at":"2026-01-01T12:00:00Z","session":"s","v":1,"text":"look"}')
    >>> decode(*row).event
    Task(type='task', text='look')
    >>> decode("loop:a", 1, "verdict", row[3]).event
    Unknown(type='verdict', text='look')
    """
    cls = BY_TYPE.get(topic)
    entry = None if cls is None else _read_at_once(cls, stream, version, state)
    return entry or _read_with_care(stream, version, topic, state)


def _read_at_once(cls: type[Event], stream: str, version: int, state: bytes) -> Entry | None:
    """The entry of a row whose event is of this class as it is now; nothing for any other row.

    The state goes straight from its bytes into the event, which takes the envelope for fields it
    does not know; they are then taken out of it. That is a third quicker than by way of a dict.
    """
    try:
        event: Event = cls.__pydantic_validator__.validate_json(state)
        envelope = _envelope(event.__pydantic_extra__)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    when, session, unit, host_ref, line, v, prev, digest = envelope
    if v != cls.VERSION:
        return None
    if shares_unit(cls):
        unit = event.__dict__["unit"]
        event.__pydantic_fields_set__.difference_update(_NOT_SHARED)
    else:
        event.__pydantic_fields_set__.difference_update(ENVELOPE)
    return Entry(stream, version, event, when, session, unit, host_ref, line, prev, digest)


def _read_with_care(stream: str, version: int, topic: str, state: bytes) -> Entry:
    try:
        fields = from_json(state)
        when, session, unit, host_ref, line, v, prev, digest = _envelope(fields)
        event = _event(topic, v, unit, fields)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as wrong:
        raise damaged(stream, version, wrong) from None
    return Entry(stream, version, event, when, session, unit, host_ref, line, prev, digest)


#: ``at``, ``session``, ``unit``, ``host_ref``, ``line``, ``v``, ``prev``, ``sum``.
_Envelope = tuple[datetime, str, str | None, str | None, int | None, int, str, str]


def _envelope(fields: Any) -> _Envelope:
    """Take the envelope out of a state's members. Raises where one is missing or of the wrong type."""
    read = fields.pop
    at, session, v = read("at"), read("session"), read("v")
    unit, host_ref, line = read("unit", None), read("host_ref", None), read("line", None)
    prev, digest = read("prev", ""), read("sum", "")
    when = datetime.fromisoformat(at)
    if when.tzinfo is not UTC:
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    if not (
        session.__class__ is str
        and (unit is None or unit.__class__ is str)
        and (host_ref is None or host_ref.__class__ is str)
        and (line is None or line.__class__ is int)
        and v.__class__ is int
        and prev.__class__ is digest.__class__ is str
    ):
        raise TypeError("an envelope field is of the wrong type")
    return when, session, unit, host_ref, line, v, prev, digest


def damaged(stream: str, version: int, why: object) -> DamagedEntry:
    """The error that names a row which cannot be read."""
    reason = " ".join(str(why).split())[:200]
    return DamagedEntry(
        f"{stream} seq {version} cannot be read ({reason}); the row was left as it is;"
        f" restore it from a copy, or read the entries before it"
    )


def _event(topic: str, v: int, unit: str | None, fields: dict[str, object]) -> Event:
    cls = BY_TYPE.get(topic)
    if cls is None:
        return _unknown(topic, v, fields)
    if v == cls.VERSION:
        return _known(cls, unit, fields)
    if v > cls.VERSION:
        try:
            return _known(cls, unit, {**fields, "v": v})
        except ValidationError:
            return _unknown(topic, v, fields)
    for old in range(v, cls.VERSION):
        fields = UPCASTS[topic, old](fields)
    return _known(cls, unit, fields)


def _known(cls: type[Event], unit: str | None, fields: dict[str, object]) -> Event:
    if unit is not None and shares_unit(cls):
        fields["unit"] = unit
    event: Event = cls.__pydantic_validator__.validate_python(fields)
    return event


def _unknown(topic: str, v: int, fields: dict[str, object]) -> Event:
    if v != Unknown.VERSION:
        fields["v"] = v
    event: Event = Unknown.__pydantic_validator__.validate_python({**fields, "type": topic})
    return event
