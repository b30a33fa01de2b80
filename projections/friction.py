"""Tasks and friction: what the agent set out to do, and what got in the way.

Theory. Records trigger nothing and move nothing; they are there to be shown, so the newest 20 of each
are kept, 200 characters long. A child's friction stands under its name, linked or not; a child that
was lost is friction too.
"""

from __future__ import annotations

from loopbook.projections.state import FRICTIONS, TASKS, TEXT_CHARS, FrictionLine, Notes

#: What stands under the name of a child that was lost.
LOST = "lost: gone without a report"


def task(notes: Notes, text: str) -> Notes:
    """The notes with one more task."""
    return Notes((*notes.tasks, text[:TEXT_CHARS])[-TASKS:], notes.friction)


def friction(notes: Notes, text: str, child: str | None) -> Notes:
    """The notes with one more friction line."""
    return Notes(notes.tasks, (*notes.friction, FrictionLine(text[:TEXT_CHARS], child))[-FRICTIONS:])
