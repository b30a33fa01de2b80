"""Store URLs: which store, and how careful.

=======================================  =====================================================
``sqlite:///books.db``                   a file, from the current folder
``sqlite:////var/lib/books.db``          a file, absolute
``books.db``, ``~/books.db``             a plain path is the same file
``sqlite:///b.db?synchronous=full``      wait for the disk at every save (default ``normal``)
``sqlite:///b.db?timeout=30``            seconds to wait for another writer (default 10)
``memory:``                              gone with the process
``postgresql://me@host/books``           a database that several machines share
``postgresql://host/books?schema=team``  its tables in a schema (default ``public``)
``postgresql://host/books?timeout=30``   seconds to wait for another writer (default 5)
=======================================  =====================================================

Nothing in a path to a file is percent-decoded, so every path can be written as it is.

A PostgreSQL URL is one of libpq's: whatever libpq knows may stand after ``?`` (``sslmode``,
``host`` for a socket's folder, ``connect_timeout``). It names host and database itself: no variable
of the environment chooses a store. Who one is and how the line is secured may come from where
libpq's users keep it: ``PGUSER``, ``PGPASSWORD``, ``PGPASSFILE`` (``~/.pgpass``), ``PGSSLMODE`` and
the like. A password within the URL is never shown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, unquote

from loopbook.errors import StoreURLInvalid

#: Seconds that a writer waits for another one. SQLite's lock is not fair: with 16 busy writers
#: waits of a second happen, so this lies well above.
BUSY_SECONDS = 10.0
#: The same for PostgreSQL, whose locks are fair.
LOCK_SECONDS = 5.0


class Hidden(str):
    """A text that holds a password: whoever prints what holds it does not print it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class StoreURL(NamedTuple):
    """A store URL, read. ``path`` is absolute for SQLite and ``None`` for the others.

    ``full``: every save waits until the disk has it, so that not even power loss takes one away.
    ``server`` is the PostgreSQL URL without our own options, its password within; ``schema`` where
    its tables are. Shown, it has no password.

    >>> parse_url("postgresql://me:secret@host/books?schema=team")
    StoreURL('postgresql://me:***@host/books?schema=team')
    """

    path: Path | None
    full: bool = False
    busy_seconds: float = BUSY_SECONDS
    server: str = ""
    schema: str = "public"

    @property
    def kind(self) -> Literal["memory", "sqlite", "postgresql"]:
        """What sort of store it is."""
        return "sqlite" if self.path else "postgresql" if self.server else "memory"

    def __str__(self) -> str:
        if not self.server:
            return "memory:" if self.path is None else f"sqlite:///{self.path}"
        schema = (
            "" if self.schema == "public" else f"{'&' if '?' in self.server else '?'}schema={self.schema}"
        )
        return without_password(self.server) + schema

    def __repr__(self) -> str:
        return f"StoreURL({str(self)!r})"


def parse_url(url: str) -> StoreURL:
    """Read a store URL. Raises ``StoreURLInvalid``.

    >>> parse_url("memory:")
    StoreURL('memory:')
    >>> parse_url("sqlite:////tmp/b.db?synchronous=full").full
    True
    >>> parse_url("mysql://host/books")
    Traceback (most recent call last):
    loopbook.errors.StoreURLInvalid: no store is known by 'mysql://'; nothing was opened; write \
sqlite:///path/to/books.db, postgresql://host/books or memory:
    """
    if url == "memory:":
        return StoreURL(None)
    scheme, mark, rest = url.partition("://")
    try:
        os.fsencode(url)
    except UnicodeEncodeError:
        raise _invalid(scheme if mark else url, "it holds half of a character") from None
    if not mark:
        return _sqlite(url, "")
    if scheme in _SCHEMES:
        return _postgres(scheme, rest)
    if scheme != "sqlite":
        raise StoreURLInvalid(
            f"no store is known by {scheme[:40] + '://'!r}; nothing was opened;"
            " write sqlite:///path/to/books.db, postgresql://host/books or memory:"
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


_USER = re.compile(r"[^:@/?]*:(?P<password>.*)@", re.DOTALL)
_SCHEMES = frozenset({"postgresql", "postgres"})
_PORT = re.compile(r"[0-9]+([/?]|$)")
_SECRET = frozenset({"password", "sslpassword"})


def without_password(url: str) -> str:
    """A store URL as it may be shown: ``***`` for any password within.

    >>> without_password("postgres://me:p@ss@host/books?sslpassword=x&sslmode=require")
    'postgres://me:***@host/books?sslpassword=***&sslmode=require'
    """
    scheme, _, rest = url.partition("://")
    if scheme not in _SCHEMES:
        return url
    # A password that should have been percent-encoded may hold anything: all up to the last @ goes.
    in_front = "@" in rest.partition("?")[0]
    found = _USER.match(rest.partition("?")[0] if in_front else rest)
    if found and (in_front or not _PORT.match(found["password"])):
        rest = f"{rest[: found.start('password')]}***{rest[found.end('password') :]}"
    where, mark, query = rest.partition("?")
    parts = (part.partition("=") for part in query.split("&"))
    shown = (
        f"{key}=***" if unquote(key).lower() in _SECRET else key + eq + value for key, eq, value in parts
    )
    return f"{scheme}://{where}{mark}{'&'.join(shown)}"


_POSTGRES = "write postgresql://user@host/database"
_HOST = re.compile(r"(\[[^]]*\]|[^:\[\]]*)(:[0-9]*)?")
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")


def _postgres(scheme: str, rest: str) -> StoreURL:
    where, mark, query = rest.partition("?")
    parts = query.split("&") if mark else []
    options = dict(parse_qsl(query, keep_blank_values=True))
    authority, _, database = where.partition("/")
    hosts = authority.rpartition("@")[2]
    wrong = (
        "what is special in user and password is written %40 for @, %2F for /"
        if "@" in database or not all(map(_HOST.fullmatch, hosts.split(",")))
        else "it names no host"
        if hosts.startswith(":") or not (hosts or options.get("host") or options.get("hostaddr"))
        else "it names no database"
        if not (database or options.get("dbname"))
        else "it holds a NUL"
        if "\0" in unquote(rest)
        else ""
    )
    # In short: a URL that is wrong may hold its password anywhere.
    if wrong:
        raise _invalid(f"{scheme}://...", wrong, _POSTGRES)
    schema = options.get("schema", "public")
    if not _SCHEMA.fullmatch(schema):
        why = "a schema's name is 1 to 41 letters, digits and underscores"
        raise _invalid(f"schema={schema}", why, _POSTGRES)
    theirs = [part for part in parts if part.partition("=")[0] not in {"schema", "timeout"}]
    server = f"{scheme}://{where}{'?' if theirs else ''}{'&'.join(theirs)}"
    return StoreURL(None, True, _seconds(options.get("timeout", str(LOCK_SECONDS))), Hidden(server), schema)


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


_SQLITE = "write sqlite:///path/to/books.db or memory:"


def _invalid(url: str, why: str, remedy: str = _SQLITE) -> StoreURLInvalid:
    return StoreURLInvalid(f"{url[:200]!r} is no store URL: {why}; nothing was opened; {remedy}")
