"""What the agent and its sub-agents did: finished calls into drafts, in the order of their results.

Theory. Evidence is made by ``loopbook.evidence.extract``, from one call after the other; what it must
remember between calls is kept here. A child's calls go through the same door under the child's
name: where its records stand, if they stand in this file, else where it reports, from its own file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from loopbook.entry import Draft
from loopbook.events import ChildLinked
from loopbook.evidence.calls import CallResult, ToolCall
from loopbook.evidence.extract import EMPTY, observe
from loopbook.evidence.outcomes import Rules
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.shapes import mapping_of, text_of
from loopbook.run import Call
from loopbook.transcripts.children import child_calls, file_of
from loopbook.transcripts.lines import Problems
from loopbook.transcripts.pairing import Pairs
from loopbook.transcripts.records import Notification, Record, Version
from loopbook.transcripts.results import Context, notified
from loopbook.transcripts.sidechains import Sidechains
from loopbook.transcripts.turns import Turn

#: How far sub-agents of sub-agents are followed.
DEPTH = 8


class Place(NamedTuple):
    """Where a record stands: its line, that line's bytes, its time, and the version that wrote it."""

    line: int
    size: int
    at: datetime
    version: Version | None

    @property
    def context(self) -> Context:
        """What a result needs to know of it."""
        return Context(self.line, self.at, self.version)


class Source(NamedTuple):
    """What is read and how: the session's file and id, the user's rules, what must not be kept."""

    path: Path
    session: str
    rules: Rules
    redactor: Redactor
    problems: Problems


class Work:
    """The calls of one session, main agent and children, as they finish."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._memory = EMPTY
        self._sides = Sidechains()
        self._child_lines: dict[str, int] = {}
        self._being_read: set[str] = set()

    @property
    def out(self) -> list[str]:
        """The children that have not come back."""
        return [child.child for child in self._memory.children if child.out]

    def is_child(self, told: Notification) -> bool:
        """Whether a notification is a child's: only theirs have a result, but not all do."""
        return bool(told.result) or self._knows(told.task)

    def _knows(self, task: str | None) -> bool:
        return any(child.child == task for child in self._memory.children)

    def unanswered(self, calls: Iterable[ToolCall]) -> Iterator[Call]:
        """What a run keeps of calls that were never answered."""
        source = self._source
        return (observe(self._memory, call, source.rules, source.redactor)[1].call for call in calls)

    def finished(
        self, call: ToolCall, place: Place, turn: Turn, where: str = "", depth: int = 0
    ) -> Iterator[Draft]:
        """What a finished call gives; before a child's report comes what the child did.

        ``where`` is the way to a call in a child's file, for its drafts' ``host_ref``.
        """
        source = self._source
        self._memory, seen = observe(self._memory, call, source.rules, source.redactor)
        turn.called(seen.call)
        drafts = [
            draft._replace(
                host_ref=f"{place.line}:{where}{draft.host_ref}",
                line=place.line,
                at=draft.at or place.at,
                session=source.session,
            )
            for draft in seen.drafts
        ]
        yield from (draft for draft in drafts if isinstance(draft.event, ChildLinked))
        if (child := self._reporting(call)) and depth < DEPTH:
            yield from self._done_by(child, call, place, turn, depth + 1)
        yield from (draft for draft in drafts if not isinstance(draft.event, ChildLinked))

    def typed(self, command: str, place: Place, turn: Turn) -> Iterator[Draft]:
        """A command the person ran beside the agent: nobody says how it ended, but it may have checked."""
        result = CallResult("background", line=place.line, at=place.at)
        given = {"command": command}
        call = ToolCall(f"line-{place.line}", "bash-input", "command", given, result, line=place.line)
        yield from self.finished(call, place, turn)

    def notified(self, told: Notification, place: Place, turn: Turn) -> Iterator[Draft]:
        """What a notification tells of a background command or child."""
        child = told.task if told.result else None
        named, result = {"task_id": told.task}, notified(told, place.context)
        call = ToolCall(told.task, "task-notification", "output", named, result, child=child, task=told.task)
        yield from self.finished(call._replace(line=place.line), place, turn)

    def side(self, record: Record, parents: Pairs, place: Place, turn: Turn) -> Iterator[Draft]:
        """A sub-agent's record in the session's own file, as older versions write them."""
        for call in self._sides.step(record, place.size, parents, place.context):
            yield from self.finished(call, place, turn)

    def progress(self, record: Record, parents: Pairs, place: Place, turn: Turn) -> Iterator[Draft]:
        """A sub-agent's step as its parent saw it: all there is where the child's file is missing."""
        data = mapping_of(record, "data")
        child = text_of(data, "agentId")
        if text_of(data, "type") != "agent_progress" or not child:
            return
        if child in self._sides or file_of(self._source.path, self._source.session, child) is None:
            yield from self.side({**mapping_of(data, "message"), "agentId": child}, parents, place, turn)

    def _reporting(self, call: ToolCall) -> str | None:
        """The child whose end this call's result tells, if it does."""
        if call.result is None or call.result.status not in ("ok", "error"):
            return None
        if call.kind == "agent":
            return call.child
        return call.task if call.kind == "output" and (call.child or self._knows(call.task)) else None

    def _done_by(self, child: str, report: ToolCall, place: Place, turn: Turn, depth: int) -> Iterator[Draft]:
        """What a child did since its last report, from its own file."""
        if child in self._sides or child in self._being_read:
            return  # its records stand in this file and were read there; or it is said to report to itself
        problems = self._source.problems
        path = file_of(self._source.path, self._source.session, child)
        if path is None:
            what = f"the file of sub-agent {child[:60]} is not there: what it did is unknown"
            problems.add(place.line, what)
            return
        until = report.result.at if report.result else None
        after = self._child_lines.get(child, 0)
        done = child_calls(path, child, after=after, until=until, problems=problems, line=place.line)
        self._being_read.add(child)
        for call, line in done:
            self._child_lines[child] = line
            here = call._replace(line=place.line)
            yield from self.finished(here, place, turn, f"{child}:{line}:", depth)
        self._being_read.remove(child)
