"""A book on a sheet of paper: flows driven over a state alone, with no store.

Theory. A flow only needs a state that grows. Here it grows by folding what is appended, so that one can
ask what *would* be written from any state on, and ask it a hundred thousand times.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeVar

from loopbook.entry import Draft, Entry
from loopbook.events import Event
from loopbook.projections import EMPTY, BookState, evolve
from loopbook.settlement import Append, Ask, Flow, Heard, Read, Written
from loopbook.testing.drivers import Says
from loopbook.testing.world import START

T = TypeVar("T")


class Sheet(NamedTuple):
    """A state, and the entries that were written on top of the one it began with."""

    state: BookState = EMPTY
    entries: tuple[Entry, ...] = ()

    def add(self, event: Event, unit: str | None = None, at: datetime = START) -> Sheet:
        """The sheet with one more entry."""
        entry = Entry("loop:sheet", self.state.version + 1, event, at, "s1", unit)
        return Sheet(evolve(self.state, entry), (*self.entries, entry))

    def drive(self, flow: Callable[[BookState], Flow[T]], says: Says) -> tuple[T, Sheet]:
        """What comes of a flow, and the sheet after it."""
        sheet, going = self, flow(self.state)
        reply: Written | Heard | Entry | None = None
        while True:
            try:
                step = going.send(reply) if reply is not None else next(going)
            except StopIteration as end:
                result: T = end.value
                return result, sheet
            match step:
                case Append(drafts):
                    sheet = sheet._appended(drafts)
                    reply = Written(sheet.state, taken=True)
                case Read(seq):
                    reply = next(entry for entry in sheet.entries if entry.seq == seq)
                case Ask(packet=packet):
                    reply = Heard(says(packet), sheet.state)

    def _appended(self, drafts: tuple[Draft, ...]) -> Sheet:
        sheet = self
        for draft in drafts:
            sheet = sheet.add(draft.event, draft.unit)
        return sheet
