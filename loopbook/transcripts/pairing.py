"""Tool calls and their results: paired by id, in any order, across records.

Theory. Calls are made in parallel and come back in any order; a result may come after its run
has ended, or never. So a call waits here, by its id, until its result is read. What waits is
bounded: a file that opens calls without end loses the oldest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from loopbook.evidence.calls import ToolCall
from loopbook.evidence.shapes import arguments, text_of
from loopbook.evidence.tool_table import kind_of
from loopbook.transcripts.records import Record, answered
from loopbook.transcripts.results import Context, result_of

HOST = "claude-code"

#: Bounds: calls that wait for a result, and ids or lines remembered to know them again.
WAITING = 1_000
REMEMBERED = 100_000


class Seen:
    """The newest ``REMEMBERED`` keys: enough to know a copied block again, bounded in any file.

    >>> seen = Seen(2)
    >>> seen.new("a"), seen.new("a"), seen.new("b"), seen.new("c"), seen.new("a")
    (True, False, True, True, True)
    """

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._keys: set[str] = set()
        self._order: deque[str] = deque()

    def new(self, key: str) -> bool:
        """Whether the key was not seen before; it is now."""
        if key in self._keys:
            return False
        self._keys.add(key)
        self._order.append(key)
        if len(self._order) > self._limit:
            self._keys.discard(self._order.popleft())
        return True


class _Waiting(NamedTuple):
    call: ToolCall
    told: bool = False  # its run has ended without it


class Pairs:
    """The calls of one conversation; ``by`` is the sub-agent whose conversation it is."""

    def __init__(self, by: str | None = None) -> None:
        self.by = by
        self._waiting: dict[str, _Waiting] = {}
        self._seen = Seen()

    def open(self, block: Mapping[str, object], cwd: str | None, line: int) -> None:
        """A tool was called."""
        given = text_of(block, "id") or f"line-{line}"
        # Some gateways count their ids anew in each answer; a book needs them apart.
        ref = given if self._seen.new(given) else f"{given}@{line}"
        tool = text_of(block, "name") or "unknown"
        kind = kind_of(HOST, tool)
        call = ToolCall(ref, tool, kind, arguments(block.get("input")), by=self.by, cwd=cwd, line=line)
        self._waiting.pop(given, None)
        self._waiting[given] = _Waiting(call)
        if len(self._waiting) > WAITING:
            del self._waiting[next(iter(self._waiting))]

    def close(self, record: Record, context: Context) -> Iterator[ToolCall]:
        """The calls that this record answers; a second answer to a call is no news."""
        blocks = answered(record)
        for block in blocks:
            waiting = self._waiting.pop(text_of(block, "tool_use_id"), None)
            if waiting is None:
                continue
            call = waiting.call
            # The structured result stands beside the message and belongs to its only block.
            whole = record if len(blocks) == 1 else {**record, "toolUseResult": None}
            came = result_of(call.kind, call.input, block, whole, context)
            yield call._replace(result=came.result, child=came.child, task=came.task)

    def asked(self, prompt: str) -> str | None:
        """The call that sends out a child with these words, if one is waiting."""
        for waiting in self._waiting.values():
            call = waiting.call
            if call.kind == "agent" and prompt and text_of(call.input, "prompt") == prompt:
                return call.ref
        return None

    def unanswered(self) -> Iterator[ToolCall]:
        """The calls still waiting that no run was told of yet."""
        return (waiting.call for waiting in self._waiting.values() if not waiting.told)

    def tell(self) -> None:
        """A run has ended: what still waits was told of, though a late result is still taken."""
        for given, waiting in self._waiting.items():
            self._waiting[given] = waiting._replace(told=True)
