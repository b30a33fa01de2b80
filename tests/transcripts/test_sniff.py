"""A file that is no session is told in one line; one record makes it a session, wherever it stands."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from loopbook.errors import TranscriptUnreadable
from loopbook.transcripts import open_session, read_session
from loopbook.transcripts.session import LOOKED_AT
from loopbook.transcripts.sniff import HEAD, KNOWN
from tests.transcripts.records import Session

RECORD = b'{"type":"user","uuid":"1","message":{"content":"hello"}}\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"\n \r\n\t", "it holds only blanks"),
        (gzip.compress(RECORD, mtime=0), "packed with gzip"),
        (b"PK\x03\x04rest", "a zip file"),
        (b"Dear Ada,\n\nall tests pass.\n", "it is text, but no JSON Lines"),
        ("é".encode() * HEAD, "it is text, but no JSON Lines"),  # a character is cut at the head's end
        (b"x" + "é".encode() * HEAD, "it is text, but no JSON Lines"),
        (b"[]\n", "it may be JSON"),
        (json.dumps([{"type": "user"}], indent=1).encode(), "it may be JSON"),
        (b'{"a":1}\n', "no record of a host that is known"),
        (b'{"type":"reply","text":"x"}\n' * 300, "no record of a host that is known"),
        (b"\x00\xff\xfe" * 50, "it is no text"),
        (b"\x80" * 5_000, "it is no text"),
        (RECORD.decode().encode("utf-16"), "UTF-16"),
        (RECORD.decode().encode("utf-16-le"), "UTF-16"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_without_a_record_is_refused_and_named_by_what_it_looks_like(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(TranscriptUnreadable) as told:
        open_session(path)
    assert str(told.value).startswith(f"{path} is no session: ")
    assert words in str(told.value)
    assert str(told.value).count("nothing was recorded") == 1


def test_random_bytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xf8" + os.urandom(100_000))
    with pytest.raises(TranscriptUnreadable, match="it is no text"):
        open_session(path)


@pytest.mark.parametrize(
    "before",
    [b"", b"nonsense\n", b"[]\n" * 300, b'{"a":1}\n' * (LOOKED_AT + 50), b"\x00\n" * 5, b"\xef\xbb\xbf"],
)
def test_one_record_makes_a_session_wherever_it_stands(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(before + RECORD + b'{"type":"us')
    assert [draft.event.type for draft in read_session(path)] == ["prompted"]


def test_a_record_of_a_type_to_come_is_one_if_it_bears_an_id(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for field in ("uuid", "sessionId"):
        path.write_text(json.dumps({"type": "brand-new", field: "1"}) + "\n")
        assert list(read_session(path)) == []


def test_the_known_types_are_those_the_reader_knows(tmp_path: Path) -> None:
    session = Session()
    for kind in KNOWN:
        session.add(kind)
    reading = read_session(session.write(tmp_path))
    assert list(reading) == []
    assert reading.problems == []


def test_of_a_folder_the_newest_session_is_named(tmp_path: Path) -> None:
    with pytest.raises(TranscriptUnreadable, match=r"is a folder; nothing was recorded; it holds no \.jsonl"):
        open_session(tmp_path)
    (tmp_path / "deep").mkdir()
    for age, name in enumerate(("deep/c.jsonl", "b.jsonl", "a.jsonl", "notes.txt")):
        (tmp_path / name).write_bytes(RECORD)
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
        if age in (0, 2):
            newest = tmp_path / ("deep/c.jsonl" if age == 0 else "b.jsonl")
            with pytest.raises(TranscriptUnreadable, match=f"its newest session is {newest}"):
                open_session(tmp_path)
