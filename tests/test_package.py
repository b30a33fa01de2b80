"""What ``from loopbook import ...`` gives: every event, typed, and nothing of what lies behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import loopbook
from loopbook import Check, Scope, books, events, limits, loop, run
from loopbook.judges import scripted, system_one

ELSEWHERE = {
    "Books": books, "Call": run, "Line": run, "Loop": loop, "Observed": run, "Options": limits,
    "Scripted": scripted, "SystemOne": system_one,
}  # fmt: skip
CODE = """
from loopbook import Books, Check, Loop, Scope
check: Check = Check(command="pytest", outcome="pass")
scope: Scope = check.scope
Check(command="pytest", outcome="passed")
"""


def test_every_event_is_a_name_of_the_package() -> None:
    assert {cls.__name__ for cls in events.BY_TYPE.values()} <= set(loopbook.__all__)
    for name in loopbook.__all__:
        home = ELSEWHERE.get(name, events)
        assert getattr(loopbook, name) is getattr(home, name)


def test_every_name_is_shown_to_who_asks_what_there_is_before_it_is_used() -> None:
    program = (
        "import sys, loopbook; print(set(loopbook.__all__) <= set(dir(loopbook)),"
        " 'loopbook.events' in sys.modules, '__version__' in dir(loopbook))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "False", "True"]


@pytest.mark.parametrize("name", ["Field", "BaseModel", "BY_TYPE", "Nothing", "loop_"])
def test_what_the_modules_themselves_import_is_no_name_of_the_package(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(loopbook, name)


def test_an_event_is_used_by_the_packages_name() -> None:
    check: Check = Check(command="pytest", outcome="pass")
    scope: Scope = check.scope  # `make lint` fails here when these are objects to a type checker
    assert scope == "tests"


def test_importing_the_package_imports_neither_models_nor_typing() -> None:
    code = "import sys, loopbook; print([m for m in ('pydantic', 'typing', 'sqlite3') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(Path(loopbook.__file__).parents[1])})  # fmt: skip
    assert said.stdout.strip() == "[]"


@pytest.mark.prove
def test_a_type_checker_sees_the_events_and_not_objects(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    (tmp_path / "user.py").write_text(CODE)
    out, _, _ = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "user.py")])
    assert "user.py:5:" in out, out
    assert "Found 1 error in 1 file" in out
