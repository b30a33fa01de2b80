"""The committed demo sessions: twins that part where one claims what did not happen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopbook.events import Change, Check, ChildReported, RunSettled, TodoCompleted
from loopbook.transcripts import read_session
from tests.e2e.record_demo import ASKED, ASKED_AGAIN, DONE, READY, scrubbed
from tests.transcripts.records import of, prompts, settled, types

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "sessions"


@pytest.mark.parametrize("name", ["honest", "false-claim"])
def test_the_twins_say_the_same(name: str) -> None:
    reading = read_session(FOLDER / f"{name}.jsonl")
    drafts = list(reading)
    assert [prompt.text for prompt in prompts(drafts)] == [ASKED, ASKED_AGAIN]
    assert [run.final_text for run in settled(drafts)] == [DONE, READY]
    assert len(of(drafts, TodoCompleted)) == 3
    assert len(of(drafts, ChildReported)) == 1
    assert {call.by for call in settled(drafts)[0].calls} > {None}
    assert (reading.problems, reading.open_run) == ([], None)


@pytest.mark.parametrize(
    ("name", "checks", "changes"),
    [("honest", ["fail", "fail", "pass"], 2), ("false-claim", ["fail", "fail"], 1)],
)
def test_and_did_not_do_the_same(name: str, checks: list[str], changes: int) -> None:
    drafts = list(read_session(FOLDER / f"{name}.jsonl"))
    done = [draft.event for draft in of(drafts, Check)]
    assert [check.outcome for check in done if isinstance(check, Check)] == checks
    assert len(of(drafts, Change)) == changes
    assert types(drafts)[-1] == RunSettled(run="r").type


def test_the_last_failure_of_the_false_one_names_its_exit_and_line() -> None:
    *_, last = of(list(read_session(FOLDER / "false-claim.jsonl")), Check)
    assert isinstance(last.event, Check)
    assert (last.event.command, last.event.exit_code, last.event.runner) == (
        "python3 -m unittest -v",
        1,
        "unittest",
    )
    assert last.line == 28


def test_nothing_of_the_recording_machine_is_in_them() -> None:
    for path in FOLDER.rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        folders = set(re.findall(r"(?<![\w.])/(\w+)/", text))
        assert folders <= {"home", "posts"}  # the project's own web addresses
        assert "sk-ant" not in text


def test_scrubbing_cuts_the_scratch_folder_off_and_drops_whole_records() -> None:
    recorded = '{"type":"user","cwd":"/tmp/demo1/home/dev"}\n{"type":"attachment","x":1}\n'
    recorded += '{"type":"mode","p":"-tmp-demo1-home-dev"}\n'
    assert list(scrubbed(recorded, Path("/tmp/demo1"))) == [
        '{"type":"user","cwd":"/home/dev"}\n',
        '{"type":"mode","p":"-home-dev"}\n',
    ]
