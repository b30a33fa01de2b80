"""Events that are given as JSON: what may stand there, and where a mistake is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from loopbook.cli.answering import json_object
from loopbook.errors import InvalidEvent

if TYPE_CHECKING:
    from loopbook.entry import Draft

#: Types that only loopbook itself writes.
OWN = frozenset(
    {
        "loop_opened", "session_adopted", "close_declared", "loop_closed", "loop_reopened", "child_lost",
        "judged", "noticed", "passed_over", "forked", "switched", "book_chosen", "catalogued", "reserved",
        "scrubbed", "delivered",
    }
)  # fmt: skip


def drafts_of(lines: Iterable[tuple[int, str]]) -> list[Draft]:
    """The drafts that lines hold, each with its number (0: it has none). Raises ``InvalidEvent``."""
    drafts = []
    for number, line in lines:
        try:
            drafts.append(_draft(line))
        except InvalidEvent as wrong:
            raise InvalidEvent(f"line {number}: {wrong.what}" if number else wrong.what) from None
    return drafts


def _draft(text: str) -> Draft:
    from loopbook.entry import Draft
    from loopbook.events import build_event

    fields = json_object(text, "an event is a JSON object with a type")
    _check_type(fields.get("type"))
    host_ref, unit = (_text(fields, name) for name in ("host_ref", "unit"))
    if unit is not None and _owns_unit(fields.get("type")):
        fields["unit"] = unit
    return Draft(build_event(fields), unit=unit, host_ref=host_ref)


def _text(fields: dict[str, object], name: str) -> str | None:
    """What stands beside an event, taken out of its fields."""
    value = fields.pop(name, None)
    if not isinstance(value, str | None):
        raise InvalidEvent(f"{name} must be a text")
    return value


def _check_type(word: object) -> None:
    import difflib

    from loopbook.events import BY_TYPE

    if not isinstance(word, str):
        raise InvalidEvent("an event is a JSON object with a type")
    if word in OWN:
        raise InvalidEvent(f"{word} is written by loopbook alone")
    if word not in BY_TYPE:
        names = sorted(set(BY_TYPE) - OWN)
        close = difflib.get_close_matches(word[:100], names, n=1)
        known = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
        raise InvalidEvent(f"there is no event of type {word[:100]!r}: {known}")


def _owns_unit(word: object) -> bool:
    from loopbook.events import BY_TYPE

    cls = BY_TYPE.get(word) if isinstance(word, str) else None
    return cls is not None and "unit" in cls.model_fields
