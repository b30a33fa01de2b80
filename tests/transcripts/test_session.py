"""A session file from the outside: its id, its host, how far it was read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from loopbook.errors import TranscriptUnreadable
from loopbook.transcripts import open_session, read_session
from tests.transcripts.records import SESSION, Session


def small() -> Session:
    session = Session()
    session.user("hello")
    session.says("hi")
    session.stops()
    return session


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"{SESSION}.jsonl", SESSION),
        ("copy of it.jsonl", SESSION),
        ("11111111-2222-3333-4444-555555555555.jsonl", "11111111-2222-3333-4444-555555555555"),
        ("agent-a1b2c3.jsonl", "agent-a1b2c3"),
    ],
)
def test_the_id_is_the_files_name_where_that_is_one_else_the_records(
    tmp_path: Path, name: str, found: str
) -> None:
    file = open_session(small().write(tmp_path, name))
    assert (file.session, file.host) == (found, "claude-code")


def test_a_file_that_names_no_session_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "some notes.jsonl"
    path.write_text('{"type":"user"}\n')
    assert open_session(path).session == "some-notes"


def test_an_id_that_is_no_name_is_made_one(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"type": "user", "sessionId": "../a b/" + "c" * 300}) + "\n")
    name = open_session(path).session
    assert name.startswith("..-a-b-ccc")
    assert len(name) == 100


def test_what_can_be_read_only_once_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")  # with nobody at its other end it would wait for ever
    for path in (tmp_path / "pipe.jsonl", Path(os.devnull)):
        with pytest.raises(TranscriptUnreadable, match="a pipe or a device"):
            open_session(path)


def test_the_folder_it_began_in_is_what_its_records_tell(tmp_path: Path) -> None:
    assert open_session(small().write(tmp_path)).cwd == Path("/home/dev/project")
    path = tmp_path / "x.jsonl"
    path.write_text('{"type":"user"}\n')
    assert open_session(path).cwd is None


def test_the_open_run_has_the_line_of_its_last_word_and_a_settled_one_none(tmp_path: Path) -> None:
    session = small()
    reading = read_session(session.write(tmp_path))
    assert (list(reading)[-1].line, reading.open_line) == (2, None)
    session.user("and now?")
    session.says("now this")
    reading = read_session(session.write(tmp_path))
    assert len(list(reading)) == 3
    assert reading.open_line == 5


def test_how_far_it_was_read_is_known_at_every_draft(tmp_path: Path) -> None:
    path = small().write(tmp_path)
    reading = read_session(path)
    seen = [(draft.event.type, reading.lines) for draft in reading]
    assert seen == [("prompted", 1), ("run_settled", 3)]
    assert (reading.lines, reading.position, reading.file.size) == (
        3,
        path.stat().st_size,
        path.stat().st_size,
    )


def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(TranscriptUnreadable, match="cannot be read: No such file"):
        open_session(tmp_path / "missing.jsonl")


@pytest.mark.parametrize("host", ["codex", "pi"])
def test_another_hosts_session_is_named(tmp_path: Path, host: str) -> None:
    first = {"codex": {"type": "session_meta", "payload": {}}, "pi": {"type": "session", "id": "x"}}[host]
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(first) + "\n")
    with pytest.raises(TranscriptUnreadable, match=r"is a session of (Codex|pi), .*") as told:
        open_session(path)
    assert str(told.value).count("nothing was recorded") == 1


def test_a_real_codex_rollout_is_named(shared: Path) -> None:
    with pytest.raises(TranscriptUnreadable, match="Codex"):
        open_session(shared / "data/codex/rollout_one_of_each_record.jsonl")
