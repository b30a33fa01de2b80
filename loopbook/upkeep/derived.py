"""What follows from entries: reservations, the catalogue, the sessions that chose a loop.

Reservations are as many as keys are, so they are not remembered but added up: every key that the
entries name is counted in under a digest, every reservation out, and only where something is left
the store is read once more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

from loopbook.book import CATALOGUE, Book, reservation, session_stream
from loopbook.book.streams import catalogued, reserves
from loopbook.encoding import decode
from loopbook.entry import Entry
from loopbook.errors import DamagedEntry
from loopbook.events import BookChosen, Catalogued, Forked, LoopOpened, Reserved, SessionAdopted
from loopbook.projections import EMPTY
from loopbook.projections.state import TEXT_CHARS
from loopbook.run import PROMPT_CHARS
from loopbook.upkeep.chains import Fork, whence
from loopbook.upkeep.findings import DERIVE, FORGET, RESCUE, Finding

_DIGEST = 1 << 128
#: Loops named in one note.
_NAMED = 5


class Derived:
    """What the entries of a store make necessary, beside what is there of it."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self._named: dict[str, dict[str, int]] = defaultdict(dict)  # findings: where each was named first
        self._opened: dict[str, LoopOpened] = {}
        self._keys: dict[str, int] = defaultdict(int)
        self._said: dict[str, list[Catalogued]] = defaultdict(list)  # what the catalogue says of a loop
        self._told: dict[str, list[Catalogued]] = defaultdict(list)  # and what its book does
        self._sessions: dict[str, set[str]] = defaultdict(set)  # loops, by who began or adopted them
        self._chosen: set[tuple[str, str]] = set()  # (session, loop), by the sessions' own streams

    def at(self, entry: Entry) -> None:
        """Count in what follows from an entry."""
        stream, event = entry.stream, entry.event
        if stream.startswith("once:"):
            self._reservation(entry)
            return
        for what, key in reserves(EMPTY, entry):
            if what == "finding":
                self._named[stream].setdefault(key, entry.seq)
            else:
                self._count(stream, reservation(stream, what, key), entry.seq)
        if isinstance(event, Catalogued) and stream == CATALOGUE:
            self._said[event.loop].append(event)
        elif (told := catalogued(stream, event)) is not None:
            self._told[told.loop].append(told)
        if isinstance(event, LoopOpened):
            self._opened.setdefault(stream, event)
        self._session(entry)

    def _session(self, entry: Entry) -> None:
        stream, event = entry.stream, entry.event
        if isinstance(event, BookChosen) and stream.startswith("session:"):
            self._chosen.add((stream.split(":", 2)[-1], event.book))
        elif isinstance(event, LoopOpened | Forked | SessionAdopted) and entry.session:
            self._sessions[entry.session].add(stream)

    def _reservation(self, entry: Entry) -> None:
        event = entry.event
        if (
            not isinstance(event, Reserved)
            or entry.seq != 1
            or not entry.stream.startswith(f"once:{event.stream}:{event.what}:")
        ):
            what = "it is no reservation of what its name says"
            self.findings.append(Finding(entry.stream, entry.seq, what, DERIVE))
        else:
            self._count(event.stream, entry.stream, event.seq, -1)

    def _count(self, stream: str, name: str, seq: int, sign: int = 1) -> None:
        digest = blake2b(f"{seq} {name}".encode(errors="surrogateescape"), digest_size=16).digest()
        self._keys[stream] = (self._keys[stream] + sign * int.from_bytes(digest, "big")) % _DIGEST

    # --- after the last row -----------------------------------------------------------------

    def end(self, book: Book, forks: Mapping[str, Fork]) -> None:
        """Compare what is there with what must be."""
        for stream in self._named:
            for key, seq in self._own(stream, forks).items():
                self._count(stream, reservation(stream, "finding", key), seq)
        if wrong := {stream for stream, left in self._keys.items() if left}:
            due = {stream: self._own(stream, forks) for stream in wrong}
            self.findings += _differences(book, due)
        self._compare_catalogue(forks)
        self._look_for_sessions()

    def _own(self, stream: str, forks: Mapping[str, Fork]) -> Mapping[str, int]:
        """The findings that a stream named first, and where: not those that stood before a fork."""
        own = dict(self._named.get(stream, {}))
        for fork in whence(forks, stream):
            before = self._named.get(fork.parent, {})
            own = {key: seq for key, seq in own.items() if before.get(key, fork.version + 1) > fork.version}
        return own

    def _compare_catalogue(self, forks: Mapping[str, Fork]) -> None:
        """Whether the catalogue says of every loop what its book does."""
        for loop in sorted({*self._said, *self._told}):
            said = _since_forgotten(self._said.get(loop, []))
            told = [self._of_parent(event, forks) for event in self._told.get(loop, [])]
            if said == told:
                continue
            what, remedy = f"what it says of the loop {loop} is not what its book does", DERIVE
            if not told:
                what = f"it lists the loop {loop}, whose book is not there"
                remedy = FORGET.format(loop)
            if not told and any(fork.parent == f"loop:{loop}" for fork in forks.values()):
                remedy = RESCUE
            self.findings.append(Finding(CATALOGUE, None, what, remedy))

    def _of_parent(self, event: Catalogued, forks: Mapping[str, Fork]) -> Catalogued:
        """What a book says of itself; a fork says it in its parent's words."""
        if event.parent is not None:
            for fork in whence(forks, f"loop:{event.loop}"):
                if (opened := self._opened.get(fork.parent)) is not None:
                    words = {"kind": opened.kind[:TEXT_CHARS], "intent": opened.intent[:PROMPT_CHARS]}
                    return event.model_copy(update=words)
        return event

    def _look_for_sessions(self) -> None:
        """Whether each session that began or adopted a loop says so: its stream may have been removed.

        No damage: a loop that was exported alone comes without its sessions.
        """
        for session, loops in sorted(self._sessions.items()):
            key = session_stream("-", session).split(":", 2)[-1]
            if missing := sorted(loop for loop in loops if (key, loop) not in self._chosen):
                more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
                named = f"{', '.join(missing[:_NAMED])}{more}"
                self.notes.append(
                    f"the session {session} went on with {named}, and no session's stream says so:"
                    " it was removed or cut, or never brought in with the loop"
                )


