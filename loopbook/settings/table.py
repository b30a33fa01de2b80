"""Everything that can be set: one row each.

A row without ``stricter`` may not stand in a project's file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from loopbook.kinds_draw import alternatives
from loopbook.limits import (
    JUDGE_URL,
    MAX_CONTINUATIONS,
    SETTLE_SEC,
    SUBAGENT_TOOLS,
    WAITING_TOOLS,
    Thresholds,
)
from loopbook.places import default_store
from loopbook.settings import readers as read
from loopbook.settings.readers import Join, Reader

#: A default, from the environment and the system's name.
Default = Callable[[Mapping[str, str], str], object]
#: What a setting can be, looked up when somebody is told.
Names = Callable[[], tuple[str, ...]]


class Setting(NamedTuple):
    """One row of the table. ``read`` checks a raw value or raises ``ValueError`` with what it must be.

    ``weak`` is somebody else's variable: it counts where nobody says otherwise. ``names`` are the words
    that it can be, where they stand in a table of their own.
    """

    meaning: str
    read: Reader
    default: Default
    variable: str | None = None
    stricter: Join | None = None
    weak: str | None = None
    names: Names | None = None

    def words(self) -> str:
        """What it means, and all that it can be: for people.

        >>> SETTINGS["judge_dialect"].words()[:80]
        'what the server speaks, where its address does not tell: typesafe, openrouter, o'
        """
        return f"{self.meaning}: {alternatives(self.names())}" if self.names else self.meaning


def _dialects() -> tuple[str, ...]:
    from loopbook.judges.system_one.dialects import BY_NAME  # with all of the judge, which is seldom told of

    return tuple(BY_NAME)


def _always(value: object) -> Default:
    return lambda _environ, _platform: value


SETTINGS: Mapping[str, Setting] = {
    "store": Setting("URL of the store that keeps the books", read.text, default_store, "LOOPBOOK_STORE"),
    "kinds_dir": Setting(
        "folder with your own loop kinds (*.toml)", read.folder, _always(None), "LOOPBOOK_KINDS_DIR"
    ),
    "review_tier": Setting(
        "least review a new loop asks for: none, light or full",
        read.tier,
        _always("light"),
        "LOOPBOOK_REVIEW_TIER",
        read.higher_tier,
    ),
    "checks": Setting(
        "commands that count as checks, each with its folder and scope", read.checks, _always(())
    ),
    "judge_url": Setting(
        "address of the judge's server",
        read.text,
        _always(JUDGE_URL),
        "LOOPBOOK_JUDGE_URL",
        weak="TYPESAFE_BASE_URL",  # whoever has that means it to go with TYPESAFE_API_KEY
    ),
    "judge_model": Setting(
        "model that is asked; else the server's usual one", read.text, _always(None), "LOOPBOOK_JUDGE_MODEL"
    ),
    "judge_dialect": Setting(
        "what the server speaks, where its address does not tell",
        read.text,
        _always(None),
        "LOOPBOOK_JUDGE_DIALECT",
        names=_dialects,
    ),
    "judge_timeout": Setting(
        "seconds that one settle may spend on asking",
        read.number(0.1, 600),
        _always(SETTLE_SEC),
        "LOOPBOOK_JUDGE_TIMEOUT",
    ),
    "judge_allow_http": Setting(
        "whether plain http to another machine is allowed: the key and the record go in clear",
        read.truth,
        _always(False),
        "LOOPBOOK_JUDGE_ALLOW_HTTP",
    ),
    "judge_price": Setting(
        "US dollars for a million input tokens; of that and what the server tells the larger counts",
        read.number(0, 1_000_000),
        _always(None),
        "LOOPBOOK_JUDGE_PRICE",
    ),
    "judge_output_price": Setting(
        "the same for a million output tokens; else they are free",
        read.number(0, 1_000_000),
        _always(None),
        "LOOPBOOK_JUDGE_OUTPUT_PRICE",
    ),
    "judge_cap": Setting(
        "US dollars that the judgments of one book may cost; no more is asked after that",
        read.number(0, 1_000_000),
        _always(None),
        "LOOPBOOK_JUDGE_CAP",
    ),
    "second_thought": Setting(
        "whether second thought speaks", read.truth, _always(True), "LOOPBOOK_SECOND_THOUGHT", read.only_off
    ),
    "done_threshold": Setting(
        "below this chance, 0 to 1, a close is not shown to meet its intent",
        read.number(0, 1),
        _always(Thresholds().done),
        "LOOPBOOK_DONE_THRESHOLD",
        read.higher,
    ),
    "quality_threshold": Setting(
        "below this level, 0 to 3, the work reads thin",
        read.number(0, 3),
        _always(Thresholds().quality),
        "LOOPBOOK_QUALITY_THRESHOLD",
        read.higher,
    ),
    "max_continuations": Setting(
        f'how many runs are continued between two human prompts, or "{read.UNLIMITED}"',
        read.bound,
        _always(MAX_CONTINUATIONS),
        "LOOPBOOK_MAX_CONTINUATIONS",
        read.lower_bound,
    ),
    "waiting_tools": Setting(
        "tools after which a run waits for something outside of it",
        read.names,
        _always(tuple(sorted(WAITING_TOOLS))),
        None,
        read.both_names,
    ),
    "subagent_tools": Setting(
        "tools that send out a child, each with the field of its input that names it",
        read.fields,
        _always(dict(SUBAGENT_TOOLS)),
        None,
        read.both_fields,
    ),
}
