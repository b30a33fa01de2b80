"""A kind read from data: what is wrong is said with file, key and remedy, all of it in one go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from reprlib import Repr
from types import NoneType, UnionType
from typing import Literal, ParamSpec, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from loopbook.errors import InvalidKind
from loopbook.events import BY_TYPE, EVIDENCE
from loopbook.kinds.shape import CLOSE, OPEN, Kind, Named, Need, Phase, Scalar
from loopbook.kinds_draw import alternatives

P = ParamSpec("P")
T = TypeVar("T")
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
_HIGHEST = 2**63 - 1


class Reader:
    """One pass over a definition; knows the file's name so that every message can say it.

    A part that is wrong is noted in ``mistakes`` and stands as nothing, so that the rest is read: what is
    returned is a kind only where there were none.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.mistakes: list[InvalidKind] = []

    def wrong(self, key: str, problem: str, remedy: str) -> InvalidKind:
        return InvalidKind(f"{self.where}: {key}: {problem}; {remedy}")

    def part(self, nothing: T, read: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """What is read, or ``nothing`` and a mistake more."""
        try:
            return read(*args, **more)
        except InvalidKind as mistake:
            self.mistakes.append(mistake)
            return nothing

    def keys(self, table: Mapping[str, object], key: str, allowed: tuple[str, ...]) -> None:
        for name in table:
            if name not in allowed:
                at = f"{key}.{_shown(name)}" if key else _shown(name)
                self.mistakes.append(self.wrong(at, "unknown key", f"use only {alternatives(allowed)}"))

    def kind(self, table: Mapping[str, object]) -> Kind:
        self.keys(table, "", ("name", "title", "phase"))
        name = self.part("", self.word, table.get("name"), "name")
        title = self.part("", self.text, table.get("title", name or "-"), "title")
        return Kind(name, title, self.part((), self.phases, table.get("phase")))

    def phases(self, given: object) -> tuple[Phase, ...]:
        if not _is_list(given) or not given:
            raise self.wrong("phase", "missing", "give the kind its phases as [[phase]] tables")
        if len(given) > _MAX_PHASES:
            raise self.wrong("phase", f"{len(given)} phases", f"have at most {_MAX_PHASES}")
        phases, whole = [], True
        for place, item in enumerate(given):
            before = len(self.mistakes)
            phases.append(self.part(Phase("", ()), self.phase, item, f"phase[{place}]"))
            whole = len(self.mistakes) == before
        self.check_names([phase.name for phase in phases])
        self.check_close(phases, whole=whole)
        self.part(None, self.check_rings, phases)
        return tuple(phases)

    def phase(self, item: object, key: str) -> Phase:
        if not _is_table(item):
            raise self.wrong(key, "not a table", "write it as [[phase]] with a name and needs")
        self.keys(item, key, ("name", "needs", "continues"))
        name = self.part("", self.word, item.get("name"), f"{key}.name")
        continues = self.part(False, self.truth, item.get("continues", False), f"{key}.continues")
        return Phase(name, self.part((), self.needs, item.get("needs"), f"{key}.needs", name), continues)

    def truth(self, value: object, key: str) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(key, "not true or false", "write true, or leave it out")
        return value

    def needs(self, given: object, key: str, phase: str) -> tuple[Need, ...]:
        if not _is_list(given) or not given:
            what = repr(phase) if phase else "the phase"
            raise self.wrong(key, "missing", f"say what ends {what}, at least one need")
        if len(given) > _MAX_NEEDS:
            raise self.wrong(key, f"{len(given)} needs", f"have at most {_MAX_NEEDS}")
        return tuple(self.part(Need(), self.need, one, f"{key}[{at}]") for at, one in enumerate(given))

    def need(self, item: object, key: str) -> Need:
        if not _is_table(item):
            raise self.wrong(key, "not a table", 'write it as { evidence = "...", missing = "..." }')
        if ("evidence" in item) == ("is" in item):
            raise self.wrong(key, "needs either `evidence` or `is`", "keep exactly one of the two")
        return self.match(item, key) if "evidence" in item else self.named(item, key)

    def match(self, item: Mapping[str, object], key: str) -> Need:
        self.keys(item, key, ("evidence", "where", "after", "missing"))
        evidence = self.part("", self.evidence, item["evidence"], f"{key}.evidence")
        after = self.part(None, self.evidence, item["after"], f"{key}.after") if "after" in item else None
        where = self.part((), self.fields, evidence, item.get("where", {}), f"{key}.where")
        missing = self.part("", self.text, item.get("missing"), f"{key}.missing")
        return Need(evidence, where, after, missing=missing)

    def fields(self, evidence: str, given: object, key: str) -> tuple[tuple[str, tuple[Scalar, ...]], ...]:
        if not _is_table(given):
            raise self.wrong(key, "not a table", 'write it as { field = "value" }')
        return tuple(
            (name, self.part((), self.field, evidence, name, one, key)) for name, one in given.items()
        )

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
        if item.get("after", "change") != "change":
            problem = f"{name} is counted from the last change"
            self.mistakes.append(self.wrong(f"{key}.after", problem, "leave `after` out"))
        missing = self.part("", self.text, item.get("missing"), f"{key}.missing")
        return Need(named=name, after="change", missing=missing)

    def evidence(self, value: object, key: str) -> str:
        if not isinstance(value, str) or value not in EVIDENCE:
            raise self.wrong(
                key, f"{short(value)} is no evidence", f"use {alternatives(tuple(sorted(EVIDENCE)))}"
            )
        return value

    def field(self, evidence: str, name: str, value: object, key: str) -> tuple[Scalar, ...]:
        key = f"{key}.{_shown(name)}"
        fields = _matchable(evidence) if evidence else _matchable_anywhere()
        if name not in fields:
            what = f"{evidence} has no such field" if evidence else "no evidence has such a field"
            raise self.wrong(key, f"{what} to match", f"use {alternatives(tuple(fields))}")
        values = tuple(value) if _is_list(value) else (value,)
        if not values:
            raise self.wrong(key, "no value would match", "give at least one, or leave the field out")
        if len(values) > _MAX_NEEDS or any(map(_too_long, values)):
            remedy = f"give at most {_MAX_NEEDS} of at most {_MAX_TEXT} characters, or of 64 bits"
            raise self.wrong(key, "too many or too long values", remedy)
        for one in values:
            self.part(None, self.value, one, name, fields[name], key)
        return tuple(one for one in values if isinstance(one, str | int | bool))

    def value(self, one: object, name: str, allowed: type | tuple[Scalar, ...], key: str) -> None:
        if isinstance(allowed, tuple) and one not in allowed:
            raise self.wrong(key, f"{name} is never {short(one)}", f"use {alternatives(allowed)}")
        if isinstance(allowed, type) and type(one) is not allowed:
            raise self.wrong(key, f"{short(one)} will not do", f"give {_TYPES[allowed]}")

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

    def check_names(self, names: Sequence[str]) -> None:
        for place, name in enumerate(names):
            key = f"phase[{place}].name"
            if name and name in names[:place]:
                self.mistakes.append(self.wrong(key, f"{name!r} is there twice", "rename one"))
            elif name == OPEN:
                self.mistakes.append(self.wrong(key, "`open` is where every loop begins", "rename it"))

    def check_close(self, phases: Sequence[Phase], *, whole: bool) -> None:
        """The end is `close`, and it alone is closable; ``whole``: the last phase was read whole."""
        *before, last = phases
        other = last.name not in ("", CLOSE)
        if other or (whole and not any(need.named == "closable" for need in last.needs)):
            remedy = 'end with [[phase]] name = "close", needs = [{ is = "closable" }]'
            self.mistakes.append(
                self.wrong(f"phase[{len(before)}]", "the last phase must be `close`", remedy)
            )
        for place, phase in enumerate(before):
            if any(need.named == "closable" for need in phase.needs):
                key = f"phase[{place}].needs"
                self.mistakes.append(self.wrong(key, "`closable` before the end", "keep it for `close`"))

    def check_rings(self, phases: Sequence[Phase]) -> None:
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


@lru_cache(maxsize=1)
def _matchable_anywhere() -> Mapping[str, type | tuple[Scalar, ...]]:
    """The same for evidence of a type that is none: whatever any evidence has, for one of these was meant."""
    found: dict[str, type | tuple[Scalar, ...]] = {}
    for evidence in sorted(EVIDENCE):
        for name, allowed in _matchable(evidence).items():
            known = found.get(name, ())
            if isinstance(known, tuple) and isinstance(allowed, tuple):
                found[name] = tuple(dict.fromkeys((*known, *allowed)))
            else:
                found[name] = allowed
    return found


def _is_table(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, list | tuple)


def _too_long(value: object) -> bool:
    return (isinstance(value, str) and len(value) > _MAX_TEXT) or (
        isinstance(value, int) and abs(value) > _HIGHEST
    )


class _Short(Repr):
    """A value as a message shows it; a whole number may be longer than Python writes out."""

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if abs(x) <= _HIGHEST else "a number of very many digits"


short = _Short().repr


def _shown(key: str) -> str:
    return key if _KEY.fullmatch(key) else short(key)
