"""What the README shows is what the program prints."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest

from loopbook.cli import main
from loopbook.cli.exits import EXIT_CODES
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
    assert main(command.removeprefix("$ loopbook ").split()) == 0
    assert shows(lines, capsys.readouterr().out.splitlines())


def test_the_embed_example_prints_what_stands_under_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [example], [printed] = blocks("python"), blocks("text")
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed


def test_the_exit_codes_are_those_of_the_program() -> None:
    table = README.partition("| exit code | meaning |\n")[2].splitlines()[1:]
    rows = [line.strip("| ").split(" | ", 1) for line in takewhile(lambda line: line.startswith("|"), table)]
    assert rows == [[str(row.code), row.meaning] for row in EXIT_CODES]


def test_a_sample_that_is_not_what_is_printed_is_seen() -> None:
    printed = ["a", "b", "c", "d"]
    assert shows(["a", "...", "c", "d"], printed)
    assert shows(["...", "c", "..."], printed)
    for wrong in (["a", "c", "..."], ["...", "c"], ["a", "...", "x", "..."], ["...", "d", "c"]):
        assert not shows(wrong, printed)
