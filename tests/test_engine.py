"""Driving the flow over real stores: deadlines, cancellation, a host's own answers, racing processes."""

from __future__ import annotations

import subprocess
import sys
import time
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Event as Flag
from typing import NoReturn

import anyio
import pytest
from anyio import to_thread

from loopbook.advisors.second_thought import SecondThought, Thresholds
from loopbook.books import Books
from loopbook.engine import Driven
from loopbook.errors import InvalidTimeout, LoopClosed
from loopbook.events import (
    Change,
    Check,
    Delivered,
    Event,
    Judged,
    Noticed,
    PassedOver,
    Review,
    RunSettled,
    Watch,
)
from loopbook.judges import Answer, Chosen, Failure, Judge, Likely, Packet, Scored, answer_from
from loopbook.judges.scripted import Scripted
from loopbook.loop import Loop
from loopbook.settlement import Advice, Settlement
from tests.flows import CONTENT
from tests.plain import Plain

Ways = Callable[[Loop, RunSettled, Judge, float], Advice | None]


def by_loop(loop: Loop, run: RunSettled, judge: Judge, timeout: float) -> Advice | None:
    async def settle() -> Advice | None:
        return came_back(await loop.settle(run, judge=judge, timeout=timeout))

    return anyio.run(settle)


def by_thread(loop: Loop, run: RunSettled, judge: Judge, timeout: float) -> Advice | None:
    return came_back(loop.settle_blocking(run, judge=judge, timeout=timeout))


def inside_a_loop(loop: Loop, run: RunSettled, judge: Judge, timeout: float) -> Advice | None:
    async def settle() -> Advice | None:
        return came_back(loop.settle_blocking(run, judge=judge, timeout=timeout))

    return anyio.run(settle)


#: Set, with the time, when a settle has come back: an event loop that ends waits for what is left in it.
BACK = Flag()
BACK_AT: list[float] = []


def came_back(advice: Advice | None) -> Advice | None:
    BACK_AT.append(time.monotonic())
    BACK.set()
    return advice


WAYS = pytest.mark.parametrize("way", [by_loop, by_thread, inside_a_loop])


class Asked:
    """A judge whose answer is whatever this does."""

    def __init__(self, then: Callable[[], Awaitable[object]]) -> None:
        self.then = then

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:  # noqa: ARG002 - part of the shape
        return await self.then()  # type: ignore[return-value]  # garbage is one of the cases


def changed(url: str = "memory:", id: str = "a") -> Loop:  # noqa: A002 - a loop's
    loop = Books.open(url, session="s1").start("change", "Add a retry", id=id)
    loop.record(Change(summary="one", paths=("a.py",)))
    return loop


def kinds(loop: Loop, kind: type[Event]) -> list[Event]:
    return [entry.event for entry in loop.entries() if isinstance(entry.event, kind)]


@WAYS
def test_every_way_leaves_the_same_book(way: Ways) -> None:
    loop = changed()
    advice = way(loop, RunSettled(run="r1"), Scripted([CONTENT]), 8)
    assert advice is not None
    assert (advice.continues, advice.advisor, advice.seq) == (True, "second-thought", 5)
    assert [entry.event.type for entry in loop.entries(2)] == ["run_settled", "judged", "noticed"]
    assert {entry.session for entry in loop.entries()} == {"s1"}
    assert way(loop, RunSettled(run="r1"), Scripted([CONTENT]), 8) is None
    assert loop.version == 5


async def _hang() -> object:
    await anyio.sleep(60)
    return None


async def _raise() -> object:
    raise ConnectionError("refused")


async def _garbage() -> object:
    return {"move": "advance"}


async def _not_a_number() -> object:
    return Answer({"quality": Scored(float("nan"))})


async def _of_nothing() -> object:
    return Answer({"move": 3})  # type: ignore[dict-item]  # a judge may give anything


async def _priced_in_words() -> object:
    return Answer({"move": Chosen("advance")}, cost_usd="much")  # type: ignore[arg-type]  # as above


async def _no_option() -> object:
    return Answer({"move": Chosen("banana"), "done": Likely(7)})


