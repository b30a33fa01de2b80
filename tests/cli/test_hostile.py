"""Every command where the world around it is hostile: no traceback, a documented code, nothing lost.

The commands are those of the program itself, each as its own examples call it: a new one is tried as soon
as it is there.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from loopbook.books import Books
from loopbook.cli.exits import BUG, EXIT_CODES, FOUND, OK, PIPE, STORE, USAGE
from loopbook.cli.reference import commands
from loopbook.upkeep.fsck import fsck
from tests.cli.conftest import PREPARED, lay_out
from tests.cli.forks import Ended, Line
from tests.conftest import PROVE, ROOT
from tests.judges.faulty import Faulty

if sys.platform == "win32":
    pytest.skip("forks, closed streams and terminals as on POSIX", allow_module_level=True)

#: The examples, in which one scenario stands for all of them, and nobody waits.
LESS = {"--idle 1": "--idle 0", "specs/scenarios": "specs/one"}
#: One of each command; ``make prove`` takes all that there are.
LEAVES = [
    one for one in commands() if one.examples and not one.group and one.path != "loopbook judge key set"
]
EXAMPLES = sorted({line for one in LEAVES for line in one.examples[: None if PROVE else 1]})
CODES = {row.code for row in EXIT_CODES} - {BUG}


def words(line: str) -> list[str]:
    """The words of an example behind the program's name."""
    for more, less in LESS.items():
        line = line.replace(more, less)
    return shlex.split(line)[1:]


ARGVS = [words(line) for line in EXAMPLES]


class World:
    """Folders of which each has the books and files that the examples speak of, and the lines run there."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder, self.environ = folder, environ
        self._lines: list[Line] = []
        (folder / "told").mkdir()
        (folder / "worlds").mkdir()

    def prepare(self, store: Path) -> None:
        """The world that each line is given a copy of."""
        first = self.folder / "first"
        first.mkdir()
        lay_out(first)
        (first / "specs" / "one").mkdir()
        shutil.copy(next((first / "specs" / "scenarios").rglob("*.yaml")), first / "specs" / "one")
        shutil.rmtree(first / "specs" / "scenarios")
        shutil.copy(store, first / "books.db")
        lines = [Line(argv, str(first), str(self.folder / "told" / "first")) for argv in PREPARED]
        assert [one.code for one in self.run(lines)] == [OK, OK]

    def line(self, argv: Sequence[str], **more: object) -> Line:
        """A command line in a world of its own."""
        number = str(len(self._lines))
        shutil.copytree(self.folder / "first", self.folder / "worlds" / number)
        line = Line(argv, str(self.folder / "worlds" / number), str(self.folder / "told" / number))
        self._lines.append(line._replace(**more))  # type: ignore[arg-type] # fields of a line, by name
        return self._lines[-1]

    def run(
        self, lines: Iterable[Line], environ: Mapping[str, str] | None = None, within: Sequence[str] = ()
    ) -> list[Ended]:
        """How each of them ends; the program that forks them is started with this environment."""
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps([line._asdict() for line in lines]))
        ran = subprocess.run(
            [*within, sys.executable, "-m", "tests.cli.forks", str(plan)],
            env={**self.environ, **(environ or {})}, cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (ran.returncode, ran.stderr) == (0, ""), ran
        return [Ended(*one) for one in json.loads(plan.read_bytes())]

    def rows(self, line: Line) -> list[bytes]:
        """What is in a line's store, which must be sound."""
        with Books.open(f"sqlite:///{line.folder}/books.db") as books:
            assert [*fsck(books.book, []).findings] == [], line
            return sorted(
                b"%r" % (row,) for snapshot, row, _ in books.book.records.rows.scan() if not snapshot
            )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, stores: Path, faulty: Faulty) -> World:
    """A world whose store is the one that settings name, and whose judge is a real server."""
    others = (
        "LOOPBOOK_",
        "XDG_",
        "PYTHONUNBUFFERED",
    )  # output that waits to be written is half of what can fail
    ours = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    folder = tmp_path_factory.mktemp("hostile")
    more = {"LOOPBOOK_STORE": "books.db", "LOOPBOOK_JUDGE_URL": faulty.at("fine"), "HOME": str(folder)}
    made = World(folder, {**ours, **more})
    made.prepare(stores / "busy.db")
    return made


def check(line: Line, ended: Ended, codes: Iterable[int]) -> None:
    """One documented code of those that may be, and each line on standard error is one of ours."""
    told = line.argv, ended
    assert ended.code in CODES, told
    assert ended.code in {*codes}, told
    assert "Traceback" not in ended.out + ended.err, told
    assert all(one.startswith("loopbook: ") for one in ended.err.splitlines()), told


# --- every command, under each condition ------------------------------------------------------------


class Condition(NamedTuple):
    """What is hostile, and how command lines that work in peace may end there."""

    what: str
    codes: tuple[int, ...] = (OK,)
    line: Mapping[str, object] = {}


FULL = Path("/dev/full")  # of Linux and the BSDs
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
CONDITIONS = [
    Condition("all streams are closed", line={"stdin": None, "stdout": "closed", "stderr": "closed"}),
    Condition("nobody reads the output", (OK, PIPE), {"stdout": "gone"}),
    Condition("a terminal has 20 columns", line={"stdout": "terminal", "environ": {"COLUMNS": "20"}}),
    Condition(
        "there is no folder for the store", (OK, STORE), {"environ": {"LOOPBOOK_STORE": "none/books.db"}}
    ),
]
if FULL.exists():
    CONDITIONS.append(Condition("there is no room for the output", (OK, STORE), {"stdout": "full"}))


