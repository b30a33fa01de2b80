"""Contention: how many events a second several processes get into one store, ours and raw.

Each process writes a stream of its own, one event at a time, as fast as it can, for some seconds.
All are made ready first: they have written an event of each sort, so that what a process does once is
not taken for the price of an event, and hold the next ones in memory. Raw is the driver of that store
writing the same rows, one event a transaction.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import IO, cast

from bench import raw
from bench.facts import SECRETS, all_drafts, opening
from bench.timing import Row, Sizes
from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.evidence.redaction import Redactor

ROOT = Path(__file__).resolve().parent.parent
#: No process gets through more events.
MOST = 40_000
#: Events that a process writes, and then makes, before it is ready.
WRITTEN, READY = 40, 4_000


def _ours(url: str, stream: str) -> Callable[[int], None]:
    book = Book(url, redactor=Redactor(SECRETS))
    drafts = chain.from_iterable(all_drafts(MOST))
    book.record(stream, Draft(opening()))
    for draft in islice(drafts, WRITTEN):
        book.record(stream, draft, session="bench")
    new = chain(list(islice(drafts, READY)), drafts)
    return lambda _: cast("None", book.record(stream, next(new), session="bench"))


def _rows(stream: str, number: int = 300) -> list[list[raw.RawRow]]:
    """The rows of some events, those of each event together."""
    book = Book("memory:")
    saves: list[list[raw.RawRow]] = []
    for draft in chain.from_iterable(all_drafts(number)):
        (entry,) = book.record(stream, draft)
        row = cast("raw.RawRow", tuple(book.records.codec.row(entry)))
        once = (f"once:{stream}:host_ref:{draft.host_ref}", 1, "reserved", row[3][:230])
        saves.append([row, once])
    return saves


def _again(saves: Sequence[Sequence[raw.RawRow]], number: int) -> list[raw.RawRow]:
    """The rows of an event, under the version and key that they have not had yet."""
    at, turn = number % len(saves), number // len(saves)
    event, once = saves[at]
    return [(event[0], number + 1, *event[2:]), (f"{once[0]}:{turn}", *once[1:])]


def _raw_sqlite(url: str, stream: str) -> Callable[[int], None]:
    driver = raw.attach(Path(url.removeprefix("sqlite:///")))
    saves = _rows(stream)
    return lambda number: raw.save(driver, _again(saves, number))


def _raw_postgres(url: str, stream: str) -> Callable[[int], None]:
    import psycopg  # noqa: PLC0415 - an extra

    driver = psycopg.connect(url.partition("&schema=")[0], autocommit=True)
    saves = _rows(stream)

    def save(number: int) -> None:  # one statement, which is a transaction: one round trip, as ours
        rows = _again(saves, number)
        places = ",".join(["(%s,%s,%s,%b)"] * len(rows))
        driver.execute(f"INSERT INTO raw_events VALUES {places}", list(chain.from_iterable(rows)))

    return save


def work(how: str, url: str, stream: str) -> None:
    """A process: makes ready, says so, waits for a line, writes until its time is over, tells."""
    begin = {"ours": _ours, "raw": _raw_postgres if url.startswith("postgresql") else _raw_sqlite}[how]
    save = begin(url, stream)
    print("ready", flush=True)
    asked = sys.stdin.readline()
    if not asked:  # whoever started it is gone
        return
    lasting, done, errors = float(asked), 0, 0
    until = monotonic() + lasting
    while monotonic() < until and done < MOST - WRITTEN:
        try:
            save(done)
            done += 1
        except Exception as wrong:  # noqa: BLE001 - whatever goes wrong is counted
            errors += 1
            print(wrong, file=sys.stderr)
            if errors > 100:
                break
    print(json.dumps([done, errors]), flush=True)


def _contend(how: str, url: str, processes: int, lasting: float) -> tuple[float, int]:
    """Events a second of all processes, and their errors."""
    name = f"{how}-{processes}"
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.contention", how, url, f"session:bench:{name}-{number}"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(processes)
    ]  # fmt: skip
    for worker in workers:
        cast("IO[str]", worker.stdout).readline()
    for worker in workers:
        with suppress(BrokenPipeError):  # one that has ended already is an error below
            cast("IO[str]", worker.stdin).write(f"{lasting}\n")
            cast("IO[str]", worker.stdin).flush()
    told = [json.loads(worker.communicate()[0] or "[0, 1]") for worker in workers]
    return sum(done for done, _ in told) / lasting, sum(errors for _, errors in told)


def rows(name: str, url: str, sizes: Sizes) -> Iterator[Row]:
    """The rows of one store."""
    Book(url).close()
    for processes in sizes.processes:
        each, errors = _contend("ours", url, processes, sizes.seconds)
        least, _ = _contend("raw", url, processes, sizes.seconds)
        what = f"{name}, {processes} process{'es' if processes > 1 else ''}: events a second"
        ratio = f"{least / each:.2f}x" if each else "-"
        said = f"{each:,.0f}/s, {errors} errors", f"{least:,.0f}/s"
        yield Row(what, *said, ratio, "no error", errors == 0)


if __name__ == "__main__":
    work(*sys.argv[1:])
