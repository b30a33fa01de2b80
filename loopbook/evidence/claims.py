"""Claims: sentences of a text that say checks pass.

Theory. The text is read as prose (``loopbook.evidence.prose``), sentence by sentence. In each the
phrases of ``phrases`` are looked for, mostly from a noun on: what can pass, then a verdict. What
stands around one decides whether it is a claim, and how wide: "the parser tests pass" says less
than "all tests pass". What cannot be read for sure is no claim, for a claim will be held against
somebody. Time is linear in the text; at most ``MAX_CLAIMS`` are returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, cast

from loopbook.evidence import claim_patterns as patterns
from loopbook.evidence import phrases
from loopbook.evidence.phrases import Category
from loopbook.evidence.prose import Prose, Sentence, prose, sentences
from loopbook.evidence.text import one_line

MAX_CLAIMS = 40
_MAX_PHRASES = 2_000  # looked at in one text
_QUOTE_CHARS = 240
_AROUND = 300  # characters looked at on either side of a phrase


class Claim(NamedTuple):
    """One claim. ``text`` is its sentence, ``start`` where in the original the phrase begins.

    ``partial``: it speaks of some, not all; ``subject`` are the words that say of which.
    ``hedged``: it names an exception or a share ("most", "3 of 5", "all but one"). ``universal``: it
    says that it speaks of all there are ("all tests", "the whole suite"); then it is not partial.
    """

    text: str
    category: Category
    partial: bool = False
    subject: tuple[str, ...] = ()
    start: int = 0
    hedged: bool = False
    universal: bool = False


class _Width(NamedTuple):
    """How much a claim speaks of: with exceptions, of a number, of what its words narrow it to, or of all."""

    hedged: bool
    counted: bool
    subject: tuple[str, ...]
    universal: bool


class _Noun(NamedTuple):
    """Something that can pass, named in a sentence."""

    category: Category
    word: str
    start: int
    end: int


class _Phrase(NamedTuple):
    """A place in a sentence that may be a claim."""

    start: int
    end: int
    category: Category
    noun: _Noun | None = None
    narrowed: str = ""  # what narrows it from behind
    counted: bool = False
    hedged: bool = False
    behind: int | None = None  # where what follows begins, if not at the end
    spoken: bool = True  # not a label or a set phrase, so that a verb before it matters


def find_claims(text: str) -> tuple[Claim, ...]:
    """The claims in a text, in their order.

    >>> [(c.category, c.partial) for c in find_claims("All tests pass and the parser's lint is clean.")]
    [('tests', False), ('lint', True)]
    >>> find_claims("Once all tests pass, I will push. Do the tests pass?")
    ()
    """
    read = prose(text, _command_subject)
    claims: list[Claim] = []
    looked_at = 0
    spoken_of: Category | None = None
    for sentence in sentences(read.plain):
        nouns = _nouns(sentence.text)
        if patterns.TRIGGER.search(sentence.text):
            for phrase, blocked in _judged(sentence.text, nouns, spoken_of):
                looked_at += 1
                if not blocked:
                    claims.append(_claim(text, read, sentence, phrase))
        if len(claims) >= MAX_CLAIMS or looked_at >= _MAX_PHRASES:
            break
        spoken_of = _last_spoken_of(nouns, len(sentence.text))
    return tuple(claims[:MAX_CLAIMS])


@lru_cache(maxsize=256)
def _command_subject(code: str) -> str | None:
    """The check that inline code names, if it is a command that is one."""
    found = patterns.NOUN.search(code)
    if found is None or patterns.READS.match(code) or len(code[: found.start()].split()) > 3:
        return None
    return found[0]


# --- finding ------------------------------------------------------------------------------


def _nouns(text: str) -> list[_Noun]:
    return [
        _Noun(cast("Category", m.lastgroup), m[0], m.start(), m.end()) for m in patterns.NOUN.finditer(text)
    ]


def _noun_begin(text: str, noun: int) -> int:
    """Where the noun's own words begin: at "all" in "all the parser tests"."""
    offset = max(0, noun - 120)
    begin, determined = noun, False
    tokens = list(patterns.WORD.finditer(text, offset, noun))
    for token in tokens[:-7:-1]:
        word = token[0].strip("()[]'\"")
        if token[0][-1] in ",:;)|" or word in phrases.STOP_WORDS:
            break
        if word == "of" and not determined:
            break
        if determined and word not in phrases.DETERMINERS and word not in phrases.HEDGES and word != "of":
            break
        determined = determined or word in phrases.DETERMINERS
        begin = token.start()
    if not determined and (joined := patterns.AND_MORE.search(text, offset, begin)):
        said = any(patterns.SAID.search(word) for word in joined[0].split())
        begin = begin if said else joined.start()
    # In "none of the tests" the "of" belongs to what denies it.
    return begin + 3 if text.startswith("of ", begin) else begin


