"""Which strings of an event are texts, and what stands in their place once they are taken out.

Theory. What an entry means to the fold are its words, ids and numbers; the rest is text. So the
names of what must stay are a table here, and everything else is text, also what nobody knows yet: a
field that a newer writer added is taken out rather than left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from itertools import chain, count
from typing import get_args

from pydantic import BaseModel, JsonValue
from pydantic_core import to_json

from loopbook.events import BY_TYPE, ENVELOPE

#: Words of closed sets, and times: changed, an event would be no event of its type any more.
WORDS = frozenset({
    "type", "outcome", "scope", "basis", "tier", "severity", "decided_by", "review_tier", "origin", "stop",
    "role", "check", "kind", "what", "change", "sort", "state", "now", "last_write", "due", "available",
    "pending",
})  # fmt: skip
#: Names by which one entry refers to another, and what a replay decides by.
NAMES = frozenset({
    "advisor", "after", "answers", "before", "book", "by", "child", "concerns", "definition", "entry",
    "from", "host", "id", "key", "loop", "model_answered", "model_asked", "of", "packet", "parent", "path",
    "prompt", "question_set", "reason", "ref", "request_id", "resolves", "reviewer", "run", "runner",
    "stream", "thresholds", "todo", "todos", "tool", "unit", "units", "versions",
})  # fmt: skip
#: Fields that hold further fields; any other object is text as a whole.
WITHIN = frozenset(["accept", "calls", "findings", "git", "lines", "observed"])
_APART = frozenset({"at", "line", "v", "prev", "sum"})
_DIGESTS = {
    **dict.fromkeys(("before", "after"), re.compile(r"[0-9a-f]{64}")),
    "sums": re.compile(r"(?:[0-9a-f]{12})*"),
}
_WHOLE = re.compile(r"\[scrubbed \d{1,20} chars\]")
#: Every mark that stands for a part of a text.
WITHIN_TEXT = re.compile(r"\[(?:scrubbed-\d{1,20}-chars|removed)(?:-\d{1,20})?\]")

Change = Callable[[str], str]


def _fields(cls: type[BaseModel]) -> Iterator[str]:
    """The names of a model's fields and of those within, as they are written."""
    for name, field in cls.model_fields.items():
        yield field.alias or name
        for inner in models_in(field.annotation):
            yield from _fields(inner)


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that values of a declared type are or hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


#: The names of all fields of all events: never part of what was written into them.
FIELDS = ENVELOPE | {name for cls in BY_TYPE.values() for name in _fields(cls)}


def apart(topic: str, fields: Mapping[str, JsonValue]) -> frozenset[str]:
    """The members of a state that are no text: of the envelope, and the checksums that tell of scrubbing."""
    if topic != "scrubbed":
        return _APART & fields.keys()
    sums = {name for name, form in _DIGESTS.items() if form.fullmatch(str(fields.get(name)))}
    return (_APART | sums) & fields.keys()


def mark(text: str) -> str:
    """What stands where a text was; its length is kept.

    >>> mark("hunter2")
    '[scrubbed 7 chars]'
    """
    return f"[scrubbed {len(text)} chars]"


def mark_within(text: str, used: Set[str] = frozenset()) -> str:
    """What stands for a part of a text: one word, so that a command goes on being that command.

    ``used`` are the marks that are there already: with one that is not, two ids that differed go on
    differing, whatever was taken out of each.

    >>> mark_within("hunter2"), mark_within("swordf1", {"[scrubbed-7-chars]"})
    ('[scrubbed-7-chars]', '[scrubbed-7-chars-2]')
    """
    word = f"scrubbed-{len(text)}-chars"
    if text in f"[{word}-":
        word = "removed"
    marks = (f"[{word}{number}]" for number in chain(("",), (f"-{n}" for n in count(2))))
    return next(mark for mark in marks if mark not in used and text not in mark)


def without_texts(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """An event's own fields with every text in them replaced.

    >>> without_texts({"command": "pytest -k x", "outcome": "fail", "exit_code": 1})
    {'command': '[scrubbed 11 chars]', 'outcome': 'fail', 'exit_code': 1}
    """
    return {name: _field(name, value) for name, value in fields.items()}


def _field(name: str, value: JsonValue) -> JsonValue:
    if name in WORDS or name in NAMES:
        return value
    if name == "children" and isinstance(value, dict):  # by child, what the host observed of it
        return {child: _field("observed", seen) for child, seen in value.items()}
    if name in WITHIN and isinstance(value, dict):
        return without_texts(value)
    if name in WITHIN and isinstance(value, list):
        return [_field(name, item) for item in value]
    return _text(value)


def _text(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value if not value.strip() or _is_mark(value) else mark(value)
    if isinstance(value, list):
        return [_text(item) for item in value]
    if isinstance(value, dict):
        return {name: item if name == "due" else _text(item) for name, item in value.items()}
    return value


def _is_mark(text: str) -> bool:
    return bool(_WHOLE.fullmatch(text) or WITHIN_TEXT.fullmatch(text))


def changed(value: JsonValue, change: Change, *, numbers: bool = False) -> JsonValue:
    """A JSON value with every string in it changed; the names in objects too, save fields' names.

    With ``numbers``, a number whose digits are changed becomes that text.

    >>> changed({"a-key": ["key", 1]}, lambda text: text.replace("key", "?"))
    {'a-?': ['?', 1]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [changed(item, change, numbers=numbers) for item in value]
    if isinstance(value, dict):
        return {
            name if name in FIELDS else change(name): changed(item, change, numbers=numbers)
            for name, item in value.items()
        }
    if numbers and isinstance(value, int | float) and not isinstance(value, bool):
        digits = digits_of(value)
        return value if change(digits) == digits else change(digits)
    return value


def digits_of(number: float) -> str:
    """A number as it stands in a state."""
    return to_json(number).decode()
