"""What every event goes through before it is stored: no secret in any text, no lone surrogate.

Edges redact what they put into events, before they cut it; here it is done once more for all, so
that an edge that forgets leaks nothing. The values of the events themselves stay as they are:
what has nothing to hide comes back as the same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue

from loopbook.entry import Draft
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.text import clean

Model = TypeVar("Model", bound=BaseModel)

_SCALARS = frozenset({int, float, bool, datetime, type(None)})


class Hygiene:
    """Cleans texts, JSON values, models and drafts with one redactor. Safe across threads.

    >>> from loopbook.events import Task
    >>> Hygiene(Redactor()).model(Task(text="API_KEY=abc123")).text
    'API_KEY=[redacted named-value 6 chars]'
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        #: ``text`` for the name of a session, which is asked about with every save.
        self.session = lru_cache(maxsize=64)(self.text)

    def text(self, text: str) -> str:
        """The text without secrets and lone surrogates; the same object if there were none."""
        return self._redactor.text(clean(text))

    def drafts(self, drafts: Iterable[Draft]) -> tuple[Draft, ...]:
        """The drafts with every text in them cleaned; the same objects where there is nothing to hide.

        A whole batch is asked about at once. What is asked about alone is what holds JSON, where a
        name may tell of a secret, and all of a batch that has something to hide.
        """
        texts: list[str] = []
        plain = [(draft, _are_texts(draft, texts)) for draft in drafts]
        clear = self._all_clear(texts)
        return tuple(draft if clear and only_texts else self._draft(draft) for draft, only_texts in plain)

    def _draft(self, draft: Draft) -> Draft:
        event, unit, host_ref, line, at, session = draft
        unit, host_ref, session = (text and self.text(text) for text in (unit, host_ref, session))
        return Draft(self.model(event), unit, host_ref, line, at, session)

    def model(self, model: Model) -> Model:
        """The model with every text in it cleaned, those of unknown fields by their names too."""
        texts: list[str] = []
        return model if _are_texts((model,), texts) and self._all_clear(texts) else self._cleaned(model)

    def _all_clear(self, texts: list[str]) -> bool:
        """Whether none of these texts has anything to hide: asked of all at once, which is far quicker.

        No secret ends with a line end and goes on in the next text, so as lines of one text they show
        what each shows alone; where one shows more, all are cleaned one by one.
        """
        joined = "\n".join(dict.fromkeys(texts))  # each once: words of the vocabulary come again and again
        return self.text(joined) is joined

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


def _are_texts(values: Iterable[object], texts: list[str]) -> bool:
    """Whether all there is to clean in values are texts, which are gathered, and no JSON."""
    for value in values:  # a loop: every value of every event comes by here
        if isinstance(value, str):
            texts.append(value)
        elif not value or value.__class__ in _SCALARS:
            continue
        elif isinstance(value, tuple):
            if not _are_texts(value, texts):
                return False
        elif (
            not isinstance(value, BaseModel)
            or value.__pydantic_extra__
            or not _are_texts(value.__dict__.values(), texts)
        ):
            return False
    return True


def _without_surrogates(value: JsonValue, depth: int = 100) -> JsonValue:
    if isinstance(value, str):
        return clean(value)
    if depth and isinstance(value, (list, tuple)):
        return [_without_surrogates(item, depth - 1) for item in value]
    if depth and isinstance(value, Mapping):
        return {clean(key): _without_surrogates(item, depth - 1) for key, item in value.items()}
    return value  # what lies deeper cannot be stored: the book refuses it
