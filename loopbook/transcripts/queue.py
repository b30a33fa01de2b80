"""Messages typed while the agent works: queued, and taken out again in one of three ways.

Theory. ``dequeue`` makes one a prompt of its own, whose record follows. ``remove`` hands one to
the agent while it works: the old versions write nothing else of it, the newer ones say what was
removed and why, and add an attachment. ``popAll`` gives them back to the person. What the program
queues for itself (a task notification, a local command) is not a person's word and is left out.
"""

from __future__ import annotations

from collections import deque

from loopbook.evidence.shapes import text_of
from loopbook.evidence.text import head
from loopbook.run import PROMPT_CHARS
from loopbook.transcripts.records import Record

WAITING = 50
#: Why a message was taken out, where it reached the agent; the old versions do not say.
DELIVERED = ("", "absorbed_mid_turn")


class Queue:
    """What is waiting, oldest first, and what was handed over last."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque(maxlen=WAITING)
        self._handed: str | None = None

    def step(self, record: Record) -> str | None:
        """One queue operation; the message it hands to the working agent, if it does.

        >>> queue = Queue()
        >>> queue.step({"operation": "enqueue", "content": "and the docs, please"})
        >>> queue.step({"operation": "remove"})
        'and the docs, please'
        """
        operation, text = text_of(record, "operation"), head(text_of(record, "content"), PROMPT_CHARS)
        if operation == "enqueue" and text and not text.lstrip().startswith(("<task-notification>", "/")):
            self._waiting.append(text)
        elif operation == "popAll":
            self._waiting.clear()
        elif operation in ("remove", "dequeue") and self._waiting:
            taken = text if text in self._waiting else self._waiting[0]
            self._waiting.remove(taken)
            if operation == "remove" and text_of(record, "reason") in DELIVERED:
                self._handed = taken
                return taken
        return None

    def delivered(self, text: str) -> bool:
        """Whether an attachment that hands over ``text`` is news: its removal may have told already."""
        known, self._handed = self._handed == head(text, PROMPT_CHARS), None
        return not known and bool(text.strip())
