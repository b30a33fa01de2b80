"""Why something was said, or was not, at an entry: from what the book has kept of it.

Theory. An explanation is made of the decision's own entries and of the state before it, as a replay sees
them; it asks nobody. It says who was asked what and what came back against which threshold, which gates
were passed, what had changed since the last notice of the same subject, and why a silence was one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from loopbook.advisors.asking import Answer, Chosen, Likely, Scored, Value, from_json
from loopbook.advisors.basis import Basis
from loopbook.audit.looking import Looking
from loopbook.audit.reasons import PASSED, silence
from loopbook.audit.replay import MAKERS, Makers, Verdict, told, verdict_on
from loopbook.audit.replay.recorded import Recorded
from loopbook.audit.replay.verdict import basis_of
from loopbook.entry import Entry
from loopbook.errors import NothingDecided
from loopbook.events import Judged, LoopClosed, Noticed, PassedOver
from loopbook.projections import phases, position, units
from loopbook.projections.state import Notice
from loopbook.settlement.steps import BOUND


class Answered(NamedTuple):
    """One answer in words, and its threshold where it has one."""

    question: str
    answer: str
    threshold: float | None = None


class Asked(NamedTuple):
    """What the judge was asked and said: the digests of the packets, the last being that of the answer,
    the seq it had read up to, and who answered how. ``failure``: the kind, where there was no answer."""

    packets: tuple[str, ...]
    read_to: int
    question_set: str = ""
    model: str | None = None
    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    failure: str = ""
    answers: tuple[Answered, ...] = ()


class Since(NamedTuple):
    """What is otherwise than at the last notice of the subject at ``seq``: entries by type, and what the
    two would not have said alike."""

    seq: int
    entries: Mapping[str, int]
    otherwise: tuple[str, ...]


class Objection(NamedTuple):
    """A finding that a notice names: who named it, and how it was put last. ``severity`` and ``text`` are
    ``None`` where that was too many entries ago."""

    id: str
    reviewer: str
    severity: str | None = None
    text: str | None = None


class Explanation(NamedTuple):
    """One decision, explained. ``passed`` are the gates that let it through; ``silent`` is why nothing was
    said, ``said`` what was, ``findings`` what it names; ``goes_on`` why the run goes on, or does not."""

    seq: int
    last: int
    advisor: str
    run: str | None
    unit: str | None
    decision: str
    passed: tuple[str, ...]
    asked: Asked | None
    since: Since | None
    said: str | None
    findings: tuple[Objection, ...]
    concerns: tuple[str, ...]
    goes_on: str | None
    silent: str | None
    versions: Mapping[str, str]
    thresholds: Mapping[str, float]
    settings: Mapping[str, object]
    verdict: Verdict


def explain(
    entries: Iterable[Entry], seq: int | None = None, makers: Makers = MAKERS
) -> tuple[Explanation, ...]:
    """The decision that the entry at ``seq`` is part of (``None``: the last one), or, where that entry is a
    settled run or a declared close, all that were made about it: none, if nothing is recorded of it.

    Raises ``NothingDecided`` for any other entry, and says where the next decision is.

    >>> from loopbook import Books, Change, RunSettled
    >>> from loopbook.judges.scripted import Scripted
    >>> loop = Books.open("memory:").start("chore", "Tidy up")
    >>> _ = loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([{"move": "advance"}]))
    >>> explain(loop.entries())[0].silent
    'there is no evidence and no newly loose todo that the last judgment has not read'
    """
    looking = Looking(seq)
    found = [_explained(one, looking, makers) for one in looking.at(entries)]
    if not found and not looking.settled:
        raise NothingDecided(looking.nothing())
    return tuple(found)


def _explained(one: Recorded, looking: Looking, makers: Makers) -> Explanation:
    said = one.said
    basis = basis_of(one, said) if said else Basis()
    notice = next((e.event for e in one.entries if isinstance(e.event, Noticed)), None)
    return Explanation(
        seq=one.first.seq,
        last=one.entries[-1].seq,
        advisor=said.advisor if said else "",
        run=said.run if said else None,
        unit=one.first.unit,
        decision=told([(entry.event, entry.unit) for entry in one.entries]),
        passed=_passed(one, basis),
        asked=_asked(one, basis),
        since=_since(one, basis, notice, looking),
        said=notice.text if notice else None,
        findings=_findings(one, looking) if notice else (),
        concerns=notice.concerns if notice else (),
        goes_on=_goes_on(one, notice, basis) if notice else None,
        silent=_silent(one),
        versions=basis.versions,
        thresholds=basis.thresholds,
        settings=basis.settings,
        verdict=verdict_on(one, makers),
    )


# --- gates, answers -------------------------------------------------------------------------------


def _passed(one: Recorded, basis: Basis) -> tuple[str, ...]:
    """The gates of second thought before the one that stopped it; of another advisor none are known."""
    if one.said is None or one.said.advisor != "second-thought":
        return ()
    reasons = [*PASSED]
    if one.run is None:  # a close is judged inside its run
        reasons = [name for name in reasons if name not in ("subagent", "failed-run", "waiting")]
    if basis.at_close or one.run is None:
        reasons = [name for name in reasons if name not in ("not-waiting-unit", "nothing-new")]
    if one.before.units_added < 2:
        reasons = [name for name in reasons if name != "not-waiting-unit"]
    stopped = one.said.reason if isinstance(one.said, PassedOver) else ""
    if stopped in reasons:
        reasons = reasons[: reasons.index(stopped)]
    return tuple(PASSED[name] for name in reasons)


def _asked(one: Recorded, basis: Basis) -> Asked | None:
    said = one.said
    if isinstance(said, Judged):
        return Asked(
            packets=basis.packets,
            read_to=said.read_to,
            question_set=said.question_set,
            model=said.model_answered or said.model_asked,
            latency_ms=said.latency_ms,
            input_tokens=said.input_tokens,
            output_tokens=said.output_tokens,
            cost_usd=said.cost_usd,
            answers=_answers(from_json(said.answers), said.thresholds),
        )
    if not basis.packets:
        return None
    answers = _answers(from_json(basis.answers), basis.thresholds)
    return Asked(basis.packets, one.before.version, failure=basis.failure, answers=answers)


def _answers(answer: Answer, thresholds: Mapping[str, float]) -> tuple[Answered, ...]:
    told = [Answered(name, _value(one), thresholds.get(name)) for name, one in answer.values.items()]
    return (*told, *(Answered(name, f"lost: {why}") for name, why in answer.lost.items()))


def _value(value: Value) -> str:
    match value:
        case Chosen():
            sure = "" if value.confidence is None else f" (confidence {value.confidence:.2f})"
            return f"{value.choice}{sure}"
        case Likely():
            return f"{value.noul:.2f}"
        case Scored():
            return f"{value.score:.2f}"


# --- since the last notice ------------------------------------------------------------------------


def _since(one: Recorded, basis: Basis, notice: Noticed | None, looking: Looking) -> Since | None:
    """What has changed since the last notice of the same sort about the same subject."""
    if one.said is None:
        return None
    heard = units.heard(one.before, one.first.unit, one.said.advisor)
    last = heard.close if basis.at_close or (notice and notice.sort == "close") else heard.away
    if last is None:
        return None
    types = Counter(word for seq, word in looking.types if last.seq < seq < one.first.seq)
    before = looking.notices.get(last.seq)
    return Since(last.seq, dict(types), _otherwise(last, before, notice) if notice else ())


def _otherwise(last: Notice, before: Noticed | None, now: Noticed) -> tuple[str, ...]:
    """In what two notices differ: move and step, as their keys have them, concerns and todos."""
    found = []
    old, new = last.key.split(" "), now.key.split(" ")
    if len(old) == len(new) == 3:
        if old[0] != new[0]:
            found.append(f"move {new[0]}, was {old[0]}")
        if old[1] != new[1]:
            found.append(f"step {new[1].replace('@', ' since ')}, was {old[1].replace('@', ' since ')}")
    if before is not None:
        for what, was, are in (
            ("concerns", before.concerns, now.concerns),
            ("todos", before.todos, now.todos),
        ):
            if sorted(was) != sorted(are):
                found.append(f"{what} {_listed(are)}, were {_listed(was)}")
    return tuple(found)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _findings(one: Recorded, looking: Looking) -> tuple[Objection, ...]:
    """The open findings that are missing at the subject's next phase: a notice names them by id alone."""
    unit = units.subject_of(one.before, one.first.unit)
    missing = position(one.before, unit).missing
    found = []
    for finding in phases.machine(one.before, unit).findings:
        if finding.id in missing:
            put = looking.finding(finding, one.first.seq)
            words = (put.severity, put.text) if put else (None, None)
            found.append(Objection(finding.id, finding.reviewer, *words))
    return tuple(found)


