"""Loop kinds: which phases a loop walks through, and what each needs. Data, from text.

Theory. A phase is *met* by evidence alone, so a kind says nothing about tools, judges or time. A
*need* is one of two things:

- a match, ``{evidence, where, after, missing}``: an event of that type whose fields have one of
  the given values, and which follows the last event of type ``after`` (any match counts while
  that type never occurred);
- one of four words, ``{is, missing}``, for what a single match cannot say: ``verified``,
  ``reviewed``, ``no_open_finding``, ``closable`` (``loopbook.projections.phases`` computes them).

*Which phases apply follows from their needs*; there is no key for it. ``reviewed`` asks nothing of
a loop whose ``review_tier`` is ``none``, and ``no_open_finding`` asks only while a finding is open
there. A phase of which no need asks anything is not there.

A kind that loads can be closed. The walk goes from the first phase to ``close``, so a kind could
only get stuck on needs that must each follow the other: the validator refuses such rings.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopbook.errors import InvalidKind
from loopbook.kinds.reading import Reader
from loopbook.kinds.shape import CLOSE, OPEN, Kind, Named, Need, Phase
from loopbook.kinds_draw import draw, words

__all__ = [
    "CLOSE", "OPEN", "Kind", "Named", "Need", "Phase", "draw", "from_definition", "mistakes", "parse",
    "words",
]  # fmt: skip


def parse(text: str, where: str = "kind") -> Kind:
    """Read a kind from TOML. ``where`` is the file's name, for messages.

    Raises ``InvalidKind``, naming the file, the key and the remedy.

    >>> parse('name = "x"', "x.toml")
    Traceback (most recent call last):
    loopbook.errors.InvalidKind: x.toml: phase: missing; give the kind its phases as [[phase]] tables
    """
    return from_definition(_table(text, where), where)


def mistakes(text: str, where: str = "kind") -> tuple[str, ...]:
    """All that is wrong with the TOML of a kind, a line each as ``parse`` would say it; none of a kind.

    A text that is no TOML has one mistake. What depends on a mistake (an end that cannot be read) is not
    guessed at; of a need for evidence that is none, the fields are held against those that any evidence has.

    >>> for line in mistakes('named = "x"', "x.toml"):
    ...     print(line.partition(";")[0])
    x.toml: named: unknown key
    x.toml: name: missing
    x.toml: phase: missing
    """
    try:
        table = _table(text, where)
    except InvalidKind as wrong:
        return (str(wrong),)
    reader = Reader(where)
    reader.kind(table)
    return tuple(map(str, reader.mistakes))


def _table(text: str, where: str) -> Mapping[str, object]:
    import tomllib  # noqa: PLC0415 - most processes read the kinds that books keep, and no file

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as wrong:
        raise InvalidKind(f"{where}: not TOML: {wrong}; correct the file there") from None
    except ValueError:  # Python reads none of thousands of digits
        raise InvalidKind(f"{where}: not TOML: a number is too long; correct the file there") from None


def from_definition(definition: Mapping[str, object], where: str = "kind") -> Kind:
    """Check a kind given as data, in the shape of its TOML. Raises ``InvalidKind`` like ``parse``."""
    reader = Reader(where)
    kind = reader.kind(definition)
    if reader.mistakes:
        raise reader.mistakes[0]
    return kind
