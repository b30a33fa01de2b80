"""Tool calls and their results: paired by id, in any order, across records.

Theory. Calls are made in parallel and come back in any order; a result may come after its run
has ended, or never. So a call waits here, by its id, until its result is read. What waits is
bounded in number and bytes: a file that opens calls without end loses the oldest.
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

#: Bounds: calls that wait for a result, the bytes of their lines, ids remembered to know them again.
WAITING = 1_000
WAITING_BYTES = 32 * 1024 * 1024
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

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def new(self, key: str) -> bool:
        """Whether the key was not seen before; it is now."""
        if key in self._keys:
            return False
        self._keys.add(key)
        self._order.append(key)
        if len(self._order) > self._limit:
            self._keys.discard(self._order.popleft())
        return True


class Asked(NamedTuple):
    """Where a call stands: its line, that line's bytes, and the folder it is made in."""

    line: int
    size: int
    cwd: str | None


class _Waiting(NamedTuple):
    call: ToolCall
    size: int
    told: bool = False  # its run has ended without it


class Pairs:
    """The calls of one conversation; ``by`` is the sub-agent whose conversation it is."""

    def __init__(
        self, by: str | None = None, *, most_bytes: int = WAITING_BYTES, remembered: int = REMEMBERED
    ) -> None:
        self._by = by
        self._most_bytes = most_bytes
        self._bytes = 0
        self._waiting: dict[str, _Waiting] = {}
        self._seen = Seen(remembered)

    def open(self, block: Mapping[str, object], asked: Asked) -> None:
        """A tool was called."""
        line = asked.line
        given = text_of(block, "id") or f"line-{line}"
        # Some gateways count their ids anew in each answer; a book needs them apart.
        ref = given if self._seen.new(given) else f"{given}@{line}"
        tool = text_of(block, "name") or "unknown"
        kind = kind_of(HOST, tool)
        call = ToolCall(ref, tool, kind, arguments(block.get("input")), by=self._by, cwd=asked.cwd, line=line)
        self._drop(given)
        self._waiting[given] = _Waiting(call, asked.size)
        self._bytes += asked.size
        while len(self._waiting) > WAITING or (self._bytes > self._most_bytes and len(self._waiting) > 1):
            self._drop(next(iter(self._waiting)))

    def _drop(self, given: str) -> ToolCall | None:
        waiting = self._waiting.pop(given, None)
        if waiting is None:
            return None
        self._bytes -= waiting.size
        return waiting.call

    def close(self, record: Record, context: Context) -> Iterator[ToolCall]:
        """The calls that this record answers; a second answer to a call is no news."""
        blocks = answered(record)
        for block in blocks:
            call = self._drop(text_of(block, "tool_use_id"))
            if call is None:
                continue
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
