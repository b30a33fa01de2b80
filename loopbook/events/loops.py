"""The life of a loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from loopbook.events.base import Event, Tier


class LoopOpened(Event):
    """A loop begins. ``definition`` is its kind as it was then, so a replay needs no file.

    ``anchor`` is where the work starts from (a revision, an issue); ``review_tier`` is the
    least review the loop asks for.

    >>> LoopOpened(kind="fix", intent="Crash on empty input").review_tier
    'light'
    """

    type: Literal["loop_opened"] = "loop_opened"
    kind: str
    intent: str
    anchor: str | None = None
    review_tier: Tier = "light"
    definition: Mapping[str, JsonValue] | None = None


class SessionAdopted(Event):
    """Another session, the one that writes this, goes on with the loop."""

    type: Literal["session_adopted"] = "session_adopted"


class CloseDeclared(Event):
    """Somebody says the loop is done; ``claim`` is how they put it."""

    type: Literal["close_declared"] = "close_declared"
    claim: str = ""


class LoopClosed(Event):
    """The loop has ended: all met, over standing concerns, or with no judge to ask."""

    type: Literal["loop_closed"] = "loop_closed"
    outcome: Literal["met", "over_concerns", "unjudged"]


class LoopReopened(Event):
    """A closed loop goes on."""

    type: Literal["loop_reopened"] = "loop_reopened"