def _last_spoken_of(nouns: list[_Noun], before: int) -> Category | None:
    return next((n.category for n in reversed(nouns) if n.start < before and n.category != "checks"), None)


def _judged(text: str, nouns: list[_Noun], spoken_of: Category | None) -> Iterator[tuple[_Phrase, bool]]:
    """The phrases of a sentence in order, each with whether something makes it no claim.

    What blocks one blocks those that are only joined to it: "verify that lint and tests pass".
    """
    if text.rstrip("\"')] ").endswith("?"):
        return
    found = [p for noun in nouns for p in _from_noun(text, noun, nouns)]
    found += [*_troubles(text), *_counts(text, nouns, spoken_of), *_pronouns(text, nouns, spoken_of)]
    found += [_Phrase(m.start(), m.end(), "build") for m in patterns.BUILT.finditer(text)]
    blocked, end = False, 0
    for phrase in _distinct(found, text):
        joined = blocked and patterns.JOINED.fullmatch(text, min(end, phrase.start), phrase.start) is not None
        blocked = joined or _is_blocked(text, phrase)
        end = phrase.end
        yield phrase, blocked


def _distinct(found: list[_Phrase], text: str) -> Iterator[_Phrase]:
    """The first and longest of those that overlap; of a category no second that adds no subject."""
    seen: set[tuple[Category, str]] = set()
    end = -1
    for phrase in sorted(found, key=lambda p: (p.start, -p.end)):
        words = text[phrase.start : phrase.noun.start] if phrase.noun else ""
        known = any(category == phrase.category for category, _ in seen)
        if phrase.start < end or (known and (not words or (phrase.category, words) in seen)):
            continue
        seen.add((phrase.category, words))
        end = phrase.end
        yield phrase


def _from_noun(text: str, noun: _Noun, nouns: list[_Noun]) -> Iterator[_Phrase]:
    begin = _noun_begin(text, noun.start)
    said = patterns.SAID_OF_IT.match(text, noun.end)
    if said and not _has_object(text, said.end(), nouns):
        narrowed, verdict = said["narrowed"] or "", said["verdict"]
        # "a test pass" is a thing, "tests for passing arguments" are not passing.
        if not (noun.word == "test" and verdict == "pass") and not (narrowed and verdict == "passing"):
            own = text[begin : noun.start].split()
            single = noun.word == "test" and phrases.UNIVERSAL.isdisjoint(own)
            yield _Phrase(begin, said.end(), noun.category, noun, narrowed, counted=single)
            yield from _said_with(text, begin, nouns, said.end())
    passed = patterns.PASSED_IT.search(text, max(0, begin - 20), begin)
    if passed and patterns.PASSED_AFTER.match(text, noun.end):
        yield _Phrase(passed.start(), noun.end, noun.category, noun)
    before = text[max(0, noun.start - 40) : noun.start]
    if patterns.CLEAN_BEFORE.search(before) and patterns.CLEAN_AFTER.match(text, noun.end):
        yield _Phrase(noun.start, noun.end, noun.category)
    if noun.category == "tests" and patterns.VERIFIED.search(text[max(0, noun.start - _AROUND) : noun.start]):
        yield _Phrase(_noun_begin(text, noun.start), noun.end, "tests", noun, spoken=False)
    if noun.start <= 80 and not patterns.SOME_FAILED.search(text):
        yield from _label(text, noun)


