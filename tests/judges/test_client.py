"""The client itself: from any thread and event loop, no socket left, no proxy where none may be, in time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.judges import Answer, Failure
from loopbook.judges.system_one import Price, SystemOne
from loopbook.judges.system_one.lines import AT_ONCE, line_of
from loopbook.judges.system_one.parsing import Reply
from loopbook.judges.system_one.retries import JITTER, pause_before_next, retry_after
from tests.judges.conftest import PACKET
from tests.judges.faulty import Faulty


def open_sockets() -> int:
    """How many sockets this process has open."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("the system does not list open files")
    count = 0
    for one in folder.iterdir():
        try:
            count += str(one.readlink()).startswith("socket:")
        except OSError:
            continue
    return count


def ask_in_threads(judge: SystemOne, threads: int, deadline: float = 5.0) -> list[Answer | Failure]:
    """Asks at once, each in a thread and event loop of its own."""
    said: list[Answer | Failure] = []
    asking = [
        Thread(target=lambda: said.append(anyio.run(judge.ask, PACKET, deadline))) for _ in range(threads)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    return said


def test_one_judge_is_asked_from_many_threads_and_loops_and_leaves_no_socket(
    faulty: Faulty, key: str
) -> None:
    judge = SystemOne(faulty.at("fine"), key=key)
    ask_in_threads(judge, 2)
    before = open_sockets()
    for _ in range(3):
        assert all(isinstance(one, Answer) for one in ask_in_threads(judge, 8))
    for name in ("truncated", "huge", "reset", "html-502", "half-closed"):
        anyio.run(SystemOne(faulty.at(name), key=key).ask, PACKET, 0.3)
    ends = time.monotonic() + 10
    while open_sockets() > before and time.monotonic() < ends:
        time.sleep(0.02)  # the server's own ends are in this process too
    assert open_sockets() <= before


def test_at_most_four_requests_are_under_way_whoever_asks(faulty: Faulty, key: str) -> None:
    judge = SystemOne(faulty.at("thoughtful"), key=key)
    assert all(isinstance(one, Answer) for one in ask_in_threads(judge, 3 * AT_ONCE))
    assert 1 < faulty.most_at_once <= AT_ONCE
    late = ask_in_threads(SystemOne(faulty.at("slow-first-byte"), key=key), AT_ONCE + 1, 0.2)
    assert [one.kind for one in late if isinstance(one, Failure)] == ["timeout"] * (AT_ONCE + 1)
    assert isinstance(anyio.run(SystemOne(faulty.at("fine"), key=key).ask, PACKET, 5), Answer)


def test_who_is_cancelled_while_waiting_or_inside_gives_no_turn_away() -> None:
    _, line = line_of("http://localhost:1", None)
    inside = most = 0

    async def one(stays: float) -> None:
        nonlocal inside, most
        with anyio.move_on_after(stays):
            async with line.turn():
                inside, most = inside + 1, max(most, inside + 1)
                try:
                    await anyio.sleep(0.03)
                finally:
                    inside -= 1

    async def crowd() -> None:
        async with anyio.create_task_group() as group:
            for place in range(20):
                group.start_soon(one, 0.005 if place % 2 else 5)

    for _ in range(2):
        most = 0
        anyio.run(crowd)
        assert (inside, most) == (0, AT_ONCE)


def test_a_proxy_of_the_environment_sees_nothing_that_is_in_clear(
    faulty: Faulty, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert isinstance(anyio.run(SystemOne(faulty.at("fine"), key=key).ask, PACKET, 5), Answer)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", "socks9://x", "http://[", "socks5://127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used_is_a_failure(
    key: str, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    outcome = anyio.run(SystemOne("https://judge.invalid", key=key).ask, PACKET, 0.3)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "connect"


def test_a_netrc_is_not_read(faulty: Faulty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ann password hunter2hunter2\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    anyio.run(SystemOne(faulty.at("fine")).ask, PACKET, 5)
    assert b"uthorization" not in faulty.received["fine"][-1].raw


def test_nothing_compressed_is_asked_for_and_the_program_says_who_it_is(faulty: Faulty, key: str) -> None:
    anyio.run(SystemOne(faulty.at("fine"), key=key).ask, PACKET, 5)
    head = faulty.received["fine"][-1].raw.partition(b"\r\n\r\n")[0].lower()
    assert b"accept-encoding: identity" in head
    assert b"content-type: application/json" in head
    assert b"user-agent: loopbook/" in head


def test_importing_the_judge_does_not_import_the_http_library() -> None:
    code = "import sys, loopbook.own, loopbook.judges.system_one; print('httpx' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


@pytest.mark.parametrize("deadline", [0, 0.001, -1])
def test_with_no_time_nothing_is_waited_for(faulty: Faulty, key: str, deadline: float) -> None:
    outcome = anyio.run(SystemOne(faulty.at("slow-first-byte"), key=key).ask, PACKET, deadline)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "timeout"


# --- asking again ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "2"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_what_a_server_asks_for_is_read_in_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=30.0) == seconds


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_a_server_asks_for_is_a_time_or_nothing(one: str, two: str) -> None:
    seconds = retry_after({"retry-after-ms": one, "retry-after": two}, now=0.0)
    assert seconds is None or 0 <= seconds < float("inf")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_server_that_may_be_better_soon_is_asked_again(status: int) -> None:
    pause = pause_before_next(Reply(status, {}, b""), 0.5)
    assert pause is not None
    assert 0.5 * (1 - JITTER) <= pause <= 0.5 * (1 + JITTER)
    assert pause_before_next(Reply(status, {"retry-after": "3"}, b""), 0.5) == 3


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 402, 403, 404, 413, 422, 425, 501, 505])
def test_any_other_answer_is_final(status: int) -> None:
    assert pause_before_next(Reply(status, {"retry-after": "3"}, b""), 0.5) is None


@pytest.mark.parametrize("kind", ["tls", "cut-off", "garbage", "too-large", "error"])
def test_of_broken_connections_only_one_on_which_no_answer_began_is_tried_again(kind: str) -> None:
    assert pause_before_next(Failure(kind), 0.5) is None
    assert pause_before_next(Failure("connect"), 0.5) is not None


# --- prices ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("price", "tokens", "cost"),
    [
        (Price(2.0), (1_000_000, 5), 2.0),
        (Price(2.0, 4.0), (500_000, 250_000), 2.0),
        (Price(0.0), (318, None), 0.0),
        (Price(), (318, 34), None),
        (Price(2.0), (None, 34), None),
        (Price(2.0, 4.0), (318, None), None),
    ],
)
def test_what_is_not_known_has_no_price(
    price: Price, tokens: tuple[int | None, int | None], cost: float | None
) -> None:
    assert price.of(Answer({}, input_tokens=tokens[0], output_tokens=tokens[1])) == cost


def test_what_cannot_be_written_as_json_is_a_failure_and_no_exception(faulty: Faulty, key: str) -> None:
    packet = PACKET._replace(state={"a": {1, 2}})  # type: ignore[dict-item] # which no packet should hold
    outcome = anyio.run(SystemOne(faulty.at("fine"), key=key).ask, packet, 5)
    assert outcome == Failure("error", "TypeError")