# --- why it goes on, why it is silent -------------------------------------------------------------


def _goes_on(one: Recorded, notice: Noticed, basis: Basis) -> str:
    """Why the run goes on with what was said, or ends all the same."""
    spent, most = one.before.runs.continuations, basis.max_continuations
    if notice.continues:
        return f"the run goes on: continuation {spent + 1} since the last human prompt" + (
            f", of at most {most}" if most is not None else ""
        )
    if any(isinstance(e.event, PassedOver) and e.event.reason == BOUND for e in one.entries):
        return f"the run ends: {silence(BOUND)}"
    if notice.sort == "close":
        return "the run ends: a close continues nothing"
    if (notice.key, notice.trigger) in one.before.runs.continued:
        return "the run ends: it was continued with the same words for the same evidence before"
    return "the run ends: what comes next is not for the agent to go on with by itself"


def _silent(one: Recorded) -> str | None:
    """Why nothing was said, in a sentence."""
    for entry in one.entries:
        if isinstance(entry.event, Noticed):
            return None
        if isinstance(entry.event, PassedOver):
            return silence(entry.event.reason, entry.event.detail) + _still_open(one)
    event = one.first.event
    if isinstance(event, LoopClosed):
        if event.outcome == "met":
            return "all who were asked about the close agree, and nothing is missing"
        return "there was nobody to judge the close, and nothing was missing"
    if isinstance(event, Judged):
        return "a fork goes on from here" if one.cut else "the answer was only to be kept"
    return "its host says that it is gone, its grace is over, and it has not reported"


def _still_open(one: Recorded) -> str:
    """What a close that nobody had a concern about still lacked."""
    missing = position(one.before).missing
    last, said = one.entries[-1].event, one.said
    if not (isinstance(last, PassedOver) and isinstance(said, Judged) and said.sort == "close"):
        return ""
    if said.pending:
        return "; the close is pending: others have yet to be heard about it"
    return f"; the loop stays open: {', '.join(missing)}" if missing and last.reason == "agrees" else ""
