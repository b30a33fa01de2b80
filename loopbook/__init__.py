"""loopbook: one append-only book per agent loop.

``import loopbook`` stays light: names are imported when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers know as true; importing it would cost more than all the rest
if TYPE_CHECKING:
    from loopbook.loop import Books as Books
    from loopbook.loop import Loop as Loop

__version__ = "0.1.0"

_WHERE = {"Books": "loopbook.loop", "Loop": "loopbook.loop"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    where = _WHERE.get(name) or ("loopbook.events" if name[:1].isupper() else None)
    if where is None:
        raise AttributeError(f"module 'loopbook' has no attribute {name!r}")
    try:
        return getattr(import_module(where), name)
    except AttributeError:
        raise AttributeError(f"module 'loopbook' has no attribute {name!r}") from None
