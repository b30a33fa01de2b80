"""A loop: its stream with what only a loop has, a close and an end.

Theory. A loop is a name in a store. It holds nothing that is not in its stream, so any number of them, in
any process, may speak of the same one. Whatever a book does (``Ledger``), a loop does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from loopbook import given
from loopbook.book import Book, loop_stream
from loopbook.events import LoopClosed, LoopReopened
from loopbook.ledger import Ledger
from loopbook.limits import Options
from loopbook.projections import BookState

if TYPE_CHECKING:
    from loopbook.advisors.shape import Advisor
    from loopbook.engine import Driven
    from loopbook.judges import Judge
    from loopbook.settlement import CloseAnswer, Flow


class Loop(Ledger):
    """One loop: a name in a store. Its state is always the newest.

    >>> from loopbook import Books, TodoOpened
    >>> loop = Books.open("memory:").start("fix", "Crash on empty input")
    >>> loop.record(TodoOpened(todo="t1", subject="test it"), host_ref="call-7")[0].seq
    2
    >>> loop.record(TodoOpened(todo="t1", subject="test it"), host_ref="call-7")
    ()
    >>> list(loop.state.todos)
    ['t1']
    """

    def __init__(self, book: Book, id: str, session: str, options: Options | None = None) -> None:  # noqa: A002 - what the caller calls it
        super().__init__(book, loop_stream(id), session, options)
        self.id = id

    def __repr__(self) -> str:
        return f"<Loop {self.id} in {self.book.url}>"

    def closing(
        self,
        claim: str = "",
        *,
        judge: bool = True,
        advisors: Sequence[Advisor] | None = None,
        session: str | None = None,
    ) -> Driven[CloseAnswer]:
        """The flow of a declared close, for whoever answers it himself."""
        given.text("a claim", claim)
        given.how({"advisors": advisors})
        from loopbook.settlement import close

        speak = self._speaking(advisors)

        def flow(state: BookState) -> Flow[CloseAnswer]:
            return close(state, claim, speak, judge=judge)

        return self._driven(flow, session, None)

    async def close(
        self,
        claim: str = "",
        *,
        judge: Judge | None = None,
        timeout: float | None = None,
        advisors: Sequence[Advisor] | None = None,
        session: str | None = None,
    ) -> CloseAnswer:
        """Declare the loop done, in the words of ``claim``, and have that judged.

        It closes when nothing is missing and the judge has no concern (with no judge: when nothing is
        missing). Otherwise it stays open, the answer says why, and ``close_anyway`` closes it. Raises
        ``LoopClosed`` for a loop that is closed already, and ``InvalidArgument`` for what is no judge.
        """
        from loopbook.engine import drive

        flow = self.closing(claim, judge=given.asked(judge), advisors=advisors, session=session)
        return await drive(flow, judge, given.seconds(timeout, self.options.timeout))

    def close_blocking(
        self,
        claim: str = "",
        *,
        judge: Judge | None = None,
        timeout: float | None = None,
        advisors: Sequence[Advisor] | None = None,
        session: str | None = None,
    ) -> CloseAnswer:
        """``close`` where there is no event loop.

        >>> from loopbook import Books
        >>> loop = Books.open("memory:").start("chore", "Tidy up")
        >>> loop.close_blocking("tidied").missing
        ('nothing changed yet',)
        """
        from loopbook.engine import drive_blocking

        flow = self.closing(claim, judge=given.asked(judge), advisors=advisors, session=session)
        return drive_blocking(flow, judge, given.seconds(timeout, self.options.timeout))

    def close_anyway(self, session: str | None = None) -> Self:
        """Close the loop over whatever stands against it. Raises ``LoopClosed`` where it is closed."""
        self.record(LoopClosed(outcome="over_concerns"), session=session)
        return self

    def reopen(self, session: str | None = None) -> Self:
        """Let a closed loop go on. Raises ``Refused`` where it is open."""
        self.record(LoopReopened(), session=session)
        return self