def _said_with(text: str, begin: int, nouns: list[_Noun], behind: int) -> Iterator[_Phrase]:
    """What the same is said of as of the noun at ``begin``: "lint, types and tests pass"."""
    for other in reversed([noun for noun in nouns if noun.end <= begin]):
        if not patterns.AND_ALSO.fullmatch(text, other.end, begin):
            return
        begin = _noun_begin(text, other.start)
        yield _Phrase(begin, other.end, other.category, other, behind=behind)


def _has_object(text: str, end: int, nouns: list[_Noun]) -> bool:
    """Whether what passes, passes a check: "everything passes the type check"."""
    follows = patterns.DETERMINED.match(text, end)
    return follows is not None and any(noun.start == follows.end() for noun in nouns)


def _label(text: str, noun: _Noun) -> Iterator[_Phrase]:
    """A line of a summary or a table: "Tests: 42 passed", "| Lint | clean |", "✅ Build"."""
    label = patterns.LABEL_AFTER.match(text, noun.end)
    if label and patterns.LABEL_BEFORE.fullmatch(text, 0, noun.start):
        share = label["n"] is not None
        yield _Phrase(
            _noun_begin(text, noun.start),
            label.end(),
            noun.category,
            noun,
            counted=share or label["count"] is not None,
            hedged=share and label["n"] != label["m"],
            spoken=False,
        )
    elif patterns.TICK_BEFORE.fullmatch(text, 0, noun.start) and patterns.TICK_AFTER.match(text, noun.end):
        yield _Phrase(noun.start, noun.end, noun.category, noun, spoken=False)


def _troubles(text: str) -> Iterator[_Phrase]:
    for pattern in (patterns.NO_KIND, patterns.KIND_FIXED, patterns.FIXED_KIND):
        for m in pattern.finditer(text):
            kind = next(k for k in phrases.TROUBLE_KINDS if m[k] is not None)
            narrowed = m["narrowed"] or "" if pattern is patterns.KIND_FIXED else ""
            yield _Phrase(m.start(), m.end(), kind, narrowed=narrowed)
    for m in patterns.FAILING_FIXED.finditer(text):
        yield _Phrase(m.start(), m.end(), "tests", counted=True)


def _counts(text: str, nouns: list[_Noun], spoken_of: Category | None) -> Iterator[_Phrase]:
    """ "42 passed", "0 failures": of tests, if these were spoken of."""
    none_failed = patterns.NONE_FAILED.search(text)
    of_tests = (_last_spoken_of(nouns, len(text)) or spoken_of) == "tests"
    if patterns.SOME_FAILED.search(text) or not (of_tests or none_failed):
        return
    for m in patterns.COUNT.finditer(text):
        if m["n"].strip("0"):
            yield _Phrase(
                m.start(), m.end(), "tests", counted=True, hedged=m["m"] not in (None, m["n"]), spoken=False
            )
    if none_failed and of_tests:
        yield _Phrase(none_failed.start(), none_failed.end(), "tests", counted="test" not in none_failed[0])


def _pronouns(text: str, nouns: list[_Noun], spoken_of: Category | None) -> Iterator[_Phrase]:
    for m in patterns.PRONOUN.finditer(text):
        about = _last_spoken_of(nouns, m.start()) or spoken_of
        if about is None and "green" in m[0]:
            about = "checks"
        if about and not _has_object(text, m.end(), nouns):
            yield _Phrase(m.start(), m.end(), about, counted=any(c.isdigit() for c in m[0]))


# --- what stands around a phrase --------------------------------------------------------------


def _is_blocked(text: str, phrase: _Phrase) -> bool:
    left = text[max(0, phrase.start - _AROUND) : phrase.start]
    *_, left = (left, *(left[fresh.start() :] for fresh in patterns.NEW_START.finditer(left)))
    behind = phrase.end if phrase.behind is None else phrase.behind
    right = text[behind : behind + _AROUND]
    if patterns.SENTENCE_BLOCKER.search(left) or patterns.BLOCKED_BEHIND.search(right):
        return True
    if phrase.noun and re.match(r"(?:\S+\s+)?0\s", text[phrase.start : phrase.noun.start]):
        return True  # none of them
    if not phrase.spoken:
        return False
    *_, clause = (left, *(left[ended.end() :] for ended in patterns.CLAUSE_END.finditer(left)))
    return bool(patterns.ADJACENT_BLOCKER.search(left) or patterns.CLAUSE_BLOCKER.search(clause))


