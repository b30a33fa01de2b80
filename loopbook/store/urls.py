"""Store URLs: which store, and how careful.

=======================================  =====================================================
``sqlite:///books.db``                   a file, from the current folder
``sqlite:////var/lib/books.db``          a file, absolute
``books.db``, ``~/books.db``             a plain path is the same file
``sqlite:///b.db?synchronous=full``      wait for the disk at every save (default ``normal``)
``sqlite:///b.db?timeout=30``            seconds to wait for another writer (default 10)
``memory:``                              gone with the process
``postgresql://...``                     several machines; needs the extra ``postgres``
=======================================  =====================================================

Nothing in a path is percent-decoded, so every path can be written as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from loopbook.errors import StoreUnavailable, StoreURLInvalid

#: Seconds that a writer waits for another one. SQLite's lock is not fair: with 16 busy writers
#: waits of a second happen, so this lies well above.
BUSY_SECONDS = 10.0


class StoreURL(NamedTuple):
    """A store URL, read. ``path`` is absolute for SQLite and ``None`` for memory.

    ``full``: every save waits until the disk has it, so that not even power loss takes one away.
    """

    path: Path | None
    full: bool = False
    busy_seconds: float = BUSY_SECONDS

    def __str__(self) -> str:
        return "memory:" if self.path is None else f"sqlite:///{self.path}"


def parse_url(url: str) -> StoreURL:
    """Read a store URL. Raises ``StoreURLInvalid``; for PostgreSQL ``StoreUnavailable``.

    >>> parse_url("memory:")
    StoreURL(path=None, full=False, busy_seconds=10.0)
    >>> parse_url("sqlite:////tmp/b.db?synchronous=full").full
    True
    >>> parse_url("mysql://host/books")
    Traceback (most recent call last):
    loopbook.errors.StoreURLInvalid: no store is known by 'mysql://'; nothing was opened; write \
sqlite:///path/to/books.db or memory:
    """
    if url == "memory:":
        return StoreURL(None)
    scheme, mark, rest = url.partition("://")
    if not mark:
        return _sqlite(url, "")
    if scheme in {"postgresql", "postgres"}:
        raise StoreUnavailable(
            "PostgreSQL stores are not supported by this version; nothing was opened;"
            " write sqlite:///path/to/books.db, or upgrade and install loopbook[postgres]"
        )
    if scheme != "sqlite":
        raise StoreURLInvalid(
            f"no store is known by {scheme[:40] + '://'!r}; nothing was opened;"
            " write sqlite:///path/to/books.db or memory:"
        )
    if not rest.startswith("/"):
        raise _invalid(url, "after sqlite: come three slashes and the path, four if it is absolute")
    path, _, query = rest[1:].partition("?")
    return _sqlite(path, query)


def _sqlite(path: str, query: str) -> StoreURL:
    if not path.strip() or "\0" in path:
        raise _invalid(path, "it names no file")
    if ":memory:" in path:
        raise _invalid(path, "a store in memory is written memory:")
    options = dict(parse_qsl(query, keep_blank_values=True))
    full = _full(options.pop("synchronous", "normal"))
    busy_seconds = _seconds(options.pop("timeout", str(BUSY_SECONDS)))
    if options or (query and "=" not in query):
        raise _invalid(f"?{query}", "after ? may stand synchronous=normal|full and timeout=SECONDS")
    # One file has one name, wherever the process changes its folder to.
    try:
        file = Path(path).expanduser().absolute()
    except (OSError, RuntimeError):  # no home folder to expand ~ with, no current folder
        raise _invalid(path, "its folder cannot be found") from None
    return StoreURL(file, full, busy_seconds)


def _full(synchronous: str) -> bool:
    if synchronous not in {"normal", "full"}:
        raise _invalid(f"synchronous={synchronous}", "synchronous is normal or full")
    return synchronous == "full"


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 3600:
        raise _invalid(f"timeout={value}", "timeout is a number of seconds from 0 to 3600")
    return seconds


def _invalid(url: str, why: str) -> StoreURLInvalid:
    return StoreURLInvalid(
        f"{url[:200]!r} is no store URL: {why}; nothing was opened;"
        " write sqlite:///path/to/books.db or memory:"
    )
