"""Processes that settle one book at once: ``python -m tests.proofs.fleet``, forked from one that is ready.

One JSON line on stdin says what to do, one on stdout what each process was told.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from random import Random
from typing import NamedTuple, cast

from loopbook.books import Books
from loopbook.entry import Entry
from loopbook.events import Change, Check, Event, Prompted, Review, RunSettled, TodoOpened
from loopbook.judges.scripted import Scripted
from loopbook.loop import Loop
from tests.conftest import ROOT

MOVES = ("advance", "back", "ask_user")
#: How long a process waits for the others to come to the same run, in seconds.
MEET_SEC = 60.0


class Told(NamedTuple):
    """What one process was told: entries that were acknowledged (seq and type), seqs of its advice."""

    acknowledged: list[tuple[int, str]]
    advice: list[int]


def race(url: str, loop: str, *, processes: int, turns: int) -> list[Told]:
    """Let so many processes settle a loop so many times each. Raises ``AssertionError`` for any error."""
    order = json.dumps({"url": url, "loop": loop, "processes": processes, "turns": turns})
    command = [sys.executable, "-m", "tests.proofs.fleet"]
    done = subprocess.run(command, cwd=ROOT, input=order, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Told([(seq, word) for seq, word in one[0]], one[1]) for one in json.loads(done.stdout)]


def _evidence(chance: Random, me: str, turn: int) -> Event:
    """Anything that a run might leave."""
    choices: list[Event] = [
        Change(summary=f"{me} {turn}", paths=("a.py",)),
        Check(command="pytest", outcome="pass"),
        Check(command="pytest", outcome="fail"),
        Review(tier="light", reviewer=me),
        TodoOpened(todo=f"{me}-{turn}", subject="later"),
        Prompted(prompt=f"{me}-{turn}", text="go on"),
    ]
    return chance.choices(choices, (4, 3, 2, 2, 1, 1))[0]


def _settle(loop: Loop, me: str, turns: int, together: Barrier) -> Told:
    """Every other run is settled by all of them at once."""
    chance = Random(me)
    lines: list[Mapping[str, object]] = [
        {
            "move": chance.choice(("advance", "back", "ask_user")),
            "done": 0.9,
            "review_tier": tier,
            "quality": 3,
        }
        for tier in chance.choices(("none", "light"), k=4 * turns)
    ]
    judge = Scripted(lines)
    written: list[Entry] = []
    advice: list[int] = []
    for turn in range(turns):
        written += loop.record(_evidence(chance, me, turn))
        if turn % 2:
            together.wait(MEET_SEC)
        run = f"all-{turn}" if turn % 2 else f"{me}-{turn}"
        if (came := loop.settle_blocking(RunSettled(run=run), judge=judge)) is not None:
            advice.append(came.seq)
    return Told([(entry.seq, entry.event.type) for entry in written], advice)


def _process(order: Mapping[str, object], me: str, together: Barrier, told: Connection) -> None:
    with Books.open(str(order["url"]), session=me) as books:
        told.send(_settle(books.loop(str(order["loop"])), me, cast("int", order["turns"]), together))


def main() -> None:
    """Fork, and tell what each was told; whatever goes wrong in one goes to stderr."""
    order: dict[str, object] = json.loads(sys.stdin.read())
    count = cast("int", order["processes"])
    fork = multiprocessing.get_context("fork")
    together = fork.Barrier(count)
    started = []
    for n in range(count):
        here, there = fork.Pipe(duplex=False)
        process = fork.Process(target=_process, args=(order, f"p{n}", together, there))
        process.start()
        there.close()
        started.append((process, here))
    told = []
    for process, here in started:
        told.append(here.recv())
        process.join()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
