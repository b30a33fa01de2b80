"""Changes that are set aside: what is checked between ``git stash`` and ``git stash pop`` is not the work.

Theory. People put their changes away to see whether a test failed without them. Such a result is
true of another state of the files, so it speaks neither for nor against what was done.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from loopbook.evidence.shell_tree import Script, Words
from loopbook.evidence.wrappers import program_of

#: What ``git stash`` does with the changes; other words (``list``, ``drop``) leave them where they are.
AWAY = frozenset({"", "push", "save"})
BACK = frozenset({"pop", "apply", "branch"})
#: What git says when there was nothing to put away.
NOTHING = "No local changes to save"

_TAKES = frozenset({"-C", "-c", "--git-dir", "--work-tree"})


class Aside(NamedTuple):
    """The places of the commands that ran without the changes, and whether they are away at the end."""

    places: frozenset[int]
    after: bool


def set_aside(script: Script, text: str, before: bool) -> Aside:
    """Where a line ran without the changes; ``before``: they were away already, ``text`` is its output.

    >>> from loopbook.evidence.shell import parse
    >>> set_aside(parse("git stash && pytest; git stash pop; pytest"), "", before=False)
    Aside(places=frozenset({1}), after=False)
    >>> set_aside(parse("git stash -q"), "", before=False).after
    True
    """
    away = before
    places: set[int] = set()
    for one in script.commands:
        word = _stash_word(one.words)
        if word in BACK:
            away = False
        elif word in AWAY and NOTHING not in text:
            away = True
        elif away:
            places.add(one.at)
    return Aside(frozenset(places), away)


def _stash_word(words: Words) -> str | None:
    """What ``git stash`` is told to do ("": nothing), or ``None`` for another command."""
    if not words or program_of(words[0]) != "git":
        return None
    rest = [word for before, word in pairwise(words) if not word.startswith("-") and before not in _TAKES]
    if rest[:1] != ["stash"]:
        return None
    return rest[1] if rest[1:] and words[words.index("stash") + 1] == rest[1] else ""
