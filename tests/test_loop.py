"""Loops: started, found, listed, adopted, fed; the few lines an embedder writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from loopbook import Books, Loop
from loopbook.book import CATALOGUE
from loopbook.entry import Draft, Entry
from loopbook.errors import (
    AlreadyUsed,
    InvalidKind,
    InvalidLoopId,
    LoopbookError,
    NoSuchLoop,
    Refused,
    Stale,
    UnknownKind,
    UnknownTodo,
)  # fmt: skip
from loopbook.errors import LoopClosed as ClosedError
from loopbook.events import (
    BookChosen,
    Change,
    Check,
    CloseDeclared,
    LoopClosed,
    LoopOpened,
    SessionAdopted,
    Task,
    TodoCompleted,
    TodoOpened,
    UnitAdded,
)
from loopbook.ids import sortable_id
from loopbook.kinds import from_definition, parse
from loopbook.kinds_at_hand import load_kinds
from loopbook.projections import fold, position
from tests.conftest import ROOT

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Ticking:
    """A clock that is a second further on whenever it is looked at."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def books(store_url: str) -> Iterator[Books]:
    with Books.open(store_url, session="s1", host="pi", clock=Ticking()) as opened:
        yield opened


def types(entries: Iterator[Entry]) -> list[str]:
    return [entry.event.type for entry in entries]


def test_the_lines_of_an_embedder(books: Books) -> None:
    loop = books.start(kind="fix", intent="Crash on empty input", anchor="3f2a91c")
    loop.record(Check(command="pytest -k empty", outcome="fail", exit_code=1))
    assert position(loop.state).next == "change"
    loop.record(Change(summary="bounded", paths=("client.py",)))
    assert position(loop.state).next == "verify"


def test_a_loop_keeps_its_kind_as_it_was_then(books: Books) -> None:
    loop = books.start("research", "Which store?", anchor="v1", review_tier="none")
    opened = next(loop.entries()).event
    assert isinstance(opened, LoopOpened)
    assert (opened.kind, opened.intent, opened.anchor, opened.review_tier) == (
        "research",
        "Which store?",
        "v1",
        "none",
    )
    assert from_definition(opened.definition or {}) == books.kinds["research"]


def test_a_kind_of_ones_own_needs_no_file(books: Books) -> None:
    kind = parse('name = "mine"\n[[phase]]\nname = "close"\nneeds = [{ is = "closable" }]')
    assert books.start(kind, "x").state.life.kind == "mine"


def test_a_start_is_one_save_of_loop_catalogue_and_session(books: Books) -> None:
    loop = books.start("fix", "x", id="a")
    assert types(books.book.entries(CATALOGUE)) == ["catalogued"]
    (chosen,) = books.book.entries("session:pi:s1")
    assert chosen.event == BookChosen(book="loop:a")
    assert [entry.session for entry in loop.entries()] == ["s1"]


def test_an_id_is_given_once(books: Books) -> None:
    books.start("fix", "x", id="a")
    with pytest.raises(AlreadyUsed, match="there is a loop 'a' already"):
        books.start("chore", "y", id="a", session="s2")
    assert [row.kind for row in books.list()] == ["fix"]
    assert [*books.book.entries("session:pi:s2")] == []


def test_a_made_id_that_is_taken_is_made_anew(tmp_path: Path) -> None:
    ids = iter(["a", "a", "b"])
    with Books.open(str(tmp_path / "books.db"), new_id=lambda: next(ids)) as books:
        assert [books.start("fix", "x").id for _ in range(2)] == ["a", "b"]


def test_made_ids_sort_by_time_and_differ() -> None:
    made = [sortable_id(NOON + timedelta(days=n)) for n in range(400)]
    assert made == sorted(made)
    assert len({sortable_id(NOON) for _ in range(50)}) > 40


@pytest.mark.parametrize("name", ["", "a:b", "a b", "-a", ".", "a/b", "a\n", "\ud800", "é", "a" * 121, "a\0"])
def test_an_id_that_cannot_name_a_stream_is_refused(books: Books, name: str) -> None:
    with pytest.raises(InvalidLoopId):
        books.start("fix", "x", id=name or ":")
    with pytest.raises(InvalidLoopId):
        books.loop(name)
    assert books.list() == []


