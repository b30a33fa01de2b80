"""The run that is going on: what was said and called in it since the last one came to rest.

Theory. A run opens with a prompt, or with an agent that goes on unasked after it had stopped.
It comes to rest at a stop mark, an interrupt or the next prompt, never earlier: what stands at
the end of a file may go on tomorrow. Everything here is bounded by ``loopbook.run``'s numbers.

The *final text* is what the agent said after its last tool call: the texts of one message. A run
whose last act is a call has none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from loopbook.events import RunSettled
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.runs import settle
from loopbook.evidence.text import head, head_tail
from loopbook.run import CALLS, LINES, LINES_CHARS, PROMPT_CHARS, Call, ChildState, Line, Observed, Stop


class Opened(NamedTuple):
    """How a run began: its id, the prompt's if there was one, and where."""

    run: str
    prompt: str | None
    line: int
    interactive: bool


class Turn:
    """One run, from one rest to the next. Before ``open`` it only gathers late results."""

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self.acted = False
        self.stop: Stop = "end"
        self.last_line: int | None = None
        self.last_at: datetime | None = None
        self._lines: deque[Line] = deque(maxlen=LINES)
        self._calls: deque[Call] = deque(maxlen=CALLS)
        self._calls_total = 0
        self._final: list[str] = []
        self._final_message: object = None
        self._final_line: int | None = None

    def open(self, opened: Opened, text: str, at: datetime) -> None:
        """The run begins; ``text`` is the prompt's, or "" where there was none."""
        self.opened = opened
        self.last_line, self.last_at = opened.line, at
        if text:
            self.heard("user", text)

    def heard(self, role: str, text: str) -> None:
        """Somebody else than the agent said something: the user, or the program."""
        self._lines.append(Line(role="user" if role == "user" else "system", text=head(text, PROMPT_CHARS)))

    def said(self, text: str, message: object, line: int, at: datetime) -> None:
        """The agent said something; ``message`` is the id its blocks have in common."""
        self._act(line, at)
        self._lines.append(Line(role="assistant", text=head_tail(text, LINES_CHARS)))
        if message != self._final_message or message is None:
            self._final = []
        self._final.append(text)
        self._final_message, self._final_line = message, line

    def asked_tool(self, line: int, at: datetime) -> None:
        """The agent called a tool: what it said before is not its last word."""
        self._act(line, at)
        self._final, self._final_message, self._final_line = [], None, None

    def called(self, call: Call | None) -> None:
        """A call came back, or will not."""
        if call is not None:
            self._calls.append(call)
            self._calls_total += 1

    def _act(self, line: int, at: datetime) -> None:
        self.acted = True
        self.last_line, self.last_at = line, at

    @property
    def line(self) -> int | None:
        """Where the run's last word stands, or its last act."""
        return self._final_line or self.last_line

    def settled(
        self,
        stop: Stop | None,
        now: datetime | None,
        out: Iterable[str],
        extra: Iterable[Call],
        redactor: Redactor,
    ) -> RunSettled | None:
        """The run as it would be recorded at rest; ``None`` where none is open.

        ``stop`` overrides what the agent's last message said of it; ``out`` are the children
        that have not come back, ``extra`` the calls that were never answered.
        """
        if self.opened is None:
            return None
        unanswered = list(extra)
        return settle(
            [*self._calls, *unanswered],
            list(self._lines),
            redactor,
            run=self.opened.run,
            prompt=self.opened.prompt,
            final_text="\n\n".join(self._final),
            calls_total=self._calls_total + len(unanswered),
            stop=stop or self.stop,
            interactive=self.opened.interactive,
            observed=Observed(now=now, children={child: ChildState(state="out") for child in out}),
        )
