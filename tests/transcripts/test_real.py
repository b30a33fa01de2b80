"""Real sessions, read here and never committed: what their runs, stops and checks are, found by reading.

A row is ``(line of the prompt, origin, line of the run's last word or act, how it stopped)``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopbook.events import Check, Prompted, RunSettled, Source
from loopbook.transcripts import read_session
from tests.growth import assert_linear
from tests.transcripts.records import of, settled

BIG = "258c7280-ae70-4798-800f-63464d01a85d"

PROMPTS = {
    "short": [(4, "human")],
    "tool_heavy": [(4, "human"), (26, "human")],
    "subagent": [(4, "human"), (71, "human")],
    "python-a": [(6, "human"), (43, "human")],
    "python-b": [(4, "human")],
    "nextjs-a": [(4, "human"), (10, "human"), (85, "human"), (91, "human")],
    BIG: [(5, "human"), (496, "host"), (505, "human"), (604, "human"), (1847, "host"), (1858, "human")],
}
RESTS = {
    "short": [(10, "aborted")],
    "tool_heavy": [(13, "aborted"), (37, "aborted")],
    "subagent": [(67, "aborted"), (92, "end")],
    "python-a": [(42, "end")],
    "python-b": [],
    "nextjs-a": [(7, "aborted"), (84, "end"), (88, "aborted")],
    BIG: [(492, "aborted"), (1841, "end"), (1852, "end"), (1859, "end")],
}
#: Runs that are open at the end: the versions without stop marks.
OPEN = {"python-a", "python-b", "nextjs-a"}
CHECKS = {
    "python-a": [(41, "types", "pass"), (95, "tests", "pass"), (98, "types", "pass")],
    BIG: [
        (288, "build", "pass"), (443, "build", "pass"), (522, "tests", "pass"), (538, "tests", "pass"),
        (547, "lint", "pass"), (779, "build", "pass"), (779, "tests", "pass"), (796, "tests", "pass"),
        (806, "lint", "pass"), (930, "build", "pass"), (945, "tests", "fail"), (988, "tests", "fail"),
        (1035, "tests", "fail"), (1111, "tests", "fail"), (1141, "tests", "pass"), (1157, "tests", "pass"),
        (1167, "lint", "pass"), (1289, "build", "pass"), (1306, "tests", "pass"), (1327, "tests", "pass"),
        (1337, "lint", "pass"), (1665, "build", "pass"), (1731, "tests", "pass"), (1757, "tests", "pass"),
        (1771, "lint", "pass"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_rests_and_checks_are_where_a_reader_finds_them(shared: Path, name: str) -> None:
    reading = read_session(shared / f"data/transcripts/{name}.jsonl")
    drafts = list(reading)
    prompts = [(d.line, d.event.origin) for d in drafts if isinstance(d.event, Prompted)]
    rests = [(d.line, d.event.stop) for d in drafts if isinstance(d.event, RunSettled)]
    checks = [(d.line, d.event.scope, d.event.outcome) for d in drafts if isinstance(d.event, Check)]
    assert prompts == PROMPTS[name]
    assert rests == RESTS[name]
    assert checks == CHECKS.get(name, [])
    assert (reading.open_run is not None) == (name in OPEN)
    assert reading.problems == []


def test_the_labelled_turns_are_the_runs(shared: Path) -> None:
    """labels.json, judged by reading: each turn's prompt, interrupt, final text, edits and checks."""
    for turn in json.loads((shared / "data/labels.json").read_text()):
        reading = read_session(shared / "data/transcripts" / turn["file"])
        drafts = list(reading)
        inside = [d for d in drafts if d.line and turn["first_line"] <= d.line <= turn["last_line"]]
        opened = [d.line for d in inside if isinstance(d.event, Prompted)]
        assert opened == [turn["first_line"]]
        rested = [d.event for d in inside if isinstance(d.event, RunSettled)]
        run = rested[0] if rested else reading.open_run
        assert run is not None
        assert len(rested) <= 1
        assert (run.stop == "aborted") == turn["interrupted"]
        assert bool(run.final_text) == (turn["final_text_line"] is not None)
        done = {c.line for c in run.calls if c.kind == "command"}
        assert {command["line"] for command in turn["commands"]} <= done
        assert [c.line for c in run.calls if c.produced] == turn["edit_lines"]


def test_the_background_check_is_read_where_its_outcome_was(shared: Path) -> None:
    """Started at 445, moved to the background at 477, timed out at 490, refused at 494, told at 522."""
    drafts = list(read_session(shared / f"data/transcripts/{BIG}.jsonl"))
    started = [d for d in drafts if isinstance(d.event, Check) and "renderer" in d.event.command]
    assert [(d.line, d.event.outcome) for d in started if isinstance(d.event, Check)] == [(522, "pass")]
    run = settled(drafts)[0]
    (moved,) = [call for call in run.calls if call.line == 445]
    assert (moved.ran, moved.outcome) == (True, "unknown")


def test_the_sub_agents_sources_are_its_parents_under_its_name(shared: Path) -> None:
    drafts = list(read_session(shared / f"data/transcripts/{BIG}.jsonl"))
    sources = [d.event.by for d in of(drafts, Source) if isinstance(d.event, Source)]
    assert sources == ["a881341", "a881341"]


def test_a_childs_calls_are_taken_from_its_parents_progress_where_its_file_is_missing(shared: Path) -> None:
    run = settled(list(read_session(shared / "data/transcripts/subagent.jsonl")))[0]
    assert len([call for call in run.calls if call.by == "afb92ff"]) == 9


@pytest.mark.parametrize("name", ["transcript_interrupt_record", "transcript_one_of_each_record"])
def test_samples_of_the_newest_version_give_no_problem(shared: Path, name: str) -> None:
    reading = read_session(shared / f"data/claude_code/{name}.jsonl")
    list(reading)
    assert reading.problems == []


def test_the_time_for_the_large_session_grows_with_its_length_alone(shared: Path, tmp_path: Path) -> None:
    lines = (shared / f"data/transcripts/{BIG}.jsonl").read_bytes().splitlines(keepends=True)

    def beginning(size: int) -> Path:
        path = tmp_path / f"{size}.jsonl"
        path.write_bytes(b"".join(lines[:size]))
        return path

    assert_linear(beginning, lambda path: list(read_session(path)), len(lines))
