"""A session file audited: filed into its book, then told from the book.

Theory. A session is one loop whose book is ``loop:audit-<host>-<session>``; it is opened under a host
name of its own, so auditing never takes a session's current book away. Two passes: the file's
drafts are filed into the book, then the book's entries are told. What is reported is therefore
what was stored, whether the book is kept or lies in a folder that is removed at the end.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from loopbook.audit.filing import KIND, Filed, file_away
from loopbook.audit.model import Audit, FileProblem, Item, Session
from loopbook.audit.report import Report
from loopbook.books import Books
from loopbook.entry import Draft
from loopbook.events import LoopOpened, Origin
from loopbook.evidence.outcomes import DEFAULT, Rules
from loopbook.evidence.redaction import Redactor
from loopbook.transcripts import SessionFile, SessionReading, open_session, read_session

#: The host name under which audit opens its loops: no session of any host has it.
HOST = "audit"

#: Told how many bytes of the file have been read.
Watch = Callable[[int], None]


class Options(NamedTuple):
    """How a session is audited.

    ``store`` is the URL that keeps the book, ``kind`` a new loop's kind, ``redactor`` knows the secrets
    (default: the values of this process's variables whose names say so).
    """

    store: str | None = None
    kind: str | None = None
    kinds_dir: Path | None = None
    rules: Rules = DEFAULT
    redactor: Redactor | None = None


class SessionAudit:
    """A session that has been filed: ``session`` and ``notes`` are known, the rest is told once.

    ``lines`` gives the timeline however long it is; ``audit`` reads what is left of it and gives
    the whole, bounded.
    """

    def __init__(self, session: Session, filed: Filed, reading: SessionReading) -> None:
        self.session = session
        self.notes = filed.notes
        of_file = (FileProblem(line=problem.line, text=problem.what) for problem in reading.problems)
        self._problems = [*of_file, *filed.refused.kept]
        self._unlisted = reading.problems_total - len(reading.problems) + filed.refused.left_out
        self._report = Report(reading.open_run, reading.open_line)
        self._lines = self._report.lines(filed.entries())

    def lines(self) -> Iterator[Item]:
        """The lines of the timeline that have not been told yet."""
        return self._lines

    def audit(self) -> Audit:
        """The audit."""
        for _ in self._lines:
            pass
        return self._report.audit(self.session, self.notes, self._problems, self._unlisted)


def audit_session(path: str | os.PathLike[str], options: Options = Options()) -> Audit:  # noqa: B008 - frozen
    """Audit one session file.

    Without ``options.store`` nothing is left behind. Raises ``TranscriptUnreadable``, ``StoreError``,
    ``UnknownKind``, and ``BookDiffers`` where the store has this session's book from another file.
    """
    with filed_session(open_session(path), options) as told:
        return told.audit()


@contextmanager
def filed_session(file: SessionFile, options: Options, watch: Watch | None = None) -> Iterator[SessionAudit]:
    """File a session, and keep its book open while it is told."""
    times = _Times()
    # The reader redacts before it cuts, the book once more: both must know the same secrets.
    redactor = options.redactor or Redactor.of_variables(os.environ)
    with _url(options.store) as url, _books(file, url, options, times, redactor) as books:
        reading = read_session(file, rules=options.rules, redactor=redactor)
        drafts = _watched(reading, times, watch)
        filed = file_away(drafts, books, _loop_id(file), options.kind, _asker(file))
        store = books.url if options.store is not None and filed.loop is not None else None
        yield SessionAudit(_facts(file, reading, filed, times, store), filed, reading)


class _Times:
    """The earliest and latest time in a file; also the clock of its book, which knows no other."""

    def __init__(self) -> None:
        self.first: datetime | None = None
        self.last: datetime | None = None

    def take(self, at: datetime | None) -> None:
        if at is not None:
            self.first = min(self.first or at, at)
            self.last = max(self.last or at, at)

    def clock(self) -> datetime:
        return self.first or datetime.fromtimestamp(0, UTC)


@contextmanager
def _url(store: str | None) -> Iterator[str]:
    """The store that was named, or one in a folder that is gone afterwards."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="loopbook-audit-") as folder:
        yield f"sqlite:///{Path(folder).as_posix()}/books.db"


def _books(file: SessionFile, url: str, options: Options, times: _Times, redactor: Redactor) -> Books:
    return Books.open(
        url,
        session=file.session,
        host=HOST,
        clock=times.clock,
        kinds_dir=options.kinds_dir,
        redactor=redactor,
    )


def _watched(reading: SessionReading, times: _Times, watch: Watch | None) -> Iterator[Draft]:
    for draft in reading:
        times.take(draft.at)
        if watch is not None:
            watch(reading.position)
        yield draft


def _asker(file: SessionFile) -> Origin:
    """Whose prompts are the intent: a sub-agent's own file holds none of a person's."""
    return "host" if file.session.startswith("agent-") else "human"


def _loop_id(file: SessionFile) -> str:
    return f"audit-{file.host}-{file.session}"


def _facts(
    file: SessionFile, reading: SessionReading, filed: Filed, times: _Times, store: str | None
) -> Session:
    first = next(filed.entries(), None)
    opened = first.event if first and isinstance(first.event, LoopOpened) else None
    return Session(
        file=str(file.path),
        host=file.host,
        session=file.session,
        lines=reading.lines,
        loop=_loop_id(file),
        kind=opened.kind if opened else KIND,
        intent=opened.intent if opened else "",
        first_at=times.first,
        last_at=times.last,
        store=store,
    )
