"""PostgreSQL: made once, found again, and every way in which a server fails told or lived through."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, cast

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

from loopbook.book import Book
from loopbook.entry import Draft, Entry
from loopbook.errors import (
    AlreadyUsed,
    ForeignStore,
    InvalidEvent,
    NewerStore,
    StoreError,
    StoreUnavailable,
    StoreURLInvalid,
)
from loopbook.events import Task, TodoOpened
from loopbook.store import Row, open_records, parse_url
from tests.conftest import ROOT
from tests.postgres import Postgres
from tests.store.proxy import Proxy
from tests.store.raw import sql

if TYPE_CHECKING:
    from loopbook.store.postgres import PostgresRecorder

psycopg = pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed")

A = "session:h:a"
X = Draft(Task(text="x"))


@pytest.fixture
def url(postgres: Postgres) -> str:
    """The URL of a schema that is not there yet."""
    return postgres.schema()


@pytest.fixture
def book(url: str) -> Iterator[Book]:
    with Book(url) as opened:
        opened.append(A, X, after=0)
        yield opened


def texts(book: Book, stream: str = A) -> list[str]:
    return [cast("Task", entry.event).text for entry in book.entries(stream)]


def one_line(told: pytest.ExceptionInfo[StoreError]) -> str:
    said = str(told.value)
    assert "\n" not in said
    assert len(said) < 700
    return said


# --- made once ------------------------------------------------------------------------------------


def test_a_store_is_two_tables_a_mark_and_nothing_else(book: Book) -> None:
    """No functions or types of the library's, no ids that would promise an order."""
    in_schema = "relnamespace=current_schema()::regnamespace"
    tables = sql(book.url, f"SELECT relname FROM pg_class WHERE relkind='r' AND {in_schema} ORDER BY 1")
    assert tables == [("loopbook_store",), ("stored_events",), ("stored_snapshots",)]
    assert sql(book.url, "SELECT schema FROM loopbook_store") == [(2,)]
    functions = "SELECT count(*) FROM pg_proc WHERE pronamespace=current_schema()::regnamespace"
    assert sql(book.url, functions) == [(0,)]
    others = f"SELECT count(*) FROM pg_class WHERE relkind IN ('S', 'c') AND {in_schema}"
    assert sql(book.url, others) == [(0,)]
    names = (
        "SELECT collname FROM pg_attribute a JOIN pg_collation c ON c.oid=attcollation"
        " WHERE attname='originator_id' AND attrelid IN"
        " ('stored_events'::regclass, 'stored_snapshots'::regclass)"
    )
    assert sql(book.url, names) == [("C",)] * 2, "names sort by code point, whatever the database's locale"


def test_must_3_a_user_who_may_create_nothing_opens_and_writes_what_is_there(
    postgres: Postgres, url: str
) -> None:
    """So opening creates nothing once the tables are there."""
    Book(url).close()
    schema = parse_url(url).schema
    sql(url, f"CREATE ROLE {schema}_writer LOGIN")
    theirs = url.replace("postgres@", f"{schema}_writer@")
    with pytest.raises(StoreUnavailable, match="access is denied"):
        Book(theirs)
    sql(url, f"GRANT USAGE ON SCHEMA {schema} TO {schema}_writer")
    sql(url, f"GRANT SELECT ON loopbook_store, stored_events, stored_snapshots TO {schema}_writer")
    with Book(theirs) as reader:
        assert reader.head(A) == (0, "")
        with pytest.raises(StoreUnavailable, match="access is denied; nothing was written"):
            reader.append(A, X, after=0)
        assert reader._records.rows.facts().refusal.endswith(
            ": this user may not write; nothing was written; grant this user its tables"
        )
    sql(url, f"GRANT INSERT ON stored_events TO {schema}_writer")
    with Book(theirs) as writer:
        assert writer.append(A, X, after=0)[0].seq == 1
    with pytest.raises(StoreUnavailable, match=r"access is denied|cannot|PostgreSQL says"):
        Book(postgres.schema().replace("postgres@", f"{schema}_writer@"))


