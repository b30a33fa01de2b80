"""What the user decided, where hosts bring it as a tool's result: questions answered, plans judged.

Theory. An answer and an approval come back as the result of a call that went well. A plan turned
down comes back as a refusal: the tool did not run, but saying no is a decision all the same. A
refusal has five shapes; three carry the user's no (a fixed sentence, that sentence with the user's
words, the words alone), two mean that nobody was there to ask, and a hook's no is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from loopbook.events import Decision, Event
from loopbook.evidence.calls import ToolCall
from loopbook.evidence.runs import Safe
from loopbook.evidence.shapes import mapping_of, text_of
from loopbook.evidence.text import head

#: Bounds: characters of a question or an answer, and answers of one call.
ANSWER_CHARS = 2_000
ANSWERS = 10

#: A refusal that is not the user's: a hook's, or that of a host with nobody there to ask.
NOT_THE_USER = re.compile(
    r"PreToolUse|hook error|requires approval|requested permissions|permission (?:to use|for this action)",
    re.IGNORECASE,
)
#: The fixed sentence, and the words after which the user's own stand.
USERS_NO = re.compile(
    r"doesn't want to (?:proceed|take this action)|user (?:rejected|declined)", re.IGNORECASE
)
USER_SAID = "the user said:"

_ANSWER = re.compile(r'"([^"\n]{1,2000})"\s?=\s?"([^"\n]{0,2000})"')


def answered(call: ToolCall, safe: Safe) -> tuple[Event, ...]:
    """One decision for each question the user answered.

    >>> from loopbook.evidence.calls import CallResult
    >>> from loopbook.evidence.redaction import Redactor
    >>> result = CallResult("ok", data={"answers": {"Which store?": "SQLite"}})
    >>> answered(ToolCall("c1", "AskUserQuestion", "question", {}, result), Safe(Redactor()))[0].text
    'SQLite'
    """
    if call.result is None or call.result.status != "ok":
        return ()
    return tuple(
        Decision(
            text=safe.line(answer, ANSWER_CHARS),
            decided_by="user",
            question=safe.line(question, ANSWER_CHARS) or None,
            by=safe.name(call.by) if call.by else None,
        )
        for question, answer in list(_answers(call))[:ANSWERS]
    )


def approved(call: ToolCall, safe: Safe) -> tuple[Event, ...]:
    """A plan that was accepted: by the user, or by the main agent where a sub-agent made it."""
    if call.result is None or call.result.status != "ok":
        return ()
    by_agent = call.by is not None or (call.result.data or {}).get("isAgent") is True
    return (
        Decision(
            text="approved",
            decided_by="agent" if by_agent else "user",
            question=_asked(call, safe),
            by=safe.name(call.by) if call.by else None,
        ),
    )


def turned_down(call: ToolCall, safe: Safe) -> tuple[Event, ...]:
    """A plan the user said no to, with the user's words where there are any.

    >>> from loopbook.evidence.calls import CallResult
    >>> from loopbook.evidence.redaction import Redactor
    >>> call = ToolCall("c1", "ExitPlanMode", "plan", {}, CallResult("refused", "Not now."))
    >>> turned_down(call, Safe(Redactor()))[0].text
    'rejected: Not now.'
    """
    result = call.result
    if call.kind != "plan" or call.by or result is None or result.status != "refused":
        return ()
    if NOT_THE_USER.search(head(result.text, 400)):
        return ()
    _, marked, said = result.text.partition(USER_SAID)
    words = said if marked else "" if USERS_NO.search(head(result.text, 400)) else result.text
    text = safe.line(words, ANSWER_CHARS)
    answer = f"rejected: {text}" if text else "rejected"
    return (Decision(text=answer, decided_by="user", question=_asked(call, safe)),)


def _answers(call: ToolCall) -> Iterator[tuple[str, str]]:
    """The questions of a call with what the user said to each."""
    result = call.result
    given = mapping_of(result.data if result else None, "answers")
    for question, answer in given.items():
        words = answer if isinstance(answer, list | tuple) else [answer]
        text = ", ".join(word for word in words if isinstance(word, str))
        if text.strip() and isinstance(question, str):
            yield question, text
    if not given and result:
        yield from _ANSWER.findall(head(result.text, ANSWERS * 2 * ANSWER_CHARS))


def _asked(call: ToolCall, safe: Safe) -> str:
    """The plan as a question: its text, or the file it stands in."""
    data = call.result.data if call.result else None
    plan = text_of(call.input, "plan") or text_of(data, "plan", "filePath")
    return f"plan: {safe.line(plan, ANSWER_CHARS)}" if plan else "the plan"
