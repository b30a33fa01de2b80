"""How a value of a setting is read: from a file's typed value, or from a variable's text.

A reader gives the value or raises ``ValueError`` with what it must be, in words that follow
*must be*. A ``stricter`` joins the value so far with a project's: whichever asks for more, or
speaks less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

if TYPE_CHECKING:
    from loopbook.events import Scope, Tier

TIERS: tuple[Tier, ...] = ("none", "light", "full")


class Place(NamedTuple):
    """Where a value stands: ``base`` is what a relative path there starts from."""

    origin: str
    base: Path
    home: Path


class FolderCheck(NamedTuple):
    """A command that counts as a check of ``scope`` in ``folder`` and below it."""

    folder: Path
    command: str
    scope: Scope


Reader = Callable[[object, Place], object]
Join = Callable[[object, object], object]


def text(raw: object, _place: Place) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise ValueError("a non-empty text")
    return raw


def folder(raw: object, place: Place) -> Path:
    path = text(raw, place)
    if path == "~" or path.startswith(("~/", "~\\")):
        return place.home / path[2:]
    return place.base / path


def number(low: float, high: float) -> Reader:
    """A number from ``low`` to ``high``, also as a variable writes it."""

    def read(raw: object, _place: Place) -> float:
        try:
            value = (
                float(raw) if isinstance(raw, int | float | str) and not isinstance(raw, bool) else math.nan
            )
        except (ValueError, OverflowError):
            value = math.nan
        if not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return value

    return read


_TRUTHS: Mapping[object, bool] = {
    word: truth
    for truth, words in ((True, ("true", "yes", "on", "1")), (False, ("false", "no", "off", "0")))
    for word in words
}


def truth(raw: object, _place: Place) -> bool:
    """Yes or no; in a variable also as a word."""
    if isinstance(raw, bool):
        return raw
    known = _TRUTHS.get(raw.strip().lower()) if isinstance(raw, str) else None
    if known is None:
        raise ValueError("true or false")
    return known


#: What lifts a bound: TOML has no word for nothing.
UNLIMITED = "unlimited"


def bound(raw: object, place: Place) -> int | None:
    """A whole number, or ``unlimited``."""
    if raw == UNLIMITED:
        return None
    try:
        value = cast("float", number(0, 1000)(raw, place))
    except ValueError:
        value = math.nan
    if not value.is_integer():
        raise ValueError(f'a whole number from 0 to 1000, or "{UNLIMITED}"')
    return int(value)


def names(raw: object, _place: Place) -> tuple[str, ...]:
    """A list of names."""
    if not isinstance(raw, list) or not all(isinstance(one, str) and one.strip() for one in raw):
        raise ValueError("a list of names")
    return tuple(dict.fromkeys(raw))


def fields(raw: object, _place: Place) -> Mapping[str, str]:
    """A table of names by name."""
    if not isinstance(raw, dict) or not all(isinstance(one, str) and one.strip() for one in raw.values()):
        raise ValueError("a table that gives each tool the field of its input that names the child")
    return dict(raw)


def tier(raw: object, _place: Place) -> Tier:
    for one in TIERS:
        if raw == one:
            return one
    raise ValueError("one of none, light, full")


def checks(raw: object, place: Place) -> tuple[FolderCheck, ...]:
    if not isinstance(raw, list):
        raise ValueError("tables [[checks]] with folder, command and scope")
    return tuple(_check(row, place) for row in raw)


def _check(row: object, place: Place) -> FolderCheck:
    if not isinstance(row, dict) or set(row) != {"folder", "command", "scope"}:
        raise ValueError("tables [[checks]] with exactly folder, command and scope")
    if row["scope"] not in _scopes():
        raise ValueError(f"tables [[checks]] whose scope is one of {', '.join(_scopes())}")
    where = folder(row["folder"], place).resolve()
    return FolderCheck(where, text(row["command"], place), cast("Scope", row["scope"]))


def _scopes() -> tuple[str, ...]:
    from loopbook.events import Scope  # only where checks are set: events cost an import of pydantic

    return get_args(Scope)


# --- how a project's value joins ------------------------------------------------------


def higher_tier(before: object, project: object) -> object:
    return max(cast("Tier", before), cast("Tier", project), key=TIERS.index)


def higher(before: object, project: object) -> object:
    return max(cast("float", before), cast("float", project))


def lower_bound(before: object, project: object) -> object:
    """The smaller of two bounds, of which ``None`` is none."""
    return min(
        (one for one in (before, project) if one is not None), key=lambda one: cast("int", one), default=None
    )


def only_off(before: object, project: object) -> object:
    return bool(before) and bool(project)


def both_names(before: object, project: object) -> object:
    return tuple(dict.fromkeys((*cast("tuple[str, ...]", before), *cast("tuple[str, ...]", project))))


def both_fields(before: object, project: object) -> object:
    """All of them; where both name one, the value before stands."""
    return {**cast("Mapping[str, str]", project), **cast("Mapping[str, str]", before)}
