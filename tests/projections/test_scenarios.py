"""What the scenario files expect of phases and verification, straight from the fold.

The scenario runner drives everything through a store; here only what moves the state is replayed,
so a wrong rule shows without any of that. Verbs that need a judge only count as what they record.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TypedDict

import pytest
import yaml

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.projections import EMPTY, BookState, evolve, position, verify_state
from loopbook.run import ChildState, Observed
from tests.conftest import shared_folder
from tests.projections.books import START, opened

Step = dict[str, object]


class Scenario(TypedDict):
    """As much of a scenario as is replayed here."""

    loop: dict[str, str]
    steps: list[Step]


#: Verbs that only name an id, and the event that they are.
_BY_ID = {
    "todo_done": ("todo_completed", "todo"),
    "unit_started": ("unit_started", "unit"),
    "unit_done": ("unit_done", "unit"),
}
_FIELDS = {"todo": "todo", "unit": "unit", "todo_dropped": "todo", "unit_dropped": "unit"}


def _scenarios() -> Iterator[object]:
    for path in sorted((shared_folder() / "scenarios" / "second-thought").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text("utf-8")):
            if document and any(_expects(step) for step in document["steps"]):
                yield pytest.param(document, id=f"{path.stem}: {document['scenario']}")


def _expects(step: Step) -> bool:
    expect = step.get("expect")
    return isinstance(expect, dict) and bool({"phase", "verify"} & expect.keys())


class _Replay:
    """Folds the steps of one scenario."""

    def __init__(self, loop: dict[str, str]) -> None:
        self.state: BookState = EMPTY
        self.clock = START
        self.host: dict[str, ChildState] = {}
        tiers: dict[str, e.Tier] = {"none": "none", "light": "light", "full": "full"}
        tier = tiers[loop.get("review_tier", "light")]
        self.add(opened(loop["kind"], tier=tier, intent=loop["intent"]))

    def add(self, event: e.Event, unit: str | None = None) -> None:
        entry = Entry("loop:t", self.state.version + 1, event, self.clock, "s1", unit)
        self.state = evolve(self.state, entry)

    def step(self, step: Step) -> None:
        verb, given = next((key, value) for key, value in step.items() if key != "expect")
        if verb in {"evidence", "record"}:
            assert isinstance(given, dict)
            fields = {key: value for key, value in given.items() if key != "unit"}
            self.add(e.build_event(fields), given.get("unit"))
        elif verb in _BY_ID:
            word, field = _BY_ID[verb]
            self.add(e.build_event({"type": word, field: given}))
        elif verb == "settle":
            self.add(e.RunSettled(run="r", observed=Observed(now=self.clock, children=self.host)))
        elif verb == "wait":
            assert isinstance(given, int)
            self.clock += timedelta(seconds=given)
        else:
            assert isinstance(given, dict)
            self.table(verb, given)

    def table(self, verb: str, given: dict[str, object]) -> None:
        types = {
            "todo": "todo_opened", "unit": "unit_added", "link": "child_linked", "report": "child_reported",
            "followup": "todo_followup_set", "prompt": "prompted", "close": "close_declared",
        }  # fmt: skip
        fields = {_FIELDS.get(verb, "todo") if key == "id" else key: value for key, value in given.items()}
        if verb == "followup":
            fields["followup"] = fields.pop("value")
        self.add(e.build_event({"type": types.get(verb, verb), **fields}))


@pytest.mark.skipif(not shared_folder().is_dir(), reason="the scenario files are not on this machine")
@pytest.mark.parametrize("scenario", list(_scenarios()))
def test_a_scenario_sees_the_phases_it_expects(scenario: Scenario) -> None:
    replay = _Replay(scenario["loop"])
    for step in scenario["steps"]:
        if "judge" in scenario and ("closed" in step or "close" in step):
            continue  # what a judge says of a close moves no phase
        replay.step(step)
        expect = step.get("expect")
        if isinstance(expect, dict):
            _holds(replay.state, expect)


def _holds(state: BookState, expect: dict[str, object]) -> None:
    if "verify" in expect:
        assert verify_state(state) == expect["verify"]
    phase = expect.get("phase")
    if isinstance(phase, dict):
        now = position(state, phase.get("unit"))
        assert now.next == phase.get("next", now.next)
        assert now.current == phase.get("current", now.current)
        assert phase.get("missing", "") in ", ".join(now.missing)
