"""What the judge sees of a subject, in the order in which it weighs."""

from __future__ import annotations

from pydantic import JsonValue

from loopbook.advisors.asking import Packet
from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.advisors.second_thought.subjects import about, several
from loopbook.projections import BookState, position, verify_state
from loopbook.projections.state import LastEvidence

#: Grows with every change of what the judge sees, or where.
VERSION = "3"

#: How many units a close shows, the newest of them, and how much of the diff of each.
UNITS = 50
DIFF_HEAD = 200

#: What the one word kept of a piece of evidence is called.
_WORD = {"check": "outcome", "review": "tier"}


def packet(state: BookState, unit: str | None, *, closing: bool) -> Packet:
    """The request about a subject; ``closing``: its close was declared.

    Texts are cut where they are folded: 1,200 characters of the diff summary, 200 of each task,
    friction line and subject, the newest 20 of a kind. Of a unit its own alone; at the close of a loop
    with units, where each of them stands.
    """
    life, subject, now = state.life, about(state, unit), position(state, unit)
    first: dict[str, JsonValue] = (
        {"close_claim": life.claim or ""} if closing else {"last_evidence": _evidence(subject.evidence)}
    )
    parts = _units(state) if closing and several(state) else {}
    mine = {name: todo for name, todo in state.todos.items() if unit is None or todo.unit == unit}
    notes = state.notes if unit is None else state.units[unit].notes
    rest: dict[str, JsonValue] = {
        "phase": {"current": now.current, "next": now.next, "missing": list(now.missing)},
        "verify": verify_state(state, unit),
        "kind": life.kind,
        "intent": life.intent,
        "anchor": life.anchor,
        "diff_summary": subject.diff_summary,
        "open_todos": [{"id": name, "subject": todo.subject} for name, todo in mine.items()],
        "tasks": list(notes.tasks),
        "friction": [f"{line.child}: {line.text}" if line.child else line.text for line in notes.friction],
    }
    return Packet({**first, **parts, **rest}, QUESTIONS, unit, "close" if closing else "away")


def _units(state: BookState) -> dict[str, JsonValue]:
    """Where each unit stands: what the loop beside them has not is theirs."""
    return {"units": [_unit(state, name) for name in [*state.units][-UNITS:]]}


def _unit(state: BookState, name: str) -> dict[str, JsonValue]:
    unit, now = state.units[name], position(state, name)
    return {
        "id": name,
        "subject": unit.subject,
        "dropped": unit.dropped,
        "phase": {"current": now.current, "next": now.next, "missing": list(now.missing)},
        "verify": verify_state(state, name),
        "last_evidence": _evidence(unit.about.evidence),
        "diff_summary": unit.about.diff_summary[:DIFF_HEAD],
    }


def _evidence(last: LastEvidence | None) -> JsonValue:
    if last is None:
        return None
    return {"type": last.type, "unit": last.unit, _WORD.get(last.type, "summary"): last.word}