def test_a_command_that_works_in_peace_ends_as_documented_whatever_is_amiss(world: World) -> None:
    tried = [
        (world.line(argv, **condition.line), condition.codes) for condition in CONDITIONS for argv in ARGVS
    ]
    for (line, codes), ended in zip(tried, world.run(line for line, _ in tried), strict=True):
        check(line, ended, codes)
        assert not Path(line.folder, "none").exists(), line


def test_a_command_that_works_in_peace_works_in_a_locale_without_letters(world: World) -> None:
    lines = [world.line(argv) for argv in ARGVS]
    for line, ended in zip(lines, world.run(lines, ASCII), strict=True):
        check(line, ended, (OK,))
        assert ended.out.isascii(), (line, ended)


def test_a_command_that_works_in_peace_changes_nothing_where_all_is_read_only(world: World) -> None:
    lines = [world.line(argv) for argv in ARGVS]
    before = world.rows(lines[0])
    worlds = str(world.folder / "worlds")
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    if os.geteuid() == 0:  # whom no mode stops
        if shutil.which("unshare") is None:
            pytest.skip("a read-only folder needs unshare where root runs the tests")
        ended = world.run(lines, within=["unshare", "-m", "sh", "-c", mount, worlds])
    else:
        for line in lines:
            Path(line.folder, "books.db").chmod(0o444)
            Path(line.folder).chmod(0o555)
        ended = world.run(lines)
        for line in lines:
            Path(line.folder).chmod(0o755)
            Path(line.folder, "books.db").chmod(0o644)
    for line, one in zip(lines, ended, strict=True):
        check(line, one, (OK, FOUND, STORE))
        assert world.rows(line) == before


# --- hostile words --------------------------------------------------------------------------------


NO_TEXT = "x\udcff"  # a byte that is no text, as Python has it in its arguments


def hostile_words() -> list[list[str]]:
    """Each example with such a byte behind each of its values, one at a time, and with each other option.

    An option that many commands have is tried with one of them; ``make prove`` tries all.
    """
    spoilt = [
        [*argv[:place], argv[place] + NO_TEXT, *argv[place + 1 :]]
        for argv in ARGVS
        for place in range(2, len(argv))
        if not argv[place].startswith("--")
    ]
    options = {
        (param.opts[0], PROVE and one.path): [*words(one.examples[0]), param.opts[0], NO_TEXT]
        for one in LEAVES
        for param in one.command.params
        if param.param_type_name == "option" and param.metavar
    }
    return [*spoilt, *options.values()]


def test_a_byte_in_the_arguments_that_is_no_text_costs_nothing(world: World) -> None:
    lines = [world.line(argv) for argv in hostile_words()]
    before = world.rows(world.line(["loop", "list"]))
    for line, ended in zip(lines, world.run(lines), strict=True):
        check(line, ended, (OK, FOUND, USAGE, STORE))
        after = world.rows(line)
        assert after == before or ended.code == OK, (line, ended)


# --- hostile errors and input -----------------------------------------------------------------------


def test_an_error_that_nobody_can_be_told_has_its_code_all_the_same(world: World) -> None:
    codes = {"closed": USAGE, "gone": PIPE} | ({"full": STORE} if FULL.exists() else {})
    wrong = ["loop", "lst"], ["loop", "log", "--loop", "x"]
    lines = [world.line(argv, stderr=stderr) for stderr in codes for argv in wrong]
    for line, ended in zip(lines, world.run(lines), strict=True):
        assert ended.code == codes[line.stderr], line


#: Every way to give a command something through standard input, by the option or argument that asks for it.
READERS = {
    ("loopbook loop record", "--json"): ["loop", "record", "--json", "-"],
    ("loopbook loop settle", "run"): ["loop", "settle", "-"],
    ("loopbook store import", "file"): ["store", "import", "-"],
    ("loopbook store scrub", "--text"): ["store", "scrub", "fix-1", "--text", "-", "--yes"],
    ("loopbook store scrub", "--find"): ["store", "scrub", "fix-1", "--find", "-"],
    ("loopbook replay", "book"): ["replay", "-"],
    ("loopbook explain", "book"): ["explain", "-", "1"],
    ("loopbook judge ask", "file"): ["judge", "ask", "--show", "-"],
    ("loopbook judge probe", "file"): ["judge", "probe", "-"],
}
LONG = "x" * 4_000_000
INPUTS = {
    "nothing": b"",
    "what is no UTF-8": b"\xff\xfe\x00\x80",
    "a mark and no text": b"\xef\xbb\xbf",
    "a long event": json.dumps({"type": "task", "text": LONG}).encode(),
    "a long run": json.dumps({"run": "r9", "prompt": LONG, "final_text": LONG}).encode(),
    "half a character": b'{"type": "task", "text": "\\ud800"}',
    "a deep object": b'{"a":' * 100_000,
}


def test_every_command_that_reads_standard_input_is_known() -> None:
    readers = {
        (one.path, param.opts[0])
        for one in commands()
        for param in one.command.params
        if "stdin" in (param.help or "") or "standard input" in (param.help or "")
    }
    assert readers == set(READERS)


def test_whatever_comes_through_standard_input_ends_in_a_line(world: World) -> None:
    for number, given in enumerate(INPUTS.values()):
        (world.folder / f"given-{number}").write_bytes(given)
    files = [None, *(str(world.folder / f"given-{number}") for number in range(len(INPUTS)))]
    lines = [world.line(argv, stdin=file) for file in files for argv in READERS.values()]
    for line, ended in zip(lines, world.run(lines), strict=True):
        check(line, ended, (OK, FOUND, USAGE, STORE))
        world.rows(line)
