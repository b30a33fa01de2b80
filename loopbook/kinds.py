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

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from reprlib import repr as short
from types import NoneType, UnionType
from typing import Literal, NamedTuple, TypeGuard, Union, get_args, get_origin, get_type_hints

from pydantic import JsonValue

from loopbook.errors import InvalidKind
from loopbook.events import BY_TYPE, EVIDENCE
from loopbook.kinds_draw import alternatives, draw, words

__all__ = ["CLOSE", "OPEN", "Kind", "Named", "Need", "Phase", "draw", "from_definition", "parse", "words"]

Named = Literal["verified", "reviewed", "no_open_finding", "closable"]
Scalar = str | int | bool

#: The last phase of every kind: the loop can be closed when its needs are met.
CLOSE = "close"
#: What ``current`` is while no phase is met; so no phase may be called that.
OPEN = "open"
#: Needs whose missing words are the open things themselves (finding ids, units, children, todos).
_SPEAKS_FOR_ITSELF = ("no_open_finding", "closable")
#: What the other two named needs follow, by their definition.
_FOLLOWS: Mapping[Named, tuple[str, str]] = {
    "verified": ("check", "change"),
    "reviewed": ("review", "change"),
}

_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,40}")
_TYPES: Mapping[type, str] = {str: "text", int: "a whole number", bool: "true or false"}
_MAX_PHASES, _MAX_NEEDS, _MAX_TEXT = 40, 20, 200


class Need(NamedTuple):
    """One need of a phase: a match on ``evidence``, or one of the named needs in ``named``.

    ``where`` holds, per field, the values of which one must be there.
    """

    evidence: str | None = None
    where: tuple[tuple[str, tuple[Scalar, ...]], ...] = ()
    after: str | None = None
    named: Named | None = None
    missing: str = ""


class Phase(NamedTuple):
    """A phase; ``continues``: an advisory that leads here lets the run go on."""

    name: str
    needs: tuple[Need, ...]
    continues: bool = False


class Kind(NamedTuple):
    """A loop kind that has been checked."""

    name: str
    title: str
    phases: tuple[Phase, ...]

    def definition(self) -> dict[str, JsonValue]:
        """The kind as JSON, shaped as its TOML: what ``loop_opened`` keeps of it.

        >>> kind = parse('name = "x"\\n[[phase]]\\nname = "close"\\nneeds = [{ is = "closable" }]')
        >>> kind.definition()
        {'name': 'x', 'title': 'x', 'phase': [{'name': 'close', 'needs': [{'is': 'closable'}]}]}
        >>> from_definition(kind.definition()) == kind
        True
        """
        return {"name": self.name, "title": self.title, "phase": [_phase_json(p) for p in self.phases]}


def parse(text: str, where: str = "kind") -> Kind:
    """Read a kind from TOML. ``where`` is the file's name, for messages.

    Raises ``InvalidKind``, naming the file, the key and the remedy.

    >>> parse('name = "x"', "x.toml")
    Traceback (most recent call last):
    loopbook.errors.InvalidKind: x.toml: phase: missing; give the kind its phases as [[phase]] tables
    """
    import tomllib  # noqa: PLC0415 - most processes read the kinds that books keep, and no file

    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as wrong:
        raise InvalidKind(f"{where}: not TOML: {wrong}; correct the file there") from None
    return from_definition(table, where)


def from_definition(definition: Mapping[str, object], where: str = "kind") -> Kind:
    """Check a kind given as data, in the shape of its TOML. Raises ``InvalidKind`` like ``parse``."""
    return _Reader(where).kind(definition)


