"""What a book's judgments may cost, and that it is kept what they did."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from loopbook.advisors.asking import FAILURES, Answer, Cost, Failure, Likely, Packet, answer_from
from loopbook.books import Books
from loopbook.engine import Driven
from loopbook.events import Change, Judged, PassedOver, RunSettled
from loopbook.judges import Judge
from loopbook.judges.system_one import Price, SystemOne
from loopbook.limits import Options
from loopbook.loop import Loop
from loopbook.projections import fold
from loopbook.projections.state import Spent
from tests.flows import CONTENT
from tests.judges.conftest import PACKET
from tests.judges.faulty import Faulty


class Priced:
    """A judge whose answers cost; ``costs`` one after another, the last for ever."""

    def __init__(self, *costs: float | None, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.costs = list(costs)
        self.meanwhile = meanwhile
        self.asked = 0

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
        self.asked += 1
        self.meanwhile()
        cost = self.costs.pop(0) if len(self.costs) > 1 else self.costs[0]
        answer = answer_from(packet.questions, CONTENT)
        return answer._replace(input_tokens=100, output_tokens=10, cost_usd=cost)


def books(cap: float | None, id: str = "a") -> Loop:  # noqa: A002 - a loop's
    return Books.open("memory:", session="s1", options=Options(cap_usd=cap)).start("change", "Add", id=id)


def runs(loop: Loop, judge: Judge, count: int, *, blocking: bool = True) -> None:
    for number in range(count):
        loop.record(Change(summary=f"{number}", paths=("a.py",)))
        run = RunSettled(run=f"r{loop.version}")
        if blocking:
            loop.settle_blocking(run, judge=judge)
        else:
            anyio.run(lambda run=run: loop.settle(run, judge=judge))  # type: ignore[misc] # bound here and now


def silences(loop: Loop) -> list[str | None]:
    passed = [entry.event for entry in loop.entries() if isinstance(entry.event, PassedOver)]
    return [one.detail for one in passed if one.reason == "judge-failed"]


@pytest.mark.parametrize("blocking", [True, False])
def test_over_its_cap_a_book_is_not_judged_and_goes_on(blocking: bool) -> None:
    loop, judge = books(0.5), Priced(0.25)
    runs(loop, judge, 4, blocking=blocking)
    assert judge.asked == 2
    assert loop.state.spent == Spent(2, 200, 20, 0.5)
    assert silences(loop) == ["cap", "cap"]


def test_that_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    runs(books(0.0, id="told-once"), Priced(0.25), 3)
    [told] = [record.getMessage() for record in caplog.records]
    assert told.startswith("loop:told-once: 0 of 0 US dollars are spent")
    assert "raise judge_cap" in told


def test_a_host_that_answers_itself_is_not_asked_either() -> None:
    loop = books(0.0)
    loop.record(Change(summary="one", paths=("a.py",)))
    driven: Driven[object] = loop.settling(RunSettled(run="r1")).start()  # type: ignore[assignment] # what it comes to is no matter
    assert driven.ask is None
    assert silences(loop) == ["cap"]


def test_what_is_not_known_counts_as_too_much() -> None:
    loop, judge = books(0.5), Priced(None)
    runs(loop, judge, 3)
    assert judge.asked == 1
    assert loop.state.spent.unpriced == 1


def test_without_a_cap_nothing_is_held_back() -> None:
    loop, judge = books(None), Priced(None, 1e6)
    runs(loop, judge, 3)
    assert judge.asked == 3


def test_a_close_over_the_cap_stays_open_and_may_be_closed_anyway() -> None:
    loop = books(0.0)
    assert not loop.close_blocking("done", judge=Priced(0.1)).closed
    assert loop.close_anyway().state.life.outcome == "over_concerns"


def test_an_answer_that_came_to_nothing_is_in_the_total() -> None:
    """The state moves under the first answer, so it is stale; the second one is the judgment."""
    loop = books(None)
    loop.record(Change(summary="one", paths=("a.py",)))
    changes = [Change(summary="two", paths=("b.py",))]

    def once() -> None:
        while changes:
            loop.record(changes.pop())

    judge = Priced(0.25, meanwhile=once)
    loop.settle_blocking(RunSettled(run="r1"), judge=judge)
    [judged] = [entry.event for entry in loop.entries() if isinstance(entry.event, Judged)]
    assert (judged.asked, judged.cost_usd, judged.input_tokens) == (2, 0.5, 200)
    assert loop.state.spent == Spent(2, 200, 20, 0.5)


def test_answers_that_were_stale_twice_are_in_the_total_of_a_silence() -> None:
    loop = books(None)
    loop.record(Change(summary="one", paths=("a.py",)))
    more = iter(range(9))
    judge = Priced(0.25, meanwhile=lambda: loop.record(Change(summary=f"{next(more)}", paths=("b.py",))))
    loop.settle_blocking(RunSettled(run="r1"), judge=judge)
    assert not [entry for entry in loop.entries() if isinstance(entry.event, Judged)]
    assert loop.state.spent == Spent(2, 200, 20, 0.5)


def test_the_total_is_the_fold_of_the_book_alone() -> None:
    loop = books(None)
    runs(loop, Priced(0.25, None, 0.5), 3)
    assert fold(loop.entries()).spent == loop.state.spent == Spent(3, 300, 30, 0.75, 1)


def test_a_server_is_priced_by_what_it_tells_else_by_the_setting(faulty: Faulty, key: str) -> None:
    loop = books(0.000_3)
    judge = SystemOne(faulty.at("fine"), key=key, price=Price(2.0))
    runs(loop, judge, 3)
    assert loop.state.spent._replace(cost_usd=0) == Spent(2, 200, 20)
    assert loop.state.spent.cost_usd == pytest.approx(0.0004)
    assert silences(loop) == ["cap"]


@pytest.mark.parametrize(
    ("name", "price", "comes_to"),
    [
        ("dear-garbage", None, (1, 0)),  # five dollars told with no answers
        ("empty", None, (1, 1)),
        ("truncated", None, (1, 1)),
        ("html-502", None, (2, 1)),  # asked again in one ask: behind the gateway somebody may have answered
        ("slow-first-byte", None, (1, 1)),
        ("slow-first-byte", Price(0.0), (3, 0)),
        ("slow-first-byte", Price(2.0), (3, 0)),  # a byte is no less than a token: it cannot have cost more
        ("free", Price(1e6), (1, 0)),  # the server tells no cost, the user's price does
        ("overloaded", None, (6, 0)),  # turned away: two in each ask
        ("no-model", None, (3, 0)),
    ],
)
def test_a_cap_binds_on_requests_that_came_to_nothing(
    faulty: Faulty, key: str, name: str, price: Price | None, comes_to: tuple[int, int]
) -> None:
    loop = books(1.0)
    judge = SystemOne(faulty.at(name), key=key, price=price)
    for number in range(3):
        loop.record(Change(summary=f"{number}", paths=("a.py",)))
        loop.settle_blocking(RunSettled(run=f"r{loop.version}"), judge=judge, timeout=1.0)
    assert (len(faulty.received[name]), loop.state.spent.unpriced) == comes_to
    assert fold(loop.entries()).spent == loop.state.spent


def test_the_tries_of_one_ask_are_paid_for_together(faulty: Faulty, key: str) -> None:
    judge = SystemOne(faulty.at("dear-then-fine"), key=key)
    outcome = anyio.run(judge.ask, PACKET, 5)
    assert isinstance(outcome, Answer)
    assert (outcome.cost_usd, outcome.input_tokens) == (3.25, 100)


def test_of_what_a_server_tells_and_what_the_user_reckons_the_larger_counts(faulty: Faulty, key: str) -> None:
    for price, cost in ((Price(1e6), 100.0), (Price(1.0), 0.5), (None, 0.5)):
        outcome = anyio.run(SystemOne(faulty.at("half-a-dollar"), key=key, price=price).ask, PACKET, 5)
        assert isinstance(outcome, Answer)
        assert outcome.cost_usd == cost


def test_an_answer_that_cannot_be_kept_has_cost_all_the_same() -> None:
    class Odd:
        async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
            return Answer({"done": Likely(7.0)}, cost_usd=0.25)

    loop = books(0.5)
    runs(loop, Odd(), 3)
    assert (loop.state.spent.cost_usd, silences(loop)) == (0.5, ["garbage", "garbage", "cap"])


@pytest.mark.parametrize("took", [(-1, None, float("nan")), (1.5, 10**400, 1e300), (True, "9", "much")])
def test_what_a_failure_says_that_it_took_is_kept_where_it_is_a_number(
    took: tuple[int | None, int | None, float | None],
) -> None:
    class Odd:
        async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
            return Failure("timeout", took=Cost(*took))

    loop = books(0.5)
    runs(loop, Odd(), 2)
    assert (loop.state.spent, silences(loop)) == (Spent(1, unpriced=1), ["timeout", "cap"])


def test_a_kind_of_failure_that_is_none_becomes_one() -> None:
    class Odd:
        async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
            return Failure("wedged: sk-a-secret")

    loop = books(None)
    runs(loop, Odd(), 1)
    assert silences(loop) == ["error"]
    assert "error" in FAILURES
