"""The wheel of a clone without symbolic links (as on Windows) is whole: it imports and has its kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conftest import ROOT

if not (ROOT / ".git").exists() or shutil.which("git") is None:
    pytest.skip("the wheel is built from a git clone", allow_module_level=True)


def run(*command: str, cwd: Path, **environ: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with what is installed: nothing is fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    run("git", "-c", "core.symlinks=false", "clone", "--quiet", str(ROOT), "clone", cwd=folder)
    clone = folder / "clone"
    assert not (clone / "loopbook" / "projections").is_symlink()
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), cwd=clone)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed wheel and nothing else of ours."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    run(*pip, "--target", str(folder), str(wheel), cwd=folder)
    return folder


def test_the_wheel_imports_its_projections_and_lists_its_kinds(installed: Path) -> None:
    code = (
        "import loopbook.projections, loopbook.kinds_at_hand as hand;"
        "print(loopbook.projections.__file__); print(*sorted(hand.load_kinds()))"
    )
    where, kinds = run(sys.executable, "-c", code, cwd=installed, PYTHONPATH=str(installed)).splitlines()
    assert Path(where).is_relative_to(installed)
    assert kinds == "change chore fix research review"


def test_the_command_of_the_wheel_audits_a_session(installed: Path, wheel: Path) -> None:
    session = wheel.parent / "clone" / "examples" / "sessions" / "false-claim.jsonl"
    code = "import sys; from loopbook.cli import main; sys.exit(main())"
    text = run(
        sys.executable, "-c", code, "audit", str(session), cwd=installed, PYTHONPATH=str(installed)
    )  # fmt: skip
    assert "contradicted" in text


def test_the_wheel_holds_each_file_once_and_no_tests(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert "loopbook/py.typed" in names
    assert "loopbook/projections/evolve.py" in names
    assert not [name for name in names if name.startswith(("tests/", "projections/", "specs/"))]
