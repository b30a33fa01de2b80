"""An export holds every stored byte, and importing it gives the store again."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopbook.book import CATALOGUE, Book
from loopbook.books import Books
from loopbook.encoding import encode
from loopbook.entry import Draft, Entry
from loopbook.errors import NewerExport
from loopbook.events import LoopOpened, Task, TodoOpened
from loopbook.projections import fold
from loopbook.sealing import sum_in
from loopbook.store import Row
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.importing import Imported, import_lines
from loopbook.upkeep.scrub import Asked, scrub
from loopbook.upkeep.transfer import books_of, end_line, everything, head_line, line_of, row_of, write
from tests.book.drafts import NOON, clock, told_nothing
from tests.conftest import PROVE, ROOT
from tests.growth import assert_linear
from tests.strategies_events import histories
from tests.upkeep.world import EVENTS, fill, hands, opened, rows_of


def exported(book: Book, *loops: str) -> bytes:
    out = io.BytesIO()
    rows = books_of(book, [f"loop:{loop}" for loop in loops]) if loops else everything(book)
    assert write(rows, out).damaged == ()
    return out.getvalue()


def brought(book: Book, text: bytes) -> Imported:
    return import_lines(book, io.BytesIO(text))


@pytest.fixture
def source() -> Iterator[Books]:
    with opened("memory:") as books:
        fill(books)
        yield books


@pytest.fixture
def target(store_url: str) -> Iterator[Books]:
    with opened(store_url) as books:
        yield books


def test_an_export_of_a_fork_is_of_one_moment(shared_url: str) -> None:
    """Somebody scrubs its parent after the first row of it was written."""
    with opened(shared_url) as books, opened(shared_url) as other:
        fill(books)
        whole = exported(books.book, "a-3")
        rows = books_of(books.book, ["loop:a-3"])
        first = next(rows)
        scrub(other.book, Asked("loop:a", text="Crash on empty"), NOON)
        out = io.BytesIO()
        write(chain([first], rows), out)
        assert out.getvalue() == whole != exported(books.book, "a-3")
    with opened("memory:") as there:
        assert brought(there.book, whole).problems == ()
        assert [row.id for row in there.list()] == ["a", "a-2", "a-3"]


# --- lines ---------------------------------------------------------------------------------------


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ODD = (b'{"text":"\\u2028 \xe2\x80\xa8","n":1.0}', b"{}\n", b'{"a":"\xff"}', b"[1]", b'{"a":1}\r')


@given(TEXTS, st.integers(1, 2**60), TEXTS, st.one_of(st.binary(), st.sampled_from(ODD)))
def test_any_row_is_one_line_of_json_that_holds_its_bytes(
    stream: str, version: int, topic: str, state: bytes
) -> None:
    line = line_of(Row(stream, version, topic, state))
    assert line.count(b"\n") == 1
    told = json.loads(line)
    assert (told["stream"], told["version"], told["topic"]) == (stream, version, topic)
    if "state" in told:
        assert row_of(line[:-1]) == (stream, version, topic, state)
    else:
        assert base64.b64decode(told["damaged"]) == state


@settings(max_examples=300 if PROVE else 30)
@given(histories())
def test_export_and_import_give_every_row_of_any_book_again(history: list[Draft]) -> None:
    with opened("memory:") as there, opened("memory:") as here:
        there.start("fix", "x", id="a")
        there.book.record("loop:a", *history, tell=told_nothing)
        text = exported(there.book)
        assert brought(here.book, text).problems == ()
        assert rows_of(here.book) == rows_of(there.book)
        assert exported(here.book) == text
        assert here.book.state("loop:a") == fold(there.book.entries("loop:a"))


# --- whole stores ----------------------------------------------------------------------------------


def derivable(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.originator_id != CATALOGUE]


def test_a_whole_store_comes_again_byte_for_byte(source: Books, target: Books) -> None:
    text = exported(source.book)
    imported = brought(target.book, text)
    assert imported.problems == imported.notes == ()
    assert derivable(rows_of(target.book)) == derivable(rows_of(source.book))
    assert exported(target.book) == text
    assert fsck(target.book).findings == ()
    assert sorted(target.list()) == sorted(source.list())
    for loop in ("a", "a-2", "a-3", "done"):
        assert target.book.state(f"loop:{loop}") == source.book.state(f"loop:{loop}")


def test_bringing_the_same_again_changes_nothing(source: Books, target: Books) -> None:
    text = exported(source.book)
    brought(target.book, text)
    before = rows_of(target.book)
    again = brought(target.book, text + text)
    assert (set(again.streams.values()), again.problems) == ({0}, ())
    assert rows_of(target.book) == before


def test_forks_come_after_their_parents_whatever_the_order_of_the_lines(source: Books, target: Books) -> None:
    head, *lines, _ = exported(source.book).splitlines(keepends=True)
    streams: dict[str, list[bytes]] = {}
    for line in lines:
        streams.setdefault(row_of(line[:-1]).originator_id, []).append(line)
    shuffled = [line for stream in sorted(streams, reverse=True) for line in streams[stream]]
    assert brought(target.book, b"".join([head, *shuffled, end_line(len(lines))])).problems == ()
    assert derivable(rows_of(target.book)) == derivable(rows_of(source.book))
    assert fsck(target.book).findings == ()


def test_lines_of_several_streams_may_lie_between_each_other(source: Books, target: Books) -> None:
    head, *lines, end = exported(source.book).splitlines(keepends=True)
    lines.sort(key=lambda line: (row_of(line[:-1]).originator_version, line))
    assert brought(target.book, b"".join([head, *lines, end])).problems == ()
    assert derivable(rows_of(target.book)) == derivable(rows_of(source.book))


def test_an_export_of_a_fork_brings_what_it_was_forked_from(source: Books, target: Books) -> None:
    imported = brought(target.book, exported(source.book, "a-3", "a-2"))
    assert sorted(imported.streams) == ["loop:a", "loop:a-2", "loop:a-3"]
    assert fsck(target.book).findings == ()
    assert target.book.state("loop:a-3") == source.book.state("loop:a-3")
    assert target.loop("a-3").record(TodoOpened(todo="new", subject="s"))


def test_a_fork_without_its_parent_is_refused_and_the_rest_is_not(source: Books, target: Books) -> None:
    lines = exported(source.book).splitlines(keepends=True)
    without = [line for line in lines[1:-1] if row_of(line[:-1]).originator_id != "loop:a-2"]
    imported = brought(target.book, b"".join([lines[0], *without, end_line(len(without))]))
    (problem,) = imported.problems
    assert "nothing of loop:a-3 was written: it is a fork of loop:a-2" in problem.what
    assert "loop:a" in imported.streams
    assert fsck(target.book).findings == ()


def test_a_book_that_went_on_is_gone_on_with(source: Books, target: Books) -> None:
    brought(target.book, exported(source.book, "a"))
    source.loop("a").record(TodoOpened(todo="t7", subject="later"), Task(text="x"))
    newer = exported(source.book, "a")
    assert brought(target.book, newer).streams == {"loop:a": 2}
    assert exported(target.book) == newer
    assert fsck(target.book).findings == ()
    source_before = rows_of(source.book)
    assert brought(source.book, newer).streams == {"loop:a": 0}
    target.loop("a").record(Task(text="further"))
    assert brought(target.book, newer).streams == {"loop:a": 0}
    assert rows_of(source.book) == source_before


def test_other_rows_under_the_same_name_are_refused_by_name(source: Books, target: Books) -> None:
    target.start("fix", "another loop a", id="a")
    before = rows_of(target.book)
    imported = brought(target.book, exported(source.book, "a", "done"))
    (problem,) = imported.problems
    assert problem.what == "nothing of loop:a was written: the store has another seq 1 of it"
    assert problem.line == 2
    assert imported.streams == {"loop:done": 2}
    assert [row for row in rows_of(target.book) if row in before] == before


def test_an_imported_loop_is_one_of_the_store(source: Books, target: Books) -> None:
    target.start("chore", "mine", id="mine")
    brought(target.book, exported(source.book, "a"))
    assert [row.id for row in target.list()] == ["mine", "a"]
    assert target.loop("a").record(TodoOpened(todo="t8", subject="s"), host_ref="call-1") == ()
    with pytest.raises(ValueError, match="used in this book before"):
        target.loop("a").record(TodoOpened(todo="t1", subject="used once, and done"))


# --- what is wrong with a file -------------------------------------------------------------------


def spoiled(line: bytes) -> tuple[bytes, ...]:
    """What may become of a line."""
    return (
        b"",
        b"hello\n",
        line[:40] + b"\n",
        line.replace(b'"s1"', b'"s2"', 1),
        line.replace(b":1,", b":9,", 1),
    )


def test_every_line_that_is_wrong_is_told_and_nothing_beyond_it_is_written(source: Books) -> None:
    lines = exported(source.book, "a", "done").splitlines(keepends=True)
    for place in range(1, len(lines) - 1):
        row = row_of(lines[place][:-1])
        for bad in spoiled(lines[place]):
            if bad == lines[place]:
                continue
            with opened("memory:") as here:
                imported = brought(here.book, b"".join([*lines[:place], bad, *lines[place + 1 :]]))
                # A line that cannot be read names no stream; without its last one, a book is still one.
                assert imported.streams.get(row.originator_id, 0) in {0, row.originator_version - 1}
                if bad:
                    assert imported.problems[0].line == place + 1
                assert imported.problems
                assert fsck(here.book).findings == ()
                others = {"loop:a", "loop:done"} - {row.originator_id}
                assert others <= imported.streams.keys()


@pytest.mark.parametrize("cut", ["torn", "at a line", "without the end"])
def test_a_file_that_was_cut_is_told_and_what_may_lack_its_end_is_left_out(source: Books, cut: str) -> None:
    lines = exported(source.book, "a", "done").splitlines(keepends=True)
    text = b"".join(lines[:-1])
    text = {"torn": text[:-30], "at a line": b"".join(lines[:-2]), "without the end": text}[cut]
    with opened("memory:") as here:
        imported = brought(here.book, text)
        assert imported.streams == {"loop:a": len(lines) - 4}
        told = " ".join(problem.what for problem in imported.problems)
        assert "without its end line" in told
        assert "nothing of loop:done was written" in told
        assert (cut == "torn") == ("ends in the middle" in told)
        assert all(problem.line for problem in imported.problems)


def test_line_ends_of_another_system_and_a_bom_are_passed_over_and_told(source: Books, target: Books) -> None:
    text = exported(source.book)
    imported = brought(target.book, b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    assert imported.problems == ()
    assert [note.line for note in imported.notes] == [1, 1]
    assert exported(target.book) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "without its end"),
        (b"{}\n", "is not a line of a loopbook export"),
        (b'{"type":"user","message":"x"}\n', "is not a line of a loopbook export"),
        (b'{"loopbook":"books"}\n', "is not a line of a loopbook export"),
        (b'{"loopbook"', "is not a line of a loopbook export"),
        (b"\xff\xfe\x00", "is not a line of a loopbook export"),
        (head_line() + end_line(3), "0 entries came before this end line, which counts 3"),
    ],
)
def test_a_file_that_is_no_export_is_told(text: bytes, told: str) -> None:
    with opened("memory:") as here:
        imported = brought(here.book, text)
        assert imported.streams == {}
        if text.strip():
            assert told in " ".join(problem.what for problem in imported.problems)
        assert rows_of(here.book) == []


def test_a_newer_export_is_refused_by_name() -> None:
    with opened("memory:") as here, pytest.raises(NewerExport, match="format 2"):
        brought(here.book, b'{"loopbook":"books","version":2}\n')


def test_streams_that_are_derived_or_foreign_are_never_taken_from_a_file() -> None:
    for stream in ("once:loop:a:todo:t", CATALOGUE, "else"):
        row = Row(stream, 1, "task", encode(Entry(stream, 1, Task(text="x"), NOON)))
        with opened("memory:") as here:
            (problem,) = brought(here.book, head_line() + line_of(row) + end_line(1)).problems
            assert problem.line == 2
            assert rows_of(here.book) == []


def test_a_damaged_row_is_exported_as_it_is_and_not_taken_back(tmp_path: Path) -> None:
    out = io.BytesIO()
    with opened(f"sqlite:///{tmp_path}/b.db") as books, hands(books.url) as by_hand:
        fill(books)
        row = next(row for row in by_hand.rows(EVENTS) if row[:2] == ("loop:a", 2))
        by_hand.remove(EVENTS, row)
        by_hand.put(EVENTS, row._replace(state=b"\xff\n" + row.state))
        assert write(everything(books.book), out).damaged == (("loop:a", 2),)
    assert base64.b64encode(b"\xff\n" + row.state) in out.getvalue()
    with opened("memory:") as here:
        imported = brought(here.book, out.getvalue())
        assert "was exported as damaged" in imported.problems[0].what
        assert not {"loop:a", "loop:a-2", "loop:a-3"} & imported.streams.keys()
        assert fsck(here.book).findings == ()


# --- size -----------------------------------------------------------------------------------------

_MEASURE = """
import io, resource, sys
from pathlib import Path
from loopbook.book import Book
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.importing import import_lines
from loopbook.upkeep.transfer import everything, write
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with Book("sqlite:///" + sys.argv[2]) as book, Path(sys.argv[1]).open("rb") as file:
    before = peak()
    imported = import_lines(book, file)
    with Path(sys.argv[1] + ".out").open("wb") as out:
        write(everything(book), out)
    found = fsck(book)
    print(imported.streams["loop:a"], len(imported.problems) + len(found.findings), peak() - before)
