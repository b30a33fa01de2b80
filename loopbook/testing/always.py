"""What must always hold of a book, looked for in its entries.

Theory. Whoever wrote a book, in however many sessions and processes, and however they died: its
entries alone show whether somebody repeated himself, spoke where he had to be quiet, or went on too
often. ``Always`` looks at them one by one, oldest first, and tells what must not be. What was said
before it keeps by itself, so that it does not believe the state that the advisors read; only the
children and what the host said of them it takes from the fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from loopbook.advisors.second_thought import child_of
from loopbook.entry import Entry
from loopbook.events import (
    ChildLinked,
    CloseDeclared,
    Judged,
    LoopClosed,
    Noticed,
    PassedOver,
    Prompted,
    RunSettled,
    UnitAdded,
)
from loopbook.limits import MAX_CONTINUATIONS, SUBAGENT_TOOLS, WAITING_TOOLS
from loopbook.projections import EMPTY, BookState, children, evolve, position
from loopbook.run import Call

#: Advisors that do not even ask where they must be quiet, and leave a sub-agent's run to whoever sent it out.
ASK_NOBODY = frozenset({"second-thought", "follow-through"})


class Always:
    """Entries looked at one after another. ``state`` is what they have come to.

    ``max_continuations``: how many runs may go on between two human prompts (``None``: any number);
    ``waiting_tools`` and ``subagent_tools`` as in ``SecondThought``; ``beside`` are the advisors whose
    notes only the user sees, which take nobody's turn.
    """

    def __init__(
        self,
        max_continuations: int | None = MAX_CONTINUATIONS,
        waiting_tools: frozenset[str] = WAITING_TOOLS,
        subagent_tools: Mapping[str, str] = SUBAGENT_TOOLS,
        beside: frozenset[str] = frozenset(),
    ) -> None:
        self.state: BookState = EMPTY
        self._most = max_continuations
        self._waiting_tools = waiting_tools
        self._subagent_tools = subagent_tools
        self._units: list[str] = []
        self._linked: set[str] = set()
        self._runs: dict[str, RunSettled] = {}
        self._newest_run: str | None = None
        self._judged: dict[int, tuple[Judged, str | None]] = {}
        self._last_said: dict[tuple[str, str | None, str], str] = {}
        self._rested_on: set[int] = set()
        self._beside = beside
        self._spoke: dict[str, str] = {}
        self._continued: set[tuple[str, int]] = set()
        self._continuations = 0
        self._objects: set[str] = set()

    def look(self, entry: Entry) -> tuple[str, ...]:
        """What one more entry shows that must not be; nothing, mostly.

        Raises ``VersionGap`` where it does not follow the one before.
        """
        told = tuple(f"seq {entry.seq}: {what}" for what in self._wrong(entry))
        self.state = evolve(self.state, entry)
        self._note(entry)
        return told

    def _note(self, entry: Entry) -> None:
        match entry.event:
            case UnitAdded(unit=unit) if unit not in self._units:
                self._units.append(unit)
                if len(self._units) == 2:
                    self._first_takes_over()
            case ChildLinked(child=child):
                self._linked.add(child)
            case Prompted(origin=origin):
                self._newest_run = None
                self._continuations = 0 if origin == "human" else self._continuations
            case RunSettled(run=run) as event:
                self._runs[run], self._newest_run = event, run
            case CloseDeclared():
                self._objects.clear()
            case Judged() as event:
                self._judged[entry.seq] = event, entry.unit
                if event.sort == "close":
                    self._objects.discard(event.advisor)
            case PassedOver(advisor=advisor, reason="duplicate"):
                before, _ = self._judged.get(entry.seq - 1, (None, None))
                if before is not None and before.sort == "close":
                    self._objects.add(advisor)
            case Noticed() as event:
                self._note_notice(event, entry.unit)

    def _first_takes_over(self) -> None:
        """Once there are two units, what was said of the loop was said of the first."""
        of_loop = [(at, key) for at, key in self._last_said.items() if at[1] is None]
        self._last_said |= {(advisor, self._units[0], sort): key for (advisor, _, sort), key in of_loop}

    def _note_notice(self, event: Noticed, unit: str | None) -> None:
        self._last_said[event.advisor, self._subject(unit), event.sort] = event.key
        if event.sort == "close" and event.judged is not None:
            self._objects.add(event.advisor)  # on facts alone it holds while the facts do
        if event.judged is not None:
            self._rested_on.add(event.judged)
        if event.run is not None and event.advisor not in self._beside:
            self._spoke[event.run] = event.advisor
        if event.continues:
            self._continued.add((event.key, event.trigger))
            self._continuations += 1

    def _subject(self, unit: str | None) -> str | None:
        return unit if len(self._units) > 1 and unit in self._units else None

    # --- what must not be ------------------------------------------------------------------

    def _wrong(self, entry: Entry) -> Iterator[str]:
        event = entry.event
        if isinstance(event, Judged):
            if event.read_to != entry.seq - 1:
                yield f"a judgment that has read up to {event.read_to} and not to the entry before it"
            if event.advisor in ASK_NOBODY:
                yield from (f"judged although {why}" for why in self._quiet(event, entry.unit))
        elif isinstance(event, Noticed):
            yield from (f"spoke although {why}" for why in self._quiet(event, entry.unit))
            for name in event.units:
                if out := children.out(self.state, name):
                    yield f"named unit {name!r} although its child {out[0]!r} is out"
            yield from self._twice(event, entry)
            yield from self._on_and_on(event)
        elif isinstance(event, LoopClosed) and event.outcome == "met":
            yield from (f"closed though {name} objects" for name in sorted(self._objects))
            yield from (f"closed though it lacks: {what}" for what in position(self.state).missing)

    def _quiet(self, event: Judged | Noticed, unit: str | None) -> Iterator[str]:
        """Why nobody may speak, or ask, about this subject now."""
        if self.state.life.outcome is not None:
            yield "the loop is closed"
        subject = self._subject(unit)
        for name in children.out(self.state):
            of = self._subject(self.state.children.living[name].unit)
            if event.sort == "close" or of in (None, subject):
                yield f"child {name!r} is out"
        if event.run is None:
            return  # a close is judged inside its run
        run = self._runs.get(event.run)
        if run is None or event.run != self._newest_run:
            yield f"run {event.run!r} is not the newest"
        elif run.stop in ("error", "aborted"):
            yield f"run {event.run!r} ended with {run.stop}"
        elif event.advisor in ASK_NOBODY and run.observed.subagent:
            yield f"run {event.run!r} is a sub-agent's"
        elif any(map(self._waits, run.calls)):
            yield f"run {event.run!r} waits"

    def _waits(self, call: Call) -> bool:
        if call.tool in self._waiting_tools:
            return True
        if call.tool not in self._subagent_tools:
            return False
        return child_of(call, self._subagent_tools[call.tool]) not in self._linked

    def _twice(self, event: Noticed, entry: Entry) -> Iterator[str]:
        subject = self._subject(entry.unit)
        if self._last_said.get((event.advisor, subject, event.sort)) == event.key:
            yield f"{event.advisor} says {event.key!r} twice in a row of {subject or 'the loop'}"
        if event.run in self._spoke and event.advisor not in self._beside:
            yield f"{event.advisor} speaks on run {event.run!r} after {self._spoke[event.run]}"
        if event.judged is None:
            return
        if event.judged in self._rested_on:
            yield f"the second notice on the judgment {event.judged}"
        judged, unit = self._judged.get(event.judged, (None, None))
        if judged is None or event.judged != entry.seq - 1:
            yield f"a notice that rests on {event.judged}, which is not the judgment before it"
        elif (judged.advisor, judged.run, unit) != (event.advisor, event.run, entry.unit):
            yield f"a notice that rests on somebody else's judgment {event.judged}"

    def _on_and_on(self, event: Noticed) -> Iterator[str]:
        if not event.continues:
            return
        if event.sort == "close":
            yield "a close lets the run go on"
        if (event.key, event.trigger) in self._continued:
            yield f"{event.key!r} on {event.trigger} lets a run go on for the second time"
        if self._most is not None and self._continuations >= self._most:
            yield f"run {self._continuations + 1} goes on since the last human prompt, of {self._most}"


def broken(entries: Iterable[Entry], always: Always | None = None) -> list[str]:
    """Everything in a book that must not be, in order.

    >>> from loopbook.books import Books
    >>> broken(Books.open("memory:").start("chore", "Tidy up").entries())
    []
    """
    watch = always or Always()
    return [told for entry in entries for told in watch.look(entry)]
