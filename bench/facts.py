"""What the books of the benchmarks are filled with: a loop's everyday events, no two of them alike."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from loopbook.entry import Draft
from loopbook.events import (
    Change,
    Check,
    Decision,
    Event,
    Finding,
    LoopOpened,
    Noticed,
    Prompted,
    Review,
    RunSettled,
    Source,
    Task,
    TodoCompleted,
    TodoOpened,
)
from loopbook.kinds import parse
from loopbook.run import Call, Line

#: Literals that a redactor looks for, as many as a process has secrets in its environment.
SECRETS = ("bench-secret-one-7Hq2", "bench-secret-two-9Xw4")


def opening() -> Event:
    """The opening of a loop whose kind has phases to walk."""
    text = files("loopbook").joinpath("specs", "kinds", "fix.toml").read_text("utf-8")
    return LoopOpened(
        kind="fix", intent="Crash on empty input", definition=parse(text, "fix.toml").definition()
    )


def _fact(n: int) -> Event:
    """One of twenty kinds of fact; what is opened is over a few facts later."""
    match n % 20:
        case 0 | 1 | 2 | 3 | 4:
            diff = f"@@ -{n},4 +{n},5 @@\n-    return fetch(url)\n+    return retry(fetch, url, {n})"
            name = f"src/client_{n % 13}.py"
            return Change(summary=f"Edit {n}: {name}", paths=(name,), diff_summary=diff)
        case 5 | 6 | 7 | 8:
            failed = n % 3 == 0
            return Check(
                command=f"uv run pytest tests/test_{n % 13}.py -q", outcome="fail" if failed else "pass",
                exit_code=int(failed), output_tail=f"{n} passed, {int(failed)} failed in 1.{n % 10}s",
                runner="pytest", basis="exit",
            )  # fmt: skip
        case 9 | 10:
            return Source(locator=f"docs/page_{n}.md", summary=f"read for case {n}")
        case 11:
            return Decision(
                text=f"Keep the retries bounded, case {n}", decided_by="agent", resolves=(f"f{n - 7}",)
            )
        case 12:
            return Task(text=f"Write the retry of case {n}")
        case 13:
            return TodoOpened(todo=f"t{n}", subject=f"Test case {n} with an empty input")
        case 14:
            return TodoCompleted(todo=f"t{n - 1}")
        case 15:
            return Review(
                tier="light", reviewer="ann", findings=(Finding(id=f"f{n}", severity="nit", text="name"),)
            )
        case 16:
            return Prompted(prompt=f"p{n}", text=f"Please look at case {n} and make it work")
        case 17:
            return _settled(n)
        case 18:
            return Noticed(
                advisor="phases", run=f"r{n - 1}", key=f"k{n % 7}", text=f"{n} checks fail", trigger=n
            )
        case _:
            return Change(summary=f"Write {n}: docs/changes.md", paths=("docs/changes.md",))


def _settled(n: int) -> RunSettled:
    calls = tuple(
        Call(
            ref=f"c{n}-{i}",
            tool="Bash",
            kind="command",
            input=f"pytest -k case_{n}",
            outcome="pass",
            check="yes",
        )
        for i in range(4)
    )
    lines = (Line(role="user", text=f"Case {n}?"), Line(role="assistant", text=f"Case {n} passes now."))
    said = f"All tests of case {n} pass."
    return RunSettled(
        run=f"r{n}", prompt=f"p{n - 1}", final_text=said, lines=lines, calls=calls, calls_total=4
    )


def drafts(start: int, count: int) -> tuple[Draft, ...]:
    """Drafts with the host's own ids, as a reader of a session makes them."""
    return tuple(
        Draft(_fact(n), host_ref=f"{n}:call-{n * 7919}#1", line=n + 1) for n in range(start, start + count)
    )


def all_drafts(count: int, size: int = 500) -> Iterator[tuple[Draft, ...]]:
    """A whole book in pieces."""
    for start in range(0, count, size):
        yield drafts(start, min(size, count - start))
