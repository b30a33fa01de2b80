"""Scrubbing: texts are taken out of entries that were written, and the book says so.

Theory. A book is append-only, with this one exception: a secret that leaked into it. What is
replaced is text alone, so the book goes on meaning what it meant: its state is folded before and
after, and where more than texts would differ (the command of a check also says *which* check it
is) nothing is written unless that is asked for.

A changed row has another ``sum``, so every later row's ``prev`` and ``sum`` in the stream, and in
every fork that reads through it, are written anew. That cannot be told from forgery by the rows
themselves, hence each of these streams says it in a last entry, ``scrubbed``, with the sums of its
newest entry before and after. What was derived from the entries follows: the intent in the
catalogue, and a reservation whose key held the text gets its new name.

All is one transaction. Each stream's next version is what it is conditional on, and the catalogue's
as well, where forking a loop is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from loopbook.book import CATALOGUE, Book, reservation
from loopbook.book.lineage import lineage
from loopbook.book.streams import reserves
from loopbook.entry import Entry, decode, holds, seal, sum_in
from loopbook.errors import CannotScrub, DamagedEntry, StoreUnavailable
from loopbook.events import ENVELOPE, Catalogued, Event, LoopOpened, Reserved, Scrubbed
from loopbook.projections import EMPTY, evolve
from loopbook.store import IntegrityError, Recorder, Row
from loopbook.upkeep.family import Fork, forks_of
from loopbook.upkeep.texts import changed, mark_within, without_texts

#: Attempts while others write to the same streams.
ATTEMPTS = 20
#: A shorter text stands in too many words that are none of it.
LEAST_CHARS = 4
_CHUNK = 5_000
_PREV = b',"prev":"'

Key = tuple[str, int]


class Asked(NamedTuple):
    """What to take out of a book: all texts of the entry ``seq``, or ``text`` wherever it stands.

    With both, the text is taken out of that entry alone. ``force``: even where the book then means
    something else.
    """

    stream: str
    seq: int | None = None
    text: str | None = None
    reason: str = ""
    session: str = ""
    force: bool = False


class Scrubbing(NamedTuple):
    """What was done: the rewritten entries, and the streams whose chains were anchored anew."""

    entries: tuple[Key, ...]
    streams: tuple[str, ...]


def scrub(book: Book, asked: Asked, now: datetime) -> Scrubbing:
    """Take texts out of a book. Their bytes are still in the file until ``vacuum``.

    Raises ``CannotScrub``; ``DamagedEntry`` where the book cannot be read through.

    >>> from datetime import UTC
    >>> from loopbook.events import Task
    >>> from loopbook.loop import Books
    >>> books = Books.open("memory:")
    >>> loop = books.start("chore", "Tidy", id="tidy")
    >>> _ = loop.record(Task(text="log in with hunter2"))
    >>> _ = scrub(books.book, Asked("loop:tidy", text="hunter2", reason="leaked"), datetime.now(UTC))
    >>> [getattr(entry.event, "text", entry.event.type) for entry in loop.entries(1)]
    ['log in with [scrubbed-7-chars]', 'scrubbed']
    """
    _look_at(asked)
    for _ in range(ATTEMPTS):
        work = _Work(book, asked, now)
        work.plan()
        try:
            book.records.rows.replace(list(work.written.values()), work.added, work.gone)
        except IntegrityError:
            continue
        return Scrubbing(tuple(work.changed), tuple(work.anchored))
    raise StoreUnavailable(f"{book.url}: others write to it all the while; nothing was scrubbed; try again")


def find(book: Book, stream: str, text: str) -> Iterator[Entry]:
    """The entries of a book in which a text stands, wherever in them."""
    for part in _lineage(book, stream):
        for row in _rows(book.records.rows, part):
            if _fields(row) != changed(_fields(row), lambda one: one.replace(text, "")):
                yield decode(*row)


def _look_at(asked: Asked) -> None:
    if asked.text is not None and len(asked.text) < LEAST_CHARS:
        raise CannotScrub(
            f"a text of fewer than {LEAST_CHARS} characters stands in too many words; nothing was written;"
            " scrub whole entries with --seq"
        )


class _Work:
    """One attempt: what is to be written, gathered in the order in which it depends on each other."""

    def __init__(self, book: Book, asked: Asked, now: datetime) -> None:
        self._book, self._asked, self._now = book, asked, now
        self._store = book.records.rows
        self.changed: dict[Key, Row] = {}  # rows with other texts
        self.written: dict[Key, Row] = {}  # these, and rows anchored anew
        self.added: list[Row] = []
        self.gone: list[str] = []
        self.anchored: list[str] = []
        self._forks: list[Fork] = []
        self._reason = asked.reason
        if asked.text is not None:
            self._reason = self._reason.replace(asked.text, mark_within(asked.text))

    def plan(self) -> None:
        """Find out all that is to be written. Raises ``CannotScrub``."""
        catalogue = self._book.head(CATALOGUE)  # before the forks are looked up: see the theory
        parts = _lineage(self._book, self._asked.stream)
        self._forks = forks_of(self._store, parts[0])
        self._look_at_names(parts)
        self._change()
        for stream in dict.fromkeys([*parts, *(fork.stream for fork in self._forks)]):
            self._anchor(stream)
        if not self._asked.force:
            self._compare(parts)
        self._reserve()
        self._list(catalogue)

    def _look_at_names(self, parts: tuple[str, ...]) -> None:
        for stream in (*parts, *(fork.stream for fork in self._forks)):
            if self._asked.text is not None and self._asked.text in stream:
                raise CannotScrub(
                    f"the text stands in the name {stream} itself; nothing was written; a name cannot be"
                    " changed, so forget the loop: loopbook store forget"
                )

    # --- texts ---------------------------------------------------------------------------------

    def _change(self) -> None:
        asked, seq = self._asked, self._asked.seq
        for segment in lineage(self._store, asked.stream):
            stream = segment.stream
            within = seq is None or (segment.first <= seq and (segment.last is None or seq <= segment.last))
            for row in self._of(stream, seq) if within else ():
                if (new := self._without(row)) != row:
                    self.changed[stream, row.originator_version] = new
        if not self.changed:
            where = asked.stream if seq is None else f"{asked.stream} seq {seq}"
            what = "has no text to take out" if asked.text is None else "does not hold the text"
            raise CannotScrub(f"{where} {what}; nothing was written; see: loopbook loop log")

    def _of(self, stream: str, seq: int | None) -> Iterator[Row]:
        if seq is None:
            return _rows(self._store, stream)
        return iter(cast("list[Row]", self._store.select_events(stream, gt=seq - 1, lte=seq)))

    def _without(self, row: Row) -> Row:
        """A row without the text, or without its texts; not yet sealed."""
        fields, text = _fields(row), self._asked.text
        if row.topic == "scrubbed" and text is None:
            return row
        if text is None:
            own = {name: value for name, value in fields.items() if name not in ENVELOPE}
            new = {**fields, **without_texts(own)}
        else:
            put = cast(
                "dict[str, JsonValue]", changed(fields, lambda one: one.replace(text, mark_within(text)))
            )
            new = {**put, **{name: fields[name] for name in ("at", "v", "prev", "sum") if name in fields}}
        return row if new == fields else row._replace(state=to_json(new))

    # --- chains --------------------------------------------------------------------------------

    def _anchor(self, stream: str) -> None:
        """Seal a stream anew from its first changed row on, and let it say so."""
        last, before, after, anew = 0, "", "", False
        for row in _rows(self._store, stream):
            key = stream, row.originator_version
            new = self.changed.get(key)
            old_prev = _prev(row.state)
            prev = after if last else self._parent_sum(row, old_prev)
            if new is not None or prev != old_prev:
                if not holds(*row) or (last and old_prev != before):
                    raise CannotScrub(
                        f"{stream} seq {row.originator_version} is damaged, and would look sound when it is"
                        " written anew; nothing was written; see: loopbook store fsck"
                    )
                anew = True
                sealed = self.written[key] = _sealed(new or row, prev)
                after = sum_in(sealed.state)
                if new is not None:
                    _look_back(row, sealed)
                    self.changed[key] = sealed
            else:
                after = sum_in(row.state)
            last, before = row.originator_version, sum_in(row.state)
        if anew:
            self._say(stream, last + 1, before, after)

    def _parent_sum(self, row: Row, prev: str) -> str:
        """The ``prev`` of a stream's first row: in a fork, its parent's ``sum`` there, perhaps a new one."""
        fork = next((one for one in self._forks if one.stream == row.originator_id), None)
        if fork is None:
            return prev
        new = self.written.get((fork.parent, fork.version))
        return prev if new is None else sum_in(new.state)

    def _say(self, stream: str, version: int, before: str, after: str) -> None:
        self.anchored.append(stream)
        source = next(iter(self.changed))[0]
        of = stream if any(name == stream for name, _ in self.changed) else source
        event = Scrubbed(
            of=of,
            seqs=tuple(seq for name, seq in self.changed if name == of),
            reason=self._reason,
            before=before,
            after=after,
        )
        self.added.append(self._row(stream, version, event, after))

    def _row(self, stream: str, version: int, event: Event, prev: str) -> Row:
        entry = Entry(stream, version, event, self._now, self._asked.session, prev=prev)
        return self._book.records.codec.row(entry)

    # --- what it means -------------------------------------------------------------------------

    def _compare(self, parts: tuple[str, ...]) -> None:
        """Whether only texts differ in the states of all books concerned."""
        text = self._asked.text
        for stream in dict.fromkeys([parts[-1], *self.anchored]):
            old, new = EMPTY, EMPTY
            for entry in self._book.entries(stream):
                row = self.written.get((entry.stream, entry.seq))
                old, new = evolve(old, entry), evolve(new, decode(*row) if row else entry)
            if not _alike(old, new, text):
                raise CannotScrub(
                    f"{stream} would mean something else: a text to be taken out also says which check it is;"
                    " nothing was written; take out the secret alone with --text, or force it with --force"
                )

    # --- what follows from the entries ------------------------------------------------------------

    def _reserve(self) -> None:
        """Reservations under their new names, of new bytes."""
        for (stream, seq), row in self.changed.items():
            old = decode(*cast("list[Row]", self._store.select_events(stream, gt=seq - 1, lte=seq))[0])
            new = decode(*row)
            for (what, key), (_, new_key) in zip(reserves(EMPTY, old), reserves(EMPTY, new), strict=True):
                name, new_name = reservation(stream, what, key), reservation(stream, what, new_key)
                there = next(iter(cast("list[Row]", self._store.select_events(name))), None)
                event = decode(*there).event if there else None
                if there is None or not isinstance(event, Reserved) or event.seq != seq:
                    continue
                kept = self._book.records.codec.row(Entry(new_name, 1, event, new.at, new.session))
                if new_name == name:
                    self._write(there, kept)
                    continue
                if self._store.taken([new_name]) or new_name in {row.originator_id for row in self.added}:
                    raise CannotScrub(
                        f"the {what} id at seq {seq} would become one that is used already; nothing was"
                        " written; scrub with --seq, which leaves ids as they are"
                    )
                self.gone.append(name)
                self.added.append(kept)

    def _write(self, there: Row, kept: Row) -> None:
        if kept != there:
            self.written[kept.originator_id, kept.originator_version] = kept

    def _list(self, head: tuple[int, str]) -> None:
        """What the catalogue says of the loops, in the new words; and that one was scrubbed."""
        loops = {stream.removeprefix("loop:") for stream in self.anchored if stream.startswith("loop:")}
        if not loops:
            return
        intents = self._intents()
        (version, before), after, anew = head, "", False
        for row in _rows(self._store, CATALOGUE, head[0]):
            new = self._catalogued(row, loops, intents)
            prev = _prev(row.state)
            if new != row or (anew and after != prev):
                sealed = _sealed(new, after if anew else prev)
                anew, after = True, sum_in(sealed.state)
                self.written[CATALOGUE, row.originator_version] = sealed
            else:
                after = sum_in(row.state)
        said: list[Event] = [Catalogued(loop=loop, change="scrubbed") for loop in sorted(loops)]
        if anew:
            of, seqs = next(iter(self.changed))[0], tuple(seq for _, seq in self.changed)
            said.append(Scrubbed(of=of, seqs=seqs, reason=self._reason, before=before, after=after))
        for seq, event in enumerate(said, version + 1):
            self.added.append(self._row(CATALOGUE, seq, event, after))
            after = sum_in(self.added[-1].state)

    def _intents(self) -> Mapping[str, str]:
        """Intents that were changed, the old words to the new."""
        found: dict[str, str] = {}
        for (stream, seq), row in self.changed.items():
            new = decode(*row).event
            old = decode(*cast("list[Row]", self._store.select_events(stream, gt=seq - 1, lte=seq))[0]).event
            if isinstance(old, LoopOpened) and isinstance(new, LoopOpened):
                found[old.intent] = new.intent
        return found

    def _catalogued(self, row: Row, loops: set[str], intents: Mapping[str, str]) -> Row:
        fields = _fields(row)
        if fields.get("loop") not in loops:
            return row
        if self._asked.text is not None:
            return self._without(row)
        intent = fields.get("intent")
        if isinstance(intent, str) and intent in intents:
            return row._replace(state=to_json({**fields, "intent": intents[intent]}))
        return row


# --- rows ---------------------------------------------------------------------------------------


def _lineage(book: Book, stream: str) -> tuple[str, ...]:
    """The streams that a book stands in, the oldest first. Raises ``CannotScrub`` for no book."""
    parts = tuple(segment.stream for segment in lineage(book.records.rows, stream))
    if not parts:
        raise CannotScrub(f"there is no {stream} in {book.url}; nothing was written; see: loopbook loop list")
    return parts


def _rows(store: Recorder, stream: str, upto: int | None = None) -> Iterator[Row]:
    """All rows of a stream, read in pieces."""
    version = 0
    while rows := cast("list[Row]", store.select_events(stream, gt=version, lte=upto, limit=_CHUNK)):
        yield from rows
        version = rows[-1].originator_version


def _fields(row: Row) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", from_json(row.state))


def _prev(state: bytes) -> str:
    start = state.index(_PREV) + len(_PREV)
    return state[start : state.index(b'"', start)].decode()


def _sealed(row: Row, prev: str) -> Row:
    """A row with another ``prev``, and the ``sum`` that it then has."""
    stream, version, topic, state = row
    start = state.index(_PREV) + len(_PREV)  # within a string its quotes would be escaped
    body = b"%b%b%b" % (
        state[:start],
        prev.encode(),
        state[state.index(b'"', start) : state.rindex(b',"sum":"')],
    )
    digest = seal(stream, version, topic, body)
    return row._replace(state=b'%b,"sum":"%b"}' % (body, digest.encode()))


def _look_back(old: Row, new: Row) -> None:
    """Refuse a change after which an event would be none of its type any more."""
    try:
        event = decode(*new).event
    except DamagedEntry:
        event = None
    if event is None or type(event) is not type(decode(*old).event):
        raise CannotScrub(
            f"{old.originator_id} seq {old.originator_version} could not be read without this text: it is"
            " also a word of the format; nothing was written; name a longer text, or scrub with --seq"
        )


def _alike(old: object, new: object, text: str | None) -> bool:
    """Whether two states differ in texts alone. Names in mappings follow a text that was taken out."""
    if isinstance(old, str) and isinstance(new, str):
        return True
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(_alike(*pair, text) for pair in zip(old, new, strict=True))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        put = {name.replace(text, mark_within(text)) if text else name: value for name, value in old.items()}
        return put.keys() == new.keys() and all(_alike(value, new[name], text) for name, value in put.items())
    return old == new
