"""A book whose runs are settled: what of advice a loop's book and a session's own have in common.

Theory. A ``Ledger`` is a ``Recorder`` that also advises. ``settle`` and its kin hand the one flow to a
driver, which is imported there: a hook that only records must not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from loopbook import given
from loopbook.entry import Draft, Entry
from loopbook.events import Delivered, Noticed, RunSettled
from loopbook.limits import DELIVER_SEC
from loopbook.projections import BookState
from loopbook.recording import Recorder

if TYPE_CHECKING:
    from loopbook.advisors.shape import Advisor
    from loopbook.engine import Driven
    from loopbook.judges import Judge
    from loopbook.settlement import Advice, Flow, Later, Settlement

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


class Ledger(Recorder):
    """A stream of a store, read and written as one session, whose runs are settled.

    >>> from loopbook.book import Book
    >>> ledger = Ledger(Book("memory:"), "session:cli:s1", "s1")
    >>> ledger.settle_blocking(RunSettled(run="r1")), ledger.version
    (None, 1)
    """

    def settling(
        self, run: RunSettled | Draft, *, judge: bool = True, **more: Unpack[Settling]
    ) -> Driven[Settlement]:
        """The flow of a settled run, for whoever answers it himself: start it, and answer each ``ask``.

        ``judge``: there is somebody to answer. ``advisors``: those that may speak, in that order
        (default: all). ``idle``: whether the session still has nothing else to do. At most
        ``max_continuations`` runs are continued between two human prompts (``None``: however many). The
        same run, settled again, is neither written nor decided again. Raises ``InvalidArgument``, a
        ``TypeError``, for any other keyword, and for what is not what it must be.
        """
        given.keywords(more, Settling.__optional_keys__)
        given.how(more)
        (draft,) = self.book.hygiene.drafts((given.run(run),))  # known by the id that the book has
        from loopbook.settlement import settle

        speak = self._speaking(more.get("advisors"))
        most = more.get("max_continuations", self.options.max_continuations)

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
        ``more`` is what ``settling`` takes. ``settlement`` also tells why. Raises ``InvalidTimeout``, and
        ``InvalidArgument`` as ``settling`` does, also for what is no judge.
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

        flow = self.settling(run, judge=given.asked(judge), **more)
        return await drive(flow, judge, given.seconds(timeout, self.options.timeout))

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

        flow = self.settling(run, judge=given.asked(judge), **more)
        return drive_blocking(flow, judge, given.seconds(timeout, self.options.timeout))

    def delivering(self, later: Later, **more: Unpack[Delivering]) -> Driven[Settlement]:
        """The flow of what a settlement put off, for whoever answers it himself."""
        given.keywords(more, Delivering.__optional_keys__)
        given.how(more)
        from loopbook.settlement import Later, deliver

        if not isinstance(later, Later):
            raise given.wrong("what was put off is delivered", later, "give one of settlement(...).later")
        most = more.get("max_continuations", self.options.max_continuations)

        def flow(state: BookState) -> Flow[Settlement]:
            return deliver(state, later, max_continuations=most)

        return self._driven(flow, more.get("session"), more.get("idle"))

    async def deliver(
        self,
        later: Later,
        *,
        judge: Judge | None,
        timeout: float | None = None,
        **more: Unpack[Delivering],
    ) -> Settlement:
        """Ask what a settlement put off, within 90 seconds or ``timeout``; what is said then still has to
        hold then. ``more`` is as in ``settling``."""
        from loopbook.engine import drive

        given.asked(judge)
        return await drive(self.delivering(later, **more), judge, given.seconds(timeout, DELIVER_SEC))

    def deliver_blocking(
        self,
        later: Later,
        *,
        judge: Judge | None,
        timeout: float | None = None,
        **more: Unpack[Delivering],
    ) -> Settlement:
        """``deliver`` where there is no event loop."""
        from loopbook.engine import drive_blocking

        given.asked(judge)
        return drive_blocking(self.delivering(later, **more), judge, given.seconds(timeout, DELIVER_SEC))

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
        """Tell the book that these were handed to the agent; told again, nothing changes, nor by what
        another book has said.

        Raises ``InvalidArgument`` for what is no advice, ``None`` too.
        """
        from loopbook.settlement import Advice

        for one in advice:
            if not isinstance(one, Advice):
                raise given.wrong(
                    "an advice is acknowledged", one, "give what settle or undelivered returned"
                )
        said = {one.seq: (one.advisor, one.text) for one in self.undelivered()}
        clean = self.book.hygiene.text
        told = [one for one in advice if said.get(one.seq) == (one.advisor, clean(one.text))]
        if told:
            drafts = [Draft(Delivered(notice=one.seq), host_ref=f"delivered:{one.seq}") for one in told]
            self.record(*drafts, session=session)

    def _speaking(self, given: Sequence[Advisor] | None) -> Sequence[Advisor]:
        """Those that may speak: the given ones, else the options', else all."""
        from loopbook.engine import ADVISORS

        chosen = self.options.advisors if given is None else given
        return ADVISORS if chosen is None else chosen


def _advice(entry: Entry, event: Noticed) -> Advice:
    """A notice as the advice it was."""
    from loopbook.settlement import Advice

    return Advice(event.text, event.continues, event.advisor, entry.seq, entry.unit, event.concerns)
