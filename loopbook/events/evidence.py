"""Evidence, which can move a phase and trigger a judgment, and records that move nothing."""

from __future__ import annotations

from typing import Literal

from loopbook.events.base import Event, Outcome, Scope
from loopbook.run import RecordModel


class Change(Event):
    """Something was written. ``resolves`` names the findings it answers.

    ``by`` (here and in the events below) is the sub-agent that did it, ``None`` the main agent.

    >>> Change(summary="bounded", paths=("client.py",), resolves=("f1",)).resolves
    ('f1',)
    """

    type: Literal["change"] = "change"
    summary: str
    paths: tuple[str, ...] = ()
    diff_summary: str | None = None
    revision: str | None = None
    resolves: tuple[str, ...] = ()
    by: str | None = None


class Check(Event):
    """A command that can vouch for the work was run, and how it ended.

    ``outcome`` is ``unknown`` where neither an exit code nor the runner's own closing line can
    be attributed to it; an unknown never votes. ``basis`` says which of the two spoke; ``masked``: the
    exit code is not the check's own. A book takes the value as it is. A ledger's ``record`` reads the
    ``scope`` from the command line where none is given (``ruff check`` is ``lint``, which vouches for
    nothing), and refuses an ``outcome`` that ``exit_code`` contradicts (``loopbook.evidence.by_hand``).

    >>> Check(command="pytest -k empty", outcome="fail", exit_code=1).scope
    'tests'
    """

    type: Literal["check"] = "check"
    command: str
    outcome: Outcome
    exit_code: int | None = None
    scope: Scope = "tests"
    output_tail: str | None = None
    runner: str | None = None
    basis: Literal["exit", "summary"] | None = None
    masked: bool = False
    by: str | None = None

    @property
    def told_twice(self) -> bool:
        """Whether outcome and exit code both say how it ended, so that they can contradict each other."""
        return (
            self.exit_code is not None
            and not self.masked
            and self.basis != "summary"
            and self.outcome != "unknown"
        )


class Finding(RecordModel):
    """One point of a review. Blockers and concerns are open until resolved; a nit never is."""

    id: str
    severity: Literal["blocker", "concern", "nit"]
    text: str


class Review(Event):
    """Somebody read the work. It is *clean* with no blocker and no concern among its findings."""

    type: Literal["review"] = "review"
    tier: Literal["light", "full"]
    findings: tuple[Finding, ...] = ()
    reviewer: str


class Decision(Event):
    """Something was settled, by the user or by the agent."""

    type: Literal["decision"] = "decision"
    text: str
    decided_by: Literal["user", "agent"]
    question: str | None = None
    resolves: tuple[str, ...] = ()
    by: str | None = None


class Source(Event):
    """Something was consulted: ``locator`` is its address, path or query."""

    type: Literal["source"] = "source"
    locator: str
    summary: str = ""
    by: str | None = None


class ChildReported(Event):
    """A child came back. It belongs to the unit of its link."""

    type: Literal["child_reported"] = "child_reported"
    child: str
    ok: bool
    summary: str = ""
    friction: str | None = None


class Task(Event):
    """What the agent set out to do next."""

    type: Literal["task"] = "task"
    text: str


class Base(Event):
    """What the work is based on."""

    type: Literal["base"] = "base"
    text: str


class Watch(Event):
    """Something outside is being watched."""

    type: Literal["watch"] = "watch"
    text: str


class Friction(Event):
    """What got in the way; ``child`` names whose friction it is, linked or not."""

    type: Literal["friction"] = "friction"
    text: str
    child: str | None = None
