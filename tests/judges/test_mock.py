"""A reference server, whole and with each of its faults: what a judge makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from threading import Thread

import anyio
import pytest

from loopbook.books import Books
from loopbook.events import Change, Judged, PassedOver, RunSettled
from loopbook.judges import Answer, Choice, Chosen, Failure, Noul, Packet, Question, Score, Scored
from loopbook.judges.system_one import Price, SystemOne
from loopbook.loop import Loop
from tests.judges.conftest import PACKET

mock = pytest.importorskip("jevcompat.mock", reason="jevcompat is not installed (pip install jevcompat)")
cli = pytest.importorskip("jevcompat.cli")


def list_of_faults() -> list[str]:
    """As the mock's own command lists them, so that none is forgotten."""
    told = StringIO()
    with redirect_stdout(told):
        cli.main(["mock", "--list-faults"])
    return [line.split()[0] for line in told.getvalue().splitlines()]


@contextmanager
def running(**config: object) -> Iterator[str]:
    """A mock under way; its URL."""
    server = mock.make_server(mock.MockConfig(**config))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield "http://{}:{}".format(*server.server_address[:2])
    server.shutdown()
    server.server_close()
    thread.join()


ALL = set(PACKET.questions)
CHOICES, NOULS, SCORES = {"move", "review_tier"}, {"done"}, {"quality"}
#: What each fault comes to: a kind of failure, or the questions that are lost. One that is not named
#: here is one that costs nothing.
COMES_TO: dict[str, str | set[str]] = {
    "wrong-route": "http-not-found",
    "xssi-200": "garbage",
    "reject-jev-latest": "http-not-found",
    "first-question-only": ALL - {"move"},
    "boolean-type": NOULS,
    "noul-range": NOULS,
    "choice-sum": CHOICES,
    "choice-second": CHOICES,
    "score-keys-1-based": SCORES,
    "score-sum": SCORES,
    "auth-rejects-header": "http-auth",
}
#: Faults that only show where a key is asked for, and what they come to then.
WITH_A_KEY = {
    "auth-x-api-key": "http-auth",
    "auth-plain": "http-auth",
    "auth-invalid-403-text": "http-auth",
}


@pytest.mark.parametrize("fault", list_of_faults())
def test_a_fault_costs_what_it_spoils_and_nothing_else(fault: str, key: str) -> None:
    expected = COMES_TO.get(fault, set())
    with running(faults=frozenset({fault})) as url:
        outcome = anyio.run(SystemOne(url, key=key).ask, PACKET, 5)
        loop = settled(SystemOne(url, key=f"{key}-in-a-loop"))
    if isinstance(outcome, Failure):
        assert outcome.kind == expected
    else:
        assert set(outcome.lost) == expected
        assert set(outcome.values) == ALL - set(outcome.lost)
        for value in outcome.values.values():
            if isinstance(value, Chosen | Scored):
                assert sum(value.probabilities.values()) == pytest.approx(1)
                assert value.confidence is not None
                assert 0 <= value.confidence <= 1
    is_in_the_book(loop, expected)


def settled(judge: SystemOne) -> Loop:
    """A loop with a change, and a run settled in it."""
    loop = Books.open("memory:", session="s1").start("change", "Add a retry")
    loop.record(Change(summary="one", paths=("a.py",)))
    loop.settle_blocking(RunSettled(run="r1"), judge=judge)
    return loop


def is_in_the_book(loop: Loop, expected: str | set[str]) -> None:
    """A judgment, or why there is none: the kind of failure, or that the move is lost."""
    judged = [entry.event for entry in loop.entries() if isinstance(entry.event, Judged)]
    passed = [entry.event for entry in loop.entries() if isinstance(entry.event, PassedOver)]
    if isinstance(expected, str):
        assert [(one.reason, one.detail) for one in passed] == [("judge-failed", expected)]
    elif "move" in expected:
        assert passed[0].reason == "judge-failed"
        assert (passed[0].detail or "").startswith("move: ")
        assert passed[0].asked == 1, "it was answered, and that has its price"
    else:
        assert [(one.request_id, one.model_answered) for one in judged] == [
            ("req_mock", "jevcompat-mock-0.1")
        ]
    assert len(judged) == (not isinstance(expected, str) and "move" not in expected)


@pytest.mark.parametrize(("fault", "kind"), WITH_A_KEY.items())
def test_a_wrong_key_is_refused_however_that_is_said(fault: str, kind: str, key: str) -> None:
    with running(key="another-key", faults=frozenset({fault})) as url:
        outcome = anyio.run(SystemOne(url, key=key).ask, PACKET, 5)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind


def test_a_right_key_is_let_in_and_a_missing_or_wrong_one_is_not(key: str) -> None:
    with running(key=key) as url:
        right = anyio.run(SystemOne(url, key=key).ask, PACKET, 5)
        wrong = anyio.run(SystemOne(url, key=f"{key}x").ask, PACKET, 5)
        none = anyio.run(SystemOne(url).ask, PACKET, 5)
    assert isinstance(right, Answer)
    assert [one.kind for one in (wrong, none) if isinstance(one, Failure)] == ["http-auth", "http-auth"]


def test_a_busy_server_is_asked_again_at_once_where_it_says_so(key: str) -> None:
    with running(busy_every=2) as url:
        judge = SystemOne(url, key=key)
        outcomes = [anyio.run(judge.ask, PACKET, 5) for _ in range(3)]
    assert all(isinstance(one, Answer) for one in outcomes)


def test_an_answer_tells_what_it_took(key: str) -> None:
    with running() as url:
        answer = anyio.run(SystemOne(url, key=key, price=Price(0.5, 1.0)).ask, PACKET, 5)
    assert isinstance(answer, Answer)
    assert (answer.model_asked, answer.model_answered) == ("jev-latest", "jevcompat-mock-0.1")
    assert answer.latency_ms is not None
    assert 0 < answer.latency_ms < 5_000
    assert answer.input_tokens
    assert answer.output_tokens == 8
    assert answer.cost_usd == pytest.approx((answer.input_tokens * 0.5 + 8) / 1_000_000)


HOSTILE = "é\u202e {}\n\"'\\"


def test_names_of_any_letters_come_back_as_they_went(key: str) -> None:
    questions: dict[str, Question] = {
        HOSTILE: Choice("Which?", {HOSTILE: "this", "b": ""}),
        "a.b-c d": Noul("Is it?", "", ""),
        "score": Score("How far?", ("none", HOSTILE)),
    }
    with running() as url:
        answer = anyio.run(SystemOne(url, key=key).ask, Packet({"a": HOSTILE}, questions), 5)
    assert isinstance(answer, Answer)
    assert set(answer.values) == set(questions)
    chosen = answer.values[HOSTILE]
    assert isinstance(chosen, Chosen)
    assert set(chosen.probabilities) == {HOSTILE, "b"}
