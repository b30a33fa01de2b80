"""What is kept of an ask, a run and an advice, whatever comes of them: costs, names, that it arrived."""

from __future__ import annotations

from functools import partial
from threading import Thread

import anyio
import pytest
from anyio import to_thread

from loopbook import events as e
from loopbook.advisors.asking import Cost
from loopbook.books import Books
from loopbook.judges import Answer, Failure, Packet, answer_from
from loopbook.judges.scripted import Scripted
from loopbook.limits import Options
from loopbook.loop import Loop
from tests.flows import CONTENT


class Late:
    """Told to stop, it says what it has cost."""

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - the shape
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            return Failure("timeout", "stopped", Cost(10, None, 0.5))
        raise AssertionError("it was told to stop")


@pytest.mark.parametrize("blocking", [True, False])
def test_what_a_judge_tells_once_it_was_cancelled_is_counted(blocking: bool) -> None:
    loop = Books.open("memory:").start("change", "Add a retry")
    loop.record(e.Change(summary="one"))
    run = e.RunSettled(run="r1")
    if blocking:
        assert loop.settle_blocking(run, judge=Late(), timeout=0.2) is None
    else:
        assert anyio.run(partial(loop.settle, run, judge=Late(), timeout=0.2)) is None
    spent = loop.state.spent
    assert (spent.answers, spent.input_tokens, spent.cost_usd) == (1, 10, 0.5)


class Dear:
    """Each answer costs a dollar; while it thinks the work goes on, so it is asked again."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.asked = 0

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - the shape
        self.asked += 1
        await to_thread.run_sync(self.loop.record, e.Change(summary=f"change {self.asked}"))
        return answer_from(packet.questions, CONTENT)._replace(cost_usd=1.0)


def test_what_one_settle_has_spent_counts_before_the_book_does() -> None:
    options = Options(cap_usd=0.5)
    loop = Books.open("memory:", options=options).start("change", "Add a retry")
    loop.record(e.Change(summary="one"))
    judge = Dear(loop)
    assert loop.settle_blocking(e.RunSettled(run="r1"), judge=judge) is None
    assert judge.asked == 1
    assert (loop.state.spent.answers, loop.state.spent.cost_usd) == (1, 1.0)


def test_a_host_that_cannot_tell_whether_it_is_idle_is_not_interrupted_and_the_answer_counts() -> None:
    def idle() -> bool:
        raise OSError("the session is gone")

    loop = Books.open("memory:").start("change", "Add a retry")
    loop.record(e.Change(summary="one"))
    came = loop.settlement_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]), idle=idle)
    assert [one.detail for one in came.trace if one.reason == "stale"] == ["busy"]
    assert loop.state.spent.answers == 1


def test_where_no_thread_is_to_be_had_the_judge_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    loop = Books.open("memory:").start("change", "Add a retry")
    loop.record(e.Change(summary="one"))
    monkeypatch.setattr(Thread, "start", none_left)
    came = loop.settlement_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
    assert [(one.reason, one.detail) for one in came.trace if one.reason] == [("judge-failed", "error")]


# --- runs and advice by their names ---------------------------------------------------------------------


@pytest.mark.parametrize("run", ["ghp_" + "a1B2" * 9, "r\ud800", "x" * 5])
def test_a_run_is_known_by_the_id_that_the_book_has(run: str) -> None:
    loop = Books.open("memory:").start("change", "Add a retry")
    loop.record(e.Change(summary="one"))
    assert loop.settle_blocking(e.RunSettled(run=run), judge=Scripted([CONTENT]))
    again = loop.settlement_blocking(e.RunSettled(run=run), judge=Scripted([CONTENT]))
    assert [one.did for one in again.trace] == ["done before"]
    assert len([one for one in loop.entries() if isinstance(one.event, e.RunSettled)]) == 1


def test_advice_is_acknowledged_though_the_loop_is_closed_since() -> None:
    loop = Books.open("memory:").start("change", "Add a retry")
    loop.record(e.Change(summary="one"))
    advice = loop.settle_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
    assert advice is not None
    loop.close_anyway()
    loop.acknowledge(advice)
    assert loop.undelivered() == ()
    assert loop.state.life.outcome == "over_concerns"


def test_what_another_loop_was_told_acknowledges_nothing() -> None:
    books = Books.open("memory:")
    one, other = books.start("change", "Add a retry"), books.start("chore", "Tidy up")
    one.record(e.Change(summary="one"))
    other.record(e.Change(summary="one"), e.Check(command="pytest", outcome="pass"))
    first = one.settle_blocking(e.RunSettled(run="r1"), judge=Scripted([CONTENT]))
    other.record(e.Watch(text="ci"))
    assert first is not None
    second = other.settle_blocking(e.RunSettled(run="r1"), judge=Scripted([{**CONTENT, "move": "back"}]))
    assert second is not None
    one.acknowledge(second._replace(seq=first.seq))
    assert one.undelivered() == (first,)
