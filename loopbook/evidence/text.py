"""Cutting and tidying text, exactly and in linear time.

Lengths are code points everywhere. Nothing here raises for any string, lone surrogates, NUL
and megabytes on one line among them; each function is its own fixed point: applied twice it
gives what it gave once.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

#: Room for the mark of ``head_tail``; a cut that would save no more than this is not made.
MARK_ROOM = 48

_SURROGATES = re.compile("[\ud800-\udfff]")
# CSI, then OSC (ends with BEL or ST, on one line), then any other escape; a stray ESC goes too.
# Every branch begins at an ESC and stops before the next one, so the scan is linear.
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]"
    r"|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)"
    r"|[ -/]++[0-~]"
    r"|[0-Z\\^-~])?"
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BLANK_LINES = re.compile(r"\n{3,}")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern from a table, compiled where it is first needed: a process needs few of them.

    >>> compiled("a+").fullmatch("aa") is not None
    True
    """
    return re.compile(pattern)


def clean(text: str) -> str:
    """The text with every surrogate code point replaced by U+FFFD, so that it can be UTF-8.

    >>> clean("a\\ud83d") == "a\\ufffd"
    True
    """
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def head(text: str, n: int) -> str:
    """The first ``n`` characters; nothing for ``n`` below 1.

    >>> head("abcdef", 2)
    'ab'
    """
    return text[: max(n, 0)]


def tail(text: str, n: int) -> str:
    """The last ``n`` characters; nothing for ``n`` below 1.

    >>> tail("abcdef", 2)
    'ef'
    """
    return text[-n:] if n > 0 else ""


def head_tail(text: str, n: int) -> str:
    """The first and the last ``n`` characters, with a mark that says how many were left out.

    At most ``2 * n + MARK_ROOM`` characters; a text no longer than that comes back whole, so
    the mark never makes it longer.

    >>> head_tail("a" * 100 + "z" * 100, 3)
    'aaa\\n[... 194 characters left out ...]\\nzzz'
    >>> head_tail("short", 3)
    'short'
    """
    left_out = len(text) - 2 * max(n, 0)
    if left_out <= MARK_ROOM:
        return text
    return f"{head(text, n)}\n[... {left_out} characters left out ...]\n{tail(text, n)}"


def one_line(text: str, n: int) -> str:
    """The text on one line of at most ``n`` characters, safe to print: no escapes, no controls.

    Runs of whitespace become one blank; a cut shows as an ellipsis.

    >>> one_line("All  tests\\n pass.", 40)
    'All tests pass.'
    >>> one_line("All tests pass.", 10)
    'All tests…'
    """
    line = " ".join(_CONTROLS.sub(" ", _ANSI.sub("", text)).split())
    return line if len(line) <= n else head(line, n - 1).rstrip() + "…" if n > 0 else ""


def tidy_output(text: str) -> str:
    """A command's output to keep: no ANSI escapes, LF line ends, no blanks at line ends.

    Three or more line ends become two, and the whole is stripped.

    >>> tidy_output("\\x1b[32mok\\x1b[0m  \\r\\n\\r\\n\\r\\n12 passed\\r\\n")
    'ok\\n\\n12 passed'
    """
    plain = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    # A regex for blanks at line ends would be quadratic in a long run of blanks.
    stripped = "\n".join(line.rstrip(" \t") for line in plain.split("\n"))
    return _BLANK_LINES.sub("\n\n", stripped).strip()


def digest16(text: str) -> str:
    """The first 16 hex digits of SHA-256 over the text's UTF-8 bytes: enough to compare outputs.

    >>> digest16("")
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(clean(text).encode()).hexdigest()[:16]