def test_the_rights_that_are_documented_are_those_that_are_needed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user that may write keeps snapshots too, again and again; one that may only read reads."""
    monkeypatch.setattr("loopbook.book.folding.EVERY", 3)
    Book(url).close()
    schema = parse_url(url).schema
    user = f"{schema}_grantee"
    sql(url, f"CREATE ROLE {user} LOGIN")
    sql(url, f"GRANT USAGE ON SCHEMA {schema} TO {user}")
    sql(url, f"GRANT SELECT ON stored_events, stored_snapshots, loopbook_store TO {user}")
    theirs = url.replace("postgres@", f"{user}@")
    versions = "SELECT originator_version FROM stored_snapshots ORDER BY 1"
    with Book(url) as own, Book(theirs) as reader:
        own.record(A, *[X] * 4)
        assert reader.state(A).version == 4
        assert sql(url, versions) == []
    sql(url, f"GRANT INSERT ON stored_events, stored_snapshots TO {user}")
    sql(url, f"GRANT DELETE ON stored_snapshots TO {user}")
    with Book(theirs) as writer:
        assert writer.state(A).version == 4
        assert sql(url, versions) == [(4,)]
        for _ in range(2):
            writer._records.rows.snapshot_put(Row(A, 9, "x", b""), ())
        writer.record(A, *[X] * 3)
        assert writer.state(A).version == 7
        assert sql(url, versions) == [(4,), (7,)]
        with pytest.raises(StoreUnavailable, match="access is denied"):
            writer._records.rows.delete([A])
    sql(url, f"GRANT UPDATE, DELETE ON stored_events TO {user}")
    with Book(theirs) as keeper:
        keeper._records.rows.delete([A])
        assert keeper.head(A) == (0, "")


def test_must_12_a_process_has_few_connections(book: Book, postgres: Postgres) -> None:
    most: list[int] = []
    application = "SELECT count(*) FROM pg_stat_activity WHERE application_name=?"
    named = postgres.url(schema=parse_url(book.url).schema, application_name="crowd")
    with Book(named) as crowd:

        def read() -> None:
            for _ in range(10):
                crowd.head(A)

        threads = [threading.Thread(target=read) for _ in range(16)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most.append(cast("int", sql(book.url, application, "crowd")[0][0]))
        assert 1 <= max(most) <= 5
        assert cast("int", sql(book.url, application, "crowd")[0][0]) <= 2
    deadline = time.monotonic() + 10
    while sql(book.url, application, "crowd") != [(0,)]:
        assert time.monotonic() < deadline, "closed, and still connected"


def test_a_commit_is_as_durable_as_the_server_has_it(book: Book) -> None:
    connection = book._records.recorder.server.lend()  # type: ignore[attr-defined]  # PostgreSQL's
    try:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        assert connection.execute("SHOW lock_timeout").fetchone() == ("5s",)
    finally:
        book._records.recorder.server.take_back(connection)  # type: ignore[attr-defined]  # as above


def test_writers_of_different_streams_do_not_wait_for_each_other(book: Book) -> None:
    with psycopg.connect(book.url.partition("&schema")[0]) as other:
        schema = parse_url(book.url).schema
        other.execute(f"INSERT INTO {schema}.stored_events VALUES ('session:h:b', 1, 'task', '')")
        assert book.append(A, X, after=1)[0].seq == 2  # while the other one has not committed
        other.rollback()


def test_plain_sql_reads_a_book(book: Book) -> None:
    book.record(A, Draft(Task(text="héllo")))
    query = "SELECT topic, convert_from(state, 'UTF8')::json->>'text' FROM stored_events ORDER BY 2"
    assert sql(book.url, query) == [("task", "héllo"), ("task", "x")]


# --- what is no store -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE stored_events (x int)",
        "CREATE TABLE stored_snapshots (x int)",
        "CREATE TABLE loopbook_store (x int)",
        "CREATE TABLE loopbook_store (schema text); INSERT INTO loopbook_store VALUES ('2')",
        "CREATE TABLE loopbook_store (schema int)",
    ],
)
def test_a_foreign_database_is_refused_and_left_as_it_is(url: str, made: str) -> None:
    schema = parse_url(url).schema
    for statement in (f"CREATE SCHEMA {schema}", *made.split("; ")):
        sql(url, statement)
    tables = "SELECT relname FROM pg_class WHERE relnamespace=current_schema()::regnamespace ORDER BY 1"
    before = sql(url, tables)
    with pytest.raises(ForeignStore, match="left as it is; name another database") as told:
        Book(url)
    one_line(told)
    assert sql(url, tables) == before


def test_other_peoples_tables_beside_ours_are_no_hindrance(url: str) -> None:
    sql(url, f"CREATE SCHEMA {parse_url(url).schema}")
    sql(url, "CREATE TABLE customers (x int)")
    with Book(url) as book:
        assert book.append(A, X, after=0)[0].seq == 1


def test_a_newer_schema_is_refused_by_name(book: Book) -> None:
    sql(book.url, "UPDATE loopbook_store SET schema=99")
    with pytest.raises(NewerStore, match=r"schema 99, and this loopbook knows up to 2.*upgrade loopbook"):
        Book(book.url)


def test_a_database_that_keeps_no_unicode_is_refused(postgres: Postgres) -> None:
    with pytest.raises(StoreUnavailable, match=r"keeps text as SQL_ASCII.*ENCODING 'UTF8'"):
        Book(postgres.database("SQL_ASCII"))


def test_tables_that_are_dropped_meanwhile_are_told(book: Book) -> None:
    sql(book.url, "DROP TABLE stored_events")
    with pytest.raises(ForeignStore, match="the tables of a store are not there"):
        book.append(A, X, after=1)


# --- who cannot be reached ------------------------------------------------------------------------


def test_what_cannot_be_reached_is_told_in_one_line_and_without_the_password(postgres: Postgres) -> None:
    nobody = "postgresql://me:hunter22@127.0.0.1:1/books"
    folder = postgres.folder
    wrong = {
        nobody: "cannot be reached",
        "postgresql://me:hunter22@no.such.host.invalid/books?connect_timeout=2": "cannot be reached",
        f"postgresql://postgres:hunter22@/nobodys?host={folder}": 'database "nobodys" does not exist',
        f"postgresql://nobody:hunter22@/postgres?host={folder}": 'role "nobody" does not exist',
        f"postgresql://postgres:hunter22@/postgres?host={folder}&sslmode=odd": 'invalid sslmode value: "odd"',
        f"postgresql://postgres:hunter22@/postgres?host={folder}&odd=1": "is no PostgreSQL URL",
        f"postgresql://postgres:hunter%2@/postgres?host={folder}": "percent-encode",
        f"postgresql://postgres:hunter22@/postgres?host={folder}&connect_timeout=soon": "connect_timeout:",
    }
    for url, what in wrong.items():
        with pytest.raises((StoreUnavailable, StoreURLInvalid), match=what) as told:
            Book(url)
        one_line(told)
        assert "hunter" not in "".join(traceback.format_exception(told.value)), url


def test_a_password_is_in_no_repr(url: str) -> None:
    with Book(url.replace("postgres@", "postgres:hunter22@")) as book:
        records = book._records
        shown = [repr(records.env), repr(vars(records)), repr(vars(book)), book.url, repr(records.factory)]
        assert not any("hunter" in text for text in shown)


def test_must_4_the_url_chooses_the_store_whatever_the_environment_says(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = {
        "PGHOST": "no.such.host.invalid", "PGHOSTADDR": "192.0.2.1", "PGPORT": "1", "PGDATABASE": "nobodys",
        "PGOPTIONS": "-c default_transaction_read_only=on", "PGCLIENTENCODING": "LATIN1", "PGAPPNAME": "x",
        "PGTARGETSESSIONATTRS": "standby", "PGCONNECT_TIMEOUT": "soon", "POSTGRES_DBNAME": "nobodys",
        "POSTGRES_HOST": "no.such.host.invalid", "POSTGRES_PORT": "1", "POSTGRES_USER": "nobody",
        "POSTGRES_PASSWORD": "x", "POSTGRES_SCHEMA": "nowhere", "POSTGRES_LOCK_TIMEOUT": "soon",
        "POSTGRES_GET_PASSWORD_TOPIC": "zlib", "POSTGRES_ENABLE_DB_FUNCTIONS": "y", "CREATE_TABLE": "y",
    }  # fmt: skip
    for name, value in stray.items():
        monkeypatch.setenv(name, value)
    with Book(url) as book:
        book.append(A, Draft(Task(text="é")), after=0)
        waiter = book._records.rows.waiter()
        waiter.close()
    for name in stray:
        monkeypatch.delenv(name)
    with Book(url) as book:
        assert texts(book) == ["é"]


def test_without_the_driver_the_command_that_installs_it_is_named() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from loopbook.book import Book\n"
        "try: Book('postgresql://me:hunter22@host/books')\n"
        "except OSError as wrong: print(type(wrong).__name__, wrong)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.startswith(
        "StoreUnavailable postgresql://me:***@host/books needs the PostgreSQL driver"
    )
    assert run.stdout.endswith("pip install 'loopbook[postgres]'\n")
    assert run.stdout.count("\n") == 1


def test_a_read_only_server_is_told(postgres: Postgres, book: Book) -> None:
    options = "-c%20default_transaction_read_only%3Don"
    read_only = postgres.url(schema=parse_url(book.url).schema, options=options)
    with Book(read_only) as reader:
        assert texts(reader) == ["x"]
        with pytest.raises(StoreUnavailable, match="it is read-only; nothing was written"):
            reader.append(A, X, after=1)
        assert reader._records.rows.facts().refusal.endswith(
            ": the server is read-only; nothing was written; name the primary server"
        )
    assert book.append(A, X, after=1)[0].seq == 2


def test_a_writer_who_waits_too_long_is_told_and_nothing_is_written(book: Book) -> None:
    patient = book.url + "&timeout=0.2"
    with Book(patient) as waiting, psycopg.connect(book.url.partition("&schema")[0]) as other:
        other.execute(f"LOCK TABLE {parse_url(book.url).schema}.stored_events IN EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="another writer kept it locked; nothing was written"):
            waiting.append(A, X, after=1)
        assert texts(waiting) == ["x"]
        other.rollback()
        assert waiting.append(A, X, after=1)[0].seq == 2


def test_every_error_of_the_server_has_words(book: Book) -> None:
    server = book._records.recorder.server  # type: ignore[attr-defined]  # PostgreSQL's
    for error, what in (
        (psycopg.errors.DiskFull("x"), "the server's disk is full"),
        (psycopg.errors.TooManyConnections("x"), "the server has no connection left"),
        (psycopg.errors.CannotConnectNow("x"), "the server is starting or stopping"),
        (psycopg.errors.DataCorrupted("x"), "the database is damaged"),
        (psycopg.errors.QueryCanceled("x"), "the server ended it"),
        (psycopg.errors.InternalError("odd\nthings"), "PostgreSQL says 'odd things'"),
    ):
        assert what in str(server.told(error))
        assert isinstance(server.told(error), StoreError)
    assert isinstance(server.told(psycopg.DataError("NUL")), InvalidEvent)


# --- a line that is lost --------------------------------------------------------------------------


def cut_off_all(url: str) -> None:
    sql(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='loopbook'")


def test_a_connection_that_died_unused_is_not_even_told(book: Book) -> None:
    for n in range(1, 4):
        cut_off_all(book.url)
        assert book.append(A, X, after=n)[0].seq == n + 1
        cut_off_all(book.url)
        assert book.state(A).version == n + 1


def test_a_server_that_stops_is_told_and_the_next_call_finds_it_again(postgres: Postgres, book: Book) -> None:
    waiter = book._records.rows.waiter()
    calls: list[Callable[[], object]] = [
        lambda: book.append(A, X, after=1),
        lambda: book.state(A),
        lambda: [*book.entries(A)],
        lambda: waiter.wait(0),
        lambda: Book(book.url),
    ]
    postgres.stop()
    try:
        for call in calls * 2:
            with pytest.raises(StoreUnavailable) as told:
                call()
            one_line(told)
    finally:
        postgres.start()
    assert book.append(A, X, after=1)[0].seq == 2
    assert waiter.wait(5), "what happened while nobody listened was not heard"
    assert not waiter.wait(0.05)
    book.append(A, X, after=2)
    assert waiter.wait(5)
    waiter.close()
    assert len(texts(book)) == 3


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[Proxy]:
    made = Proxy(postgres.folder)
    yield made
    made.close()


def through(proxy: Proxy, book: Book) -> str:
    schema = parse_url(book.url).schema
    return f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres?sslmode=disable&schema={schema}"


@pytest.mark.parametrize("what", ["answer", "request"])
@pytest.mark.parametrize("ref", ["ref", None])
def test_must_7_a_save_whose_line_is_lost_is_there_once(
    proxy: Proxy, book: Book, what: Literal["answer", "request"], ref: str | None
) -> None:
    """Whether the server had committed it or never saw it; also without a host_ref."""
    with Book(through(proxy, book)) as far:
        far.state(A)
        proxy.cut = what
        written = far.record(A, Draft(TodoOpened(todo="t", subject="s"), host_ref=ref))
        assert proxy.cuts == 1
        assert [entry.seq for entry in written] == [2]
        assert [entry.event.type for entry in book.entries(A)] == ["task", "todo_opened"]
        with pytest.raises(AlreadyUsed):
            book.record(A, Draft(TodoOpened(todo="t", subject="s")))
        proxy.cut = what
        assert far.append(A, X, after=2)[0].seq == 3, "no Stale for what is one's own"


def test_must_7_a_save_of_which_nobody_knows_is_harmless_to_repeat(proxy: Proxy, book: Book) -> None:
    """The answer is lost and the server out of reach: it is said, and the host_ref makes it one."""
    draft = Draft(Task(text="y"), host_ref="ref")
    with Book(through(proxy, book)) as far:
        far.state(A)
        proxy.cut, proxy.gone = "answer", True
        with pytest.raises(StoreUnavailable, match="whether it was kept is not known; try again") as told:
            far.record(A, draft)
        one_line(told)
        proxy.gone = False
        assert far.record(A, draft) == ()
        assert texts(book) == ["x", "y"]


def test_a_conflict_after_a_lost_line_is_somebody_elses_if_the_bytes_differ(proxy: Proxy, book: Book) -> None:
    with Book(through(proxy, book)) as far:
        far.state(A)
        book.append(A, Draft(Task(text="other")), after=1)
        proxy.cut = "request"
        assert [entry.seq for entry in far.record(A, Draft(Task(text="mine")))] == [3]
    assert texts(book) == ["x", "other", "mine"]


def test_a_save_whose_line_is_lost_is_there_once_whoever_went_on_from_it(
    proxy: Proxy, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began a stream, and before it was tried again somebody else had appended to that."""
    new = "session:h:new"

    with Book(through(proxy, book)) as far:
        recorder = cast("PostgresRecorder", far._records.recorder)
        lend, insert = recorder.server.lend, recorder.insert_events

        def insert_and_lose_the_answer(rows: Sequence[StoredEvent], **_: object) -> object:
            monkeypatch.setattr(recorder, "insert_events", insert)
            proxy.cut = "answer"
            monkeypatch.setattr(recorder.server, "lend", lend_after_somebody_else)
            return insert(rows)

        def lend_after_somebody_else(*, fresh: bool = False) -> object:
            if fresh:
                monkeypatch.setattr(recorder.server, "lend", lend)
                book.record(new, Draft(Task(text="other")))
            return lend(fresh=fresh)

        saves: list[Callable[[], tuple[Entry, ...]]] = [
            lambda: far.record(new, X),
            lambda: far.append(new, X, after=0),
        ]
        for save in saves:
            book._records.rows.delete([new])
            monkeypatch.setattr(recorder, "insert_events", insert_and_lose_the_answer)
            assert [entry.seq for entry in save()] == [1]
            assert texts(book, new) == ["x", "other"]
    assert proxy.cuts == 2


