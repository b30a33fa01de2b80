"""A run: the prompt that opens it, and what was said and done in it when it comes to rest."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from loopbook.events.base import Event, Origin
from loopbook.run import Call, Line, Observed, Stop


class Prompted(Event):
    """A prompt opens a run. Only one of origin ``human`` opens a task and refills budgets.

    ``text`` holds at most 8,000 characters.
    """

    type: Literal["prompted"] = "prompted"
    prompt: str
    text: str
    origin: Origin = "human"


class RunSettled(Event):
    """A run has come to rest: what was said and done in it, bounded, the same for every host.

    ``path`` holds the host's entry ids, oldest first; ``final_text`` keeps the first and the
    last 4,000 characters; ``calls`` the newest 200 of ``calls_total``.

    >>> RunSettled(run="r1").stop
    'end'
    """

    type: Literal["run_settled"] = "run_settled"
    run: str
    prompt: str | None = None
    path: tuple[str, ...] = ()
    stop: Stop = "end"
    interactive: bool = True
    final_text: str = ""
    lines: tuple[Line, ...] = ()
    calls: tuple[Call, ...] = ()
    calls_total: int = Field(default=0, ge=0)
    observed: Observed = Observed.model_construct()  # calling it would build it at import
