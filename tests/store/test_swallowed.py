"""A trigger or a rule of somebody else's: a save is whole or told, and never tried for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from loopbook.book import Book
from loopbook.entry import Draft
from loopbook.errors import ForeignStore, StoreError
from loopbook.events import LoopOpened, Task, TodoOpened
from loopbook.store import Recorder, open_records, parse_url
from tests.store.raw import sql
from tests.store.rows import everything, insert, plain

A = "session:h:a"


@pytest.fixture
def store(shared_url: str) -> Iterator[Recorder]:
    records = open_records(parse_url(shared_url))
    yield records.rows
    records.close()


def trigger(url: str, what: str, body: tuple[str, str], when: str = "") -> None:
    """Before ``what``, do the first of ``body`` in SQLite, the second in PostgreSQL."""
    if parse_url(url).path is not None:
        guard = f"WHEN {when}" if when else ""
        sql(url, f"CREATE TRIGGER t BEFORE {what} ON stored_events {guard} BEGIN SELECT {body[0]}; END")
        return
    guard = f"WHEN ({when})" if when else ""
    sql(url, f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {body[1]}; END$$")
    sql(url, f"CREATE TRIGGER t BEFORE {what} ON stored_events FOR EACH ROW {guard} EXECUTE FUNCTION f()")


SWALLOW = "RAISE(IGNORE)", "RETURN NULL"
REFUSE = "RAISE(ABORT, 'no')", "RAISE EXCEPTION 'no'"


def refused(store: Recorder, *works: Callable[[], object]) -> None:
    before = everything(store)
    for work in works:
        with pytest.raises(ForeignStore, match="nothing was written; see: loopbook store check"):
            work()
        assert everything(store) == before


def test_a_save_of_which_a_trigger_keeps_only_some_rows_is_refused_whole(
    shared_url: str, store: Recorder
) -> None:
    insert(store, plain("a", 1))
    trigger(shared_url, "INSERT", SWALLOW, "NEW.topic='todo'")
    some = [plain("a", 2, topic="todo"), plain("once:a:todo:t", 1, topic="reserved")]
    refused(
        store,
        lambda: insert(store, *some),
        lambda: insert(store, some[0]),
        lambda: store.load(iter(some)),
        lambda: store.replace([], some),
    )
    insert(store, plain("a", 2))


@pytest.mark.parametrize("what", ["UPDATE", "DELETE"])
def test_what_a_trigger_does_not_let_be_replaced_or_removed_is_told(
    shared_url: str, store: Recorder, what: str
) -> None:
    insert(store, plain("a", 1), plain("b", 1))
    trigger(shared_url, what, SWALLOW, "OLD.originator_id='b'")
    change = {
        "UPDATE": lambda: store.replace([plain("a", 1, b"x"), plain("b", 1, b"x")]),
        "DELETE": lambda: store.replace([plain("a", 1, b"x")], [], ["b"]),
    }[what]
    refused(store, change)
    if what == "DELETE":
        refused(store, lambda: store.delete(["a", "b"]))


def test_a_rule_that_does_nothing_instead_is_told(shared_url: str, store: Recorder) -> None:
    if parse_url(shared_url).path is not None:
        pytest.skip("SQLite has no rules")
    insert(store, plain("a", 1))
    sql(shared_url, "CREATE RULE r AS ON INSERT TO stored_events DO INSTEAD NOTHING")
    refused(store, lambda: insert(store, plain("a", 2)))


def test_a_trigger_that_refuses_is_no_version_that_is_taken(shared_url: str) -> None:
    """Taken for one it would be tried again for ever."""
    with Book(shared_url) as book:
        book.record(A, Draft(Task(text="x")))
        trigger(shared_url, "INSERT", REFUSE, "NEW.topic='todo_opened'")
        before = everything(book.records.rows)
        for save in (book.record, lambda *drafts: book.append(*drafts, after=1)):
            with pytest.raises(StoreError, match="nothing was written"):
                save(A, Draft(TodoOpened(todo="t", subject="s")))
        assert everything(book.records.rows) == before
        assert book.record(A, Draft(Task(text="y")))[0].seq == 2


def test_a_save_that_is_refused_for_what_nobody_can_see_ends(shared_url: str) -> None:
    """An index of somebody else's refuses it as a taken version is refused."""
    with Book(shared_url) as book:
        book.record(A, Draft(Task(text="x")))
        sql(shared_url, "CREATE UNIQUE INDEX i ON stored_events (topic)")
        before = everything(book.records.rows)
        for save in (book.record, lambda *drafts: book.append(*drafts, after=1)):
            with pytest.raises(StoreError, match="nothing was written; see: loopbook store check"):
                save(A, Draft(Task(text="y")))
        assert everything(book.records.rows) == before


def test_a_fork_that_is_refused_for_what_nobody_can_see_ends(shared_url: str) -> None:
    with Book(shared_url) as book:
        book.record("loop:a", Draft(LoopOpened(kind="fix", intent="i")))
        sql(shared_url, "CREATE UNIQUE INDEX i ON stored_events (originator_version) WHERE topic='forked'")
        book.fork("loop:a", 1, "loop:b")
        with pytest.raises(ForeignStore, match="nothing was written; see: loopbook store check"):
            book.fork("loop:a", 1, "loop:c")
        assert book.head("loop:c") == (0, "")