def test_a_scan_may_be_read_as_slowly_as_a_person_reads(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    server = cast("PostgresRecorder", book._records.recorder).server
    parameters = server._parameters
    hurried = str(parameters["options"]).replace("session_timeout=60000", "session_timeout=100")
    assert hurried != parameters["options"]
    monkeypatch.setattr(server, "_parameters", {**parameters, "options": hurried})
    book._records.rows.load(Row("session:h:b", n, "task", b"") for n in range(1, 301))
    scan = book._records.rows.scan()
    first = next(scan)
    time.sleep(0.5)
    assert len([first, *scan]) == 301


def test_a_load_whose_line_is_lost_is_told_and_not_tried_again(proxy: Proxy, book: Book) -> None:
    def rows() -> Iterator[Row]:
        yield Row("session:h:b", 1, "task", b"")
        proxy.cut = "answer"

    with Book(through(proxy, book)) as far:
        with pytest.raises(StoreUnavailable, match="whether it was kept is not known; do it again: what was"):
            far._records.rows.load(rows())
        assert far.head("session:h:b") == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_the_store_anew_and_both_go_on(book: Book) -> None:
    """Also after the child has ended in an orderly way: it does not say goodbye for its parent."""
    parents = book._records
    child = os.fork()
    if child == 0:
        code = 1
        try:
            book.record(A, Draft(Task(text="child")))
            code = 0 if book._records is not parents else 2
            book.close()
            del parents
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    book.record(A, Draft(Task(text="parent")))
    assert book._records is parents
    assert texts(book) == ["x", "child", "parent"]


def test_a_closed_store_says_so(url: str) -> None:
    book = Book(url)
    book.close()
    book.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        book.append(A, X, after=0)


def test_writers_in_opposite_orders_never_wait_in_a_circle(url: str) -> None:
    """Rows go in by the order of their keys, whatever order they are given in."""
    names = [f"s{n:03}" for n in range(400)]
    records = open_records(parse_url(url))
    refused: list[BaseException] = []
    meet = threading.Barrier(2)

    def write(order: list[str]) -> None:
        for n in range(1, 21):
            rows = [Row(name, n, "t", order[0].encode()) for name in order]
            meet.wait(60)
            try:
                records.rows.insert_events(cast("list[StoredEvent]", rows))
            except IntegrityError:
                continue
            except BaseException as wrong:  # noqa: BLE001 - told below
                refused.append(wrong)

    threads = [threading.Thread(target=write, args=(names[::step],)) for step in (1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == []
    records.close()