def _claim(text: str, read: Prose, sentence: Sentence, phrase: _Phrase) -> Claim:
    at = sentence.start
    width = _width(text, read, sentence, phrase)
    quoted = text[at : at + len(sentence.text)].strip(" \t\r\n|")
    if len(quoted) > _QUOTE_CHARS:
        quoted = text[max(at, at + phrase.start - 60) : at + phrase.end + 60]
    partial = bool(width.subject) or width.counted or width.hedged
    return Claim(
        text=one_line(quoted, _QUOTE_CHARS),
        category=phrase.category,
        partial=partial,
        subject=width.subject,
        start=at + phrase.start,
        hedged=width.hedged,
        universal=width.universal and not partial,
    )


def _width(text: str, read: Prose, sentence: Sentence, phrase: _Phrase) -> _Width:
    plain = sentence.text
    noun_start = phrase.noun.start if phrase.noun else phrase.start
    own = list(patterns.WORD.finditer(plain, phrase.start, noun_start))
    numbers = [w for w in own if patterns.PORTION.fullmatch(w[0].strip("~()"))]
    hedges = [w for w in own if w[0] in phrases.HEDGES]
    share = patterns.SHARE.search(plain, max(0, phrase.start - 20), noun_start)
    hedged = (
        phrase.hedged
        or bool(hedges)
        or (share is not None and share[1] != share[2])
        or (phrase.category == "tests" and patterns.SOME_FAILED.search(plain) is not None)
        or patterns.EXCEPTED_BEFORE.search(plain[max(0, phrase.start - _AROUND) : phrase.start]) is not None
        or patterns.NOT_ALWAYS.match(plain, phrase.end) is not None
        or _has_exception(plain, read.plain, sentence.start, phrase.end)
    )
    narrowing = [w for w in own if w not in numbers and w not in hedges]
    said = {w[0].strip("(),.:") for w in patterns.WORD.finditer(plain, phrase.start, phrase.end)}
    return _Width(
        hedged,
        phrase.counted or bool(numbers) or share is not None,
        _subject(text, read, sentence, phrase, narrowing),
        phrase.noun is not None and not phrases.UNIVERSAL.isdisjoint(said),
    )


def _subject(
    text: str, read: Prose, sentence: Sentence, phrase: _Phrase, own: list[re.Match[str]]
) -> tuple[str, ...]:
    """The words that say of which it speaks, before the noun (``own``), behind it or in a command."""
    at = sentence.start
    subject = [text[at + w.start() : at + w.end()] for w in own if w[0].strip("(") not in phrases.WHOLE]
    narrowed = phrase.narrowed
    if not narrowed and phrase.category == "tests":
        after = patterns.PLACE_AFTER.match(sentence.text, phrase.end)
        narrowed = after[0] if after else ""
    subject += [word for word in narrowed.split()[1:] if word.strip(".,") not in phrases.WHOLE]
    subject += _selectors(read, at + phrase.start, at + phrase.end)
    words = (word.strip("`*'\"().,") for word in subject)
    return tuple(dict.fromkeys(w for w in words if any(c.isalnum() for c in w)))


def _selectors(read: Prose, start: int, end: int) -> list[str]:
    """What a command in inline code picks out, if the claim speaks of that command."""
    return [
        m[0]
        for at, code in read.code.items()
        if at <= end and start <= at + len(code) and _command_subject(code)
        for m in patterns.SELECTOR.finditer(code)
    ]


def _has_exception(sentence: str, plain: str, at: int, end: int) -> bool:
    """Whether something is excepted behind it, or said to fail soon after."""
    if patterns.EXCEPTION.search(sentence, end, end + _AROUND):
        return True
    return any(
        not (
            patterns.NO_EXCEPTION.search(plain, max(at + end, m.start() - 15), m.end())
            or patterns.OVER.match(plain, m.end())
        )
        for m in patterns.FAILURE.finditer(plain, at + end, at + end + _AROUND)
    )
