"""A command line as a small tree: the node types that ``shell`` reads it into."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

Words = tuple[str, ...]


def scratch(path: str) -> bool:
    """Whether a path lies in a folder for temporary files.

    >>> scratch("/tmp/out.log"), scratch("out.log")
    (True, False)
    """
    return re.match(r"/(?:private/)?(?:var/)?tmp/|\$\{?TMPDIR", path) is not None


class Redirect(NamedTuple):
    """A redirection to or from a file: ``op`` as written (``>``, ``>>``, ``2>``, ``&>``, ``<``)."""

    op: str
    target: str

    @property
    def writes(self) -> bool:
        """Whether it may create or change a file worth the name: no descriptor, device or scratch file.

        >>> Redirect("2>", "/dev/null").writes, Redirect(">>", "log").writes
        (False, True)
        """
        return ">" in self.op and not (re.match(r"&?\d+$|-$|/dev/", self.target) or scratch(self.target))


class Command(NamedTuple):
    """A simple command. ``at`` is its place among the line's commands.

    ``levels`` are its words without and within wrappers, outermost first; ``exact`` is false
    where a wrapper (``xargs``) gives an exit code of its own. ``env`` are assignments before it.
    ``inner`` are the command substitutions in its words, ``script`` what ``bash -c`` runs.
    """

    at: int
    levels: tuple[Words, ...]
    text: str = ""
    env: Words = ()
    redirects: tuple[Redirect, ...] = ()
    exact: bool = True
    inner: tuple[Node, ...] = ()
    script: Node | None = None

    @property
    def words(self) -> Words:
        """The words inside all wrappers: what runs in the end."""
        return self.levels[-1]


class Sequence(NamedTuple):
    """Statements one after another; ``strict`` tells for each whether ``set -e`` holds there."""

    items: tuple[Node, ...]
    strict: tuple[bool, ...]


class Chain(NamedTuple):
    """``left && right`` or ``left || right``."""

    op: str
    left: Node
    right: Node


class Pipeline(NamedTuple):
    """``a | b | c``, with or without ``pipefail`` in force."""

    items: tuple[Node, ...]
    pipefail: bool


class Negated(NamedTuple):
    """``! item``."""

    item: Node


class Group(NamedTuple):
    """A subshell: ``exit`` in it ends only the group."""

    item: Node


class Branch(NamedTuple):
    """``if condition; then body; else other; fi``."""

    condition: Node
    body: Node
    other: Node | None


class Loose(NamedTuple):
    """Items that run any number of times, or elsewhere: loops, functions, ``&``.

    ``zero``: as a whole it succeeds whatever they do.
    """

    items: tuple[Node, ...]
    zero: bool = False


Node = Command | Sequence | Chain | Pipeline | Negated | Group | Branch | Loose


class Script(NamedTuple):
    """A whole line: its tree, its simple commands and redirections in source order."""

    node: Node
    commands: tuple[Command, ...]
    redirects: tuple[Redirect, ...] = ()
    broken: bool = False


def places(node: Node) -> Iterable[int]:
    """The places of all commands in a node."""
    return (command.at for command in commands(node))


def commands(node: Node) -> Iterable[Command]:
    """All commands in a node, those of inner shells too."""
    stack: list[Node | None] = [node]
    while stack:
        match stack.pop():
            case Command(inner=inner, script=script) as command:
                yield command
                stack += [*inner, script]
            case Sequence(items=items) | Pipeline(items=items) | Loose(items=items):
                stack += items
            case Chain(left=left, right=right):
                stack += [left, right]
            case Negated(item=item) | Group(item=item):
                stack.append(item)
            case Branch(condition=condition, body=body, other=other):
                stack += [condition, body, other]
            case None:
                pass


def folders(node: Node, folder: str = "") -> tuple[dict[int, str], str]:
    """Where each command runs, as far as ``cd`` says, and where the node leaves the shell.

    A subshell's and a pipeline's ``cd`` ends with them.
    """
    found: dict[int, str] = {}
    parts: tuple[Node | None, ...]
    match node:
        case Command():
            found[node.at] = folder
            parts = (*node.inner, node.script)
            if node.words[:1] == ("cd",) and len(node.words) == 2:
                folder = _gone(folder, node.words[1])
        case Sequence() | Pipeline() | Loose():
            parts = node.items
        case Chain():
            parts = (node.left, node.right)
        case Negated() | Group():
            parts = (node.item,)
        case Branch():
            parts = (node.condition, node.body, node.other)
    before = folder
    for part in [part for part in parts if part is not None]:
        inside, folder = folders(part, before if isinstance(node, Command | Pipeline) else folder)
        found |= inside
    return found, before if isinstance(node, Command | Pipeline | Group) else folder


def _gone(before: str, to: str) -> str:
    """The folder after ``cd to``; ``cd -`` and the like are nobody's guess."""
    if to.startswith("-"):
        return ""
    return to if not before or to.startswith(("/", "~", "$")) else f"{before.rstrip('/')}/{to}"
