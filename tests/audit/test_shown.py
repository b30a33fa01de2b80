"""Text of strangers on a terminal: nothing acts, nothing hides, nothing grows without bound."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.audit.bounded import FirstAndLast
from loopbook.audit.shown import quoted, shown, visible

HOSTILE = {
    "colour": ("\x1b[31mred", "\\x1b[31mred"),
    "carriage return rewrites the line": ("ok\rfail", "ok\\rfail"),
    "C1 control sequence introducer": ("\x9b31m", "\\x9b31m"),
    "right-to-left override": ("\u202egpj.exe", "\\u202egpj.exe"),
    "isolates": ("\u2066a\u2069", "\\u2066a\\u2069"),
    "zero width space": ("pass\u200bed", "pass\\u200bed"),
    "lone surrogate": ("a\ud83d", "a\\ud83d"),
    "byte order mark": ("\ufeffa", "\\ufeffa"),
    "NUL": ("a\0b", "a\\x00b"),
    "tag characters": ("a\U000e0041", "a\\U000e0041"),
}


@pytest.mark.parametrize(("text", "seen"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_acts_or_hides_is_written_out(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_joiners_of_scripts_and_emoji_stay() -> None:
    family = "\U0001f469\u200d\U0001f467"
    assert visible(family) == family


@given(st.text(st.characters()))
def test_visible_text_has_no_character_a_terminal_obeys_and_is_its_own_fixed_point(text: str) -> None:
    seen = visible(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in seen)
    assert not any(unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF") for c in seen)
    assert visible(seen) == seen


@given(st.text(st.characters()), st.integers(2, 40))
def test_shown_text_is_one_line_and_bounded(text: str, chars: int) -> None:
    line = shown(text, chars)
    assert len(line.splitlines()) <= 1
    assert len(line) <= 10 * chars  # an escape has at most ten characters


def test_a_text_of_megabytes_is_cut_before_it_is_worked_on() -> None:
    assert shown(" " * 5_000_000 + "x", 10) == "…"
    assert len(shown("x" * 5_000_000, 10)) == 10
    assert quoted("a" * 50, 5) == '"aaaa…"'


@given(st.lists(st.integers()), st.integers(0, 5), st.integers(0, 5))
def test_first_and_last_keep_the_ends_in_order_and_count_the_rest(
    things: list[int], first: int, last: int
) -> None:
    kept: FirstAndLast[int] = FirstAndLast(first, last)
    for thing in things:
        kept.add(thing)
    gap = max(0, len(things) - first - last)
    assert kept.kept == tuple(things[:first] + things[first + gap :])
    assert (kept.left_out, kept.total) == (gap, len(things))
