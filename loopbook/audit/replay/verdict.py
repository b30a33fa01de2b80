"""One recorded decision, decided again and compared.

Theory. What is compared is what was decided: whether something was said, its words, key, concerns and
continuation, the reason of a silence, the digest of what was asked. What only accompanies it (what the
answer cost, the version of the code) is not. A difference is a fault only where the same rules should
have come to the same: rules of another version, and entries that somebody scrubbed since, may differ,
and that is said instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from loopbook.advisors.asking import Answer, Failure, Packet, from_json
from loopbook.advisors.basis import Basis
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Advisor, Policy, Scene
from loopbook.audit.replay.recorded import Recorded, Said
from loopbook.audit.shown import quoted, shown
from loopbook.book.hygiene import Hygiene
from loopbook.entry import Draft
from loopbook.events import ChildLost, Event, Judged, LoopClosed, Noticed, PassedOver
from loopbook.evidence.redaction import Redactor
from loopbook.projections import children, position
from loopbook.settlement import closing
from loopbook.settlement.again import Then, again
from loopbook.settlement.case import policy_of

#: What makes an advisor from the policy that a decision was made by, by the advisor's name.
Makers = Mapping[str, Callable[[Policy], Advisor]]
MAKERS: Makers = {"second-thought": SecondThought.under}

#: ``same``; ``differs``; ``unchecked``: the advisor or the run is not here; ``other-rules``: it differs,
#: and other versions of the rules decided it; ``scrubbed``: it differs, and texts before it are gone.
Outcome = Literal["same", "differs", "unchecked", "other-rules", "scrubbed"]

#: What accompanies a decision and is none.
_BESIDE = frozenset(
    {
        "versions", "model_asked", "model_answered", "request_id", "latency_ms", "asked", "input_tokens",
        "output_tokens", "cost_usd",
    }
)  # fmt: skip

#: Secrets that the table alone tells: what two harmless texts make together is redacted when it is stored.
_HYGIENE = Hygiene(Redactor())


class Verdict(NamedTuple):
    """What came of deciding again; ``then`` and ``now`` are both sides in words where they differ, ``why``
    is why that is no fault, or why it was not decided again."""

    outcome: Outcome
    then: str = ""
    now: str = ""
    why: str = ""


Pair = tuple[Event, str | None]


def verdict_on(recorded: Recorded, makers: Makers = MAKERS) -> Verdict:
    """Decide one again and compare."""
    said = recorded.said
    if said is None:
        return _compared(recorded, _by_itself(recorded))
    maker = makers.get(said.advisor)
    if maker is None:
        return Verdict("unchecked", why=f"the advisor {shown(said.advisor)!r} is not here")
    if said.run is not None and recorded.run is None:
        return Verdict("unchecked", why=f"the run {shown(said.run)!r} is not among the entries before it")
    basis = basis_of(recorded, said)
    policy = Policy(basis.thresholds, basis.versions, basis.settings)
    advisor = maker(policy)
    then = Then(
        Scene(recorded.run, basis.judge),
        basis,
        _answer(said, basis),
        recorded.first.unit,
        taken=_taken(recorded, said, makers),
        others=recorded.others,
    )
    verdict = _compared(recorded, again(recorded.before, advisor, then))
    if verdict.outcome == "differs" and _ends_by_itself(recorded):
        parted = recorded._replace(entries=recorded.entries[:-1])
        verdict = _compared(parted, again(recorded.before, advisor, then))
    if verdict.outcome == "differs" and (others := _other_rules(policy, policy_of(advisor))):
        return verdict._replace(outcome="other-rules", why=others)
    return verdict


def basis_of(recorded: Recorded, said: Said) -> Basis:
    """What came from outside into a decision, wherever it is kept."""
    basis = Basis.read(said.basis)
    if isinstance(said, Judged):
        last = next((e.event for e in recorded.entries if isinstance(e.event, Noticed)), None)
        most = Basis.read(last.basis).max_continuations if last else None
        basis = basis._replace(
            thresholds=said.thresholds,
            versions=said.versions,
            packets=basis.packets or (said.packet,),
            at_close=said.sort == "close",
            max_continuations=most,
        )
    return basis


def _answer(said: Said, basis: Basis) -> Answer | Failure | None:
    """What the judge had said."""
    if isinstance(said, Judged):
        return from_json(said.answers)
    if basis.failure:
        return Failure(basis.failure)
    return from_json(basis.answers) if basis.packets else None


def _taken(recorded: Recorded, said: Said, makers: Makers) -> bool:
    """Whether it is true that the turn had been taken: nothing else tells in which settle it was."""
    if not isinstance(said, PassedOver) or said.reason != "turn-taken":
        return False
    others = recorded.spoken - {said.advisor}
    return any(name not in makers or makers[name](Policy()).takes_turn for name in others)


def _ends_by_itself(recorded: Recorded) -> bool:
    """Whether a loop was closed by what all had agreed to, after the last of them had nothing to say."""
    event = recorded.entries[-1].event
    met = isinstance(event, LoopClosed) and event.outcome == "met"
    return met and closing.agreed(recorded.before)


def _by_itself(recorded: Recorded) -> tuple[Draft, ...]:
    """What is decided without an advisor: that a child is lost, and a close that nobody can judge."""
    before, event = recorded.before, recorded.first.event
    if isinstance(event, ChildLost):
        return (Draft(event),) if event.child in children.past_grace(before) else ()
    if _ends_by_itself(recorded):
        return (Draft(event),)
    unjudged = isinstance(event, LoopClosed) and event.outcome == "unjudged"
    return (Draft(event),) if unjudged and not position(before).missing else ()


def _other_rules(then: Policy, now: Policy) -> str:
    """In which versions two policies differ, in words; the code's own is none of the rules'. A decision
    that names no version was made by nobody, and nothing excuses it."""
    names = sorted(({*then.versions} | {*now.versions}) - {"code"}) if then.versions else []
    differ = [name for name in names if then.versions.get(name) != now.versions.get(name)]
    was = ", ".join(f"{name} {shown(then.versions.get(name, 'of none'), 40)}" for name in differ)
    is_now = ", ".join(f"{name} {now.versions.get(name, 'of none')}" for name in differ)
    return f"decided by {was}; this is {is_now}" if differ else ""


# --- comparing ----------------------------------------------------------------------------------------


def _compared(recorded: Recorded, now: tuple[Draft, ...] | Packet) -> Verdict:
    then: list[Pair] = [(entry.event, entry.unit) for entry in recorded.entries]
    if isinstance(now, Packet):
        return Verdict("differs", told(then), f"asks the judge, in packet {now.digest[:12]}")
    again_now: list[Pair] = [(draft.event, draft.unit) for draft in now]
    if recorded.cut:
        again_now = again_now[: len(then)]
    if _equal(then, again_now) or _equal(then, [_clean(pair) for pair in again_now]):
        return Verdict("same")
    one, other = told(then), told(again_now)
    if one == other:
        one, other = _field(then, again_now)
    return Verdict("differs", one, other)


def _clean(pair: Pair) -> Pair:
    event, unit = pair
    return _HYGIENE.model(event), unit and _HYGIENE.text(unit)


def _equal(then: Sequence[Pair], now: Sequence[Pair]) -> bool:
    return len(then) == len(now) and all(
        a[1] == b[1] and a[0].type == b[0].type and not _unlike(a[0], b[0])
        for a, b in zip(then, now, strict=True)
    )


def _unlike(then: Event, now: Event) -> dict[str, tuple[object, object]]:
    """The fields in which two events of one type differ, with both values."""
    a, b = _decided(then), _decided(now)
    return {name: (a.get(name), value) for name, value in b.items() if a.get(name) != value}


def _decided(event: Event) -> dict[str, object]:
    fields = {name: value for name, value in event.model_dump(mode="json").items() if name not in _BESIDE}
    basis = fields.get("basis")
    if isinstance(basis, dict):
        fields["basis"] = {name: value for name, value in basis.items() if name != "versions"}
    return fields


def _field(then: Sequence[Pair], now: Sequence[Pair]) -> tuple[str, str]:
    """Both sides by the first field in which they differ."""
    for (a, unit), (b, other) in zip(then, now, strict=False):
        if unit != other:
            return f"unit {unit}", f"unit {other}"
        for name, (was, is_now) in _unlike(a, b).items():
            return f"{a.type}.{name} {shown(str(was))}", f"{b.type}.{name} {shown(str(is_now))}"
    return told(then), told(now)


def told(decided: Sequence[Pair]) -> str:
    """A decision in words.

    >>> told([(PassedOver(advisor="second-thought", reason="failed-run", detail="error"), None)])
    'passed over: failed-run (error)'
    """
    if not decided:
        return "decides nothing: it was decided before"
    judged = any(isinstance(event, Judged) for event, _ in decided)
    words = [_words(event, judged=judged) for event, _ in decided]
    unit = decided[0][1]
    return (" and ".join(filter(None, words)) or "judges") + (
        f", about unit {shown(unit, 40)}" if unit else ""
    )


def _words(event: Event, *, judged: bool) -> str:
    match event:
        case Noticed():
            return f"{'says and continues' if event.continues else 'says'} {quoted(event.text)}"
        case PassedOver():
            how = "silent" if judged or Basis.read(event.basis).packets else "passed over"
            return f"{how}: {event.reason}" + (f" ({shown(event.detail, 60)})" if event.detail else "")
        case Judged():
            return "keeps the answer" if Basis.read(event.basis).observed else ""
        case LoopClosed():
            return f"closes the loop: {event.outcome.replace('_', ' ')}"
        case ChildLost():
            return f"child {shown(event.child, 60)} is lost"
    return event.type
