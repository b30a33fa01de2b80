"""Answers made of numbers, whatever the questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from pydantic import ValidationError

from loopbook.judges import Choice, Noul, Packet, Question
from loopbook.testing.scenario_verbs import Answers, Override


class Numbers:
    """Gives each question of a packet, by its place, the value that a number between 0 and 1 stands for;
    ``said`` is what was given.

    >>> from loopbook.judges import Score
    >>> asked = {"move": Choice("?", {"on": "", "back": ""}), "good": Score("?", ("no", "so so", "yes"))}
    >>> dict(Numbers((0.6, 0.25))(Packet({}, asked)))
    {'move': 'back', 'good': 0.5}
    """

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = numbers
        self.said: dict[str, str | float] = {}

    def __call__(self, packet: Packet) -> Mapping[str, object]:
        numbers = cycle(self._numbers)
        now = {name: _value(asked, next(numbers)) for name, asked in packet.questions.items()}
        self.said |= now
        return now

    def as_judge(self) -> Override:
        """What was given, as a scenario has it."""
        named = {name: value for name, value in self.said.items() if name in Answers.model_fields}
        others = {name: value for name, value in self.said.items() if name not in named}
        try:
            return Override.model_validate({**named, **({"answers": others} if others else {})})
        except ValidationError:  # a question of that name, but another one
            return Override(answers=self.said)


def _value(question: Question, number: float) -> str | float:
    match question:
        case Choice(options=options):
            return [*options][int(number * len(options))]
        case Noul():
            return number
    return number * (len(question.levels) - 1)
