"""What is kept of what an advisor did: its decisions as events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from loopbook.advisors.asking import Answer, Packet, cost_of, to_json
from loopbook.advisors.shape import Advisor, PassOver, Say, Silence, Sort
from loopbook.entry import Draft
from loopbook.events import Judged, Noticed, PassedOver


def judged(advisor: Advisor, run: str | None, packet: Packet, heard: Sequence[Answer], read_to: int) -> Draft:
    """A judgment, with what it takes to decide it again: ``read_to`` is the version it held at.

    ``heard`` are the answers it took: the last one is the judgment, those before it were stale.
    """
    answer = heard[-1]
    thresholds, versions = advisor.policy()
    event = Judged(
        advisor=advisor.name,
        run=run,
        read_to=read_to,
        sort=cast("Sort", packet.sort),
        packet=packet.digest,
        question_set=packet.question_set,
        answers=to_json(answer),
        thresholds=thresholds,
        versions=versions,
        model_asked=answer.model_asked,
        model_answered=answer.model_answered,
        request_id=answer.request_id,
        latency_ms=answer.latency_ms,
        asked=len(heard),
        **cost_of(heard)._asdict(),
    )
    return Draft(event, unit=packet.unit)


def noticed(advisor: Advisor, run: str | None, say: Say, judgment: int | None) -> Draft:
    """A notice; ``judgment`` is the seq of what it rests on."""
    event = Noticed(
        advisor=advisor.name,
        run=run,
        sort=say.sort,
        key=say.key,
        text=say.text,
        continues=say.continues,
        trigger=say.trigger,
        judged=judgment,
        concerns=say.concerns,
        todos=say.todos,
        units=say.units,
    )
    return Draft(event, unit=say.unit)


def passed_over(
    advisor: Advisor, run: str | None, why: PassOver | Silence, heard: Sequence[Answer] = ()
) -> Draft:
    """A silence and its reason; ``heard`` are the answers that came to nothing."""
    event = PassedOver(
        advisor=advisor.name,
        run=run,
        reason=why.reason,
        detail=why.detail,
        asked=len(heard),
        **cost_of(heard)._asdict(),
    )
    return Draft(event, unit=why.unit)
