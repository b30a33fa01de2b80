"""Scenario files as values: what a scenario, a step and an expectation may say.

Theory. A step is one verb (``scenario_verbs``) with an optional ``expect`` beside it. Nothing here reads
a file or runs a step; ``scenario_file`` and ``scenarios`` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import Field

from loopbook.events import Event, Tier
from loopbook.testing.scenario_verbs import EVENT_VERBS, Answers, Append, Model, Verb

Quiet = Literal[
    "no-loop", "subagent", "no-judge", "failed-run", "waiting", "child-out", "not-waiting-unit",
    "nothing-new", "duplicate", "agrees", "stale", "judge-failed", "turn-taken", "bound",
]  # fmt: skip
VerifyWord = Literal["none", "stale", "failing", "passing", "unknown"]
As = Literal["async", "blocking", "host"]


class LoopSpec(Model):
    """The loop that is open when the scenario begins."""

    kind: str
    intent: str
    anchor: str | None = None
    review_tier: Tier = "light"


class Head(Model):
    """A scenario as it stands in its file, its steps still to be read."""

    scenario: str = Field(min_length=1)
    loop: LoopSpec | None = None
    session: str = "s1"
    judge: Answers | None = None
    env: Mapping[str, str] = Field(default_factory=dict)
    steps: list[object]


# --- what must be seen ------------------------------------------------------------------


class PhaseExpect(Model):
    """Where the machine stands; ``missing`` is a substring, ``unit`` whose machine it is."""

    current: str | None = None
    next: str | None = None
    missing: str | None = None
    unit: str | None = None


class Expect(Model):
    """What must hold after a step; a key left out is not looked at."""

    judged: bool | None = None
    speaks: bool | None = None
    continues: bool | None = None
    quiet: Quiet | None = None
    says: tuple[str, ...] = ()
    not_says: tuple[str, ...] = ()
    unit: str | None = None
    phase: PhaseExpect | None = None
    verify: VerifyWord | None = None
    closed: bool | None = None
    concerns: tuple[str, ...] | None = None
    notices: int | None = Field(default=None, ge=0)
    judgments: int | None = Field(default=None, ge=0)
    asked: tuple[str, ...] = ()
    asked_not: tuple[str, ...] = ()
    error: str | None = None


class Step(NamedTuple):
    """One step: the word it stands under, what it does, what must be seen, and its 1-based line."""

    word: str
    verb: Verb
    expect: Expect = Expect()
    line: int = 0
    during: tuple[Step, ...] = ()
    before_append: tuple[Step, ...] = ()


def step_of(event: Event, unit: str | None = None) -> Step:
    """The step that writes an event: of the verb that stands for its type."""
    for word, row in EVENT_VERBS.items():
        if event.type == row.type or (not isinstance(row.type, str) and event.type in row.type):
            return Step(word, Append(event, unit))
    raise LookupError(event.type)


class Scenario(NamedTuple):
    """One scenario: ``file`` as it was given, ``line`` where its document begins."""

    head: Head
    steps: tuple[Step, ...]
    file: str
    line: int

    @property
    def name(self) -> str:
        """What the scenario says of itself."""
        return self.head.scenario
