"""Command lines in forks of one process: ``python -m tests.cli.forks PLAN``.

A process for each of a thousand command lines would take minutes; a fork of one that has everything
imported takes milliseconds. Each has its streams as a shell would have given them: closed, full, read by
nobody, a terminal. The encoding of the streams is that of this process, and so is whatever else a
program is told when it starts.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import loopbook
from loopbook.cli import main
from loopbook.events import BY_TYPE

#: The code of a fork in which ``main`` itself raised, and of one whose output fails when it ends.
RAISED, LOST = 99, 120


class Line(NamedTuple):
    """A command line, the folder it is run in, what it reads, and where its output goes.

    ``told`` is a file of which the endings ``.out`` and ``.err`` are written.
    """

    argv: Sequence[str]
    folder: str
    told: str
    environ: Mapping[str, str] = {}
    stdin: str | None = os.devnull  # ``None``: closed
    stdout: str = "file"  # or: closed, gone, full, terminal
    stderr: str = "file"  # or: closed, gone, full


class Ended(NamedTuple):
    """How it ended, and what it printed."""

    code: int
    out: str
    err: str


def everything() -> None:
    """Import the whole package, save what needs a driver that is not here, and build what is built late."""
    for module in pkgutil.walk_packages(loopbook.__path__, "loopbook."):
        with suppress(ImportError):
            import_module(module.name)
    for event in BY_TYPE.values():
        event.model_rebuild()
    gc.freeze()  # what is here is not to be copied into every fork by looking at it


def fork(line: Line) -> Ended:
    """Run it and wait for its end."""
    out, err = Path(line.told + ".out"), Path(line.told + ".err")
    master, slave = os.openpty() if line.stdout == "terminal" else (-1, -1)
    child = os.fork()
    if child == 0:
        os._exit(_run(line, out, err, slave))
    printed = b""
    if master >= 0:
        os.close(slave)
        printed = b"".join(_read(master))
        os.close(master)
    _, status = os.waitpid(child, 0)
    printed = printed or (out.read_bytes() if out.exists() else b"")
    told = err.read_bytes() if err.exists() else b""
    return Ended(os.waitstatus_to_exitcode(status), *(text.decode("latin-1") for text in (printed, told)))


def _read(master: int) -> Iterator[bytes]:
    with suppress(OSError):  # the end of a terminal
        while some := os.read(master, 65536):
            yield some


def _run(line: Line, out: Path, err: Path, terminal: int) -> int:
    try:
        os.chdir(line.folder)
        os.environ.update(line.environ)
        _stream(2, line.stderr, err, terminal)
        _stream(1, line.stdout, out, terminal)
        _stdin(line.stdin)
        sys.argv = ["loopbook", *line.argv]
        code = main()
    except BaseException:  # noqa: BLE001 - that none comes out is what is tested
        traceback.print_exc()
        return RAISED
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except OSError:
        return LOST
    return code


def _stream(number: int, how: str, file: Path, terminal: int) -> None:
    """Give a stream of this process to what it is to be."""
    if how == "closed":
        os.close(number)
        setattr(sys, {1: "stdout", 2: "stderr"}[number], None)
        return
    if how == "gone":
        reader, opened = os.pipe()
        os.close(reader)
    elif how == "terminal":
        opened = terminal
    else:
        path = "/dev/full" if how == "full" else str(file)
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(opened, number)
    os.close(opened)


def _stdin(file: str | None) -> None:
    if file is None:
        os.close(0)
        sys.stdin = None  # as Python has it then
        return
    opened = os.open(file, os.O_RDONLY)
    os.dup2(opened, 0)
    os.close(opened)


if __name__ == "__main__":
    everything()
    plan = [Line(**line) for line in json.loads(Path(sys.argv[1]).read_bytes())]
    Path(sys.argv[1]).write_text(json.dumps([fork(line) for line in plan]))
