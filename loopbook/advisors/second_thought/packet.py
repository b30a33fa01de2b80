"""What the judge sees of a subject, in the order in which it weighs."""

from __future__ import annotations

from pydantic import JsonValue

from loopbook.advisors.asking import Packet
from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.advisors.second_thought.subjects import about
from loopbook.projections import BookState, position, verify_state
from loopbook.projections.state import LastEvidence

#: Grows with every change of what the judge sees, or where.
VERSION = "1"

#: What the one word kept of a piece of evidence is called.
_WORD = {"check": "outcome", "review": "tier"}


def packet(state: BookState, unit: str | None, *, closing: bool) -> Packet:
    """The request about a subject; ``closing``: its close was declared.

    Texts are cut where they are folded: 1,200 characters of the diff summary, 200 of each task,
    friction line and subject, the newest 20 of a kind.
    """
    life, subject, now = state.life, about(state, unit), position(state, unit)
    first: dict[str, JsonValue] = (
        {"close_claim": life.claim or ""} if closing else {"last_evidence": _evidence(subject.evidence)}
    )
    rest: dict[str, JsonValue] = {
        "phase": {"current": now.current, "next": now.next, "missing": list(now.missing)},
        "verify": verify_state(state, unit),
        "kind": life.kind,
        "intent": life.intent,
        "anchor": life.anchor,
        "diff_summary": subject.diff_summary,
        "open_todos": [{"id": name, "subject": todo.subject} for name, todo in state.todos.items()],
        "tasks": list(state.notes.tasks),
        "friction": [
            f"{line.child}: {line.text}" if line.child else line.text for line in state.notes.friction
        ],
    }
    return Packet({**first, **rest}, QUESTIONS, unit, "close" if closing else "away")


def _evidence(last: LastEvidence | None) -> JsonValue:
    if last is None:
        return None
    return {"type": last.type, "unit": last.unit, _WORD.get(last.type, "summary"): last.word}
