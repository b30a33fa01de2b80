"""What several commands say in the same words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

#: That nobody speaks because the user wants it so; no entry keeps it.
SWITCHED_OFF = "second thought is switched off (setting second_thought)"
#: What becomes of a close that nobody has answered.
STAYS_DECLARED = "the close stays declared: the next settled run has it judged"


def closed(loop: str, outcome: str) -> str:
    """That a loop has ended, and how."""
    return f"{loop} is closed: {outcome.replace('_', ' ')}"


def reopening(loop: str) -> str:
    """How a closed loop goes on."""
    return f"reopen it with: loopbook loop reopen --loop {shlex.quote(loop)}"


def headed(head: str, text: str) -> Iterator[str]:
    """A text of several lines, ``head`` in front of the first and the others indented.

    >>> list(headed("fix-1 6: ", "next: verify\\nopen todos: a"))
    ['fix-1 6: next: verify', '  open todos: a']
    """
    first, *more = text.splitlines() or [""]
    yield head + first
    yield from (f"  {line}" for line in more)
