"""The key of a judge's server: where it comes from, and how it stays where it is.

Theory. A key belongs to one server. ``LOOPBOOK_JUDGE_KEY`` goes to whatever server is asked;
``TYPESAFE_API_KEY`` only to TypeSafe, or to where ``TYPESAFE_BASE_URL`` says; a key file has a line
for each server. So a key goes nowhere because somebody changed an address. A ``Key`` shows where it
came from and never what it is: not in ``repr``, not in an error, not pickled.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from loopbook.errors import InvalidKey, KeyFileRefused
from loopbook.judges.system_one.address import Refused, origin_of
from loopbook.limits import JUDGE_URL
from loopbook.places import config_folder, make_own_folder

VARIABLE = "LOOPBOOK_JUDGE_KEY"
THEIR_VARIABLE = "TYPESAFE_API_KEY"
THEIR_URL = "TYPESAFE_BASE_URL"
FILE = "judge-keys"
#: A file of keys is a few lines; a key is a line.
FILE_BYTES, KEY_CHARS = 100_000, 4_000


class Key:
    """A key and where it is from.

    >>> Key("sk-very-secret", "$LOOPBOOK_JUDGE_KEY")
    <Key from $LOOPBOOK_JUDGE_KEY>
    """

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str) -> None:
        """Raises ``InvalidKey`` for what could not stand in a header."""
        bare = value.strip()
        if not bare or len(bare) > KEY_CHARS or not all("!" <= char <= "~" for char in bare):
            raise InvalidKey(
                f"the key from {source} is empty, or holds what no key holds (a blank, a line break, a letter"
                " that is not ASCII); nothing was sent; give the key alone"
            )
        self._value = bare
        self.source = source

    def reveal(self) -> str:
        """The key itself, for the one header that it goes into."""
        return self._value

    def __repr__(self) -> str:
        return f"<Key from {self.source}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled; find it again where it is needed")


def key_file(environ: Mapping[str, str]) -> Path:
    """Where the user's keys lie."""
    return config_folder(environ) / FILE


def find_key(base_url: str, environ: Mapping[str, str]) -> Key | None:
    """The key for a server, looked for anew each time: environment, then key file.

    Raises ``InvalidKey``, and ``KeyFileRefused`` for a file that others may read.
    """
    try:
        origin = origin_of(base_url)
    except Refused:
        return None
    if own := environ.get(VARIABLE, "").strip():
        return Key(own, f"${VARIABLE}")
    if (theirs := environ.get(THEIR_VARIABLE, "").strip()) and origin == _their_origin(environ):
        return Key(theirs, f"${THEIR_VARIABLE}")
    file = key_file(environ)
    value = _lines(file).get(origin)
    return None if value is None else Key(value, str(file))


def keep_key(base_url: str, value: str, environ: Mapping[str, str]) -> Path:
    """Write the key of a server into the user's file, in place of its former one; returns the file.

    Raises ``InvalidKey``, ``KeyFileRefused``, and ``OSError`` where it cannot be written.
    """
    try:
        origin = origin_of(base_url)
    except Refused as why:
        raise InvalidKey(f"{why}; no key was kept; correct judge_url first") from None
    file = key_file(environ)
    key = Key(value, "what was typed")
    kept = {**_lines(file), origin: key.reveal()}
    keep_rows(file, kept.items())
    return file


def keep_rows(file: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a file of rows for its owner alone, whole or not at all. Raises ``OSError``."""
    make_own_folder(file.parent)
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.writelines(" ".join(map(str, row)) + "\n" for row in rows)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)  # a key is not left behind where the disk was full


def _their_origin(environ: Mapping[str, str]) -> str:
    try:
        return origin_of(environ.get(THEIR_URL) or JUDGE_URL)
    except Refused:
        return ""


def _lines(file: Path) -> dict[str, str]:
    """The keys of a file by server; a file that is not there has none."""
    return {row[0]: row[1] for row in rows_of(file, 2)}


def rows_of(file: Path, width: int) -> list[list[str]]:
    """The rows of a file that only its owner may read, each of so many words; a file that is not there has
    none. Raises ``KeyFileRefused``."""
    try:
        with file.open("rb") as stream:
            if os.name != "nt":  # its permissions are no bits of a mode; the folder is the user's own
                must_be_own(file, os.fstat(stream.fileno()), os.geteuid())
            data = stream.read(FILE_BYTES)
    except FileNotFoundError:
        return []
    except KeyFileRefused:
        raise
    except OSError as wrong:
        raise KeyFileRefused(
            f"{file} cannot be read ({wrong.strerror}); no key was taken; make it readable or remove it"
        ) from None
    rows = [line.split() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if any(len(row) != width for row in rows):
        raise KeyFileRefused(
            f"{file} has a line that is not a server and its key; no key was taken;"
            " remove it and use: loopbook judge key set"
        )
    return rows


def must_be_own(file: Path, found: os.stat_result, user: int) -> None:
    """Raise ``KeyFileRefused`` for a file that others than this user and root may read.

    Whoever owns a file reads it, whatever its mode says, and nobody else but root can change that mode.
    """
    open_to_others = stat.S_IMODE(found.st_mode) & 0o077
    if found.st_uid not in (user, 0) or (open_to_others and found.st_uid != user):
        raise KeyFileRefused(
            f"{file} belongs to another user (uid {found.st_uid}, you are {user}); no key was taken;"
            f" remove it and use: loopbook judge key set, or have root give it to you: chown {user} {file}"
        )
    if open_to_others:
        raise KeyFileRefused(
            f"{file} may be read by others than its owner; no key was taken; close it with: chmod 600 {file}"
        )
