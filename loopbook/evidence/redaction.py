"""Nothing secret goes into a book: secrets become ``[redacted <name> <n> chars]``.

Theory. Three sources of knowledge, in this order: literals the caller gives (the session's own
key variables, also as JSON or a URL would spell them), shapes of well-known tokens, and names
(``API_KEY=...``, ``"password": "..."``, ``--token ...``). Each finds spans of one text;
overlapping spans become one, and every span is replaced once. A mark that already stands in
the text is a wall: it is never looked into, so redacting twice changes nothing more.

Redact before cutting: half a token has no shape. A text with no secret comes back as the same
object. Blanket entropy tests are not made; a hash is not a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from json import dumps
from string import ascii_letters, digits
from typing import Final, NamedTuple, Self
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

from loopbook.evidence import redaction_table as table
from loopbook.evidence.text import clean, compiled


class _Span(NamedTuple):
    start: int
    end: int
    rank: int  # of two overlapping spans the lower one names the mark
    name: str


_Accept = Callable[[str, int, re.Match[str], str], bool]
_SECRET: Final = "secret"
_NAMED: Final = "named-value"
_KNOWN = sorted({_SECRET, _NAMED, *(shape.name for shape in table.SHAPES)})
_MARK = re.compile(rf"\[redacted (?:{'|'.join(_KNOWN)}) \d{{1,12}} chars\]")
# A span found next to a mark may stand free only after the mark is there; three rounds settle
# everything but texts made for it, and bound the time for those.
_ROUNDS = 3

_QUOTED = (
    r'(?:"(?P<plain>(?:[^"\\\n]|\\.)*+)'
    r"|'(?P<single>(?:[^'\\\n]|\\.)*+)"
    r'|\\{1,3}"(?P<escaped>(?:[^"\\\n]|\\[^"\n])*+))'
)
_BARE = r"""(?P<bare>[^\s"'`;&|<>(),\\\]}]++)"""
_AFTER_NAME = re.compile(
    rf"(?i:{table.NAME_SUFFIX})"
    r"""(?:\\{0,3}["']\]?)?(?P<sep>[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8})"""
    rf"(?P<scheme>(?i:bearer|basic|token|digest)[ \t]{{1,4}})?(?:{_QUOTED}|{_BARE})"
)
_AFTER_FLAG = re.compile(rf"(?:=|[ \t]{{1,8}})(?:{_QUOTED}|(?!-){_BARE})")
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile(r"[^\W\d_]")
_OF_NAMES = ascii_letters + digits + "_.-"
_SCHEME = re.compile(r"(?:bearer|basic|token|digest)\s+", re.IGNORECASE)
_PATHLIKE = re.compile(r"[A-Za-z_][\w-]*(?:[./\[][\w\[\]./-]*)+")
_LINE_END = re.compile(r"[ \t]*(?:[\"'`\\\n\r]|\Z)")
_NAME_CHARS = 60  # how far back a name is looked at
_SUFFIX_CHARS = 12  # longer than any suffix of a name
_RESCAN = 200  # a rejected value no longer than this may hold another name and its value


def _endings(names: Iterable[str]) -> tuple[str, ...]:
    """The names in every spelling: ``api_key``, ``api-key``, ``apikey``; a first ``_`` stays one."""
    return tuple(
        name.replace("_", sign, 1) for name in names for sign in ("_", "-", "") if sign or name[0] != "_"
    )


_SECRET_NAMES, _VAGUE_NAMES = _endings(table.NAMES), _endings(table.VAGUE_NAMES)
_NAME_SUFFIX = re.compile(rf"{table.NAME_SUFFIX}\Z")
# Names are found by their last words, in the three ways these are written.
_STEMS = tuple(
    (stem, (stem, stem.upper(), stem.capitalize()))
    for stem in sorted({name.rpartition("_")[2] for name in (*table.NAMES, *table.VAGUE_NAMES)})
)


_NEEDLES = sorted((needle, rank) for rank, shape in enumerate(table.SHAPES) for needle in shape.needles)


def _shared(needles: Sequence[tuple[str, int]]) -> str:
    """What all of them begin with."""
    first, last = needles[0][0], needles[-1][0]  # they are sorted
    return next(first[:n] for n in range(len(first), -1, -1) if last.startswith(first[:n]))


# Needles by what those with the same first two characters have in common: most texts are done with
# after half as many questions, and there are far more texts than secrets.
_GATES = tuple(
    (_shared(alike), alike)
    for alike in (tuple(group) for _, group in groupby(_NEEDLES, key=lambda row: row[0][:2]))
)
#: A text with more secrets than this is one secret: nobody reads it, and the time stays bounded.
MANY = 20_000
#: No shorter text holds a secret: ``://:p@`` and a name with its value are longer, literals too.
_SHORTEST = 6


class Redactor:
    """Replaces secrets in texts and JSON values; a value itself, it knows only what it is given.

    ``secrets`` are literals to hide besides the table; those under 8 characters are ignored.
    Time is linear in the text, and the result is at most about ten times as long. A text with more
    than ``MANY`` secrets is replaced as a whole.

    >>> Redactor(["correct horse"]).text("it is correct horse, API_KEY=abc123")
    'it is [redacted secret 13 chars], API_KEY=[redacted named-value 6 chars]'
    >>> Redactor().value({"password": "hunter2", "user": "ann"})
    {'password': '[redacted named-value 7 chars]', 'user': 'ann'}
    """

    __slots__ = ("_literals",)

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        self._literals = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    @classmethod
    def of_variables(cls, environ: Mapping[str, str]) -> Self:
        """A redactor that knows the values of the variables whose names say that they are secret.

        >>> Redactor.of_variables({"API_KEY": "correct horse", "HOME": "/home/ada"}).text("a correct horse")
        'a [redacted secret 13 chars]'
        """
        return cls(value for name, value in environ.items() if is_secret_name(name))

    def __repr__(self) -> str:
        return f"<Redactor with {len(self._literals)} literals>"

    def text(self, text: str) -> str:
        """The text with every secret replaced; the very same object when there is none."""
        for _ in range(_ROUNDS):
            redacted = self._once(text)
            if redacted is text:
                return text
            text = redacted
        return text if self._once(text) is text else _mark(_SECRET, len(text))  # one secret after the other

    def value(self, value: JsonValue) -> JsonValue:
        """The JSON value with its texts redacted, keys too, its structure kept at any depth.

        A text under a key that names a secret is replaced as a whole, in lists as well.
        """
        root: list[JsonValue] = [None]
        # (container, place in it, value, whether its key names a secret); no recursion, so that
        # nesting of any depth is safe. Containers are filled in the order they were met.
        todo: list[tuple[list[JsonValue] | dict[str, JsonValue], int | str, JsonValue, bool]]
        todo = [(root, 0, value, False)]
        while todo:
            place, at, item, named = todo.pop()
            new: JsonValue
            if isinstance(item, str):
                new = self._named_text(item) if named else self.text(item)
            elif isinstance(item, list):
                filled: list[JsonValue] = [None] * len(item)
                todo += [(filled, i, inner, named) for i, inner in enumerate(item)]
                new = filled
            elif isinstance(item, dict):
                keys = self._keys(item)
                emptied: dict[str, JsonValue] = dict.fromkeys(keys)
                todo += [
                    (emptied, key, inner, is_secret_name(old) or old.lower() in table.KEYS)
                    for key, (old, inner) in zip(keys, item.items(), strict=True)
                ]
                new = emptied
            else:
                new = item
            place[at] = new  # type: ignore[index]  # int for a list, str for a dict
        return root[0]

    def _keys(self, mapping: dict[str, JsonValue]) -> list[str]:
        """The keys redacted; two that become the same mark are told apart by a number."""
        keys: dict[str, None] = {}
        for old in mapping:
            new = self.text(old)
            count = 1
            while new in keys:
                count += 1
                new = f"{self.text(old)} ({count})"
            keys[new] = None
        return list(keys)

    def _named_text(self, text: str) -> str:
        # Harmless with what was redacted in it before, and still with what is now: so twice is once.
        if _is_harmless_around(text) and _is_harmless_around(redacted := self.text(text)):
            return redacted
        return _mark(_NAMED, len(text))

    def _once(self, text: str) -> str:
        if "[redacted " not in text:
            return self._segment(text)
        parts: list[str] = []
        end = 0
        for mark in _MARK.finditer(text):
            parts += (self._segment(text[end : mark.start()]), mark.group())
            end = mark.end()
        parts.append(self._segment(text[end:]))
        redacted = "".join(parts)
        return text if redacted == text else redacted

    def _segment(self, text: str) -> str:
        if len(text) < _SHORTEST:
            return text
        found = chain(self._literal_spans(text), _shape_spans(text), _name_spans(text))
        spans = list(islice(found, MANY + 1))
        if not spans:
            return text
        if len(spans) > MANY:
            return _mark(_SECRET, len(text))
        parts: list[str] = []
        end = 0
        for span in _merged(spans):
            parts += (text[end : span.start], _mark(span.name, span.end - span.start))
            end = span.end
        return "".join(parts) + text[end:]

    def _literal_spans(self, text: str) -> Iterator[_Span]:
        for literal in self._literals:
            for at in _places(text, literal):
                yield _Span(at, at + len(literal), -1, _SECRET)


def is_secret_name(name: str) -> bool:
    """Whether a key or variable of this name holds a secret.

    >>> [is_secret_name(n) for n in ("GITHUB_TOKEN", "clientSecret", "max_tokens", "token_url")]
    [True, True, False, False]
    """
    return _ends_in(name, _SECRET_NAMES)


def _ends_in(name: str, endings: tuple[str, ...]) -> bool:
    # Asked of every candidate of a text: plain endings, where a pattern would try each place of the name.
    folded = name[-_NAME_CHARS:].casefold()
    if folded.endswith(endings):
        return True
    suffix = _NAME_SUFFIX.search(folded, max(0, len(folded) - _SUFFIX_CHARS))
    return suffix is not None and folded[: suffix.start()].endswith(endings)


def _forms(secret: str) -> Iterator[str]:
    """A literal secret as it stands, as JSON (once and twice), and as a URL writes it."""
    if len(secret) < table.MIN_LITERAL:
        return
    plain = clean(secret)
    as_json = [dumps(plain, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)]
    yield from (secret, plain, *as_json, *(dumps(form)[1:-1] for form in as_json))
    for in_url in (quote(plain, safe=""), quote(plain), quote_plus(plain)):
        yield from (in_url, re.sub("%[0-9A-F]{2}", lambda m: m.group().lower(), in_url))


def _mark(name: str, length: int) -> str:
    return f"[redacted {name} {length} chars]"


def _places(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


def _merged(spans: list[_Span]) -> Iterator[_Span]:
    """The spans in order, overlapping ones as one, named after the one of the lowest rank."""
    spans.sort()
    current = spans[0]
    for span in spans[1:]:
        if span.start < current.end:
            best = min(current, span, key=lambda s: s.rank)
            current = _Span(current.start, max(current.end, span.end), best.rank, best.name)
        else:
            yield current
            current = span
    yield current


def _shape_spans(text: str) -> Iterator[_Span]:
    for gate, needles in _GATES:
        if gate in text:  # asked first: most texts hold none, and this is the quickest way to know
            for needle, rank in needles:
                yield from _shaped(text, needle, rank)


def _shaped(text: str, needle: str, rank: int) -> Iterator[_Span]:
    shape = table.SHAPES[rank]
    pattern = compiled(shape.pattern)
    group = "secret" if "secret" in pattern.groupindex else 0
    end = -1
    for at in _places(text, needle):
        if at < end:
            continue  # inside the last match, which may have been found harmless
        found = pattern.match(text, at)
        if found is None:
            continue
        end = found.end()
        secret = found.group(group)
        if _is_mixed(secret) if shape.mixed else not _is_harmless(secret):
            yield _Span(found.start(group), found.end(group), rank, shape.name)


def _name_spans(text: str) -> Iterator[_Span]:
    if "=" in text or ":" in text:
        lower = text.lower()
        for stem, spellings in _STEMS:
            if stem in lower:
                for spelled in spellings:
                    yield from _value_spans(text, spelled, _AFTER_NAME, _is_named_secret)
    if "--" in text:
        for flag in table.FLAGS:
            yield from _value_spans(text, flag, _AFTER_FLAG, _is_flag_secret)


def _value_spans(text: str, needle: str, after: re.Pattern[str], accept: _Accept) -> Iterator[_Span]:
    end = -1
    for at in _places(text, needle):
        found = after.match(text, at + len(needle)) if at >= end else None
        if found is None:
            continue
        group = found.lastgroup or "bare"
        start = found.start(group)
        value = found[group].rstrip(".:") if group == "bare" else found[group]
        if accept(text, at, found, value):
            yield _Span(start, start + len(value), len(table.SHAPES), _NAMED)
            end = found.end()
        else:
            end = start if len(value) <= _RESCAN else found.end()


def _is_named_secret(text: str, at: int, found: re.Match[str], value: str) -> bool:
    if len(value) < table.MIN_VALUE:
        return False
    before = text[max(0, at - _NAME_CHARS) : at]
    start = at - len(before) + len(before.rstrip(_OF_NAMES))
    name = text[start : found.start("sep")].rstrip("\"'\\]")
    if not is_secret_name(name):
        return _is_random(value) and _ends_in(name, _VAGUE_NAMES) and not _is_harmless(value)
    if _is_harmless(value):
        return False
    if found.lastgroup != "bare":
        return True
    if text[found.end() : found.end() + 1] == "(":
        return False  # a call
    plain_assignment = found["sep"] == "="
    in_query = start > 0 and text[start - 1] in "?&"
    if plain_assignment and (in_query or name.isupper()):
        return True
    if found["scheme"] and _LINE_END.match(text, found.end()):
        return True  # a header, not prose about one
    return len(value) >= 8 and _has_letter_and_digit(value) and not _PATHLIKE.fullmatch(value)


def _is_flag_secret(_text: str, _at: int, _found: re.Match[str], value: str) -> bool:
    return len(value) >= table.MIN_VALUE and not _is_harmless(value)


def _is_harmless(value: str) -> bool:
    scheme = _SCHEME.match(value)
    bare = value[scheme.end() if scheme else 0 :].strip()
    return not bare or compiled(table.HARMLESS).fullmatch(bare) is not None


def _is_harmless_around(text: str) -> bool:
    """The same, where a mark tells no more than a word would."""
    return _is_harmless(_MARK.sub("hidden", text))


def _is_random(value: str) -> bool:
    return (
        len(value) >= 20
        and _is_mixed(value)
        and _has_letter_and_digit(value)
        and value != value.lower()
        and value != value.upper()
        and not compiled(table.HASHES).fullmatch(value)
        and not _PATHLIKE.fullmatch(value)
    )


def _is_mixed(value: str) -> bool:
    """A digit, or both cases: what random tokens have and placeholders have not."""
    return _DIGIT.search(value) is not None or (value != value.lower() and value != value.upper())


def _has_letter_and_digit(value: str) -> bool:
    return _LETTER.search(value) is not None and _DIGIT.search(value) is not None
