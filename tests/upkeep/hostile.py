"""Exports as somebody may have written them who knows the format: each line may vouch for itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from loopbook.sealing import seal
from loopbook.store import Row
from loopbook.upkeep.transfer import end_line, head_line

#: A state's members as text, in their order; a member may stand there twice.
Members = list[tuple[str, str]]


def quoted(text: str) -> str:
    """A text in JSON, also one that is no Unicode."""
    return json.dumps(text)


def members(state: bytes) -> Members:
    """The members of a state but its ``sum``."""
    objects: list[list[tuple[str, object]]] = []

    def keep(pairs: list[tuple[str, object]]) -> object:
        objects.append(pairs)
        return dict(pairs)

    json.loads(state, object_pairs_hook=keep)  # the outermost comes last
    return [
        (name, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        for name, value in objects[-1][:-1]
    ]


def written(stream: str, version: int, topic: str, parts: Members) -> Row:
    """A row whose ``sum`` is right, whatever stands in it."""
    body = ("{" + ",".join(f"{quoted(name)}:{value}" for name, value in parts)).encode(errors="surrogatepass")
    try:
        digest = seal(stream, version, topic, body)
    except UnicodeEncodeError:
        digest = "0" * 64
    return Row(stream, version, topic, b'%b,"sum":"%b"}' % (body, digest.encode()))


def chained(rows: Iterable[Row]) -> list[Row]:
    """Rows of one stream, each with the ``sum`` before it as its ``prev``; the first keeps its own."""
    done: list[Row] = []
    for row in rows:
        parts = members(row.state)
        if done:
            prev = done[-1].state[-66:-2].decode()
            parts = [(name, quoted(prev) if name == "prev" else value) for name, value in parts]
        done.append(written(*row[:3], parts))
    return done


def line(row: Row) -> bytes:
    """The line of a row, even where no export would write it."""
    where = f'{{"stream":{quoted(row[0])},"version":{row[1]},"topic":{quoted(row[2])},"state":'
    return where.encode() + row.state + b"}\n"


def export(rows: Iterable[Row]) -> bytes:
    """A whole file."""
    lines = [line(row) for row in rows]
    return b"".join([head_line(), *lines, end_line(len(lines))])


#: What may be put in place of any value.
VALUES = st.sampled_from([
    "null", "true", "-1", "0", "1.0", "1e999", "NaN", "Infinity", "-0", str(2**63), str(2**64 + 1),
    "9" * 5_000,
    '""', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0041"', '" "', '"loop:a"', '"x\\u001b[31m"',
    "[]", "{}", "[1]", '{"a":{"a":1},"a":2}', "[" * 150 + "]" * 150, "[" * 300 + "]" * 300,
    '{"ref":"x","due":"2026-01-01"}', '"2026-01-01T12:00:00Z"', '"0001-01-01T00:00:00+23:59"',
    '"' + "x" * 9_000 + '"',
])  # fmt: skip
NAMES = st.sampled_from([
    "loop:", "loop:../../x", "loop:a b", "loop:\x1b[31m", "loop:a\0b", "loop:\ud800", "loop:a", "loop:a-2",
    "loop:z", "loop:" + "x" * 200, "session:", "session:h", "session:h:s", "session:h:\0", "guard:",
    "guard:p", "guard:\n",
    "guard:" + "x" * 5_000, "catalogue", "once:loop:a:todo:t1", "", "else",
])  # fmt: skip
VERSIONS = st.sampled_from([-(2**70), -1, 0, 1, 2, 3, 2**31, 2**63 - 1, 2**63, 2**64, 10**29])
TOPICS = st.sampled_from([
    "task", "loop_opened", "loop_closed", "loop_reopened", "forked", "reserved", "catalogued", "scrubbed",
    "review",
    "x_new", "X", "", "a\0", "\ud800", "a" * 101, "todo_opened", "unit_added", "book_chosen", "unit_done",
])  # fmt: skip
SPELLINGS = st.sampled_from(["as it is", "blanks", "twice", "other order", "no prev", "cut", "not UTF-8"])


@st.composite
def changes(draw: st.DrawFn) -> Callable[[Row], Row]:
    """A change of one row, after which it vouches for itself again."""
    sort = draw(st.sampled_from(["value", "value", "name", "version", "topic", "spelling", "member"]))
    place = draw(st.integers(0, 30))
    value, name, version, topic, how = (
        draw(VALUES), draw(NAMES), draw(VERSIONS), draw(TOPICS), draw(SPELLINGS),
    )  # fmt: skip

    def change(row: Row) -> Row:
        parts = members(row.state)
        at = place % len(parts)
        if sort == "value":
            parts[at] = parts[at][0], value
        elif sort == "member":
            parts.insert(at, (draw_name(place), value))
        elif sort == "spelling":
            return spelled(row, parts, at, how)
        stream = name if sort == "name" else row.originator_id
        seq = version if sort == "version" else row.originator_version
        return written(stream, seq, topic if sort == "topic" else row.topic, parts)

    return change


def draw_name(place: int) -> str:
    """A member's name, often one that is there."""
    return ("prev", "at", "sum", "v", "unit", "text", "host_ref", "x", "", "\0", "type")[place % 11]


def spelled(row: Row, parts: Members, at: int, how: str) -> Row:
    """The same row in another spelling."""
    if how == "blanks":
        parts[at] = parts[at][0], f" {parts[at][1]} "
    elif how == "twice":
        parts.insert(0, parts[at])
    elif how == "other order":
        parts = parts[at:] + parts[:at]
    elif how == "no prev":
        parts = [part for part in parts if part[0] != "prev"]
    new = written(*row[:3], parts)
    if how == "cut":
        return new._replace(state=new.state[: len(new.state) // 2])
    return new._replace(state=new.state[:5] + b"\xff" + new.state[5:]) if how == "not UTF-8" else new
