"""What every event goes through before it is stored: no secret in any text, no lone surrogate.

Edges redact what they put into events, before they cut it; here it is done once more for all, so
that an edge that forgets leaks nothing. The values of the events themselves stay as they are:
what has nothing to hide comes back as the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue

from loopbook.evidence.redaction import Redactor
from loopbook.evidence.text import clean

#: Short texts (types, outcomes, ids, commands) come again and again; their verdicts are kept.
SHORT = 200
KEPT = 8_192

Model = TypeVar("Model", bound=BaseModel)

_SCALARS = frozenset({int, float, bool, type(None)})


class Hygiene:
    """Cleans texts, JSON values and models with one redactor. Safe across threads.

    >>> from loopbook.events import Task
    >>> Hygiene(Redactor()).model(Task(text="API_KEY=abc123")).text
    'API_KEY=[redacted named-value 6 chars]'
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text without secrets and lone surrogates; the same object if there were none."""
        if len(text) > SHORT:
            return self._redactor.text(clean(text))
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= KEPT:
                self._known = {}  # a new dict: another thread may be reading the old one
            known = self._known[text] = self._redactor.text(clean(text))
        return text if known == text else known

    def model(self, model: Model) -> Model:
        """The model with every text in it cleaned, those of unknown fields by their names too."""
        changed: dict[str, object] = {}
        for name, value in model.__dict__.items():
            if value.__class__ is str:
                new: object = self.text(value)
            elif value.__class__ in _SCALARS:
                continue
            else:
                new = self.value(value)
            if new is not value:
                changed[name] = new
        if extra := model.__pydantic_extra__:
            changed.update(cast("dict[str, object]", self.json(extra)))
        return model.model_copy(update=changed) if changed else model

    def value(self, value: object) -> object:
        """A field's value cleaned: texts, models, tuples and JSON."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, BaseModel):
            return self.model(value)
        if isinstance(value, tuple):
            new = tuple(self.value(item) for item in value)
            return value if all(a is b for a, b in zip(new, value, strict=True)) else new
        if isinstance(value, Mapping):
            if any(isinstance(item, BaseModel) for item in value.values()):
                return {self.text(key): self.value(item) for key, item in value.items()}
            return self.json(value)
        return value

    def json(self, value: Mapping[str, object]) -> JsonValue:
        """A JSON object cleaned; a text under a key that names a secret goes as a whole."""
        return self._redactor.value(_without_surrogates(cast("JsonValue", value)))


def _without_surrogates(value: JsonValue, depth: int = 100) -> JsonValue:
    if isinstance(value, str):
        return clean(value)
    if depth and isinstance(value, (list, tuple)):
        return [_without_surrogates(item, depth - 1) for item in value]
    if depth and isinstance(value, Mapping):
        return {clean(key): _without_surrogates(item, depth - 1) for key, item in value.items()}
    return value  # what lies deeper cannot be stored: the book refuses it
