"""What is kept of what an advisor did: its decisions as events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from loopbook.advisors.asking import Answer, Cost, Packet, cost_of, to_json
from loopbook.advisors.basis import Basis
from loopbook.advisors.shape import PassOver, Policy, Say, Silence
from loopbook.entry import Draft
from loopbook.events import Judged, Noticed, Opinion, PassedOver


class By(NamedTuple):
    """Who decides, about which run (``None``: a close), and by what."""

    advisor: str
    run: str | None
    policy: Policy


class Kept(NamedTuple):
    """What is kept beside an answer to go by. ``costs`` are of all that it took: those before it were
    stale. ``read_to`` is the version it held at; ``pending`` is its opinion on a close that stays pending."""

    costs: tuple[Cost, ...]
    read_to: int
    pending: Opinion | None = None


def judged(by: By, packet: Packet, answer: Answer, kept: Kept, basis: Basis) -> Draft:
    """A judgment, with what it takes to decide it again."""
    event = Judged(
        advisor=by.advisor,
        run=by.run,
        read_to=kept.read_to,
        sort=packet.sort,
        pending=kept.pending,
        packet=packet.digest,
        question_set=packet.question_set,
        answers=to_json(answer),
        thresholds=by.policy.thresholds,
        versions=by.policy.versions,
        model_asked=answer.model_asked,
        model_answered=answer.model_answered,
        request_id=answer.request_id,
        latency_ms=answer.latency_ms,
        asked=len(kept.costs),
        **cost_of(kept.costs)._asdict(),
        basis=basis.to_json(),
    )
    return Draft(event, unit=packet.unit)


def noticed(by: By, say: Say, judgment: int | None, basis: Basis) -> Draft:
    """A notice; ``judgment`` is the seq of what it rests on."""
    event = Noticed(
        advisor=by.advisor,
        run=by.run,
        sort=say.sort,
        key=say.key,
        text=say.text,
        continues=say.continues,
        trigger=say.trigger,
        judged=judgment,
        concerns=say.concerns,
        todos=say.todos,
        units=say.units,
        basis=basis.to_json(),
    )
    return Draft(event, unit=say.unit)


def passed_over(by: By, why: PassOver | Silence, basis: Basis, costs: Sequence[Cost] = ()) -> Draft:
    """A silence and its reason; ``costs`` are of the answers that came to nothing."""
    event = PassedOver(
        advisor=by.advisor,
        run=by.run,
        sort=why.sort if isinstance(why, Silence) else "away",
        reason=why.reason,
        detail=why.detail,
        asked=len(costs),
        **cost_of(costs)._asdict(),
        basis=basis.to_json(),
    )
    return Draft(event, unit=why.unit)
