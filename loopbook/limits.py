"""How books are kept and runs settled where a caller says nothing else.

Here, so that whoever only records, or reads the settings, need not import what settles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopbook.advisors.shape import Advisor
    from loopbook.events import Scope, Tier

#: How long one settle may ask, and how long what was put off, in seconds.
SETTLE_SEC = 8.0
DELIVER_SEC = 90.0
#: The longest that anybody may be asked to wait, in seconds: what a setting may say, and a caller.
MAX_SEC = 600.0
#: How many runs are continued between two human prompts, over all advisors.
MAX_CONTINUATIONS = 8
#: The judge's server that is asked where nobody says otherwise.
JUDGE_URL = "https://api.typesafe.ai"


class Options(NamedTuple):
    """How some books are kept where a call does not say otherwise.

    ``advisors`` are those that may speak (``None``: all). ``timeout`` is how long one settle may ask, in
    seconds. ``max_continuations``: ``None`` lifts the bound. ``cap_usd`` is what the answers of one book
    may cost: over it, nobody is asked. ``review_tier`` is the least review that a new loop asks for.
    ``checks`` are commands of your own that count as checks, each with its scope, such as
    ``("./verify-all", "tests")``: what a recorded ``Check`` without a scope is read by.
    """

    advisors: Sequence[Advisor] | None = None
    timeout: float = SETTLE_SEC
    max_continuations: int | None = MAX_CONTINUATIONS
    cap_usd: float | None = None
    review_tier: Tier = "light"
    checks: tuple[tuple[str, Scope], ...] = ()


# --- second thought ----------------------------------------------------------------------

#: Tools after which a run waits for something outside of it.
WAITING_TOOLS = frozenset({"MonitorCreate", "LoopCreate", "goal_wait"})
#: Tools that send out a child, and the field of their input that may name it.
SUBAGENT_TOOLS: Mapping[str, str] = {"subagent": "child"}

#: Variables that make a session a sub-agent's where one of them is set and not empty.
SUBAGENT_VARIABLES = ("PI_SUBAGENT_ID", "PI_SUBAGENT_CHILD")


class Thresholds(NamedTuple):
    """Below ``done`` a close is not shown to be met; below ``quality`` the work reads thin."""

    done: float = 0.5
    quality: float = 1.5
