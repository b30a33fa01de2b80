"""The law of reading: what a file's first lines give is the beginning of what the whole file gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.entry import Draft
from loopbook.errors import TranscriptUnreadable
from loopbook.events import RunSettled
from loopbook.transcripts import read_session
from tests.conftest import PROVE, shared_folder
from tests.transcripts.records import Session
from tests.transcripts.strategies import sessions
from tests.transcripts.test_children import child_file, parent, working_child

REAL = sorted((shared_folder() / "data").glob("transcripts/*.jsonl")) + sorted(
    (shared_folder() / "data").glob("claude_code/transcript_*.jsonl")
)
DEMOS = sorted((Path(__file__).resolve().parents[2] / "examples" / "sessions").glob("*.jsonl"))


def drafts_of(path: Path) -> list[Draft]:
    """Its drafts; a beginning without a record is no session yet and has none."""
    try:
        return list(read_session(path))
    except TranscriptUnreadable:
        return []


def assert_prefix(path: Path, whole: list[Draft], data: bytes) -> int:
    """The file with these bytes instead gives a beginning of ``whole``; how long it is."""
    path.write_bytes(data)
    found = drafts_of(path)
    assert found == whole[: len(found)]
    return len(found)


def copied(path: Path, folder: Path) -> Path:
    """A session's file in a folder of its own, with its children's files beside it."""
    target = folder / path.name
    target.write_bytes(path.read_bytes())
    inside = path.with_suffix("")
    if inside.is_dir():
        (folder / inside.name).symlink_to(inside)
    return target


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prefix")


@given(sessions())
def test_every_cut_at_a_line_gives_a_beginning(scratch: Path, session: Session) -> None:
    child_file(scratch, "a1", working_child())
    path = session.write(scratch)
    whole, lines = drafts_of(path), session.data().splitlines(keepends=True)
    lengths = [assert_prefix(path, whole, b"".join(lines[:cut])) for cut in range(len(lines) + 1)]
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(whole)


@given(sessions(), st.data())
def test_every_cut_at_a_byte_gives_a_beginning(scratch: Path, session: Session, data: st.DataObject) -> None:
    path = session.write(scratch)
    whole, content = drafts_of(path), session.data()
    assert_prefix(path, whole, content[: data.draw(st.integers(0, len(content)))])


@given(sessions())
def test_reading_twice_gives_the_same_and_every_draft_has_a_name_of_its_own(
    scratch: Path, session: Session
) -> None:
    path = session.write(scratch)
    whole = drafts_of(path)
    assert drafts_of(path) == whole
    names = [draft.host_ref for draft in whole]
    assert None not in names
    assert len(set(names)) == len(names)


@given(sessions())
def test_runs_have_names_of_their_own_and_each_is_settled_once(scratch: Path, session: Session) -> None:
    runs = [d.event.run for d in drafts_of(session.write(scratch)) if isinstance(d.event, RunSettled)]
    assert len(set(runs)) == len(runs)


@given(sessions())
def test_an_open_run_is_what_the_next_prompt_settles_once_the_agent_answers_it(
    scratch: Path, session: Session
) -> None:
    reading = read_session(session.write(scratch))
    before = list(reading)
    session.user("and now?", uuid="the-next-prompt")
    session.says("Now this.", uuid="its-answer")
    after = drafts_of(session.write(scratch))
    assert after[: len(before)] == before
    rest = [d.event for d in after[len(before) :] if isinstance(d.event, RunSettled)]
    if reading.open_run and any(line.role == "assistant" for line in reading.open_run.lines):
        assert rest[:1] == [reading.open_run]


def test_a_cut_between_a_child_and_its_report_gives_a_beginning(tmp_path: Path) -> None:
    child_file(tmp_path, "a1", working_child())
    session = parent()
    session.says("It was a.py.")
    session.stops()
    path = session.write(tmp_path)
    whole, content = drafts_of(path), session.data()
    for cut in range(0, len(content), 1 if PROVE else 37):
        assert_prefix(path, whole, content[:cut])


def cuts(lines: list[bytes], at_bytes: int) -> Iterator[bytes]:
    """The first lines of a file, and as many of its first bytes: all cuts of a small one when proving."""
    chosen = random.Random(2026)
    content, large = b"".join(lines), len(lines) > 120
    many = (100 if large else len(lines)) if PROVE else (2 if large else 8)
    for line in sorted(chosen.sample(range(len(lines)), min(many, len(lines)))):
        yield b"".join(lines[:line])
    for _ in range(at_bytes):
        yield content[: chosen.randrange(len(content))]


@pytest.mark.parametrize("path", [*REAL, *DEMOS], ids=lambda path: path.stem[:30])
def test_a_real_session_cut_anywhere_gives_a_beginning(path: Path, tmp_path: Path) -> None:
    copy = copied(path, tmp_path)
    whole, lines = drafts_of(copy), path.read_bytes().splitlines(keepends=True)
    for content in cuts(lines, at_bytes=40 if PROVE else 2):
        assert_prefix(copy, whole, content)