class _Reader:
    """One pass over a definition; knows the file's name so that every message can say it."""

    def __init__(self, where: str) -> None:
        self.where = where

    def wrong(self, key: str, problem: str, remedy: str) -> InvalidKind:
        return InvalidKind(f"{self.where}: {key}: {problem}; {remedy}")

    def keys(self, table: Mapping[str, object], key: str, allowed: tuple[str, ...]) -> None:
        for name in table:
            if name not in allowed:
                at = f"{key}.{_shown(name)}" if key else _shown(name)
                raise self.wrong(at, "unknown key", f"use only {alternatives(allowed)}")

    def kind(self, table: Mapping[str, object]) -> Kind:
        self.keys(table, "", ("name", "title", "phase"))
        name = self.word(table.get("name"), "name")
        title = self.text(table.get("title", name), "title")
        given = table.get("phase")
        if not _is_list(given) or not given:
            raise self.wrong("phase", "missing", "give the kind its phases as [[phase]] tables")
        if len(given) > _MAX_PHASES:
            raise self.wrong("phase", f"{len(given)} phases", f"have at most {_MAX_PHASES}")
        phases = tuple(self.phase(item, f"phase[{place}]") for place, item in enumerate(given))
        self.check_names(phases)
        self.check_close(phases)
        self.check_rings(phases)
        return Kind(name, title, phases)

    def phase(self, item: object, key: str) -> Phase:
        if not _is_table(item):
            raise self.wrong(key, "not a table", "write it as [[phase]] with a name and needs")
        self.keys(item, key, ("name", "needs", "continues"))
        name = self.word(item.get("name"), f"{key}.name")
        continues = item.get("continues", False)
        if not isinstance(continues, bool):
            raise self.wrong(f"{key}.continues", "not true or false", "write true, or leave it out")
        needs = item.get("needs")
        if not _is_list(needs) or not needs:
            raise self.wrong(f"{key}.needs", "missing", f"say what ends {name!r}, at least one need")
        if len(needs) > _MAX_NEEDS:
            raise self.wrong(f"{key}.needs", f"{len(needs)} needs", f"have at most {_MAX_NEEDS}")
        read = tuple(self.need(need, f"{key}.needs[{place}]") for place, need in enumerate(needs))
        return Phase(name, read, continues)

    def need(self, item: object, key: str) -> Need:
        if not _is_table(item):
            raise self.wrong(key, "not a table", 'write it as { evidence = "...", missing = "..." }')
        if ("evidence" in item) == ("is" in item):
            raise self.wrong(key, "needs either `evidence` or `is`", "keep exactly one of the two")
        return self.match(item, key) if "evidence" in item else self.named(item, key)

    def match(self, item: Mapping[str, object], key: str) -> Need:
        self.keys(item, key, ("evidence", "where", "after", "missing"))
        evidence = self.evidence(item["evidence"], f"{key}.evidence")
        after = None if "after" not in item else self.evidence(item["after"], f"{key}.after")
        given = item.get("where", {})
        if not _is_table(given):
            raise self.wrong(f"{key}.where", "not a table", 'write it as { field = "value" }')
        where = tuple(self.field(evidence, name, value, f"{key}.where") for name, value in given.items())
        return Need(evidence, where, after, missing=self.text(item.get("missing"), f"{key}.missing"))

    def named(self, item: Mapping[str, object], key: str) -> Need:
        self.keys(item, key, ("is", "after", "missing"))
        name = next((word for word in get_args(Named) if word == item["is"]), None)
        if name is None:
            raise self.wrong(
                f"{key}.is", f"no need is called {short(item['is'])}", f"use {alternatives(get_args(Named))}"
            )
        if name in _SPEAKS_FOR_ITSELF:
            self.keys(item, key, ("is",))
            return Need(named=name)
        after = item.get("after", "change")
        if after != "change":
            raise self.wrong(f"{key}.after", f"{name} is counted from the last change", "leave `after` out")
        return Need(named=name, after="change", missing=self.text(item.get("missing"), f"{key}.missing"))

    def evidence(self, value: object, key: str) -> str:
        if not isinstance(value, str) or value not in EVIDENCE:
            raise self.wrong(
                key, f"{short(value)} is no evidence", f"use {alternatives(tuple(sorted(EVIDENCE)))}"
            )
        return value

    def field(self, evidence: str, name: str, value: object, key: str) -> tuple[str, tuple[Scalar, ...]]:
        key = f"{key}.{_shown(name)}"
        fields = _matchable(evidence)
        if name not in fields:
            raise self.wrong(
                key, f"{evidence} has no such field to match", f"use {alternatives(tuple(fields))}"
            )
        values = tuple(value) if _is_list(value) else (value,)
        if not values:
            raise self.wrong(key, "no value would match", "give at least one, or leave the field out")
        if len(values) > _MAX_NEEDS or any(isinstance(one, str) and len(one) > _MAX_TEXT for one in values):
            remedy = f"give at most {_MAX_NEEDS} of at most {_MAX_TEXT} characters"
            raise self.wrong(key, "too many or too long values", remedy)
        allowed = fields[name]
        for one in values:
            if isinstance(allowed, tuple) and one not in allowed:
                raise self.wrong(key, f"{name} is never {short(one)}", f"use {alternatives(allowed)}")
            if isinstance(allowed, type) and type(one) is not allowed:
                raise self.wrong(key, f"{short(one)} will not do", f"give {_TYPES[allowed]}")
        return name, tuple(one for one in values if isinstance(one, str | int | bool))

    def word(self, value: object, key: str) -> str:
        if not isinstance(value, str) or not _WORD.fullmatch(value):
            what = "missing" if value is None else f"{short(value)} is no name"
            raise self.wrong(key, what, "use small letters, digits, - and _, a letter first, at most 40")
        return value

    def text(self, value: object, key: str) -> str:
        if not isinstance(value, str) or not value.strip() or len(value) > _MAX_TEXT or "\n" in value:
            what = "missing" if value is None else "not one line of 1 to 200 characters"
            raise self.wrong(key, what, "say in a few words, on one line, what is not there yet")
        return value

    def check_names(self, phases: tuple[Phase, ...]) -> None:
        names = [phase.name for phase in phases]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise self.wrong(f"phase[{place}].name", f"{name!r} is there twice", "rename one")
            if name == OPEN:
                raise self.wrong(f"phase[{place}].name", "`open` is where every loop begins", "rename it")

    def check_close(self, phases: tuple[Phase, ...]) -> None:
        *before, last = phases
        if last.name != CLOSE or not any(need.named == "closable" for need in last.needs):
            remedy = 'end with [[phase]] name = "close", needs = [{ is = "closable" }]'
            raise self.wrong(f"phase[{len(before)}]", "the last phase must be `close`", remedy)
        for place, phase in enumerate(before):
            if any(need.named == "closable" for need in phase.needs):
                raise self.wrong(f"phase[{place}].needs", "`closable` before the end", "keep it for `close`")

    def check_rings(self, phases: tuple[Phase, ...]) -> None:
        follows: dict[str, set[str]] = {}
        for phase in phases:
            for need in phase.needs:
                for later, earlier in _orders(need):
                    follows.setdefault(later, set()).add(earlier)
        for start in sorted(follows):
            if start in _reach(follows, start):
                problem = f"the last {start} would have to follow itself (by way of `after`)"
                raise self.wrong("phase", problem, "drop one `after`, or no loop could ever close")


