"""Loops and their books: what an embedder touches.

::

    with Books.open() as books:
        loop = books.start(kind="fix", intent="Crash on empty input", anchor="3f2a91c")
        loop.record(Check(command="pytest -k empty", outcome="fail", exit_code=1))
        print(loop.state.todos)

Theory. ``Books`` is one store with a clock, a session and the kinds at hand; ``Loop`` is a name in
it. Neither holds anything that is not in the store, so any number of them, in any process, may
speak of the same loop. This is an edge: here settings, environment and packaged files are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from loopbook import given
from loopbook.book import CATALOGUE, Book, session_stream
from loopbook.catalogue import LoopRow, listed
from loopbook.entry import Draft
from loopbook.errors import AlreadyUsed, InvalidEvent, NoSuchLoop, Stale, UnknownKind
from loopbook.events import BookChosen, Event, LoopOpened, SessionAdopted, Tier
from loopbook.evidence.redaction import Redactor
from loopbook.ids import sortable_id
from loopbook.kinds import Kind
from loopbook.ledger import Ledger
from loopbook.limits import Options
from loopbook.loop import Loop
from loopbook.settings import load_settings, make_default_folder

Clock = Callable[[], datetime]


class Books:
    """The books of one store.

    >>> books = Books.open("memory:", session="s1")
    >>> loop = books.start("chore", "Tidy the imports", id="tidy")
    >>> [(row.id, row.kind, row.outcome) for row in books.list()]
    [('tidy', 'chore', None)]
    """

    def __init__(
        self,
        book: Book,
        *,
        session: str,
        host: str,
        kinds_dir: Path | None,
        new_id: Callable[[], str],
        options: Options | None = None,
    ) -> None:
        self.book = book
        self.options = given.options(options)
        self.session = session
        self.host = host
        self._kinds_dir = kinds_dir
        self._new_id = new_id
        self._kinds: Mapping[str, Kind] | None = None

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        session: str = "cli",
        host: str = "loopbook",
        clock: Clock = lambda: datetime.now(UTC),
        new_id: Callable[[], str] | None = None,
        kinds_dir: Path | None = None,
        redactor: Redactor | None = None,
        options: Options | None = None,
    ) -> Self:
        """Open a store (see ``loopbook.store.urls``); the user's own where no URL is given.

        A store that is not there is made at its first use, be it a question: where a slip in a name
        matters, look for the file first, as the command line does. ``session`` and ``host`` say who writes;
        ``cli`` is nobody in particular, and what the command line writes as too: where it should be told
        who wrote, or several coordinate, each gives a session of its own. ``clock`` gives the time of
        entries that bring none. ``kinds_dir`` holds further kinds (default: the user's setting).
        ``redactor`` knows the secrets (default: the values of this process's variables whose names say so).
        ``options`` say how loops begin and runs are settled (default: as the program has it, whatever the
        user has set; ``loopbook.own.books`` opens with all of the user's settings). Raises ``StoreError``,
        and ``InvalidArgument`` for what is not what it must be, the fields of ``options`` too.
        """
        given.text("a store's URL", "" if url is None else url)
        given.text("a session", session)
        given.text("a host", host)
        given.opening(kinds_dir, clock, new_id, redactor)
        kept = given.options(options)
        store = load_settings().store if url is None else url
        make_default_folder(store)
        book = Book(
            store,
            redactor=redactor or Redactor.of_variables(os.environ),
            clock=clock,
        )
        made = new_id or (lambda: sortable_id(clock()))
        return cls(book, session=session, host=host, kinds_dir=kinds_dir, new_id=made, options=kept)

    @property
    def url(self) -> str:
        """The store's URL, its path absolute."""
        return self.book.url

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The loop kinds at hand: the built-in ones and the user's, which win. Raises ``InvalidKind``."""
        if self._kinds is None:
            from loopbook.kinds_at_hand import load_kinds

            self._kinds = load_kinds(self._kinds_dir or load_settings().kinds_dir)
        return self._kinds

    def close(self) -> None:
        """Close the store."""
        self.book.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(
        self,
        kind: str | Kind,
        intent: str | None,
        *,
        anchor: str | None = None,
        review_tier: Tier | None = None,
        id: str | None = None,  # noqa: A002 - what the caller calls it
        session: str | None = None,
    ) -> Loop:
        """Open a loop; it becomes the session's current book.

        ``intent`` is what is wanted (``None``: nobody has said it), ``anchor`` where the work starts
        from (a revision, an issue), ``review_tier`` the least review it asks for (default: the books'
        options have it). Raises ``UnknownKind``, ``InvalidLoopId``, ``InvalidEvent`` for a blank intent,
        and ``AlreadyUsed`` for an ``id`` that the store has.
        """
        if intent is not None:
            given.text("an intent", intent)
            if not intent.strip():
                raise InvalidEvent("the intent is blank", ("intent",))
        known = kind if isinstance(kind, Kind) else self._kind(kind)
        opened = LoopOpened(
            kind=known.name,
            intent=intent or "",
            anchor=anchor,
            review_tier=self.options.review_tier if review_tier is None else review_tier,
            definition=known.definition(),
        )
        return self._under_new_id(id, lambda loop: self._choose(loop, opened, session, after=0))

    def fork(
        self,
        id: str,  # noqa: A002 - what the caller calls it
        version: int | None = None,
        *,
        new_id: str | None = None,
        session: str | None = None,
    ) -> Loop:
        """Open a loop that goes on from another one's entry ``version`` (default: its newest).

        The fork has that loop's entries up to there, and what was used there once is used. It is
        open, even where its parent is closed, and becomes the session's current book. The parent
        takes no notice. Raises ``NoSuchLoop``, ``CannotFork`` for a version that the loop has not,
        ``InvalidLoopId``, and ``AlreadyUsed`` for a ``new_id`` that the store has.

        >>> books = Books.open("memory:")
        >>> fork = books.fork(books.start("chore", "Tidy up", id="a").id, new_id="b")
        >>> [(entry.stream, entry.seq, entry.event.type) for entry in fork.entries()]
        [('loop:a', 1, 'loop_opened'), ('loop:b', 2, 'forked')]
        """
        parent = self.loop(id)
        at = parent.version if version is None else given.version(version)
        by = self._by(session)

        def begin(loop: Loop) -> None:
            self.book.fork(parent.stream, at, loop.stream, session=by, also=self._chosen(loop, by))

        return self._under_new_id(new_id, begin)

    def _under_new_id(self, id: str | None, begin: Callable[[Loop], None]) -> Loop:  # noqa: A002 - as above
        """A loop that did not exist before; under ids of our own making until one is free."""
        while True:
            loop = self._of(id or self._new_id())
            try:
                begin(loop)
            except Stale:
                if id is not None:
                    raise AlreadyUsed(
                        f"there is a loop {id!r} already; nothing was written;"
                        " go on with it, or take another id"
                    ) from None
            else:
                return loop

    def loop(self, id: str) -> Loop:  # noqa: A002 - what the caller calls it
        """The loop of an id. Raises ``NoSuchLoop``."""
        loop = self._of(id)
        if not self.book.head(loop.stream)[0]:
            raise NoSuchLoop(f"no loop {id!r} in {self.url}; nothing was written; see: loopbook loop list")
        return loop

    def list(self) -> list[LoopRow]:
        """Every loop of the store, oldest first, from the catalogue alone: no loop's book is read."""
        return listed(self.book.whole(CATALOGUE))

    def adopt(self, id: str, session: str | None = None) -> Loop:  # noqa: A002 - what the caller calls it
        """Let a session go on with a loop; nothing is written where it does already.

        Raises ``NoSuchLoop``, and ``LoopClosed`` for a loop that has ended.
        """
        loop = self.loop(id)
        by = self._by(session)
        current = self.current(by)
        if current is None or current.id != id or loop.state.life.session != by:
            self._choose(loop, SessionAdopted(), by)
        return loop

    def current(self, session: str | None = None) -> Loop | None:
        """The loop that a session last opened or adopted, unless it was forgotten since."""
        stream = session_stream(self.host, self._by(session))
        chosen = self.book.newest(stream, "book_chosen")
        if chosen is None or not isinstance(chosen.event, BookChosen):
            return None
        prefix, _, loop_id = chosen.event.book.partition(":")
        loop = self._of(loop_id) if prefix == "loop" else None
        return loop if loop is not None and loop.version else None

    def own(self, session: str | None = None) -> Ledger:
        """A session's own book, for what is done with no loop open."""
        by = self._by(session)
        return Ledger(self.book, session_stream(self.host, by), by, self.options)

    def current_book(self, session: str | None = None) -> Ledger:
        """Where a session's prompts, runs and evidence belong: its loop while that is open, else its
        own book.

        >>> books = Books.open("memory:", session="s1")
        >>> books.current_book().stream, books.start("chore", "Tidy up", id="a").id
        ('session:loopbook:s1', 'a')
        >>> books.current_book().stream
        'loop:a'
        """
        loop = self.current(session)
        return self.own(session) if loop is None or loop.state.life.outcome is not None else loop

    def _choose(self, loop: Loop, event: Event, session: str | None, after: int | None = None) -> None:
        """Append an event that makes the loop the session's current book; both are saved at once."""
        by = self._by(session)
        also = self._chosen(loop, by)
        if after is None:
            self.book.record(loop.stream, Draft(event), session=by, also=also)
        else:
            self.book.append(loop.stream, Draft(event), session=by, also=also, after=after)

    def _chosen(self, loop: Loop, session: str) -> tuple[tuple[str, Event], ...]:
        """What the session's own stream is told of its current book."""
        return ((session_stream(self.host, session), BookChosen(book=loop.stream)),)

    def _by(self, session: str | None) -> str:
        if session is None:
            return self.session
        given.text("a session", session)
        return session

    def _of(self, id: str) -> Loop:  # noqa: A002 - as above
        given.text("an id", id)
        return Loop(self.book, id, self.session, self.options)

    def _kind(self, name: object) -> Kind:
        if not isinstance(name, str):
            raise given.wrong("a kind is a name or a Kind", name, "give a name, as kinds has it")
        try:
            return self.kinds[name]
        except KeyError:
            folder = self._kinds_dir or load_settings().kinds_dir
            raise UnknownKind(
                f"there is no kind {name!r}; nothing was written; there are: {', '.join(sorted(self.kinds))};"
                f" your own kinds: set kinds_dir (now: {folder or 'none'})"
            ) from None
