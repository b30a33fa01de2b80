"""Reading scenario files: YAML with its lines, into the values of ``scenario_model``.

A mistake is told with file and line, so the text is composed into nodes first and each place's
line is kept; values are made from the nodes, and a wrong value is looked up by its path.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError

from loopbook.errors import InvalidEvent, InvalidScenario
from loopbook.events import build_event
from loopbook.testing.scenario_model import Expect, Head, Scenario, Step
from loopbook.testing.scenario_verbs import (
    DURING_VERBS,
    EVENT_VERBS,
    NO_DURING,
    VERBS,
    Append,
    EventVerb,
    Flowing,
    Verb,
)

if TYPE_CHECKING:
    from yaml import Node, SafeLoader

Loc = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)
#: Nodes one document may hold, aliases counted each time: above it an alias bomb is at work.
MAX_NODES = 50_000
#: How deep a step may lie, in keys and places: one that happens during another one, and so on.
MAX_DEPTH = 20
#: A date is text here (`due: 2030-01-31`), and so are `yes`, `no`, `on` and `off` (`why: no`).
_DATE, _BOOL = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"


class Document(NamedTuple):
    """One YAML document as a plain value, with the 1-based line of every key and item."""

    value: object
    lines: Mapping[Loc, int]
    file: str

    def fail(self, path: Loc, what: str) -> NoReturn:
        """Raise ``InvalidScenario`` for the place, or for the nearest place around it."""
        while path not in self.lines:
            path = path[:-1]
        raise InvalidScenario(_message(self.file, self.lines[path], what))


def _message(file: str, line: int, what: str) -> str:
    return f"{file}:{line}: {what}; no scenario was run; correct the file"


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The scenario files among ``paths``, folders searched through, in a stable order."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(p for p in path.rglob("*") if p.suffix in {".yaml", ".yml"} and p.is_file())
        if path.is_dir() and not inside:
            raise InvalidScenario(f"{path} holds no scenario file; nothing was run; name a .yaml file")
        found += inside if path.is_dir() else [path]
    return found


def read_scenarios(path: Path) -> tuple[Scenario, ...]:
    """Every scenario of a file, in order. Raises ``InvalidScenario``, or ``OSError`` as it comes."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise InvalidScenario(_message(str(path), line, "not UTF-8 text")) from None
    return parse_scenarios(text, str(path))


def parse_scenarios(text: str, file: str) -> tuple[Scenario, ...]:
    """Every scenario of a text; ``file`` is only its name in messages.

    >>> text = "scenario: a prompt\\nsteps:\\n- prompt: {text: hello}"
    >>> parse_scenarios(text, "a.yaml")[0].steps[0].word
    'prompt'
    >>> parse_scenarios(text + "\\n  expects: {}", "a.yaml")
    Traceback (most recent call last):
    loopbook.errors.InvalidScenario: a.yaml:4: unknown verb 'expects'; did you mean 'expect'?; ...
    """
    scenarios = tuple(_scenario(document) for document in _documents(text, file))
    if not scenarios:
        raise InvalidScenario(f"{file} holds no scenario; nothing was run; begin it with 'scenario: …'")
    return scenarios


# --- YAML ---------------------------------------------------------------------------------


def _documents(text: str, file: str) -> Iterator[Document]:
    try:
        from yaml import SafeLoader
    except ImportError:
        raise InvalidScenario(
            "scenario files need PyYAML, which is not installed; nothing was run;"
            " install it with: pip install 'loopbook[testing]'"
        ) from None
    try:
        loader = SafeLoader(text)
        while loader.check_node():
            document = Document(*_Plain(loader, file).convert(cast("Node", loader.get_node())), file)
            if document.value is not None:
                yield document
    except RecursionError:
        raise InvalidScenario(_message(file, 1, "nested too deeply")) from None
    except _yaml_error() as wrong:
        mark = getattr(wrong, "problem_mark", None)
        line = mark.line if mark else text.count("\n", 0, getattr(wrong, "position", 0))
        what = f"not YAML ({getattr(wrong, 'problem', None) or str(wrong).splitlines()[0]})"
        raise InvalidScenario(_message(file, line + 1, what)) from None


def _yaml_error() -> type[Exception]:
    from yaml import YAMLError

    return YAMLError


class _Plain:
    """Turns one document's nodes into plain values, and notes where each of them stands."""

    def __init__(self, loader: SafeLoader, file: str) -> None:
        self.loader = loader
        self.file = file
        self.lines: dict[Loc, int] = {}
        self.nodes = 0

    def convert(self, node: Node) -> tuple[object, dict[Loc, int]]:
        self.lines[()] = node.start_mark.line + 1
        return self.value(node, ()), self.lines

    def value(self, node: Node, path: Loc) -> object:
        from yaml import MappingNode, SequenceNode

        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.fail(node, "too many values in one document")
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.item(child, (*path, i)) for i, child in enumerate(node.value)]
        return self.scalar(node)

    def mapping(self, node: Node, path: Loc) -> dict[str, object]:
        table: dict[str, object] = {}
        for key, child in node.value:
            name = key.value if isinstance(key.value, str) else self.fail(key, "a key that is no text")
            if name in table:
                self.fail(key, f"the key {name!r} stands here twice")
            self.lines[*path, name] = key.start_mark.line + 1
            table[name] = self.value(child, (*path, name))
        return table

    def item(self, node: Node, path: Loc) -> object:
        self.lines[path] = node.start_mark.line + 1
        return self.value(node, path)

    def scalar(self, node: Node) -> object:
        if node.tag == _DATE or (node.tag == _BOOL and node.value.lower() not in {"true", "false"}):
            return node.value
        try:
            return cast("object", self.loader.construct_object(node))
        except ValueError as wrong:  # such as an integer of ten thousand digits
            self.fail(node, f"a value that cannot be read ({wrong})")

    def fail(self, node: Node, what: str) -> NoReturn:
        raise InvalidScenario(_message(self.file, node.start_mark.line + 1, what))


