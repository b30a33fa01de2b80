"""The phrases put together: the compiled patterns that claims are found with.

What each finds is said where ``claims`` uses it. Every repetition is bounded and nearly all begin at
a word that must be there, so the time of each is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from loopbook.evidence import phrases
from loopbook.evidence.phrases import Category


def _named(patterns: Mapping[Category, str]) -> str:
    return "|".join(f"(?P<{category}>{pattern})" for category, pattern in patterns.items())


_S = r"\s{1,8}"
_END = r"(?![\w-])"
_FILL = rf"(?:{_S}(?:{phrases.FILLERS})\b){{0,4}}"
_TROUBLES = rf"(?:{phrases.TROUBLES}){_END}"
_BE = rf"(?:{_S}(?:have|has|were|was|are|is|been|all|now|also)){{1,4}}"
_PASSES = rf"(?:{phrases.PASSES}){_END}(?!\s?/|{_S}-|{_S}{phrases.NOT_A_VERDICT})"
_NO_TROUBLES = rf"(?:with{_S})?(?:{phrases.NONE_OF}){_S}(?:[\w-]{{1,20}}{_S}){{0,2}}?{_TROUBLES}"

NOUN = re.compile(rf"(?<![\w/.@-])(?:{_named(phrases.SUBJECTS)}){_END}")
TRIGGER = re.compile(
    rf"{phrases.PASSES}|clean|happy|satisf|success|{phrases.TROUBLES}|compil|buil[dt]|verified|confirmed"
    rf"|validated|good|free|failed|\d\s?(?:/|of)\s?\d|[{phrases.CHECK_MARKS}]|\bok\b"
)
SAID_OF_IT = re.compile(
    rf"(?:{_S}\([^()\n]{{0,80}}\))?"
    rf"(?P<narrowed>{_S}(?:{phrases.NARROWED_BY})"
    rf"(?:{_S}(?!(?:{phrases.NOT_NARROWING})\b)[^\s,;:!?|()]{{1,40}}){{1,5}}?)?"
    rf"(?:{_S}\([^()\n]{{0,80}}\))?{_FILL}{_S}(?P<verdict>{_PASSES}"
    rf"|(?:{phrases.VERBS})(?:{_S}been)?{_FILL}{_S}(?:(?:{phrases.GOOD}){_END}|{_NO_TROUBLES}))"
)
PASSED_IT = re.compile(r"\b(?:passes|passed)\s{1,8}\Z")
PASSED_AFTER = re.compile(
    r"\s{0,8}(?:$|[,.;:)(!]|(?:and|or|now|with|without|in|on|again|after|cleanly|successfully)\b)"
)
CLEAN_BEFORE = re.compile(
    r"(?:^|[:,(]|\b(?:with|got|gives?|gave|had|has|have|is|was|now|and|yields?|produce[sd]?)\b)\W{0,8}"
    rf"(?:a{_S})?(?:fully{_S})?(?:clean|successful|green|passing){_S}$"
)
CLEAN_AFTER = re.compile(r"\s{0,8}(?:$|[,)(!.]|(?:and|now|with|after)\b)")
LABEL_BEFORE = re.compile(rf"[\W\d_x]{{0,16}}(?:[\w-]{{1,20}}{_S}){{0,3}}?")
LABEL_AFTER = re.compile(
    rf"(?:{_S}\([^()\n]{{0,60}}\))?(?:{_S}(?:suite|status|results?))?\s{{0,8}}"
    rf"(?:(?:[:|=–—-]|->|→){{1,3}}\s{{0,8}}(?:[{phrases.CHECK_MARKS}]\s{{0,4}})?"
    rf"(?:{phrases.LABEL_VERDICT}|(?:all{_S})?(?P<n>\d{{1,7}})\s?(?:/|of)\s?(?P<m>\d{{1,7}})(?!\d)(?:{_S}(?:tests?{_S})?pass(?:ed|ing)?)?"
    rf"|(?:all{_S})?(?P<count>[1-9]\d{{0,6}}){_S}(?:tests?{_S})?pass(?:ed|ing)?)|[{phrases.CHECK_MARKS}])"
    rf"(?=\s{{0,8}}(?:$|[,.;|(){phrases.CHECK_MARKS}–—-]|(?:with|in|and|all)\b|\d))"
)
TICK_BEFORE = re.compile(rf"[\s|+-]{{0,8}}[{phrases.CHECK_MARKS}]\s{{0,4}}")
TICK_AFTER = re.compile(r"\s{0,4}[.|]?\s{0,4}$")
NO_KIND = re.compile(
    rf"\b(?:{phrases.NONE_OF}|free of){_S}(?:[\w-]{{1,20}}{_S}){{0,2}}?"
    rf"(?:{_named(phrases.TROUBLE_KINDS)}){_S}{_TROUBLES}"
)
KIND_FIXED = re.compile(
    rf"\b(?:{_named(phrases.TROUBLE_KINDS)}){_S}(?:{phrases.TROUBLES})"
    rf"(?P<narrowed>{_S}in{_S}(?:[^,.;\n]|\.(?=\w)){{1,60}}?)?{_BE}{_S}(?:{phrases.FIXED}){_END}"
)
FIXED_KIND = re.compile(
    rf"\b(?:{phrases.FIXED}){_S}(?:all|every|both|the{_S}remaining|\d{{1,5}})(?:{_S}of)?(?:{_S}the)?{_S}"
    rf"(?:\S{{1,20}}{_S}){{0,2}}?(?:{_named(phrases.TROUBLE_KINDS)}){_S}{_TROUBLES}"
)
FAILING_FIXED = re.compile(rf"\bfailing{_S}(?:test|spec)s?{_BE}{_S}(?:{phrases.FIXED}){_END}")
BUILT = re.compile(
    rf"(?<![\w-])(?:(?:{phrases.BUILT}){_FILL}{_S})?(?:compile[sd]?|builds?|built)"
    rf"{_S}(?:cleanly|successfully|fine|{_NO_TROUBLES})"
    rf"|(?<![\w-])(?:{phrases.BUILT}){_FILL}{_S}(?:compiles|builds)"
    r"(?=\s{0,8}(?:$|[,).!]|(?:and|now|again)\b))"
)
VERIFIED = re.compile(
    rf"\b(?:verified|confirmed|validated)(?:{_S}(?!(?:that|if|whether)\b)[\w'-]{{1,30}}){{0,4}}?"
    rf"{_S}(?:by|with|via|through|using){_S}(?:(?:running|executing|passing|the|our|all|unit|full){_S}){{0,4}}$"
)
COUNT = re.compile(
    rf"(?<![\w.#/-])(?P<n>\d{{1,7}})(?:\s?(?:/|of|out of)\s?(?P<m>\d{{1,7}}))?{_FILL}{_S}"
    rf"(?:pass|passe[sd]|passing){_END}(?!{_S}{phrases.NOT_A_VERDICT})"
)
SHARE = re.compile(r"(?<![\w.])(\d{1,7})\s?(?:/|of|out of)\s?(?:the\s)?(\d{1,7})\s")
NONE_FAILED = re.compile(
    rf"\b(?:{phrases.NONE_OF}){_S}(?:failures|failed|failing)(?:{_S}tests?)?(?:{_S}cases?)?{_END}"
)
SOME_FAILED = re.compile(
    r"(?<![\w.])(?!0\b)\d{1,7}\s{1,4}(?:\w{1,12}\s{1,4}){0,2}(?:fail(?:s|ed|ing|ures?)?|errors?|errored)\b"
    r"(?!\s{1,4}(?:tests?|specs?)\s{1,4}(?:now|all|pass|are|have)\b)"
)
PRONOUN = re.compile(
    rf"(?<![\w-])(?:they|these|those|both|everything|all(?:{_S}of{_S}(?:them|these|those))?(?:{_S}\d{{1,7}})?)"
    rf"{_FILL}{_S}(?:{_PASSES}|(?:are|were|is|came{_S}back|come{_S}back){_FILL}{_S}"
    rf"(?:passing|passed|green|clean){_END})"
)
PORTION = re.compile(r"(\d{1,7})(?:/\1)?")
SELECTOR = re.compile(r"(?<=-[kmtp] )\S{1,200}|\S{0,200}(?:/|::|\.\w{1,5}\b)\S{0,200}")
SENTENCE_BLOCKER = re.compile("|".join(phrases.SENTENCE_BLOCKERS))
CLAUSE_BLOCKER = re.compile("|".join(phrases.CLAUSE_BLOCKERS))
ADJACENT_BLOCKER = re.compile("|".join(phrases.ADJACENT_BLOCKERS))
BLOCKED_BEHIND = re.compile("|".join(phrases.BLOCKED_BEHIND))
EXCEPTION, FAILURE = map(re.compile, phrases.EXCEPTIONS)
EXCEPTED_BEFORE, NOT_ALWAYS = re.compile(phrases.EXCEPTED_BEFORE), re.compile(phrases.NOT_ALWAYS)
NO_EXCEPTION, OVER = re.compile(phrases.NO_EXCEPTION), re.compile(phrases.OVER)
NEW_START = re.compile(r"\b(?:but|however|now that|because|since)\b")
CLAUSE_END = re.compile(r"[,:()|–—]|\s-{1,2}\s|\b(?:and|so|while|which|where)\b")
AND_ALSO = re.compile(r"\s{0,8}(?:,|&|\+|,?\s{0,8}(?:and|plus)\b)\s{0,8}(?:the\s{1,8})?")
READS = re.compile(r"\s*(?:cat|grep|rg|ls|git|echo|rm|head|tail|less|vi|vim)\b")
DETERMINED = re.compile(r"\s{1,8}(?:(?:all|both|the|every|our|its|full|of)\s{1,8}){0,4}")
JOINED = re.compile(r"[\s,&|]*(?:and|or|as well as|plus)?[\s,]*(?:that\s+)?(?:then\s+)?")
PLACE_AFTER = re.compile(
    rf"{_S}(?:in|for|on|under)(?:{_S}(?!(?:{phrases.NOT_NARROWING}|total|under|less|about|all|a|my|our|general|full|now|this|these"
    r"|\d\S*)\b)[^\s,;:!?|()]{1,40}){1,3}"
)
SAID = re.compile(rf"^(?:{phrases.PASSES}|{phrases.VERBS}|{phrases.GOOD})\W*$")
AND_MORE = re.compile(r"\b(?:all|both|the)\s+(?:[\w-]{1,30},?\s+){1,4}and\s+\Z")
WORD = re.compile(r"\S+")
