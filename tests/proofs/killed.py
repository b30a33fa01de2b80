"""Settles that are killed at every place where they can be: ``python -m tests.proofs.killed``.

One JSON line on stdin names the store and the situation, one on stdout tells what each kill left. A
process is forked for each place, tells when it has come there, and gets signal 9.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import NamedTuple, cast

from loopbook import events as e
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Advisor
from loopbook.book import Book
from loopbook.books import Books
from loopbook.engine import Driven
from loopbook.entry import Draft, Entry
from loopbook.errors import LoopClosed
from loopbook.judges import answer_from
from loopbook.projections import BookState
from loopbook.run import ChildState, Observed
from loopbook.settlement import Advice, CloseAnswer, Flow, Settlement, close, settle
from tests.conftest import ROOT
from tests.flows import NOON
from tests.plain import Plain

CHANGE = e.Change(summary="one", paths=("a.py",))
DECISION = e.Decision(text="keep the name", decided_by="user")
GONE = Observed(now=NOON, children={"c1": ChildState(state="gone")})


class Situation(NamedTuple):
    """What stands in a book before the run settles, how it settles (``None``: a close is declared), and
    who has an opinion."""

    before: Sequence[e.Event | Draft] = (CHANGE,)
    run: e.RunSettled | None = e.RunSettled(run="r1")
    advisors: Sequence[Advisor] = (SecondThought(),)


SITUATIONS: Mapping[str, Situation] = {
    "one speaks": Situation(),
    "nothing is new": Situation(before=()),
    "a child is lost": Situation((CHANGE, e.ChildLinked(child="c1")), e.RunSettled(run="r1", observed=GONE)),
    "the first unit is silent": Situation(
        (
            *(e.UnitAdded(unit=name, subject=name) for name in "ab"),
            *(e.UnitStarted(unit=name) for name in "ab"),
            Draft(DECISION, unit="a"),
            Draft(CHANGE, unit="b"),
        )
    ),
    "the first of two speaks": Situation(advisors=(Plain("first"), SecondThought())),
    "a close is met": Situation((CHANGE, e.Check(command="pytest", outcome="pass")), None),
    "the second of two speaks": Situation(advisors=(Plain("first", "quiet"), SecondThought())),
}


class Left(NamedTuple):
    """What a kill left once the run was settled again: the entries, and how often advice was given."""

    place: str
    entries: list[dict[str, object]]
    advice: int


def kills(url: str, situations: Iterable[str]) -> dict[str, list[Left]]:
    """By situation the settle that nobody kills, and then one for each place in it."""
    command = [sys.executable, "-m", "tests.proofs.killed"]
    order = json.dumps([url, [*situations]])
    done = subprocess.run(command, cwd=ROOT, input=order, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {word: [Left(*one) for one in left] for word, left in json.loads(done.stdout).items()}


class Stopping:
    """A book, and a judge, that stop before and after whatever they do; the flow knows no difference."""

    def __init__(self, book: Book, stop: Callable[[str], None]) -> None:
        self._book = book
        self._stop = stop

    def __getattr__(self, name: str) -> object:
        """Whatever else a flow asks of a book, as the book has it."""
        return getattr(self._book, name)

    def append(self, stream: str, *drafts: Draft, after: int, session: str = "") -> tuple[Entry, ...]:
        """As the book does."""
        words = "+".join(draft.event.type for draft in drafts)
        self._stop(f"before {words}")
        entries = self._book.append(stream, *drafts, after=after, session=session)
        self._stop(f"after {words}")
        return entries


def _settle(books: Books, name: str, situation: Situation, stop: Callable[[str], None]) -> Advice | None:
    book = cast("Book", Stopping(books.book, stop))  # it does what a flow asks of a book
    run, advisors = situation.run, situation.advisors

    def flow(state: BookState) -> Flow[Settlement | CloseAnswer]:
        if run is None:
            return (yield from close(state, "It is done.", advisors))
        return (yield from settle(state, Draft(run), advisors))

    driven = Driven(book, f"loop:{name}", flow, session=books.session).start()
    while driven.ask is not None:
        stop("before the answer")
        said = {"move": "advance", "done": 0.9, "review_tier": "none", "quality": 3, "ok": 0.5}
        answer = answer_from(driven.ask.packet.questions, said)
        stop("after the answer")
        driven.answer(answer)
    return driven.result.advice


def _open(url: str) -> Books:
    return Books.open(url, session="s1", clock=lambda: NOON)


def _prepare(url: str, name: str, situation: Situation) -> None:
    with _open(url) as books:
        loop = books.start("chore" if situation.run is None else "change", "Add a retry", id=name)
        for event in situation.before:
            loop.record(event)


def _killed(url: str, name: str, situation: Situation, place: int) -> str:
    """Settle in a process of its own, killed at its ``place``; where it was, "" where it has fewer."""
    here, there = os.pipe()
    child = os.fork()
    if not child:
        _child(url, name, situation, place, there)
    os.close(there)
    with os.fdopen(here) as told:
        came = told.readline().strip()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert came, "the process ended before it told anything"
    return came.removeprefix("end")


def _child(url: str, name: str, situation: Situation, place: int, there: int) -> None:
    places = count()

    def stop(at: str) -> None:
        if next(places) == place or at == "end":
            os.write(there, f"{at}\n".encode())
            signal.pause()

    with _open(url) as books:
        _settle(books, name, situation, stop)
    stop("end")


def _left(url: str, name: str, situation: Situation, at: str) -> Left:
    """What there is once the run was settled again, or for the first time."""
    with _open(url) as books:
        advice = None
        with suppress(LoopClosed):
            advice = _settle(books, name, situation, lambda _: None)
        entries = [
            {**one.event.model_dump(mode="json"), "seq": one.seq, "of": [one.session, one.unit, one.host_ref]}
            for one in books.loop(name).entries()
        ]
    return Left(at, entries, int(advice is not None))


def _all_places(url: str, word: str) -> list[Left]:
    """Settle once in peace; then kill at each place in turn and settle again."""
    situation = SITUATIONS[word]
    names = (f"{word.replace(' ', '-')}-{place}" for place in count())
    _prepare(url, name := next(names), situation)
    left = [_left(url, name, situation, "")]
    for place, name in enumerate(names):
        _prepare(url, name, situation)
        if not (at := _killed(url, name, situation, place)):
            break
        left.append(_left(url, name, situation, at))
    return left


def main() -> None:
    """Do as the order says, and tell."""
    url, words = json.loads(sys.stdin.read())
    print(json.dumps({word: _all_places(url, word) for word in words}))


if __name__ == "__main__":
    main()
