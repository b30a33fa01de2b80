"""What a decision rests on that no entry before it tells, so that a book can be decided again.

Theory. A decision is made of the state before it, which is the fold of the entries before it, and of
what came from outside: which rules and settings held, what was asked and answered, whether the session
was still idle, how many runs may be continued. What came from outside is kept with the decision, as far
as it is not what it would be anyway; so most of it is empty. A judgment keeps its answers, thresholds
and versions itself, and what rests on it does not keep them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue


class Basis(NamedTuple):
    """What came from outside.

    ``versions`` of the rules, ``thresholds``, and ``settings`` that are not that version's own.
    ``packets`` are the digests of what was asked, in order; ``at_close``: about a close. ``failure`` is
    the kind of a failed answer, ``answers`` are those of an answer that is no judgment. ``judge``: there
    was one; ``idle``: the session still was; ``observed``: the answer was only to be kept.
    ``declared`` is the seq of the close it was about where that one is not pending any more.
    ``max_continuations`` is how many runs might be continued (``None``: any number).

    >>> Basis(idle=False, packets=("ab",)).to_json()
    {'packets': ['ab'], 'idle': False}
    >>> Basis.read(Basis(idle=False, packets=("ab",)).to_json()) == Basis(idle=False, packets=("ab",))
    True
    """

    versions: Mapping[str, str] = {}
    thresholds: Mapping[str, float] = {}
    settings: Mapping[str, JsonValue] = {}
    packets: tuple[str, ...] = ()
    at_close: bool = False
    answers: Mapping[str, JsonValue] = {}
    failure: str = ""
    judge: bool = True
    idle: bool = True
    observed: bool = False
    declared: int = 0
    max_continuations: int | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """As it is kept: only what is not as it would be anyway."""
        usual = self._field_defaults
        kept = {name: value for name, value in self._asdict().items() if value != usual[name]}
        if self.packets:
            kept["packets"] = list(self.packets)
        return kept

    @classmethod
    def read(cls, kept: Mapping[str, JsonValue]) -> Basis:
        """What was kept; a value that can be none of its field's is as it would be anyway."""
        declared = kept.get("declared")
        packets, failure, most = kept.get("packets"), kept.get("failure"), kept.get("max_continuations")
        return cls(
            versions={key: one for key, one in _object(kept, "versions").items() if isinstance(one, str)},
            thresholds={
                key: float(one)
                for key, one in _object(kept, "thresholds").items()
                if isinstance(one, int | float)
            },
            settings=_object(kept, "settings"),
            packets=tuple(map(str, packets)) if isinstance(packets, list) else (),
            at_close=kept.get("at_close") is True,
            answers=_object(kept, "answers"),
            failure=failure if isinstance(failure, str) else "",
            judge=kept.get("judge") is not False,
            idle=kept.get("idle") is not False,
            observed=kept.get("observed") is True,
            declared=declared if isinstance(declared, int) else 0,
            max_continuations=most if isinstance(most, int) else None,
        )


def _object(kept: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    found = kept.get(name)
    return found if isinstance(found, dict) else {}
