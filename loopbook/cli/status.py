"""Where a loop stands, for ``loop show``: one plain value for programs, and lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TypedDict

from loopbook.audit.shown import counted
from loopbook.cli.sayings import headed
from loopbook.events import Tier
from loopbook.limits import MAX_CONTINUATIONS
from loopbook.projections import BookState, children, findings, phases, todos
from loopbook.projections.verification import VerifyState

if TYPE_CHECKING:
    from loopbook.loop import Loop
    from loopbook.settlement import Advice


class PhaseStatus(TypedDict):
    """A phase machine's place."""

    current: str
    next: str
    missing: list[str]


class UnitStatus(TypedDict):
    """A unit, with its machine's place once there are two."""

    subject: str
    state: Literal["added", "started", "done", "dropped"]
    phase: PhaseStatus
    verify: VerifyState


class TodoStatus(TypedDict):
    """An open todo; ``loose``: it has no follow-up."""

    subject: str
    loose: bool


class ChildStatus(TypedDict):
    """A child that is out, since when (UTC), and what its host last said of it."""

    since: str
    unit: str | None
    state: Literal["out", "gone", "unknown"]


class FrictionStatus(TypedDict):
    """Something that got in the way, of a child where it was a child's."""

    text: str
    child: str | None


class NoticeStatus(TypedDict):
    """Advice that nobody has said to have handed to the agent."""

    seq: int
    advisor: str
    unit: str | None
    text: str
    continues: bool


class BudgetStatus(TypedDict):
    """How many runs were continued since the last human prompt, and how many may be (``None``: any
    number); ``bound``: that there are no more was said."""

    continued: int
    most: int | None
    bound: bool


class SpentStatus(TypedDict):
    """What the answers of judges have taken; of ``unpriced`` answers nobody told the cost."""

    answers: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int


class OriginStatus(TypedDict):
    """The loop that a fork goes on from, and the last of that loop's entries it has."""

    loop: str
    seq: int


class Status(TypedDict):
    """What ``loop show --json`` prints under ``loop``; ``seq`` is the last entry's. ``outcome`` is how it was
    closed (``None``: it is open); where it was, ``phase`` is what it would go on with if it were reopened."""

    id: str
    forked_from: OriginStatus | None
    seq: int
    kind: str
    intent: str
    anchor: str | None
    review_tier: Tier
    outcome: str | None
    session: str
    phase: PhaseStatus
    verify: VerifyState
    units: dict[str, UnitStatus]
    todos: dict[str, TodoStatus]
    children_out: list[str]
    children: dict[str, ChildStatus]
    children_lost: list[str]
    open_findings: list[str]
    friction: list[FrictionStatus]
    close_declared: bool
    undelivered: list[NoticeStatus]
    budget: BudgetStatus
    spent: SpentStatus


def status(
    loop: str,
    state: BookState,
    undelivered: Iterable[Advice] = (),
    most: int | None = MAX_CONTINUATIONS,
    forked_from: OriginStatus | None = None,
) -> Status:
    """Where the loop stands; ``most`` runs may be continued between two human prompts."""
    life, loose = state.life, todos.loose(state)
    return {
        "id": loop,
        "forked_from": forked_from,
        "seq": state.version,
        "kind": life.kind,
        "intent": life.intent,
        "anchor": life.anchor,
        "review_tier": life.review_tier,
        "outcome": life.outcome,
        "session": life.session,
        "phase": _phase(state, None),
        "verify": phases.verify_state(state),
        "units": {name: _unit(state, name) for name in state.units},
        "todos": {
            name: {"subject": todo.subject, "loose": name in loose} for name, todo in state.todos.items()
        },
        "children_out": list(children.out(state)),
        "children": {name: _child(state, name) for name in children.out(state)},
        "children_lost": list(state.children.lost),
        "open_findings": list(findings.open_ids(state.work.findings)),
        "friction": [{"text": line.text, "child": line.child} for line in state.notes.friction],
        "close_declared": life.declared > 0,
        "undelivered": [
            {
                "seq": one.seq,
                "advisor": one.advisor,
                "unit": one.unit,
                "text": one.text,
                "continues": one.continues,
            }
            for one in undelivered
        ],
        "budget": {
            "continued": state.runs.continuations,
            "most": most,
            "bound": state.runs.bound > 0,
        },
        "spent": _spent(state),
    }


