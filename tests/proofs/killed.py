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
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple, cast

from loopbook import events as e
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import Advisor
from loopbook.book import Book
from loopbook.entry import Draft, Entry
from loopbook.judges import answer_from
from loopbook.ledger import Ledger
from loopbook.loop import Books
from loopbook.projections import BookState
from loopbook.run import ChildState, Observed
from loopbook.settlement import Advice
from tests.conftest import ROOT
from tests.flows import NOON
from tests.plain import Plain

CHANGE = e.Change(summary="one", paths=("a.py",))
DECISION = e.Decision(text="keep the name", decided_by="user")
GONE = Observed(now=NOON, children={"c1": ChildState(state="gone")})


class Situation(NamedTuple):
    """What stands in a book before the run settles, how it settles, and who has an opinion."""

    before: Sequence[e.Event | Draft] = (CHANGE,)
    run: e.RunSettled = e.RunSettled(run="r1")
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
    "the second of two speaks": Situation(advisors=(Plain("first", "quiet"), SecondThought())),
}


class Left(NamedTuple):
    """What a kill left once the run was settled again: the entries, and how often advice was given."""

    place: str
    entries: list[object]
    advice: int


def kills(url: str, situation: str) -> list[Left]:
    """The settle that nobody kills, and then one for each place in it."""
    command = [sys.executable, "-m", "tests.proofs.killed"]
    order = json.dumps([url, situation])
    done = subprocess.run(command, cwd=ROOT, input=order, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Left(*left) for left in json.loads(done.stdout)]


class Stopping:
    """A book, and a judge, that stop before and after whatever they do; the flow knows no difference."""

    def __init__(self, book: Book, stop: Callable[[str], None]) -> None:
        self._book = book
        self._stop = stop

    def state(self, stream: str) -> BookState:
        """As the book says."""
        return self._book.state(stream)

    def entries(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """As the book has them."""
        return self._book.entries(stream, after)

    def append(self, stream: str, *drafts: Draft, after: int, session: str = "") -> tuple[Entry, ...]:
        """As the book does."""
        words = "+".join(draft.event.type for draft in drafts)
        self._stop(f"before {words}")
        entries = self._book.append(stream, *drafts, after=after, session=session)
        self._stop(f"after {words}")
        return entries


def _settle(books: Books, name: str, situation: Situation, stop: Callable[[str], None]) -> Advice | None:
    book = cast("Book", Stopping(books.book, stop))  # it does what a flow asks of a book
    driven = Ledger(book, f"loop:{name}", books.session).settling(situation.run, advisors=situation.advisors)
    driven.start()
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
        loop = books.start("change", "Add a retry", id=name)
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
        advice = _settle(books, name, situation, lambda _: None)
        entries: list[object] = [
            [one.seq, one.session, one.unit, one.host_ref, one.event.model_dump(mode="json")]
            for one in books.loop(name).entries()
        ]
    return Left(at, entries, int(advice is not None))


def main() -> None:
    """Settle once in peace; then kill at each place in turn, settle again, and tell."""
    url, word = json.loads(sys.stdin.read())
    situation = SITUATIONS[word]
    _prepare(url, "peace", situation)
    left = [_left(url, "peace", situation, "")]
    for place in count():
        name = f"k{place}"
        _prepare(url, name, situation)
        if not (at := _killed(url, name, situation, place)):
            break
        left.append(_left(url, name, situation, at))
    print(json.dumps(left))


if __name__ == "__main__":
    main()
