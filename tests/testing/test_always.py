"""What must not be is told of any book that has it, and nothing of one that has not."""

from __future__ import annotations

from typing import Literal

import pytest

from loopbook import events as e
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import PassOver, Scene
from loopbook.entry import Entry
from loopbook.run import Call, Observed, Stop
from loopbook.testing.always import Always, broken
from tests.flows import NOON, Table

Written = e.Event | tuple[e.Event, str]


def told(*written: Written, always: Always | None = None) -> list[str]:
    """What is told of a loop's book with these in it, from seq 2 on."""
    items = (e.LoopOpened(kind="x", intent="x"), *written)
    pairs = [item if isinstance(item, tuple) else (item, None) for item in items]
    entries = [Entry("loop:a", seq, event, NOON, "s1", unit) for seq, (event, unit) in enumerate(pairs, 1)]
    return broken(entries, always)


def said(
    key: str = "k",
    run: str | None = "r1",
    advisor: str = "second-thought",
    *,
    on: int = 0,
    judged: int | None = None,
    units: tuple[str, ...] = (),
) -> e.Noticed:
    """A notice; it continues its run where it is ``on`` a trigger, and is a close's without one."""
    sort: Literal["away", "close"] = "away" if run else "close"
    return e.Noticed(
        advisor=advisor, run=run, key=key, text="x", continues=on > 0, trigger=on, judged=judged, units=units,
        sort=sort,
    )  # fmt: skip


def judged(read_to: int, run: str = "r1") -> e.Judged:
    return e.Judged(advisor="second-thought", run=run, read_to=read_to)


def settled(run: str = "r1", stop: Stop = "end", *tools: str, child: str | None = None) -> e.RunSettled:
    calls = tuple(Call(ref=tool, tool=tool, child=child) for tool in tools)
    return e.RunSettled(run=run, stop=stop, calls=calls)


def sent_out(given: str, child: str | None = None, tool: str = "subagent") -> e.RunSettled:
    """A run that called a tool with this input."""
    return e.RunSettled(run="r1", calls=(Call(ref="1", tool=tool, input=given, child=child),))


RUN, NEXT = settled(), settled("r2")
OF_A_SUBAGENT = e.RunSettled(run="r1", observed=Observed(subagent=True))
TWO = tuple(e.UnitAdded(unit=name, subject=name) for name in "ab")
OUT, BACK = e.ChildLinked(child="c"), e.ChildReported(child="c", ok=True)
OUT_OF_A, OUT_OF_B = (e.ChildLinked(child="c", unit=name) for name in "ab")
HOST, HUMAN = (e.Prompted(prompt=o, text="x", origin=o) for o in ("host", "human"))
DECLARED = e.CloseDeclared()

WRONG: list[tuple[list[Written], str]] = [
    ([RUN, said(), NEXT, said(run="r2")], "seq 5: second-thought says 'k' twice in a row of the loop"),
    ([RUN, said(), DECLARED, said("l", None), said("l", None)], "'l' twice in a row"),
    ([RUN, said(advisor="p"), said("l", advisor="q")], "seq 4: q speaks on run 'r1' after p"),
    ([RUN, judged(1)], "seq 3: a judgment that has read up to 1 and not to the entry before"),
    ([RUN, judged(2), said(judged=3), NEXT, said("l", "r2", judged=3)], "second notice on the judgment 3"),
    ([RUN, judged(2), HOST, said(judged=3)], "seq 5: a notice that rests on 3, which is not the judgment"),
    ([RUN, said(judged=2)], "rests on 2, which is not the judgment before it"),
    ([RUN, judged(2), said(judged=3, advisor="other")], "somebody else's judgment"),
    ([RUN, judged(2, "r0"), said(judged=3)], "somebody else's judgment"),
    ([RUN, (judged(2), "a"), said(judged=3)], "somebody else's judgment"),
    ([OUT, RUN, said()], "seq 4: spoke although child 'c' is out"),
    ([OUT, RUN, judged(3)], "seq 4: judged although child 'c' is out"),
    ([OUT, DECLARED, said(run=None)], "child 'c' is out"),
    ([*TWO, OUT_OF_B, DECLARED, (said(run=None), "a")], "child 'c' is out"),
    ([*TWO, OUT, RUN, (said(), "a")], "child 'c' is out"),
    ([*TWO, OUT_OF_A, RUN, (said(), "a")], "child 'c' is out"),
    ([*TWO, OUT_OF_B, RUN, (said(units=("b",)), "a")], "named unit 'b' although its child 'c' is out"),
    ([said()], "run 'r1' is not the newest"),
    ([RUN, HOST, said()], "run 'r1' is not the newest"),
    ([RUN, NEXT, said()], "run 'r1' is not the newest"),
    ([settled("r1", "aborted"), said()], "run 'r1' ended with aborted"),
    ([settled("r1", "error"), judged(2)], "judged although run 'r1' ended with error"),
    ([settled("r1", "end", "goal_wait"), said()], "run 'r1' waits"),
    ([settled("r1", "end", "read", "subagent"), said()], "run 'r1' waits"),
    ([settled("r1", "end", "subagent", child="c"), said()], "run 'r1' waits"),
    ([OF_A_SUBAGENT, said()], "spoke although run 'r1' is a sub-agent's"),
    ([OF_A_SUBAGENT, said(advisor="follow-through")], "spoke although run 'r1' is a sub-agent's"),
    ([OF_A_SUBAGENT, judged(2)], "judged although run 'r1' is a sub-agent's"),
    ([e.LoopClosed(outcome="met"), RUN, said()], "the loop is closed"),
    (
        [RUN, said(on=1), NEXT, said("l", "r2"), settled("r3"), said("k", "r3", on=1)],
        "'k' on 1 lets a run go on",
    ),
]


