"""Sub-agents whose records stand in the session's own file, as versions up to 2.0 wrote them.

Theory. Such a record says that it is a side chain and hangs on the one before it by its
``parentUuid``; the first of a chain repeats the prompt the child was sent out with. That prompt
tells which call sent it, and so its name: the child's own id where the record has one, else the
id of that call, which is also what the child's link and report are named by. Its calls are taken
where they stand, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopbook.evidence.calls import ToolCall
from loopbook.evidence.shapes import text_of
from loopbook.transcripts.pairing import Asked, Pairs, Seen
from loopbook.transcripts.records import Record, blocks_of, content_of, joined_text
from loopbook.transcripts.results import Context

#: Bounds: chains that are followed, the bytes of calls that wait and the ids known in each, names remembered.
CHAINS = 50
CHAIN_BYTES = 2 * 1024 * 1024
CHAIN_IDS = 1_000
NAMES = 20_000
#: A summariser's records are no child's.
_NO_CHILD = "acompact"


class Sidechains:
    """The children whose records were seen in this file; ``name in sidechains`` tells."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._chains: dict[str, Pairs] = {}
        self._read = Seen(NAMES)

    def __contains__(self, name: str) -> bool:
        return name in self._read

    def step(self, record: Record, size: int, parents: Pairs, context: Context) -> Iterator[ToolCall]:
        """The calls of a child that this record finishes. ``parents`` are the calls that send children."""
        name = self._name(record, parents)
        if name.startswith(_NO_CHILD):
            return
        if record.get("type") == "assistant":
            for block in blocks_of(record):
                if block.get("type") == "tool_use":
                    asked = Asked(context.line, size, text_of(record, "cwd") or None)
                    self._chain(name).open(block, asked)
        elif record.get("type") == "user" and name in self._chains:
            yield from self._chain(name).close(record, context)

    def _name(self, record: Record, parents: Pairs) -> str:
        uuid, parent = text_of(record, "uuid"), text_of(record, "parentUuid")
        name = text_of(record, "agentId") or self._names.get(parent)
        if not name:
            name = parents.asked(joined_text(content_of(record))) or uuid or "unknown"
        self._names[uuid] = name
        if len(self._names) > NAMES:
            del self._names[next(iter(self._names))]
        return name

    def _chain(self, name: str) -> Pairs:
        if name not in self._chains:
            self._read.new(name)
            self._chains[name] = Pairs(by=name, most_bytes=CHAIN_BYTES, remembered=CHAIN_IDS)
            if len(self._chains) > CHAINS:
                del self._chains[next(iter(self._chains))]
        return self._chains[name]
