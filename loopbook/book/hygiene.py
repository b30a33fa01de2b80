"""What every event goes through before it is stored: no secret in any text, no lone surrogate.

Edges redact what they put into events, before they cut it; here it is done once more for all, so
that an edge that forgets leaks nothing. The values of the events themselves stay as they are:
what has nothing to hide comes back as the same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue

from loopbook.entry import Draft
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.text import clean

#: Short texts (types, outcomes, ids, commands) come again and again; their verdicts are kept.
SHORT = 200
KEPT = 8_192

Model = TypeVar("Model", bound=BaseModel)

_SCALARS = frozenset({int, float, bool, datetime, type(None)})


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
            known = self._redactor.text(clean(text))
            self._remember(text, known)
        return text if known == text else known

    def drafts(self, drafts: Iterable[Draft]) -> tuple[Draft, ...]:
        """The drafts with every text in them cleaned; the same objects where there is nothing to hide.

        A whole batch is asked about at once. What is asked about alone is what holds JSON, where a
        name may tell of a secret, and all of a batch that has something to hide.
        """
        unknown: list[str] = []
        asked = [(draft, self._are_texts(draft, unknown)) for draft in drafts]
        clear = self._all_clear(unknown)
        return tuple(draft if clear and texts else self._draft(draft) for draft, texts in asked)

    def _draft(self, draft: Draft) -> Draft:
        event, unit, host_ref, line, at, session = draft
        unit, host_ref, session = (text and self.text(text) for text in (unit, host_ref, session))
        return Draft(self.model(event), unit, host_ref, line, at, session)

    def model(self, model: Model) -> Model:
        """The model with every text in it cleaned, those of unknown fields by their names too."""
        unknown: list[str] = []
        if self._holds_only_texts(model, unknown) and self._all_clear(unknown):
            return model
        return self._cleaned(model)

    def _holds_only_texts(self, model: BaseModel, unknown: list[str]) -> bool:
        """Whether all there is to clean are texts, no JSON; those not known to be clear are gathered."""
        return not model.__pydantic_extra__ and self._are_texts(model.__dict__.values(), unknown)

    def _are_texts(self, values: Iterable[object], unknown: list[str]) -> bool:
        for value in values:  # a loop: every value of every event comes by here
            cls = value.__class__
            if cls is str:
                if self._known.get(cast("str", value)) != value:
                    unknown.append(cast("str", value))
            elif cls in _SCALARS or not value:
                continue
            elif cls is tuple:
                if not self._are_texts(cast("tuple[object, ...]", value), unknown):
                    return False
            elif not (isinstance(value, BaseModel) and self._holds_only_texts(value, unknown)):
                return False
        return True

    def _all_clear(self, texts: list[str]) -> bool:
        """Whether none of these texts has anything to hide: asked of all at once, which is far quicker.

        No secret ends with a line end and goes on in the next text, so as lines of one text they show
        what each shows alone; where one shows more, all are cleaned one by one.
        """
        if not texts:
            return True
        joined = "\n".join(texts)
        if clean(joined) != joined or self._redactor.text(joined) is not joined:
            return False
        for text in texts:
            if len(text) <= SHORT:
                self._remember(text, text)
        return True

    def _remember(self, text: str, cleaned: str) -> None:
        if len(self._known) >= KEPT:
            self._known = {}  # a new dict: another thread may be reading the old one
        self._known[text] = cleaned

    def _cleaned(self, model: Model) -> Model:
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
