"""Todo lists end in the same three events, and those events give the list back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.events import Event, TodoCompleted, TodoDropped, TodoOpened
from loopbook.evidence.calls import CallResult, ToolCall
from loopbook.evidence.todos import TODOS, VANISHED, Lists, observe
from tests.evidence import hostile


class Book:
    """A book that admits todo events by the rules: no id twice, nothing done or dropped twice."""

    def __init__(self) -> None:
        self.open: dict[str, str] = {}
        self.used: set[str] = set()

    def take(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, TodoOpened):
                assert event.todo not in self.used, "an id was used twice"
                self.used.add(event.todo)
                self.open[event.todo] = event.subject
            else:
                assert isinstance(event, TodoCompleted | TodoDropped)
                assert event.todo in self.open, "a todo that is not open was closed"
                del self.open[event.todo]


def write(ref: str, entries: Sequence[Mapping[str, object]], *, by: str | None = None) -> ToolCall:
    return ToolCall(ref, "TodoWrite", "todos", {"todos": list(entries)}, CallResult("ok"), by=by)


def task(
    ref: str, args: Mapping[str, object], data: Mapping[str, object] | None = None, by: str | None = None
) -> ToolCall:
    return ToolCall(ref, "Task", "todos", args, CallResult("ok", data=data), by=by)


def entry(content: str, status: str = "pending") -> dict[str, object]:
    return {"content": content, "status": status}


entries = st.lists(
    st.builds(
        entry,
        st.sampled_from(["parse", "test", "docs", "ship"]),
        st.sampled_from(["pending", "in_progress", "completed", "cancelled", "?"]),
    ),
    max_size=6,
)


@given(st.lists(entries, max_size=12))
def test_the_events_of_a_list_written_anew_give_exactly_the_new_list(
    lists: list[list[dict[str, object]]],
) -> None:
    book, memory = Book(), Lists()
    for n, new in enumerate(lists):
        memory, events = observe(memory, write(f"c{n}", new), str)
        book.take(events)
        still_open = [e["content"] for e in new if e["status"] not in ("completed", "cancelled")]
        assert sorted(book.open.values()) == sorted(map(str, still_open))


@given(st.lists(entries, max_size=8))
def test_reading_the_same_calls_again_gives_the_same_ids(lists: list[list[dict[str, object]]]) -> None:
    def read() -> list[Event]:
        memory = Lists()
        said: list[Event] = []
        for n, new in enumerate(lists):
            memory, events = observe(memory, write(f"c{n}", new), str)
            said += events
        return said

    assert read() == read()


def test_what_vanishes_unfinished_is_dropped_and_says_so() -> None:
    lists, _ = observe(Lists(), write("c1", [entry("a"), entry("b", "completed")]), str)
    _, events = observe(lists, write("c2", []), str)
    assert [(e.type, getattr(e, "why", None)) for e in events] == [("todo_dropped", VANISHED)]


def test_a_todo_taken_up_again_after_it_was_done_is_a_new_one() -> None:
    book, lists = Book(), Lists()
    for n, status in enumerate(["pending", "completed", "pending", "completed"]):
        lists, events = observe(lists, write(f"c{n}", [entry("a", status)]), str)
        book.take(events)
    assert len(book.used) == 2
    assert book.open == {}


def test_two_entries_of_one_text_are_two_todos() -> None:
    book, lists = Book(), Lists()
    lists, events = observe(lists, write("c1", [entry("a"), entry("a")]), str)
    book.take(events)
    assert len(book.open) == 2
    _, events = observe(lists, write("c2", [entry("a", "completed"), entry("a")]), str)
    book.take(events)
    assert len(book.open) == 1


def test_a_plan_of_steps_is_a_list_too() -> None:
    plan = ToolCall(
        "c1", "update_plan", "todos", {"plan": [{"step": "a", "status": "pending"}]}, CallResult("ok")
    )
    assert [event.type for event in observe(Lists(), plan, str)[1]] == ["todo_opened"]


def test_the_list_as_the_host_took_it_is_believed() -> None:
    call = write("c1", [entry("a")])._replace(result=CallResult("ok", data={"newTodos": [entry("b")]}))
    assert [getattr(e, "subject", None) for e in observe(Lists(), call, str)[1]] == ["b"]


def test_a_sub_agents_own_list_leaves_no_events() -> None:
    lists, _ = observe(Lists(), write("c1", [entry("a")]), str)
    assert observe(lists, write("c2", [entry("x")], by="child"), str) == (lists, ())


def test_tasks_by_id_are_opened_done_and_reopened() -> None:
    book = Book()
    lists, events = observe(Lists(), task("c1", {"subject": "parse"}, {"task": {"id": "1"}}), str)
    book.take(events)
    for ref, status in (("c2", "in_progress"), ("c3", "completed"), ("c4", "completed"), ("c5", "pending")):
        lists, events = observe(lists, task(ref, {"taskId": "1", "status": status, "subject": "parse"}), str)
        book.take(events)
    assert (list(book.open.values()), len(book.used)) == (["parse"], 2)
    _, events = observe(lists, task("c6", {"taskId": "1", "status": "deleted"}), str)
    book.take(events)
    assert book.open == {}


def test_the_change_the_host_confirms_counts_and_one_it_refused_does_not() -> None:
    lists, _ = observe(Lists(), task("c1", {"subject": "parse"}, {"task": {"id": "1"}}), str)
    args = {"taskId": "1", "status": "completed"}
    assert observe(lists, task("c2", args, {"success": False}), str)[1] == ()
    said = {"statusChange": {"from": "pending", "to": "completed"}}
    assert [e.type for e in observe(lists, task("c2", {"taskId": "1"}, said), str)[1]] == ["todo_completed"]


def test_an_unknown_task_is_opened_when_it_is_open_and_left_alone_when_it_is_closed() -> None:
    assert observe(Lists(), task("c1", {"taskId": "9", "status": "completed"}), str)[1] == ()
    events = observe(Lists(), task("c1", {"taskId": "9", "status": "in_progress"}), str)[1]
    assert [getattr(e, "subject", None) for e in events] == ["task 9"]


def test_a_listing_brings_the_book_up_to_date_and_drops_nothing() -> None:
    lists, _ = observe(Lists(), task("c1", {"subject": "a"}, {"task": {"id": "1"}}), str)
    lists, _ = observe(lists, task("c2", {"subject": "b"}, {"task": {"id": "2"}}), str)
    listing = {
        "tasks": [{"id": "1", "status": "completed"}, {"id": "3", "subject": "c", "status": "pending"}]
    }
    assert [e.type for e in observe(lists, task("c3", {}, listing), str)[1]] == [
        "todo_completed",
        "todo_opened",
    ]


@pytest.mark.parametrize("own", [False, True], ids=["the main agent's task", "a task of its own"])
def test_a_sub_agent_ticks_off_the_main_agents_tasks_only(own: bool) -> None:
    lists, _ = observe(Lists(), task("c1", {"subject": "a"}, {"task": {"id": "1"}}), str)
    if own:
        lists, events = observe(lists, task("c2", {"subject": "x"}, {"task": {"id": "1"}}, by="child"), str)
        assert events == ()
    events = observe(lists, task("c3", {"taskId": "1", "status": "completed"}, by="child"), str)[1]
    assert [e.type for e in events] == ([] if own else ["todo_completed"])


def test_a_sub_agent_opens_no_task_of_the_loop() -> None:
    assert observe(Lists(), task("c1", {"taskId": "9", "status": "pending"}, by="child"), str)[1] == ()


def test_a_flood_of_todos_is_remembered_within_bounds() -> None:
    lists, events = observe(Lists(), write("c1", [entry(f"t{n}") for n in range(5_000)]), str)
    assert len(events) == len(lists.written) == TODOS
    for n in range(2 * TODOS):
        lists, _ = observe(lists, task(f"m{n}", {"subject": "x"}, {"task": {"id": str(n)}}), str)
        lists, _ = observe(lists, task(f"s{n}", {"subject": "x"}, {"task": {"id": str(n)}}, by=f"a{n}"), str)
    assert (len(lists.tasks), len(lists.elsewhere)) == (TODOS, TODOS)


def test_closed_tasks_are_forgotten_before_open_ones() -> None:
    lists = Lists()
    for n in range(TODOS):
        lists, _ = observe(lists, task(f"c{n}", {"subject": "x"}, {"task": {"id": str(n)}}), str)
    lists, _ = observe(lists, task("d", {"taskId": "7", "status": "completed"}), str)
    lists, _ = observe(lists, task("e", {"subject": "new"}, {"task": {"id": "new"}}), str)
    assert len(lists.tasks) == TODOS
    assert all(item.state == "open" for item in lists.tasks)


@given(st.lists(hostile.calls.map(lambda call: call._replace(kind="todos")), max_size=4))
def test_whatever_a_host_writes_a_book_admits_the_events(calls: list[ToolCall]) -> None:
    book, lists = Book(), Lists()
    for n, call in enumerate(calls):
        lists, events = observe(lists, call._replace(ref=f"c{n}"), str)
        book.take(events)
