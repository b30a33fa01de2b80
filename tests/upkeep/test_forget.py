"""A forgotten loop is gone with all that was there because of it; nothing else is."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopbook.book import CATALOGUE
from loopbook.books import Books
from loopbook.errors import CannotForget, DamagedEntry, NoSuchLoop
from loopbook.events import Catalogued, Task, TodoOpened
from loopbook.upkeep.attempts import attempts
from loopbook.upkeep.forget import forget
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.importing import import_lines
from loopbook.upkeep.scrub import Asked, scrub
from loopbook.upkeep.transfer import everything, write
from tests.book.drafts import NOON
from tests.upkeep.world import EVENTS, SNAPSHOTS, fill, hands, opened, rows_of


@pytest.fixture
def books(store_url: str) -> Iterator[Books]:
    with opened(store_url) as there:
        fill(there)
        yield there


def test_a_loop_goes_with_its_reservations_and_the_rest_stays_byte_for_byte(books: Books) -> None:
    other = books.start("chore", "mine", id="a.2")
    other.record(TodoOpened(todo="t", subject="s"), host_ref="r")
    before = rows_of(books.book)
    assert forget(books.book, "done", now=NOON, session="me") == ["done"]
    after = rows_of(books.book)
    said = [row for row in after if row not in before]
    assert [row for row in after if row not in said] == [
        row for row in before if row.originator_id != "loop:done"
    ]
    (entry,) = [*books.book.entries(CATALOGUE)][-1:]
    assert entry.event == Catalogued(loop="done", change="forgotten")
    assert (len(said), entry.at, entry.session) == (1, NOON, "me")
    assert fsck(books.book).findings == ()
    assert [row.id for row in books.list()] == ["a", "a-2", "a-3", "a.2"]
    with pytest.raises(NoSuchLoop):
        books.loop("done")


def test_a_loop_with_forks_is_refused_and_goes_with_them_where_that_is_asked(books: Books) -> None:
    before = rows_of(books.book)
    for loop, forks in (("a", "loop:a-2, loop:a-3"), ("a-2", "loop:a-3")):
        with pytest.raises(CannotForget, match=forks):
            forget(books.book, loop, now=NOON)
    assert rows_of(books.book) == before
    assert forget(books.book, "a-3", now=NOON) == ["a-3"]
    assert forget(books.book, "a", now=NOON, with_forks=True) == ["a", "a-2"]
    assert fsck(books.book).findings == ()
    assert [row.id for row in books.list()] == ["done"]
    left = {row.originator_id for row in rows_of(books.book)}
    assert not any(name.startswith(("loop:a", "once:loop:a")) for name in left)


def test_what_is_not_there_is_told(books: Books) -> None:
    before = rows_of(books.book)
    with pytest.raises(NoSuchLoop):
        forget(books.book, "nobody", now=NOON)
    assert rows_of(books.book) == before


def test_an_id_can_be_used_again_afterwards(books: Books) -> None:
    forget(books.book, "done", now=NOON)
    again = books.start("fix", "a new one", id="done")
    again.record(Task(text="x"), host_ref="call-1")
    assert [(row.id, row.intent) for row in books.list()][-1] == ("done", "a new one")
    assert fsck(books.book).findings == ()
    forget(books.book, "done", now=NOON)
    assert fsck(books.book).findings == ()


def test_snapshots_and_bytes_are_gone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    with opened(url) as books:
        fill(books)
        books.loop("a").record(TodoOpened(todo="q-hunter2", subject="hunter2"), host_ref="hunter2" * 40)
        forget(books.book, "a", now=NOON, with_forks=True)
        with hands(url) as by_hand:
            assert by_hand.rows(SNAPSHOTS) == []
        books.book.records.rows.vacuum()
        for path in tmp_path.iterdir():
            assert b"hunter2" not in path.read_bytes(), path.name


def test_a_fork_begun_meanwhile_is_seen(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(shared_url) as books, opened(shared_url) as other:
        books.start("fix", "i", id="a")
        rows, left = books.book.records.rows, [1]
        replace = rows.replace

        def disturbed(*arguments: object) -> None:
            if left[0]:
                left[0] = 0
                other.fork("a", new_id="b")
            replace(*arguments)  # type: ignore[arg-type]  # passed on

        monkeypatch.setattr(rows, "replace", disturbed)
        with pytest.raises(CannotForget, match="loop:b"):
            forget(books.book, "a", now=NOON)
        assert fsck(books.book).findings == ()


@pytest.mark.parametrize("named", [False, True])
def test_what_upkeep_says_goes_through_the_books_hygiene(books: Books, *, named: bool) -> None:
    """Session and reason are texts like all others, whoever calls."""
    secret = "API_KEY=abc123secret"
    if named:
        scrub(books.book, Asked("loop:a", seq=3, reason=secret, session=secret), NOON)
    else:
        forget(books.book, "done", now=NOON, session=secret)
    told = [entry for stream in ("loop:a", CATALOGUE) for entry in books.book.entries(stream)]
    assert not any("abc123" in str(entry) for entry in told)
    assert told[-1].session == "API_KEY=[redacted named-value 12 chars]"


#: What another tool may make of a row's JSON: the same values, other bytes.
REWRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "indented": lambda state: json.dumps(json.loads(state), indent=2).encode(),
    "with blanks": lambda state: json.dumps(json.loads(state)).encode(),
    "with its members sorted": lambda state: json.dumps(json.loads(state), sort_keys=True).encode(),
    "with a line end": lambda state: state + b"\n",
    "without its sum": lambda state: json.dumps({**json.loads(state), "sum": None}).encode(),
    "cut": lambda state: state[: len(state) // 2],
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("how", REWRITTEN)
def test_a_loop_whose_rows_another_tool_wrote_anew_can_be_forgotten(shared_url: str, how: str) -> None:
    with opened(shared_url) as books, hands(shared_url) as by_hand:
        fill(books)
        for row in [row for row in by_hand.rows(EVENTS) if row.originator_id == "loop:done"]:
            by_hand.remove(EVENTS, row)
            by_hand.put(EVENTS, row._replace(state=REWRITTEN[how](row.state)))
        assert forget(books.book, "done", now=NOON) == ["done"]
        assert fsck(books.book).findings == ()


def test_a_damaged_catalogue_is_told_as_damage_and_nothing_is_written(shared_url: str) -> None:
    """Not as if others wrote to it all the while."""
    with opened(shared_url) as books, hands(shared_url) as by_hand:
        fill(books)
        out = io.BytesIO()
        write(everything(books.book), out)
        row = [row for row in by_hand.rows(EVENTS) if row.originator_id == CATALOGUE][-1]
        by_hand.remove(EVENTS, row)
        by_hand.put(EVENTS, row._replace(state=REWRITTEN["indented"](row.state)))
        before = rows_of(books.book)
        for work in (
            lambda: forget(books.book, "done", now=NOON),
            lambda: scrub(books.book, Asked("loop:a", seq=3), NOON),
        ):
            with pytest.raises(DamagedEntry, match="catalogue seq"):
                work()
        problems = import_lines(books.book, out).problems
        assert problems
        assert all("in the store, catalogue seq" in problem.what for problem in problems)
        assert rows_of(books.book) == before


def test_who_tries_again_gives_others_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    assert len([*attempts()]) == len(pauses) + 1 > 10
    assert 0 < sum(pauses) < 4
