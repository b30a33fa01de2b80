"""A Claude Code session file, read into drafts: prompts, evidence, children and runs at rest.

Theory. The file is read once, from the first line to the last, and each line's drafts are given
out before the next line is read. What a line gives depends on the lines before it only, so the
drafts of a file's first k lines are the first drafts of the whole file, wherever it is cut: a book
can be continued from a session that goes on. That is why nothing here looks ahead: a slash
command that may turn out local waits until a later line tells, a background outcome counts where
it is told, and a child's file is read where the child reports, up to that time.

Order is file order. Times run backwards in these files; they are kept, not sorted by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from loopbook.entry import Draft
from loopbook.events import ChildLinked, Event, Origin, RunSettled
from loopbook.evidence.calls import ToolCall
from loopbook.evidence.extract import EMPTY, observe
from loopbook.evidence.outcomes import Rules
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.runs import prompted
from loopbook.evidence.shapes import mapping_of, text_of
from loopbook.run import Stop
from loopbook.transcripts.children import child_calls, file_of
from loopbook.transcripts.lines import Line, Problems
from loopbook.transcripts.pairing import Asked, Pairs, Seen
from loopbook.transcripts.queue import Queue
from loopbook.transcripts.records import (
    BOOKKEEPING,
    Notification,
    Record,
    UserText,
    Version,
    answered,
    blocks_of,
    joined_text,
    notification,
    time_of,
    user_text,
    version_of,
)
from loopbook.transcripts.results import Context, notified
from loopbook.transcripts.sidechains import Sidechains
from loopbook.transcripts.turns import Opened, Turn

#: System records that say that the agent has stopped.
STOP_MARKS = frozenset({"stop_hook_summary", "turn_duration"})
#: How far sub-agents of sub-agents are followed.
DEPTH = 8
#: The time of a record where none was given yet; never the clock of whoever reads.
UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class _Place(NamedTuple):
    line: int
    size: int
    at: datetime


class _Command(NamedTuple):
    """A slash command of which the next records tell whether it was local."""

    text: UserText
    record: Record
    place: _Place


class Reader:
    """Reads one session; ``step`` takes a line and gives its drafts."""

    def __init__(
        self, path: Path, session: str, rules: Rules, redactor: Redactor, problems: Problems
    ) -> None:
        self._path = path
        self._session = session
        self._rules = rules
        self._redactor = redactor
        self._problems = problems
        self._memory = EMPTY
        self._pairs = Pairs()
        self._sides = Sidechains()
        self._queue = Queue()
        self._turn = Turn()
        self._records = Seen()
        self._child_lines: dict[str, int] = {}
        self._command: _Command | None = None
        self._at = UNKNOWN_TIME
        self._version: Version | None = None
        self._said_version: object = None
        self._steps: dict[str, Callable[[Record, _Place], Iterator[Draft]]] = {
            "user": self._user,
            "assistant": self._assistant,
            "system": self._system,
            "attachment": self._attachment,
            "queue-operation": self._queued,
            "progress": self._progress,
        }

    def step(self, line: Line) -> Iterator[Draft]:
        """The drafts of one line."""
        record = line.record
        self._at = time_of(record) or self._at
        if (said := record.get("version")) != self._said_version:  # the same on nearly every line
            self._said_version, self._version = said, version_of(record) or self._version
        uuid = text_of(record, "uuid")
        if uuid and not self._records.new(uuid):
            return  # a resumed or forked session begins with copies
        place = _Place(line.number, line.size, self._at)
        kind = text_of(record, "type")
        if record.get("isSidechain") is True:
            yield from self._side(record, place)
        elif kind in self._steps:
            yield from self._steps[kind](record, place)
        elif kind not in BOOKKEEPING:
            self._problems.once(line.number, f"records of unknown type {kind[:60]!r}; passed over")

    def open_run(self) -> RunSettled | None:
        """The run that has not come to rest at the end of the file, as it stands."""
        return self._turn_at(None, self._turn.last_at)

    @property
    def open_line(self) -> int | None:
        """Where the open run's last word or act stands."""
        return self._turn.line

    # --- prompts and rest ---------------------------------------------------------------

    def _user(self, record: Record, place: _Place) -> Iterator[Draft]:
        said = user_text(record)
        if answered(record):
            for call in self._pairs.close(record, self._context(place)):
                yield from self._observed(call, place)
            if said.sort == "interrupt":
                yield from self._rest(place, "aborted", place.at)
            return
        if said.sort == "interrupt":
            self._command = None
            yield from self._rest(place, "aborted", place.at)
        elif said.sort == "prompt":
            self._command = None
            yield from self._prompt(said, record, place)
        elif said.sort == "command":
            self._command = _Command(said, record, place)
        elif said.sort == "local":
            self._command = None
        elif said.sort == "companion":
            yield from self._confirm(place)

    def _prompt(self, said: UserText, record: Record, place: _Place) -> Iterator[Draft]:
        """A prompt: the run before it comes to rest, if it has not, and a new one opens."""
        yield from self._rest(place, None, self._turn.last_at)
        told = notification(said.text)
        origin: Origin = "child" if told and self._is_child(told) else said.origin
        run = text_of(record, "uuid") or f"line-{place.line}"
        # Hook feedback goes on under the id of the prompt it answers; it is a prompt of its own.
        prompt = run if origin == "advisor" else text_of(record, "promptId") or run
        event = prompted(prompt, said.text, self._redactor, origin=origin)
        self._turn.open(Opened(run, prompt, place.line, _interactive(record)), said.text, place.at)
        yield Draft(
            event, host_ref=f"{place.line}:prompt", line=place.line, at=place.at, session=self._session
        )
        if told:
            yield from self._notified(told, place)

    def _draft(self, event: Event, place: _Place, what: str) -> Draft:
        host_ref = f"{place.line}:{what}"
        return Draft(event, host_ref=host_ref, line=place.line, at=place.at, session=self._session)

    def _confirm(self, place: _Place) -> Iterator[Draft]:
        """The agent answers a slash command, so it was a prompt; it opened where it stands."""
        command, self._command = self._command, None
        if command is not None:
            for draft in self._prompt(command.text, command.record, command.place):
                # Two drafts of one line keep apart: the rest before it is told where we are now.
                yield draft._replace(host_ref=f"{place.line}:{draft.host_ref}")

    def _rest(self, place: _Place, stop: Stop | None, now: datetime | None) -> Iterator[Draft]:
        """The open run, if there is one, comes to rest; a new one gathers from here."""
        settled = self._turn_at(stop, now)
        if settled is None:
            return
        line, self._turn = self._turn.line, Turn()
        self._pairs.tell()
        yield Draft(
            settled, host_ref=f"{place.line}:rest", line=line, at=now or place.at, session=self._session
        )

    def _turn_at(self, stop: Stop | None, now: datetime | None) -> RunSettled | None:
        unanswered = []
        for call in self._pairs.unanswered() if self._turn.opened else ():
            _, seen = observe(self._memory, call, self._rules, self._redactor)
            unanswered.append(seen.call)
        out = [child.child for child in self._memory.children if child.out]
        return self._turn.settled(stop, now, out, unanswered, self._redactor)

    def _system(self, record: Record, place: _Place) -> Iterator[Draft]:
        # A hook that blocks writes its feedback, a prompt, before the mark of the stop it blocked.
        if text_of(record, "subtype") in STOP_MARKS and self._turn.acted:
            yield from self._rest(place, None, place.at)

    # --- what the agent does ------------------------------------------------------------

    def _assistant(self, record: Record, place: _Place) -> Iterator[Draft]:
        message = mapping_of(record, "message")
        failed = record.get("isApiErrorMessage") is True
        if text_of(message, "model") == "<synthetic>" and not failed:
            return  # the program's own stand-in for an answer
        for block in blocks_of(record):
            text, is_call = text_of(block, "text"), block.get("type") == "tool_use"
            if not is_call and not (block.get("type") == "text" and text):
                continue
            yield from self._confirm(place)
            if self._turn.opened is None:
                run = text_of(record, "uuid") or f"line-{place.line}"
                self._turn.open(Opened(run, None, place.line, _interactive(record)), "", place.at)
            if is_call:
                self._turn.asked_tool(place.line, place.at)
                self._pairs.open(block, Asked(place.line, place.size, text_of(record, "cwd") or None))
            else:
                self._turn.said(text, message.get("id"), place.line, place.at)
            cut = text_of(message, "stop_reason") == "max_tokens"
            self._turn.stop = "error" if failed else "length" if cut else "end"

    def _observed(self, call: ToolCall, place: _Place, where: str = "", depth: int = 0) -> Iterator[Draft]:
        """What a finished call gives; before a child's report comes what the child did.

        ``where`` is the way to a call in a child's file, for its drafts' ``host_ref``.
        """
        self._memory, seen = observe(self._memory, call, self._rules, self._redactor)
        self._turn.called(seen.call)
        drafts = [
            draft._replace(
                host_ref=f"{place.line}:{where}{draft.host_ref}",
                line=place.line,
                at=draft.at or place.at,
                session=self._session,
            )
            for draft in seen.drafts
        ]
        yield from (draft for draft in drafts if isinstance(draft.event, ChildLinked))
        if (child := self._reporting(call)) and depth < DEPTH:
            yield from self._done_by(child, call, place, depth + 1)
        yield from (draft for draft in drafts if not isinstance(draft.event, ChildLinked))

    def _reporting(self, call: ToolCall) -> str | None:
        """The child whose end this call's result tells, if it does."""
        if call.result is None or call.result.status not in ("ok", "error"):
            return None
        if call.kind == "agent":
            return call.child
        known = any(child.child == call.task for child in self._memory.children)
        return call.task if call.kind == "output" and (known or call.child) else None

    def _done_by(self, child: str, report: ToolCall, place: _Place, depth: int) -> Iterator[Draft]:
        """What a child did since its last report, from its own file."""
        if child in self._sides:
            return  # its records stand in this file and were read there
        path = file_of(self._path, self._session, child)
        if path is None:
            what = f"the file of sub-agent {child[:60]} is not there: what it did is unknown"
            self._problems.add(place.line, what)
            return
        until = report.result.at if report.result else None
        after = self._child_lines.get(child, 0)
        done = child_calls(path, child, after=after, until=until, problems=self._problems, line=place.line)
        for call, line in done:
            self._child_lines[child] = line
            yield from self._observed(call._replace(line=place.line), place, f"{child}:{line}:", depth)

    def _side(self, record: Record, place: _Place) -> Iterator[Draft]:
        """A sub-agent's record in the session's own file, as older versions write them."""
        for call in self._sides.step(record, place.size, self._pairs, self._context(place)):
            yield from self._observed(call, place)

    def _progress(self, record: Record, place: _Place) -> Iterator[Draft]:
        """A sub-agent's step as its parent saw it: all there is where the child's file is missing."""
        data = mapping_of(record, "data")
        child = text_of(data, "agentId")
        if data.get("type") == "agent_progress" and child:
            if child not in self._sides and file_of(self._path, self._session, child) is not None:
                return
            yield from self._side({**mapping_of(data, "message"), "agentId": child}, place)

    # --- what came in the background ----------------------------------------------------

    def _is_child(self, told: Notification) -> bool:
        return bool(told.result) or any(child.child == told.task for child in self._memory.children)

    def _notified(self, told: Notification, place: _Place) -> Iterator[Draft]:
        result = notified(told, self._context(place))
        task, child = told.task, told.task if told.result else None
        named = {"task_id": task}
        call = ToolCall(
            task, "task-notification", "output", named, result, child=child, task=task, line=place.line
        )
        yield from self._observed(call, place)

    def _attachment(self, record: Record, place: _Place) -> Iterator[Draft]:
        """A queued message that reached the agent while it worked."""
        attached = mapping_of(record, "attachment")
        if attached.get("type") == "queued_command":
            text = joined_text(attached.get("prompt"))
            if told := notification(text):
                yield from self._notified(told, place)
            elif self._queue.delivered(text):
                yield from self._heard(text, record, place)

    def _queued(self, record: Record, place: _Place) -> Iterator[Draft]:
        if text := self._queue.step(record):
            yield from self._heard(text, record, place)

    def _heard(self, text: str, record: Record, place: _Place) -> Iterator[Draft]:
        """A person spoke to the agent while it worked: a prompt, but the run goes on."""
        if self._turn.opened is not None:
            self._turn.heard("user", text)
            event = prompted(text_of(record, "uuid") or f"line-{place.line}", text, self._redactor)
            yield self._draft(event, place, "prompt")

    def _context(self, place: _Place) -> Context:
        return Context(place.line, place.at, self._version)


def _interactive(record: Record) -> bool:
    return not text_of(record, "entrypoint").startswith("sdk")
