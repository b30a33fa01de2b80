"""A process that is forked: whatever its threads were doing, each child goes on by itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pydantic.main
import pytest
from pydantic import BaseModel, ConfigDict

from loopbook.books import Books
from loopbook.events import Task
from loopbook.projections import fold
from loopbook.sealing import holds
from loopbook.store import forking
from loopbook.upkeep.fsck import fsck
from tests.conftest import PROVE, ROOT

FORKS = 200 if PROVE else 20

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # threads and forks: that is the point
]


def test_children_of_a_process_whose_threads_write_record_and_end(shared_url: str) -> None:
    """Nothing is lost, and the chain is whole."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.store.forker", shared_url, str(FORKS)],
        cwd=ROOT, capture_output=True, text=True, timeout=60 * FORKS, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    written = json.loads(run.stdout)
    assert all(written[f"thread{n}"] > 0 for n in range(3))
    with Books.open(shared_url) as books:
        entries = [*books.loop("a").entries()]
        rows = books.book.records.rows.select_events("loop:a")
        assert all(holds(*row) for row in rows)  # type: ignore[misc]  # rows are our tuples
    assert [entry.seq for entry in entries] == [*range(1, len(entries) + 1)]
    assert all(after.prev == before.sum for before, after in pairwise(entries))
    texts = [entry.event.text for entry in entries if isinstance(entry.event, Task)]
    assert Counter(text.partition("-")[0] for text in texts) == written
    for who, many in written.items():
        assert [text for text in texts if text.startswith(f"{who}-")] == [f"{who}-{n}" for n in range(many)]


def in_child(work: Callable[[], object]) -> str:
    """Fork, and do it in the child; what came of it there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # and it says nothing
        try:
            said = str(work())
        except BaseException as wrong:  # noqa: BLE001 - told to the parent
            said = f"{type(wrong).__name__}: {wrong}"
        os.write(writing, said.encode()[:4_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def open_files(name: str) -> list[str]:
    """The files of a name that this process has open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the listing itself
            found.append(str(link.readlink()))
    return [file for file in found if name in file]


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Books]:
    with Books.open(f"sqlite:///{tmp_path}/books.db", session="s1") as opened:
        opened.start("chore", "x", id="a").record(Task(text="one"), Task(text="two"))
        yield opened


def texts(books: Books) -> list[str]:
    return [entry.event.text for entry in books.loop("a").entries() if isinstance(entry.event, Task)]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not show open files")
def test_no_open_file_goes_with_a_child(books: Books) -> None:
    """Idle connections, and those that wait for news, are closed before and made again after."""
    waiter = books.book.waiter()
    assert open_files("books.db") != []
    assert in_child(lambda: open_files("books.db")) == "[]"
    assert texts(books) == ["one", "two"]
    waiter.close()


def test_who_waits_for_news_hears_what_a_child_commits(books: Books) -> None:
    waiter = books.book.waiter()
    assert not waiter.wait(0)
    assert in_child(lambda: books.loop("a").record(Task(text="child"))[0].seq) == "4"
    assert waiter.wait(20)
    waiter.wait(0)  # now and then it wakes for nothing
    assert not waiter.wait(0)
    books.loop("a").record(Task(text="parent"))
    assert waiter.wait(20)
    waiter.close()
    assert texts(books) == ["one", "two", "child", "parent"]


def test_a_child_follows_and_records_by_itself(books: Books) -> None:
    def follow() -> object:
        loop = books.loop("a")
        loop.record(Task(text="child"))
        return [entry.seq for entry in loop.follow(timeout=0)]

    assert in_child(follow) == "[1, 2, 3, 4]"


def test_a_fork_amid_a_scan_is_told_in_the_child_and_the_scan_goes_on(books: Books) -> None:
    """The child has the parent's locks on the file in its memory, and none of its own."""
    scan = books.book.records.rows.scan()
    first = next(scan)
    refusal = "StoreUnavailable: .*books.db was in use when this process was forked"
    for work in (
        lambda: books.loop("a").record(Task(text="child")),
        lambda: Books.open(books.url),
        lambda: [*scan],
    ):
        assert re.match(refusal, in_child(work))
    assert len([first, *scan]) == len([*books.book.records.rows.scan()])
    assert in_child(lambda: books.loop("a").record(Task(text="child"))[0].seq) == "4"


def test_a_fork_waits_for_a_scan_of_another_thread(books: Books) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def read() -> None:
        for _ in books.book.records.rows.scan():
            begun.set()
            go_on.wait(20)

    reader = threading.Thread(target=read)
    reader.start()
    begun.wait(20)
    threading.Timer(0.2, go_on.set).start()
    assert in_child(lambda: books.loop("a").record(Task(text="child"))[0].seq) == "4"
    reader.join()


def test_a_model_that_a_thread_is_building_is_built_before_the_fork(books: Books) -> None:
    """Pydantic has one lock for all of them, and events are built when they are first met."""

    class Late(BaseModel):
        model_config = ConfigDict(defer_build=True)
        number: int

    lock = getattr(pydantic.main, "_rebuild_lock", None) or threading.RLock()
    held = threading.Event()

    def build() -> None:
        with lock:
            held.set()
            threading.Event().wait(0.3)

    builder = threading.Thread(target=build)
    builder.start()
    held.wait(20)
    assert in_child(lambda: Late.model_validate_json('{"number":7}').number) == "7"
    builder.join()


def test_a_fork_does_not_wait_for_ever(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "PATIENCE", 60.0)  # for what is within
    scans = [books.book.records.rows.scan()]
    reader = threading.Thread(target=lambda: next(scans[0]))
    reader.start()
    reader.join()
    began = time.monotonic()
    assert in_child(lambda: books.loop("a").state.version).startswith("StoreUnavailable")
    assert time.monotonic() - began < 20, "the scan of a thread that does not go on is left aside"
    scans[0].close()  # type: ignore[attr-defined]  # it is a generator
    assert in_child(lambda: books.loop("a").state.version) == "3"
    assert texts(books) == ["one", "two"]


def test_a_store_in_memory_is_copied_whole() -> None:
    """Each child has what was there, and goes on in a copy of its own."""
    stop = threading.Event()
    with Books.open("memory:") as books:
        loop = books.start("chore", "x", id="a")

        def write() -> None:
            while not stop.wait(0.005):
                loop.record(Task(text="x"), host_ref=f"{loop.version}-{threading.get_ident()}")

        def look() -> object:
            loop.record(Task(text="child"))
            return fsck(books.book).findings, fold(loop.entries()) == loop.state

        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            assert {in_child(look) for _ in range(20)} == {"((), True)"}
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not any(
            isinstance(entry.event, Task) and entry.event.text == "child" for entry in loop.entries()
        )
