"""What a scenario, or a state machine, plays in: books, a loop, a clock, and what the host says of children.

Theory. What is written goes through the same calls as an embedder's. The clock stands still until it is
moved. A reload drops everything that is in memory: books in a store are opened anew, and those of
``memory:``, which are gone with their process, are folded anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from loopbook.book.folding import keep_snapshot
from loopbook.books import Books
from loopbook.entry import Draft, Entry
from loopbook.events import RunSettled
from loopbook.judges import Failure, Packet, answer_from
from loopbook.kinds import Kind
from loopbook.ledger import Ledger
from loopbook.limits import SUBAGENT_VARIABLES, Options
from loopbook.loop import Loop
from loopbook.run import Call, ChildState, Observed
from loopbook.settlement import Advice, CloseAnswer, Later, Traced
from loopbook.testing.drivers import Says
from loopbook.testing.scenario_model import Head
from loopbook.testing.scenario_verbs import Answers, Override, Settle

#: When every scenario begins.
START = datetime(2030, 1, 1, tzinfo=UTC)
#: The store that is gone with its process.
MEMORY = "memory:"


class CannotRun(Exception):
    """Raised inside a run when a step cannot be taken as the scenario has it."""


class Seen(NamedTuple):
    """What the flow did in one step: what was said, the trace, the packets, the answer to a close."""

    advice: tuple[Advice, ...] = ()
    trace: tuple[Traced, ...] = ()
    asked: tuple[str, ...] = ()
    closed: CloseAnswer | None = None

    @property
    def text(self) -> str:
        """All that was said."""
        return "\n".join(advice.text for advice in self.advice)

    @property
    def quiet(self) -> str | None:
        """The reason of the last silence."""
        return next((one.reason for one in reversed(self.trace) if one.reason), None)


class Clock:
    """A clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        """Move it on, or back; not beyond what a date can say."""
        with suppress(OverflowError):
            self.now += timedelta(seconds=seconds)


class World:
    """What one scenario plays in.

    ``kinds`` are there beside those at hand, ``options`` say who may speak and how often runs go on.
    ``answering`` gives bare answers to a packet, in place of the scenario's own.
    """

    def __init__(
        self,
        head: Head,
        url: str = MEMORY,
        *,
        kinds: Mapping[str, Kind] | None = None,
        options: Options | None = None,
    ) -> None:
        self.head = head
        self.clock = Clock()
        self.children: dict[str, ChildState] = {}
        self.session = head.session
        self.runs = 0
        self.run: RunSettled | None = None
        self.prompts = 0
        self.idle = True
        self.crash: str | None = None
        self.seen = Seen()
        self.later: list[Later] = []
        self.answering: Callable[[Packet], Mapping[str, object]] | None = None
        self.acknowledged: list[Entry] = []
        self._url = url
        self._options = options
        self.books = self._opened()
        self._loop: Loop | None = None
        if spec := head.loop:
            kind = (kinds or {}).get(spec.kind, spec.kind)
            self._loop = self.books.start(kind, spec.intent, anchor=spec.anchor, review_tier=spec.review_tier)

    def _opened(self) -> Books:
        return Books.open(self._url, session=self.session, clock=self.clock, options=self._options)

    @property
    def loop(self) -> Loop:
        """The open loop."""
        if self._loop is None:
            raise CannotRun("this step needs a loop, and none is open; give the scenario one")
        return self._loop

    @property
    def ledger(self) -> Ledger:
        """The session's current book: the loop, or with none open its own."""
        return self._loop or self.books.own(self.session)

    def others(self, sessions: tuple[str, ...]) -> list[Books]:
        """The books as each of these sessions has opened them."""
        if self._url == MEMORY:
            return [self.books for _ in sessions]
        return [
            Books.open(self.books.url, session=by, clock=self.clock, options=self._options) for by in sessions
        ]

    # --- what happens to it ---------------------------------------------------------------

    def adopt(self, session: str) -> None:
        """Let another session go on with the loop."""
        self._loop, self.session = self.books.adopt(self.loop.id, session), session

    def fork(self) -> None:
        """Go on in a fork of the loop."""
        self._loop = self.books.fork(self.loop.id, session=self.session)

    def reload(self) -> None:
        """Forget all that is in memory: the loop is folded again from its store."""
        if self._url == MEMORY:
            self.books.book.forget()
            return
        self.books.close()
        self.books = self._opened()
        self._loop = self.books.loop(self._loop.id) if self._loop else None

    def snapshot(self) -> None:
        """Keep the state beside the book."""
        book, stream = self.books.book, self.ledger.stream
        keep_snapshot(book.records, stream, book.place(stream))

    def record(self, draft: Draft) -> None:
        """Write as the current session."""
        self.acknowledged += self.ledger.record(draft, session=self.session)

    def close(self) -> None:
        """Put the books away."""
        self.books.close()

    # --- what flows are given -------------------------------------------------------------

    def settled(self, verb: Settle) -> RunSettled:
        """The settled run as a host would hand it in."""
        self.runs += 1
        run = verb.run or f"run-{self.runs}"
        calls = tuple(
            Call(
                ref=f"{run}-{i}",
                tool=tool.name,
                kind="agent" if tool.child else "other",
                input=tool.input,
                child=tool.child,
            )
            for i, tool in enumerate(verb.tools)
        )
        observed = Observed(
            now=self.clock.now,
            children=dict(self.children),
            subagent=verb.subagent or any(self.head.env.get(name) for name in SUBAGENT_VARIABLES),
        )
        self.run = RunSettled(run=run, stop=verb.stop, calls=calls, calls_total=len(calls), observed=observed)
        return self.run

    def says(self, override: Override | None) -> Says | None:
        """What the judge of a step says; nothing where neither the scenario nor the step has one."""
        if self.head.judge is None and override is None:
            return None
        if override is not None and override.fails:
            return lambda _: Failure(override.fails or "")
        if (answering := self.answering) is not None:
            return lambda packet: answer_from(packet.questions, answering(packet))
        said = {**bare(self.head.judge), **bare(override)}
        return lambda packet: answer_from(packet.questions, said)


def bare(answers: Answers | None) -> dict[str, object]:
    """The answers of a scenario by question."""
    if answers is None:
        return {}
    given = answers.model_dump(exclude_unset=True)
    given.pop("fails", None)
    return {**given.pop("answers", {}), **given}