@pytest.mark.parametrize(("written", "words"), WRONG)
def test_what_must_not_be_is_told(written: list[Written], words: str) -> None:
    assert any(words in one for one in told(*written)), told(*written)
    assert not [one for one in told(*written[:-1]) if words in one]


def test_a_close_lets_no_run_go_on() -> None:
    notice = e.Noticed(advisor="p", key="k", text="x", sort="close", continues=True)
    assert told(DECLARED, notice) == ["seq 3: a close lets the run go on"]


@pytest.mark.parametrize(
    "written",
    [
        [RUN, said("A"), NEXT, said("B", "r2"), settled("r3"), said("A", "r3")],
        [RUN, said(), DECLARED, said(run=None)],
        [RUN, said(), NEXT, said(run="r2", advisor="other")],
        [*TWO, RUN, (said(), "a"), NEXT, (said(run="r2"), "b")],
        [*TWO, OUT_OF_B, RUN, (said(), "a")],
        [OUT, BACK, RUN, said()],
        [OUT, RUN, e.Judged(advisor="watcher", run="r1", read_to=3)],
        [OF_A_SUBAGENT, e.Judged(advisor="watcher", run="r1", read_to=2), said(advisor="watcher", judged=3)],
        [OF_A_SUBAGENT, DECLARED, said(run=None)],
        [OUT, BACK, settled("r1", "end", "subagent", child="c"), said()],
        [RUN, HUMAN, DECLARED, said(run=None)],
        [settled("r1", "length", "read"), said()],
        [e.LoopClosed(outcome="met"), e.LoopReopened(), RUN, said()],
    ],
)
def test_what_may_be_is_not_told(written: list[Written]) -> None:
    assert told(*written) == []


def test_what_was_said_of_the_loop_was_said_of_its_first_unit() -> None:
    before = (RUN, said(), *TWO, NEXT)
    assert "twice in a row of a" in told(*before, (said(run="r2"), "a"))[0]
    assert told(*before, (said(run="r2"), "b")) == []


def test_runs_that_go_on_are_counted_from_the_last_human_prompt() -> None:
    def goes_on(n: int) -> tuple[e.Event, ...]:
        return settled(f"r{n}"), said(f"k{n}", f"r{n}", on=n)

    three = (*goes_on(1), HOST, *goes_on(2), *goes_on(3))
    assert told(*three, always=Always(2)) == ["seq 8: run 3 goes on since the last human prompt, of 2"]
    assert told(*three, HUMAN, *goes_on(4), *goes_on(5), always=Always(3)) == []
    assert told(*(one for n in range(1, 99) for one in goes_on(n)), always=Always(None)) == []


def test_a_note_beside_the_advice_takes_nobodys_turn() -> None:
    written = (RUN, said(advisor="note"), said(advisor="p"), said("l", advisor="note"))
    assert told(*written, always=Always(beside=frozenset({"note"}))) == []
    assert len(told(*written)) == 2


def test_other_tools_may_be_waited_for() -> None:
    run = settled("r1", "end", "sleep", "goal_wait")
    assert "waits" in told(run, said())[0]
    assert "waits" in told(run, said(), always=Always(waiting_tools=frozenset({"sleep"})))[0]
    assert told(run, said(), always=Always(waiting_tools=frozenset({"nap"}), subagent_tools={})) == []


def test_a_child_that_only_an_input_names_is_waited_for_until_the_book_has_linked_it() -> None:
    run = sent_out('{"child": "c"}')
    assert told(run, said()) == ["seq 3: spoke although run 'r1' waits"]
    assert told(OUT, BACK, run, said()) == []
    elsewhere = sent_out('{"agent": "c"}', tool="task")
    assert told(elsewhere, said()) == []
    always = Always(subagent_tools={"task": "agent"})
    assert told(elsewhere, said(), always=always) == ["seq 3: spoke although run 'r1' waits"]
    assert told(OUT, BACK, elsewhere, said(), always=Always(subagent_tools={"task": "agent"})) == []


@pytest.mark.parametrize("child", [None, "c", "d"])
@pytest.mark.parametrize("tool", ["subagent", "goal_wait", "read"])
@pytest.mark.parametrize(
    "given", ["", "{", "[" * 9_999, "7", "{}", '{"child": 7}', '{"child": "c"}', '{"child": "d"}']
)
def test_a_run_waits_for_this_where_it_waits_for_second_thought(
    given: str, tool: str, child: str | None
) -> None:
    """Of the two children one was linked and is back."""
    run, table = sent_out(given, child, tool), Table()
    for event in (OUT, BACK):
        table.add(event)
    gate = SecondThought().gate(table.state, Scene(run))
    waits = isinstance(gate, PassOver) and gate.reason == "waiting"
    assert told(OUT, BACK, run, said()) == (["seq 5: spoke although run 'r1' waits"] if waits else [])


def test_a_book_that_the_flow_has_written_is_whole() -> None:
    table = Table()
    for n in range(4):
        table.change(summary=f"{n}")
        table.settle(f"r{n}")
    assert broken(table.entries) == []
