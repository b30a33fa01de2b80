"""Builds the records of small sessions, in the shapes of the program's versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from loopbook.entry import Draft
from loopbook.events import Event, Prompted, RunSettled
from loopbook.transcripts import SessionReading, read_session

SESSION = "0d5f3a52-7f3b-4c55-9c1e-0a9f6f6f3b11"
START = datetime(2026, 2, 10, 12, 0, tzinfo=UTC)
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


class Session:
    """The lines of one session file. Each method adds a record and gives its 1-based line."""

    def __init__(self, version: str = "2.1.39", *, child: str | None = None) -> None:
        self.lines: list[str] = []
        self.version = version
        self.child = child
        self.moment = START

    def add(self, kind: str, **fields: object) -> int:
        """A record of any type, a second after the one before it."""
        number = len(self.lines) + 1
        self.moment += timedelta(seconds=1)
        record: dict[str, object] = {
            "type": kind,
            "uuid": f"{self.child or 'main'}-{number}",
            "parentUuid": f"{self.child or 'main'}-{number - 1}" if self.lines else None,
            "sessionId": SESSION,
            "timestamp": self.moment.isoformat().replace("+00:00", "Z"),
            "version": self.version,
            "cwd": "/home/dev/project",
            "isSidechain": self.child is not None,
            **({"agentId": self.child} if self.child else {}),
        }
        self.lines.append(json.dumps(record | fields))
        return number

    def user(self, content: object, **fields: object) -> int:
        """What a person typed, or what the program wrote in their name."""
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def blocks(self, *blocks: Mapping[str, object], message: str | None = None, **fields: object) -> int:
        """One assistant record."""
        stop = fields.pop("stop_reason", None)
        body = {
            "role": "assistant",
            "id": message or f"msg-{len(self.lines)}",
            "content": list(blocks),
            "stop_reason": stop,
        }
        return self.add("assistant", message=body | dict(fields.pop("body", {})), **fields)  # type: ignore[call-overload] # a mapping by the callers' word

    def says(self, text: str, *, message: str | None = None, **fields: object) -> int:
        """The agent says something."""
        return self.blocks({"type": "text", "text": text}, message=message, **fields)

    def calls(self, tool: str, ref: str, *, message: str | None = None, **given: object) -> int:
        """The agent calls a tool."""
        return self.blocks({"type": "tool_use", "id": ref, "name": tool, "input": given}, message=message)

    def answers(self, ref: str, text: object = "", *, error: bool | None = None, **fields: object) -> int:
        """A tool's result."""
        block: dict[str, object] = {"type": "tool_result", "tool_use_id": ref, "content": text}
        if error is not None:
            block["is_error"] = error
        return self.user([block], **fields)

    def runs(self, command: str, ref: str, output: str = "", code: int = 0) -> int:
        """A command and its result, as the versions from 2.0 on write it; the result's line."""
        self.calls("Bash", ref, command=command)
        if code:
            text = f"Exit code {code}\n{output}"
            return self.answers(ref, text, error=True, toolUseResult=f"Error: {text}")
        data = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        return self.answers(ref, output, error=False, toolUseResult=data)

    def stops(self) -> int:
        """The mark the versions from 2.1 on write after a stop."""
        return self.add("system", subtype="stop_hook_summary", hookCount=1, preventedContinuation=False)

    def interrupted(self) -> int:
        """The person pressed Esc."""
        return self.user([{"type": "text", "text": "[Request interrupted by user]"}])

    def raw(self, line: str) -> int:
        """A line that is no record."""
        self.lines.append(line)
        return len(self.lines)

    def data(self) -> bytes:
        """The file's bytes."""
        return "".join(line + "\n" for line in self.lines).encode("utf-8", "surrogatepass")

    def write(self, folder: Path, name: str = f"{SESSION}.jsonl") -> Path:
        """The file."""
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path


def read(session: Session, folder: Path) -> tuple[list[Draft], SessionReading]:
    """Everything a session gives."""
    reading = read_session(session.write(folder))
    return list(reading), reading


def types(drafts: list[Draft]) -> list[str]:
    """The type words of drafts."""
    return [draft.event.type for draft in drafts]


def prompts(drafts: list[Draft]) -> list[Prompted]:
    """The prompts among drafts."""
    return [draft.event for draft in drafts if isinstance(draft.event, Prompted)]


def settled(drafts: list[Draft]) -> list[RunSettled]:
    """The runs that came to rest among drafts."""
    return [draft.event for draft in drafts if isinstance(draft.event, RunSettled)]


def of(drafts: list[Draft], kind: type[Event]) -> list[Draft]:
    """The drafts of one event class."""
    return [draft for draft in drafts if isinstance(draft.event, kind)]
