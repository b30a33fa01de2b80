"""Whatever a server does, an ask ends in time with the right kind, and the loop is as it was before."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import anyio
import pytest

from loopbook.advisors.asking import FAILURES
from loopbook.books import Books
from loopbook.events import Change, PassedOver, RunSettled
from loopbook.judges import Answer, Failure, telling
from loopbook.judges.system_one import SystemOne
from loopbook.loop import Loop
from tests.judges.conftest import PACKET
from tests.judges.faulty import FAULTS, Faulty, babbling

DEADLINE = 1.0
#: What each fault comes to: a kind of failure, or the questions that are lost.
COMES_TO: dict[str, str | set[str]] = {
    "fine": set(),
    "elsewhere": set(),
    "thoughtful": set(),
    "wrong-content-type": set(),
    "out-of-range": {"done", "quality"},
    "busy-once-then-closed": set(),
    "busy-twice": set(),
    "slow-first-byte": "timeout",
    "slow-drip": "timeout",
    "informational-for-ever": "timeout",
    "half-closed": "cut-off",
    "silent-half-closed": "connect",
    "truncated": "cut-off",
    "chunks-cut-off": "cut-off",
    "reset": "connect",
    "closed-at-once": "connect",
    "not-http": "garbage",
    "endless-headers": "garbage",
    "huge": "too-large",
    "endless": "too-large",
    "gzip-bomb": "garbage",
    "redirect": "http-redirect",
    "echo-invalid": "http-invalid",
    "echo-input": "http-invalid",
    "echo-at-the-cut": "http-invalid",
    "echo-key": set(),
    "dear-garbage": "garbage",
    "free": set(),
    "half-a-dollar": set(),
    "dear-then-fine": set(),
    "no-credit": "http-payment",
    "overloaded": "http-busy",
    "rate-limit": "http-busy",
    "html-502": "http-server",
    "html-200": "garbage",
    "empty": "garbage",
    "no-content": "garbage",
    "array": "garbage",
    "no-answers": "garbage",
    "deep": "garbage",
    "not-utf-8": "garbage",
    "too-long": "http-too-large",
    "payload": "http-too-large",
    "no-model": "http-not-found",
    "not-a-decision-model": "http-not-found",
    "teapot": "http-other",
    "wrong-key": "http-auth",
    "no-key-given": "http-auth",
}


#: Those whose request may have been worked on, so that it may have cost.
COUNTED = {
    name
    for name, comes in COMES_TO.items()
    if comes in ("timeout", "cut-off", "too-large", "garbage", "http-server")
} | {"silent-half-closed", "reset", "closed-at-once"}


def test_every_fault_is_tried() -> None:
    assert set(COMES_TO) == set(FAULTS)
    assert {kind for kind in COMES_TO.values() if isinstance(kind, str)} <= set(FAILURES)


def lost_or_kind(outcome: Answer | Failure) -> str | set[str]:
    return outcome.kind if isinstance(outcome, Failure) else set(outcome.lost)


@pytest.mark.parametrize("name", FAULTS)
def test_an_ask_ends_in_time_with_the_right_kind(faulty: Faulty, key: str, name: str) -> None:
    judge = SystemOne(faulty.at(name), key=key)
    begun = time.monotonic()
    outcome = anyio.run(judge.ask, PACKET, DEADLINE)
    assert time.monotonic() - begun < DEADLINE + 0.2
    assert lost_or_kind(outcome) == COMES_TO[name]
    if isinstance(outcome, Answer):
        assert set(outcome.values) | set(outcome.lost) == set(PACKET.questions)
    assert key not in repr(outcome)


def changed() -> Loop:
    loop = Books.open("memory:", session="s1").start("change", "Add a retry", id="a")
    loop.record(Change(summary="one", paths=("a.py",)))
    return loop


def by_thread(loop: Loop, judge: SystemOne, timeout: float) -> None:
    assert loop.settle_blocking(RunSettled(run="r1"), judge=judge, timeout=timeout) is None


def by_loop(loop: Loop, judge: SystemOne, timeout: float) -> None:
    async def settle() -> None:
        assert await loop.settle(RunSettled(run="r1"), judge=judge, timeout=timeout) is None

    anyio.run(settle)


FAILING = [name for name, comes in COMES_TO.items() if isinstance(comes, str)]


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("way", [by_thread, by_loop])
def test_a_loop_is_untouched_but_for_the_kind_of_failure(
    faulty: Faulty, key: str, name: str, way: Callable[[Loop, SystemOne, float], None]
) -> None:
    loop = changed()
    before = loop.state
    way(loop, SystemOne(faulty.at(name), key=key), 0.8)
    assert [entry.event.type for entry in loop.entries(2)] == ["run_settled", "passed_over"]
    (silence,) = (entry.event for entry in loop.entries() if isinstance(entry.event, PassedOver))
    assert (silence.reason, silence.detail) == ("judge-failed", COMES_TO[name])
    assert silence.asked == (name in COUNTED)
    assert silence.cost_usd == (5 if name == "dear-garbage" else None)
    after = loop.state
    assert after._replace(version=before.version, runs=before.runs, spent=before.spent) == before
    fine = SystemOne(faulty.at("fine"), key=f"{key}-of-a-second-try")
    again = loop.settle_blocking(RunSettled(run="r2"), judge=fine)
    assert again is not None, "the next run is judged as if nothing had been"


def test_a_huge_answer_is_not_read_to_its_end(faulty: Faulty, key: str) -> None:
    for name in ("huge", "endless", "gzip-bomb"):
        judge = SystemOne(faulty.at(name), key=key)
        tracemalloc.start()
        anyio.run(judge.ask, PACKET, DEADLINE)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8_000_000, f"{name}: {peak}"


def test_a_redirect_is_not_followed(faulty: Faulty, key: str) -> None:
    faulty.at("elsewhere")
    anyio.run(SystemOne(faulty.at("redirect"), key=key).ask, PACKET, DEADLINE)
    assert len(faulty.received["redirect"]) == 1
    assert "elsewhere" not in faulty.received


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "tls"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "tls"),
        (b"", "timeout"),
    ],
)
def test_a_server_that_does_not_speak_tls_is_not_spoken_to(key: str, first: bytes, kind: str) -> None:
    with babbling(first) as port:
        begun = time.monotonic()
        judge = SystemOne(f"https://127.0.0.1:{port}", key=key)
        outcome = anyio.run(judge.ask, PACKET, DEADLINE)
    assert time.monotonic() - begun < DEADLINE + 0.2
    assert lost_or_kind(outcome) == kind


def test_nobody_at_the_address_is_a_failure(key: str) -> None:
    with babbling(b"") as port:
        pass
    outcome = anyio.run(SystemOne(f"http://127.0.0.1:{port}", key=key).ask, PACKET, 0.3)
    assert outcome == Failure("connect", "ConnectError")


# --- asking again ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("fine", 1),
        ("busy-twice", 3),
        ("overloaded", 2),  # after half a second; a third time does not fit
        ("rate-limit", 1),  # a minute does not fit
        ("html-502", 2),
        ("reset", 2),
        ("no-model", 1),
        ("echo-invalid", 1),
        ("truncated", 1),
        ("html-200", 1),
        ("not-http", 1),
    ],
)
def test_it_is_asked_again_only_where_that_may_help_and_fits(
    faulty: Faulty, key: str, name: str, asked: int
) -> None:
    anyio.run(SystemOne(faulty.at(name), key=key).ask, PACKET, DEADLINE)
    assert len(faulty.received[name]) == asked


def test_it_is_asked_at_most_three_times(faulty: Faulty, key: str) -> None:
    begun = time.monotonic()
    outcome = anyio.run(SystemOne(faulty.at("overloaded"), key=key).ask, PACKET, 8)
    assert lost_or_kind(outcome) == "http-busy"
    assert len(faulty.received["overloaded"]) == 3
    assert time.monotonic() - begun < 8


# --- the line that is closed ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wrong-key", "no-key-given", "no-credit"])
def test_a_server_that_refuses_the_key_is_not_asked_again_and_it_is_told_once(
    faulty: Faulty, key: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = faulty.at(name)
    outcomes = [anyio.run(SystemOne(url, key=key).ask, PACKET, DEADLINE) for _ in range(3)]
    assert [lost_or_kind(one) for one in outcomes] == [COMES_TO[name], "circuit-open", "circuit-open"]
    assert len(faulty.received[name]) == 1
    [told] = [record.getMessage() for record in caplog.records]
    assert "it is not asked again" in told
    assert key not in told
    other = anyio.run(SystemOne(url, key=f"{key}-another").ask, PACKET, DEADLINE)
    assert lost_or_kind(other) == COMES_TO[name], "with another key it is asked"


def test_a_busy_server_closes_nothing(faulty: Faulty, key: str) -> None:
    for _ in range(2):
        outcome = anyio.run(SystemOne(faulty.at("rate-limit"), key=key).ask, PACKET, DEADLINE)
        assert lost_or_kind(outcome) == "http-busy"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("echo-invalid", "422: body.state"),
        ("echo-input", "400"),
        ("echo-at-the-cut", "422: body.state, body._"),
    ],
)
def test_a_refused_request_is_logged_once_by_status_and_place_whatever_the_server_says(
    faulty: Faulty, key: str, caplog: pytest.LogCaptureFixture, name: str, told: str
) -> None:
    url = faulty.at(name)
    for _ in range(3):
        anyio.run(SystemOne(url, key=key).ask, PACKET, DEADLINE)
    [line] = [record.getMessage() for record in caplog.records]
    assert f"({told})" in line
    for private in (key[:8], "Add a retry", "It is done", "bad input", "nnn"):
        assert private not in line


def test_a_server_that_varies_its_words_does_not_make_what_was_told_grow(faulty: Faulty, key: str) -> None:
    judge = SystemOne(faulty.at("echo-input"), key=key)
    anyio.run(judge.ask, PACKET, DEADLINE)
    before = len(telling._TOLD)
    for _ in range(3):
        anyio.run(judge.ask, PACKET, DEADLINE)
    assert len(telling._TOLD) == before
