"""The state machine has teeth: whatever fault is put in, it finds it, and shows a scenario that shows it."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from loopbook.audit.replay import Replay
from loopbook.limits import Options
from loopbook.projections import EMPTY
from loopbook.testing import book_machine, watching
from loopbook.testing.scenario_file import parse_scenarios
from loopbook.testing.scenarios import run_scenario
from tests.testing.faults import AGAIN, FAULTS, SHY

#: Enough for the shyest of them many times over; a machine stops at the first that it finds.
LOOKING = settings(
    max_examples=3_000,
    stateful_step_count=30,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def replayed() -> None:
    """Books with a fault in them are replayed by the machine alone."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.prove] if name in SHY else []) for name in FAULTS]
)
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    fault.inject(monkeypatch)
    if fault.told != AGAIN:  # the claim itself is to find it, not the replay
        monkeypatch.setattr(watching, "replay", lambda *_: Replay(0, EMPTY, ()))
    machine = book_machine("chore", "change", max_continuations=1, advisors=fault.advisors)
    with pytest.raises(AssertionError, match=fault.told) as found:
        run_state_machine_as_test(machine, settings=LOOKING)
    text = str(found.value).partition("It happens in:\n\n")[2].partition("\nFailing test case")[0]
    (scenario,) = parse_scenarios(text, "found.yaml")
    options = Options(advisors=fault.advisors, max_continuations=1)
    difference = run_scenario(scenario, driver="host", options=options).difference
    assert difference is not None, text
    assert difference.what == "always"
    assert re.search(fault.told, difference.seen)