async def _of_another_kind() -> object:
    return Answer({"move": Likely(1), "done": Chosen("advance"), "quality": Likely(True)})


async def _not_asked() -> object:
    return Answer({"mood": Likely(1)})


async def _of_a_long_name() -> object:
    return Answer({"move": Chosen("advance")}, model_answered="m" * 7_500_000)


async def _for_a_long_reason() -> object:
    return Answer({"move": Chosen("advance")}, {"done": "y" * 7_500_000})


async def _of_many_shares() -> object:
    return Answer({"move": Chosen("advance", {f"{i}": 0.0 for i in range(100_000)})})


async def _of_huge_counts() -> object:
    return Answer({"move": Chosen("advance")}, input_tokens=10**4000)


async def _paid_back() -> object:
    return Answer({"move": Chosen("advance")}, cost_usd=-5.0)


async def _of_no_kind() -> object:
    return Failure(["odd"])  # type: ignore[arg-type]  # as above


async def _shielded() -> object:
    with anyio.CancelScope(shield=True):
        await anyio.sleep(60)
    return None


async def _stubborn() -> object:
    """Takes no cancellation, until the settle has come back without it."""
    while not BACK.is_set():
        with suppress(BaseException):
            await anyio.sleep(0.5)
    return None


async def _cancelled() -> object:
    raise CancelledError


async def _interrupts() -> object:
    raise KeyboardInterrupt


class _Odd(BaseException):
    pass


async def _oddly() -> object:
    raise _Odd


async def _exits() -> object:
    raise SystemExit


async def _closes() -> object:
    raise GeneratorExit


async def _blocks() -> object:
    """Lets nobody end it: the event loop stands still meanwhile."""
    time.sleep(0.6)
    return Answer({"move": Chosen("advance"), "done": Likely(0.1), "quality": Scored(0)})


async def _blocks_and_raises() -> object:
    time.sleep(0.6)
    raise LookupError


class _Leaves(dict[str, float]):
    def items(self) -> NoReturn:
        raise SystemExit

    __iter__ = keys = items


async def _leaves_when_looked_at() -> object:
    return Answer({"move": Chosen("advance", _Leaves())})


class _Counted(int):
    def __le__(self, other: object) -> NoReturn:
        raise GeneratorExit

    __ge__ = __le__


async def _leaves_when_counted() -> object:
    return Answer({"move": Chosen("advance")}, input_tokens=_Counted(7))


class _Nothing:
    @property  # type: ignore[misc]  # a class of its own is what nobody would write
    def __class__(self) -> NoReturn:  # type: ignore[override]  # as above
        raise SystemExit


async def _leaves_when_asked_what_it_is() -> object:
    return _Nothing()


@WAYS
@pytest.mark.parametrize(
    ("then", "kind"),
    [
        (_hang, "timeout"),
        (_blocks, "timeout"),
        (_blocks_and_raises, "timeout"),
        (_closes, "error"),
        (_leaves_when_looked_at, "garbage"),
        (_leaves_when_counted, "garbage"),
        (_leaves_when_asked_what_it_is, "error"),
        (_shielded, "timeout"),
        (_stubborn, "timeout"),
        (_raise, "error"),
        (_cancelled, "error"),
        (_exits, "error"),
        (_interrupts, "error"),
        (_oddly, "error"),
        (_garbage, "garbage"),
        (_not_a_number, "garbage"),
        (_of_nothing, "garbage"),
        (_priced_in_words, "garbage"),
        (_no_option, "garbage"),
        (_of_another_kind, "garbage"),
        (_not_asked, "garbage"),
        (_of_a_long_name, "garbage"),
        (_for_a_long_reason, "garbage"),
        (_of_many_shares, "garbage"),
        (_of_huge_counts, "garbage"),
        (_paid_back, "garbage"),
        (_of_no_kind, "error"),
    ],
)
def test_whatever_a_judge_does_settle_returns_in_time_and_keeps_the_kind(
    way: Ways, then: Callable[[], Awaitable[object]], kind: str
) -> None:
    loop = changed()
    BACK.clear()
    begun = time.monotonic()
    assert way(loop, RunSettled(run="r1"), Asked(then), 0.3) is None
    assert BACK_AT[-1] - begun < 30, "the judge would have taken a minute, or for ever"
    (silence,) = kinds(loop, PassedOver)
    assert isinstance(silence, PassedOver)
    assert (silence.reason, silence.detail) == ("judge-failed", kind)
    assert not kinds(loop, Judged)
    assert way(loop, RunSettled(run="r2"), Scripted([CONTENT]), 8)


