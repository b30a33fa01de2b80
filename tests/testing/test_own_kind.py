"""The example of a kind and an advisor of one's own passes its tests, and would not without what it says."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.advisors.shape import Decision, Say, Silence
from loopbook.projections import BookState
from loopbook.testing import book_machine, walk
from tests.conftest import PROVE, ROOT

FOLDER = ROOT / "examples" / "own_kind"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return import_module("test_own_kind")


def sized(few: int, many: int = 1_000) -> settings:
    return settings(
        max_examples=many if PROVE else few,
        stateful_step_count=30,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def test_its_machine_finds_nothing(example: ModuleType) -> None:
    run_state_machine_as_test(example.Migrations, settings=sized(12))


def test_its_walk_finds_nothing(example: ModuleType) -> None:
    assert walk(example.KIND, depth=2 if PROVE else 1, advisors=example.ADVISORS).offence is None


def test_without_its_first_lines_the_advisor_speaks_where_it_must_be_quiet(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("data_loss").SecondThought, "gate", lambda *_: None)
    machine = book_machine(example.KIND, advisors=example.ADVISORS[:1])
    found = settings(sized(2_000), derandomize=True, phases=[Phase.generate])
    with pytest.raises(AssertionError, match="spoke although"):
        run_state_machine_as_test(machine, settings=found)


def test_the_claim_of_its_own_has_teeth(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(
        _: object, state: BookState, packet: Packet | None, answer: Answer | Failure | None
    ) -> Decision:
        if packet is None or not isinstance(answer, Answer):
            return Decision(Silence("judge-failed"), judged=False)
        return Decision(Say("careful", f"{state.version}", state.work.last["change"]))

    monkeypatch.setattr(type(example.ADVISORS[0]), "decide", warns)
    found = settings(sized(2_000), derandomize=True, phases=[Phase.generate])
    with pytest.raises(AssertionError, match=r"^seq \d+(\n|$)"):
        run_state_machine_as_test(example.Migrations, settings=found)
