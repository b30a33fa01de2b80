"""When two states are as good as one: all that comes after is the same.

Theory. A seq is only ever compared with another seq, so what a state leads to does not depend on how
large its seqs are, only on their order; and of the seq that a step is told by (``verify@7``) it only
matters whether it is the same. ``same_as`` puts ranks in their place, and leaves out what is over: which
runs and prompts there were, what answers have cost.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping

from loopbook.evidence.record import Ran
from loopbook.projections import BookState
from loopbook.projections.state import (
    Heard,
    LastEvidence,
    Life,
    Notice,
    OpenFinding,
    Runs,
    Todo,
    Unit,
    Work,
)

#: The fields that hold seqs.
_SEQS: Mapping[type, frozenset[str]] = {
    Work: frozenset({"last", "matches", "full", "clean"}),
    OpenFinding: frozenset({"seq"}),
    Ran: frozenset({"seq"}),
    LastEvidence: frozenset({"seq"}),
    Notice: frozenset({"seq", "trigger", "judged"}),
    Heard: frozenset({"judged", "read_to", "asked"}),
    Unit: frozenset({"started", "ended"}),
    Todo: frozenset({"opened", "loose", "named"}),
    Runs: frozenset({"open", "bound", "continued"}),
    Life: frozenset({"opened", "declared"}),
}
#: What is over; and the newest seq, which all that comes is beyond.
_OVER: Mapping[type, frozenset[str]] = {
    BookState: frozenset({"version", "spent"}),
    Runs: frozenset({"prompt", "human", "tasks", "settled", "last", "undelivered"}),
}
_IN_KEY = re.compile(r"(?<=@)(\d+)")
_NONE: frozenset[str] = frozenset()


class _Seq(int):
    """A seq among what a state holds."""


class _Step(int):
    """The seq that a step is told by."""


def same_as(state: BookState) -> Hashable:
    """What is equal for states after which the same comes, as long as no old run is settled again.

    >>> from loopbook.events import TodoOpened, Watch
    >>> from loopbook.testing.sheet import Sheet
    >>> todo = TodoOpened(todo="t1", subject="x")
    >>> one, two = Sheet().add(todo), Sheet().add(Watch(text="ci")).add(todo)
    >>> same_as(one.state) == same_as(two.state), same_as(one.state) == same_as(Sheet().state)
    (True, False)
    """
    held: list[object] = []
    _hold(state, held, of_seqs=False)
    seqs = {seq: rank for rank, seq in enumerate(sorted({0, *(one for one in held if type(one) is _Seq)}))}
    steps = {step: n for n, step in enumerate(dict.fromkeys(one for one in held if type(one) is _Step))}
    return tuple(
        seqs[one] if type(one) is _Seq else steps[one] if type(one) is _Step else one for one in held
    )


def _hold(value: object, held: list[object], *, of_seqs: bool) -> None:
    """Add what is in a value, one after another, with what tells where a part begins."""
    if isinstance(value, tuple):
        of = type(value)
        held.append(len(value))
        if of is tuple:
            for item in value:
                _hold(item, held, of_seqs=of_seqs)
            return
        over, seqs = _OVER.get(of, _NONE), _SEQS.get(of, _NONE)
        for name, field in zip(of._fields, value, strict=True):  # type: ignore[attr-defined]  # a NamedTuple
            if name == "since":
                held.append(_Step(field))
            elif name not in over:
                _hold(field, held, of_seqs=name in seqs)
    elif type(value) is dict:
        held.append(len(value))
        for key, item in value.items():
            held.append(key)
            _hold(item, held, of_seqs=of_seqs)
    elif of_seqs and type(value) is int:
        held.append(_Seq(value))
    elif type(value) is str and "@" in value:
        parts = _IN_KEY.split(value)
        held += (_Step(part) if part.isdigit() else part for part in parts)
    else:
        held.append(value)
