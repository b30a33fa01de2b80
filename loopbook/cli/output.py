"""Printing: what a book holds may be hostile, a terminal may be old, a reader may go away.

Texts are made harmless before they are printed: control characters (an ANSI sequence could
rewrite the screen), direction marks and lone surrogates are shown by number. JSON is ASCII, so
that every encoding carries it. A table is drawn on a terminal only; elsewhere its rows are
tab-separated, one a line, for ``cut`` and ``awk``.
"""

from __future__ import annotations

import io
import json
import os
import select
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from loopbook.audit.shown import visible
from loopbook.errors import InvalidEvent

if TYPE_CHECKING:
    from rich.console import Console

_BREAKS = {ord(char): " " for char in "\n\r\t"}
#: The longest error line, in characters: a screenful, not a book.
ERROR_CHARS = 2_000


def one_line(text: str) -> str:
    r"""``text`` on one line, with nothing in it that a terminal would obey.

    >>> one_line("red \x1b[31m, two\nlines")
    'red \\x1b[31m, two lines'
    """
    return visible(text.translate(_BREAKS))


def prepare_streams() -> None:
    """Let no character that the output's encoding lacks stop the program: it is shown by number.

    A stream that was closed before we began (``>&-``) goes nowhere, or has nothing to read, and nothing
    else gets its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open to the end
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_streams() -> None:
    """What is still to be written and cannot be goes nowhere, without a second complaint at the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def reader_gone() -> bool:
    """Whether nobody reads standard output any more: the other end of a pipe is closed.

    Where a system cannot tell before something is written (Windows), never.
    """
    if not hasattr(select, "poll"):
        return False
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # no file of the system's
        return False
    poll = select.poll()
    poll.register(output, select.POLLOUT)  # Linux would tell for nothing; macOS only who asks for something
    return any(told & (select.POLLERR | select.POLLHUP) for _, told in poll.poll(0))


def say(text: str = "") -> None:
    """Print one line of our own words and texts from a book."""
    sys.stdout.write(one_line(text) + "\n")


def complain(text: str) -> None:
    """Print one line on stderr, the name of the program before it."""
    line = one_line(text)
    if len(line) > ERROR_CHARS:
        line = line[: ERROR_CHARS - 1] + "…"
    sys.stderr.write(f"loopbook: {line}\n")


def say_json(value: Mapping[str, object]) -> None:
    """Print one JSON object that says which version of its shape it is."""
    sys.stdout.write(json.dumps({"version": 1, **value}, indent=2) + "\n")


def say_rows(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows: a table on a terminal, tab-separated lines elsewhere."""
    cells = ([one_line("" if cell is None else str(cell)) for cell in row] for row in rows)
    if sys.stdout.isatty():
        _draw(head, cells)
    else:
        sys.stdout.writelines("\t".join(row) + "\n" for row in cells)


def lines_of(widths: Mapping[str, int], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Rows as lines, each when it comes: on a terminal in columns so wide, under their heading; elsewhere
    tab-separated."""
    drawn = sys.stdout.isatty()
    if drawn:
        yield _padded(widths, widths.values())
    for row in rows:
        cells = [one_line(str(cell)) for cell in row]
        yield _padded(cells, widths.values()) if drawn else "\t".join(cells) + "\n"


def _padded(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n"


def _draw(head: Sequence[str], rows: Iterable[list[str]]) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    # What is too long is folded, not cut: half a path names nothing.
    columns = (Column(name, overflow="fold") for name in head)
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    console(sys.stdout).print(table)


def console(out: TextIO) -> Console:
    """A rich console that lets the program end as it must where nobody reads any more."""
    from rich.console import Console

    class Told(Console):
        def on_broken_pipe(self) -> None:  # rich would end the program with 1
            raise BrokenPipeError

    return Told(file=out, highlight=False)


#: What was to be read holds nothing: a pipe was forgotten, or what fills it has failed.
EMPTY = "standard input is empty"


def stdin_text() -> str:
    """All of standard input; what is no UTF-8 in it is marked."""
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def stdin_lines(stream: BinaryIO | None = None) -> Iterator[tuple[int, str]]:
    """The lines of standard input that hold something, each with its 1-based number.

    Raises ``InvalidEvent`` for a line that is no UTF-8 text, whatever the terminal's encoding.
    """
    for number, line in enumerate(stream or sys.stdin.buffer, 1):
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidEvent(f"line {number}: not UTF-8 text") from None
        if text.strip():
            yield number, text
