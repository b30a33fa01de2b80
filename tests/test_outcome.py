"""The few lines that a coordinator embeds do what they say: with a server, with a script, with nobody."""

from __future__ import annotations

import asyncio
import inspect
import os
import textwrap
from collections.abc import Awaitable, Iterator, Mapping

import pytest

import loopbook
from loopbook import Books, Change, Judged, PassedOver, RunSettled
from loopbook.judges import Judge
from loopbook.judges.scripted import Scripted
from loopbook.loop import Loop
from tests.flows import CONTENT
from tests.judges.faulty import Faulty

#: The lines in the design, and those of a coordinator that records a change too.
DESIGN = """
loop = books.start(kind="fix", intent="Crash on empty input", anchor=revision)
loop.record(Check(command="pytest -k empty", outcome="fail", exit_code=1))
advice = await loop.settle(run, judge=SystemOne.from_env())
if advice and advice.continues:
    agent.send(advice.text)
"""
CHANGED = DESIGN.replace("advice =", 'loop.record(Change(summary="guard the empty case"))\nadvice =')
NEXT = "next: verify (no passing check (tests, build, manual) since the last change)"


class Agent:
    """Somebody who is sent what to go on with."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, text: str) -> None:
        """Take it."""
        self.sent.append(text)


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Iterator[Books]:
    for name in [*os.environ]:
        if name.startswith(("LOOPBOOK_", "TYPESAFE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/nowhere")
    with Books.open("memory:") as opened:
        yield opened


def run_lines(
    lines: str, books: Books, run: RunSettled, judge: Judge | None = None
) -> tuple[Agent, Loop, object]:
    """Run the lines as they stand; with ``judge``, that one instead of the environment's."""

    class Scripts:
        @staticmethod
        def from_env() -> Judge | None:
            return judge

    agent = Agent()
    names: dict[str, object] = {name: getattr(loopbook, name) for name in loopbook.__all__}
    names |= {"books": books, "agent": agent, "run": run, "revision": "4f2a9c1"}
    names |= {} if judge is None else {"SystemOne": Scripts}
    body = f"async def lines():\n{textwrap.indent(lines, '    ')}\n    return loop, advice\n"
    exec(compile(body, "the lines", "exec"), names)
    lines_of_it = names["lines"]
    assert inspect.iscoroutinefunction(lines_of_it)

    async def wait() -> tuple[Loop, object]:
        waiting: Awaitable[tuple[Loop, object]] = lines_of_it()
        return await waiting

    loop, advice = asyncio.run(wait())
    return agent, loop, advice


def test_where_the_judge_agrees_the_advice_is_nothing_and_false(books: Books) -> None:
    agent, loop, advice = run_lines(DESIGN, books, RunSettled(run="r1"), Scripted([CONTENT]))
    assert advice is None
    assert not advice
    assert agent.sent == []
    assert [type(entry.event) for entry in loop.entries(after=3)] == [Judged, PassedOver]
    assert loop.state.life.anchor == "4f2a9c1"


def test_where_the_run_should_go_on_the_agent_is_sent_what_to_do_next(books: Books) -> None:
    agent, _, advice = run_lines(CHANGED, books, RunSettled(run="r1"), Scripted([CONTENT]))
    assert advice
    assert agent.sent == [NEXT]


def test_advice_that_continues_nothing_is_true_all_the_same(books: Books) -> None:
    agent, _, advice = run_lines(
        CHANGED, books, RunSettled(run="r1"), Scripted([{**CONTENT, "move": "ask_user"}])
    )
    assert advice
    assert agent.sent == []


def test_with_no_judge_in_the_environment_nothing_is_said_and_nothing_fails(books: Books) -> None:
    for lines in (DESIGN, CHANGED):
        agent, loop, advice = run_lines(lines, books, RunSettled(run="r1"))
        assert (advice, agent.sent) == (None, [])
        assert [entry.event.type for entry in loop.entries()][-1] == "run_settled"


@pytest.mark.parametrize(
    "more", [{"LOOPBOOK_JUDGE_DIALECT": "llama-cpp"}, {"LOOPBOOK_JUDGE_KEY": "a-key-of-a-test"}], ids=str
)
def test_a_server_that_the_environment_names_is_asked(
    books: Books, faulty: Faulty, more: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", faulty.at("fine"))
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    agent, loop, advice = run_lines(CHANGED, books, RunSettled(run="r1"))
    assert advice
    assert agent.sent == [NEXT]
    judged = next(entry.event for entry in loop.entries() if isinstance(entry.event, Judged))
    assert judged.answers["move"] == {
        "choice": "advance",
        "probabilities": {"advance": 1.0, "back": 0.0, "ask_user": 0.0},
        "confidence": 1.0,
    }
    assert loop.settle_blocking(RunSettled(run="r2"), judge=Scripted([CONTENT])) is None


def test_a_server_that_fails_says_nothing_and_leaves_its_kind(
    books: Books, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", "http://127.0.0.1:9/nobody")
    monkeypatch.setenv("LOOPBOOK_JUDGE_KEY", "a-key-of-a-test")
    agent, loop, advice = run_lines(CHANGED, books, RunSettled(run="r1"))
    assert (advice, agent.sent) == (None, [])
    silence = [entry.event for entry in loop.entries()][-1]
    assert isinstance(silence, PassedOver)
    assert (silence.reason, silence.detail) == ("judge-failed", "connect")
    loop.record(Change(summary="more"))
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", faulty.at("fine"))
    assert asyncio.run(loop.settle(RunSettled(run="r2"), judge=loopbook.SystemOne.from_env()))
