"""A process that forks: nobody is within SQLite meanwhile, and nothing of it goes with the child.

Theory. A child has its parent's memory and one of its threads. A mutex of SQLite that another thread
held is held in it for ever. And what SQLite remembers of a file that is open is the parent's: which
locks *the process* has, what it shares with others. Even a new connection of the child's would trust
in locks that it has not. So whoever uses SQLite passes a gate. A fork shuts it, waits until all have
come out, and has everything closed that is open; then parent and child connect anew.

A scan is within only while it fetches a row, and may be left alone between two for ever: a fork
lets it go on for a second, and then has it aside. Who forks amid such a scan, or a scan or load of
his own, or while another thread is within for more than ten seconds, takes open connections along.
Of such a file the child is told that it cannot use it.

A server's connections are left as they are in the child, which makes its own; the gate is for what its
driver locks. A store in memory is copied; there it is enough that nobody is changing it. And pydantic
builds a model when it is first used, under one lock, which must not be held by a thread either.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, RLock, get_ident
from typing import Protocol
from weakref import WeakSet

import pydantic.main

#: Seconds that a fork waits for other threads to come out.
PATIENCE = 10.0
#: Seconds that it waits for scans of other threads to end.
SCANS = 1.0


class Forkable(Protocol):
    """What wants to know of a fork."""

    def before_fork(self) -> None:
        """The process is about to fork; nobody but this thread is within the gate."""

    def after_fork(self) -> None:
        """It has, in the parent as in the child."""


class Gate:
    """Who is within, and of which files; it lets nobody in while the process forks.

    >>> gate = Gate()
    >>> thread = gate.enter(Path("books.db"))
    >>> gate.shut(), gate.inside()
    (None, [PosixPath('books.db')])
    >>> gate.leave(Path("books.db"), thread)
    >>> gate.inside(), gate.open()
    ([], None)
    """

    def __init__(self) -> None:
        self._known: WeakSet[Forkable] = WeakSet()
        self.reset()

    def reset(self) -> None:
        """Nobody is within; what a child begins with, whose parent's lock may have been held."""
        # A store that nobody holds any more is closed by the collector, whatever this thread is amid.
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._inside: dict[int, list[Path | None]] = {}
        self._held: list[tuple[int, Path]] = []
        self._draining = False
        self._shut = False

    def register(self, one: Forkable) -> None:
        """Tell somebody of forks as long as he lives."""
        with self._lock:
            self._known.add(one)

    def known(self) -> list[Forkable]:
        """Those who are told."""
        with self._lock:
            return [*self._known]

    def enter(self, path: Path | None) -> int:
        """Go in, after a fork that is under way; whoever is within already is let in again.

        ``path`` is the file that is used; ``None`` for a server, whose driver has its locks as well.

        Returns the thread, which ``leave`` is told where another one may come out for it.
        """
        me = get_ident()
        with self._lock:
            if me in self._inside:
                self._inside[me].append(path)
                return me
            while self._shut and not (self._draining and self._holds(me)):
                self._changed.wait()
            self._inside[me] = [path]
        return me

    def leave(self, path: Path | None, thread: int | None = None) -> None:
        """Come out."""
        me = get_ident() if thread is None else thread
        with self._lock:
            paths = self._inside.get(me)
            if paths is None or path not in paths:
                return  # in a child, who was within is not any more
            paths.remove(path)
            if not paths:
                del self._inside[me]
                if self._shut:
                    self._changed.notify_all()

    @contextmanager
    def entered(self, path: Path | None) -> Iterator[None]:
        """Within, for a block."""
        thread = self.enter(path)
        try:
            yield
        finally:
            self.leave(path, thread)

    def hold(self, path: Path) -> int:
        """Have a file in use without being within. Returns the thread, for ``let_go``."""
        me = get_ident()
        with self._lock:
            self._held.append((me, path))
        return me

    def let_go(self, path: Path, thread: int) -> None:
        """Have it in use no more."""
        with self._lock:
            with suppress(ValueError):  # in a child, nothing is held
                self._held.remove((thread, path))
            self._changed.notify_all()

    def _holds(self, thread: int) -> bool:
        return any(holder == thread for holder, _ in self._held)

    def inside(self) -> list[Path]:
        """The files in use."""
        with self._lock:
            return [
                *(path for _, path in self._held),
                *(path for paths in self._inside.values() for path in paths if path is not None),
            ]

    def shut(self) -> None:
        """Let nobody in and wait until all others are out; what takes too long is given up."""
        me = get_ident()
        with self._lock:
            while self._shut:  # another thread forks as well
                self._changed.wait()
            self._shut = self._draining = True
            self._changed.wait_for(lambda: all(holder == me for holder, _ in self._held), SCANS)
            self._draining = False
            self._changed.wait_for(lambda: not self._inside.keys() - {me}, PATIENCE)

    def open(self) -> None:
        """Let all in again."""
        with self._lock:
            self._shut = False
            self._changed.notify_all()


class Models:
    """The lock under which pydantic builds models; where a release has none, there is nothing to do."""

    def __init__(self) -> None:
        self._lock = getattr(pydantic.main, "_rebuild_lock", None) or RLock()

    def before_fork(self) -> None:
        """Wait until no model is being built."""
        self._lock.acquire()

    def after_fork(self) -> None:
        """Let models be built again."""
        self._lock.release()


#: The gate of this process.
GATE = Gate()
_MODELS = Models()
GATE.register(_MODELS)
#: Files that were in use when this process was forked: device and inode.
_CARRIED: set[tuple[int, int]] = set()


def is_carried(path: Path) -> bool:
    """Whether a file was in use when this process was forked, so that it cannot be used here."""
    return bool(_CARRIED) and not _CARRIED.isdisjoint(_identity(path))


def _identity(path: Path) -> list[tuple[int, int]]:
    try:
        found = path.stat()
    except OSError:
        return []
    return [(found.st_dev, found.st_ino)]


class _Fork:
    """One fork after the other: what is done before it, and after it on either side."""

    def __init__(self) -> None:
        self._told: list[Forkable] = []
        self._in_use: list[Path] = []

    def before(self) -> None:
        GATE.shut()
        self._in_use = GATE.inside()
        self._told = GATE.known()
        for one in self._told:
            one.before_fork()

    def in_parent(self) -> None:
        self._tell()
        GATE.open()

    def in_child(self) -> None:
        GATE.reset()
        for path in self._in_use:
            _CARRIED.update(_identity(path))
        self._tell()

    def _tell(self) -> None:
        for one in reversed(self._told):
            one.after_fork()
        self._told = []


if hasattr(os, "register_at_fork"):
    _fork = _Fork()
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)
