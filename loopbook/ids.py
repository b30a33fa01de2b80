"""Ids that are made where a caller gives none."""

from __future__ import annotations

import secrets
from datetime import datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing to misread


def sortable_id(now: datetime) -> str:
    """A short id that sorts by its second, with 20 random bits against a second one in it.

    >>> from datetime import UTC
    >>> sortable_id(datetime(2026, 1, 1, tzinfo=UTC))[:7]
    '1mnbe80'
    """
    return f"{_base32(int(now.timestamp()), 7)}{_base32(secrets.randbits(20), 4)}"


def _base32(number: int, digits: int) -> str:
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(digits)))
