"""One book of a store: what a loop's book and a session's own have in common.

Theory. A ``Ledger`` is a stream and who writes to it; it holds nothing that is not in the store. Its
state is always the newest. Runs settle here: ``settle`` and its kin hand the one flow to a driver,
which is imported there: a hook that only records must not pay for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from loopbook.book import Book, Tell
from loopbook.entry import Draft, Entry
from loopbook.errors import InvalidTimeout
from loopbook.events import Delivered, Event, Noticed, RunSettled
from loopbook.limits import DELIVER_SEC, MAX_SEC, Options
from loopbook.projections import BookState

if TYPE_CHECKING:
    from loopbook.advisors.shape import Advisor
    from loopbook.engine import Driven
    from loopbook.judges import Judge
    from loopbook.settlement import Advice, Flow, Later, Settlement

#: Drafts saved at once by ``feed``: large enough to be fast, small enough not to keep others waiting.
BATCH = 500

T = TypeVar("T")


class Delivering(TypedDict, total=False):
    """What may be said of what is delivered later: see ``Ledger.settling``. What is not said is as the
    ledger's options have it."""

    session: str | None
    idle: Callable[[], bool] | None
    max_continuations: int | None


class Settling(Delivering, total=False):
    """What may be said of a settle beside its run and judge."""

    advisors: Sequence[Advisor]


