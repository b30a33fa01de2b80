"""Auditing a session: one loop, one book, the same however often and wherever the file was cut."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopbook.audit.session import Options, audit_session, filed_session
from loopbook.books import Books
from loopbook.entry import Entry
from loopbook.errors import BookDiffers, StoreError, TranscriptUnreadable, UnknownKind
from loopbook.events import LoopOpened, TodoOpened
from loopbook.transcripts import open_session
from tests.transcripts.records import SESSION, Session

LOOP = f"audit-claude-code-{SESSION}"


def a_session() -> Session:
    """Two prompts; the first run came to rest, the second is open; its claim is false."""
    session = Session()
    session.user("make it retry")
    session.calls("Write", "w1", file_path="/home/dev/project/a.py", content="x = 1\n")
    session.answers("w1", "File created successfully at: /home/dev/project/a.py")
    session.runs("python -m unittest", "b1", "Ran 3 tests in 0.001s\n\nOK")
    session.says("All tests pass.")
    session.stops()
    session.user("and log it")
    session.runs("python -m unittest", "b2", "Ran 3 tests in 0.001s\n\nFAILED (failures=1)", code=1)
    session.says("All tests pass.")
    return session


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{(tmp_path / 'kept.db').as_posix()}"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def entries(store: str, loop: str = LOOP) -> list[Entry]:
    with Books.open(store) as books:
        return list(books.loop(loop).entries())


# --- what is reported -------------------------------------------------------------------


def test_the_false_claim_of_the_open_run_is_told_with_command_exit_and_line(tmp_path: Path) -> None:
    told = audit_session(a_session().write(tmp_path))
    honest, false = told.claims
    assert (honest.verdict, honest.open) == ("supported", False)
    assert (false.verdict, false.open, false.line) == ("contradicted", True, 11)
    assert false.check is not None
    assert (false.check.command, false.check.exit_code, false.check.line) == ("python -m unittest", 1, 10)


def test_the_session_is_told_with_its_facts(tmp_path: Path) -> None:
    session = audit_session(a_session().write(tmp_path)).session
    assert (session.session, session.lines, session.kind, session.intent, session.store) == (
        SESSION, 11, "change", "make it retry", None,
    )  # fmt: skip
    assert session.first_at is not None
    assert session.last_at is not None
    assert session.first_at < session.last_at


def test_problems_of_the_file_are_told_with_their_lines(tmp_path: Path) -> None:
    session = a_session()
    line = session.raw("no json")
    assert [p.line for p in audit_session(session.write(tmp_path)).problems] == [line]


# --- what is kept, and what is not --------------------------------------------------------


def test_without_a_store_nothing_is_left_behind(tmp_path: Path, scratch: Path) -> None:
    audit_session(a_session().write(tmp_path))
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_behind_where_the_telling_is_stopped(
    tmp_path: Path, scratch: Path, stop: type[BaseException]
) -> None:
    def watch(_position: int) -> None:
        assert list(scratch.iterdir())  # the book lies there now
        raise stop

    file = open_session(a_session().write(tmp_path))
    with pytest.raises(stop), filed_session(file, Options(), watch):
        pass
    assert list(scratch.iterdir()) == []


def test_with_a_store_the_book_is_kept_and_the_catalogue_has_it(tmp_path: Path, store: str) -> None:
    told = audit_session(a_session().write(tmp_path), Options(store))
    assert told.session.store == store
    with Books.open(store) as books:
        assert [(row.id, row.intent) for row in books.list()] == [(LOOP, "make it retry")]


def test_a_secret_of_this_process_reaches_neither_book_nor_report(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "correct-horse-battery"
    monkeypatch.setenv("SOME_API_KEY", secret)
    session = a_session()
    session.user("x" * 7_990 + secret)  # a cut at 8,000 must not leave half of it
    told = audit_session(changed(session, "make it retry", secret).write(tmp_path), Options(store))
    for text in (told.model_dump_json(), repr(entries(store))):
        assert "correct-h" not in text


def test_no_hook_of_the_session_would_adopt_the_book(tmp_path: Path, store: str) -> None:
    path = a_session().write(tmp_path)
    host = open_session(path).host
    audit_session(path, Options(store))
    with Books.open(store, host=host) as books:
        assert books.current(SESSION) is None


# --- the same book --------------------------------------------------------------------------


def test_twice_gives_the_same_book_and_the_same_report(tmp_path: Path, store: str) -> None:
    path = a_session().write(tmp_path)
    first = audit_session(path, Options(store))
    book = entries(store)
    assert audit_session(path, Options(store)) == first
    assert entries(store) == book


def test_two_stores_hold_the_same_book_to_the_last_sum(tmp_path: Path, store: str) -> None:
    path, other = a_session().write(tmp_path), f"sqlite:///{(tmp_path / 'other.db').as_posix()}"
    audit_session(path, Options(store))
    audit_session(path, Options(other))
    assert entries(store) == entries(other)
    assert entries(store)[-1].sum


def test_a_session_that_grows_line_by_line_goes_on_in_the_same_book(tmp_path: Path, store: str) -> None:
    grows_line_by_line(a_session().write(tmp_path), tmp_path, store)


def grows_line_by_line(path: Path, folder: Path, store: str, *, every: int = 1) -> None:
    """Audit a file's first lines, then some more, to its end: always the beginning of the whole's book."""
    whole = f"sqlite:///{(folder / 'whole.db').as_posix()}"
    report = audit_session(path, Options(whole))
    lines = path.read_bytes().splitlines(keepends=True)
    cut = folder / "cut" / path.name
    cut.parent.mkdir(exist_ok=True)
    if (children := path.with_suffix("")).is_dir():
        cut.with_suffix("").symlink_to(children)
    for end in range(1, len(lines) + 1, every):
        cut.write_bytes(b"".join(lines[:end]))
        audit_session(cut, Options(store))
    cut.write_bytes(b"".join(lines))
    grown = audit_session(cut, Options(store))
    if report.session.store is None:  # nothing opened it: there is no book
        return
    assert entries(store, report.session.loop) == entries(whole, report.session.loop)
    told = {"file": report.session.file, "store": report.session.store}
    assert grown.model_copy(update={"session": grown.session.model_copy(update=told)}) == report


def test_a_book_goes_on_where_somebody_else_wrote_into_it(tmp_path: Path, store: str) -> None:
    session = a_session()
    audit_session(session.write(tmp_path), Options(store))
    with Books.open(store) as books:
        books.loop(LOOP).record(TodoOpened(todo="mine", subject="look at it again"))
    session.stops()
    told = audit_session(session.write(tmp_path), Options(store))
    assert told.notes == ()
    assert (told.summary.todos.open, told.summary.runs) == (1, {"end": 2})


def test_before_a_person_has_spoken_there_is_no_book_and_it_says_so(tmp_path: Path, store: str) -> None:
    session = Session()
    session.says("Warmup done.")
    session.runs("ls", "b1", "a.py")
    session.stops()
    told = audit_session(session.write(tmp_path), Options(store))
    assert told.session.store is None
    assert "no prompt" in told.notes[0]
    with Books.open(store) as books:
        assert books.list() == []
    session.user("make it retry")
    session.stops()
    assert audit_session(session.write(tmp_path), Options(store)).session.intent == "make it retry"
    opened = entries(store)[0].event
    assert isinstance(opened, LoopOpened)
    assert opened.intent == "make it retry"


def test_the_intent_is_the_first_prompt_of_a_person_whoever_spoke_before(tmp_path: Path, store: str) -> None:
    session = Session()
    session.user(
        "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>"
    )
    session.says("Noted.")
    session.stops()
    session.user("make it retry")
    told = audit_session(session.write(tmp_path), Options(store))
    assert told.summary.prompts == {"host": 1, "human": 1}
    assert told.session.intent == "make it retry"
    assert [entry.event.type for entry in entries(store)][:2] == ["loop_opened", "prompted"]


def test_a_sub_agents_own_file_is_a_loop_of_its_own_asked_by_its_parent(tmp_path: Path, store: str) -> None:
    child = Session(child="c1")
    child.user("look for callers")
    child.runs("grep -r slugify .", "b1", "pages.py")
    child.says("Only one.")
    told = audit_session(child.write(tmp_path, "agent-c1.jsonl"), Options(store))
    assert (told.session.loop, told.session.intent) == ("audit-claude-code-agent-c1", "look for callers")
    assert entries(store, told.session.loop)


# --- another file, another kind -------------------------------------------------------------


def changed(session: Session, old: str, new: str) -> Session:
    session.lines = [line.replace(old, new) for line in session.lines]
    return session


def shifted(session: Session) -> Session:
    session.lines.insert(0, '{"type":"summary","summary":"x"}')
    return session


OTHERS: dict[str, Callable[[Session], Session]] = {
    "another session under the same id": lambda session: changed(session, '"main-', '"other-'),
    "a line was put in": shifted,
}


@pytest.mark.parametrize("edit", OTHERS.values(), ids=OTHERS.keys())
def test_another_file_under_the_same_session_id_is_refused_and_nothing_is_written(
    tmp_path: Path, store: str, edit: Callable[[Session], Session]
) -> None:
    audit_session(a_session().write(tmp_path), Options(store))
    book = entries(store)
    with pytest.raises(BookDiffers, match="was begun from another file"):
        audit_session(edit(a_session()).write(tmp_path), Options(store))
    assert entries(store) == book


def test_another_first_prompt_is_another_session(tmp_path: Path, store: str) -> None:
    session = Session()
    session.user("make it retry")
    audit_session(session.write(tmp_path), Options(store))
    with pytest.raises(BookDiffers):
        audit_session(changed(session, '"main-', '"other-').write(tmp_path), Options(store))


def test_an_edited_text_is_noted_and_the_book_stays_as_it_is(tmp_path: Path, store: str) -> None:
    audit_session(a_session().write(tmp_path), Options(store))
    book = entries(store)
    edited = changed(a_session(), "FAILED (failures=1)", "OK")
    [note] = audit_session(edited.write(tmp_path), Options(store)).notes
    assert "would be read otherwise now" in note
    assert "line 10" in note
    assert entries(store) == book


def test_a_file_cut_shorter_than_its_book_is_told_up_to_its_end(tmp_path: Path, store: str) -> None:
    session = a_session()
    session.stops()
    audit_session(session.write(tmp_path), Options(store))
    book = entries(store)
    session.lines = session.lines[:6]
    told = audit_session(session.write(tmp_path), Options(store))
    assert "goes on past this file" in told.notes[0]
    assert [claim.verdict for claim in told.claims] == ["supported"]
    assert entries(store) == book


def test_the_kind_is_the_books_own_and_another_one_is_refused(tmp_path: Path, store: str) -> None:
    path = a_session().write(tmp_path)
    assert audit_session(path, Options(store, kind="chore")).session.kind == "chore"
    assert audit_session(path, Options(store)).session.kind == "chore"
    with pytest.raises(BookDiffers, match="is of kind chore, not fix"):
        audit_session(path, Options(store, kind="fix"))


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownKind):
        audit_session(a_session().write(tmp_path), Options(kind="poem"))


def test_a_store_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        audit_session(a_session().write(tmp_path), Options("elsewhere://books"))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TranscriptUnreadable):
        audit_session(tmp_path / "none.jsonl")


# --- hostile files -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@settings(max_examples=30)
@given(st.binary(max_size=300))
def test_any_bytes_after_a_record_get_an_answer(folder: Path, data: bytes) -> None:
    path = folder / "any.jsonl"
    path.write_bytes(b'{"type":"user"}\n' + data)
    assert audit_session(path).summary.claims["contradicted"] == 0


@settings(max_examples=15)
@given(st.text(st.characters(), max_size=40), st.integers(0, 10))
def test_any_text_anywhere_gets_an_answer(folder: Path, text: str, at: int) -> None:
    session = a_session()
    session.lines[at] = session.lines[at].replace("a", text.encode("unicode_escape").decode(), 3)
    audit_session(session.write(folder))
