"""A command line in a folder of its own: home, store and current folder are the test's."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from loopbook.books import Books
from loopbook.cli import main
from loopbook.cli.exits import FOUND
from loopbook.entry import Entry
from loopbook.events import ChildLinked, LoopClosed, TodoOpened, UnitAdded
from tests.conftest import ROOT
from tests.flows import CONTENT


class Ran(NamedTuple):
    """How a command line ended and what it printed."""

    code: int
    out: str
    err: str


class Cli:
    """Runs command lines in ``folder``, against the store ``books.db`` there."""

    def __init__(self, folder: Path, run: Callable[[tuple[str, ...], bytes], Ran]) -> None:
        self.folder = folder
        self.store = str(folder / "books.db")
        self._run = run

    def __call__(self, *argv: str, stdin: str | bytes = b"") -> Ran:
        return self._run(argv, stdin.encode() if isinstance(stdin, str) else stdin)

    def ok(self, *argv: str, stdin: str | bytes = b"") -> str:
        """What a command line that must succeed prints."""
        ran = self(*argv, stdin=stdin)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.out

    def error(self, code: int, *argv: str, stdin: str | bytes = b"") -> str:
        """The one line of a command line that must end with ``code`` and print nothing else."""
        ran = self(*argv, stdin=stdin)
        assert ran.code == code, ran
        assert ran.out == "", ran
        assert ran.err.startswith("loopbook: "), ran
        assert ran.err.count("\n") == 1, ran
        assert ran.err.endswith("\n"), ran
        assert "Traceback" not in ran.err
        return ran.err

    def entries(self, loop: str = "fix-1") -> list[Entry]:
        """The book of a loop."""
        with Books.open(self.store) as books:
            return list(books.loop(loop).entries())

    def events(self, loop: str = "fix-1") -> list[str]:
        """The types in the book of a loop, without the opening."""
        return [entry.event.type for entry in self.entries(loop)][1:]

    def rows(self) -> list[tuple[object, ...]]:
        """Every row of every table of the store, as plain SQL sees them."""
        with closing(sqlite3.connect(self.store)) as store:
            tables = store.execute("select name from sqlite_master where type = 'table'").fetchall()
            return [row for (name,) in sorted(tables) for row in store.execute(f'select * from "{name}"')]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line, in an empty folder."""
    for name in list(os.environ):
        if name.startswith(("LOOPBOOK_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOOPBOOK_STORE", str(tmp_path / "books.db"))
    monkeypatch.chdir(tmp_path)

    def run(argv: tuple[str, ...], stdin: bytes) -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "ascii"))
        capsys.readouterr()
        code = main(argv)
        return Ran(code, *capsys.readouterr())

    return Cli(tmp_path, run)


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stores that tests begin with, made once."""
    folder = tmp_path_factory.mktemp("stores")
    with Books.open(str(folder / "loop.db")) as books:
        books.start("fix", "Crash on empty input", id="fix-1")
        books.start("chore", "Bump the pin", id="fix-0").record(LoopClosed(outcome="unjudged"))
    shutil.copy(folder / "loop.db", folder / "busy.db")
    with Books.open(str(folder / "busy.db")) as books:
        books.loop("fix-1").record(
            TodoOpened(todo="t1", subject="tell the packagers"),
            UnitAdded(unit="a", subject="module a"),
            ChildLinked(child="c1"),
        )
    return folder


def lay_out(folder: Path) -> None:
    """Put there what the examples of the commands speak of, save books."""
    shutil.copy(ROOT / "examples" / "packet.json", folder)
    shutil.copy(ROOT / "examples" / "sessions" / "honest.jsonl", folder / "session.jsonl")
    shutil.copytree(ROOT / "specs" / "scenarios", folder / "specs" / "scenarios")
    shutil.copy(ROOT / "specs" / "kinds" / "fix.toml", folder / "my-kind.toml")
    (folder / "answers.jsonl").write_text('{"move": "advance", "done": 0.9}\n')


#: What makes the books that the examples speak of out of ``busy``'s: something was decided, all is exported.
PREPARED = (
    ("loop", "settle", "run-0", "--judge", "script:answers.jsonl"),
    ("store", "export", "--output", "books.jsonl"),
)


@pytest.fixture
def loop(cli: Cli, stores: Path) -> Cli:
    """The command line with one open loop, ``fix-1``, and a closed one, ``fix-0``."""
    shutil.copy(stores / "loop.db", cli.store)
    return cli


@pytest.fixture
def busy(cli: Cli, stores: Path) -> Cli:
    """The same, with a todo ``t1``, a unit ``a`` and a child ``c1`` in the open loop."""
    shutil.copy(stores / "busy.db", cli.store)
    return cli


#: What is said of ``changed``, and who says it.
STALE = "next: verify (no passing check (tests, build, manual) since the last change)\n"
SCRIPT = ("--judge", "script:answers.jsonl")


@pytest.fixture
def changed(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """An open loop in which something was changed, and a judge that agrees: ``answers.jsonl``; nobody else
    can be asked."""
    for name in ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    loop.ok("loop", "record", "check", "--command", "pytest", "--exit-code", "1")
    loop.ok("loop", "record", "change", "--summary", "guard the empty case")
    answer(loop)
    return loop


def answer(loop: Cli, *lines: dict[str, object]) -> None:
    """What the scripted judge says from now on."""
    text = "\n".join(json.dumps(line) for line in lines or (CONTENT,))
    (loop.folder / "answers.jsonl").write_text(text, "utf-8")


def pending(cli: Cli) -> None:
    """A close of ``fix-1`` that a failed judge has left pending, and of which nothing is missing."""
    cli.ok("loop", "record", "check", "--command", "pytest", "--exit-code", "0")
    cli.ok("loop", "record", "review", "--reviewer", "r", "--tier", "full")
    answer(cli, {"fails": "timeout"})
    assert cli("loop", "close", "--claim", "the crash is gone", *SCRIPT).code == FOUND
    answer(cli)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Programs started here hear Ctrl-C, also where the tests are a job in the background: that is deaf."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
