"""Taking steps: what each verb does in a world."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from datetime import timedelta
from functools import partial
from typing import TypeVar, cast

from loopbook.book import Book
from loopbook.engine import Driven
from loopbook.entry import Draft
from loopbook.errors import InvalidEvent, Refused
from loopbook.events import LoopClosed, Prompted
from loopbook.ledger import Ledger
from loopbook.loop import Loop
from loopbook.projections import phases
from loopbook.run import ChildState
from loopbook.settlement import CloseAnswer, Later, Settlement
from loopbook.testing.drivers import Died, Driver, Script, WatchedBook
from loopbook.testing.scenario_model import Step
from loopbook.testing.scenario_verbs import (
    Adopt,
    Append,
    Busy,
    Close,
    Closed,
    Crash,
    Deliver,
    Flowing,
    Fork,
    Host,
    Jump,
    NewRun,
    Prompt,
    Race,
    Reload,
    Reopen,
    Settle,
    Snapshot,
    Wait,
)
from loopbook.testing.world import Seen, World

C = TypeVar("C", Settlement, CloseAnswer)


def take(world: World, step: Step, driver: Driver) -> None:
    """Take a step, and keep what was seen. Raises ``CannotRun``, and what the book refuses."""
    world.seen = Seen()
    _do(world, step, driver)


def _do(world: World, step: Step, driver: Driver) -> None:
    match step.verb:
        case Settle() as verb:
            _settle(world, step, verb, driver)
        case Close() as verb:
            _close(world, step, verb, driver)
        case Deliver() as verb:
            _deliver(world, step, verb, driver)
        case Race(sessions=sessions):
            _race(world, sessions, driver)
        case Append() | Prompt() | Closed() | Reopen() | NewRun():
            _write(world, step)
        case _:
            _move(world, step)


def _write(world: World, step: Step) -> None:
    """Take a step that writes and asks nobody."""
    match step.verb:
        case Append(event, unit):
            world.record(Draft(event, unit=unit))
        case Prompt(text=text, origin=origin):
            world.prompts += 1
            world.record(Draft(Prompted(prompt=f"prompt-{world.prompts}", text=text, origin=origin)))
        case NewRun():
            world.prompts += 1
            world.record(Draft(Prompted(prompt=f"prompt-{world.prompts}", text="another run")))
        case Closed(anyway=anyway):
            _end(world, anyway=anyway)
        case Reopen():
            world.loop.reopen()


def _move(world: World, step: Step) -> None:
    """Take a step that moves the world."""
    match step.verb:
        case Host(children=children):
            for name, child in children.items():
                ago = child.last_write_ago
                written = None if ago is None else world.clock.now - timedelta(seconds=ago)
                world.children[name] = ChildState(state=child.state, last_write=written)
        case Wait(seconds=seconds) | Jump(seconds=seconds):
            world.clock.move(seconds)
        case Reload():
            world.reload()
        case Snapshot():
            world.snapshot()
        case Fork():
            world.fork()
        case Adopt(session=session):
            world.adopt(session)
        case Crash(where=where):
            world.crash = where
        case Busy():
            world.idle = False


def _end(world: World, *, anyway: bool) -> None:
    """End the loop: over what stands, or, asked by nobody, only when nothing is missing."""
    position = phases.position(world.loop.state)
    if position.missing and not anyway:
        raise Refused(
            f"the loop stays open: {'; '.join(position.missing)}; nothing was written; close it anyway"
        )
    world.record(Draft(LoopClosed(outcome="over_concerns" if anyway else "unjudged")))


# --- flows -----------------------------------------------------------------------------------


def _settle(world: World, step: Step, verb: Settle, driver: Driver) -> None:
    """Let a run settle, once or twice."""
    run, world.idle = Draft(world.settled(verb)), True
    by = verb.session or world.session
    judge = _judge(world, step, verb, driver)
    for _ in range(2 if verb.twice else 1):
        _flow(world, step, judge, driver, lambda ledger: _settling(world, ledger, run, by, judge))


def _settling(
    world: World, ledger: Ledger, run: Draft, session: str, judge: Script | None
) -> Driven[Settlement]:
    return ledger.settling(run, judge=judge is not None, session=session, idle=lambda: world.idle)


def _close(world: World, step: Step, verb: Close, driver: Driver) -> None:
    """Let a close be declared."""
    judge, by = _judge(world, step, verb, driver), world.session
    _ = world.loop  # there must be one

    def flow(ledger: Ledger) -> Driven[CloseAnswer]:
        return cast("Loop", ledger).closing(verb.claim, judge=judge is not None, session=by)

    _flow(world, step, judge, driver, flow)


def _deliver(world: World, step: Step, verb: Deliver, driver: Driver) -> None:
    """Let what was put off be asked now."""
    judge, late, world.later = _judge(world, step, verb, driver), world.later, []

    def flow(later: Later, ledger: Ledger) -> Driven[Settlement]:
        return ledger.delivering(later, session=world.session, idle=lambda: world.idle)

    for later in late:
        _flow(world, step, judge, driver, partial(flow, later))


def _flow(
    world: World, step: Step, judge: Script | None, driver: Driver, make: Callable[[Ledger], Driven[C]]
) -> None:
    """Drive a flow; where its process dies, everything is opened anew."""
    crash, world.crash = world.crash, None
    before = list(step.before_append)

    def tell(where: str) -> None:
        if where == "before-append":
            _take_all(world, before, driver)
        if where == crash:
            raise Died

    ledger = copy(world.ledger)
    ledger.book = cast("Book", WatchedBook(ledger.book, tell))  # it does what a flow asks of a book
    try:
        _note(world, judge, driver.one(make(ledger), judge))
    except Died:
        world.reload()


def _take_all(world: World, steps: list[Step], driver: Driver) -> None:
    """Take each of these once: what somebody else does meanwhile, and what is refused is theirs."""
    while steps:
        with suppress(Refused, InvalidEvent):
            _do(world, steps.pop(0), driver)


def _race(world: World, sessions: tuple[str, ...], driver: Driver) -> None:
    """Let several sessions, each with the store opened for itself, settle one run at once."""
    run, world.idle = Draft(world.settled(Settle())), True
    judge = _script(world, None, together=len(sessions))
    opened = world.others(sessions)
    try:
        ledgers = [
            Ledger(books.book, world.ledger.stream, by, books.options)
            for books, by in zip(opened, sessions, strict=True)
        ]
        flows = [_settling(world, ledger, run, ledger.session, judge) for ledger in ledgers]
        for came in driver.race(flows, judge):
            _note(world, judge, came)
    finally:
        for books in opened:
            if books is not world.books:
                books.close()


def _judge(world: World, step: Step, verb: Flowing, driver: Driver) -> Script | None:
    during = list(step.during)
    return _script(world, verb, lambda: _take_all(world, during, driver))


def _script(
    world: World, verb: Flowing | None, during: Callable[[], None] = lambda: None, together: int = 1
) -> Script | None:
    """The judge of a step; nobody where neither the scenario nor the step has one."""
    says = world.says(verb.judge if verb else None)
    return Script(says, during, together) if says else None


def _note(world: World, judge: Script | None, came: Settlement | CloseAnswer) -> None:
    """Add to what was seen in this step."""
    advice = (came.advice,) if came.advice else ()
    asked = tuple(json.dumps(packet.state, ensure_ascii=False) for packet in judge.asked) if judge else ()
    closed = came if isinstance(came, CloseAnswer) else None
    world.later += came.later
    seen = world.seen
    world.seen = Seen((*seen.advice, *advice), (*seen.trace, *came.trace), asked, closed or seen.closed)
