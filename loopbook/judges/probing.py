"""How much a judge's answers differ when it is asked the same thing again. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from loopbook.judges import Answer, Chosen, Failure, Likely, Packet, Value


class Spread(NamedTuple):
    """One question over several answers.

    ``answers`` counts those that had a value for it. Of a choice ``options`` counts what was chosen, and the
    numbers are those of the option chosen most: how likely it was. ``mean``, ``least`` and ``most`` are
    ``None`` where there is no number.
    """

    type: str
    answers: int
    options: Mapping[str, int]
    least: float | None
    mean: float | None
    most: float | None


def spreads(packet: Packet, outcomes: Sequence[Answer | Failure]) -> dict[str, Spread]:
    """The spread of each question.

    >>> from loopbook.judges import Noul
    >>> packet = Packet({}, {"ok": Noul("Is it?", "", "")})
    >>> heard = [Answer({"ok": Likely(0.25)}), Answer({"ok": Likely(0.75)}), Failure("timeout")]
    >>> spreads(packet, heard)["ok"]
    Spread(type='noul', answers=2, options={}, least=0.25, mean=0.5, most=0.75)
    """
    answers = [one for one in outcomes if isinstance(one, Answer)]
    return {
        name: _spread(type(question).__name__.lower(), name, answers)
        for name, question in packet.questions.items()
    }


def failures(outcomes: Sequence[Answer | Failure]) -> dict[str, int]:
    """How often each kind of failure came."""
    return dict(Counter(one.kind for one in outcomes if isinstance(one, Failure)))


def _spread(kind: str, name: str, answers: Sequence[Answer]) -> Spread:
    values = [answer.values[name] for answer in answers if name in answer.values]
    options = Counter(value.choice for value in values if isinstance(value, Chosen))
    usual = options.most_common(1)[0][0] if options else ""
    numbers = [_number(value, usual) for value in values]
    if not numbers:
        return Spread(kind, 0, {}, None, None, None)
    mean = sum(numbers) / len(numbers)
    return Spread(kind, len(values), dict(options), min(numbers), mean, max(numbers))


def _number(value: Value, option: str) -> float:
    """The number of a value; of a choice, how likely the option was."""
    if isinstance(value, Likely):
        return value.noul
    if isinstance(value, Chosen):
        return value.probabilities.get(option, float(value.choice == option))
    return value.score
