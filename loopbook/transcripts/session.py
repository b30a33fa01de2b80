"""A session file from the outside: whose it is, what it is called, and its drafts in order."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from loopbook.entry import Draft
from loopbook.errors import TranscriptUnreadable
from loopbook.events import RunSettled
from loopbook.evidence.outcomes import DEFAULT, Rules
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.shapes import text_of
from loopbook.transcripts.claude_code import Reader
from loopbook.transcripts.lines import Problem, Problems, read_lines
from loopbook.transcripts.pairing import HOST
from loopbook.transcripts.sniff import HEAD, is_record, looks_like, newest_in, other_host
from loopbook.transcripts.work import Source

#: How many objects are looked at to learn whose file it is; more only while none is a record.
LOOKED_AT = 200

_OWN_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|agent-.*", re.IGNORECASE | re.DOTALL)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class SessionFile(NamedTuple):
    """A file that may be read: ``host`` wrote it, ``session`` is its id, ``size`` is in bytes.

    ``cwd`` is the folder the session began in, where a record tells.
    """

    path: Path
    host: str
    session: str
    size: int
    cwd: Path | None = None


def open_session(path: str | os.PathLike[str]) -> SessionFile:
    """Whose session a file is: one record of a known host makes it one, wherever it stands.

    The session's id is the file's name where that is an id or a sub-agent's, else the first that a
    record gives, else the file's name.

    Raises ``TranscriptUnreadable`` for a file that cannot be read, that another host wrote, or that holds
    no record. What can be read once only (a pipe) is none: a session is read twice, first to learn
    whose it is.
    """
    path = Path(path)
    try:
        if stat.S_ISFIFO(kind := path.stat().st_mode) or stat.S_ISCHR(kind) or stat.S_ISSOCK(kind):
            what = f"{path} is no file but a pipe or a device; nothing was recorded."
            raise TranscriptUnreadable(f"{what} Save what it gives as a .jsonl file and name that.")
        if stat.S_ISDIR(kind):
            raise _no_session(f"{path} is a folder", _named(newest_in(path)))
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            session, cwd = _facts(path, stream)
            return SessionFile(path, HOST, session, size, Path(cwd) if cwd else None)
    except TranscriptUnreadable:
        raise
    except OSError as error:
        raise _no_session(f"{path} cannot be read: {error.strerror or error}") from error


def _no_session(what: str, remedy: str = "give a session's .jsonl file") -> TranscriptUnreadable:
    return TranscriptUnreadable(f"{what}; nothing was recorded; {remedy}")


def _named(newest: Path | None) -> str:
    return f"its newest session is {newest}" if newest else "it holds no .jsonl file; give a session's"


def _facts(path: Path, stream: BinaryIO) -> tuple[str, str]:
    """The session's id and the folder it began in ("" for unknown)."""
    found = cwd = ""
    objects = records = 0
    for line in read_lines(stream, Problems()):
        objects += 1
        if other := other_host(line.record) if objects <= LOOKED_AT else "":
            raise _no_session(
                f"{path} is a session of {other}, which is not read yet", "give a session file of Claude Code"
            )
        records += is_record(line.record)
        found = found or text_of(line.record, "sessionId")
        cwd = cwd or text_of(line.record, "cwd")
        if records and objects >= LOOKED_AT:
            break
    if not records:
        stream.seek(0)
        raise _no_session(f"{path} is no session: {looks_like(stream.read(HEAD), objects=objects > 0)}")
    # The records of a sub-agent's file give its parent's id, which is another session's name.
    name = path.stem if _OWN_NAME.fullmatch(path.stem) or not found else found
    return _NOT_IN_A_NAME.sub("-", name)[:100] or "unknown", cwd


class SessionReading(Iterator[Draft]):
    """The drafts of a session, in file order, read as they are asked for.

    ``lines`` and ``position`` (bytes) tell how far the reading is. After the last draft,
    ``problems`` lists what was passed over (the first 100 of ``problems_total``), and ``open_run``
    is the run that has not come to rest at the end of the file, as it stands there; ``open_line``
    is where its last word stands.
    """

    def __init__(self, file: SessionFile, rules: Rules, redactor: Redactor) -> None:
        self.file = file
        self.lines = 0
        self.position = 0
        self.open_run: RunSettled | None = None
        self._problems = Problems()
        self._reader = Reader(Source(file.path, file.session, rules, redactor, self._problems))
        self._drafts = self._read()

    @property
    def host(self) -> str:
        """Who wrote the file."""
        return self.file.host

    @property
    def session(self) -> str:
        """The session's id."""
        return self.file.session

    @property
    def open_line(self) -> int | None:
        """The line of the open run's last word or act."""
        return self._reader.open_line if self.open_run else None

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with lines so far, the first ones of it."""
        return self._problems.listed

    @property
    def problems_total(self) -> int:
        """How many problems there were, listed or not."""
        return self._problems.total

    def __next__(self) -> Draft:
        return next(self._drafts)

    def _read(self) -> Iterator[Draft]:
        try:
            with self.file.path.open("rb") as stream:
                for line in read_lines(stream, self._problems):
                    self.lines, self.position = line.number, line.end
                    yield from self._reader.step(line)
        except OSError as error:
            what = f"{self.file.path} cannot be read past line {self.lines}: {error.strerror or error}."
            raise TranscriptUnreadable(f"{what} What was read is kept; try again.") from error
        self.open_run = self._reader.open_run()


def read_session(
    path: str | os.PathLike[str] | SessionFile, *, rules: Rules = DEFAULT, redactor: Redactor | None = None
) -> SessionReading:
    """Read a session file: an iterator of its drafts, which are prefix-stable.

    The drafts of a file's first lines are the first drafts of the whole file, with the same
    ``host_ref``, so a session that has grown can be read again into the same book.
    """
    file = path if isinstance(path, SessionFile) else open_session(path)
    return SessionReading(file, rules, Redactor() if redactor is None else redactor)
