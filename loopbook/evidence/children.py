"""Sub-agents: when one went out and when it came back.

Theory. A child is linked when its tool call is answered and reported when its result is there: in
the foreground one answer says both, in the background the answer is the link and the result comes
later, by a reading of its task or by a notification, and perhaps by both. One result is one report,
however often it is told: results are remembered by what they said. The same child sent out again
is linked again, and its results count anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from loopbook.events import ChildDropped, ChildLinked, ChildReported, Event
from loopbook.evidence.background import Reading
from loopbook.evidence.calls import ToolCall
from loopbook.evidence.text import digest16, one_line

#: Bounds: children remembered, and results remembered of each.
CHILDREN = 256
RESULTS = 8


class Child(NamedTuple):
    """A child by its name in the book, whether it is out, and the digests of what it reported."""

    child: str
    out: bool = True
    told: tuple[str, ...] = ()


Children = tuple[Child, ...]
Changed = tuple[Children, tuple[Event, ...]]
Words = Callable[[str], str]


def child_of(call: ToolCall) -> str:
    """The child an agent tool sent out; the call's own id where the host names none.

    >>> child_of(ToolCall("c1", "Task", "agent", {}))
    'c1'
    """
    return call.child or call.ref


def sent(children: Children, call: ToolCall, child: str, words: Words) -> Changed:
    """An agent tool was answered: a link and, unless it went to the background, a report.

    >>> from loopbook.evidence.calls import CallResult
    >>> call = ToolCall("c1", "Task", "agent", {}, CallResult("ok", "found it"))
    >>> [event.type for event in sent((), call, "a1", str)[1]]
    ['child_linked', 'child_reported']
    """
    result = call.result
    linked = _with(children, Child(child))
    link = ChildLinked(child=child)
    if result is None or result.status == "background":
        return linked, (link,)
    after, reports = reported(linked, child, result.status == "ok", result.text, words)
    return after, (link, *reports)


def came_back(children: Children, reading: Reading, child: str, sure: bool, words: Words) -> Changed:
    """A task was read or a notification came: a report, if it is a child's and says something new.

    ``sure``: the host says that the task is a child, known here or not.
    """
    if reading.running or not (sure or any(one.child == child for one in children)):
        return children, ()
    return reported(children, child, reading.ok, reading.text, words)


def reported(children: Children, child: str, ok: bool, said: str, words: Words) -> Changed:
    """A child's result, reported unless this very result was reported before."""
    known = next((one for one in children if one.child == child), Child(child))
    digest = digest16(f"{ok} {one_line(said, len(said) + 1)}")
    after = _with(children, known._replace(out=False, told=(*known.told, digest)[-RESULTS:]))
    report = ChildReported(child=child, ok=ok, summary=words(said))
    return (after, (report,)) if digest not in known.told else (children, ())


def stopped(children: Children, child: str) -> Changed:
    """The agent stopped a child: nobody waits for it any more."""
    known = next((one for one in children if one.child == child), None)
    if known is None or not known.out:
        return children, ()
    return _with(children, known._replace(out=False)), (
        ChildDropped(child=child, why="the agent stopped it"),
    )


def _with(children: Children, child: Child) -> Children:
    others = tuple(one for one in children if one.child != child.child)
    return (*others, child)[-CHILDREN:]
