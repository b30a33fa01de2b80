"""Reading values of which nothing is known: another program's JSON.

A field may be missing, of another type, or nested wrongly; each of these answers with the
empty value of its own type instead, so the code behind it needs no second path.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence


def text_of(value: object, *keys: str) -> str:
    """The first of a mapping's ``keys`` that holds a non-blank string, or "".

    >>> text_of({"cmd": " ", "script": "npm test"}, "command", "cmd", "script")
    'npm test'
    >>> text_of(["npm test"], "command")
    ''
    """
    for found in _members(value, keys):
        if isinstance(found, str) and found.strip():
            return found
    return ""


def mapping_of(value: object, key: str) -> Mapping[str, object]:
    """A mapping's member that is itself a mapping, or an empty one.

    >>> mapping_of({"task": {"id": "1"}}, "task"), mapping_of({"task": "1"}, "task")
    ({'id': '1'}, {})
    """
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def list_of(value: object, *keys: str) -> Sequence[object] | None:
    """The first of a mapping's ``keys`` that holds a list, or ``None``.

    >>> list_of({"todos": [], "plan": [1]}, "todos", "plan"), list_of({"todos": "no"}, "todos")
    ([], None)
    """
    for found in _members(value, keys):
        if isinstance(found, list | tuple):
            return found
    return None


def int_of(value: object, *keys: str) -> int | None:
    """The first of a mapping's ``keys`` that holds a whole number of 64 bits; ``True`` is none.

    >>> int_of({"exitCode": 1}, "exit_code", "exitCode"), int_of({"exitCode": True}, "exitCode")
    (1, None)
    """
    for found in _members(value, keys):
        if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**63:
            return found
    return None


def id_of(value: object, *keys: str) -> str:
    """The first of a mapping's ``keys`` that holds an id: a non-blank string or a whole number, or "".

    >>> id_of({"taskId": 7}, "task_id", "taskId"), id_of({"taskId": " b1 "}, "taskId"), id_of({}, "taskId")
    ('7', 'b1', '')
    """
    for key in keys:
        number = int_of(value, key)
        if found := text_of(value, key).strip() or ("" if number is None else str(number)):
            return found
    return ""


def arguments(raw: object) -> Mapping[str, object]:
    """A call's arguments: a mapping as it is, a JSON object from its text, else nothing.

    >>> arguments('{"command": "npm test"}')
    {'command': 'npm test'}
    >>> arguments("{not json"), arguments("42"), arguments(None)
    ({}, {}, {})
    """
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):  # no JSON, a number too long to read, nested too deep
            return {}
    return raw if isinstance(raw, Mapping) else {}


def _members(value: object, keys: tuple[str, ...]) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from (value[key] for key in keys if key in value)
