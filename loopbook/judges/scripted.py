"""A judge that says what it was told to say: for tests, scenarios and demonstrations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from loopbook.judges import Answer, Failure, Packet, answer_from

Line = Mapping[str, object] | Failure


class Scripted:
    """Says its lines one after another, and the last one for ever; notes every packet in ``asked``.

    A line is bare answers by question (``{"move": "advance", "done": 0.2}``) or a ``Failure``.
    ``thinking`` is awaited before each answer: what happens while the judge thinks.

    >>> import anyio
    >>> judge = Scripted([Failure("timeout")])
    >>> anyio.run(judge.ask, Packet({}, {}), 1.0)
    Failure(kind='timeout', detail='', took=None)
    """

    def __init__(
        self, lines: Iterable[Line], thinking: Callable[[Packet], Awaitable[None]] | None = None
    ) -> None:
        self._lines = list(lines)
        if not self._lines:
            raise ValueError("a script needs a line; nothing was asked; give it one")
        self._thinking = thinking
        self.asked: list[Packet] = []

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
        """Say the next line."""
        self.asked.append(packet)
        if self._thinking is not None:
            await self._thinking(packet)
        line = self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]
        return line if isinstance(line, Failure) else answer_from(packet.questions, line)
