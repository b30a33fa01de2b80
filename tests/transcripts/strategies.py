"""Sessions of any shape: every kind of record in any order, well formed or not."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.transcripts.records import REFUSED, Session

COMMANDS = ("pytest", "pytest a", "ls", "echo pytest | tail -3", "ruff check . || true", "make test")
OUTPUTS = (
    "1 passed in 0.1s",
    "1 failed in 0.1s",
    "",
    "\x1b[32mok\x1b[0m",
    REFUSED,
    "Exit code 2\n1 failed in 0.1s",
)
TEXTS = ("Done.", "All tests pass.", "\n\n", "I will run the tests.", "\ud83d half", "x" * 9_000)
ENDED = "<task-notification><task-id>{0}</task-id><status>completed</status>{1}</task-notification>"
TYPED = (
    "fix it",
    "<bash-input>ls</bash-input>",
    "<command-name>/model</command-name>",
    "[Request interrupted by user]",
    "<local-command-stdout>x</local-command-stdout>",
    "<command-message>a</command-message><command-name>/a</command-name>",
    ENDED.format("b1", ""),
    ENDED.format("a1", "<result>ok</result>"),
)
HIDDEN = ("Stop hook feedback: go", "skill text")
RAW = ("", "nonsense", "[]", "{}", '{"type":"hologram"}', "\x00\x00", '{"a":')
PASSED = {"task_id": "b1", "status": "completed", "exitCode": 0, "output": "1 passed in 0.1s"}
DATA = (
    None,
    "Error: no",
    {"stdout": "1 passed in 0.1s", "stderr": "", "interrupted": False},
    {"backgroundTaskId": "b1"},
    {"status": "completed", "agentId": "a1", "content": [{"type": "text", "text": "ok"}]},
    {"isAsync": True, "status": "async_launched", "agentId": "a1"},
    {"retrieval_status": "success", "task": PASSED},
    {"retrieval_status": "timeout", "task": {"task_id": "b1", "status": "running"}},
)

typed = st.sampled_from(TYPED)
refs = st.sampled_from(["t1", "t2", "t3", "t4"])
Step = Callable[[Session], object]


def _copy(session: Session, number: int) -> None:
    if session.lines:
        session.lines.append(session.lines[number % len(session.lines)])


def _todos(text: str, done: bool) -> dict[str, object]:
    return {"todos": [{"content": text, "status": "completed" if done else "pending"}]}


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda t: lambda s: s.user(t), st.sampled_from(TYPED)),
    st.builds(lambda t, m: lambda s: s.says(t, message=m), st.sampled_from(TEXTS), refs),
    st.builds(lambda r, c: lambda s: s.calls("Bash", r, command=c), refs, st.sampled_from(COMMANDS)),
    st.builds(lambda r: lambda s: s.calls("Edit", r, file_path="/home/dev/project/a.py"), refs),
    st.builds(lambda r: lambda s: s.calls("Task", r, prompt="look"), refs),
    st.builds(lambda r: lambda s: s.calls("TaskOutput", r, task_id="b1"), refs),
    st.builds(lambda r, t, d: lambda s: s.calls("TodoWrite", r, **_todos(t, d)), refs, refs, st.booleans()),
    st.builds(
        lambda r, t, e, d: lambda s: s.answers(r, t, error=e, toolUseResult=d),
        refs, st.sampled_from(OUTPUTS), st.sampled_from([None, True, False]), st.sampled_from(DATA),
    ),
    st.builds(lambda r, t: lambda s: s.user(t, isSidechain=True, uuid=f"side-{r}"), refs, typed),
    st.builds(lambda t: lambda s: s.user(t, isMeta=True), st.sampled_from(HIDDEN)),
    st.builds(
        lambda o, t: lambda s: s.add("queue-operation", operation=o, content=t, uuid=None),
        st.sampled_from(["enqueue", "remove", "dequeue", "popAll"]), st.sampled_from(TYPED),
    ),
    st.builds(
        lambda t: lambda s: s.add("attachment", attachment={"type": "queued_command", "prompt": t}),
        st.sampled_from(TYPED),
    ),
    st.just(lambda s: s.stops()),
    st.just(lambda s: s.interrupted()),
    st.builds(lambda t: lambda s: s.raw(t), st.sampled_from(RAW)),
    st.builds(lambda n: lambda s: _copy(s, n), st.integers(0, 30)),
)  # fmt: skip


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """A session of up to 25 lines, a record at least among them."""
    session = Session(draw(st.sampled_from(["1.0.53", "2.1.39", "next"])))
    for step in draw(st.lists(steps, min_size=1, max_size=25)):
        step(session)
    if not any(line.startswith('{"type": ') for line in session.lines):
        session.add("mode")
    return session
