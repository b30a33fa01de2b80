"""What a caller wants saved, and what an attempt at it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from loopbook.book.attempt import Attempt, Ready
from loopbook.entry import Draft, Entry
from loopbook.errors import InvalidEvent, Refused
from loopbook.events import Event
from loopbook.store import Row, swallowed

#: How often a save is attempted again for no reason that can be seen.
UNEXPLAINED = 8
#: Told of a draft that could not be taken, so that the others may go on.
Tell = Callable[[Draft, Refused | InvalidEvent], None]


class Asked(NamedTuple):
    """What a caller wants saved. ``used`` are reservations found taken since the first attempt."""

    stream: str
    drafts: tuple[Ready, ...]
    session: str
    also: Sequence[tuple[str, Event]] = ()
    after: int | None = None
    tell: Tell | None = None
    used: frozenset[str] = frozenset()


class Tried(NamedTuple):
    """What an attempt came to: it, all rows to be saved, and the drafts that it could not take.

    ``heads`` are the sums of other streams' newest rows, which the save goes on from.
    """

    attempt: Attempt
    rows: Sequence[Row]
    refused: Sequence[tuple[Draft, Refused | InvalidEvent]]
    heads: Mapping[str, str] = {}


class Patience:
    """Ends what is refused again and again while nothing changes that it was attempted on."""

    def __init__(self, store: str) -> None:
        self._store, self._unexplained = store, 0
        self._known: tuple[object, ...] = ()

    def goes_on(self, *known: object) -> None:
        """Before an attempt on what is known now. Raises ``ForeignStore``."""
        self._unexplained = self._unexplained + 1 if known == self._known else 0
        self._known = known
        if self._unexplained > UNEXPLAINED:
            raise swallowed(self._store)


def without(asked: Asked, taken: Set[str]) -> Asked:
    """What is left to save once these keys are known to be taken."""
    unseen = tuple(one for one in asked.drafts if one.once not in taken)
    return asked._replace(drafts=unseen, used=asked.used | taken)


def refuse(asked: Asked, tried: Tried) -> tuple[Entry, ...]:
    """What becomes of a save of which nothing can be taken."""
    for draft, refusal in tried.refused:
        if asked.tell is None:
            raise refusal
        asked.tell(draft, refusal)
    return ()
