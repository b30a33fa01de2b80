"""Todo and task tools: from whole lists and single updates to todo events.

Theory. Hosts keep two sorts of lists. One sort is written anew each time (``TodoWrite``,
``update_plan``): what is new was opened, what is done was completed, and what vanished unfinished
was dropped, whether anybody says so or not. The other sort has ids (``TaskCreate``,
``TaskUpdate``, ``TaskList``). Both end in the same three events.

- A todo's id in the book comes from the call that opened it and its text, so reading the same
  session again gives the same ids, while a todo taken up again after it was done is a new one:
  a book admits no id twice.
- Two entries with the same text are two todos, told apart by which of them comes first.
- A sub-agent's own list is its own business and leaves no events: what the loop still has to do
  stands in the main agent's list. Only where it ticks off a task the main agent opened, that counts.
- Bounded: ``TODOS`` entries are remembered of each list, closed ones forgotten first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from loopbook.events import Event, TodoCompleted, TodoDropped, TodoOpened
from loopbook.evidence.calls import ToolCall
from loopbook.evidence.shapes import id_of, list_of, mapping_of, text_of
from loopbook.evidence.text import digest16

#: Bounds: entries of one list that are read and remembered.
TODOS = 200

State = Literal["open", "done", "dropped"]

#: What hosts call an entry's state; any other word is open.
STATES: dict[str, State] = {
    "completed": "done",
    "done": "done",
    "cancelled": "dropped",
    "canceled": "dropped",
    "deleted": "dropped",
}
#: Where hosts put an entry's text.
TEXT_KEYS = ("content", "step", "subject", "description", "text", "title")

VANISHED = "no longer in the list"


class Item(NamedTuple):
    """An entry as last seen: ``key`` tells it in its list, ``todo`` is its id in the book."""

    key: str
    todo: str
    state: State


class Entry(NamedTuple):
    """An entry as a call gives it."""

    key: str
    subject: str
    state: State


class Lists(NamedTuple):
    """The main agent's list and tasks, and the keys of tasks that sub-agents keep for themselves."""

    written: tuple[Item, ...] = ()
    tasks: tuple[Item, ...] = ()
    elsewhere: tuple[str, ...] = ()


Changed = tuple[Lists, tuple[Event, ...]]
Subject = Callable[[str], str]


def observe(lists: Lists, call: ToolCall, subject: Subject) -> Changed:
    """What a todo tool that went well did. ``subject`` makes a text fit to be kept.

    >>> from loopbook.evidence.calls import CallResult
    >>> call = ToolCall("c1", "TodoWrite", "todos", {"todos": [{"content": "parse", "status": "pending"}]},
    ...                 CallResult("ok"))
    >>> lists, opened = observe(Lists(), call, str)
    >>> opened[0].subject
    'parse'
    >>> observe(lists, call._replace(ref="c2", input={"todos": []}), str)[1][0].why
    'no longer in the list'
    """
    data = call.result.data if call.result else None
    whole = list_of(data, "newTodos")
    whole = list_of(call.input, "todos", "plan") if whole is None else whole
    if whole is not None:
        return (lists, ()) if call.by else _replace(lists, entries(whole), call.ref, subject)
    if id_of(call.input, "taskId"):
        return _update(lists, call, subject)
    if text_of(call.input, "subject"):
        return _create(lists, call, subject)
    tasks = list_of(data, "tasks")
    return (lists, ()) if tasks is None or call.by else _sync(lists, tasks, call.ref, subject)


def entries(raw: Sequence[object]) -> tuple[Entry, ...]:
    """The readable entries of a written list, the first ``TODOS`` of them.

    >>> [entry.state for entry in entries([{"content": "a", "status": "completed"}, 7, {"step": "b"}])]
    ['done', 'open']
    """
    seen: Counter[str] = Counter()
    found = []
    for item in raw[:TODOS]:
        if text := text_of(item, *TEXT_KEYS):
            seen[text] += 1
            key = digest16(f"{seen[text]} {text}")
            found.append(Entry(key, text, _state(text_of(item, "status"))))
    return tuple(found)