# --- values -------------------------------------------------------------------------------


def _scenario(document: Document) -> Scenario:
    head = _model(Head, document.value, (), document)
    steps = tuple(
        _step(raw, ("steps", i), document, during=False) for i, raw in enumerate(head.steps)
    )  # fmt: skip
    return Scenario(head, steps, document.file, document.lines[()])


def _step(raw: object, path: Loc, document: Document, *, during: bool) -> Step:
    known = [word for word in (*EVENT_VERBS, *VERBS) if not (during and word in NO_DURING)]
    known += DURING_VERBS if during else ()
    if not isinstance(raw, dict):
        document.fail(path, f"a step is a verb with its value, such as {known[0]}")
    words = [word for word in raw if word in known]
    for word in raw:
        if word not in known and word != "expect":
            document.fail((*path, word), f"unknown verb {word!r}{_close(word, [*known, 'expect'])}")
    if len(words) != 1:
        document.fail(path, f"a step has exactly one verb, this one has {len(words)}")
    word = words[0]
    verb = _verb(word, raw[word], (*path, word), document)
    expect = _model(Expect, raw.get("expect", {}), (*path, "expect"), document)
    step = Step(word, verb, expect, document.lines[*path, word])
    if not isinstance(verb, Flowing):
        return step
    return step._replace(
        during=_inner(verb.during, (*path, word, "during"), document),
        before_append=_inner(verb.before_append, (*path, word, "before_append"), document),
    )


def _inner(steps: Iterable[object], path: Loc, document: Document) -> tuple[Step, ...]:
    if len(path) > MAX_DEPTH:
        document.fail(path, "nested too deeply")
    return tuple(_step(raw, (*path, i), document, during=True) for i, raw in enumerate(steps))


def _verb(word: str, raw: object, path: Loc, document: Document) -> Verb:
    if row := EVENT_VERBS.get(word):
        return _append(row, raw, path, document)
    model, scalar = DURING_VERBS[word] if word in DURING_VERBS else VERBS[word]
    return cast("Verb", _model(model, raw, path, document, scalar))


def _append(row: EventVerb, raw: object, path: Loc, document: Document) -> Append:
    given = {row.scalar: raw} if row.scalar and not isinstance(raw, dict) else raw
    if not isinstance(given, dict):
        document.fail(path, f"{path[-1]} takes a mapping of its keys")
    fields: dict[str, object] = {}
    for key, value in given.items():
        if key in row.names.values() or (key == "type" and isinstance(row.type, str)):
            document.fail((*path, key), f"unknown key {key!r} in {path[-1]}")
        fields[row.names.get(key, key)] = value
    kind, unit = row.type, None
    if not isinstance(kind, str):
        kind, unit = _one_of(kind, fields, path, document), fields.pop("unit", None)
    if not isinstance(unit, str | None):
        document.fail((*path, "unit"), "unit must be a text")
    try:
        return Append(build_event({**fields, "type": kind}), unit)
    except InvalidEvent as wrong:
        written = {new: old for old, new in row.names.items()}
        document.fail((*path, *(written.get(str(w), w) for w in wrong.where)), wrong.what)


def _one_of(types: frozenset[str], fields: Mapping[str, object], path: Loc, document: Document) -> str:
    word = fields.get("type")
    if not isinstance(word, str) or word not in types:
        document.fail((*path, "type"), f"{path[-1]} takes a type among {', '.join(sorted(types))}")
    return word


def _model(model: type[M], raw: object, path: Loc, document: Document, scalar: str | None = None) -> M:
    """``scalar`` names the field that takes the whole value; it does not stand in the file."""
    word = str(path[-1]) if path else "a scenario"
    if scalar is None and not isinstance(raw, dict):
        document.fail(path, f"{word} takes a mapping of its keys")
    try:
        return model.model_validate({scalar: raw} if scalar else raw)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False)[0]
        loc = first["loc"][1:] if scalar else first["loc"]
        key = str(loc[-1]) if loc else word
        if first["type"] == "extra_forbidden":
            document.fail((*path, *loc), f"unknown key {key!r}{_close(key, model.model_fields)}")
        if first["type"] == "missing":
            document.fail((*path, *loc), f"the key {key!r} is missing")
        document.fail((*path, *loc), f"{'.'.join(map(str, (word, *loc)))}: {first['msg']}")


def _close(word: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
