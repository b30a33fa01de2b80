"""Every error loopbook raises for a caller's mistake, one situation a class.

Each message says what happened, what was kept and what to do. Every class is a
``LoopbookError`` and also the builtin a caller would already catch, so ``except ValueError``
around a wrong follow-up works without importing this module.
"""

from __future__ import annotations


class LoopbookError(Exception):
    """The root: catch it to catch whatever loopbook has to say to its caller."""


class InvalidArgument(LoopbookError, TypeError):
    """Raised for an argument that a call does not know, or of a type that it does not take; nothing was
    written."""


# --- what an event must be -----------------------------------------------------------


class InvalidEvent(LoopbookError, ValueError):
    """Raised for an event of unknown type, or whose fields are not those of its type.

    ``where`` is the path of the wrong field within the mapping the event was built from.
    """

    def __init__(self, what: str, where: tuple[str | int, ...] = ()) -> None:
        super().__init__(f"{what}; nothing was written; correct the event and give it again")
        self.what = what
        self.where = where


# --- what an event asks of a book -------------------------------------------------


class Refused(LoopbookError, ValueError):
    """Raised when a book does not admit an event; the book is unchanged."""


class InvalidFollowUp(Refused):
    """Raised for a follow-up that is neither 1 to 200 characters nor an object with a ref."""


class UnknownUnit(Refused, LookupError):
    """Raised when an event names a unit that was never added to the loop."""


class UnknownTodo(Refused, LookupError):
    """Raised when an event names a todo that was never opened."""


class AlreadyUsed(Refused):
    """Raised when an id of a todo, unit or finding is used a second time."""


class AlreadyEnded(Refused):
    """Raised when something that is done, dropped or closed is ended again."""


class LoopClosed(Refused):
    """Raised when something is appended to a closed loop: reopen it first."""


class Stale(LoopbookError, RuntimeError):
    """Raised when a book has grown since the version an append was conditional on."""

    def __init__(self, stream: str, after: int) -> None:
        super().__init__(
            f"{stream} has grown since version {after}; nothing was appended. Catch up and decide again."
        )
        self.stream = stream
        self.after = after


class ChangedMeanwhile(LoopbookError, RuntimeError):
    """Raised when entries were forgotten, scrubbed or written anew between two that were read."""

    def __init__(self, stream: str, after: int) -> None:
        super().__init__(
            f"{stream} changed while it was read: seq {after} does not stand there any more as it was read;"
            " what was read so far is of another moment; read it again from the beginning"
        )
        self.stream = stream
        self.after = after


# --- what a store may hold ---------------------------------------------------------


class StoreError(LoopbookError, OSError):
    """The family of everything that can be wrong with a store."""


class StoreURLInvalid(StoreError, ValueError):
    """Raised for a store URL that names no store loopbook knows."""


class StoreUnavailable(StoreError):
    """Raised when a store cannot be opened or written: missing folder, read-only, full, locked."""


class ForeignStore(StoreError):
    """Raised for a file or database that is not a loopbook store."""


class NewerStore(StoreError):
    """Raised when a newer loopbook wrote the store; it is left as it is."""


class DamagedEntry(StoreError, ValueError):
    """Raised when a stored row cannot be read as the entry it must be."""


class ParentMissing(DamagedEntry):
    """Raised when a fork is read whose parent is not in the store any more."""

    def __init__(self, stream: str, parent: str) -> None:
        super().__init__(
            f"{stream} is a fork of {parent}, which is not in the store any more; the fork's own entries"
            f" were left as they are; bring {parent} back from a copy or an export"
        )
        self.stream = stream
        self.parent = parent


class VersionGap(StoreError, ValueError):
    """Raised when an entry is not the one that follows the state it is folded into."""

    def __init__(self, stream: str, version: int, came: int) -> None:
        super().__init__(
            f"{stream}: entry {came} came after version {version}; the state was kept at {version}. "
            "Read the stream again from there; if the entry is not stored, the book is damaged."
        )
        self.stream = stream
        self.version = version
        self.came = came


class InvalidLoopId(LoopbookError, ValueError):
    """Raised for a loop's id that could not stand in the name of a stream."""


class NoSuchLoop(LoopbookError, LookupError):
    """Raised when no loop of this id is in the store."""


class CannotFork(LoopbookError, ValueError):
    """Raised when a loop cannot be forked there: it has no such entry, or is itself too deep a fork."""


# --- upkeep -------------------------------------------------------------------------


class CannotForget(LoopbookError, ValueError):
    """Raised when a loop cannot be removed, because forks of it would be left without their beginning."""


class CannotScrub(LoopbookError, ValueError):
    """Raised when texts cannot be taken out of a book as asked; the book is unchanged."""


class NewerExport(StoreError):
    """Raised for an export that a newer loopbook wrote; nothing of it was imported."""


# --- what people write --------------------------------------------------------------


class InvalidKind(LoopbookError, ValueError):
    """Raised for a loop kind that does not hold together; names file, key and remedy."""


class UnknownKind(LoopbookError, LookupError):
    """Raised when a loop asks for a kind that is neither built in nor among the user's."""


class MissingExtra(LoopbookError, ImportError):
    """Raised when something is used that needs a package of an extra which is not installed."""


class InvalidScenario(LoopbookError, ValueError):
    """Raised for a scenario file that cannot be run; names file and line."""


class InvalidSettings(LoopbookError, ValueError):
    """Raised for a setting that is unknown, of the wrong type or not allowed where it stands."""


class TranscriptUnreadable(LoopbookError, OSError):
    """Raised when a session file cannot be read at all, or holds no session."""


class BookDiffers(LoopbookError, ValueError):
    """Raised when the book of a session was begun from another file than the one to be audited."""


class NothingDecided(LoopbookError, LookupError):
    """Raised for an entry at which nothing was decided, or that a book has not: there is nothing to
    explain."""


# --- the judge ----------------------------------------------------------------------


class InvalidTimeout(LoopbookError, ValueError):
    """Raised for a time to ask within that is no number of seconds, or too many."""


class UnknownDialect(LoopbookError, LookupError):
    """Raised for a judge's dialect that is not in the table."""


class InvalidKey(LoopbookError, ValueError):
    """Raised for a key that no server has given out; it is not shown."""


class KeyFileRefused(LoopbookError, PermissionError):
    """Raised for a key file that others may read, or that cannot be read as one; no key was taken."""


class InvalidScript(LoopbookError, ValueError):
    """Raised for what a scripted judge cannot say: no line, or a failure, question or value that is none."""


class InvalidPacket(LoopbookError, ValueError):
    """Raised for a file of questions to a judge that cannot be asked; names the place in it."""
