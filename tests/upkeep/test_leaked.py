"""A secret has leaked: one command takes it out of every book, and says where it could not."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopbook.book import CATALOGUE
from loopbook.books import Books
from loopbook.entry import Draft
from loopbook.errors import CannotScrub
from loopbook.events import (
    Event,
    Judged,
    LoopClosed,
    Prompted,
    Scrubbed,
    Task,
    TodoCompleted,
    TodoOpened,
    UnitAdded,
    Unknown,
)  # fmt: skip
from loopbook.upkeep.forget import forget
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.scrub import Asked, Scrubbing, find, scrub
from loopbook.upkeep.standing import UNREADABLE, Place
from tests.book.drafts import NOON, told_nothing
from tests.conftest import PROVE
from tests.strategies_events import events
from tests.upkeep.test_scrub import SECRET, comes_again, held
from tests.upkeep.world import fill, opened, rows_of


@pytest.fixture
def books(store_url: str) -> Iterator[Books]:
    with opened(store_url) as there:
        yield there


def everywhere(books: Books, text: str, **more: str) -> Scrubbing:
    done = scrub(books.book, Asked(None, text=text, **more), NOON)  # type: ignore[arg-type]  # reason, session
    assert fsck(books.book).findings == ()
    return done


def nowhere(books: Books, *texts: str) -> None:
    """No row of the store holds one of the texts, nor a snapshot, once it is vacuumed."""
    books.book.records.rows.vacuum()
    for text in texts:
        assert [*find(books.book, None, text)] == []


def texts_around(secret: str) -> st.SearchStrategy[str]:
    return st.sampled_from([secret, f"a {secret} b", f"{secret}{secret}", f"x-{secret}", "plain"])


def test_in_whatever_field_a_secret_stands_it_is_nowhere_afterwards(tmp_path: Path) -> None:
    """Any event of any type, any part of the envelope: not in the file, and not in its log."""
    numbers = itertools.count()

    @settings(
        max_examples=400 if PROVE else 25,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.lists(events(texts_around(SECRET)), min_size=1, max_size=12), st.data())
    def holds_for(history: list[Event], data: st.DataObject) -> None:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        text = texts_around(SECRET)
        with opened(f"sqlite:///{folder}/books.db") as books:
            loop = books.start("fix", f"about {SECRET}", id="a", session=data.draw(text))
            loop.record(UnitAdded(unit=SECRET, subject="s"))
            refs = [f"{number} {data.draw(text)}" for number in range(len(history))]
            drafts = [Draft(event, host_ref=ref) for event, ref in zip(history, refs, strict=True)]
            books.book.record(loop.stream, *drafts, session=data.draw(text), tell=told_nothing)
            books.book.record(loop.stream, Draft(Task(text="in a unit"), unit=SECRET), tell=told_nothing)
            own = books.own(data.draw(text))
            books.book.record(own.stream, *drafts, session=SECRET, tell=told_nothing)
            fork = books.fork("a", new_id="b", session=data.draw(text))
            books.book.record(fork.stream, Draft(Task(text=SECRET), host_ref=f"{SECRET}!"), tell=told_nothing)
            assert held(folder, SECRET)
            done = everywhere(books, SECRET, reason=f"{SECRET} leaked", session=SECRET)
            assert done.left == ()
            comes_again(books)
            books.book.records.rows.vacuum()
            assert held(folder, SECRET) == []
        assert held(folder, SECRET, "hunter2") == []

    holds_for()


def test_every_place_where_it_stood_is_told_beforehand(books: Books) -> None:
    loop = books.start("fix", f"i {SECRET}", id="a", session="s1")
    loop.record(TodoOpened(todo=f"t-{SECRET}", subject="s"), session="s1")
    books.own(f"in {SECRET}").record(Prompted(prompt="p", text="x"))
    assert sorted(find(books.book, None, SECRET)) == [
        Place("catalogue", 1, "catalogued"),
        Place("loop:a", 1, "loop_opened"),
        Place("loop:a", 2, "todo_opened"),
        Place(books.own(f"in {SECRET}").stream, 1, "prompted"),
    ]


def test_one_command_takes_it_out_of_loops_forks_sessions_and_guards(books: Books) -> None:
    fill(books)
    secret = "hunter2"
    books.loop("a-2").record(Task(text=f"log in with {secret}"))
    books.own(f"me-{secret}").record(Prompted(prompt="p", text=f"it is {secret}"), host_ref=secret)
    books.adopt("a", f"me-{secret}")
    books.book.record(f"guard:{secret}", Draft(Task(text=secret), host_ref="r"))
    done = everywhere(books, secret, reason="leaked")
    assert done.left == ()
    mark = "[scrubbed-7-chars]"
    assert set(done.entries) == {
        ("loop:a", 10), ("loop:a-2", 9), (f"guard:{mark}", 1),
        (f"session:loopbook:me-{mark}", 1), (f"session:loopbook:me-{mark}", 2),
    }  # fmt: skip
    nowhere(books, secret)
    assert books.current(f"me-{mark}") == books.loop("a") or books.current(f"me-{mark}") is not None
    assert books.book.seen(f"guard:{mark}", ["r"]) == {"r"}
    assert books.own(f"me-{mark}").record(Task(text="again"), host_ref=mark) == ()
    assert fsck(books.book).notes == ()  # the session's stream is found under the name that the loop knows


def test_what_a_book_alone_does_not_reach_is_named_with_stream_and_seq(books: Books) -> None:
    books.start("fix", SECRET, id="a", session="s1")
    books.start("fix", "i", id="b", session="s2").record(Task(text=SECRET), session=SECRET)
    books.own("hunter2").record(Prompted(prompt="p", text="x"))
    done = scrub(books.book, Asked("loop:a", text="hunter2"), NOON)
    assert done.left == (
        Place("loop:b", 2, "task"),
        Place("session:loopbook:hunter2", None, "its name"),
        Place("session:loopbook:hunter2", 1, "prompted"),
    )
    assert everywhere(books, "hunter2").left == ()


def test_forks_lose_it_with_their_parent_and_ids_go_on_meaning_the_same(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(TodoOpened(todo="t-hunter2", subject="s"))
    fork = books.fork("a", new_id="b")
    fork.record(TodoCompleted(todo="t-hunter2"), Task(text="hunter2"))
    for stream in ("loop:a", "loop:b"):
        done = scrub(books.book, Asked(stream, text="hunter2"), NOON)
        assert done.left == ()
        assert {stream for stream, _ in done.entries} == {"loop:a", "loop:b"}
        assert not fork.state.todos
        loop.record(Task(text="hunter2"))
        fork.record(Task(text="hunter2"))
    everywhere(books, "hunter2")


def test_who_scrubs_in_a_session_of_that_name_leaves_it_nowhere(books: Books) -> None:
    books.start("fix", "hunter2", id="a")
    done = scrub(books.book, Asked("loop:a", text="hunter2", reason="hunter2!", session="hunter2"), NOON)
    assert done.left == ()
    *_, last = books.book.entries("loop:a")
    assert isinstance(last.event, Scrubbed)
    assert (last.session, last.event.reason) == ("[scrubbed-7-chars]", "[scrubbed-7-chars]!")


def test_the_name_of_a_loop_goes_when_the_loop_is_forgotten(books: Books) -> None:
    books.start("fix", "i", id="fix-hunter2", session="s1").record(Task(text="x"), host_ref="r")
    books.start("chore", "i", id="b", session="s1")
    before = rows_of(books.book)
    with pytest.raises(CannotScrub, match="loopbook store forget fix-hunter2; then"):
        everywhere(books, "hunter2")
    assert rows_of(books.book) == before
    forget(books.book, "fix-hunter2", now=NOON, session="hunter2")
    assert everywhere(books, "hunter2").left == ()
    nowhere(books, "hunter2")
    assert [row.id for row in books.list()] == ["b"]


def test_a_number_that_holds_the_digits_goes_or_is_told(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(
        Unknown.model_validate({"type": "x", "pin": 774411, "deep": [{"ref": "774411"}], "774411": True}),
        Judged(advisor="a", read_to=774411, answers={"pin": 774411.5}),
    )
    done = everywhere(books, "774411")
    assert done.left == (Place("loop:a", 3, "judged, in a number"),)
    first = [*loop.entries()][1].event
    mark = "[scrubbed-6-chars]"
    assert first.model_extra == {"pin": mark, "deep": [{"ref": mark}], mark: True}


def test_digits_of_checksums_and_times_are_not_the_text(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(Task(text="2026"))
    scrub(books.book, Asked("loop:a", text="2026"), NOON)
    head = books.book.head("loop:a")[1]
    loop.record(Task(text=head[:6]))
    assert everywhere(books, head[:6]).left == ()


@pytest.mark.parametrize("text", ["scrubbed-", "chars", "[scrubbed-7-chars]", "[scrubbed", "removed"])
def test_a_text_that_is_part_of_the_mark_is_not_put_back(books: Books, text: str) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(Task(text="hunter2"), TodoOpened(todo=f"a-{text}", subject="s"))
    scrub(books.book, Asked("loop:a", text="hunter2"), NOON)
    done = everywhere(books, text)
    assert done.left == ()
    assert text not in " ".join(loop.state.todos)


def test_a_reason_that_held_another_secret_is_scrubbed_too(books: Books) -> None:
    books.start("fix", "hunter2", id="a", session="s1")
    scrub(books.book, Asked("loop:a", text="hunter2", reason="like swordfish"), NOON)
    assert everywhere(books, "swordfish").left == ()
    nowhere(books, "hunter2", "swordfish")


def test_an_intent_cut_in_the_middle_of_it_is_listed_as_the_book_says(books: Books) -> None:
    """A fork is listed in the first 8,000 characters: the text may stand across that border."""
    books.start("fix", "x" * 7_995 + "hunter2" + "y" * 99, id="a")
    books.fork("a", new_id="b")
    for again in ("hunter2", "xxxx"):
        everywhere(books, again)
        assert "hunte" not in " ".join(row.intent for row in books.list())


def test_two_sessions_never_get_one_name(books: Books) -> None:
    for secret in ("hunter2", "swordf1"):
        books.own(secret).record(Prompted(prompt="p", text="x"))
    for secret in ("hunter2", "swordf1"):
        scrub(books.book, Asked(books.own(secret).stream, text=secret), NOON)
    assert fsck(books.book).findings == ()
    assert books.book.head("session:loopbook:[scrubbed-7-chars]")[0] == 2
    assert books.book.head("session:loopbook:[scrubbed-7-chars-2]")[0] == 2


def test_a_name_that_would_be_none_stays_and_is_told(books: Books) -> None:
    books.own("x" * 190 + "hunter2").record(Prompted(prompt="p", text="hunter2"))
    name = books.own("x" * 190 + "hunter2").stream
    assert everywhere(books, "hunter2").left == (Place(name, None, "its name"),)


def test_a_closed_loop_and_its_line_in_the_list_stay_what_they_are(books: Books) -> None:
    books.start("chore", "hunter2", id="a").record(LoopClosed(outcome="unjudged"))
    everywhere(books, "hunter2")
    (row,) = books.list()
    assert (row.outcome, row.intent) == ("unjudged", "[scrubbed-7-chars]")
    *_, last = books.book.entries(CATALOGUE)
    assert getattr(last.event, "change", "") == "scrubbed"


def test_what_no_book_holds_is_told_and_nothing_is_written(books: Books) -> None:
    fill(books)
    before = rows_of(books.book)
    with pytest.raises(CannotScrub, match="does not hold the text"):
        everywhere(books, "nowhere at all")
    for asked in (Asked(None), Asked(None, seq=1), Asked(None, seq=1, text="tell"), Asked(None, text="abc")):
        with pytest.raises(CannotScrub):
            scrub(books.book, asked, NOON)
    assert rows_of(books.book) == before


def test_an_id_that_is_named_elsewhere_is_not_taken_out_of_one_entry(books: Books) -> None:
    """Also where it is forced: what the book says of it later would be about nothing."""
    loop = books.start("fix", "i", id="a")
    loop.record(TodoOpened(todo="t-hunter2", subject="s"), TodoCompleted(todo="t-hunter2"))
    before = rows_of(books.book)
    with pytest.raises(CannotScrub, match="todo 't-hunter2' is not open"):
        scrub(books.book, Asked("loop:a", seq=2, text="hunter2", force=True), NOON)
    assert rows_of(books.book) == before


def test_a_text_that_grows_beyond_what_a_book_takes_goes_with_its_whole_entry(books: Books) -> None:
    """A follow-up has at most 200 characters, and the mark is longer than the secret was."""
    loop = books.start("fix", "i", id="a")
    loop.record(TodoOpened(todo="t", subject="s", followup="x" * 190 + "hunter2"))
    before = rows_of(books.book)
    with pytest.raises(CannotScrub, match="--seq alone"):
        scrub(books.book, Asked(None, text="hunter2", force=True), NOON)
    assert rows_of(books.book) == before
    scrub(books.book, Asked("loop:a", seq=2), NOON)
    comes_again(books)
    assert [*find(books.book, None, "hunter2")] == []


def test_damage_elsewhere_does_not_hinder_and_damage_that_holds_it_is_told(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path}/books.db") as books:
        fill(books)
        books.start("fix", "hunter2", id="c")
        with closing(sqlite3.connect(tmp_path / "books.db")) as file, file:
            where = "WHERE originator_id = 'loop:done' AND originator_version = 2"
            file.execute(f"UPDATE stored_events SET state = CAST(x'ff' || 'hunter2' AS BLOB) {where}")
        done = scrub(books.book, Asked(None, text="hunter2"), NOON)
        assert done.left == (Place("loop:done", 2, UNREADABLE),)
        assert ("loop:c", 1) in done.entries
