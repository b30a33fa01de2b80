"""A judge's answer is spoken however busily the book grows meanwhile, as long as its packet holds."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from threading import Event as Flag
from threading import Thread

import anyio

from loopbook.books import Books
from loopbook.events import Change, Judged, Noticed, RunSettled, Watch
from loopbook.judges import Packet
from loopbook.judges.scripted import Scripted
from loopbook.settlement import Advice
from loopbook.testing.always import broken
from tests.flows import CONTENT

THINKS_SEC, EVERY_SEC = 1.0, 0.05


@contextmanager
def a_writer(url: str, loop: str) -> Iterator[None]:
    """Another session that appends what no packet holds, every 50 ms, until the block ends."""
    over = Flag()

    def write() -> None:
        with Books.open(url, session="other") as books:
            watching = books.loop(loop)
            for n in count():
                watching.record(Watch(text=f"build {n}"))
                if over.wait(EVERY_SEC):
                    return

    thread = Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def judge() -> Scripted:
    async def think(_: Packet) -> None:
        await anyio.sleep(THINKS_SEC)

    return Scripted([CONTENT], think)


def blocking(url: str, loop: str) -> Advice | None:
    with Books.open(url) as books:
        return books.loop(loop).settle_blocking(RunSettled(run="r1"), judge=judge())


def in_a_loop(url: str, loop: str) -> Advice | None:
    async def settle() -> Advice | None:
        with Books.open(url) as books:
            return await books.loop(loop).settle(RunSettled(run="r1"), judge=judge())

    return anyio.run(settle)


def test_what_a_slow_judge_says_of_a_busy_book_is_spoken(shared_url: str) -> None:
    ways = {"blocking": blocking, "async": in_a_loop}
    with Books.open(shared_url) as books, ThreadPoolExecutor() as pool:
        for name in ways:
            books.start("change", "Add a retry", id=name).record(Change(summary="one"))
        with a_writer(shared_url, "blocking"), a_writer(shared_url, "async"):
            said = {name: pool.submit(way, shared_url, name) for name, way in ways.items()}
            advice = {name: future.result() for name, future in said.items()}
        for name in ways:
            entries = list(books.loop(name).entries())
            (judged,) = (entry for entry in entries if isinstance(entry.event, Judged))
            (noticed,) = (entry for entry in entries if isinstance(entry.event, Noticed))
            (settled,) = (entry for entry in entries if isinstance(entry.event, RunSettled))
            assert judged.seq - settled.seq > 5, "it was written to while the judge thought"
            got = advice[name]
            assert got is not None
            assert got.seq == noticed.seq
            assert broken(entries) == []
