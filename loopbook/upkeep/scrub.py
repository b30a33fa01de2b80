"""Scrubbing: texts are taken out of entries that were written, and the book says so.

Theory. A book is append-only, with this one exception: a secret that leaked into it. What is
replaced is text alone, so the book goes on meaning what it meant: its state is folded before and
after, and where more than texts would differ (the command of a check also says *which* check it
is) nothing is written unless that is asked for. Ids that hold the text go on being different ids,
since it is replaced by what stands nowhere yet.

A text is taken out of a book and all that hang together with it by forks, or of all books of the
store. What the catalogue says of them follows. Afterwards the whole store is looked through, and
where the text still stands is told.

All is one transaction. Each stream's next version is what it is conditional on, and the catalogue's
as well, where forking a loop is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic_core import to_json

from loopbook.book import CATALOGUE, Book, is_name
from loopbook.book.lineage import lineage
from loopbook.book.streams import catalogued
from loopbook.encoding import decode
from loopbook.entry import Entry
from loopbook.errors import CannotScrub, ChangedMeanwhile, Refused, StoreUnavailable
from loopbook.events import Catalogued, Forked, LoopOpened
from loopbook.projections import EMPTY, Folding, take
from loopbook.projections.admission import admit
from loopbook.store import IntegrityError, Row
from loopbook.upkeep.attempts import attempts
from loopbook.upkeep.family import all_forks, family, with_forks
from loopbook.upkeep.rewriting import End, Key, Rewriting
from loopbook.upkeep.rows import fields_in, head_of, rows_of
from loopbook.upkeep.standing import SNAPSHOT, UNREADABLE, Place, everywhere, standing
from loopbook.upkeep.taking import Taking, marks_in

#: A shorter text stands in too many words that are none of it.
LEAST_CHARS = 4


class Asked(NamedTuple):
    """What to take out of a book: all texts of the entry ``seq``, or ``text`` wherever it stands.

    With both, the text is taken out of that entry alone; with no ``stream``, out of every book.
    ``force``: even where the book then means something else.
    """

    stream: str | None
    seq: int | None = None
    text: str | None = None
    reason: str = ""
    session: str = ""
    force: bool = False


class Scrubbing(NamedTuple):
    """What was done: the rewritten entries, and the streams whose chains were anchored anew.

    ``left`` is where the text still stands in the store once it is vacuumed.
    """

    entries: tuple[Key, ...]
    streams: tuple[str, ...]
    left: tuple[Place, ...] = ()


def scrub(book: Book, asked: Asked, now: datetime) -> Scrubbing:
    """Take texts out of a book. Their bytes are still in the file until ``vacuum``.

    Raises ``CannotScrub``; ``DamagedEntry`` where the book cannot be read through.

    >>> from datetime import UTC
    >>> from loopbook.events import Task
    >>> from loopbook.books import Books
    >>> books = Books.open("memory:")
    >>> loop = books.start("chore", "Tidy", id="tidy")
    >>> _ = loop.record(Task(text="log in with hunter2"))
    >>> _ = scrub(books.book, Asked("loop:tidy", text="hunter2", reason="leaked"), datetime.now(UTC))
    >>> [getattr(entry.event, "text", entry.event.type) for entry in loop.entries(1)]
    ['log in with [scrubbed-7-chars]', 'scrubbed']
    """
    _look_at(asked)
    for _ in attempts():
        head = head_of(book, CATALOGUE)
        try:
            done = _Work(book, asked, now).plan()
            book.records.rows.replace(done.replaced, done.added, done.gone)
        except IntegrityError:
            continue
        except (ChangedMeanwhile, ValueError, LookupError):
            if head_of(book, CATALOGUE) == head:
                raise
            continue  # a loop was forgotten while it was read: what is so is so again
        entries = tuple((done.name(stream), seq) for stream, seqs in done.texts.items() for seq in seqs)
        own = tuple(key for key in entries if key[0] != CATALOGUE)
        anchored = tuple(stream for stream in done.streams if stream != CATALOGUE)
        return Scrubbing(own, anchored, () if asked.text is None else _left(book, asked.text))
    raise StoreUnavailable(f"{book.url}: others write to it all the while; nothing was scrubbed; try again")


def find(book: Book, stream: str | None, text: str) -> Iterator[Place]:
    """Where a text stands: in a book and all that hang together with it by forks, or anywhere."""
    if stream is None:
        yield from everywhere(book, text)
        return
    for part in family(book, stream):
        yield from standing(book.records.rows.scan(part), text)


def _left(book: Book, text: str) -> tuple[Place, ...]:
    return tuple(place for place in everywhere(book, text) if place.what != SNAPSHOT)


def _look_at(asked: Asked) -> None:
    if asked.text is not None and len(asked.text) < LEAST_CHARS:
        raise CannotScrub(
            f"a text of fewer than {LEAST_CHARS} characters stands in too many words; nothing was written;"
            " scrub whole entries with --seq"
        )
    if asked.stream is None and (asked.text is None or asked.seq is not None):
        raise CannotScrub("only a text is taken out of every book; nothing was written; name a loop")


class _Work:
    """One attempt: what is to be written, gathered in the order in which it depends on each other."""

    def __init__(self, book: Book, asked: Asked, now: datetime) -> None:
        clean = book.hygiene.text
        asked = asked._replace(reason=clean(asked.reason), session=clean(asked.session))
        self._book, self._asked, self._now = book, asked, now
        self._store = book.records.rows
        self._head = head_of(book, CATALOGUE)  # before the forks are looked up: see the theory
        self._scope = family(book, asked.stream) if asked.stream else _holding(book, str(asked.text))
        self._loops = {name.removeprefix("loop:") for name in self._scope if name.startswith("loop:")}
        used = set() if asked.text is None else marks_in(stored.row for stored in self._store.scan())
        self._taking = Taking(asked.text, used)
        self._only = self._place()
        self._listed: dict[int, Catalogued] = {}  # what the catalogue must say of openings, by its seq

    def _place(self) -> Key | None:
        """The one entry that texts are taken out of, if it is one."""
        stream, seq = self._asked.stream, self._asked.seq
        if stream is None or seq is None:
            return None
        for part, first, last in lineage(self._store, stream):
            if first <= seq and (last is None or seq <= last):
                return part, seq
        return stream, seq

    def plan(self) -> Rewriting:
        """Find out all that is to be written. Raises ``CannotScrub``."""
        forks = {fork.stream: fork for fork in all_forks(self._store)}
        done = Rewriting(self._book, forks, self._names(), self._without)
        for stream in self._scope:
            done.anchor(stream)
        opened = {stream: self._compare(stream, done) for stream in done.ends}
        done.reserve()
        self._look_up({stream: event for stream, event in opened.items() if event is not None})
        done.anchor(CATALOGUE, self._head[0])
        if not done.ends:
            self._refuse_nothing()
        session, reason = map(self._taking.out_of, (self._asked.session, self._asked.reason))
        done.say(self._now, session, reason, named=self._taking.out_of)
        done.ends.setdefault(CATALOGUE, End(self._head[0], self._head[1], self._head[1]))
        for stream in opened:
            if stream.startswith("loop:"):
                event = Catalogued(loop=stream.removeprefix("loop:"), change="scrubbed")
                done.append(CATALOGUE, event, self._now, session)
        return done

    def _names(self) -> Mapping[str, str]:
        """The streams whose names hold the text, with those they get."""
        text, names = self._asked.text, dict[str, str]()
        for stream in self._scope:
            if text is None or text not in stream:
                continue
            if stream.startswith("loop:"):
                loop = stream.removeprefix("loop:")
                raise CannotScrub(
                    f"the text stands in the name {stream} itself; nothing was written; the name of a loop"
                    f" cannot be changed, so forget it: loopbook store forget {loop}; then scrub --everywhere"
                )
            new = self._taking.out_of(stream)
            if self._only is None and is_name(new):
                names[stream] = new
        return names

    def _refuse_nothing(self) -> None:
        stream, seq, text, *_ = self._asked
        where = stream or self._book.url
        what = "has no text to take out" if text is None else "does not hold the text"
        place = where if seq is None else f"{where} seq {seq}"
        raise CannotScrub(f"{place} {what}; nothing was written; see: loopbook loop log")

    def _without(self, row: Row) -> Row:
        """A row with other texts, or as it is."""
        if row.originator_id == CATALOGUE:
            return self._relisted(row)
        return self._taking.out_of_row(row) if self._only in {None, row[:2]} else row

    # --- what it means -------------------------------------------------------------------------

    def _compare(self, stream: str, done: Rewriting) -> Catalogued | None:
        """Refuse what would change more than texts in a book; how the catalogue must list it."""
        old, new = Folding(EMPTY), Folding(EMPTY)
        opened = None
        for entry in self._book.entries(stream):
            row = done.anew.get((entry.stream, entry.seq))
            other = entry if row is None else decode(*row)
            if row is not None or self._only is not None:
                _look_at_both(old, entry, new, other)
            take(old, entry)
            take(new, other)
            if entry.stream == stream and isinstance(other.event, LoopOpened | Forked):
                opened = catalogued(stream, other.event, new)
        if not self._asked.force and not self._taking.is_alike(old.state(), new.state()):
            raise CannotScrub(
                f"{stream} would mean something else: a text to be taken out also says which check it is;"
                " nothing was written; take out the secret alone with --text, or force it with --force"
            )
        return opened

    # --- the catalogue ----------------------------------------------------------------------------

    def _look_up(self, opened: Mapping[str, Catalogued]) -> None:
        """Where the catalogue tells of the last opening of each loop."""
        last: dict[str, int] = {}
        for row in rows_of(self._store, CATALOGUE, self._head[0]) if opened else ():
            event = decode(*row).event
            if isinstance(event, Catalogued) and event.change == "opened":
                last[f"loop:{event.loop}"] = row.originator_version
        self._listed = {last[stream]: event for stream, event in opened.items() if stream in last}

    def _relisted(self, row: Row) -> Row:
        """A row of the catalogue in the new words."""
        listed = self._listed.get(row.originator_version)
        if self._asked.text is not None and (self._asked.stream is None or self._tells(row)):
            row = self._taking.out_of_row(row)
        if listed is None:
            return row
        fields = fields_in(row.state)
        new = {**fields, "kind": listed.kind, "intent": listed.intent}
        return row if new == fields else row._replace(state=to_json(new))

    def _tells(self, row: Row) -> bool:
        """Whether a row of the catalogue is about a loop that is scrubbed."""
        try:
            return fields_in(row.state).get("loop") in self._loops
        except ValueError:
            return False


def _holding(book: Book, text: str) -> tuple[str, ...]:
    """The streams that hold a text, and what hangs on them by forks; each after its parent."""
    places = (place for place in everywhere(book, text) if place.what not in {SNAPSHOT, UNREADABLE})
    return with_forks(book, {place.stream for place in places if is_name(place.stream)})


def _look_at_both(old: Folding, entry: Entry, new: Folding, other: Entry) -> None:
    """Refuse what no book would take any more, and so no import: an id that is named elsewhere, say."""
    if (why := _refusal(new, other)) and not _refusal(old, entry):
        raise CannotScrub(
            f"{entry.stream} seq {entry.seq} could not stand there any more ({why}); nothing was written;"
            " give --text alone, for the whole book, or --seq alone, for all texts of that entry"
        )


def _refusal(state: Folding, entry: Entry) -> str:
    try:
        admit(state, entry.event, entry.unit)
    except Refused as wrong:
        return str(wrong).partition(";")[0]
    return ""
