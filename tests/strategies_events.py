"""Events of every type, made from the fields their classes declare; and histories that a book takes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from types import NoneType, UnionType
from typing import Literal, Union, cast, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from loopbook.entry import Draft
from loopbook.events import BY_TYPE, ENVELOPE, Event, Unknown

#: Texts as they should be, and as the world sends them: lone surrogates, NUL, BOM, ANSI, CRLF.
clean_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
hostile_texts = st.one_of(
    clean_texts,
    st.text(st.characters(), max_size=20),
    st.sampled_from(
        ["\ud800", "a\udfffb", "\x00", "\ufeffx", "\x1b[31mred", "a\r\nb", "\u2028", "𝄞" * 9, '"\\']
    ),
)
times = st.datetimes(
    min_value=datetime(1, 1, 3),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(9999, 12, 29),  # noqa: DTZ001 - hypothesis adds the zone
    timezones=st.sampled_from(
        [UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-11))]
    ),
)
floats = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
counts = st.integers(min_value=1, max_value=2**63 - 1)


def json_values(texts: st.SearchStrategy[str] = clean_texts) -> st.SearchStrategy[JsonValue]:
    """JSON of a few levels."""
    scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), floats, texts)
    values = st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
        max_leaves=5,
    )
    return cast("st.SearchStrategy[JsonValue]", values)


def of(annotation: object, texts: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    """Values of a declared type."""
    simple: Mapping[object, st.SearchStrategy[object]] = {
        str: texts, int: counts, float: floats, bool: st.booleans(), NoneType: st.none(), datetime: times,
        JsonValue: json_values(texts),
    }  # fmt: skip
    if annotation in simple:
        return simple[annotation]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(args)
    if origin in {Union, UnionType}:
        return st.one_of([of(arg, texts) for arg in args])
    if origin is tuple:
        return st.lists(of(args[0], texts), max_size=3).map(tuple)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(texts, of(args[1], texts), max_size=3)
    assert isinstance(annotation, type), annotation
    assert issubclass(annotation, BaseModel), annotation
    return models(annotation, texts)


def models(cls: type[BaseModel], texts: st.SearchStrategy[str] = clean_texts) -> st.SearchStrategy[BaseModel]:
    """Instances of a model, with any of its optional fields left to their defaults."""
    required: dict[str, st.SearchStrategy[object]] = {}
    optional: dict[str, st.SearchStrategy[object]] = {}
    for name, field in cls.model_fields.items():
        kept = optional if not field.is_required() else required
        if name != "type":
            kept[name] = of(field.annotation, texts)
    return st.fixed_dictionaries(required, optional=optional).map(lambda fields: cls(**fields))


def events(
    texts: st.SearchStrategy[str] = clean_texts, types: list[str] | None = None
) -> st.SearchStrategy[Event]:
    """Events of every known type."""
    classes = [BY_TYPE[name] for name in types or BY_TYPE]
    return cast("st.SearchStrategy[Event]", st.one_of([models(cls, texts) for cls in classes]))


_FIELD_NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ENVELOPE | {"type", "model_config"}
)
_new_fields = st.dictionaries(_FIELD_NAMES.map(lambda name: f"new_{name}"), json_values(), max_size=3)


def unknown_events() -> st.SearchStrategy[Event]:
    """Events of types that this loopbook has never heard of."""
    words = _FIELD_NAMES.map(lambda word: f"x_{word}")
    return st.builds(lambda word, new: Unknown.model_validate({**new, "type": word}), words, _new_fields)


def events_of_a_newer_writer() -> st.SearchStrategy[Event]:
    """Known events with fields that this loopbook does not know."""
    return st.builds(
        lambda event, new: type(event).model_validate({**event.__dict__, **new}), events(), _new_fields
    )


_ids = st.sampled_from(["a", "b", "c"])


def drafts(types: list[str] | None = None) -> st.SearchStrategy[Draft]:
    """Drafts over a few ids, so that many of them belong together; a book refuses some."""
    known = st.one_of(events(_ids, types), *([] if types else [unknown_events()]))
    refs = st.one_of(st.none(), st.integers(0, 40).map(lambda n: f"ref-{n}"))
    return st.builds(
        Draft, known, host_ref=refs, line=st.one_of(st.none(), counts), at=st.one_of(st.none(), times)
    )


#: What loops are made of: most of it is taken, in some order.
LOOP_WORDS = [
    "change", "check", "review", "decision", "source", "child_reported", "todo_opened", "todo_completed",
    "todo_dropped", "todo_followup_set", "unit_added", "unit_started", "unit_done", "child_linked",
    "child_dropped", "task", "friction", "prompted", "run_settled", "judged", "noticed", "passed_over",
]  # fmt: skip


def histories(max_size: int = 25) -> st.SearchStrategy[list[Draft]]:
    """A loop's life, to be recorded with ``tell``: some of it a book will refuse."""
    return st.lists(drafts(LOOP_WORDS), max_size=max_size)
