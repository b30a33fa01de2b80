"""Large and hostile files: an answer, in bounded memory, and never an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.errors import TranscriptUnreadable
from loopbook.transcripts import read_session
from loopbook.transcripts.lines import LINE_CAP
from tests.transcripts.records import Session, of, read, settled
from tests.transcripts.strategies import sessions

MB = 1024 * 1024
RECORD = b'{"type":"user","uuid":"1","message":{"content":"hello"}}\n'
#: Reads a session in a process of its own; says what it gave and the most memory it had, in MB.
MEASURED = """
import json, sys
from pathlib import Path
from loopbook.transcripts import read_session
reading = read_session(sys.argv[1])
drafts = sum(1 for _ in reading)
# Not ru_maxrss: that one begins with what the process that started this one had.
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) // 1024
found = {"drafts": drafts, "lines": reading.lines, "problems": reading.problems_total, "peak": peak}
print(json.dumps(found | {"open": reading.open_run is not None}))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")


def measured(path: Path) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1_800,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found: dict[str, int] = json.loads(done.stdout)
    return found


def block_of_records() -> list[str]:
    """A turn as sessions have it: a prompt, hook noise, edits, commands, a stop."""
    session = Session()
    session.user("please go on with the next one")
    for number in range(6):
        for _ in range(8):  # most lines of the versions that write them
            session.add("progress", data={"type": "hook_progress", "command": "x" * 1_500})
        session.says("Now the next step. " * 20)
        session.calls("Read", f"r{number}", file_path="/home/dev/project/a.py")
        session.answers(f"r{number}", "line of code\n" * 1_500, toolUseResult={"type": "text"})
        session.calls(
            "Edit", f"e{number}", file_path="/home/dev/project/a.py", old_string="a" * 500, new_string="b"
        )
        session.answers(
            f"e{number}", "The file has been updated.", toolUseResult={"filePath": "/home/dev/project/a.py"}
        )
        session.runs("pytest -x", f"t{number}", "." * 3_000 + "\n12 passed in 0.2s")
    session.says("All tests pass.")
    session.stops()
    return session.lines


def write_records(path: Path, size: int) -> int:
    """A file of at least ``size`` bytes, every record with ids of its own; how many turns it has."""
    template = "\n".join(block_of_records()) + "\n"
    for marked in ('"main-', '"tool_use_id": "', '"type": "tool_use", "id": "'):
        template = template.replace(marked, f"{marked}TURN-")
    turns = 0
    with path.open("w", encoding="utf-8") as stream:
        while stream.tell() < size:
            turns += 1
            stream.write(template.replace("TURN-", f"{turns}-"))
    return turns


@pytest.mark.parametrize(
    "size", [12 * MB, pytest.param(1024 * MB, marks=pytest.mark.prove)], ids=["12 MB", "1 GB"]
)
def test_a_large_file_of_records_is_read_in_bounded_memory(tmp_path: Path, size: int) -> None:
    path = tmp_path / "large.jsonl"
    turns = write_records(path, size)
    found = measured(path)
    assert found["drafts"] == turns * (2 + 6 * 2)  # a prompt, a run, and six changes and checks
    assert found["problems"] == 0
    assert found["peak"] < 300
    path.unlink()


def test_a_line_of_50_mb_is_passed_over_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "line.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        stream.write(
            '{"type":"user","uuid":"1","message":{"content":"hello"}}\n{"type":"user","message":{"content":"'
        )
        for _ in range(50):
            stream.write("x" * MB)
        stream.write('"}}\n{"type":"user","uuid":"3","message":{"content":"and then"}}\n')
    found = measured(path)
    assert (found["drafts"], found["lines"], found["problems"]) == (2, 3, 1)
    assert found["peak"] < 150


def test_a_line_just_under_the_cap_is_read(tmp_path: Path) -> None:
    session = Session()
    session.user("hello " + "\U0001f600" * MB + "x" * 3 * MB)
    path = session.write(tmp_path)
    assert LINE_CAP * 0.9 < path.stat().st_size < LINE_CAP
    found = measured(path)
    assert found["drafts"] == 1
    assert found["peak"] < 300


def test_random_bytes_give_problems_and_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "random.jsonl"
    path.write_bytes(RECORD + os.urandom(8 * MB))
    found = measured(path)
    assert found["drafts"] == 1
    assert found["problems"] > 10_000
    assert found["peak"] < 150


def test_a_file_without_an_end_of_line_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "zeros.jsonl"
    with path.open("wb") as stream:
        stream.write(RECORD)
        stream.truncate(200 * MB)
    found = measured(path)
    assert (found["drafts"], found["problems"]) == (1, 1)
    assert found["peak"] < 150


@given(sessions(), st.data())
def test_a_session_with_any_byte_changed_is_no_error(
    tmp_path_factory: pytest.TempPathFactory, session: Session, data: st.DataObject
) -> None:
    content = bytearray(session.data() or b"\n")
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "x.jsonl"
    path.write_bytes(content)
    with suppress(TranscriptUnreadable):  # the only record may be the one that was hit
        list(read_session(path))


def test_calls_that_are_never_answered_are_bounded(tmp_path: Path) -> None:
    session = Session()
    session.user("hello")
    for number in range(3_000):
        session.calls("Write", f"t{number}", file_path="/home/dev/project/a.py", content="x" * 100)
    session.stops()
    drafts, _ = read(session, tmp_path)
    (run,) = settled(drafts)
    assert run.calls_total == 1_000
    assert not [call for call in run.calls if call.ran]
    assert len(of(drafts, type(run))) == 1


def test_texts_with_halves_of_characters_can_be_stored(tmp_path: Path) -> None:
    session = Session()
    session.user("a \ud83d b")
    session.runs("pytest \udc00", "t\ud83d1", "1 passed in 0.1s \ud83d")
    session.says("Done \ud83d.")
    session.stops()
    drafts, _ = read(session, tmp_path)
    assert len(drafts) == 3
    for draft in drafts:
        draft.event.model_dump_json().encode()
        str(draft.host_ref).encode()