"""


def test_a_long_book_is_brought_checked_and_exported_in_bounded_memory(tmp_path: Path) -> None:
    """A file far larger than what is held of it."""
    n, times = (100_000, 200) if PROVE else (3_000, 2_500)
    file = tmp_path / "books.jsonl"
    with file.open("wb") as out:
        out.write(head_line())
        prev = ""
        for seq in range(1, n + 1):
            event = LoopOpened(kind="fix", intent="i") if seq == 1 else Task(text=f"{seq}" * times)
            state = encode(Entry("loop:a", seq, event, NOON, "s", host_ref=f"r{seq}", prev=prev))
            prev = sum_in(state)
            out.write(line_of(Row("loop:a", seq, event.type, state)))
        out.write(end_line(n))
    run = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(file), str(tmp_path / "b.db")],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    entries, problems, kilobytes = map(int, run.stdout.split())
    assert (entries, problems) == (n, 0)
    size = file.stat().st_size >> 10
    assert kilobytes < size / 2, f"{kilobytes} kB for a file of {size} kB"
    assert kilobytes < 24_000
    assert Path(f"{file}.out").read_bytes() == file.read_bytes()
    with closing(Book(f"sqlite:///{tmp_path}/b.db", clock=clock)) as book:
        assert book.head("loop:a")[0] == n
        assert len(book.seen("loop:a", ["r1", f"r{n}"])) == 2


def long_book(entries: int) -> bytes:
    """The export of one book."""
    with opened("memory:") as books:
        loop = books.start("fix", "i", id="a")
        for start in range(0, entries, 200):
            steps = range(start, min(start + 200, entries))
            loop.record(*(Draft(Task(text=f"{step}"), host_ref=f"r{step}") for step in steps))
        return exported(books.book)


def test_importing_checking_and_exporting_take_as_long_as_there_are_entries() -> None:
    def work(text: bytes) -> None:
        with opened("memory:") as books:
            assert brought(books.book, text).problems == ()
            assert fsck(books.book).findings == ()
            assert exported(books.book) == text

    assert_linear(long_book, work, 40_000 if PROVE else 3_000)


def test_a_family_of_many_forks_is_imported_in_linear_time() -> None:
    """One after the other from one parent: each is looked up once."""

    def family(forks: int) -> bytes:
        with opened("memory:") as books:
            books.start("fix", "i", id="a")
            for number in range(forks):
                books.fork("a", 1, new_id=f"f{number}")
            return exported(books.book)

    def work(text: bytes) -> None:
        with opened("memory:") as books:
            assert brought(books.book, text).problems == ()
            assert fsck(books.book).findings == ()

    assert_linear(family, work, 4_000 if PROVE else 500)
