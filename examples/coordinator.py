"""A coordinator: an agent works in runs; after each it is told to go on, or left alone with a reason.

    python examples/coordinator.py

It needs no key: the judge here says what it was told to. ``SystemOne.from_env()`` is a real one.
"""

import asyncio
import tempfile

from loopbook import Books, Change, Check, Event, Finding, Loop, Review, RunSettled
from loopbook.audit.reasons import silence
from loopbook.audit.replay import replay
from loopbook.judges.scripted import Scripted

#: What the agent does in each run. A real one is sent a prompt, and its host tells what it did.
WORK: dict[int, list[Event]] = {
    1: [
        Check(command="pytest -k empty", outcome="fail", exit_code=1),
        Change(summary="answer empty input with nothing", paths=("client.py",)),
    ],
    2: [],
    3: [Check(command="pytest", outcome="pass", exit_code=0)],
    4: [Review(tier="light", reviewer="ada", findings=(Finding(id="f1", severity="concern", text="None?"),))],
    5: [
        Change(summary="answer None with nothing too", paths=("client.py",), resolves=("f1",)),
        Check(command="pytest", outcome="pass", exit_code=0),
        Review(tier="light", reviewer="ada"),
    ],
}
JUDGE = Scripted([{"move": "advance", "done": 0.9, "review_tier": "none", "quality": 3}])


async def run(loop: Loop, number: int) -> None:
    """Let the agent work, and settle its run."""
    loop.record(*WORK[number])
    came = await loop.settlement(RunSettled(run=f"run-{number}"), judge=JUDGE)
    if came.advice is None:
        why = [silence(one.reason, one.detail) for one in came.trace if one.reason]
        print(f"run {number}  silent: {'; '.join(why) or 'it was decided before'}")
        return
    print(f"run {number}  said: {came.advice.text}")
    if came.advice.continues:
        print("       the agent goes on with it")  # agent.send(came.advice.text)
    loop.acknowledge(came.advice)


async def main(store: str) -> None:
    with Books.open(store, session="morning") as books:
        loop = books.start(kind="fix", intent="Crash on empty input", anchor="4f2a9c1", id="fix-1")
        print("the morning's session starts", loop.id)
        await run(loop, 1)
        await run(loop, 2)

    with Books.open(store, session="evening") as books:  # another process, later: nothing is remembered
        loop = books.adopt("fix-1")
        print("the evening's session opens the store and adopts", loop.id)
        await run(loop, 2)  # the same run once more, as after a crash
        for number in (3, 4, 5):
            await run(loop, number)
        answer = await loop.close("Empty input is answered with nothing.", judge=JUDGE)
        print("closed:" if answer.closed else "open:", loop.state.life.outcome, *answer.missing)

        again = replay(loop.entries())
        print(f"replayed: {again.version} entries, {len(again.decisions)} decisions,", dict(again.outcomes))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(f"{folder}/books.db"))