class Broken:
    """A judge with a mistake in it, and a key in the words of it."""

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:
        raise LookupError(
            f"no {'move'!r}\nin api_key=hunter2-hunter2 ({deadline > 0}, {len(packet.questions)})"
        )


@WAYS
def test_what_a_judge_raises_is_logged_once_with_its_words_and_no_secret(
    way: Ways, caplog: pytest.LogCaptureFixture
) -> None:
    judge = type(f"Broken_{way.__name__}", (Broken,), {})()
    loop = changed()
    for run in ("r1", "r1", "r2"):
        assert way(loop, RunSettled(run=run), judge, 8) is None
    assert {(one.reason, one.detail) for one in kinds(loop, PassedOver) if isinstance(one, PassedOver)} == {
        ("judge-failed", "error")
    }
    [told] = [record for record in caplog.records if record.name == "loopbook.judges"]
    assert told.levelname == "WARNING"
    words = told.getMessage()
    assert words.startswith(
        f"the judge Broken_{way.__name__} raised LookupError: no 'move' in api_key=[redacted"
    )
    assert "(test_engine.py:" in words
    assert "hunter2" not in words
    assert "\n" not in words


@WAYS
@pytest.mark.parametrize("then", [_hang, _shielded, _stubborn])
def test_a_judge_that_hangs_costs_no_more_than_the_deadline_and_a_fifth_of_a_second(
    way: Ways, then: Callable[[], Awaitable[object]]
) -> None:
    over = []
    for run in range(10):  # the machine may be busy, so the best one counts
        BACK.clear()
        begun = time.monotonic()
        way(changed(), RunSettled(run=f"r{run}"), Asked(then), 0.1)
        over.append(BACK_AT[-1] - begun - 0.1)
        if over[-1] < 0.2:
            return
    raise AssertionError(over)


def test_with_no_time_left_nobody_is_asked() -> None:
    loop, judge = changed(), Scripted([CONTENT])
    assert loop.settle_blocking(RunSettled(run="r1"), judge=judge, timeout=0) is None
    assert not judge.asked


@WAYS
@pytest.mark.parametrize("seconds", [float("inf"), float("-inf"), float("nan"), 601, 1e10])
def test_a_deadline_that_is_none_is_refused_and_nothing_is_written(way: Ways, seconds: float) -> None:
    loop = changed()
    before = loop.version
    with pytest.raises(InvalidTimeout, match="nothing was written; give seconds, at most 600"):
        way(loop, RunSettled(run="r1"), Scripted([CONTENT]), seconds)
    with pytest.raises(InvalidTimeout):
        loop.close_blocking("done", judge=Scripted([CONTENT]), timeout=seconds)
    assert loop.version == before


def test_a_settle_that_is_cancelled_leaves_the_run_to_be_decided() -> None:
    loop = changed()

    async def cancelled() -> None:
        with anyio.move_on_after(0.2):
            await loop.settle(RunSettled(run="r1"), judge=Asked(_hang))

    anyio.run(cancelled)
    assert [entry.event.type for entry in loop.entries(2)] == ["run_settled"]
    assert loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([CONTENT]))


def test_while_a_judge_thinks_the_event_loop_goes_on() -> None:
    loop, ticks = changed(), []

    async def slow() -> object:
        await anyio.sleep(0.3)
        return Failure("slow")

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: loop.settle(RunSettled(run="r1"), judge=Asked(slow)))
            for _ in range(5):
                await anyio.sleep(0.02)
                ticks.append(1)

    anyio.run(both)
    assert len(ticks) == 5