def _since_forgotten(said: list[Catalogued]) -> list[Catalogued]:
    """What the catalogue says of a loop that is there: since it was last forgotten, scrubbing left out."""
    changes = [event.change for event in said]
    start = len(changes) - changes[::-1].index("forgotten") if "forgotten" in changes else 0
    return [event for event in said[start:] if event.change != "scrubbed"]


Use = tuple[str, int]


def _differences(book: Book, findings: Mapping[str, Mapping[str, int]]) -> Iterator[Finding]:
    """Which reservations are missing, and which are of nothing, in streams where the count is not even.

    ``findings`` are those that each of these streams named first.
    """
    due: dict[str, Use] = {}
    for stream, own in sorted(findings.items()):
        for key, seq in own.items():
            due[reservation(stream, "finding", key)] = stream, seq
    there: dict[str, Use] = {}
    for entry in _entries(book):
        if isinstance(entry.event, Reserved) and entry.stream.startswith("once:"):
            if entry.event.stream in findings:
                there[entry.stream] = entry.event.stream, entry.event.seq
        elif entry.stream in findings:
            for what, key in reserves(EMPTY, entry):
                if what != "finding":
                    due.setdefault(reservation(entry.stream, what, key), (entry.stream, entry.seq))
    for name in sorted(due.keys() | there.keys()):
        yield from _difference(name, due.get(name), there.get(name))


def _entries(book: Book) -> Iterable[Entry]:
    for stored in book.records.rows.scan():
        if not stored.snapshot:
            try:
                yield decode(*stored.row)
            except DamagedEntry:
                continue


def _difference(name: str, due: Use | None, there: Use | None) -> Iterator[Finding]:
    if due is not None and there is None:
        yield Finding(due[0], due[1], f"its reservation {name} is not there", DERIVE)
    elif due is None and there is not None:
        what = f"it reserves for {there[0]} seq {there[1]} what no entry there uses"
        yield Finding(name, 1, what, DERIVE)
    elif due != there and due is not None and there is not None:
        what = f"it is of {there[0]} seq {there[1]}, and {due[0]} seq {due[1]} uses it"
        yield Finding(name, 1, what, DERIVE)
