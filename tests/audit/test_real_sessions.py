"""Real recorded sessions: each is audited with no error, and has one book however it came to be read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from loopbook.audit.session import Options, audit_session
from tests.audit.test_session import entries, grows_line_by_line
from tests.conftest import PROVE, ROOT, shared_folder
from tests.growth import assert_linear

DATA = shared_folder() / "data"
OWN = sorted((ROOT / "examples" / "sessions").glob("*.jsonl"))
REAL = sorted(DATA.glob("transcripts/**/*.jsonl")) + sorted(DATA.glob("claude_code/transcript_*.jsonl"))
LARGE = [path for path in REAL if path.stat().st_size > 1_000_000]
SMALL = [path for path in OWN + REAL if path not in LARGE]

#: By default a handful of places are cut; ``make prove`` cuts at every line of a small file.
CUTS = 100 if PROVE else 3


def name(path: Path) -> str:
    return "/".join(path.parts[-2:])


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{(tmp_path / 'kept.db').as_posix()}"


def test_the_real_sessions_are_there(shared: Path) -> None:
    assert len(REAL) == len(list((shared / "data" / "transcripts").rglob("*.jsonl"))) + 2
    assert LARGE


@pytest.mark.parametrize("path", OWN + REAL, ids=name)
def test_a_session_is_audited_with_no_error_and_no_problem(path: Path) -> None:
    told = audit_session(path)
    assert told.problems == ()
    assert told.session.lines > 0


@pytest.mark.parametrize("path", OWN + REAL, ids=name)
def test_a_session_audited_twice_has_the_same_book(path: Path, store: str) -> None:
    first = audit_session(path, Options(store))
    book = entries(store, first.session.loop) if first.session.store else []
    assert audit_session(path, Options(store)) == first
    if book:
        assert entries(store, first.session.loop) == book


@pytest.mark.parametrize("path", SMALL, ids=name)
def test_a_session_cut_and_continued_has_the_book_of_the_whole(
    path: Path, tmp_path: Path, store: str
) -> None:
    lines = path.read_bytes().count(b"\n")
    grows_line_by_line(path, tmp_path, store, every=1 if PROVE else max(1, lines // 4))


@pytest.mark.parametrize("path", LARGE, ids=name)
def test_the_large_session_cut_anywhere_and_continued_has_the_book_of_the_whole(
    path: Path, tmp_path: Path
) -> None:
    whole = f"sqlite:///{(tmp_path / 'whole.db').as_posix()}"
    loop = audit_session(path, Options(whole)).session.loop
    book = entries(whole, loop)
    lines = path.read_bytes().splitlines(keepends=True)
    (tmp_path / path.stem).symlink_to(path.with_suffix(""))  # its sub-agents
    cut = tmp_path / path.name
    for end in random.Random(path.stem).sample(range(1, len(lines)), CUTS):
        store = f"sqlite:///{(tmp_path / f'{end}.db').as_posix()}"
        for part in (lines[:end], lines):
            cut.write_bytes(b"".join(part))
            audit_session(cut, Options(store))
        assert entries(store, loop) == book, end


@pytest.mark.parametrize("path", LARGE, ids=name)
def test_the_time_for_the_large_session_grows_with_its_length_alone(path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)

    def beginning(size: int) -> Path:
        (tmp_path / f"{size}.jsonl").write_bytes(b"".join(lines[:size]))
        return tmp_path / f"{size}.jsonl"

    audit_session(SMALL[0])  # what is imported and compiled once
    assert_linear(beginning, audit_session, len(lines))
