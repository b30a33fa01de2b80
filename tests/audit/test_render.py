"""An audit as text reads the same without colours, in a pipe and on a narrow terminal."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from loopbook.audit.document import write
from loopbook.audit.model import FIRST_ITEMS, Audit
from loopbook.audit.render import Page
from tests.audit.samples import an_audit

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def written(audit: Audit, *, width: int = 80, terminal: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=terminal, color_system="standard" if terminal else None
    )
    write(Page(console), audit)
    return stream.getvalue()


def test_a_contradicted_claim_names_the_words_the_command_its_exit_and_the_lines() -> None:
    text = written(an_audit())
    assert 'contradicted  line 40: said "All tests pass"' in text
    assert "the last test run failed: `python -m unittest`, exit 1, line 31" in text


def test_marks_say_that_the_run_is_open_and_what_may_be_stale() -> None:
    assert "(tests, run not settled, of a part, possibly stale, run by agent-1)" in written(an_audit())


def test_the_summary_says_counts_phase_and_verify_state() -> None:
    text = written(an_audit())
    assert "1 came to rest; 1 open, 4 calls so far" in text
    assert "tests: 1 passed, 1 failed, 1 unknown (1 masked)" in text
    assert "change; next: verify (no passing check since the last change)" in text
    assert "failing; possibly stale" in text


def test_in_a_pipe_there_is_no_escape_and_a_line_of_the_timeline_stays_one_line() -> None:
    text = written(an_audit("x" * 300))
    assert "\x1b" not in text
    assert text.count("check    ") == 3


def test_colours_only_repeat_what_the_words_say() -> None:
    plain, coloured = written(an_audit(), width=500), written(an_audit(), width=500, terminal=True)
    assert coloured != plain
    assert ANSI.sub("", coloured) == plain


@pytest.mark.parametrize("width", [60, 80, 200])
def test_on_a_terminal_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide = "日本語 and a word of length " + "y" * 250
    for line in written(an_audit(wide), width=width, terminal=True).splitlines():
        assert cell_len(ANSI.sub("", line)) <= width


def test_a_terminal_of_ten_columns_still_gets_everything() -> None:
    assert "python -m unittest" in written(an_audit(), width=10, terminal=True)


@pytest.mark.parametrize(
    "hostile",
    [
        "[red]x[/red]",
        "[/]",
        "\x1b[31mx",
        ":warning:",
        "\ud83d",
        "\u202eabc",
        "a\nb\rc\x00",
        "[link=http://x]y",
    ],
)
def test_hostile_text_is_shown_and_never_acts(hostile: str) -> None:
    text = written(an_audit(hostile))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\ud800-\udfff]", text)
    if hostile.isprintable():
        assert hostile in text


@given(st.text(st.characters(), max_size=60))
def test_no_text_stops_the_page(text: str) -> None:
    written(an_audit(text, items=1)).encode()


def test_where_lines_were_left_out_it_says_how_many() -> None:
    text = written(an_audit(items=FIRST_ITEMS + 2, left_out=1234))
    before, after = text.split("… 1234 lines left out (--full prints all)")
    assert before.count("check    ") == FIRST_ITEMS
    assert after.count("check    ") == 2
