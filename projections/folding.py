"""A fold under way: what a state is made of, moved by one entry after another.

Theory. A state is a value, an event moves one or two of its slices, and to make a whole state for each
event of a long book costs more than most events do. So a fold moves slices in place, and a state is
made when it is asked for. What the slices hold are values still: none is ever changed, so that nobody
who has a state, or had one before, sees it move. The one slice that every piece of evidence moves, the
book's machine, is in pieces itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopbook.projections.state import (
    BookState,
    Checks,
    Children,
    Life,
    Notes,
    OpenFinding,
    Runs,
    Spent,
    Subject,
    Todo,
    Unit,
    Work,
)


class Machine:
    """A phase machine under way: what ``Work`` is made of, by the names there."""

    __slots__ = ("checks", "clean", "findings", "full", "last", "matches", "phase", "since")

    phase: int
    since: int
    last: dict[str, int]
    matches: list[int]
    full: int
    clean: int
    findings: tuple[OpenFinding, ...]
    checks: Checks

    def __init__(self, work: Work) -> None:
        self.phase, self.since, last, matches, self.full, self.clean, self.findings, self.checks = work
        self.last, self.matches = {**last}, [*matches]

    def work(self) -> Work:
        """What it has come to."""
        last, matches = {**self.last}, tuple(self.matches)
        return Work(self.phase, self.since, last, matches, self.full, self.clean, self.findings, self.checks)


class Folding:
    """A state under way: what ``BookState`` is made of, by the names there. For one thread."""

    __slots__ = (
        "children", "life", "loop", "notes", "runs", "spent", "todos", "units", "units_added", "version",
        "work",
    )  # fmt: skip

    version: int
    life: Life
    work: Machine
    loop: Subject
    units: Mapping[str, Unit]
    units_added: int
    todos: Mapping[str, Todo]
    children: Children
    notes: Notes
    runs: Runs
    spent: Spent

    def __init__(self, state: BookState) -> None:
        (
            self.version, self.life, work, self.loop, self.units, self.units_added, self.todos,
            self.children, self.notes, self.runs, self.spent,
        ) = state  # fmt: skip
        self.work = Machine(work)

    def state(self) -> BookState:
        """What it has come to."""
        return BookState(
            self.version, self.life, self.work.work(), self.loop, self.units, self.units_added, self.todos,
            self.children, self.notes, self.runs, self.spent,
        )  # fmt: skip