class Ledger:
    """A stream of a store, read and written as one session.

    >>> ledger = Ledger(Book("memory:"), "session:cli:s1", "s1")
    >>> ledger.settle_blocking(RunSettled(run="r1")), ledger.version
    (None, 1)
    """

    def __init__(self, book: Book, stream: str, session: str, options: Options | None = None) -> None:
        self.book = book
        self.stream = stream
        self.session = session
        self.options = options or Options()

    @property
    def state(self) -> BookState:
        """What the book comes to, caught up: only entries that are new are read."""
        return self.book.state(self.stream)

    @property
    def version(self) -> int:
        """How many entries the book has now."""
        return self.book.head(self.stream)[0]

    def entries(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries that follow a version, oldest first, at most ``limit``, read in pieces."""
        return self.book.entries(self.stream, after, limit)

    def follow(self, after: int = 0, timeout: float | None = None) -> Iterator[Entry]:
        """The entries that follow a version, and then each new one as it comes, whoever writes it.

        Ends when nothing has come for ``timeout`` seconds (``None``: waits for ever), and when the
        books are closed.

        >>> ledger = Ledger(Book("memory:"), "session:cli:s1", "s1")
        >>> _ = ledger.settle_blocking(RunSettled(run="r1"))
        >>> [entry.event.type for entry in ledger.follow(timeout=0)]
        ['run_settled']
        """
        return self.book.follow(self.stream, after, timeout)

    def follow_async(self, after: int = 0, timeout: float | None = None) -> AsyncIterator[Entry]:
        """The same for a task: ``async for entry in loop.follow_async()``."""
        return self.book.follow_async(self.stream, after, timeout)

    def record(
        self,
        *events: Event | Draft,
        unit: str | None = None,
        host_ref: str | None = None,
        session: str | None = None,
    ) -> tuple[Entry, ...]:
        """Write what happened, whatever else was written meanwhile: all of it in one save, or nothing.

        ``host_ref`` is the host's own id of it (for several events it is numbered ``#1``, ``#2``):
        an event whose host_ref the book has already changes nothing. Returns what was written.
        Raises ``Refused`` in its many forms, and ``InvalidEvent``.
        """
        drafts = _drafts(events, unit, host_ref)
        return self.book.record(self.stream, *drafts, session=self._by(session))

    def append(
        self,
        *events: Event | Draft,
        after: int,
        unit: str | None = None,
        host_ref: str | None = None,
        session: str | None = None,
    ) -> tuple[Entry, ...]:
        """Write if the book still stands at version ``after``; else raise ``Stale`` and write nothing."""
        drafts = _drafts(events, unit, host_ref)
        return self.book.append(self.stream, *drafts, after=after, session=self._by(session))

    def feed(self, drafts: Iterable[Draft], *, session: str | None = None, tell: Tell | None = None) -> int:
        """Write a long row of drafts in saves of 500, skipping what the book has; how many were written.

        Fed again from its beginning, a row goes on where it had ended. A draft that cannot be
        taken raises, and the batches before it stay; with ``tell`` it is told of and left out.
        """
        rest, written = iter(drafts), 0
        while batch := tuple(islice(rest, BATCH)):
            written += len(self.book.record(self.stream, *batch, session=self._by(session), tell=tell))
        return written

    # --- advice ------------------------------------------------------------------------------

    def settling(
        self, run: RunSettled | Draft, *, judge: bool = True, **more: Unpack[Settling]
    ) -> Driven[Settlement]:
        """The flow of a settled run, for whoever answers it himself: start it, and answer each ``ask``.

        ``judge``: there is somebody to answer. ``advisors``: those that may speak, in that order
        (default: all). ``idle``: whether the session still has nothing else to do. At most
        ``max_continuations`` runs are continued between two human prompts (``None``: however many). The
        same run, settled again, is neither written nor decided again.
        """
        from loopbook.settlement import settle

        speak = self._speaking(more.get("advisors"))
        most = more.get("max_continuations", self.options.max_continuations)
        draft = run if isinstance(run, Draft) else Draft(run)
        if draft.host_ref is None and isinstance(draft.event, RunSettled):
            draft = draft._replace(host_ref=f"settled:{draft.event.run}")

        def flow(state: BookState) -> Flow[Settlement]:
            return settle(state, draft, speak, judge=judge, max_continuations=most)

        return self._driven(flow, more.get("session"), more.get("idle"))

    def _driven(
        self, flow: Callable[[BookState], Flow[T]], session: str | None, idle: Callable[[], bool] | None
    ) -> Driven[T]:
        from loopbook.engine import Driven

        cap = self.options.cap_usd
        return Driven(self.book, self.stream, flow, session=self._by(session), idle=idle, cap_usd=cap)

    async def settle(
        self,
        run: RunSettled | Draft,
        *,
        judge: Judge | None = None,
        timeout: float | None = None,
        **more: Unpack[Settling],
    ) -> Advice | None:
        """Record a settled run and have it judged; what to tell the agent, or nothing.

        At most ``timeout`` seconds (600 at the most) are spent on asking; a judge that fails says nothing.
        ``more`` is what ``settling`` takes. ``settlement`` also tells why. Raises ``InvalidTimeout``.
        """
        return (await self.settlement(run, judge=judge, timeout=timeout, **more)).advice

    async def settlement(
        self,
        run: RunSettled | Draft,
        *,
        judge: Judge | None = None,
        timeout: float | None = None,
        **more: Unpack[Settling],
    ) -> Settlement:
        """The same, with the trace, and what is to be delivered later."""
        from loopbook.engine import drive

        flow = self.settling(run, judge=judge is not None, **more)
        return await drive(flow, judge, self._within(timeout))

    def settle_blocking(
        self,
        run: RunSettled | Draft,
        *,
        judge: Judge | None = None,
        timeout: float | None = None,
        **more: Unpack[Settling],
    ) -> Advice | None:
        """``settle`` where there is no event loop."""
        return self.settlement_blocking(run, judge=judge, timeout=timeout, **more).advice

    def settlement_blocking(
        self,
        run: RunSettled | Draft,
        *,
        judge: Judge | None = None,
        timeout: float | None = None,
        **more: Unpack[Settling],
    ) -> Settlement:
        """``settlement`` where there is no event loop."""
        from loopbook.engine import drive_blocking

        flow = self.settling(run, judge=judge is not None, **more)
        return drive_blocking(flow, judge, self._within(timeout))

    def delivering(self, *later: Later, **more: Unpack[Delivering]) -> Driven[Settlement]:
        """The flow of what a settlement put off, for whoever answers it himself."""
        from loopbook.settlement import deliver

        most = more.get("max_continuations", self.options.max_continuations)

        def flow(state: BookState) -> Flow[Settlement]:
            return deliver(state, *later, max_continuations=most)

        return self._driven(flow, more.get("session"), more.get("idle"))

    async def deliver(
        self,
        *later: Later,
        judge: Judge | None,
        timeout: float | None = None,
        **more: Unpack[Delivering],
    ) -> Settlement:
        """Ask what one settlement put off, within 90 seconds or ``timeout``; what is said then still has to
        hold then. ``more`` is as in ``settling``. Raises ``NotPutOffTogether``."""
        from loopbook.engine import drive

        return await drive(self.delivering(*later, **more), judge, self._within(timeout, DELIVER_SEC))

    def deliver_blocking(
        self,
        *later: Later,
        judge: Judge | None,
        timeout: float | None = None,
        **more: Unpack[Delivering],
    ) -> Settlement:
        """``deliver`` where there is no event loop."""
        from loopbook.engine import drive_blocking

        return drive_blocking(self.delivering(*later, **more), judge, self._within(timeout, DELIVER_SEC))

    def undelivered(self) -> tuple[Advice, ...]:
        """The newest 16 notices of this book that no host has acknowledged, oldest first.

        For a host that acknowledges what it has handed on: after a crash these may not have arrived.
        Nothing is sent again by itself.
        """
        found = (next(self.entries(seq - 1, 1), None) for seq in self.state.runs.undelivered)
        return tuple(
            _advice(entry, entry.event) for entry in found if entry and isinstance(entry.event, Noticed)
        )

    def acknowledge(self, *advice: Advice, session: str | None = None) -> None:
        """Tell the book that these were handed to the agent; told again, nothing changes."""
        open_ones = set(self.state.runs.undelivered)
        told = [one for one in advice if one.seq in open_ones]
        if told:
            drafts = [Draft(Delivered(notice=one.seq), host_ref=f"delivered:{one.seq}") for one in told]
            self.record(*drafts, session=session)

    def _by(self, session: str | None) -> str:
        return self.session if session is None else session

    def _speaking(self, given: Sequence[Advisor] | None) -> Sequence[Advisor]:
        """Those that may speak: the given ones, else the options', else all."""
        from loopbook.engine import ADVISORS

        chosen = self.options.advisors if given is None else given
        return ADVISORS if chosen is None else chosen

    def _within(self, timeout: float | None, usual: float | None = None) -> float:
        """The seconds to ask within: none are left where they are less than nothing."""
        own = self.options.timeout if usual is None else usual
        seconds = own if timeout is None else timeout
        if not -inf < seconds <= MAX_SEC:
            raise InvalidTimeout(
                f"nobody can be asked within {seconds:g} seconds; nothing was written;"
                f" give seconds, at most {MAX_SEC:g}"
            )
        return seconds


def _advice(entry: Entry, event: Noticed) -> Advice:
    """A notice as the advice it was."""
    from loopbook.settlement import Advice

    return Advice(event.text, event.continues, event.advisor, entry.seq, entry.unit, event.concerns)


def _drafts(events: Iterable[Event | Draft], unit: str | None, host_ref: str | None) -> list[Draft]:
    drafts = [event if isinstance(event, Draft) else Draft(event) for event in events]
    refs: list[str | None] = [host_ref] * len(drafts)
    if host_ref is not None and len(drafts) > 1:
        refs = [f"{host_ref}#{n}" for n in range(1, len(drafts) + 1)]
    return [
        draft._replace(
            unit=unit if draft.unit is None else draft.unit,
            host_ref=ref if draft.host_ref is None else draft.host_ref,
        )
        for draft, ref in zip(drafts, refs, strict=True)
    ]
