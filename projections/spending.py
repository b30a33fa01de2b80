"""What asking has cost: the running total of a book, folded from its judgments and silences.

Theory. An answer costs whether or not anything came of it, so a stale one counts as a judgment does, and
so does a request that no answer came to. What is not known is counted, never guessed: of ``unpriced``
ones nobody told the cost. A book
may come from anywhere, so a number that no server could have meant is not known either.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopbook.events import Judged, PassedOver
from loopbook.projections.state import Spent

#: More than this in one entry is no count of tokens, dollars or answers.
MOST = 10**12


def spent(before: Spent, event: Judged | PassedOver) -> Spent:
    """The total with one more entry.

    >>> spent(Spent(), Judged(advisor="a", read_to=1, input_tokens=300, cost_usd=0.25))
    Spent(answers=1, input_tokens=300, output_tokens=0, cost_usd=0.25, unpriced=0)
    """
    answers = int(_counted(event.asked) or 0)
    if not answers:
        return before
    cost = _counted(event.cost_usd)
    return Spent(
        before.answers + answers,
        before.input_tokens + int(_counted(event.input_tokens) or 0),
        before.output_tokens + int(_counted(event.output_tokens) or 0),
        before.cost_usd + (cost or 0.0),
        before.unpriced + (answers if cost is None else 0),
    )


def with_more(total: Spent, usd: Iterable[float | None]) -> Spent:
    """The total with answers that no entry counts yet, by what each has cost.

    >>> with_more(Spent(answers=1, cost_usd=0.25), [0.5, None, None])
    Spent(answers=4, input_tokens=0, output_tokens=0, cost_usd=0.75, unpriced=2)
    """
    for cost in map(_counted, usd):
        unknown = 0 if cost is not None else 1
        total = total._replace(
            answers=total.answers + 1,
            cost_usd=total.cost_usd + (cost or 0.0),
            unpriced=total.unpriced + unknown,
        )
    return total


def over(total: Spent, cap_usd: float) -> str:
    """Why no more may be asked, or nothing. What is not known is taken to be too much: a cap that is
    meant holds.

    >>> over(Spent(answers=3, cost_usd=0.5), 0.5), over(Spent(answers=3, cost_usd=0.4), 0.5)
    ('0.5 of 0.5 US dollars are spent', '')
    >>> over(Spent(answers=3, unpriced=3), 0.5)
    'what 3 requests cost is not known'
    >>> over(Spent(answers=3, unpriced=1), 0.5), over(Spent(answers=3, unpriced=2), 0.5)
    ('what 1 request cost is not known', 'what 2 requests cost is not known')
    """
    if total.unpriced:
        return f"what {total.unpriced} request{'s' * (total.unpriced > 1)} cost is not known"
    if total.cost_usd >= cap_usd:
        return f"{total.cost_usd:g} of {cap_usd:g} US dollars are spent"
    return ""


def _counted(number: float | None) -> float | None:
    return number if number is not None and 0 <= number <= MOST else None
