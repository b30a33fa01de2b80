"""What is asked once the settle is over: what was put off, and what only observes."""

from __future__ import annotations

import pytest

from loopbook import events as e
from loopbook.advisors.asking import Answer, Failure, Likely, Noul, Packet
from loopbook.advisors.shape import (
    DecideNow,
    Gate,
    Scene,
)
from loopbook.projections import BookState
from loopbook.settlement import (
    Advice,
    Later,
    Settlement,
    Traced,
    deliver,
)
from tests.flows import CONTENT, Table, reasons
from tests.plain import Plain, Slow
from tests.settlement.given import types, units


class Watcher(Plain):
    """Says nothing more of what it observes, which is about a unit; asks nobody where there is no judge."""

    def packet(self, state: BookState) -> Packet:
        return Packet({"changes": state.work.last["change"]}, {"ok": Noul("Is it?", "yes", "no")}, "a")

    def gate(self, state: BookState, scene: Scene) -> Gate:
        return DecideNow(observe=self.packet(state) if scene.judge else None)


def observing(table: Table) -> Later:
    """What a watcher has put off, once its advice has gone."""
    (later,) = table.settle(advisors=(Watcher("watcher"),)).later
    return later


def test_what_only_observes_decides_at_once_and_is_asked_after_the_advice() -> None:
    table = Table()
    advisor = Plain("watcher", "observe")
    came = table.settle(advisors=(advisor,))
    assert came.advice is not None
    assert not table.asked
    (later,) = came.later
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert types(table)[-1] == "judged"
    assert len(table.of(e.Noticed)) == 1


def test_what_is_observed_is_dropped_when_its_packet_has_changed() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("watcher", "observe"),)).later
    table.change()
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert not table.of(e.Judged)


def test_what_takes_longer_is_put_off_and_delivered() -> None:
    table = Table()
    came = table.settle(advisors=(Plain("slow", "later"),))
    assert came.advice is None
    (later,) = came.later
    assert types(table)[-1] == "run_settled"
    told = table.drive(deliver(table.state, later), {"ok": 0.5})
    assert told.advice is not None
    assert types(table)[-2:] == ["judged", "noticed"]


def test_what_is_delivered_after_a_newer_run_is_stale() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("slow", "later"),)).later
    table.add(e.RunSettled(run="r2"))
    assert reasons(table.drive(deliver(table.state, later), {"ok": 0.5})) == ["stale"]
    assert not table.asked


# --- what only observes ----------------------------------------------------------------------------------


def test_an_answer_that_is_only_kept_is_traced_and_says_of_whom_it_was() -> None:
    table = units()
    later = observing(table)
    came = table.drive(deliver(table.state, later), {"ok": 0.5})
    assert came == Settlement(
        trace=(Traced("watcher", "asked", "a", ""), Traced("watcher", "observed", judged=True)),
        later=(),
        notes=(),
    )
    assert table.entries[-1].unit == "a"
    (judged,) = table.of(e.Judged)
    assert isinstance(judged, e.Judged)
    assert (judged.advisor, judged.run, judged.basis["observed"]) == ("watcher", "r1", True)


@pytest.mark.parametrize(
    ("answer", "reason", "detail", "asked", "cost"),
    [
        (Failure("timeout", "8 s"), "judge-failed", "timeout", 0, None),
        (Answer({"ok": Likely(0.5)}, cost_usd=0.25), "stale", "moved", 1, 0.25),
    ],
)
def test_what_could_not_be_observed_is_kept_with_its_reason_and_cost(
    answer: Answer | Failure, reason: str, detail: str, asked: int, cost: float | None
) -> None:
    table = units()
    later = observing(table)
    table.answers = [answer]
    table.thinking = [table.change if reason == "stale" else lambda: None]
    came = table.drive(deliver(table.state, later), {})
    assert came.trace[1:] == (Traced("watcher", "silent", "a", reason, detail),)
    (silence,) = table.of(e.PassedOver)
    assert isinstance(silence, e.PassedOver)
    assert (silence.advisor, silence.run, silence.reason, silence.detail) == ("watcher", "r1", reason, detail)
    assert (silence.asked, silence.cost_usd) == (asked, cost)
    assert silence.basis["observed"] is True
    assert table.entries[-1].unit == "a"


def test_what_another_session_has_observed_meanwhile_is_stale_of_whom_it_was() -> None:
    table = units()
    later = observing(table)
    table.thinking = [lambda: table.add(e.Judged(advisor="watcher", run="r1", read_to=1), "a")]
    came = table.drive(deliver(table.state, later), {"ok": 0.5})
    assert came.trace[-1] == Traced("watcher", "silent", "a", "stale", "decided")
    assert table.entries[-1].unit == "a"


def test_what_is_observed_of_a_closed_loop_is_dropped() -> None:
    table = units()
    later = observing(table)
    table.add(e.LoopClosed(outcome="over_concerns"))
    before = table.state.version
    table.drive(deliver(table.state, later), {"ok": 0.5})
    assert table.state.version == before


def test_a_grown_book_is_looked_at_again_before_what_was_observed_is_kept() -> None:
    table = units()
    later = observing(table)
    table.before_append = [table.change]
    came = table.drive(deliver(table.state, later), {"ok": 0.5})
    assert [one.reason for one in came.trace] == ["", "stale"]


# --- what is delivered -----------------------------------------------------------------------------------


def test_what_is_delivered_counts_as_what_is_said_at_once() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("slow", "later"),)).later
    table.add(e.Noticed(advisor="other", run="r0", key="x", text="x", continues=True))
    came = table.drive(deliver(table.state, later, max_continuations=1), {"ok": 0.5})
    assert came.advice is not None
    assert not came.advice.continues
    assert [one.reason for one in came.trace] == ["", None, "bound"]


def test_who_has_spoken_for_a_run_is_not_put_off_for_it_again() -> None:
    slow = Slow(takes_turn=False)
    table = units()
    table.change("a")
    table.change("b")
    (later,) = table.settle("r1", advisors=(slow,)).later
    assert table.drive(deliver(table.state, later), CONTENT).notes
    table.change("b", "two")
    again = table.settle("r1", advisors=(slow,))
    assert (again.trace, again.later) == ((Traced("second-thought", "done before"),), ())


def test_a_note_that_is_delivered_is_a_note() -> None:
    table = Table()
    (later,) = table.settle(advisors=(Plain("slow", "later", takes_turn=False),)).later
    came = table.drive(deliver(table.state, later), {"ok": 0.5})
    note = Advice("slow speaks", continues=False, advisor="slow", seq=table.state.version)
    assert (came.advice, came.notes, came.later) == (None, (note,), ())


def test_what_is_put_off_is_traced() -> None:
    table = Table()
    came = table.settle(advisors=(Plain("slow", "later"),))
    assert came.trace == (Traced("slow", "put off"),)
    assert came.later[0].scene.run == e.RunSettled(run="r1")
