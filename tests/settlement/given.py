"""What tests of the flow begin with: other sessions, answers with a price, a finished loop."""

from __future__ import annotations

import pytest

from loopbook.advisors.asking import Answer, answer_from
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.advisors.shape import (
    Advisor,
)
from tests.flows import CONTENT, Table


def first(table: Table) -> None:
    table.settle("r1")


def priced(usd: float) -> Answer:
    """An answer that says to go on, and what it has cost."""
    return answer_from(QUESTIONS, CONTENT)._replace(cost_usd=usd)


def closed_first(table: Table) -> None:
    table.close()


def types(table: Table, after: int = 0) -> list[str]:
    return [entry.event.type for entry in table.entries[after:]]


def finished() -> Table:
    table = Table("chore")
    table.change()
    table.check()
    return table


FINE: dict[str, object] = {**CONTENT, "ok": 0.9}
ORDERS = pytest.mark.parametrize("first", [True, False])


def both(other: Advisor, *, first: bool) -> tuple[Advisor, ...]:
    return (SecondThought(), other) if first else (other, SecondThought())


def units() -> Table:
    """A loop with two units that are started."""
    table = Table()
    table.units("a", "b")
    return table
