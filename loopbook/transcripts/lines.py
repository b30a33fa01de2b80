"""A session file, line by line: whatever stands in it, objects come out and nothing is fatal.

Theory. A session file is written by somebody else, while we read, by a program that may be
killed in the middle of a line. So a line is read alone: one that is no JSON object is passed
over, one that can be mended is mended, and what happened is said once, with its line number.
Three rules follow.

1. A line never decides about another one: the objects of a file's first k lines are the first
   objects of the whole file. A torn last line is no object, since no proper prefix of one is.
2. Memory is bounded by one line, and a line by ``LINE_CAP``: a longer one is counted, not held.
3. What is handed on can be stored anywhere: no lone surrogate, no nesting deeper than the
   parser's own limit (200).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from pydantic_core import from_json

from loopbook.evidence.text import clean

#: Longest line that is read, in bytes. The longest real one we know has 4 MB.
LINE_CAP = 16 * 1024 * 1024
#: How many problems are listed; all are counted.
PROBLEMS_LISTED = 100

_PIECE = 1024 * 1024
_BOM = b"\xef\xbb\xbf"

CRLF = "lines end with CR and LF; read as if they ended with LF"
BLANK = "a blank line; passed over"
BOM = "a byte order mark; passed over"
NULS = "NUL bytes around a record; they were passed over"
NOT_UTF8 = "not UTF-8 in places; the wrong bytes were replaced"
SURROGATES = "half a character (a lone surrogate); it was replaced"
NOT_OBJECT = "not a JSON object; passed over"
NOT_JSON = "not JSON; passed over"
TORN = "the last line is torn; passed over"
TOO_DEEP = "nested too deeply; passed over"


class Problem(NamedTuple):
    """What was wrong with a line (1-based) and what was made of it."""

    line: int
    what: str


class Problems:
    """The problems of one file: the first ``PROBLEMS_LISTED`` are listed, all are counted.

    >>> problems = Problems()
    >>> problems.add(7, NOT_JSON)
    >>> problems.once(8, BLANK); problems.once(9, BLANK)
    >>> problems.listed, problems.total
    ([Problem(line=7, what='not JSON; passed over'), Problem(line=8, what='a blank line; passed over')], 2)
    """

    def __init__(self) -> None:
        self.listed: list[Problem] = []
        self.total = 0
        self._said: set[str] = set()

    def add(self, line: int, what: str) -> None:
        """Something was lost or mended in this line."""
        self.total += 1
        if len(self.listed) < PROBLEMS_LISTED:
            self.listed.append(Problem(line, what))

    def once(self, line: int, what: str) -> None:
        """Something harmless that may be true of every line: only its first line is named."""
        if what not in self._said and len(self._said) < PROBLEMS_LISTED:
            self._said.add(what)
            self.add(line, what)


class Line(NamedTuple):
    """One object of a file: its 1-based line, the bytes read up to its end, its own bytes, its fields."""

    number: int
    end: int
    size: int
    record: dict[str, object]


def read_lines(stream: BinaryIO, problems: Problems, *, cap: int = LINE_CAP) -> Iterator[Line]:
    """The JSON objects of a stream of lines, in order; everything else goes to ``problems``.

    >>> import io
    >>> found = Problems()
    >>> [(line.number, line.record) for line in read_lines(io.BytesIO(b'{"a":1}\\n[2]\\n{"a":3'), found)]
    [(1, {'a': 1})]
    >>> [problem.line for problem in found.listed]
    [2, 3]
    """
    end = 0
    for number, raw in enumerate(_raw_lines(stream, cap), 1):
        end += raw.size
        if raw.data is None:
            problems.add(number, f"a line of {raw.size:,} bytes, longer than {cap:,}; passed over")
        elif record := _object(raw, number, problems):
            yield Line(number, end, raw.size, record)


class _Raw(NamedTuple):
    data: bytes | None  # None: longer than the cap, and gone
    size: int
    ended: bool


def _raw_lines(stream: BinaryIO, cap: int) -> Iterator[_Raw]:
    parts: list[bytes] = []
    size = 0
    while piece := stream.readline(_PIECE):
        size += len(piece)
        if size <= cap:
            parts.append(piece)
        else:
            parts.clear()
        if piece.endswith(b"\n"):
            yield _Raw(b"".join(parts) if size <= cap else None, size, ended=True)
            parts, size = [], 0
    if size:
        yield _Raw(b"".join(parts) if size <= cap else None, size, ended=False)


def _object(raw: _Raw, number: int, problems: Problems) -> dict[str, object] | None:
    data = raw.data or b""
    if data[-2:] == b"\r\n":
        problems.once(number, CRLF)
    data = data.strip()
    if data[:1] != b"{" or data[-1:] != b"}":
        data = _bare(data, number, problems)
        if data[:1] != b"{":
            if data:
                problems.add(number, NOT_OBJECT if raw.ended else TORN)
            return None
    try:
        record = from_json(data)
    except ValueError as error:
        record = _mended(data, str(error), raw, number, problems)
    return record or None  # an empty object says nothing


def _bare(data: bytes, number: int, problems: Problems) -> bytes:
    """The line without what may stand around a record: a byte order mark, NUL padding."""
    if not data:
        problems.once(number, BLANK)
        return data
    if data.startswith(_BOM):
        problems.once(number, BOM)
        data = data[3:]
    bare = data.strip(b"\x00 \t\r\n")
    if len(bare) != len(data) and b"\x00" in data:
        problems.add(number, NULS)
    return bare


def _mended(data: bytes, error: str, raw: _Raw, number: int, problems: Problems) -> dict[str, object] | None:
    """A second, slower try for what the fast parser refuses: wrong bytes, halves of characters."""
    text = data.decode("utf-8", "replace")
    try:
        # The detour over json.dumps joins what belongs together and leaves lone halves in sight.
        plain = clean(json.dumps(json.loads(text), ensure_ascii=False))
        record: dict[str, object] = from_json(plain)
    except RecursionError:
        problems.add(number, TOO_DEEP)
    except ValueError as second:
        deep = "recursion limit" in f"{error} {second}"
        problems.add(number, TOO_DEEP if deep else NOT_JSON if raw.ended else TORN)
    else:
        problems.add(number, SURROGATES if "hex escape" in error else NOT_UTF8)
        return record
    return None
