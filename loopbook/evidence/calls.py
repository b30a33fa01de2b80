"""A tool call as every host and transcript hands it in: the input of evidence.

A reader's whole duty is to fill these values truthfully; what they mean is decided here, once,
for all hosts. ``kind`` comes from the host's own table of tool names.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from loopbook.run import ToolKind

#: How a call came back. ``refused`` (a user's or hook's no), ``never_ran`` (a sibling's error,
#: input rejected) and ``interrupted`` before it ran are no runs; ``background`` goes on elsewhere.
Status = Literal["ok", "error", "refused", "never_ran", "interrupted", "background"]


class CallResult(NamedTuple):
    """What came back.

    ``exit_code`` is the host's, of the whole command line, where the host gives one. ``data`` is
    the structured result where the host gives one. ``task`` names the background task it moved to.
    """

    status: Status
    text: str = ""
    exit_code: int | None = None
    data: Mapping[str, object] | None = None
    task: str | None = None
    line: int | None = None
    at: datetime | None = None


class ToolCall(NamedTuple):
    """One call with its result. ``by`` is the sub-agent that made it (``None``: the main agent).

    For kind ``output`` (reading a background task) ``task`` names the task that was read, and
    ``result`` holds what the task said: status ``background`` while it still runs.
    """

    ref: str
    tool: str
    kind: ToolKind
    input: Mapping[str, object]
    result: CallResult | None = None
    by: str | None = None
    child: str | None = None
    task: str | None = None
    cwd: str | None = None
    line: int | None = None
