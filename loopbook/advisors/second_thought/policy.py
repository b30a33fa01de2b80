"""When second thought asks, and what comes of the answer: the rules, in their order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from pydantic import JsonValue

from loopbook import __version__
from loopbook.advisors.asking import Answer, Chosen, Failure, Likely, Packet, Scored
from loopbook.advisors.second_thought import packet as packets
from loopbook.advisors.second_thought import questions, subjects, words
from loopbook.advisors.shape import AskPacket, Decision, Gate, PassOver, Policy, Say, Scene, Silence
from loopbook.events import RunSettled
from loopbook.limits import SUBAGENT_TOOLS, WAITING_TOOLS, Thresholds
from loopbook.projections import BookState, Position, children, findings, phases, position, todos
from loopbook.run import Call

#: Grows with every change of the rules below, of their defaults, of ``subjects`` and of ``words``.
VERSION = "1"


@dataclass(frozen=True)
class SecondThought:
    """The phase advisor. Tools are named as the host's calls name them.

    >>> from loopbook.projections import EMPTY
    >>> SecondThought().gate(EMPTY, Scene(RunSettled(run="r1"))).reason
    'no-loop'
    """

    waiting_tools: frozenset[str] = WAITING_TOOLS
    subagent_tools: Mapping[str, str] = field(default_factory=lambda: SUBAGENT_TOOLS)
    thresholds: Thresholds = field(default_factory=Thresholds)
    name: str = "second-thought"
    takes_turn: bool = True

    def policy(self) -> Policy:
        """What it decides by, as it is kept; tools are a setting where they are not the usual ones."""
        versions = {
            "policy": VERSION,
            "state": packets.VERSION,
            "questions": questions.VERSION,
            "code": __version__,
        }
        settings: dict[str, JsonValue] = {}
        if self.waiting_tools != WAITING_TOOLS:
            settings["waiting_tools"] = [*sorted(self.waiting_tools)]
        if self.subagent_tools != SUBAGENT_TOOLS:
            settings["subagent_tools"] = {**self.subagent_tools}
        if not self.takes_turn:
            settings["takes_turn"] = False
        return Policy(self.thresholds._asdict(), versions, settings)

    @classmethod
    def under(cls, policy: Policy) -> SecondThought:
        """The advisor that decides by what was kept.

        >>> strict = SecondThought(frozenset({"wait"}), thresholds=Thresholds(done=0.9))
        >>> SecondThought.under(strict.policy()) == strict
        True
        """
        usual, settings = Thresholds()._asdict(), policy.settings
        waiting, subagents = settings.get("waiting_tools"), settings.get("subagent_tools")
        return cls(
            waiting_tools=frozenset(map(str, waiting)) if isinstance(waiting, list) else WAITING_TOOLS,
            subagent_tools={name: str(field) for name, field in subagents.items()}
            if isinstance(subagents, dict)
            else SUBAGENT_TOOLS,
            thresholds=Thresholds(**{name: policy.thresholds.get(name, one) for name, one in usual.items()}),
            takes_turn=settings.get("takes_turn") is not False,
        )

    # --- whether to ask ------------------------------------------------------------------

    def gate(self, state: BookState, scene: Scene) -> Gate:
        """The first rule that holds; else what to ask."""
        run = scene.run
        if not state.life.opened or state.life.outcome is not None:
            return PassOver("no-loop", written=False)
        if run is not None and run.observed.subagent:
            return PassOver("subagent", written=False)
        if not scene.judge:
            return PassOver("no-judge", written=False)
        if run is not None:
            if run.stop in ("error", "aborted"):
                return PassOver("failed-run", run.stop)
            if tool := self._waits(state, run):
                return PassOver("waiting", tool)
        if state.life.declared:
            out = children.out(state)
            return PassOver("child-out", out[0]) if out else self._ask(state, None, closing=True)
        return self._subject(state)

    def _waits(self, state: BookState, run: RunSettled) -> str | None:
        """The tool because of which the run waits: one that waits, or sent out a child that the book
        has not linked."""
        for call in run.calls:
            if call.tool in self.waiting_tools:
                return call.tool
            if call.tool in self.subagent_tools:
                child = child_of(call, self.subagent_tools[call.tool])
                if child is None or not children.linked_before(state, child):
                    return call.tool
        return None

    def _subject(self, state: BookState) -> Gate:
        if out := subjects.children_of_loop(state):
            return PassOver("child-out", out[0])
        if not subjects.several(state):
            if subjects.loop_has_news(state, self.name):
                return self._ask(state, None)
            return PassOver("nothing-new")
        if waiting := subjects.waiting(state, self.name):
            return self._ask(state, waiting[0])
        if subjects.loop_has_news(state, self.name):
            return self._ask(state, None)
        for unit in subjects.unread(state, self.name):
            return PassOver("child-out", children.out(state, unit)[0], unit)
        return PassOver("not-waiting-unit")

    def _ask(self, state: BookState, unit: str | None, *, closing: bool = False) -> Gate:
        return AskPacket(packets.packet(state, unit, closing=closing))

    # --- what comes of the answer --------------------------------------------------------

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        """Speak, or be silent with a reason; a failed answer changes nothing."""
        unit = packet.unit if packet else None
        if packet is None or answer is None:
            return Decision(Silence("judge-failed", "nobody was asked", unit), judged=False)
        if isinstance(answer, Failure):
            return Decision(Silence("judge-failed", answer.kind, unit), judged=False)
        move = answer.values.get("move")
        if not isinstance(move, Chosen):
            why = answer.lost.get("move", "no answer")
            return Decision(Silence("judge-failed", f"move: {why}", unit), judged=False)
        closing = packet.sort == "close"
        concerns = self._concerns(state, unit, move.choice, answer, closing=closing)
        if closing:
            return Decision(self._at_close(state, move.choice, concerns))
        return Decision(self._away(state, unit, move.choice, concerns))

    def _concerns(
        self, state: BookState, unit: str | None, move: str, answer: Answer, *, closing: bool
    ) -> tuple[str, ...]:
        """The ids of what stands against going on, in the order in which they are said."""
        done, quality = answer.values.get("done"), answer.values.get("quality")
        tier = answer.values.get("review_tier")
        named = ["back"] if move == "back" else ["ask-user"] if move == "ask_user" else []
        if closing and isinstance(done, Likely) and done.noul < self.thresholds.done:
            named.append("not-done")
        if isinstance(tier, Chosen) and _review_needed(state, unit, tier.choice):
            named.append(f"review-tier:{tier.choice}")
        if isinstance(quality, Scored) and quality.score < self.thresholds.quality:
            named.append("quality")
        return tuple(named)

    def _at_close(self, state: BookState, move: str, concerns: tuple[str, ...]) -> Say | Silence:
        """Concerns only."""
        now = position(state)
        if not concerns:
            return Silence("agrees", closes=not now.missing)
        return Say(
            text=words.together(words.concern(name, now) for name in concerns),
            key=_key(now, move, concerns, (), _fixing(state, None, now)),
            trigger=state.life.declared,
            concerns=concerns,
            sort="close",
        )

    def _away(
        self, state: BookState, unit: str | None, move: str, concerns: tuple[str, ...]
    ) -> Say | Silence:
        now, loose = position(state, unit), todos.loose(state)
        continues = (move == "advance" and _continues(state, now.next)) or (
            bool(loose) and move != "ask_user"
        )
        if not (concerns or loose or continues):
            return Silence("agrees", unit=unit)
        others = tuple(name for name in subjects.waiting(state, self.name) if name != unit)
        lines = [words.next_line(now, unit), *(words.concern(name, now) for name in concerns)]
        lines += [words.next_line(position(state, other), other) for other in others]
        lines += words.todo_lines(loose, ask_user=move == "ask_user")
        return Say(
            text=words.together(lines),
            key=_key(now, move, concerns, tuple(loose), _fixing(state, unit, now)),
            trigger=subjects.trigger(state, unit),
            continues=continues,
            concerns=concerns,
            todos=tuple(loose),
            units=others,
            unit=unit,
        )


def child_of(call: Call, field_name: str) -> str | None:
    """The child that a call sent out: as the host's reader found it, else as a field of the input names it.

    >>> child_of(Call(ref="1", tool="subagent", input='{"child": "c1"}'), "child")
    'c1'
    """
    if call.child is not None:
        return call.child
    try:
        given = json.loads(call.input)
    except (ValueError, RecursionError):
        return None
    named = given.get(field_name) if isinstance(given, dict) else None
    return named if isinstance(named, str) else None


def _review_needed(state: BookState, unit: str | None, tier: str) -> bool:
    """Whether a review of this tier is owed to the last change. A clean one of any tier answers ``full``."""
    work = phases.machine(state, unit)
    change = work.last["change"]
    if not change or tier not in ("light", "full"):
        return False
    if tier == "light":
        return work.last["review"] <= change
    return max(work.full, work.clean) <= change


def _continues(state: BookState, phase: str) -> bool:
    """Whether the loop's kind lets a run go on into this phase."""
    plan = phases.plan_of(state.life.definition)
    return plan is not None and any(one.name == phase and one.continues for one in plan.kind.phases)


def _fixing(state: BookState, unit: str | None, now: Position) -> tuple[str, ...]:
    """The open findings, when what comes next is to fix them."""
    return findings.open_ids(phases.machine(state, unit).findings) if now.next == "fix" else ()


def _key(
    now: Position, move: str, concerns: tuple[str, ...], loose: tuple[str, ...], fixing: tuple[str, ...]
) -> str:
    """What an advisory must not repeat. It does not name its unit: the first unit takes the loop's over."""
    told = json.dumps([sorted(concerns), sorted(loose), sorted(fixing)], separators=(",", ":"))
    return f"{move} {now.next}@{now.since} {sha256(told.encode()).hexdigest()[:32]}"
