"""Which files a call wrote and read: from structured arguments alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.evidence.artifacts import PATHS, diff_summary, named, produced, relativize, touched
from loopbook.evidence.calls import CallResult, ToolCall
from loopbook.run import ToolKind
from tests.evidence import hostile
from tests.growth import assert_linear

OK = CallResult("ok")


def call(kind: ToolKind, args: dict[str, object], result: CallResult | None = OK) -> ToolCall:
    return ToolCall("c1", "t", kind, args, result, cwd="/w")


@pytest.mark.parametrize("kind", ["edit", "write"])
def test_only_what_went_well_was_produced(kind: ToolKind) -> None:
    args: dict[str, object] = {"file_path": "/w/a.py"}
    assert produced(call(kind, args)) == ("a.py",)
    for status in ("error", "refused", "never_ran", "interrupted", "background"):
        assert produced(call(kind, args, CallResult(status))) == ()
    assert produced(call(kind, args, None)) == ()


def test_a_shell_command_is_never_read_for_files() -> None:
    command = call("command", {"command": "echo x > /w/out.txt", "file_path": "/w/a.py"})
    assert produced(command) == touched(command) == ()


def test_a_read_touches_and_produces_nothing() -> None:
    read = call("read", {"file_path": "/w/a.py"})
    assert (produced(read), touched(read)) == ((), ("a.py",))


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        ({"notebook_path": "/w/n.ipynb"}, ("n.ipynb",)),
        ({"path": "a"}, ("a",)),
        ({"file_path": "/w/a", "edits": [{"file_path": "/w/b"}, {"old_string": "x"}]}, ("a", "b")),
        ({"files": [{"path": "a"}, "b", 7, {"path": 8}]}, ("a", "b")),
        ({"changes": {"a": {"add": {}}, "b": {}}}, ("a", "b")),
        ({"input": "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** End Patch"},
         ("a", "b", "c")),
        ({"file_path": 42, "files": "no", "changes": [1]}, ()),
        ({"file_path": "   "}, ()),
    ],
)  # fmt: skip
def test_paths_are_found_where_hosts_put_them(args: dict[str, object], paths: tuple[str, ...]) -> None:
    assert produced(call("edit", args)) == paths


def test_a_call_keeps_a_bounded_number_of_paths() -> None:
    assert len(named(call("edit", {"files": [f"f{n}" for n in range(10_000)]}))) == PATHS


@pytest.mark.parametrize(
    ("args", "data", "said"),
    [
        ({}, {"structuredPatch": [{"lines": ["+a", " b"]}, {"lines": ["-c", "+d"]}]}, "+2 -1"),
        ({"content": "a\nb\n"}, {"type": "create", "structuredPatch": []}, "+2 -0"),
        ({"patch": "*** Update File: a\n+x\n+y\n-z"}, None, "+2 -1"),
        ({}, {"structuredPatch": [{"lines": [7, None]}, 3, {"lines": "no"}]}, None),
        ({}, {"structuredPatch": "no"}, None),
        ({"content": 5}, {"type": "create"}, "+0 -0"),
    ],
)
def test_lines_are_counted_where_the_host_says_them(
    args: dict[str, object], data: dict[str, object] | None, said: str | None
) -> None:
    assert diff_summary(call("edit", args, CallResult("ok", data=data))) == said


@given(st.text(), st.none() | st.text())
def test_a_shortened_path_is_the_end_of_the_path(path: str, cwd: str | None) -> None:
    short = relativize(path, cwd)
    assert path.endswith(short)
    assert bool(short) == bool(path)


@given(st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=4), st.sampled_from(["/", "\\"]))
def test_below_the_folder_the_folder_goes_away(parts: list[str], slash: str) -> None:
    assert relativize(slash.join(["/Work", *parts]), "/work/") == slash.join(parts)


@given(hostile.calls)
def test_nothing_a_host_may_write_breaks_it(any_call: ToolCall) -> None:
    assert all(named(any_call)) or named(any_call) == ()
    diff_summary(any_call)


@pytest.mark.parametrize("unit", ["*** Update File: ", "*", "\n", "+\n"])
def test_the_time_for_megabytes_grows_with_their_length_alone(unit: str) -> None:
    def look(edit: ToolCall) -> None:
        produced(edit)
        diff_summary(edit)

    def edited(size: int) -> ToolCall:
        text = unit * (size // len(unit))
        return call("edit", {"input": text, "file_path": text})

    assert_linear(edited, look, 1_000_000)