def test_a_run_of_long_ago_is_not_decided_again() -> None:
    loop = changed()
    for n in range(40):
        loop.settle_blocking(RunSettled(run=f"r{n}"), judge=Scripted([CONTENT]))
    before = loop.version
    came = loop.settlement_blocking(RunSettled(run="r0"), judge=Scripted([CONTENT]))
    assert [(one.advisor, one.did) for one in came.trace] == [("second-thought", "done before")]
    assert (came.advice, loop.version) == (None, before)


def test_a_host_answers_what_is_asked_itself() -> None:
    loop = changed()
    driven = loop.settling(RunSettled(run="r1")).start()
    assert driven.ask is not None
    with pytest.raises(RuntimeError, match="has not ended"):
        _ = driven.result
    assert driven.answer(answer_from(driven.ask.packet.questions, CONTENT)).result.advice is not None
    with pytest.raises(RuntimeError, match="nothing was asked"):
        driven.answer(Failure("x"))


def test_a_value_that_is_none_of_its_questions_costs_that_question_alone() -> None:
    loop = changed()
    driven = loop.settling(RunSettled(run="r1")).start()
    values = {"move": Chosen("back"), "quality": Scored(9), "mood": Likely(1), "done": Likely(0.9)}
    assert driven.answer(Answer(values)).result.advice is not None  # type: ignore[arg-type]  # of each kind
    (judged,) = kinds(loop, Judged)
    assert isinstance(judged, Judged)
    assert judged.answers == {
        "move": {"choice": "back"},
        "done": {"noul": 0.9},
        "quality": {"lost": "not a value of this question"},
    }


def test_garbage_does_not_close_a_loop() -> None:
    loop = changed()
    loop.record(Check(command="pytest", outcome="pass"), Review(tier="light", reviewer="r"))
    driven = loop.closing("done").start()
    answer = driven.answer(Answer({"move": Chosen("banana"), "done": Likely(7)})).result
    assert (answer.closed, answer.missing) == (False, ())
    assert loop.state.life.declared, "it is still to be judged"


def test_a_session_that_is_not_idle_any_more_hears_nothing() -> None:
    loop = changed()
    came = loop.settlement_blocking(RunSettled(run="r1"), judge=Scripted([CONTENT]), idle=lambda: False)
    assert came.advice is None
    assert came.trace[-1].reason == "stale"


def test_a_writer_beside_it_does_not_make_an_answer_stale(tmp_path: Path) -> None:
    url = str(tmp_path / "book.db")
    loop = changed(url)
    with Books.open(url, session="other") as others:

        async def busy() -> object:
            for i in range(10):
                await to_thread.run_sync(others.loop("a").record, Watch(text=f"{i}"))
                await anyio.sleep(0.01)
            return await Scripted([CONTENT]).ask(driven_packet[0], 1)

        driven_packet: list[Packet] = []

        class Noting(Asked):
            async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:
                driven_packet.append(packet)
                return await super().ask(packet, deadline)

        assert loop.settle_blocking(RunSettled(run="r1"), judge=Noting(busy))
    assert len(kinds(loop, Watch)) == 10


def test_a_close_is_declared_judged_and_answered() -> None:
    loop = changed()
    first = loop.close_blocking("done", judge=Scripted([{**CONTENT, "done": 0.1}]))
    assert (first.closed, first.concerns) == (False, ("not-done",))
    assert first.missing == ("no passing check (tests, build, manual) since the last change",)

    async def again() -> bool:
        return (await loop.close("done", judge=Scripted([CONTENT]))).closed

    assert not anyio.run(again)
    assert loop.close_anyway().state.life.outcome == "over_concerns"
    with pytest.raises(LoopClosed):
        loop.close_blocking("done")
    assert loop.settle_blocking(RunSettled(run="r9"), judge=Scripted([CONTENT])) is None


def test_a_close_is_judged_by_the_advisors_that_are_given() -> None:
    strict = SecondThought(thresholds=Thresholds(done=0.95))
    answer = changed().close_blocking("done", judge=Scripted([CONTENT]), advisors=(strict,))
    assert answer.concerns == ("not-done",)


