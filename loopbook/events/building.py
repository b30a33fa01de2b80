"""Building an event from what a person or program wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from loopbook.errors import InvalidEvent
from loopbook.events.base import Event
from loopbook.events.vocabulary import BY_TYPE
from loopbook.run import RecordModel, invalid


def build_event(fields: Mapping[str, object]) -> Event:
    """Build an event from what a person or program wrote: strict, unlike reading one from a book.

    ``fields`` hold the type word and the event's own fields, as in JSON. Raises ``InvalidEvent``,
    which tells where in the mapping it went wrong, also for a field that no such event has.

    >>> build_event({"type": "change", "summary": "retry added", "paths": ["client.py"]}).paths
    ('client.py',)
    """
    word = fields.get("type")
    cls = BY_TYPE.get(word) if isinstance(word, str) else None
    if cls is None:
        raise InvalidEvent(f"there is no event of type {word!r}", ("type",))
    names = {field.alias or name for name, field in cls.model_fields.items()}
    for name in fields:
        if name not in names:
            raise InvalidEvent(f"{word} has no field {name!r}", (name,))
    try:
        event = cls.model_validate(fields)
    except ValidationError as wrong:
        raise invalid(str(word), wrong) from None
    for loc in _unknown_fields(event):
        raise InvalidEvent(f"{word} has no field {'.'.join(map(str, loc))!r}", loc)
    return event


def retold(event: Event, otherwise: str) -> InvalidEvent:
    """Why an event cannot be kept that was made past its own checks (``model_copy``, ``model_construct``):
    what they say of it; ``otherwise`` where they find nothing.

    >>> from loopbook.events import Change
    >>> retold(Change(summary="x").model_copy(update={"summary": 5}), "it cannot be kept").what
    'change: summary: Input should be a valid string'
    """
    try:
        type(event).model_validate(event.model_dump(warnings=False))
    except ValidationError as wrong:
        return invalid(event.type, wrong)
    except (PydanticSerializationError, ValueError, RecursionError):
        pass
    return InvalidEvent(" ".join(otherwise.split()))


def _unknown_fields(value: object, loc: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, RecordModel):
        yield from ((*loc, name) for name in value.model_extra or ())
        for name in type(value).model_fields:
            yield from _unknown_fields(getattr(value, name), (*loc, name))
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from _unknown_fields(item, (*loc, place))
