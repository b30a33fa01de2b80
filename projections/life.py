"""The life of a loop: how it was opened, its close that is pending, and how it ended.

Theory. A declared close is pending until it is decided. Those who were asked about it have a stance; the
judgment that says nothing of others who have yet to be heard decides it, and so do an objection that rests
on facts alone and the loop's end.
"""

from __future__ import annotations

import json

from loopbook.events import CloseDeclared, Judged, LoopOpened, Noticed, PassedOver
from loopbook.projections import phases
from loopbook.projections.state import TEXT_CHARS, Life, Stance
from loopbook.run import PROMPT_CHARS

#: The detail of a silence: an objection to a close, said before, that rests on facts alone.
FACTS = "facts"


def opened(event: LoopOpened, seq: int, session: str) -> Life:
    """The life of a loop that begins."""
    return Life(
        opened=seq,
        kind=event.kind[:TEXT_CHARS],
        intent=event.intent[:PROMPT_CHARS],
        anchor=event.anchor[:PROMPT_CHARS] if event.anchor is not None else None,
        review_tier=event.review_tier,
        definition=_definition(event),
        session=session,
    )


def _definition(event: LoopOpened) -> str:
    """The kind as text; "" where there is none, or one that this loopbook cannot read."""
    if event.definition is None:
        return ""
    try:
        text = json.dumps(dict(event.definition))
    except (TypeError, ValueError, RecursionError):
        return ""
    return text if phases.plan_of(text) else ""


def declared(life: Life, event: CloseDeclared, seq: int) -> Life:
    """The life of a loop whose close somebody declares, perhaps anew."""
    return life._replace(claim=event.claim[:PROMPT_CHARS], declared=seq, stances={})


def judged(life: Life, event: Judged) -> Life:
    """The life of a loop once an advisor was heard about its close."""
    if event.sort != "close":
        return life
    if event.pending is None or not life.declared:
        return decided(life)
    return life._replace(stances={**life.stances, event.advisor: Stance(event.packet, event.pending)})


def noticed(life: Life, event: Noticed) -> Life:
    """The life of a loop after a notice: an objection on facts alone decides its close."""
    return decided(life) if event.sort == "close" and event.judged is None else life


def passed_over(life: Life, event: PassedOver) -> Life:
    """The life of a loop after a silence: so does one that was said before."""
    return decided(life) if event.reason == "duplicate" and event.detail == FACTS else life


def decided(life: Life) -> Life:
    """The life of a loop with no close pending."""
    return life._replace(claim=None, declared=0, stances={})
