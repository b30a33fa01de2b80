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
from typing import NamedTuple

from loopbook.entry import Draft
from loopbook.events import Event, Origin, RunSettled
from loopbook.evidence.runs import prompted
from loopbook.evidence.shapes import mapping_of, text_of
from loopbook.run import Stop
from loopbook.transcripts.lines import Line
from loopbook.transcripts.pairing import Asked, Pairs, Seen
from loopbook.transcripts.queue import Queue
from loopbook.transcripts.records import (
    BOOKKEEPING,
    Record,
    UserText,
    Version,
    answered,
    blocks_of,
    joined_text,
    notification,
    tag,
    time_of,
    user_text,
    version_of,
)
from loopbook.transcripts.turns import Opened, Turn
from loopbook.transcripts.work import Place, Source, Work

#: System records that say that the agent has stopped.
STOP_MARKS = frozenset({"stop_hook_summary", "turn_duration"})
#: How many prompts wait for what comes next.
HELD = 20
#: The time of a record where none was given yet; never the clock of whoever reads.
UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class _Held(NamedTuple):
    """A prompt, or a command that may be one, of which the next records tell what it is."""

    said: UserText
    record: Record
    place: Place


class Reader:
    """Reads one session; ``step`` takes a line and gives its drafts."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._work = Work(source)
        self._is_child = source.path.name.startswith("agent-")  # a sub-agent's own file, read by itself
        self._pairs = Pairs()
        self._queue = Queue()
        self._turn = Turn()
        self._records = Seen()
        self._held: list[_Held] = []
        self._prompts = Seen()
        self._at = UNKNOWN_TIME
        self._version: Version | None = None
        self._said_version: object = None
        self._steps: dict[str, Callable[[Record, Place], Iterator[Draft]]] = {
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
        place = Place(line.number, line.size, self._at, self._version)
        kind = text_of(record, "type")
        if record.get("isSidechain") is True and not self._is_child:
            yield from self._work.side(record, self._pairs, place, self._turn)
        elif kind in self._steps:
            yield from self._steps[kind](record, place)
        elif kind not in BOOKKEEPING:
            self._source.problems.once(line.number, f"records of unknown type {kind[:60]!r}; passed over")

    def open_run(self) -> RunSettled | None:
        """The run that has not come to rest at the end of the file, as it stands."""
        return self._turn_at(None, self._turn.last_at)

    @property
    def open_line(self) -> int | None:
        """Where the open run's last word or act stands."""
        return self._turn.line

    # --- prompts and rest ---------------------------------------------------------------

    def _user(self, record: Record, place: Place) -> Iterator[Draft]:
        said = user_text(record)
        for call in self._pairs.close(record, place.context):
            yield from self._work.finished(call, place, self._turn)
        if said.sort == "interrupt":
            yield from self._rest(place, "aborted", place.at)
            yield from self._release("prompt")
        elif answered(record):
            return
        elif command := tag(said.text, "bash-input") if said.sort == "nothing" else "":
            yield from self._work.typed(command, place, self._turn)
        elif said.sort in ("prompt", "command"):
            yield from self._hold(_Held(said, record, place))
        elif said.sort == "local":
            self._held = [held for held in self._held if held.said.sort == "prompt"]
        elif said.sort == "companion":
            self._held = [held._replace(said=held.said._replace(sort="prompt")) for held in self._held]
            if not self._interruptible():
                yield from self._release("prompt")

    def _hold(self, new: _Held) -> Iterator[Draft]:
        """A prompt opens a run at once, save where a later record still has to say what it is.

        A slash command may turn out local. And where a person stops the agent with prompts in the
        queue, these are written first, then what became of the call, then the interrupt.
        """
        self._held = [*(held for held in self._held if held.said.sort == "prompt"), new]
        if len(self._held) > HELD or (new.said.sort == "prompt" and not self._interruptible()):
            yield from self._release("prompt")

    def _interruptible(self) -> bool:
        """Whether the open run waits for a tool, so that it may still turn out interrupted."""
        return self._turn.opened is not None and any(self._pairs.unanswered())

    def _release(self, *sorts: str) -> Iterator[Draft]:
        """The held prompts of these sorts, each where it stands."""
        held, self._held = self._held, [one for one in self._held if one.said.sort not in sorts]
        for one in held:
            if one.said.sort in sorts:
                yield from self._prompt(one.said, one.record, one.place)

    def _prompt(self, said: UserText, record: Record, place: Place) -> Iterator[Draft]:
        """A prompt: the run before it comes to rest, and a new one opens.

        A prompt the agent did nothing about yet was no run: the two are answered together.
        """
        if self._turn.acted:
            yield from self._rest(place, None, self._turn.last_at)
        told = notification(said.text)
        origin: Origin = "child" if told and self._work.is_child(told) else said.origin
        if self._is_child and origin == "human":
            origin = "host"  # its parent's words
        run = text_of(record, "uuid") or f"line-{place.line}"
        # Hook feedback, and what a fork copies, stands under the id of another prompt.
        given = text_of(record, "promptId")
        prompt = given if given and origin != "advisor" and self._prompts.new(given) else run
        event = prompted(prompt, said.text, self._source.redactor, origin=origin)
        self._turn.open(Opened(run, prompt, place.line, _interactive(record)), said.text, place.at)
        yield self._draft(event, place, "prompt")
        if told:
            yield from self._work.notified(told, place, self._turn)

    def _draft(self, event: Event, place: Place, what: str) -> Draft:
        host_ref = f"{place.line}:{what}"
        return Draft(event, host_ref=host_ref, line=place.line, at=place.at, session=self._source.session)

    def _rest(self, place: Place, stop: Stop | None, now: datetime | None) -> Iterator[Draft]:
        """The open run, if there is one, comes to rest; a new one gathers from here."""
        settled = self._turn_at(stop, now)
        if settled is None:
            return
        line, self._turn = self._turn.line, Turn()
        self._pairs.tell()
        yield Draft(
            settled,
            host_ref=f"{place.line}:rest",
            line=line,
            at=now or place.at,
            session=self._source.session,
        )

    def _turn_at(self, stop: Stop | None, now: datetime | None) -> RunSettled | None:
        unanswered = self._work.unanswered(self._pairs.unanswered())
        return self._turn.settled(stop, now, self._work.out, unanswered, self._source.redactor)

    def _system(self, record: Record, place: Place) -> Iterator[Draft]:
        subtype = text_of(record, "subtype")
        if subtype == "local_command":
            self._held = [held for held in self._held if held.said.sort == "prompt"]
        # A hook that blocks writes its feedback, a prompt, before the mark of the stop it blocked.
        elif subtype in STOP_MARKS and self._turn.acted:
            yield from self._rest(place, None, place.at)
            yield from self._release("prompt")

    # --- what the agent does ------------------------------------------------------------

    def _assistant(self, record: Record, place: Place) -> Iterator[Draft]:
        message = mapping_of(record, "message")
        failed = record.get("isApiErrorMessage") is True
        if text_of(message, "model") == "<synthetic>" and not failed:
            return  # the program's own stand-in for an answer
        for block in blocks_of(record):
            text, is_call = text_of(block, "text"), block.get("type") == "tool_use"
            if not is_call and not (block.get("type") == "text" and text):
                continue
            yield from self._release("prompt", "command")
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

    # --- what came in the background ----------------------------------------------------

    def _attachment(self, record: Record, place: Place) -> Iterator[Draft]:
        """A queued message that reached the agent while it worked."""
        attached = mapping_of(record, "attachment")
        if attached.get("type") == "queued_command":
            text = joined_text(attached.get("prompt"))
            if told := notification(text):
                yield from self._work.notified(told, place, self._turn)
            elif self._queue.delivered(text):
                yield from self._heard(text, record, place)

    def _queued(self, record: Record, place: Place) -> Iterator[Draft]:
        if text := self._queue.step(record):
            yield from self._heard(text, record, place)

    def _heard(self, text: str, record: Record, place: Place) -> Iterator[Draft]:
        """A person spoke to the agent while it worked: a prompt, but the run goes on."""
        if self._turn.opened is not None:
            self._turn.heard("user", text)
            event = prompted(text_of(record, "uuid") or f"line-{place.line}", text, self._source.redactor)
            yield self._draft(event, place, "prompt")

    def _progress(self, record: Record, place: Place) -> Iterator[Draft]:
        return self._work.progress(record, self._pairs, place, self._turn)


def _interactive(record: Record) -> bool:
    return not text_of(record, "entrypoint").startswith("sdk")
