"""Short books for tests: events in, entries or a state out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.kinds import Kind, parse
from loopbook.projections import EMPTY, BookState, fold

KINDS = Path(__file__).resolve().parents[2] / "specs" / "kinds"
START = datetime(2026, 1, 1, tzinfo=UTC)

#: An event, or an event with the unit its envelope names.
Item = e.Event | tuple[e.Event, str]


@cache
def kind_named(name: str) -> Kind:
    """A built-in kind."""
    return parse((KINDS / f"{name}.toml").read_text("utf-8"), f"{name}.toml")


def opened(kind: str = "change", *, tier: e.Tier = "light", intent: str = "Add a retry") -> e.LoopOpened:
    """The opening of a loop of a built-in kind."""
    definition = kind_named(kind).definition()
    return e.LoopOpened(kind=kind, intent=intent, review_tier=tier, definition=definition)


def entries(items: Iterable[Item], after: int = 0) -> list[Entry]:
    """Items as entries of one stream, a second apart."""
    made = []
    for seq, item in enumerate(items, after + 1):
        event, unit = item if isinstance(item, tuple) else (item, None)
        made.append(Entry("loop:t", seq, event, START + timedelta(seconds=seq), "s1", unit))
    return made


def book(*items: Item, kind: str = "change", tier: e.Tier = "light") -> BookState:
    """The state of a loop of ``kind`` in which ``items`` happened."""
    return fold(entries([opened(kind, tier=tier), *items]))


def on(state: BookState, *items: Item) -> BookState:
    """The state after more items."""
    return fold(entries(items, state.version), state)


def session(*items: Item) -> BookState:
    """The state of a book in which no loop was opened."""
    return fold(entries(items), EMPTY)


# --- evidence, as short as tests need it ----------------------------------------------------


def change(summary: str = "done", *, resolves: tuple[str, ...] = ()) -> e.Change:
    """A change."""
    return e.Change(summary=summary, paths=("a.py",), resolves=resolves)


def check(outcome: e.Outcome, command: str = "pytest", scope: e.Scope = "tests") -> e.Check:
    """A check that ended so."""
    return e.Check(command=command, outcome=outcome, scope=scope)


def passes(command: str = "pytest", scope: e.Scope = "tests") -> e.Check:
    """A check that passed."""
    return check("pass", command, scope)


def fails(command: str = "pytest", scope: e.Scope = "tests") -> e.Check:
    """A check that failed."""
    return check("fail", command, scope)


def review(*blockers: str, by: str = "r1", tier: str = "light", nits: tuple[str, ...] = ()) -> e.Review:
    """A review that names these blockers."""
    found = [e.Finding(id=name, severity="blocker", text="wrong") for name in blockers]
    found += [e.Finding(id=name, severity="nit", text="naming") for name in nits]
    return e.Review(tier="full" if tier == "full" else "light", reviewer=by, findings=tuple(found))