def test_an_unknown_kind_is_refused_and_the_known_ones_named(books: Books) -> None:
    with pytest.raises(UnknownKind, match="there are: change, chore, fix, research, review") as told:
        books.start("fixx", "x")
    assert str(told.value).endswith("your own kinds: set kinds_dir (now: none)")
    assert books.list() == []


def test_a_loop_is_found_again_or_named_as_missing(books: Books) -> None:
    books.start("fix", "x", id="a").record(Task(text="t"))
    assert books.loop("a").version == books.loop("a").state.version == 2
    with pytest.raises(NoSuchLoop, match="no loop 'b'"):
        books.loop("b")


def test_listing_reads_the_catalogue_and_no_loop(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        books.start("fix", f"intent {name}", id=name).record(*(Task(text="t") for _ in range(30)))
    books.adopt("b", "s2")
    books.loop("c").record(CloseDeclared(), LoopClosed(outcome="met"))
    read: list[str] = []
    select = books.book._records.recorder.select_events
    monkeypatch.setattr(
        books.book._records.recorder,
        "select_events",
        lambda stream, **bounds: (read.append(stream), select(stream, **bounds))[1],  # type: ignore[func-returns-value]
    )
    rows = books.list()
    assert set(read) == {CATALOGUE}
    assert [(row.id, row.session, row.outcome) for row in rows] == [
        ("a", "s1", None), ("b", "s2", None), ("c", "s1", "met"),
    ]  # fmt: skip
    assert json.loads(json.dumps(rows[0]._asdict()))["opened"] == "2026-01-01T12:00:01Z"


def test_another_session_goes_on_with_a_loop(books: Books) -> None:
    books.start("fix", "x", id="a")
    loop = books.adopt("a", "s2")
    assert types(loop.entries()) == ["loop_opened", "session_adopted"]
    assert [entry.session for entry in loop.entries()] == ["s1", "s2"]
    assert books.current("s2") is not None
    assert loop.state.life.session == "s2"


def test_adopting_what_one_has_writes_nothing(books: Books) -> None:
    books.start("fix", "x", id="a")
    for _ in range(2):
        books.adopt("a")
    assert books.loop("a").version == 1
    for _ in range(2):
        books.adopt("a", "s2")
    assert books.loop("a").version == 2
    books.adopt("a", "s1")  # s2 had it meanwhile
    assert books.loop("a").version == 3
    assert [entry.event for entry in books.loop("a").entries(1)] == [SessionAdopted()] * 2


def test_the_current_book_is_the_last_one_opened_or_adopted(books: Books) -> None:
    assert books.current() is None
    books.start("fix", "x", id="a")
    books.start("fix", "y", id="b")
    current = books.current()
    assert current is not None
    assert current.id == "b"
    books.adopt("a")
    current = books.current("s1")
    assert current is not None
    assert current.id == "a"


def test_a_closed_loop_takes_nothing_until_it_is_reopened(books: Books) -> None:
    loop = books.start("chore", "x", id="a")
    with pytest.raises(Refused):
        loop.reopen()
    loop.record(CloseDeclared(), LoopClosed(outcome="over_concerns"))
    with pytest.raises(ClosedError):
        loop.record(Task(text="t"))
    with pytest.raises(ClosedError):
        books.adopt("a", "s2")
    assert books.current("s2") is None
    assert [row.outcome for row in books.list()] == ["over_concerns"]
    assert loop.reopen().record(Task(text="t"))[0].seq == 5
    assert [row.outcome for row in books.list()] == [None]


def test_record_says_who_of_what_and_returns_what_is_new(books: Books) -> None:
    loop = books.start("fix", "x")
    loop.record(UnitAdded(unit="u", subject="s"))
    first, second = loop.record(Task(text="a"), Task(text="b"), unit="u", host_ref="call", session="s9")
    assert [(entry.unit, entry.host_ref, entry.session) for entry in (first, second)] == [
        ("u", "call#1", "s9"), ("u", "call#2", "s9"),
    ]  # fmt: skip
    again = loop.record(Task(text="a"), Draft(Task(text="c"), host_ref="own"), host_ref="call")
    assert [entry.host_ref for entry in again] == ["own"]
    assert loop.record() == ()


def test_append_is_conditional(books: Books) -> None:
    loop = books.start("fix", "x")
    version = loop.version
    loop.append(Task(text="a"), after=version)
    with pytest.raises(Stale):
        loop.append(Task(text="b"), after=version)
    assert loop.version == version + 1


# --- feeding ----------------------------------------------------------------------------------


def row_of(n: int) -> Iterator[Draft]:
    for i in range(n):
        yield Draft(Task(text=f"t{i}"), host_ref=f"{i}:x", line=i, at=NOON, session="file")


def test_a_long_row_is_fed_in_saves_and_goes_on_where_it_ended(books: Books) -> None:
    loop = books.start("fix", "x")
    assert loop.feed(row_of(700)) == 700
    assert loop.feed(row_of(700)) == 0
    assert loop.feed(row_of(1_203)) == 503
    assert [entry.line for entry in loop.entries(1)] == [*range(1_203)]
    assert loop.state == fold(loop.entries())


def test_a_row_that_was_fed_is_skipped_without_being_encoded(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = books.start("fix", "x")
    loop.feed(row_of(600))
    monkeypatch.setattr("loopbook.book.attempt.Attempt.enter", None)
    assert loop.feed(row_of(600)) == 0


def test_feeding_tells_what_it_leaves_out(books: Books) -> None:
    loop = books.start("fix", "x")
    told: list[LoopbookError] = []
    drafts = [
        Draft(TodoOpened(todo="t", subject="s")),
        Draft(TodoCompleted(todo="nobody")),
        Draft(Task(text="x")),
    ]
    assert loop.feed(drafts, tell=lambda _draft, why: told.append(why)) == 2
    assert [type(why) for why in told] == [UnknownTodo]
    with pytest.raises(UnknownTodo):
        loop.feed(drafts[1:])
    assert loop.version == 3


# --- kinds ------------------------------------------------------------------------------------


def test_the_users_kinds_are_at_hand_and_win(tmp_path: Path) -> None:
    text = '[[phase]]\nname = "close"\nneeds = [{ is = "closable" }]'
    (tmp_path / "a.toml").write_text(f'name = "mine"\n{text}')
    (tmp_path / "b.toml").write_bytes(b"\xef\xbb\xbf" + f'name = "fix"\ntitle = "My way"\n{text}'.encode())
    with Books.open("memory:", kinds_dir=tmp_path) as books:
        assert set(books.kinds) == {*load_kinds(), "mine"}
        assert books.kinds["fix"].title == "My way"


@pytest.mark.parametrize("raw", [b"name = ", b"\xff\xfe", b'name = "x"'])
def test_a_broken_kind_is_named_with_its_file(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_bytes(raw)
    with pytest.raises(InvalidKind, match=r"odd\.toml"):
        load_kinds(tmp_path)


# --- the edge -------------------------------------------------------------------------------------


def test_the_store_is_the_users_unless_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "LOOPBOOK_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    with Books.open() as books:
        assert books.url == f"sqlite:///{tmp_path}/home/.local/share/loopbook/books.db"
    monkeypatch.setenv("LOOPBOOK_STORE", f"sqlite:///{tmp_path}/other.db")
    with Books.open() as books:
        assert books.url == f"sqlite:///{tmp_path}/other.db"


def test_the_sessions_own_keys_are_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_API_KEY", "correct-horse-battery")
    with Books.open("memory:") as books:
        (entry,) = books.start("fix", "x").record(Task(text="use correct-horse-battery"))
    assert entry.event == Task(text="use [redacted secret 21 chars]")


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'pydantic', 'eventsourcing', 'sqlite3', 'tomllib', 'asyncio'}"
    script = f"import sys, loopbook; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout == "[]\n"


def test_a_loop_says_which_it_is(books: Books) -> None:
    assert repr(books.start("fix", "x", id="a")) == f"<Loop a in {books.url}>"
    assert Loop is type(books.loop("a"))
    assert os.linesep not in repr(books.loop("a"))
