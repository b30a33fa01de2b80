"""The examples run as they stand, and say what they are said to say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def run(*command: str, folder: Path, **more: str) -> list[str]:
    """What a program prints that must end well and complain of nothing, in an empty folder."""
    own = ("LOOPBOOK_", "TYPESAFE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    environ = {**kept, "PATH": PROGRAMS, "HOME": str(folder), "TMPDIR": str(folder), **more}
    ran = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [*folder.iterdir()] == [], "it cleans up behind itself"
    return ran.stdout.splitlines()


def said(lines: list[str]) -> list[str]:
    """What the agent was told in all, run by run."""
    found = (re.match(r"run.(\d)  said: (.*)", line) for line in lines)
    return [f"{one[1]} {one[2]}" for one in found if one]


SAID = [
    "1 next: verify (no passing check (tests, build, manual) since the last change)",
    "3 next: review (no review since the last change)",
    "4 next: fix (f1)",
]


def test_the_coordinator_says_each_thing_once_and_replays_the_same(tmp_path: Path) -> None:
    lines = run(sys.executable, str(ROOT / "examples" / "coordinator.py"), folder=tmp_path)
    assert said(lines) == SAID
    assert "run 2  silent: it was decided before" in lines
    assert lines[-2:] == ["closed: met", "replayed: 30 entries, 6 decisions, {'same': 6}"]


def test_the_coordinator_in_the_shell_does_the_same(tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "coordinator.sh")
    lines = run("bash", script, folder=tmp_path, LOOPBOOK_LOOP="of-another-shell")
    assert said(lines) == SAID
    assert lines.count("run-2  silent") == 2
    assert "evening goes on with fix-1" in lines
    assert lines[-2:] == [
        "fix-1 is closed: met",
        "loop:fix-1: 31 entries, 6 decisions, 3 notices; decided again: 6 the same",
    ]


def test_the_demo_coordinates_after_its_audits() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile.partition("\ndemo:")[2].partition("\n\n")[0].splitlines()[1:]
    assert [line.rsplit("/", 1)[1] for line in recipe] == [
        "honest.jsonl", "false-claim.jsonl", "coordinator.py",
    ]  # fmt: skip
