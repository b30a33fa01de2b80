"""A snapshot is an array of a state's fields in their order, so a change of shape is a new fold."""

from __future__ import annotations

import hashlib
import json
from typing import get_type_hints

from loopbook.projections import FOLD_VERSION, BookState

#: The shape of the state, and the version of the fold with which it came. When this fails, raise
#: ``FOLD_VERSION`` and set both anew.
SHAPE, SINCE = "f2e8cc21bb15ceec", 10


def shape(cls: type, known: dict[str, object]) -> dict[str, object]:
    """The fields of a named tuple and of all named tuples in it, with their types, by class."""
    if cls.__qualname__ not in known:
        hints = get_type_hints(cls)
        fields = getattr(cls, "_fields")  # noqa: B009 - no attribute of ``type``
        known[cls.__qualname__] = [[name, str(hints[name])] for name in fields]
        for hint in hints.values():
            for inner in (hint, *_arguments(hint)):
                if isinstance(inner, type) and hasattr(inner, "_fields"):
                    shape(inner, known)
    return known


def _arguments(hint: object) -> list[object]:
    arguments = list(getattr(hint, "__args__", ()))
    return arguments + [deeper for argument in arguments for deeper in _arguments(argument)]


def test_the_shape_of_the_state_changes_with_the_version_of_the_fold() -> None:
    text = json.dumps(shape(BookState, {}), sort_keys=True)
    assert len(shape(BookState, {})) > 15
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == SHAPE, text
    assert FOLD_VERSION >= SINCE
