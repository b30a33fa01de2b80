"""Whatever stands in a file, its objects come out, and what was wrong is said with its line."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.transcripts import lines
from loopbook.transcripts.lines import PROBLEMS_LISTED, Problem, Problems, read_lines


def read(data: bytes, cap: int = lines.LINE_CAP) -> tuple[list[tuple[int, dict[str, object]]], Problems]:
    problems = Problems()
    return [(one.number, one.record) for one in read_lines(io.BytesIO(data), problems, cap=cap)], problems


def test_objects_come_out_with_their_line_numbers_and_the_bytes_read() -> None:
    data = b'{"a":1}\n\n{"a":2}\n'
    found = list(read_lines(io.BytesIO(data), Problems()))
    assert [(one.number, one.end, one.size) for one in found] == [(1, 8, 8), (3, 17, 8)]


@pytest.mark.parametrize(
    ("data", "records", "said"),
    [
        (b'\xef\xbb\xbf{"a":1}\n', [(1, {"a": 1})], lines.BOM),
        (b'{"a":1}\r\n{"a":2}\r\n', [(1, {"a": 1}), (2, {"a": 2})], lines.CRLF),
        (b'\x00\x00\x00{"a":1}\n', [(1, {"a": 1})], lines.NULS),
        (b'{"a":1}\x00\x00\n', [(1, {"a": 1})], lines.NULS),
        (b"\x00\x00\x00\x00\n", [], lines.NULS),
        (b'\n  \n{"a":1}\n\n', [(3, {"a": 1})], lines.BLANK),
        (b'{"a":"\xff\xfe"}\n', [(1, {"a": "\ufffd\ufffd"})], lines.NOT_UTF8),
        (b'{"a":"\\ud83d"}\n', [(1, {"a": "\ufffd"})], lines.SURROGATES),
        (b'{"\\udc00":["\\ud83d x"]}\n', [(1, {"\ufffd": ["\ufffd x"]})], lines.SURROGATES),
        (b"[1,2]\n", [], lines.NOT_OBJECT),
        (b'"text"\n', [], lines.NOT_OBJECT),
        (b"null\n", [], lines.NOT_OBJECT),
        (b"plain words\n", [], lines.NOT_OBJECT),
        (b'{"a":1} {"b":2}\n', [], lines.NOT_JSON),
        (b'{"a":\n', [], lines.NOT_JSON),
        (b'{"a":' + b"9" * 6000 + b"}\n", [], lines.NOT_JSON),
        (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}\n", [], lines.TOO_DEEP),
        (b'{"a":"\\ud83d",' + b'"b":' + b"[" * 300 + b"]" * 300 + b"}\n", [], lines.TOO_DEEP),
        (b'{"a":"\\ud83d","b":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n", [], lines.TOO_DEEP),
        (b'{"a":1}\n{"a":2', [(1, {"a": 1})], lines.TORN),
        (b'{"a":1}\n{"a":"\xe2\x82', [(1, {"a": 1})], lines.TORN),
        (b'{"a":1}\ntru', [(1, {"a": 1})], lines.TORN),
    ],
)
def test_each_oddity_is_mended_or_passed_over_and_said_once(
    data: bytes, records: list[tuple[int, dict[str, object]]], said: str
) -> None:
    found, problems = read(data)
    assert found == records
    assert [problem.what for problem in problems.listed] == [said]
    assert problems.total == 1


def test_a_problem_names_its_line() -> None:
    _, problems = read(b'{"a":1}\nnonsense\n{"a":2}\n[]\n')
    assert problems.listed == [Problem(2, lines.NOT_OBJECT), Problem(4, lines.NOT_OBJECT)]


def test_a_last_line_without_a_line_end_counts_when_it_is_whole() -> None:
    found, problems = read(b'{"a":1}\n{"a":2}')
    assert found == [(1, {"a": 1}), (2, {"a": 2})]
    assert problems.total == 0


def test_halves_of_a_character_that_belong_together_stay_together() -> None:
    found, _ = read(b'{"a":"\\ud83d\\ude00","b":"\\ud83d"}\n')
    assert found == [(1, {"a": "\U0001f600", "b": "\ufffd"})]


def test_a_line_over_the_cap_is_passed_over_and_the_next_one_is_read() -> None:
    data = b'{"a":"' + b"x" * 3_000_000 + b'"}\n{"a":2}\n'
    found, problems = read(data, cap=2_000_000)
    assert found == [(2, {"a": 2})]
    assert problems.listed == [Problem(1, "a line of 3,000,009 bytes, longer than 2,000,000; passed over")]
    assert len(read(data)[0]) == 2  # under the real cap both are read


def test_problems_without_end_are_counted_and_the_first_ones_listed() -> None:
    _, problems = read(b"nonsense\n" * 5_000)
    assert problems.total == 5_000
    assert len(problems.listed) == PROBLEMS_LISTED


@given(st.binary(max_size=2_000))
def test_random_bytes_give_problems_and_never_an_error(data: bytes) -> None:
    found, problems = read(data)
    assert problems.total <= data.count(b"\n") + 10
    assert len(found) <= data.count(b"\n") + 1


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, min_size=1, max_size=4)


@given(st.lists(objects, max_size=6), st.booleans())
def test_what_was_written_as_json_lines_is_read_back(
    records: list[dict[str, object]], ascii_only: bool
) -> None:
    data = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records)
    found, problems = read(data.encode())
    assert [record for _, record in found] == records
    assert problems.total == 0


@given(st.lists(objects, min_size=1, max_size=5), st.data())
def test_a_file_torn_at_any_byte_gives_the_first_of_its_objects(
    records: list[dict[str, object]], data: st.DataObject
) -> None:
    whole = "".join(json.dumps(record) + "\n" for record in records).encode()
    cut = data.draw(st.integers(0, len(whole)))
    found, _ = read(whole[:cut])
    assert found == read(whole)[0][: len(found)]
    assert len(found) >= whole[:cut].count(b"\n")
