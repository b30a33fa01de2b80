"""Strategies: what another program may put into a call, right and wrong."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from loopbook.evidence.calls import CallResult, Status, ToolCall
from loopbook.run import ToolKind

KINDS: tuple[ToolKind, ...] = get_args(ToolKind)
STATUSES: tuple[Status, ...] = get_args(Status)

#: Any text: lone surrogates, NUL, escapes and line ends among it.
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=30),
    st.sampled_from(
        ["", " ", "pytest", "npm test | tail", "echo hi", "cat /tmp/tasks/b1.output", "3 passed in 1s",
         "2 failed", "b1", "a1", "1", "completed", "pending", "\x1b[31mred\x1b[0m", "a\r\n\x00\ud83d",
         "/w/a.py", "x" * 3_000, "*** Begin Patch\n*** Update File: a.py\n+x\n-y", '"Q"="A"',
         "The user doesn't want to proceed"]
    ),
)  # fmt: skip

#: The fields that evidence looks into, and others.
keys = st.one_of(
    st.sampled_from(
        ["command", "cmd", "script", "file_path", "path", "files", "edits", "changes", "input", "patch",
         "content", "todos", "plan", "newTodos", "taskId", "status", "subject", "task", "id", "tasks",
         "statusChange", "to", "success", "url", "query", "code", "result", "answers", "isAgent",
         "structuredPatch", "lines", "type", "file", "task_id", "agentId", "step", "description"]
    ),
    st.text(max_size=5),
)  # fmt: skip

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.integers(10**30, 10**40), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=5,
)
mappings = st.dictionaries(keys, values, max_size=5)
ids = st.sampled_from(["a1", "a2", "b1", "b2"])

results = st.builds(
    CallResult,
    status=st.sampled_from(STATUSES),
    text=texts,
    exit_code=st.none() | st.integers(-1, 255),
    data=st.none() | mappings,
    task=st.none() | ids,
    line=st.none() | st.integers(1, 9),
)
calls = st.builds(
    ToolCall,
    ref=st.text(max_size=3) | ids,
    tool=st.sampled_from(["Bash", "TaskStop", "TodoWrite", "x"]) | texts,
    kind=st.sampled_from(KINDS),
    input=mappings,
    result=st.none() | results,
    by=st.none() | st.sampled_from(["a1", "a2"]),
    child=st.none() | ids,
    task=st.none() | ids,
    cwd=st.none() | st.sampled_from(["/w", ""]) | texts,
    line=st.none() | st.integers(1, 9),
)
