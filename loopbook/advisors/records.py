"""What is kept of what an advisor did: its decisions as events."""

from __future__ import annotations

from typing import cast

from loopbook.advisors.asking import Answer, Packet, to_json
from loopbook.advisors.shape import Advisor, PassOver, Say, Silence, Sort
from loopbook.entry import Draft
from loopbook.events import Judged, Noticed, PassedOver


def judged(advisor: Advisor, run: str | None, packet: Packet, answer: Answer, read_to: int) -> Draft:
    """A judgment, with what it takes to decide it again: ``read_to`` is the version it held at."""
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
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost_usd=answer.cost_usd,
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


def passed_over(advisor: Advisor, run: str | None, why: PassOver | Silence) -> Draft:
    """A silence and its reason."""
    event = PassedOver(advisor=advisor.name, run=run, reason=why.reason, detail=why.detail)
    return Draft(event, unit=why.unit)
