"""Texts taken out of rows: one text wherever it stands, or every text of an entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from typing import cast

from pydantic import JsonValue
from pydantic_core import to_json

from loopbook.encoding import decode
from loopbook.errors import CannotScrub, DamagedEntry
from loopbook.events import ENVELOPE
from loopbook.store import Row
from loopbook.upkeep.rows import fields_in
from loopbook.upkeep.texts import WITHIN_TEXT, apart, changed, mark_within, without_texts

#: A text that can stand in a number.
_DIGITS = re.compile(r"[-+.0-9eE]+")
_MARKS = re.compile(WITHIN_TEXT.pattern.encode())


class Taking:
    """What is taken out: ``text`` (``None``: every text), and what stands for it afterwards.

    >>> Taking("hunter2").out_of("log in with hunter2")
    'log in with [scrubbed-7-chars]'
    """

    def __init__(self, text: str | None, used: Set[str] = frozenset()) -> None:
        self.text = text
        self._mark = "" if text is None else mark_within(text, used)

    def out_of(self, text: str) -> str:
        """A text without the one to be taken out."""
        return text if self.text is None else text.replace(self.text, self._mark)

    def out_of_row(self, row: Row) -> Row:
        """A row without it, not sealed. Raises ``CannotScrub`` where it would be no such entry then."""
        try:
            fields = fields_in(row.state)
        except ValueError:
            return row  # whoever writes it anew sees that it is damaged
        if self.text is None:
            own = {name: value for name, value in fields.items() if name not in ENVELOPE}
            kept = {} if row.topic == "scrubbed" else without_texts(own)
            return _put(row, fields, {**fields, **kept})
        if _DIGITS.fullmatch(self.text):
            new = self._without(row, fields, numbers=True)
            if _is_of_its_type(row, new):
                return new  # else the digits are those of a number that must be one
        new = self._without(row, fields)
        if not _is_of_its_type(row, new):
            raise CannotScrub(
                f"{row.originator_id} seq {row.originator_version} could not be read without this text: it is"
                " also a word of the format; nothing was written; name a longer text, or scrub with --seq"
            )
        return new

    def _without(self, row: Row, fields: dict[str, JsonValue], *, numbers: bool = False) -> Row:
        put = cast("dict[str, JsonValue]", changed(fields, self.out_of, numbers=numbers))
        return _put(row, fields, {**put, **{name: fields[name] for name in apart(row.topic, fields)}})

    def is_alike(self, old: object, new: object) -> bool:
        """Whether two states differ in texts alone. Names in mappings follow the text."""
        if isinstance(old, str) and isinstance(new, str):
            return True
        if isinstance(old, tuple) and isinstance(new, tuple):
            return len(old) == len(new) and all(map(self.is_alike, old, new))
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            put = {self.out_of(name): value for name, value in old.items()}
            return put.keys() == new.keys() and all(self.is_alike(put[name], new[name]) for name in put)
        return old == new


def _put(row: Row, fields: dict[str, JsonValue], new: dict[str, JsonValue]) -> Row:
    return row if new == fields else row._replace(state=to_json(new))


def _is_of_its_type(old: Row, new: Row) -> bool:
    if old == new:
        return True
    try:
        return type(decode(*new).event) is type(decode(*old).event)
    except DamagedEntry:
        return False


def marks_in(rows: Iterable[Row]) -> set[str]:
    """The marks that stand for texts in some rows already."""
    marks = set[str]()
    for row in rows:
        marks.update(WITHIN_TEXT.findall(row.originator_id))
        marks.update(found.decode() for found in _MARKS.findall(row.state))
    return marks
