"""Forks, sessions, the catalogue, reservations; what was scrubbed, and what nobody here knows."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from loopbook.events.base import Event


class Forked(Event):
    """This stream goes on from another one's ``version``; what came before is read there."""

    type: Literal["forked"] = "forked"
    from_: str = Field(alias="from")
    version: int = Field(ge=0)


class Switched(Event):
    """An advisor was switched on or off at the host's entry ``entry``; it holds on paths with it."""

    type: Literal["switched"] = "switched"
    advisor: str
    on: bool
    entry: str | None = None


class BookChosen(Event):
    """In a session's stream: from here on its current book is ``book`` (a stream name)."""

    type: Literal["book_chosen"] = "book_chosen"
    book: str


class Catalogued(Event):
    """In the catalogue: a loop was opened, adopted, closed, reopened, scrubbed or forgotten."""

    type: Literal["catalogued"] = "catalogued"
    loop: str
    change: Literal["opened", "adopted", "closed", "reopened", "scrubbed", "forgotten"]
    kind: str | None = None
    intent: str | None = None
    outcome: str | None = None
    parent: str | None = None


class Reserved(Event):
    """In a ``once:`` stream: the one place where ``what`` of this key was used, for ever."""

    type: Literal["reserved"] = "reserved"
    what: Literal["host_ref", "todo", "unit", "finding"]
    stream: str
    seq: int = Field(ge=1)


class Scrubbed(Event):
    """Texts were taken out of this stream's past, and its chain was anchored anew. It moves nothing.

    ``seqs`` are the entries that were rewritten, of the stream ``of`` (this one, or the one it was
    forked from); ``before`` and ``after`` are the sum of the newest entry then and now. ``sums`` are
    the first digits of what the sums of all entries were whose bytes changed, up to the newest, so that
    any head noted before can be told from a book that somebody changed.
    """

    type: Literal["scrubbed"] = "scrubbed"
    of: str
    seqs: tuple[int, ...]
    reason: str = ""
    before: str
    after: str
    sums: str = ""


class Unknown(Event):
    """An event of a type this loopbook does not know; every field is kept as it was read."""

    type: str
