"""Against servers that are processes of their own: one with a real model behind a normalising proxy, and
the official client beside ours."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import pytest

from loopbook.books import Books
from loopbook.events import Change, Judged, RunSettled
from loopbook.judges import Answer, Choice, Chosen, Likely, Noul, Packet, Score, Scored
from loopbook.judges.system_one import SystemOne
from tests.judges.conftest import PACKET

for name in ("sparrow_decider", "jevcompat"):
    pytest.importorskip(name, reason=f"{name} is not installed (make test installs it)")

STARTS_SEC = 60


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def process(program: str, *arguments: str) -> Iterator[None]:
    """A program that is stopped at the end; its port is the last argument."""
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as server:
        try:
            _wait_for(int(arguments[-1]), server)
            yield
        finally:
            server.terminate()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + STARTS_SEC
    while time.monotonic() < ends and server.poll() is None:
        with closing(socket.socket()) as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server did not start")


@pytest.fixture(scope="module")
def proxied() -> Iterator[str]:
    """The URL of ``jevcompat proxy`` before ``sparrow-decider serve``."""
    model, proxy = free_port(), free_port()
    with (
        process("sparrow-decider", "serve", "--host", "127.0.0.1", "--port", str(model)),
        process("jevcompat", "proxy", f"http://127.0.0.1:{model}", "--port", str(proxy)),
    ):
        yield f"http://127.0.0.1:{proxy}"


def test_a_real_model_answers_every_question(proxied: str) -> None:
    answer = anyio.run(SystemOne(proxied).ask, PACKET, 20)
    assert isinstance(answer, Answer)
    assert not answer.lost
    assert answer.model_answered
    move, done, quality = (answer.values[name] for name in ("move", "done", "quality"))
    assert isinstance(move, Chosen)
    assert set(move.probabilities) == {"advance", "back", "ask_user"}
    assert isinstance(done, Likely)
    assert 0 < done.noul < 1
    assert isinstance(quality, Scored)
    assert 0 < quality.score < 3


@pytest.mark.parametrize("blocking", [True, False])
def test_a_loop_is_judged_by_a_real_model_in_either_way(proxied: str, blocking: bool) -> None:
    loop = Books.open("memory:", session="s1").start("change", "Add a retry")
    loop.record(Change(summary="one", paths=("a.py",)))
    run, judge = RunSettled(run="r1"), SystemOne(proxied)
    if blocking:
        loop.settle_blocking(run, judge=judge, timeout=20)
    else:
        anyio.run(lambda: loop.settle(run, judge=judge, timeout=20))
    [judged] = [entry.event for entry in loop.entries() if isinstance(entry.event, Judged)]
    assert set(judged.answers) == set(PACKET.questions)
    assert judged.model_asked == "jev-latest"
    assert (judged.latency_ms or 0) > 0
    assert {"policy", "state", "questions", "code"} <= set(judged.versions)
    assert judged.question_set == PACKET.question_set


def test_four_at_once_from_one_event_loop_all_come_back(proxied: str) -> None:
    answers: list[object] = []

    async def one(judge: SystemOne) -> None:
        answers.append(await judge.ask(PACKET, 30))

    async def all_of_them() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(one, SystemOne(proxied))

    anyio.run(all_of_them)
    assert [type(answer) for answer in answers] == [Answer] * 12


def test_the_official_client_reads_the_same_from_the_same_server(proxied: str) -> None:
    sdk = pytest.importorskip("typesafe_sdk", reason="typesafe-sdk is not installed (jevcompat brings it)")
    state = {"claim": "All tests pass.", "last": "1 failed"}
    packet = Packet(
        state,
        {
            "move": Choice("What next?", {"on": "go on", "back": "go back"}),
            "true": Noul("Is `claim` true?", "it is", "it is not"),
            "far": Score("How far?", ("not begun", "half", "done")),
        },
    )
    ours = anyio.run(SystemOne(proxied).ask, packet, 20)
    assert isinstance(ours, Answer)
    with sdk.TypeSafeClient(api_key="none", base_url=proxied, compression=False) as client:
        theirs = client.system_one(
            state=state,
            model="jev-latest",
            questions={
                "move": sdk.Choice(instructions="What next?", criteria={"on": "go on", "back": "go back"}),
                "true": sdk.Noul(
                    instructions="Is `claim` true?", criteria={"true": "it is", "false": "it is not"}
                ),
                "far": sdk.Score(instructions="How far?", criteria=["not begun", "half", "done"]),
            },
        )
    assert ours.model_answered == theirs.model
    assert (ours.input_tokens, ours.output_tokens) == (theirs.usage.input_tokens, theirs.usage.output_tokens)
    move, likely, far = (ours.values[name] for name in ("move", "true", "far"))
    assert isinstance(move, Chosen)
    assert move.choice == theirs.answers["move"].choice
    assert move.probabilities == pytest.approx(theirs.answers["move"].probabilities)
    assert move.confidence == pytest.approx(theirs.answers["move"].confidence)
    assert isinstance(likely, Likely)
    assert likely.noul == pytest.approx(theirs.answers["true"].noul)
    assert isinstance(far, Scored)
    assert far.score == pytest.approx(theirs.answers["far"].score)
    assert far.confidence == pytest.approx(theirs.answers["far"].confidence)
