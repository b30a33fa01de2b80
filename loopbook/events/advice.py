"""What advisors asked, said, and did not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from loopbook.events.base import Event

#: What an advisor makes of a declared close. ``neither``: it has nothing to say against it, nor for it.
Opinion = Literal["agrees", "objects", "neither"]


class Judged(Event):
    """A judge answered. ``read_to`` is the seq it read up to; the envelope's unit is the subject.

    Times are milliseconds, cost US dollars; ``versions`` are those of policy, state, questions, flow, fold
    and code. ``basis`` here and below is what else it takes to decide it again
    (``loopbook.advisors.basis``).
    ``asked`` counts the answers it took (two where the first was stale); tokens and cost are of all of
    them, the rest is the last one's. ``pending`` is what it makes of a declared close about which others
    have yet to be heard; without it, a judgment of a close decides the close.
    """

    type: Literal["judged"] = "judged"
    advisor: str
    run: str | None = None
    read_to: int = Field(ge=0)
    sort: Literal["away", "close"] = "away"
    packet: str = ""
    question_set: str = ""
    pending: Opinion | None = None
    answers: Mapping[str, JsonValue] = Field(default_factory=dict)
    thresholds: Mapping[str, float] = Field(default_factory=dict)
    versions: Mapping[str, str] = Field(default_factory=dict)
    model_asked: str | None = None
    model_answered: str | None = None
    request_id: str | None = None
    latency_ms: float | None = None
    asked: int = Field(default=1, ge=1)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    basis: Mapping[str, JsonValue] = Field(default_factory=dict)


class Noticed(Event):
    """An advisor spoke. Appended before the words leave; ``key`` is what it must not repeat.

    ``trigger`` is the seq of the last evidence or newest loose todo it answers, ``judged`` the
    seq of the judgment it rests on (``None``: facts alone).
    """

    type: Literal["noticed"] = "noticed"
    advisor: str
    run: str | None = None
    sort: Literal["away", "close"] = "away"
    key: str
    text: str
    continues: bool = False
    trigger: int = 0
    judged: int | None = None
    concerns: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    basis: Mapping[str, JsonValue] = Field(default_factory=dict)


class PassedOver(Event):
    """An advisor did not speak, and why: silence is part of the audit.

    An answer that came to nothing (it was stale, or had lost what mattered) has cost all the same: then
    ``asked`` is how many there were, and tokens and US dollars are theirs.
    """

    type: Literal["passed_over"] = "passed_over"
    advisor: str
    run: str | None = None
    sort: Literal["away", "close"] = "away"
    reason: str
    detail: str | None = None
    asked: int = Field(default=0, ge=0)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    basis: Mapping[str, JsonValue] = Field(default_factory=dict)


class Delivered(Event):
    """The host has handed the notice at seq ``notice`` to the agent."""

    type: Literal["delivered"] = "delivered"
    notice: int = Field(ge=1)
