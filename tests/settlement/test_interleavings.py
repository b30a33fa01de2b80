"""The flow under any interleaving."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook import events as e
from loopbook.advisors.asking import Failure
from loopbook.advisors.second_thought import SecondThought
from loopbook.entry import Draft
from loopbook.settlement import Ask, settle
from tests.flows import CONTENT, Table

_MOVES = st.sampled_from(["advance", "back", "ask_user"])
_STEPS = st.lists(
    st.sampled_from(["change", "check", "todo", "settle", "crash", "conflict", "prompt", "fail"]), max_size=25
)


def _crashed(table: Table, run: str, said: dict[str, object]) -> None:
    """A settle that ends where it asks, or at its end."""
    flow = settle(table.state, Draft(e.RunSettled(run=run)), (SecondThought(),))
    with suppress(StopIteration):
        step = next(flow)
        while not isinstance(step, Ask):
            step = flow.send(table.reply(step, said))
    flow.close()


def _take(table: Table, step: str, i: int, said: dict[str, object]) -> None:
    match step:
        case "change":
            table.change(summary=f"{i}")
        case "check":
            table.check()
        case "todo":
            table.add(e.TodoOpened(todo=f"t{i}", subject="later"))
        case "prompt":
            table.add(e.Prompted(prompt=f"p{i}", text="go on"))
        case "conflict":
            table.before_append = [lambda: table.add(e.Watch(text="ci"))] * 3
            table.settle(f"r{i}", said)
            table.before_append = []
        case "crash":
            _crashed(table, f"r{i}", said)
            table.settle(f"r{i}", said)
        case "fail":
            table.settle(f"r{i}", Failure("timeout"))
        case _:
            table.settle(f"r{i}", said)


@given(_STEPS, st.lists(_MOVES, min_size=1, max_size=5))
def test_no_two_notices_in_a_row_are_equal_and_none_shares_a_judgment(
    steps: list[str], moves: list[str]
) -> None:
    table = Table()
    for i, step in enumerate(steps):
        _take(table, step, i, {**CONTENT, "move": moves[i % len(moves)]})
    notices = [n for n in table.of(e.Noticed) if isinstance(n, e.Noticed)]
    assert all(a.key != b.key for a, b in pairwise(notices))
    assert len({n.judged for n in notices}) == len(notices)
    continued = 0
    for entry in table.entries:
        if isinstance(entry.event, e.Prompted):
            continued = 0
        elif isinstance(entry.event, e.Noticed):
            continued += entry.event.continues
        assert continued <= 8


def test_a_flow_says_what_it_was_answered_wrongly() -> None:
    table = Table()
    flow = settle(table.state, Draft(e.RunSettled(run="r")), ())
    next(flow)
    with pytest.raises(TypeError, match=r"^an Append is answered with Written; send what came of it$"):
        flow.send(None)  # type: ignore[arg-type]  # the mistake is the point
    with pytest.raises(TypeError, match="settled run"):
        next(settle(table.state, Draft(e.Task(text="x")), ()))
