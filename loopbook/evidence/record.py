"""What a claim is held against: the checks a book knows, as the projection keeps them.

Bounded by scopes and by what is failing, not by what happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from loopbook.events import Outcome, Scope


class Ran(NamedTuple):
    """A check's last result: what was run, how it ended, and where that stands (seq, file line)."""

    scope: Scope
    command: str
    outcome: Outcome
    exit_code: int | None = None
    runner: str | None = None
    masked: bool = False
    seq: int = 0
    line: int | None = None
    by: str | None = None


class Record(NamedTuple):
    """The checks at one version of a book.

    ``failing``: checks since the last change whose last known outcome is a failure, oldest first.
    ``newest``: per scope the newest result since the last change, unknown ones among them.
    ``passing``: per scope the newest pass since the last change. ``whole``: the newest pass since then
    of a test run that nothing narrowed. ``before``: per scope the newest result from before the last
    change. ``surely_no_check``: every command since the last change is recognised as no check.
    ``possibly_stale``: a command that may write files followed the last pass.
    """

    failing: tuple[Ran, ...] = ()
    newest: Mapping[Scope, Ran] = {}
    passing: Mapping[Scope, Ran] = {}
    whole: Ran | None = None
    before: Mapping[Scope, Ran] = {}
    last_change: int | None = None
    last_change_line: int | None = None
    surely_no_check: bool = True
    possibly_stale: bool = False
