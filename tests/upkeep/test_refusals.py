"""What is wrong with a line costs its stream, is told by number and in its own words; the rest goes on."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from loopbook.books import Books
from loopbook.encoding import encode
from loopbook.entry import Draft, Entry
from loopbook.events import Event, Forked, Reserved, TodoCompleted, TodoOpened, Unknown
from loopbook.sealing import seal, sum_in
from loopbook.store import Row
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.importing import Imported, import_lines
from loopbook.upkeep.transfer import end_line, everything, head_line, write
from tests.book.drafts import NOON, OPENED
from tests.upkeep.hostile import export
from tests.upkeep.world import EVENTS, fill, hands, opened, rows_of


def brought(books: Books, text: bytes) -> Imported:
    return import_lines(books.book, io.BytesIO(text))


def sound() -> list[Row]:
    """What an export of a store with something of everything holds."""
    with opened("memory:") as books:
        fill(books)
        return list(everything(books.book))


def loop_of(name: str, *events: Event, host_refs: tuple[str | None, ...] = ()) -> list[Row]:
    """The rows of a loop that no book would have taken: chained, each vouching for itself."""
    done: list[Row] = []
    refs = (*host_refs, *(None for _ in range(len(events) + 1)))
    for seq, (event, ref) in enumerate(zip((OPENED.event, *events), refs, strict=False), 1):
        prev = sum_in(done[-1].state) if done else ""
        state = encode(Entry(name, seq, event, NOON, "s", host_ref=ref, prev=prev))
        done.append(Row(name, seq, event.type, state))
    return done


def replaced(row: Row, old: str, new: str) -> Row:
    """A row with other bytes, which vouches for itself."""
    body = row.state[:-74].decode().replace(old, new).encode(errors="surrogateescape")
    assert body != row.state[:-74]
    digest = seal(row.originator_id, row.originator_version, row.topic, body)
    return row._replace(state=b'%b,"sum":"%b"}' % (body, digest.encode()))


X = Unknown.model_validate({"type": "x", "n": 7})
FORM = "is not in the form in which entries are written"


def wrong(a: str) -> dict[str, tuple[list[Row], str]]:
    """The rows of loops of this name, of each the last is wrong, and what is told of it."""
    first, last, after = loop_of(a, X, X)

    def with_n(value: str) -> list[Row]:
        return [first, replaced(last, '"n":7', f'"n":{value}')]

    return {
        "edited": (
            [first, last._replace(state=last.state.replace(b'"n":7', b'"n":8'))], "its sum is not that of",
        ),
        "not UTF-8": (with_n('"\udcff"'), "it cannot be read (invalid unicode"),
        "too deep": (with_n("[" * 300 + "]" * 300), "it cannot be read (recursion limit exceeded"),
        "a number too large": (with_n("9" * 5_000), "it cannot be read (number out of range"),
        "a lone surrogate": (with_n('"\\ud800"'), "it cannot be read ("),
        "NaN": (with_n("NaN"), FORM),
        "a member twice": (with_n('7,"n":8'), FORM),
        "a blank": (with_n(" 7"), FORM),
        "another spelling": (with_n('"\\u0041"'), FORM),
        "another order": ([first, replaced(last, '"session":"s","v":1', '"v":1,"session":"s"')], FORM),
        "no version of its shape": ([first, replaced(last, '"v":1,', "")], "it cannot be read ('v')"),
        "no seq": ([first, last._replace(originator_version=2**63)], "is no seq that a store can hold"),
        "not following": ([first, after], "does not follow seq 1"),
        "opened twice": (loop_of(a, OPENED.event), "not have been appended: this loop was opened at 1"),
        "no type": (loop_of(a, Unknown.model_validate({"type": "X y"})), "cannot be an event's type"),
        "NUL in a type": (loop_of(a, Unknown.model_validate({"type": "x\0"})), "cannot be an event's type"),
        "forked in the middle": (loop_of(a, Forked(from_="loop:a", version=1)), "stands nowhere else"),
        "a todo that is not open": (loop_of(a, TodoCompleted(todo="t")), "todo 't' is not open"),
        "a key twice": (loop_of(a, X, X, host_refs=(None, "r", "r")), "the host_ref 'r' a second time"),
    }  # fmt: skip


@pytest.mark.parametrize("how", wrong("loop:hostile"))
def test_a_bad_line_costs_its_loop_and_nothing_else(how: str) -> None:
    (bad, told), good = wrong("loop:hostile")[how], sound()
    with opened("memory:") as books:
        (problem,) = brought(books, export([*bad, *good])).problems
        assert problem.line == 1 + len(bad)
        assert problem.what.startswith(f"nothing of loop:hostile was written: seq {bad[-1][1]}")
        assert told in problem.what
        assert [*everything(books.book)] == good
        assert fsck(books.book).findings == ()


def test_all_of_them_at_once_cost_no_other_loop_in_any_store(store_url: str) -> None:
    bad = [row for at, how in enumerate(wrong("")) for row in wrong(f"loop:bad-{at}")[how][0]]
    good = sound()
    with opened(store_url) as books:
        imported = brought(books, export([*bad, *good]))
        assert len(imported.problems) == len(wrong(""))
        assert sum(imported.streams.values()) == len(good)
        assert fsck(books.book).findings == ()
        assert not [row for row in rows_of(books.book) if "bad-" in row.originator_id]


def test_a_loop_that_was_never_opened_is_refused() -> None:
    with opened("memory:") as books:
        row = Row("loop:a", 1, "x", encode(Entry("loop:a", 1, X, NOON)))
        (problem,) = brought(books, export([row])).problems
        assert "seq 1 could not have been appended" in problem.what
        assert rows_of(books.book) == []


NAMES = (
    "loop:", "loop:../../x", "loop:\x1b[2J", "loop:a\0b", "loop:a b", "session:h", "guard:a b",
    "guard:\n", "x",
)  # fmt: skip


def test_names_that_no_command_could_say_are_refused(store_url: str) -> None:
    with opened(store_url) as books:
        problems = brought(books, export([loop_of(name)[0] for name in NAMES])).problems
        assert [problem.line for problem in problems] == [*range(2, 2 + len(NAMES))]
        assert all("can have this name" in problem.what for problem in problems)
        assert rows_of(books.book) == []


def test_a_key_that_the_store_has_reserved_is_named(store_url: str) -> None:
    name = "once:loop:new:todo:t"
    reserved = encode(Entry(name, 1, Reserved(what="todo", stream="loop:new", seq=9), NOON))
    with opened(store_url) as books:
        books.book.records.rows.load([Row(name, 1, "reserved", reserved)])
        (problem,) = brought(books, export(loop_of("loop:new", TodoOpened(todo="t", subject="s")))).problems
        assert (problem.line, "uses the todo 't', which the store has reserved" in problem.what) == (3, True)


def test_a_key_that_was_used_before_a_fork_is_named(store_url: str) -> None:
    prev = next(row for row in sound() if row[:2] == ("loop:a", 3))
    begun = Entry("loop:f", 4, Forked(from_="loop:a", version=3), NOON, prev=sum_in(prev.state))
    first = Row("loop:f", 4, "forked", encode(begun))
    again = Entry("loop:f", 5, X, NOON, host_ref="call-1", prev=sum_in(first.state))
    with opened(store_url) as books:
        fill(books)
        (problem,) = brought(books, export([first, Row("loop:f", 5, "x", encode(again))])).problems
        assert (problem.line, "'host_ref:call-1' was used before the fork" in problem.what) == (3, True)
        assert fsck(books.book).findings == ()


def test_damage_that_was_exported_is_told_as_what_it_was(tmp_path: Path) -> None:
    loops = wrong("loop:a")
    with opened(f"sqlite:///{tmp_path}/b.db") as books, hands(books.url) as by_hand:
        by_hand.put(EVENTS, loop_of("loop:a")[0])
        for how in ("not UTF-8", "too deep", "a number too large"):
            ((_, row), told), out = loops[how], io.BytesIO()
            by_hand.put(EVENTS, row)
            assert write(everything(books.book), out).damaged == (("loop:a", 2),)
            by_hand.remove(EVENTS, row)
            with opened("memory:") as there:
                (problem,) = import_lines(there.book, out).problems
            assert problem.line == 3
            assert f"seq 2 was exported as damaged: {told}" in problem.what


def test_a_file_of_something_else_is_told_in_a_few_lines() -> None:
    with opened("memory:") as books:
        problems = brought(books, b'{"type":"user"}\n' * 5_000).problems
        assert len(problems) == 21
        assert problems[-1].what == "4980 more lines are none of a loopbook export"
        assert rows_of(books.book) == []


def test_a_chain_of_forks_longer_than_a_book_reads_is_refused() -> None:
    """And told in time: a file may name ten thousand."""
    chain = loop_of("loop:f0", X)
    for number in range(1, 300):
        prev = chain[-1]
        seq = prev.originator_version + 1
        event = Forked(from_=prev.originator_id, version=seq - 1)
        entry = Entry(f"loop:f{number}", seq, event, NOON, prev=sum_in(prev.state))
        chain.append(Row(entry.stream, seq, "forked", encode(entry)))
    with opened("memory:") as books:
        imported = brought(books, export([*chain[:1:-1], *chain[:2]]))
        assert len(imported.streams) == 65
        assert "it is more than 64 forks away" in imported.problems[-1].what or "is not here" in str(imported)
        assert books.loop("f64").version == 66
        assert fsck(books.book).findings == ()


@pytest.mark.parametrize(
    "line", [b"\x00", b'{"loopbook":"end","entries":{"a":[1]}}', b'{"loopbook":[]}', b"[" * 9_999]
)
def test_a_mark_of_any_shape_is_told(line: bytes) -> None:
    with opened("memory:") as books:
        problems = brought(books, head_line() + line + b"\n" + end_line(0)).problems
        assert problems
        assert all(len(problem.what) < 200 for problem in problems)


def test_a_book_may_begin_with_an_event_of_the_type_reserved(store_url: str) -> None:
    """A reservation is told by the name of its stream, and not by the type of what stands there."""
    with opened(store_url) as books, opened("memory:") as there:
        books.book.record("guard:p", Draft(Reserved(what="todo", stream="x", seq=1)), Draft(X))
        out = io.BytesIO()
        write(everything(books.book), out)
        assert import_lines(there.book, out).problems == ()
        assert [*everything(there.book)] == [*everything(books.book)]
        assert fsck(books.book).findings == fsck(there.book).findings == ()