def origin(loop: Loop) -> OriginStatus | None:
    """Where a fork goes on from; ``None`` for a loop that is none."""
    from loopbook.book.lineage import lineage

    *parents, _ = lineage(loop.book.records.rows, loop.stream)
    if not parents:
        return None
    return {"loop": parents[-1].stream.removeprefix("loop:"), "seq": parents[-1].last or 0}


def _child(state: BookState, name: str) -> ChildStatus:
    child = state.children.living[name]
    return {"since": f"{child.at:%Y-%m-%dT%H:%M:%SZ}", "unit": child.unit, "state": child.state}


def _spent(state: BookState) -> SpentStatus:
    spent = state.spent
    return {
        "answers": spent.answers,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_usd": spent.cost_usd,
        "unpriced": spent.unpriced,
    }


def _phase(state: BookState, unit: str | None) -> PhaseStatus:
    position = phases.position(state, unit)
    return {"current": position.current, "next": position.next, "missing": list(position.missing)}


def _unit(state: BookState, name: str) -> UnitStatus:
    unit = state.units[name]
    return {
        "subject": unit.subject,
        "state": "dropped"
        if unit.dropped
        else "done"
        if unit.ended
        else "started"
        if unit.started
        else "added",
        "phase": _phase(state, name),
        "verify": phases.verify_state(state, name),
    }


def lines(stands: Status) -> Iterator[str]:
    """The same for people, a fact a line, what is empty left out."""
    yield from _about(stands)
    for name, unit in stands["units"].items():
        place = (
            f", next: {_next(unit['phase'])}" if len(stands["units"]) > 1 and not stands["outcome"] else ""
        )
        yield f"unit {name}: {unit['subject']} ({unit['state']}{place})"
    for name, todo in stands["todos"].items():
        where = "no follow-up" if todo["loose"] else "followed up elsewhere"
        yield f"todo {name}: {todo['subject']} ({where})"
    for words, names in (
        ("children out", [f"{name} since {one['since']}" for name, one in stands["children"].items()]),
        ("children lost", stands["children_lost"]),
        ("open findings", stands["open_findings"]),
    ):
        if names:
            yield f"{words}: {', '.join(names)}"
    if stands["close_declared"]:
        yield "close: declared, to be judged when the next run settles"
    for notice in stands["undelivered"]:
        yield from headed(f"said at {notice['seq']}, not acknowledged: ", notice["text"])
    budget = stands["budget"]
    if budget["continued"]:
        most = "" if budget["most"] is None else f" of at most {budget['most']}"
        yield f"continued since the last human prompt: {budget['continued']}{most}"
    for friction in stands["friction"]:
        yield f"friction: {friction['child'] + ': ' if friction['child'] else ''}{friction['text']}"


def _about(stands: Status) -> Iterator[str]:
    """What it is, and what comes next or how it was closed."""
    closed = stands["outcome"]
    yield f"{stands['id']}: {stands['intent']}"
    if closed:
        yield f"closed: {closed.replace('_', ' ')}"
    yield f"kind: {stands['kind']}, {'' if closed else 'open, '}{counted(stands['seq'], 'entry', 'entries')}"
    if stands["anchor"]:
        yield f"from: {stands['anchor']}"
    if stands["forked_from"]:
        yield f"forked from: {stands['forked_from']['loop']}, after its entry {stands['forked_from']['seq']}"
    if not closed:
        yield f"next: {_next(stands['phase'])}"
    yield f"verify: {stands['verify']}"


def _next(phase: PhaseStatus) -> str:
    missing = f" ({'; '.join(phase['missing'])})" if phase["missing"] else ""
    return f"{phase['next'] or '-'}{missing}, after {phase['current']}"
