"""What must always hold holds, whatever happens to a loop: over every kind, in memory and in stores."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

import loopbook.testing
from loopbook.advisors.second_thought import SecondThought
from loopbook.errors import MissingExtra
from loopbook.testing import book_machine
from tests.conftest import PROVE
from tests.plain import Slow
from tests.postgres import Postgres


def sized(few: int, many: int) -> settings:
    return settings(
        max_examples=many if PROVE else few,
        stateful_step_count=50 if PROVE else 30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(autouse=True)
def replayed() -> None:
    """The machine replays its books itself."""


def test_whatever_happens_what_must_always_hold_holds() -> None:
    run_state_machine_as_test(book_machine(max_continuations=2), settings=sized(50, 2_000))


def test_it_holds_in_a_file_that_is_opened_anew(tmp_path: Path) -> None:
    machine = book_machine(store=f"sqlite:///{tmp_path}/books.db")
    run_state_machine_as_test(machine, settings=sized(12, 300))


@pytest.mark.prove
def test_it_holds_on_a_server(postgres: Postgres) -> None:
    run_state_machine_as_test(book_machine(store=postgres.schema()), settings=sized(10, 100))


def test_it_holds_for_several_advisors() -> None:
    note, slow = SecondThought(name="note", takes_turn=False), Slow(name="slow")
    order = (SecondThought(name="first"), slow, SecondThought(), note)
    machine = book_machine(advisors=order, max_continuations=None)
    run_state_machine_as_test(machine, settings=sized(15, 500))


def test_without_hypothesis_the_machine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("loopbook.testing.machine", "loopbook.testing.moves"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("hypothesis", "hypothesis.strategies", "hypothesis.stateful"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"pip install 'loopbook\[testing\]'"):
        _ = loopbook.testing.book_machine
    assert loopbook.testing.broken([]) == []


def test_what_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="walks"):
        _ = loopbook.testing.walks
    assert {"book_machine", "broken", "run_scenario"} <= set(dir(loopbook.testing))
