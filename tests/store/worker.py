"""Another process at the same store: takes one command a line on stdin, answers one line on stdout.

``python -m tests.store.worker``. The commands are the methods of ``Worker``, as JSON: [name, ...].
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from io import BytesIO
from typing import IO, cast

from pydantic import TypeAdapter

from loopbook.books import Books
from loopbook.errors import (
    AlreadyUsed,
    CannotFork,
    CannotScrub,
    LoopbookError,
    NoSuchLoop,
    StoreUnavailable,
)
from loopbook.events import Task, TodoOpened
from loopbook.loop import Loop
from loopbook.projections import BookState
from loopbook.store import parse_url
from loopbook.upkeep.forget import forget
from loopbook.upkeep.importing import import_lines
from loopbook.upkeep.scrub import Asked, scrub
from loopbook.upkeep.transfer import books_of, write
from tests.conftest import ROOT

STATE = TypeAdapter(BookState)


class Worker:
    """What the other process can do."""

    def __init__(self) -> None:
        self.books = Books.open("memory:")

    def open(self, url: str) -> str:
        self.books.close()
        self.books = Books.open(url)
        return self.books.url

    def start(self, loop: str) -> str:
        return self.books.start("chore", "x", id=loop).id

    def record(self, loop: str, who: str, n: int) -> int:
        book = self.books.loop(loop)
        return sum(len(book.record(Task(text=f"{who}-{i}"), host_ref=f"{who}-{i}")) for i in range(n))

    def fill(self, url: str, loop: str, who: str, n: int, hold: float) -> int:
        """Open a store that may not be there, and record; first, for ``hold`` seconds, let nobody write."""
        self.open(url)
        with suppress(AlreadyUsed):
            self.books.start("chore", "x", id=loop)
        if hold:
            self._hold(url, hold)
        return self.record(loop, who, n)

    @staticmethod
    def _hold(url: str, seconds: float) -> None:
        path = parse_url(url).path
        if path is not None:
            with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                time.sleep(seconds)
            return
        import psycopg  # noqa: PLC0415 - an extra

        with psycopg.connect(url) as server:
            server.execute("LOCK TABLE stored_events IN EXCLUSIVE MODE")
            time.sleep(seconds)

    def list(self) -> int:
        return len(self.books.list())

    def state(self, loop: str) -> object:
        return STATE.dump_python(self.books.loop(loop).state, mode="json")

    def hold(self, loop: str, n: int) -> int:
        """Record into a loop that others forget and begin anew; how often it was there."""
        held, there = Loop(self.books.book, loop, self.books.session), 0
        for i in range(n):
            with suppress(NoSuchLoop, AlreadyUsed):
                there += len(held.record(Task(text=f"held {i}"), TodoOpened(todo=f"h{i}", subject="s")))
        return there

    def fork(self, parent: str, n: int) -> int:
        """Fork a loop that others forget and scrub, and record into the forks; how many there were."""
        forks = 0
        for i in range(n):
            with suppress(NoSuchLoop, CannotFork, AlreadyUsed):
                self.books.fork(parent, 2 + i % 2, new_id=f"{parent}-{i}").record(Task(text="in a fork"))
                forks += 1
        return forks

    def churn(self, loop: str, n: int) -> int:
        """Begin a loop, scrub it, forget it, bring it back; how often others let it be done."""
        done = 0
        for i in range(n):
            with suppress(AlreadyUsed):
                self.books.start("chore", f"{i}", id=loop)
            with suppress(NoSuchLoop, CannotScrub, StoreUnavailable):
                book = self.books.loop(loop)
                book.record(Task(text=f"{i} secret-{i}"), Task(text="more"))
                scrub(self.books.book, Asked(book.stream, text=f"secret-{i}"), datetime.now(UTC))
                file = BytesIO()
                write(books_of(self.books.book, [book.stream]), file)
                forget(self.books.book, loop, now=datetime.now(UTC), with_forks=True)
                if i % 2:
                    import_lines(self.books.book, BytesIO(file.getvalue()))
                done += 1
        return done

    def forever(self, loop: str) -> None:
        """Record, and say of each event that it is in: for a test that kills."""
        book, n = self.books.loop(loop), 0
        while True:
            n += 1
            print(json.dumps(book.record(Task(text=f"t{n}"))[0].seq), flush=True)


class Process:
    """The side of the test: sends commands and reads answers."""

    def __init__(self) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.store.worker"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._in = cast("IO[str]", self.popen.stdin)
        self._out = cast("IO[str]", self.popen.stdout)

    def send(self, *command: object) -> None:
        self._in.write(json.dumps(command) + "\n")
        self._in.flush()

    def read(self) -> object:
        answer = json.loads(self._out.readline())
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(answer["error"])
        return answer

    def ask(self, *command: object) -> object:
        self.send(*command)
        return self.read()

    def rest(self) -> list[str]:
        return self._out.readlines()

    def end(self) -> None:
        self._in.close()

    def close(self) -> None:
        self.end()
        self._out.close()
        self.popen.wait(30)


@contextmanager
def processes(n: int) -> Iterator[list[Process]]:
    """``n`` processes, ended afterwards."""
    started = [Process() for _ in range(n)]
    try:
        yield started
    finally:
        for process in started:
            process.end()
        for process in started:
            process.close()


def main() -> None:
    worker = Worker()
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = getattr(worker, name)(*arguments)
        except LoopbookError as wrong:
            answer = {"error": f"{type(wrong).__name__}: {wrong}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
