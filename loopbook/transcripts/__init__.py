"""Readers of session files: a host's records in, drafts out.

session = open_session(path)
reading = read_session(path)
for draft in reading: ...
reading.problems, reading.open_run
"""

from __future__ import annotations

from loopbook.transcripts.lines import Problem
from loopbook.transcripts.session import SessionFile, SessionReading, open_session, read_session

__all__ = ["Problem", "SessionFile", "SessionReading", "open_session", "read_session"]
