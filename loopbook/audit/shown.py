"""Text of strangers on a person's terminal: one line, bounded, and nothing acts.

What a terminal would obey or hide (escapes, controls, marks that turn the writing direction,
invisible characters, lone surrogates) is written out, so that a reader sees that it was there.
"""

from __future__ import annotations

import re

# The joiners U+200C and U+200D stay: Persian and emoji need them, and they hide nothing.
_ACTS = (
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with every character that acts or hides written out.

    >>> visible("ok\\x1b[31m \\u202eabc")
    'ok\\\\x1b[31m \\\\u202eabc'
    """
    if text.isprintable():  # so is nearly every text, and what is there has not to be made
        return text
    return re.sub(_ACTS, lambda found: found[0].encode("unicode_escape").decode(), text)


def shown(text: str, chars: int = 160) -> str:
    """The text as one visible line of about ``chars`` characters (escapes are not cut in two).

    >>> shown("All  tests\\npass")
    'All tests pass'
    >>> shown("x" * 50, 10)
    'xxxxxxxxx…'
    """
    line = " ".join(text[: 4 * chars + 1].split())
    if len(line) > chars or len(text) > 4 * chars + 1:
        line = line[: chars - 1].rstrip() + "…"
    return visible(line)


def quoted(text: str, chars: int = 160) -> str:
    """The text as it is quoted: shown, between quotes.

    >>> quoted("All tests\\npass")
    '"All tests pass"'
    """
    return f'"{shown(text, chars)}"'


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun.

    >>> counted(1, "call"), counted(0, "call"), counted(2, "child", "children")
    ('1 call', '0 calls', '2 children')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
