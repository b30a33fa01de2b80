"""The reading side: pure folds of a book's entries into one bounded state. No I/O, no clock."""

from __future__ import annotations

from loopbook.projections.evolve import evolve, fold, take
from loopbook.projections.folding import Folding
from loopbook.projections.phases import Position, position, verify_state
from loopbook.projections.state import EMPTY, FOLD_VERSION, BookState
from loopbook.projections.verification import record_of

__all__ = [
    "EMPTY",
    "FOLD_VERSION",
    "BookState",
    "Folding",
    "Position",
    "evolve",
    "fold",
    "position",
    "record_of",
    "take",
    "verify_state",
]
