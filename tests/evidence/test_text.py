"""Cutting and tidying keep their promises for every string."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.evidence import text as t
from tests.growth import assert_linear

#: Any code point, surrogates included, with what terminals and editors put into outputs mixed in.
PIECES = st.sampled_from(
    ["\x1b[31m", "\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;u\x1b\\", "\x1b(B", "\x1b", "\x1b[", "\x1b]x",
     "\r\n", "\r", "\n", "\n\n\n", "  \n", "\t", "\x00", "\ufeff", "\ud83d", "\ude00", "é", "x", "]", "[1m"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.characters(exclude_categories=()), max_size=60).map("".join)
SIZES = st.integers(min_value=-2, max_value=60)


@given(TEXTS)
def test_clean_text_is_utf_8_and_only_surrogates_change(text: str) -> None:
    cleaned = t.clean(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    assert all(
        a == b or (b == "\ufffd" and "\ud800" <= a <= "\udfff") for a, b in zip(text, cleaned, strict=True)
    )


@given(TEXTS, SIZES)
def test_head_and_tail_are_the_ends_and_split_the_text(text: str, n: int) -> None:
    assert text.startswith(t.head(text, n))
    assert text.endswith(t.tail(text, n))
    assert len(t.head(text, n)) == len(t.tail(text, n)) == max(0, min(n, len(text)))
    if 0 <= n <= len(text):
        assert t.head(text, n) + t.tail(text, len(text) - n) == text


@given(TEXTS, st.integers(1, 9), SIZES)
def test_head_tail_keeps_both_ends_counts_what_is_gone_and_never_grows(text: str, times: int, n: int) -> None:
    long = text * times
    kept = t.head_tail(long, n)
    assert kept.startswith(t.head(long, n))
    assert kept.endswith(t.tail(long, n))
    assert len(kept) <= min(len(long), 2 * max(n, 0) + t.MARK_ROOM)
    assert kept == long or f" {len(long) - 2 * max(n, 0)} characters left out" in kept
    assert t.head_tail(kept, n) == kept


def test_the_mark_fits_its_room_for_a_gigabyte() -> None:
    assert len("\n[... 1000000000 characters left out ...]\n") <= t.MARK_ROOM


@given(TEXTS, SIZES)
def test_one_line_is_one_printable_line_within_its_bound(text: str, n: int) -> None:
    line = t.one_line(text, n)
    assert len(line) <= max(n, 0)
    assert not any(c.isspace() and c != " " for c in line)
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in line)
    assert "  " not in line
    assert t.one_line(line, n) == line


@given(TEXTS)
def test_tidy_output_has_no_escapes_no_cr_no_blank_ends_and_is_a_fixed_point(text: str) -> None:
    tidy = t.tidy_output(text)
    assert "\x1b" not in tidy
    assert "\r" not in tidy
    assert "\n\n\n" not in tidy
    assert all(line == line.rstrip(" \t") for line in tidy.split("\n"))
    assert t.tidy_output(tidy) == tidy


@given(st.text(alphabet="abc \n", max_size=40))
def test_tidy_output_keeps_the_words_in_order(text: str) -> None:
    assert t.tidy_output(text).split() == text.split()


@pytest.mark.parametrize(
    ("raw", "tidy"),
    [
        ("\x1b[1;32mPASS\x1b[0m src", "PASS src"),
        ("\x1b[?25l12%\r100%\r\ndone", "12%\n100%\ndone"),
        ("\x1b]0;npm test\x07ok", "ok"),
        ("\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never closed\nkept", "]never closed\nkept"),
        ("  indented\n\n\n\n  stays", "indented\n\n  stays"),
    ],
)
def test_tidy_output_by_example(raw: str, tidy: str) -> None:
    assert t.tidy_output(raw) == tidy


def test_digest16_is_the_head_of_sha_256() -> None:
    assert t.digest16("café") == hashlib.sha256("café".encode()).hexdigest()[:16]
    assert t.digest16("\ud83d") == t.digest16("\ufffd")


@pytest.mark.parametrize(
    "unit", [" ", "\t\n", "\x1b", "\x1b[", "\x1b]", "\x1b[0;", "\r", "\n", "a", "\ud83d"]
)
@pytest.mark.parametrize("work", [t.tidy_output, lambda s: t.one_line(s, 80), t.clean, t.digest16])
def test_long_runs_of_anything_are_linear(work: Callable[[str], str], unit: str) -> None:
    assert_linear(lambda size: unit * (size // len(unit)) + "x", work, 300_000)
