"""Markdown as prose: what a text says in its author's own voice.

Theory. ``plain`` gives a text of the same length in which everything that is not said is blank:
code blocks, block quotes, unticked boxes and crossed-out lines, and lists under a heading that
says what shall be. What is quoted, in quotation marks or as inline code, becomes one word of
``x``, so that it narrows what it stands beside and claims nothing. Letters are lower case,
apostrophes straight, a paragraph is one line. Offsets stay those of the original.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from loopbook.evidence import phrases

_FOLDED = {ord(a): a.lower() for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} | dict(
    zip(map(ord, "’‘“”*\t\r\v\f\x85\xa0\u2028\u2029"), "''\"\"" + " " * 9, strict=True)
)
_FENCE = re.compile(r"\s{0,12}(?:[-*+] |\d{1,3}[.)] )?\s{0,4}(```+|~~~+)")
_QUOTE = re.compile(r"\s{0,12}>")
_NOT_DONE = re.compile(
    rf"[\s>]{{0,12}}(?:[-*+•] |\d{{1,3}}[.)] )?\s{{0,4}}(?:\[ ?\]|~~|[{phrases.CROSS_MARKS}])"
)
_DONE = re.compile(rf"\[x\]|[{phrases.CHECK_MARKS}]")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s|\s{0,3}\*\*[^*\n]{1,80}\*\*:?\s{0,3}$")
_ITEM = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s")
_TABLE = re.compile(r"\s{0,12}\|")
_LEAD_IN = re.compile(r".{0,300}:[\s*]{0,4}$")
_PLAN = re.compile(rf"\b(?:{phrases.PLANS})\b", re.IGNORECASE)
_CODE = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|(?<![\w'])'[^'\n]{1,300}'(?![\w'])")
#: A sentence is read no further than this.
SENTENCE_CHARS = 2_000
_SENTENCE = re.compile(r"(?:[^.!?;\n]|[.!?](?![\s\"')\]]|\Z))++[.!?;]*")


class Sentence(NamedTuple):
    """A stretch of plain text and where it begins."""

    text: str
    start: int


class Prose(NamedTuple):
    """A text as prose: as long as the original; ``code``: inline code by the place it begins."""

    plain: str
    code: dict[int, str]


def prose(text: str, command: Callable[[str], str | None]) -> Prose:
    """The text as prose. ``command`` names the subject an inline code stands for, if any.

    >>> prose("It *is* `x y`.\\n> no\\nEnd", lambda code: None).plain
    'it  is   xxx .\\n    \\nend'
    """
    kept = "".join(_said(text))
    code: dict[int, str] = {}

    def as_word(found: re.Match[str]) -> str:
        inner, width = found[1], len(found[1])
        code[found.start() + 1] = inner
        subject = command(inner)
        # Right-aligned, so that what is said of it stands right behind it.
        return f" {subject[-width:]:>{width}} " if subject else f" {'x' * width} "

    lowered = _CODE.sub(as_word, kept.translate(_FOLDED)).replace("`", " ")
    plain = _QUOTED.sub(lambda found: "x" * len(found[0]), lowered)
    return Prose(_unwrapped(plain), code)


def sentences(plain: str) -> Iterator[Sentence]:
    """The sentences of plain text, in order; a paragraph, an item and a table's row end one."""
    for found in _SENTENCE.finditer(plain):
        if not found[0].isspace():
            yield Sentence(found[0][:SENTENCE_CHARS], found.start())


def _said(text: str) -> Iterator[str]:
    """The lines, those that are not the author's statement blanked."""
    fence = ""
    plan = ""  # "heading" or "list": under what kind of plan the line stands
    for line in text.splitlines(keepends=True):
        if line == "\n" and not plan:
            yield line
            continue
        body = line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        opened = _FENCE.match(body)
        if fence:
            if opened and opened[1].startswith(fence) and not body.strip().strip(fence[0]):
                fence = ""
            yield _blank(line, body)
            continue
        if opened:
            fence = opened[1]
            yield _blank(line, body)
            continue
        plan = _plan_after(plan, body)
        hidden = _QUOTE.match(body) or _NOT_DONE.match(body) or (plan and not _DONE.search(body, 0, 200))
        yield _blank(line, body) if hidden else body + "\n" * (len(line) - len(body))


def _plan_after(plan: str, body: str) -> str:
    """Whether the lines from here on stand under a plan."""
    if _HEADING.match(body):
        return "heading" if _PLAN.search(body, 0, 200) else ""
    if plan == "list" and body.strip() and not _ITEM.match(body) and not body.startswith("  "):
        plan = ""
    if not plan and _LEAD_IN.match(body) and _PLAN.search(body, 0, 300):
        return "list"
    return plan


def _blank(line: str, body: str) -> str:
    return " " * len(body) + "\n" * (len(line) - len(body))


def _unwrapped(plain: str) -> str:
    """Each paragraph and each item on one line: a line end inside one becomes a blank."""
    lines = plain.split("\n")
    joined: list[str] = []
    for this, following in zip(lines, [*lines[1:], ""], strict=True):
        ends = (
            not this.strip()
            or not following.strip()
            or _HEADING.match(this)
            or any(begin.match(following) for begin in (_ITEM, _TABLE, _HEADING))
            or _TABLE.match(this)
            or _DONE.match(following.lstrip())
        )
        joined.append(this + ("\n" if ends else " "))
    return "".join(joined)[:-1]
