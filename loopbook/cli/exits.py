"""Exit codes, and the one line that every error becomes.

Theory. A script that calls loopbook branches on the code alone, so the codes are one table, shown
in ``loopbook --help`` and in docs/commands.md. An error is one line on stderr: what happened;
what was kept; what to do. Only a fault of loopbook itself has a traceback to show, and only
where ``LOOPBOOK_DEBUG=1`` asks for it.
"""

from __future__ import annotations

from typing import NamedTuple

from loopbook.errors import ChangedMeanwhile, LoopbookError, Stale, StoreError, TranscriptUnreadable


class ExitCode(NamedTuple):
    """A code and what it tells the caller."""

    code: int
    meaning: str


OK, FOUND, USAGE, STORE, BUG, INTERRUPTED, PIPE = 0, 1, 2, 3, 4, 130, 141
#: What ``settle --exit-code`` tells.
SPOKEN, CONTINUE, CLOSED = 10, 11, 12

EXIT_CODES: tuple[ExitCode, ...] = (
    ExitCode(OK, "done, nothing to object"),
    ExitCode(
        FOUND,
        "done, and the answer is no: a scenario fails, --fail-on is hit, a kind is invalid, a loop stays"
        " open or is (status --exit-code), a replay differs",
    ),
    ExitCode(
        USAGE, "the caller's mistake: option, id, event, settings or scenario file; nothing was written"
    ),
    ExitCode(STORE, "a store or file cannot be opened, read or written, or is no session"),
    ExitCode(BUG, "a fault of loopbook itself"),
    ExitCode(SPOKEN, "settle --exit-code: something was said, and the run ends all the same"),
    ExitCode(CONTINUE, "settle --exit-code: something was said, and the run should go on with it"),
    ExitCode(
        CLOSED, "settle --exit-code: the loop was open and is closed now; there is nothing to go on with"
    ),
    ExitCode(INTERRUPTED, "stopped by Ctrl-C"),
    ExitCode(PIPE, "nobody reads the output any more"),
)


def code_for(error: Exception) -> int:
    """The exit code an error ends the program with.

    >>> code_for(FileNotFoundError("x")), code_for(KeyError("x"))
    (3, 4)
    """
    if isinstance(error, StoreError | TranscriptUnreadable | Stale | ChangedMeanwhile | OSError):
        return STORE
    return USAGE if isinstance(error, LoopbookError) else BUG


def explain(error: Exception) -> str:
    """The words of an error, before they are made one line.

    >>> explain(FileNotFoundError(2, "No such file or directory", "a.yaml"))
    'a.yaml: no such file or directory; nothing was written; check the path'
    """
    if isinstance(error, LoopbookError):
        return str(error)
    if isinstance(error, OSError):
        reason = (error.strerror or str(error) or type(error).__name__).lower()
        if not error.filename:  # what is open already can be written no more, such as standard output
            return f"{reason}; what was already written is kept; check where the output goes"
        remedy = "name a new file" if isinstance(error, FileExistsError) else "check the path"
        return f"{error.filename}: {reason}; nothing was written; {remedy}"
    return (
        f"a fault of loopbook itself ({type(error).__name__}: {error}); what was already appended is kept;"
        " run it again with LOOPBOOK_DEBUG=1 for the traceback, and report it"
    )
