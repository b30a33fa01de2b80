"""Probabilities as servers send them, made such as the rest of the program can rely on.

Theory. Servers round to two decimals, so that a sum of 0.99 is right and a distribution has to be
made whole again; and they mean five different things by *confidence*, so that it is computed here
from the probabilities alone. What is no number from 0 to 1 is refused, never bent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

#: What adding up a few floats can be off.
TINY = 1e-6


def number_within(raw: object, low: float, high: float) -> float | None:
    """A number from ``low`` to ``high``, or nothing: also for texts, truth values, NaN and infinities.

    >>> number_within(0.25, 0, 1), number_within("0.25", 0, 1), number_within(True, 0, 1)
    (0.25, None, None)
    """
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    if not low - TINY <= raw <= high + TINY:  # also where it is NaN
        return None
    return min(max(float(raw), low), high)


def whole(shares: Sequence[float]) -> list[float] | None:
    """Shares that add up to 1, from ones that do so but for their rounding; else nothing.

    >>> whole([0.49, 0.49]), whole([0.5, 0.3])
    ([0.5, 0.5], None)
    """
    total = math.fsum(shares)
    if total <= 0 or abs(total - 1) > max(0.05, len(shares) * 0.005) + TINY:
        return None
    return [min(share / total, 1.0) for share in shares]


def confidence_of_choice(shares: Sequence[float]) -> float:
    """0 where every option is as likely as any other, 1 where one is certain.

    >>> confidence_of_choice([0.5, 0.5]), confidence_of_choice([1.0, 0.0]), confidence_of_choice([1.0])
    (0.0, 1.0, 1.0)
    """
    even = 1 / len(shares)
    return 1.0 if even == 1 else _unit((max(shares) - even) / (1 - even))


def confidence_of_score(shares: Sequence[float]) -> float:
    """How near the other levels' shares lie to the likeliest level, 0 to 1.

    >>> confidence_of_score([0.0, 0.95, 0.05]) > 0.9 > confidence_of_score([0.4, 0.2, 0.4])
    True
    """
    levels = len(shares)
    if levels == 1:
        return 1.0
    likeliest = max(range(levels), key=lambda level: shares[level])
    spread = math.fsum(share * abs(level - likeliest) for level, share in enumerate(shares))
    widest = math.fsum(abs(level - (levels - 1) / 2) for level in range(levels)) / levels
    return _unit(1 - spread / widest)


def expectation(shares: Sequence[float]) -> float:
    """The expected level.

    >>> expectation([0.0, 0.5, 0.5])
    1.5
    """
    return min(math.fsum(level * share for level, share in enumerate(shares)), float(len(shares) - 1))


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
