"""A state made to fit what servers take, and saying so itself.

Theory. A byte of ASCII-escaped JSON is never less than a token, so counting bytes cannot overflow a
context that is counted in tokens. What is read first weighs most, so the end of a state goes first:
long texts lose their middle, long lists their oldest items, and at last whole fields; each leaves a
mark where it stood, so that the judge knows that there was more. Redact before: half a secret has no
shape.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from pydantic import JsonValue

from loopbook.evidence.text import clean, head_tail

#: Bytes of the state with the longest question, and of everything.
STATE_BYTES, REQUEST_BYTES = 30_000, 60_000
#: Levels of nesting.
DEPTH = 64
#: A whole number of more bits says nothing, and takes long to write.
BITS = 256
#: How much is kept of a text (characters) and of a list or mapping (items), the gentlest cut first.
CUTS = ((4_000, 200), (1_200, 60), (400, 20), (200, 10), (80, 5), (24, 2))

_MARK = "[left out]"


def written(value: object) -> bytes:
    """ASCII JSON, as it is sent and counted."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def sound(value: JsonValue, depth: int = DEPTH) -> JsonValue:
    """The same with nothing in it that a strict reader refuses: surrogates, NaN, vast numbers, nesting.

    >>> sound({"a": ["\\ud800", float("nan"), [[1]]]}, depth=3)
    {'a': ['\\ufffd', 'NaN', ['[left out: nested too deeply]']]}
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value).replace("nan", "NaN")
    if isinstance(value, int) and value.bit_length() > BITS:
        return f"[left out: a number of {value.bit_length()} bits]"
    if isinstance(value, list | dict) and depth < 1:
        return "[left out: nested too deeply]"
    if isinstance(value, list):
        return [sound(one, depth - 1) for one in value]
    if isinstance(value, dict):
        return {clean(str(key)): sound(one, depth - 1) for key, one in value.items()}
    return value


def fitted(state: Mapping[str, JsonValue], room: int) -> dict[str, JsonValue] | None:
    """The state in at most ``room`` bytes; nothing where not even its marks fit.

    >>> fitted({"first": "short", "last": "long " * 1000}, 120)["last"][:40]
    'long long lo\\n[... 4976 characters left o'
    """
    kept = dict(state)
    whole = {key: len(written({key: value})) for key, value in kept.items()}
    sizes = dict(whole)
    # Of all, from its fields as mappings of their own. Kept up with: adding up each time is quadratic.
    total = sum(sizes.values()) - max(len(sizes) - 1, 0)
    for cut in (*CUTS, None):
        for place, key in reversed([*enumerate(kept)]):
            if total <= room:
                return kept
            if cut is not None:
                kept[key] = _cut(state[key], *cut)
            elif place:
                kept[key] = f"{_MARK[:-1]}: {whole[key]} bytes]"
            size = len(written({key: kept[key]}))
            total, sizes[key] = total + size - sizes[key], size
    return _headed(kept, room)


def _headed(state: dict[str, JsonValue], room: int) -> dict[str, JsonValue] | None:
    """As many of the first fields as fit."""
    if len(written(state)) <= room:
        return state
    fields = list(state.items())
    most = len(fields)
    while most > 0:
        most //= 2
        head = {**dict(fields[:most]), _MARK: f"{len(fields) - most} more fields"}
        if len(written(head)) <= room:
            return head
    return None


def _cut(value: JsonValue, chars: int, items: int) -> JsonValue:
    if isinstance(value, str):
        return head_tail(value, chars // 2)
    if isinstance(value, list):
        newest = [_cut(one, chars, items) for one in value[-items:]]
        gone = len(value) - len(newest)
        return [f"[... {gone} items left out ...]", *newest] if gone else newest
    if isinstance(value, dict):
        first = {key: _cut(one, chars, items) for key, one in list(value.items())[:items]}
        gone = len(value) - len(first)
        return {**first, _MARK: f"{gone} more"} if gone else first
    return value
