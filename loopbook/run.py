"""What is kept of one run, the same for every host and transcript.

An advisor that needs more adds it here, for all; none reads a transcript. Everything is
bounded, so that an entry's size depends on these numbers and not on the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loopbook.errors import InvalidEvent

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # which has no public name

#: Bounds, in characters (code points) or items.
PROMPT_CHARS = 8_000
FINAL_TEXT_CHARS = 4_000  # kept from each end
LINES = 20
LINES_CHARS = 24_000
CALLS = 200
INPUT_CHARS = 2_000
OUTPUT_TAIL_CHARS = 1_500

Stop = Literal["end", "length", "error", "aborted"]
ToolKind = Literal[
    "command", "edit", "write", "read", "search", "fetch", "question", "plan",
    "todos", "agent", "output", "wait", "message", "other",
]  # fmt: skip


class _StrictByHand(ModelMetaclass):
    """Checks names and values of fields where a model is called, and only there.

    What is wrong is told in our own words. Reading goes through pydantic-core, which makes models without
    calling them. A ``__new__`` or ``__init__`` that checks would be called by it too: a third of the time
    of reading.
    """

    __pydantic_fields__: Mapping[str, object]

    # Nobody registers as a model. Asking abc too makes each ``isinstance`` and ``case`` ten times as slow.
    __instancecheck__ = type.__instancecheck__

    def __call__(self, *args: object, **fields: object) -> object:
        known = self.__pydantic_fields__
        if not fields.keys() <= known.keys():
            unknown = next(name for name in fields if name not in known)
            raise TypeError(f"{self.__name__} has no field {unknown!r}")
        try:
            return super().__call__(*args, **fields)
        except ValidationError as wrong:
            raise invalid(self.__name__, wrong) from None


def invalid(name: str, wrong: ValidationError) -> InvalidEvent:
    """What is wrong with the fields of something, in one sentence: all that is missing, else the first."""
    found = wrong.errors(include_url=False, include_context=False, include_input=False)
    first = next((one for one in found if one["type"] == "missing"), found[0])
    missing = [".".join(map(str, one["loc"])) for one in found if one["type"] == "missing"]
    wrongly = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    verb = "is" if len(missing) == 1 else "are"
    what = f"{', '.join(missing)} {verb} missing" if missing else wrongly
    return InvalidEvent(f"{name}: {what}", first["loc"])


class RecordModel(BaseModel, metaclass=_StrictByHand):
    """A frozen value: strict when built by hand, keeping unknown fields when read from a book."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # most processes meet few of the forty classes; to build all is most of the import
    )


class Line(RecordModel):
    """One message of a run; ``text`` is cut so that all of a run's lines fit the bounds."""

    role: Literal["user", "assistant", "tool", "system"]
    text: str


class Call(RecordModel):
    """One tool call of a run, and for commands how it ended.

    ``check`` says whether a command is a check: ``no`` is said only when every part of it is
    recognised as none. ``masked``: its exit code does not speak for the check in it. ``writes``:
    it may have written files. ``output_hash`` is the first 16 hex digits of SHA-256 over the
    whole output, ``output_chars`` its length in characters before any cut.
    """

    ref: str
    tool: str
    kind: ToolKind = "other"
    input: str = ""
    outcome: Literal["pass", "fail", "unknown"] | None = None
    exit_code: int | None = None
    check: Literal["yes", "no", "unsure"] | None = None
    masked: bool = False
    writes: bool = False
    ran: bool = True
    output_tail: str = ""
    output_chars: int = Field(default=0, ge=0)
    output_hash: str = ""
    error: str | None = None
    produced: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    child: str | None = None
    by: str | None = None
    line: int | None = None


class ChildState(RecordModel):
    """What the host says of a child; ``last_write`` is when its session file was written, if known."""

    state: Literal["out", "gone", "unknown"] = "unknown"
    last_write: datetime | None = None


class GitState(RecordModel):
    """What two read-only git commands said; ``available`` is false when there was nothing to ask."""

    available: bool = False
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    insertions: int | None = None
    deletions: int | None = None
    head: str | None = None


class Observed(RecordModel):
    """What the host saw when the run settled: the only clock and world a decision has."""

    now: datetime | None = None
    children: Mapping[str, ChildState] = Field(default_factory=dict)
    git: GitState | None = None
    idle: bool = True
    editor_empty: bool = True
    subagent: bool = False
