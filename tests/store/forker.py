"""A process that forks while its threads write: ``python -m tests.store.forker URL FORKS``.

Each child records into the same loop through the books it was given, and ends. Printed is how many
entries each one wrote, as JSON, or who did not end.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress

from loopbook.books import Books
from loopbook.events import Task
from loopbook.loop import Loop

#: Entries of each child, and the seconds within which it must have ended.
EACH, PATIENCE = 5, 60.0


def write(loop: Loop, who: str, stop: threading.Event, written: dict[str, int]) -> None:
    """Write until it is told to stop."""
    while not stop.is_set():
        written[who] = written.get(who, 0) + len(loop.record(Task(text=f"{who}-{written.get(who, 0)}")))


def record(loop: Loop, who: str) -> None:
    """What a child does."""
    for n in range(EACH):
        loop.record(Task(text=f"{who}-{n}"))


def plainly_forked(loop: Loop, who: str) -> int | None:
    """A child by ``os.fork``; its exit code, ``None`` where it never ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            record(loop, who)
            code = 0
        finally:
            os._exit(code)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def by_multiprocessing(loop: Loop, who: str) -> int | None:
    """A child by ``multiprocessing``."""
    process = multiprocessing.get_context("fork").Process(target=record, args=(loop, who))
    process.start()
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
        return None
    return process.exitcode


def main() -> None:
    """Write, fork, and say what came of it."""
    warnings.simplefilter("ignore", DeprecationWarning)  # a process with threads forks: that is the point
    url, forks = sys.argv[1], int(sys.argv[2])
    written: dict[str, int] = {}
    stop = threading.Event()
    with Books.open(url) as books:
        loop = books.start("chore", "x", id="a")
        threads = [
            threading.Thread(target=write, args=(loop, f"thread{n}", stop, written), daemon=True)
            for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for n in range(forks):
            fork = by_multiprocessing if n % 4 == 3 else plainly_forked
            code = fork(loop, f"child{n}")
            if code != 0:
                print(json.dumps(f"child {n}: {'never ended' if code is None else f'exit code {code}'}"))
                os._exit(1)
            written[f"child{n}"] = EACH
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    print(json.dumps(written))


if __name__ == "__main__":
    main()
