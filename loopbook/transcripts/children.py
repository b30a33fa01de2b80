"""What a sub-agent did, from its own file beside the session's.

Theory. A child's file is read where the child reports, never before: so the first lines of a
session give the same events whether the child has come back or not. A child that reports more
than once has grown in between; each report takes the calls up to its own time, and the next one
goes on from there. Only calls are taken: what it said stands in its report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from loopbook.evidence.calls import ToolCall
from loopbook.evidence.shapes import text_of
from loopbook.transcripts.lines import Line, Problems, read_lines
from loopbook.transcripts.pairing import Asked, Pairs
from loopbook.transcripts.records import blocks_of, time_of, version_of
from loopbook.transcripts.results import Context

#: A child's id names a file, so it may hold nothing that leads elsewhere.
_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class ChildCall(NamedTuple):
    """A finished call of a child, and the line of its file where the result stands."""

    call: ToolCall
    line: int


def file_of(session: Path, session_id: str, child: str) -> Path | None:
    """Where a child's records are, or ``None``: beside the session's file, in one of two places."""
    if not _SAFE_ID.fullmatch(child):
        return None
    inside = session.with_suffix("") / "subagents" / f"agent-{child}.jsonl"
    named = session.parent / session_id / "subagents" / f"agent-{child}.jsonl"
    beside = session.parent / f"agent-{child}.jsonl"  # up to 2.0
    return next((path for path in (inside, named, beside) if path.is_file()), None)


def child_calls(
    path: Path, child: str, *, after: int, until: datetime | None, problems: Problems, line: int
) -> Iterator[ChildCall]:
    """The calls whose result stands after line ``after`` and was written by ``until``.

    What is wrong with the child's file is said once, at ``line`` of the session's.
    """
    own = Problems()
    pairs = Pairs(by=child)
    try:
        with path.open("rb") as stream:
            for read in read_lines(stream, own):
                at = time_of(read.record)
                if until is not None and at is not None and at > until:
                    break
                for call in _step(pairs, read, at):
                    if read.number > after:
                        yield ChildCall(call, read.number)
    except OSError as error:
        problems.add(line, f"the file of sub-agent {child} cannot be read ({error.strerror}); passed over")
    if own.listed:
        first = own.listed[0]
        problems.add(line, f"in the file of sub-agent {child}, line {first.line}: {first.what}")


def _step(pairs: Pairs, read: Line, at: datetime | None) -> Iterator[ToolCall]:
    record = read.record
    if record.get("type") == "assistant":
        for block in blocks_of(record):
            if block.get("type") == "tool_use":
                pairs.open(block, Asked(read.number, read.size, text_of(record, "cwd") or None))
    elif record.get("type") == "user":
        yield from pairs.close(record, Context(read.number, at, version_of(record)))