def _orders(need: Need) -> Iterator[tuple[str, str]]:
    if need.evidence and need.after:
        yield need.evidence, need.after
    if need.named is not None and need.named in _FOLLOWS:
        yield _FOLLOWS[need.named]


def _reach(follows: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    ahead = set(follows.get(start, ()))
    while ahead:
        step = ahead.pop()
        if step not in seen:
            seen.add(step)
            ahead |= follows.get(step, set())
    return seen


@lru_cache(maxsize=16)
def _matchable(evidence: str) -> Mapping[str, type | tuple[Scalar, ...]]:
    """Per field that a need may match: its type, or the only values it takes. From the event models."""
    hints = get_type_hints(BY_TYPE[evidence])
    found: dict[str, type | tuple[Scalar, ...]] = {}
    for name in BY_TYPE[evidence].model_fields:
        hint = hints[name]
        if get_origin(hint) in (Union, UnionType):
            one, *more = (arm for arm in get_args(hint) if arm is not NoneType)
            hint = one if not more else hint
        if get_origin(hint) is Literal:
            found[name] = get_args(hint)
        elif hint in (str, int, bool):
            found[name] = hint
    del found["type"]
    return found


def _is_table(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, list | tuple)


def _shown(key: str) -> str:
    return key if _KEY.fullmatch(key) else short(key)


def _phase_json(phase: Phase) -> dict[str, JsonValue]:
    needs: list[JsonValue] = [_need_json(need) for need in phase.needs]
    table: dict[str, JsonValue] = {"name": phase.name, "needs": needs}
    return {**table, "continues": True} if phase.continues else table


def _need_json(need: Need) -> dict[str, JsonValue]:
    where: dict[str, JsonValue] = {name: list(values) for name, values in need.where}
    table: dict[str, JsonValue] = {"evidence": need.evidence, "is": need.named, "where": where}
    table |= {"after": need.after, "missing": need.missing}
    return {name: value for name, value in table.items() if value}
