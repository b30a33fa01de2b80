"""Driving the flow: with an event loop, with a thread, or by a host that answers itself.

Theory. ``Driven`` is a flow over one stream of a book. It makes the appends and stops at each ``Ask``;
whoever has an answer gives it, and it goes on. The two drivers are that and a judge, within one
deadline for everything that is asked. A judge that fails, hangs or raises is a ``Failure`` with its
kind; nothing of that reaches the caller, and what it raised is logged once. It thinks in a task, or
thread, of its own, so that one that does not let itself be cancelled is left behind. What is cancelled
while it asks leaves the run in the book, undecided, and the next settle of it decides.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath
from threading import Thread
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import anyio
from anyio import to_thread

from loopbook.advisors.asking import Answer, Cost, Failure, Packet
from loopbook.advisors.believing import known, took_of
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Advisor
from loopbook.book import Book
from loopbook.entry import Entry
from loopbook.errors import NoSuchLoop, Stale
from loopbook.events import Judged, PassedOver
from loopbook.judges import Judge
from loopbook.judges.telling import tell_once
from loopbook.limits import SETTLE_SEC
from loopbook.projections import BookState
from loopbook.projections.spending import over, with_more
from loopbook.settlement import Append, Ask, Flow, Heard, Read, Written

if TYPE_CHECKING:
    from asyncio import Task

#: How much longer a judge is waited for once it was cancelled, in seconds.
GRACE_SEC = 0.1
#: The advisors, in the order in which they speak.
ADVISORS: tuple[Advisor, ...] = (SecondThought(),)

#: Judges that were cancelled and have not ended: an event loop keeps no task alive by itself.
_LEFT_BEHIND: set[Task[Answer | Failure]] = set()

T = TypeVar("T")
#: A text without its secrets.
Safe = Callable[[str], str]


class Driven(Generic[T]):
    """A flow under way over a stream. ``ask`` is what it waits for; ``None``: it has ended.

    ``idle`` says whether the session still has nothing else to do; it is asked after each answer. Over
    ``cap_usd``, asks are answered here, with the failure ``cap``.

    >>> from loopbook.settlement import settle
    >>> from loopbook.entry import Draft
    >>> from loopbook.events import RunSettled
    >>> run = Draft(RunSettled(run="r"))
    >>> driven = Driven(Book("memory:"), "session:cli:s1", lambda now: settle(now, run, ADVISORS))
    >>> driven.start().ask, driven.result.trace[0].reason
    (None, 'no-loop')
    """

    def __init__(
        self,
        book: Book,
        stream: str,
        flow: Callable[[BookState], Flow[T]],
        *,
        session: str = "",
        idle: Callable[[], bool] | None = None,
        cap_usd: float | None = None,
    ) -> None:
        self._book = book
        self._stream = stream
        self._make = flow
        self._session = session
        self._idle = idle
        self._cap_usd = cap_usd
        self._flow: Flow[T] | None = None
        self._result: list[T] = []
        self._unkept: list[Answer | Cost] = []
        self.ask: Ask | None = None

    def start(self) -> Self:
        """Begin, up to the first ask. Raises what the book refuses, and ``StoreError``."""
        self._flow = self._make(self._book.state(self._stream))
        self._go_on(None)
        return self

    def answer(self, answer: Answer | Failure) -> Self:
        """Answer the ask, and go on to the next one or the end. What is no answer to it is a failure."""
        if self.ask is None:
            raise RuntimeError("nothing was asked; nothing was written; look at the result")
        heard = known(answer, self.ask.packet.questions)
        took = heard.took if isinstance(heard, Failure) else heard
        self._unkept += [took] if took else []
        self._go_on(self._heard(heard))
        return self

    def safe(self, text: str) -> str:
        """A text as this book would keep it: without secrets."""
        return self._book.hygiene.text(text)

    @property
    def result(self) -> T:
        """What came of it."""
        if not self._result:
            raise RuntimeError("the flow has not ended; answer what it asks first")
        return self._result[0]

    def _go_on(self, reply: Heard | None) -> None:
        flow = self._flow
        if flow is None:
            raise RuntimeError("the flow was not started; start it first")
        self.ask = None
        try:
            step = flow.send(reply) if reply else next(flow)
            while not isinstance(step, Ask) or self._over_cap():
                step = flow.send(self._own_reply(step))
        except StopIteration as end:
            self._result.append(end.value)
        else:
            self.ask = step

    def _own_reply(self, step: Append | Ask | Read) -> Heard | Written | Entry:
        """What needs nobody else."""
        if isinstance(step, Read):
            return self._read(step)
        if isinstance(step, Append):
            return self._written(step)
        why = self._over_cap()
        tell_once(
            ("cap", self._book.url, self._stream),
            f"{self._stream}: {why}; the book is kept and nobody is asked about it;"
            " raise judge_cap, or set judge_price where costs are not known",
        )
        return self._heard(Failure("cap", why))

    def _over_cap(self) -> str:
        """Why nobody may be asked for this book any more, or nothing."""
        if self._cap_usd is None:
            return ""
        spent = self._book.state(self._stream).spent
        return over(with_more(spent, [one.cost_usd for one in self._unkept]), self._cap_usd)

    def _heard(self, answer: Answer | Failure) -> Heard:
        return Heard(answer, self._book.state(self._stream), self._is_idle())

    def _is_idle(self) -> bool:
        """What the host says; where it fails to, nobody is interrupted."""
        try:
            return self._idle is None or bool(self._idle())
        except Exception as wrong:  # noqa: BLE001 - an answer was paid for: it is kept, as too late
            tell_once(
                ("idle", type(wrong).__qualname__),
                f"whether the session is idle could not be told ({type(wrong).__qualname__});"
                " it is taken to be busy, and nothing is said; mend what was given as idle",
            )
            return False

    def _read(self, step: Read) -> Entry:
        entry = next(self._book.entries(self._stream, step.seq - 1, 1), None)
        if entry is None:
            raise NoSuchLoop(
                f"{self._stream} was forgotten meanwhile; nothing was written; see: loopbook loop list"
            )
        return entry

    def _written(self, step: Append) -> Written:
        try:
            self._book.append(self._stream, *step.drafts, after=step.after, session=self._session)
        except Stale:
            return Written(self._book.state(self._stream), taken=False)
        if any(isinstance(draft.event, Judged | PassedOver) and draft.event.asked for draft in step.drafts):
            self._unkept = []
        return Written(self._book.state(self._stream), taken=True)


async def drive(driven: Driven[T], judge: Judge | None, timeout: float = SETTLE_SEC) -> T:
    """Drive a flow in an event loop; the book is read and written in threads."""
    ends = anyio.current_time() + timeout
    await to_thread.run_sync(driven.start)
    while driven.ask is not None:
        answer = await answered(judge, driven.ask.packet, ends - anyio.current_time(), driven.safe)
        await to_thread.run_sync(driven.answer, answer)
    return driven.result


def drive_blocking(driven: Driven[T], judge: Judge | None, timeout: float = SETTLE_SEC) -> T:
    """Drive a flow with no event loop at hand, or inside somebody else's; the judge gets a thread."""
    ends = time.monotonic() + timeout
    driven.start()
    while driven.ask is not None:
        left = ends - time.monotonic()
        driven.answer(_answered_in_thread(judge, driven.ask.packet, left, driven.safe))
    return driven.result


