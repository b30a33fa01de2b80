"""A session's drafts into the book they belong to, whether it is new or was begun before.

Theory. A reader's drafts are prefix-stable, so a session that has grown goes on in the book it
has. A book is continued only where its beginning is the file's: book and drafts are walked in
step first, and another file under the same session id is refused before anything is written.

The loop opens with the first prompt of the one who asks (a person; in a sub-agent's own file the
host, in its parent's words); that prompt is its intent. What stands before it is held back until
then, so a file that ends earlier has no loop yet: its book, too, must be the beginning of the
longer file's book.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from loopbook.audit.bounded import FirstAndLast
from loopbook.audit.model import PROBLEMS, FileProblem
from loopbook.audit.shown import counted
from loopbook.books import Books
from loopbook.entry import Draft, Entry
from loopbook.errors import BookDiffers, InvalidEvent, NoSuchLoop, Refused
from loopbook.events import LoopOpened, Origin, Prompted, RunSettled
from loopbook.evidence.text import head
from loopbook.loop import Loop

KIND = "change"
INTENT_CHARS = 1_000
NO_BOOK = "no prompt opens this session: there is no book of it, and nothing was kept"
#: Drafts held back while no prompt has come; with so many the loop opens without an intent.
HELD = 200
#: Saved at once: as many drafts, or as many calls in their runs (a call has up to 4,000 characters).
BATCH_DRAFTS = 500
BATCH_CALLS = 1_000
#: Drafts that may have been refused between two that the book has.
REFUSED = 100


class Filed(NamedTuple):
    """Where the drafts are now. ``loop`` is ``None`` where there is no book yet, only ``held`` drafts.

    ``upto`` is the version the file reaches in a book that goes on past it (``None``: to its end).
    """

    loop: Loop | None
    refused: FirstAndLast[FileProblem]
    upto: int | None = None
    notes: tuple[str, ...] = ()
    held: tuple[Draft, ...] = ()

    def entries(self) -> Iterator[Entry]:
        """The entries that the file accounts for."""
        if self.loop is None:
            return _from_memory(self.held)
        return islice(self.loop.entries(), self.upto)


def file_away(
    drafts: Iterator[Draft], books: Books, loop_id: str, kind: str | None = None, asker: Origin = "human"
) -> Filed:
    """Bring all drafts into the book ``loop:<loop_id>``, passing over those it has.

    ``kind`` is that of a new loop (default: change), ``asker`` the origin of the prompt that opens
    it. Raises ``BookDiffers``, and nothing is written, where the book was begun from another file or
    with another kind.
    """
    held, intent = _opening(drafts, asker)
    rest = chain(held, drafts)
    loop = _existing(books, loop_id)
    walked = _Walked()
    refused: FirstAndLast[FileProblem] = FirstAndLast(PROBLEMS, 0)
    if loop is not None:
        walked = _walk(rest, loop, kind, refused)
    elif intent is None:
        return Filed(None, FirstAndLast(0, 0), notes=(NO_BOOK,), held=tuple(held))
    else:
        loop = books.start(kind or KIND, intent or None, id=loop_id)
    for batch in _batches(rest):
        loop.feed(batch, tell=lambda draft, why: refused.add(_refusal(draft, _brief(why))))
    return Filed(loop, refused, walked.upto, walked.notes)


def _existing(books: Books, loop_id: str) -> Loop | None:
    try:
        return books.loop(loop_id)
    except NoSuchLoop:
        return None


def _opening(drafts: Iterator[Draft], asker: Origin) -> tuple[list[Draft], str | None]:
    """The drafts up to the first prompt of the asker, and its text (``None``: none came)."""
    held: list[Draft] = []
    for draft in drafts:
        held.append(draft)
        event = draft.event
        if isinstance(event, Prompted) and event.origin == asker:
            return held, head(event.text, INTENT_CHARS)
        if len(held) == HELD:
            return held, ""
    return held, None


def _batches(drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    batch: list[Draft] = []
    calls = 0
    for draft in drafts:
        batch.append(draft)
        calls += len(draft.event.calls) if isinstance(draft.event, RunSettled) else 0
        if len(batch) >= BATCH_DRAFTS or calls >= BATCH_CALLS:
            yield batch
            batch, calls = [], 0
    if batch:
        yield batch


def _refusal(draft: Draft, why: str) -> FileProblem:
    return FileProblem(line=draft.line, text=f"{draft.event.type} left out: {why}")


def _brief(why: Refused | InvalidEvent) -> str:
    return str(why).partition(";")[0]


def _from_memory(drafts: Iterable[Draft]) -> Iterator[Entry]:
    for seq, draft in enumerate(drafts, 1):
        if draft.at is not None:
            yield Entry("", seq, draft.event, draft.at, unit=draft.unit, line=draft.line)


# --- a book that was begun before ------------------------------------------------------------


class _Walked(NamedTuple):
    """How far book and drafts go together (``None``: to the book's end)."""

    upto: int | None = None
    notes: tuple[str, ...] = ()


def _walk(
    drafts: Iterator[Draft], loop: Loop, kind: str | None, refused: FirstAndLast[FileProblem]
) -> _Walked:
    changed: FirstAndLast[Entry] = FirstAndLast(1, 0)
    reached = 0
    for entry in loop.entries():
        _check_kind(loop, entry, kind)
        if entry.host_ref is not None:  # others may have written into the book too
            passed, draft = _step(drafts, entry)
            if draft is None and not passed:
                return _Walked(reached, (_shorter(loop, reached), *_notes(changed)))
            if draft is None or not _same(draft, entry):
                raise BookDiffers(_differs(loop, entry))
            for one in passed:
                refused.add(_refusal(one, "was refused when its book was begun"))
            if draft.event != entry.event:
                changed.add(entry)
        reached = entry.seq
    return _Walked(None, _notes(changed))


def _check_kind(loop: Loop, entry: Entry, kind: str | None) -> None:
    if isinstance(entry.event, LoopOpened) and kind not in (None, entry.event.kind):
        raise BookDiffers(
            f"{loop.stream} is of kind {entry.event.kind}, not {kind}; nothing was written;"
            " leave out the kind, or take another store"
        )


def _step(drafts: Iterator[Draft], entry: Entry) -> tuple[list[Draft], Draft | None]:
    """The draft an entry was made from, and those before it."""
    passed: list[Draft] = []
    for draft in islice(drafts, REFUSED):
        if draft.host_ref == entry.host_ref:
            return passed, draft
        passed.append(draft)
    return passed, None


def _same(draft: Draft, entry: Entry) -> bool:
    """Whether an entry can be of this draft; a prompt or run of another id never is."""
    a, b = draft.event, entry.event
    if isinstance(a, Prompted) and isinstance(b, Prompted):
        return a.prompt == b.prompt
    if isinstance(a, RunSettled) and isinstance(b, RunSettled):
        return a.run == b.run
    return a.type == b.type


def _differs(loop: Loop, entry: Entry) -> str:
    return (
        f"{loop.stream} was begun from another file: its entry {entry.seq} (line {entry.line}) is not what"
        " this file has there; nothing was written; audit this file into another store, or keep none"
    )


def _shorter(loop: Loop, reached: int) -> str:
    return f"the book goes on past this file, which ends at entry {reached} of {loop.version}"


def _notes(changed: FirstAndLast[Entry]) -> tuple[str, ...]:
    if not changed.total:
        return ()
    [first] = changed.kept
    note = (
        f"{counted(changed.total, 'entry', 'entries')} of the book, first entry {first.seq}"
        f" (line {first.line}), would be read otherwise now: the file was edited, or another loopbook"
        " read it; the book stays as it is"
    )
    return (note,)