def _replace(lists: Lists, new: tuple[Entry, ...], ref: str, subject: Subject) -> Changed:
    """The difference between the list as it was and as it is written now."""
    old = {item.key: item for item in lists.written}
    events: list[Event] = []
    written = []
    for entry in new:
        item, said = _step(old.pop(entry.key, None), entry, ref, subject)
        events += said
        written.append(item)
    events += [TodoDropped(todo=item.todo, why=VANISHED) for item in old.values() if item.state == "open"]
    return lists._replace(written=tuple(written)), tuple(events)


def _create(lists: Lists, call: ToolCall, subject: Subject) -> Changed:
    """A task was created; its id is the host's, or else nobody can name it again."""
    data = call.result.data if call.result else None
    host_id = id_of(mapping_of(data, "task"), "id") or id_of(data, "taskId", "id") or call.ref
    if call.by:
        elsewhere = (*lists.elsewhere, digest16(f"{call.by} {host_id}"))[-TODOS:]
        return lists._replace(elsewhere=elsewhere), ()
    entry = Entry(digest16(host_id), text_of(call.input, "subject"), "open")
    return _settle(lists, [entry], call.ref, subject)


def _update(lists: Lists, call: ToolCall, subject: Subject) -> Changed:
    """One task's state was set. A sub-agent's word counts for tasks the main agent opened."""
    data = call.result.data if call.result else None
    host_id = id_of(call.input, "taskId")
    status = text_of(mapping_of(data, "statusChange"), "to") or text_of(call.input, "status")
    refused = data is not None and data.get("success") is False
    if refused or not status or (call.by and digest16(f"{call.by} {host_id}") in lists.elsewhere):
        return lists, ()
    entry = Entry(digest16(host_id), text_of(call.input, "subject") or f"task {host_id}", _state(status))
    return _settle(lists, [entry], call.ref, subject, known_only=bool(call.by))


def _sync(lists: Lists, tasks: Sequence[object], ref: str, subject: Subject) -> Changed:
    """A listing of all tasks. One that is missing from it may be filtered out: nothing is dropped."""
    found = [
        Entry(
            digest16(host_id), text_of(task, *TEXT_KEYS) or f"task {host_id}", _state(text_of(task, "status"))
        )
        for task in tasks[:TODOS]
        if (host_id := id_of(task, "id", "taskId"))
    ]
    return _settle(lists, found, ref, subject)


def _settle(
    lists: Lists, found: Iterable[Entry], ref: str, subject: Subject, *, known_only: bool = False
) -> Changed:
    """Tasks by id: a task of which the book knows nothing is opened if it is open, else left alone."""
    tasks = {item.key: item for item in lists.tasks}
    events: list[Event] = []
    for entry in found:
        if entry.key not in tasks and (known_only or entry.state != "open"):
            continue
        item, said = _step(tasks.pop(entry.key, None), entry, ref, subject)
        events += said
        tasks[entry.key] = item
    return lists._replace(tasks=_newest(tasks.values())), tuple(events)


def _step(item: Item | None, entry: Entry, ref: str, subject: Subject) -> tuple[Item, list[Event]]:
    """One entry goes on from what was known of it; closed and open again, it is a new todo."""
    events: list[Event] = []
    if item is None or (item.state != "open" and entry.state == "open"):
        item = Item(entry.key, f"todo-{digest16(f'{ref} {entry.key}')[:12]}", "open")
        events.append(TodoOpened(todo=item.todo, subject=subject(entry.subject)))
    if item.state == "open" and entry.state == "done":
        events.append(TodoCompleted(todo=item.todo))
    if item.state == "open" and entry.state == "dropped":
        events.append(TodoDropped(todo=item.todo, why="the agent cancelled it"))
    return (item._replace(state=entry.state) if item.state == "open" else item), events


def _state(status: str) -> State:
    return STATES.get(status.strip().lower(), "open")


def _newest(items: Iterable[Item]) -> tuple[Item, ...]:
    """At most ``TODOS``: the newest open ones, then the newest closed ones, in their order."""
    kept = tuple(items)
    over = len(kept) - TODOS
    if over <= 0:
        return kept
    closed = [item for item in kept if item.state != "open"][:over]
    rest = tuple(item for item in kept if item not in closed)
    return rest[-TODOS:]
