"""What differs between what a step expects and what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from loopbook.events import Judged, Noticed
from loopbook.projections import phases
from loopbook.testing.scenario_model import Expect
from loopbook.testing.world import Seen, World

#: What was looked at, what was expected of it, and what was seen.
Look = tuple[str, object, object]


def looks(world: World, expect: Expect) -> Iterable[Look]:
    """What differs from the expectation, in the order it is looked at."""
    yield from _advice_looks(world.seen, expect)
    if wanted := expect.phase:
        position = phases.position(world.ledger.state, wanted.unit)
        if wanted.current not in (None, position.current):
            yield "phase.current", repr(wanted.current), repr(position.current)
        if wanted.next not in (None, position.next):
            yield "phase.next", repr(wanted.next), repr(position.next)
        missing = "; ".join(position.missing)
        if wanted.missing is not None and wanted.missing not in missing:
            yield "phase.missing", f"{wanted.missing!r} in it", repr(missing)
    for what, wanted_value, see in _PLAIN:
        if (value := wanted_value(expect)) is not None and value != (seen := see(world)):
            yield what, repr(value), repr(seen)


def _advice_looks(seen: Seen, expect: Expect) -> Iterable[Look]:
    """What differs in what was said and asked."""
    for words, there, text in (
        (expect.says, True, seen.text),
        (expect.not_says, False, seen.text),
        (expect.asked, True, "\n".join(seen.asked)),
        (expect.asked_not, False, "\n".join(seen.asked)),
    ):
        what = "said" if text is seen.text else "asked"
        for word in words:
            if (word in text) is not there:
                yield what, f"{word!r} {'in' if there else 'not in'} it", repr(text)
    if expect.concerns is not None:
        concerns = seen.closed.concerns if seen.closed else ()
        if sorted(expect.concerns) != sorted(concerns):
            yield "concerns", repr(expect.concerns), repr(concerns)


def _count(kind: type[Noticed] | type[Judged]) -> Callable[[World], int]:
    return lambda world: sum(isinstance(entry.event, kind) for entry in world.ledger.entries())


def _judged_unit(world: World) -> str | None:
    return next((one.unit for one in reversed(world.seen.trace) if one.judged), None)


#: Expectations that are one value: the word, what is expected, what is seen.
_PLAIN: tuple[tuple[str, Callable[[Expect], object], Callable[[World], object]], ...] = (
    ("judged", lambda expect: expect.judged, lambda world: any(one.judged for one in world.seen.trace)),
    ("speaks", lambda expect: expect.speaks, lambda world: bool(world.seen.advice)),
    (
        "continues",
        lambda expect: expect.continues,
        lambda world: any(one.continues for one in world.seen.advice),
    ),
    ("quiet", lambda expect: expect.quiet, lambda world: world.seen.quiet),
    ("unit", lambda expect: expect.unit, _judged_unit),
    ("verify", lambda expect: expect.verify, lambda world: phases.verify_state(world.ledger.state)),
    ("closed", lambda expect: expect.closed, lambda world: world.ledger.state.life.outcome is not None),
    ("notices", lambda expect: expect.notices, _count(Noticed)),
    ("judgments", lambda expect: expect.judgments, _count(Judged)),
)
