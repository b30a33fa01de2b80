"""A judge that says what it was told to say: for tests, scenarios and demonstrations.

Theory. A slip in a script would pass for a judge that says nothing, so what can be known of a line is
checked before anybody is asked: the kind of a failure always, names and values where the questions are
known (``checked``). What a question makes of its value stands in ``answer_from``.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Mapping

from loopbook.advisors.asking import FAILURES, value_of
from loopbook.errors import InvalidScript
from loopbook.judges import Answer, Choice, Failure, Noul, Packet, Question, answer_from

Line = Mapping[str, object] | Failure
_UNASKED = "nothing was asked"


class Scripted:
    """Says its lines one after another, and the last one for ever; notes every packet in ``asked``.

    A line is bare answers by question (``{"move": "advance", "done": 0.2}``) or a ``Failure``.
    ``thinking`` is awaited before each answer: what happens while the judge thinks. Raises
    ``InvalidScript`` for no line, for what is none, and for a failure of a kind that is not in ``FAILURES``.

    >>> import anyio
    >>> judge = Scripted([Failure("timeout")])
    >>> anyio.run(judge.ask, Packet({}, {}), 1.0)
    Failure(kind='timeout', detail='', took=None)
    """

    def __init__(
        self, lines: Iterable[Line], thinking: Callable[[Packet], Awaitable[None]] | None = None
    ) -> None:
        self._lines = _script(lines)
        if thinking is not None and not callable(thinking):
            raise InvalidScript(
                f"thinking is awaited, not {_sort(thinking)}; {_UNASKED}; give an async function"
            )
        self._thinking = thinking
        self.asked: list[Packet] = []

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
        """Say the next line."""
        self.asked.append(packet)
        if self._thinking is not None:
            await self._thinking(packet)
        line = self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]
        return line if isinstance(line, Failure) else answer_from(packet.questions, line)


def _script(lines: object) -> list[Line]:
    """The lines of a script, each looked at. Raises ``InvalidScript``."""
    if isinstance(lines, Mapping | Failure | str | bytes) or not isinstance(lines, Iterable):
        raise InvalidScript(
            f"a script is a list of lines, not {_sort(lines)}; {_UNASKED}; write it as [line]"
        )
    script = [_line(line, number) for number, line in enumerate(lines, 1)]
    if not script:
        raise InvalidScript(f"a script needs a line; {_UNASKED}; give it one")
    return script


def _line(line: object, number: int) -> Line:
    if isinstance(line, Failure):
        if not _is_kind(line.kind):
            raise InvalidScript(f"line {number}: {_no_failure(line.kind)}; {_UNASKED}")
        return line
    if not isinstance(line, Mapping):
        remedy = 'write {"move": "advance"}, or Failure("timeout")'
        raise InvalidScript(f"line {number} is answers or a Failure, not {_sort(line)}; {_UNASKED}; {remedy}")
    return line


def _is_kind(kind: object) -> bool:
    return isinstance(kind, str) and kind in FAILURES


def failing(kind: object) -> Failure:
    """The failure of a kind. Raises ``InvalidScript`` for a kind that is none.

    >>> failing("tmeout")
    Traceback (most recent call last):
    loopbook.errors.InvalidScript: 'tmeout' is no kind of failure: did you mean timeout?
    """
    if not isinstance(kind, str) or not _is_kind(kind):
        raise InvalidScript(_no_failure(kind))
    return Failure(kind)


def checked(
    line: Mapping[str, object], questions: Mapping[str, Question], others: Iterable[str] = ()
) -> Mapping[str, object]:
    """A line of answers to questions that are known; ``others`` may be named instead of them.

    Raises ``InvalidScript`` for a name that is none of them, and for a value that is none of its question's.

    >>> checked({"dne": 0.2}, {"done": Noul("Is it?", "", "")})
    Traceback (most recent call last):
    loopbook.errors.InvalidScript: nothing is called 'dne': did you mean done?
    """
    for name, value in line.items():
        if name not in questions:
            raise InvalidScript(f"nothing is called {name[:40]!r}: {_meant(name, [*questions, *others])}")
        if value is not None and value_of(questions[name], value) is None:
            raise InvalidScript(_no_value(name, value, questions[name]))
    return line


def _no_failure(kind: object) -> str:
    return f"{_shown(kind)[:40]!r} is no kind of failure: {_meant(kind, FAILURES)}"


def _no_value(name: str, value: object, question: Question) -> str:
    shown = (repr(value) if isinstance(value, str) else _shown(value))[:40]
    if isinstance(question, Choice):
        return f"{name} is never {shown}: {_meant(value, question.options)}"
    most = 1 if isinstance(question, Noul) else len(question.levels) - 1
    return f"{name} is never {shown}: give a number from 0 to {most}"


def _shown(value: object) -> str:
    """A value in words; Python does not write out every number."""
    try:
        return str(value)
    except ValueError:
        return _sort(value)


def _sort(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _meant(word: object, known: Iterable[str]) -> str:
    """What somebody may have meant who said a word that is not known."""
    names = list(known)
    close = difflib.get_close_matches(_shown(word)[:100], names, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
