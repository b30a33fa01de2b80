"""Judges: who answers.

Theory. To the flow a judge is one coroutine: a packet in, an answer or a failure out, within so
many seconds. It keeps no state that a decision could depend on. What it is asked is
``loopbook.advisors.asking``, whose words are given here too.

::

    class Always:
        async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:
            return answer_from(packet.questions, {"move": "advance", "done": 0.9})
"""

from __future__ import annotations

from typing import Protocol

from loopbook.advisors.asking import (
    Answer,
    Choice,
    Chosen,
    Failure,
    Likely,
    Noul,
    Packet,
    Question,
    Score,
    Scored,
    Value,
    answer_from,
)

__all__ = [
    "Answer", "Choice", "Chosen", "Failure", "Judge", "Likely", "Noul", "Packet", "Question", "Score",
    "Scored", "Value", "answer_from",
]  # fmt: skip


class Judge(Protocol):
    """Whoever answers packets."""

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:
        """Answer within ``deadline`` seconds.

        May be cancelled at any await. Whoever drives it ends the wait at the deadline in any case,
        and takes what it raises for a failure of kind ``error``.

        It has to await: one that computes or blocks without awaiting holds up the event loop that drives
        it, and no deadline ends that. Such a judge does it in a thread (``anyio.to_thread``), or is driven
        by the blocking calls, which give it one.
        """
