"""What the README shows is what the program prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from itertools import takewhile
from pathlib import Path

import pytest

from loopbook import Books, Prompted
from loopbook.cli import main
from loopbook.cli.exits import EXIT_CODES
from loopbook.errors import InvalidEvent
from loopbook.settings import SETTINGS, config_folder, data_folder, load_settings
from loopbook.settings.table import Setting
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def shows(sample: list[str], printed: list[str]) -> bool:
    """Whether the lines of a sample are those that were printed; ``...`` stands for any of them."""
    rest = iter(printed)
    gap = False
    for line in sample:
        if line == "...":
            gap = True
        elif gap:
            if not any(other == line for other in rest):
                return False
            gap = False
        elif next(rest, None) != line:
            return False
    return gap or next(rest, None) is None


@pytest.mark.parametrize("sample", blocks("console"))
def test_a_sample_of_the_command_line_is_what_it_prints(
    sample: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command, *lines = sample.splitlines()
    program, *words = command.removeprefix("$ ").split()
    if program == "python":
        ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
        assert ran.stdout.splitlines() == lines
    else:
        assert main(words) == 0
        assert shows(lines, capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(("example", "printed"), [*zip(blocks("python"), blocks("text"), strict=True)])
def test_an_example_in_python_prints_what_stands_under_it(
    example: str,
    printed: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("LOOPBOOK_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))  # of a user who has set nothing
    for _ in range(2):  # whoever tries it tries it twice
        exec(compile(example, "README.md", "exec"), {})
        assert capsys.readouterr().out == printed


def test_the_exit_codes_are_those_of_the_program() -> None:
    table = README.partition("| exit code | meaning |\n")[2].splitlines()[1:]
    rows = [line.strip("| ").split(" | ", 1) for line in takewhile(lambda line: line.startswith("|"), table)]
    assert rows == [[str(row.code), row.meaning] for row in EXIT_CODES]


def default(name: str, row: Setting) -> str:
    """A default as the table writes it."""
    value = row.default({}, "linux")
    if name == "store":
        return "the default store"
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return ", ".join(f"`{one}`" for one in value)
    if isinstance(value, dict):
        return ", ".join(f"`{key}`: `{one}`" for key, one in value.items())
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_the_table_of_settings_is_that_of_the_program() -> None:
    table = README.partition("| key | meaning | default | variable | may a project set it |\n")[
        2
    ].splitlines()[1:]
    rows = [line[2:-2].split(" | ") for line in takewhile(lambda line: line.startswith("|"), table)]
    assert [[cell.strip() for cell in row] for row in rows] == [
        [
            f"`{name}`",
            row.words(),
            default(name, row),
            f"`{row.variable}`" if row.variable else "",
            "only stricter" if row.stricter else "no",
        ]
        for name, row in SETTINGS.items()
    ]


def test_the_settings_file_shown_is_one(tmp_path: Path) -> None:
    [example] = blocks("toml")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    file = config_folder(home, "linux") / "settings.toml"
    file.parent.mkdir()
    file.write_text(example, encoding="utf-8")
    assert set(tomllib.loads(example)) < set(SETTINGS)
    settings = load_settings(environ=home, platform="linux")
    assert [check.command for check in settings.checks] == ["./verify-all"]
    assert settings.kinds_dir == tmp_path / "kinds"


@pytest.mark.parametrize(
    ("platform", "row"), [("linux", "| Linux |"), ("darwin", "| macOS |"), ("win32", "| Windows |")]
)
def test_the_places_of_settings_and_store_are_those_of_the_program(platform: str, row: str) -> None:
    [line] = [line for line in README.splitlines() if line.startswith(row)]
    environ = {"HOME": "~", "APPDATA": "%APPDATA%", "LOCALAPPDATA": "%LOCALAPPDATA%"}
    for path in (
        config_folder(environ, platform) / "settings.toml",
        data_folder(environ, platform) / "books.db",
    ):
        shown = path.as_posix().replace("/", "\\") if platform == "win32" else path.as_posix()
        assert f"`{shown}`" in line


def test_the_demo_installs_the_package_alone_and_the_rest_has_a_stamp_of_its_own() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = dict(re.findall(r"^(\S[^:=\n]*): *([^\n#]*?) *(?:#.*)?$", makefile, re.MULTILINE))
    assert rules["demo"] == "$(STAMP)"
    assert {rules[name] for name in ("test", "lint", "bench", "prove", "schemas docs")} == {"$(DEV)"}
    recipe = makefile.partition("$(STAMP): pyproject.toml")[2].partition("\n\n")[0]
    assert "--group" not in recipe
    assert ".venv*/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_a_sample_that_is_not_what_is_printed_is_seen() -> None:
    printed = ["a", "b", "c", "d"]
    assert shows(["a", "...", "c", "d"], printed)
    assert shows(["...", "c", "..."], printed)
    for wrong in (["a", "c", "..."], ["...", "c"], ["a", "...", "x", "..."], ["...", "d", "c"]):
        assert not shows(wrong, printed)


def test_the_prompt_that_is_shown_is_one_that_lets_runs_go_on_again() -> None:
    (shown,) = re.findall(r"`(Prompted\(.*?\))`", README)
    loop = Books.open("memory:").start("fix", "x")
    loop.record(eval(shown, {"Prompted": Prompted}))
    assert [entry.event.type for entry in loop.entries()] == ["loop_opened", "prompted"]
    with pytest.raises(InvalidEvent, match="Prompted: prompt is missing; nothing was written"):
        Prompted(text="without an id")  # type: ignore[call-arg]  # that it may not is the claim
