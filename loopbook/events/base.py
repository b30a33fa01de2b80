"""What all events share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import JsonValue

from loopbook.run import RecordModel

#: What the envelope says; no event may say it too (``unit`` is shared, see rule 3).
ENVELOPE = frozenset({"at", "session", "unit", "host_ref", "line", "v", "prev", "sum"})

Scope = Literal["tests", "build", "lint", "types", "format", "manual"]
Outcome = Literal["pass", "fail", "unknown"]
Tier = Literal["none", "light", "full"]
Origin = Literal["human", "host", "child", "advisor"]
FollowUp = str | Mapping[str, JsonValue]


class Event(RecordModel):
    """What all events share: frozen, strict when built, lenient when read.

    >>> from loopbook.events import Change
    >>> Change(summary="retry added", paths=("client.py",)).type
    'change'
    >>> Change(sumary="retry added")
    Traceback (most recent call last):
    TypeError: Change has no field 'sumary'
    """

    VERSION: ClassVar[int] = 1
    type: str