def test_a_sessions_own_book_takes_its_runs_and_has_no_loop() -> None:
    books = Books.open("memory:", session="s1")
    came = books.own().settlement_blocking(RunSettled(run="r1"), judge=Scripted([CONTENT]))
    assert [one.reason for one in came.trace] == ["no-loop"]
    assert [entry.stream for entry in books.own().entries()] == ["session:loopbook:s1"]


def test_two_flows_at_once_on_one_book_speak_once() -> None:
    loop = changed()
    flows: list[Driven[Settlement]] = [
        loop.settling(RunSettled(run="r1"), session=by).start() for by in ("s1", "s2")
    ]
    for driven in flows:
        assert driven.ask is not None
        driven.answer(answer_from(driven.ask.packet.questions, CONTENT))
    assert [driven.result.advice is not None for driven in flows] == [True, False]
    assert len(kinds(loop, Noticed)) == len(kinds(loop, Judged)) == 1


def test_what_was_not_acknowledged_is_listed_and_not_said_again() -> None:
    loop = changed()
    advice = loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([CONTENT]))
    assert advice is not None
    assert loop.undelivered() == (advice,)
    assert loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([CONTENT])) is None
    loop.acknowledge(advice)
    loop.acknowledge(advice)
    assert loop.undelivered() == ()
    assert len(kinds(loop, Delivered)) == 1


SESSION = """
import sys
from loopbook.events import Change, Check, RunSettled
from loopbook.judges.scripted import Scripted
from loopbook.books import Books
url, me, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
moves = ("advance", "back") * turns
judge = Scripted([{"move": move, "done": 0.9, "review_tier": "none", "quality": 3} for move in moves])
with Books.open(url, session=me) as books:
    loop = books.loop("a")
    for i in range(turns):
        if i % 2:
            loop.record(Check(command="pytest", outcome="pass"))
        else:
            loop.record(Change(summary=f"{me} {i}", paths=("a.py",)))
        loop.settle_blocking(RunSettled(run=f"{me}-{i}"), judge=judge)
        loop.settle_blocking(RunSettled(run=f"shared-{i}"), judge=judge)
"""


def test_sessions_in_processes_of_their_own_never_repeat_each_other(tmp_path: Path) -> None:
    url, turns = str(tmp_path / "book.db"), 12
    loop = changed(url)
    sessions = [
        subprocess.Popen([sys.executable, "-c", SESSION, url, name, str(turns)], stderr=subprocess.PIPE)
        for name in ("p1", "p2")
    ]
    for session in sessions:
        _, told = session.communicate(timeout=120)
        assert session.returncode == 0, told.decode()
    entries = list(loop.entries())
    assert [entry.seq for entry in entries] == [*range(1, len(entries) + 1)]
    notices = [entry.event for entry in entries if isinstance(entry.event, Noticed)]
    assert notices
    assert all(a.key != b.key for a, b in pairwise(notices))
    assert len({notice.judged for notice in notices}) == len(notices)
    assert sum(isinstance(entry.event, Change | Check) for entry in entries) == 1 + 2 * turns
    runs = [entry.event.run for entry in entries if isinstance(entry.event, RunSettled)]
    assert len(runs) == len(set(runs)) == 3 * turns
    decided = [e.run for e in (entry.event for entry in entries) if isinstance(e, Judged)]
    assert len(decided) == len(set(decided))


@pytest.mark.parametrize("most", [0, 8])
def test_what_was_put_off_is_delivered_without_an_event_loop_within_its_bound(most: int) -> None:
    loop = changed()
    (later,) = loop.settlement_blocking(
        RunSettled(run="r1"), judge=Scripted([{"ok": 1}]), advisors=(Plain("late", "later"),)
    ).later
    came = loop.deliver_blocking(later, judge=Scripted([{"ok": 1}]), max_continuations=most)
    assert came.advice is not None
    assert came.advice.continues == (most > 0)
    with pytest.raises(InvalidTimeout):
        loop.deliver_blocking(later, judge=None, timeout=float("nan"))