async def answered(judge: Judge | None, packet: Packet, left: float, safe: Safe) -> Answer | Failure:
    """What a judge says within ``left`` seconds, whatever it does."""
    if judge is None:
        return Failure("no-judge")
    if left <= 0:
        return Failure("deadline", "no time was left to ask")
    import asyncio  # noqa: PLC0415 - whoever waits for a judge has it, and nobody else pays for it

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # trio: it knows no task that could be left behind
        with anyio.move_on_after(left):
            return await _said(judge, packet, left, safe)
        return _too_late(left)
    task = loop.create_task(_said(judge, packet, left, safe))
    try:
        await asyncio.wait({task}, timeout=left)
    finally:
        in_time = task.done()
        if not in_time:
            task.cancel()
            _LEFT_BEHIND.add(task)
            task.add_done_callback(_LEFT_BEHIND.discard)
    if in_time:
        return Failure("error", "CancelledError") if task.cancelled() else task.result()
    await asyncio.wait({task}, timeout=GRACE_SEC)
    return _too_late(left, task.result() if task.done() and not task.cancelled() else None)


async def _said(judge: Judge, packet: Packet, left: float, safe: Safe) -> Answer | Failure:
    """What a judge says; nothing in time where it kept the event loop from ending it."""
    ends = anyio.current_time() + left
    said = await _asked(judge, packet, left, safe)
    return said if anyio.current_time() <= ends else _too_late(left, said)


async def _asked(judge: Judge, packet: Packet, left: float, safe: Safe) -> Answer | Failure:
    """What a judge says; a judge is anybody's code, and may not end a settle."""
    try:
        got: object = await judge.ask(packet, left)
        return got if isinstance(got, Answer | Failure) else Failure("garbage", type(got).__name__)
    except anyio.get_cancelled_exc_class():  # whoever waits has ended it
        raise
    except GeneratorExit:  # its own, or it was left behind in a loop that is gone: nobody is told of that
        return Failure("error", "GeneratorExit")
    except BaseException as wrong:  # noqa: BLE001 - whatever it raises is a failure
        _tell_of(judge, wrong, safe)
        return Failure("error", type(wrong).__name__)


def _tell_of(judge: Judge, wrong: BaseException, safe: Safe) -> None:
    """Log what a judge raised: the book keeps its kind alone, and whoever wrote the judge needs more."""
    name, kind = type(judge).__qualname__, type(wrong).__qualname__
    *_, (frame, line) = traceback.walk_tb(wrong.__traceback__)
    place = f"{PurePath(frame.f_code.co_filename).name}:{line}"
    with suppress(Exception):  # its words are anybody's code too
        words = " ".join(safe(str(wrong)).split())[:300]
        tell_once(
            ("raised", name, kind, place),
            f"the judge {name} raised {kind}: {words} ({place}); it counts as failed and changes nothing;"
            " mend the judge",
        )


def _too_late(left: float, said: Answer | Failure | None = None) -> Failure:
    """``said`` is what came all the same, once it was cancelled: it has cost what it has."""
    return Failure("timeout", f"no answer within {left:.1f} s", None if said is None else took_of(said))


def _answered_in_thread(judge: Judge | None, packet: Packet, left: float, safe: Safe) -> Answer | Failure:
    if judge is None or left <= 0:
        return Failure("no-judge") if judge is None else Failure("deadline", "no time was left to ask")
    said: list[Answer | Failure] = []
    thread = Thread(target=lambda: said.append(anyio.run(answered, judge, packet, left, safe)), daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the process may have no more of them
        return Failure("error", "no thread was to be had")
    thread.join(left + GRACE_SEC)
    return said[0] if said else Failure("timeout", "the judge could not be cancelled")
