"""What of an answer can be believed: a judge is anybody's code, and may say anything.

Theory. A book keeps an answer for good, and a replay decides by it. So what is none of its question's
values is lost, by question; what accompanies the values (names, numbers) is kept within bounds or not at
all; and what an answer has cost is kept even where nothing else of it can be. Whatever its parts raise when
they are looked at is the judge's failure, a ``SystemExit`` too; only ``KeyboardInterrupt`` passes, for that
is how a person ends the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopbook.advisors.asking import (
    FAILURES,
    NO_VALUE,
    Answer,
    Choice,
    Chosen,
    Cost,
    Failure,
    Likely,
    Noul,
    Question,
    Score,
    Scored,
    Value,
    from_json,
    number_of,
    to_json,
    value_of,
)

#: Bounds of what is kept of an answer: characters of a name of its model or request and of a reason, and
#: any number in it.
NAME_CHARS = 200
HIGHEST = 1e12


def known(answer: Answer | Failure, questions: Mapping[str, Question]) -> Answer | Failure:
    """The same, as far as a book can keep it: a failure of a kind that is in the table, an answer to what
    was asked. A judge is anybody's code, and may say anything.

    A value that is none of its question's is lost; where nothing else was said, or what accompanies the
    values cannot be kept, there is no answer. What was not asked is left out.

    >>> known(Failure("wedged"), {}), known(Failure("timeout"), {})
    (Failure(kind='error', detail='wedged', took=None), Failure(kind='timeout', detail='', took=None))
    >>> asked = {"done": Noul("Is it?", "it is", "it is not"), "ok": Noul("And?", "yes", "no")}
    >>> known(Answer({"done": Likely(0.2), "ok": Likely(7)}), asked)[:2]
    ({'done': Likely(noul=0.2)}, {'ok': 'not a value of this question'})
    >>> known(Answer({"done": Likely(float("nan"))}, cost_usd=0.5), asked)[1:]
    ('no answer to what was asked', Cost(input_tokens=None, output_tokens=None, cost_usd=0.5))
    """
    if isinstance(answer, Failure):
        return _failure(answer)
    unkept = Failure("garbage", "an answer that cannot be kept", took_of(answer))
    try:
        fitting, dropped = _fitting(answer, questions)
        if dropped and not fitting.values:
            return unkept._replace(detail="no answer to what was asked")
        return fitting if _can_be_kept(fitting) else unkept
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - what a judge's own values do when they are looked at, nobody knows
        return unkept


def _failure(given: Failure) -> Failure:
    """A failure in texts alone; of a kind that is not in the table, or none, it is an error."""
    took = took_of(given)
    try:
        kind, detail = str(given.kind), str(given.detail)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return Failure("error", "a kind that cannot be told", took)
    return Failure(kind, detail, took) if kind in FAILURES else Failure("error", kind[:NAME_CHARS], took)


def took_of(said: Answer | Failure) -> Cost | None:
    """What an answer took, or a failure that says so, as far as a book can keep it.

    >>> took_of(Answer({}, input_tokens=300, output_tokens=-1))
    Cost(input_tokens=300, output_tokens=None, cost_usd=None)
    """
    told = _told(said, "took") if isinstance(said, Failure) else said
    if told is None:
        return None
    sent, got, cost = (_number(told, name) for name in Cost._fields)
    return Cost(sent if isinstance(sent, int) else None, got if isinstance(got, int) else None, cost)


def _number(told: object, name: str) -> int | float | None:
    """One of the numbers, as a plain one."""
    one = _told(told, name)
    try:
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= HIGHEST:
            return None
        return int(one) if isinstance(one, int) else float(one)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return None


def _told(by: object, name: str) -> object:
    try:
        return getattr(by, name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return None


def _fitting(answer: Answer, questions: Mapping[str, Question]) -> tuple[Answer, bool]:
    """The values that are their questions' own, and whether there were others."""
    values: dict[str, Value] = {}
    lost: dict[str, str] = {}
    for name, question in questions.items():
        if name in answer.lost:
            lost[name] = answer.lost[name]
        elif name in answer.values and fits(question, answer.values[name]):
            values[name] = answer.values[name]
        elif name in answer.values:
            lost[name] = NO_VALUE
    return answer._replace(values=values, lost=lost), len(values) < len(answer.values)


def fits(question: Question, value: object) -> bool:
    """Whether a value is one of its question's: of its kind, in its range, its probabilities by what it
    may be.

    >>> yes_or_no = Choice("Go on?", {"yes": "go on", "no": "stop"})
    >>> fits(yes_or_no, Chosen("yes")), fits(yes_or_no, Chosen("banana")), fits(yes_or_no, Likely(1))
    (True, False, False)
    """
    match question, value:
        case Choice(options=options), Chosen(choice, told, sure):
            return value_of(question, choice) is not None and _shares(told, sure, list(options))
        case Noul(), Likely(noul):
            return value_of(question, noul) is not None
        case Score(levels=levels), Scored(score, told, sure):
            return value_of(question, score) is not None and _shares(
                told, sure, list(map(str, range(len(levels))))
            )
    return False


def _shares(told: object, sure: object, names: Sequence[str]) -> bool:
    if not isinstance(told, Mapping) or not (sure is None or number_of(sure, 1) is not None):
        return False
    return all(name in names and number_of(one, 1) is not None for name, one in told.items())


def _can_be_kept(answer: Answer) -> bool:
    names, numbers = answer[2:5], answer[5:]
    back = from_json(to_json(answer))
    return (
        (back.values, back.lost) == (answer.values, answer.lost)
        and all(one is None or _short(one) for one in (*names, *answer.lost.values()))
        and all(one is None or number_of(one, HIGHEST) is not None for one in numbers)
        and all(one is None or isinstance(one, int) for one in numbers[1:3])
    )


def _short(name: object) -> bool:
    return isinstance(name, str) and len(name) <= NAME_CHARS
