"""What sub-agents did counts for the loop, under their names, where they report."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from loopbook.entry import Draft
from loopbook.events import Change, Check, ChildLinked, ChildReported
from loopbook.transcripts import read_session
from loopbook.transcripts.children import file_of
from tests.transcripts.records import SESSION, START, Session, of, prompts, read, settled, types

EDITED = {"filePath": "/home/dev/project/a.py"}


def report(child: str, words: str = "found it") -> dict[str, object]:
    return {"status": "completed", "agentId": child, "content": [{"type": "text", "text": words}]}


def child_file(folder: Path, child: str, session: Session) -> Path:
    return session.write(folder, f"{SESSION}/subagents/agent-{child}.jsonl")


def working_child(child: str = "a1", *, moment: int = 0) -> Session:
    """A child that edits a file and runs the tests."""
    own = Session(child=child)
    own.moment = START + timedelta(seconds=moment)
    own.user("look into it")
    own.calls("Edit", "c1", file_path="/home/dev/project/a.py", old_string="a", new_string="b")
    own.answers("c1", "The file has been updated.", toolUseResult=EDITED)
    own.runs("pytest", "c2", "1 failed in 0.1s", code=1)
    own.says("found it")
    return own


def parent(*, at: int = 60) -> Session:
    """A session that sent a child and has its report."""
    session = Session()
    session.user("fix the crash")
    session.calls("Task", "t1", description="look", prompt="look into it", subagent_type="Explore")
    session.moment = START + timedelta(seconds=at)
    session.answers("t1", [{"type": "text", "text": "found it"}], toolUseResult=report("a1"))
    return session


def by(drafts: list[Draft]) -> list[tuple[str, str | None]]:
    return [(d.event.type, d.event.by) for d in drafts if isinstance(d.event, Change | Check)]


def test_what_a_child_did_stands_between_its_link_and_its_report(tmp_path: Path) -> None:
    child_file(tmp_path, "a1", working_child())
    drafts, reading = read(parent(), tmp_path)
    assert types(drafts) == ["prompted", "child_linked", "change", "check", "child_reported"]
    assert by(drafts) == [("change", "a1"), ("check", "a1")]
    assert {draft.line for draft in drafts[1:]} == {3}  # where it reports, in this file
    assert drafts[2].at == START + timedelta(seconds=3)  # when the child did it
    assert len({draft.host_ref for draft in drafts}) == len(drafts)
    assert reading.problems == []


def test_a_childs_calls_are_its_parents_runs_under_its_name(tmp_path: Path) -> None:
    child_file(tmp_path, "a1", working_child())
    session = parent()
    session.says("It was a.py.")
    session.stops()
    (run,) = settled(read(session, tmp_path)[0])
    assert [(call.ref, call.by, call.child) for call in run.calls] == [
        ("t1", None, "a1"),
        ("c1", "a1", None),
        ("c2", "a1", None),
    ]


def test_before_the_report_nothing_of_the_child_is_read(tmp_path: Path) -> None:
    child_file(tmp_path, "a1", working_child())
    session = parent()
    session.lines.pop()
    assert types(read(session, tmp_path)[0]) == ["prompted"]


def test_a_child_whose_file_is_missing_is_told(tmp_path: Path) -> None:
    drafts, reading = read(parent(), tmp_path)
    assert types(drafts) == ["prompted", "child_linked", "child_reported"]
    assert [problem.line for problem in reading.problems] == [3]
    assert "sub-agent a1" in reading.problems[0].what


def test_a_child_in_the_background_is_out_until_its_notification(tmp_path: Path) -> None:
    child_file(tmp_path, "a1", working_child(moment=3))
    session = Session()
    session.user("fix the crash")
    session.calls("Agent", "t1", description="look", prompt="look into it")
    launched = {"isAsync": True, "status": "async_launched", "agentId": "a1"}
    session.answers("t1", "Async agent launched successfully.\nagentId: a1", toolUseResult=launched)
    session.says("Launched.")
    session.stops()
    session.moment = START + timedelta(seconds=60)
    told = "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<result>found it</result>"
    session.user(told, promptSource="system")
    session.says("It was a.py.")
    session.stops()
    session.user(told, promptSource="system")  # the same task may notify more than once
    drafts, _ = read(session, tmp_path)
    first, second = settled(drafts)
    assert {name: child.state for name, child in first.observed.children.items()} == {"a1": "out"}
    assert second.observed.children == {}
    assert [prompt.origin for prompt in prompts(drafts)] == ["human", "child", "child"]
    assert types(drafts) == [
        "prompted",
        "child_linked",
        "run_settled",
        "prompted",
        "change",
        "check",
        "child_reported",
        "run_settled",
        "prompted",
    ]


def test_a_child_sent_again_adds_only_what_it_did_since(tmp_path: Path) -> None:
    own = working_child()
    own.moment = START + timedelta(seconds=100)
    own.runs("pytest", "c3", "1 passed in 0.1s")
    child_file(tmp_path, "a1", own)
    session = parent()
    session.calls("Task", "t2", description="again", prompt="again", resume="a1")
    session.moment = START + timedelta(seconds=200)
    session.answers("t2", [{"type": "text", "text": "fixed"}], toolUseResult=report("a1", "fixed"))
    drafts, _ = read(session, tmp_path)
    outcomes = [(d.line, d.event.outcome) for d in drafts if isinstance(d.event, Check)]
    assert outcomes == [(3, "fail"), (5, "pass")]
    assert len(of(drafts, ChildLinked)) == len(of(drafts, ChildReported)) == 2


def test_a_grandchilds_work_counts_too(tmp_path: Path) -> None:
    own = Session(child="a1")
    own.user("look into it")
    own.calls("Task", "g1", description="deeper", prompt="deeper")
    own.moment = START + timedelta(seconds=30)
    own.answers("g1", [{"type": "text", "text": "ok\nagentId: a2"}], toolUseResult=report("a2"))
    child_file(tmp_path, "a1", own)
    child_file(tmp_path, "a2", working_child("a2"))
    drafts, _ = read(parent(), tmp_path)
    assert by(drafts) == [("change", "a2"), ("check", "a2")]


def test_children_that_report_themselves_come_to_an_end(tmp_path: Path) -> None:
    own = Session(child="a1")
    for number in range(50):
        own.calls("Task", f"g{number}", prompt="again")
        own.answers(f"g{number}", "ok", toolUseResult=report("a1", f"{number}"))
    child_file(tmp_path, "a1", own)
    drafts, _ = read(parent(), tmp_path)
    assert types(drafts)[-1] == "child_reported"


def test_what_a_child_that_reports_itself_did_counts_once(tmp_path: Path) -> None:
    child = Session(child="a1")
    child.user("look into it")
    child.calls("Task", "x1", description="again", prompt="look into it")
    child.answers("x1", "found it", toolUseResult=report("a1"))
    child.runs("pytest", "c2", "1 failed in 0.1s", code=1)
    child_file(tmp_path, "a1", child)
    assert by(read(parent(), tmp_path)[0]) == [("check", "a1")]


def test_summarisers_and_warmups_are_no_children(tmp_path: Path) -> None:
    child_file(tmp_path, "acompact-1", working_child("acompact-1"))
    warm = Session(child="a9")
    warm.user("Warmup")
    child_file(tmp_path, "a9", warm)
    session = Session()
    session.user("fix the crash")
    session.add("system", subtype="compact_boundary")
    session.says("Done.")
    session.stops()
    assert types(read(session, tmp_path)[0]) == ["prompted", "run_settled"]


def test_a_refused_child_never_went_out(tmp_path: Path) -> None:
    session = Session()
    session.user("fix the crash")
    session.calls("Task", "t1", prompt="look into it")
    session.answers("t1", "The user doesn't want to proceed with this tool use.", error=True)
    assert types(read(session, tmp_path)[0]) == ["prompted"]


# --- where older versions write a child's records ---------------------------------------------------


@pytest.mark.parametrize("named", [True, False], ids=["with an id of its own", "without one"])
def test_a_childs_records_in_the_sessions_own_file_count_where_they_stand(
    tmp_path: Path, named: bool
) -> None:
    session = Session("1.0.53")
    session.user("fix the crash")
    session.calls("Task", "t1", description="look", prompt="look into it")
    own = working_child("a1")
    for line in own.lines:
        session.raw(line if named else line.replace('"agentId": "a1"', '"userType": "external"'))
    session.moment = START + timedelta(seconds=60)
    back = {"content": [{"type": "text", "text": "found it"}], **({"agentId": "a1"} if named else {})}
    session.answers("t1", [{"type": "text", "text": "found it"}], toolUseResult=back)
    drafts, reading = read(session, tmp_path)
    name = "a1" if named else "t1"
    assert by(drafts) == [("change", name), ("check", name)]
    assert [d.line for d in of(drafts, Check)] == [7]
    links = [d.event.child for d in drafts if isinstance(d.event, ChildLinked | ChildReported)]
    assert links == [name, name]
    assert reading.problems == []


def test_two_children_at_once_are_kept_apart(tmp_path: Path) -> None:
    session = Session("1.0.53")
    session.user("fix the crash")
    session.calls("Task", "t1", message="m", prompt="look into a")
    session.calls("Task", "t2", message="m", prompt="look into b")
    for name, asked in (("x", "look into a"), ("y", "look into b")):
        session.user(asked, isSidechain=True, uuid=f"{name}0", parentUuid=None)
    for name in ("y", "x"):
        use = {"type": "tool_use", "id": f"{name}c", "name": "Bash", "input": {"command": f"pytest {name}"}}
        session.blocks(use, isSidechain=True, uuid=f"{name}1", parentUuid=f"{name}0")
    for name in ("x", "y"):
        session.answers(
            f"{name}c",
            "1 passed in 0.1s",
            error=False,
            isSidechain=True,
            uuid=f"{name}2",
            parentUuid=f"{name}1",
        )
    checks = [d.event for d in of(read(session, tmp_path)[0], Check)]
    assert [(c.command, c.by) for c in checks if isinstance(c, Check)] == [
        ("pytest x", "t1"),
        ("pytest y", "t2"),
    ]


@pytest.mark.parametrize("file_there", [True, False])
def test_a_childs_progress_stands_in_for_a_file_that_is_missing(tmp_path: Path, file_there: bool) -> None:
    own = working_child()
    if file_there:
        child_file(tmp_path, "a1", own)
    session = parent()
    answer = session.lines.pop()
    seen = Session()
    seen.calls("Bash", "c2", command="pytest")
    seen.answers("c2", "Exit code 1\n1 failed in 0.1s", error=True)
    for line in seen.lines:
        message = json.loads(line)
        data = {
            "type": "agent_progress",
            "agentId": "a1",
            "message": {k: message[k] for k in ("type", "message")},
        }
        session.add("progress", data=data)
    session.raw(answer.replace("main-3", "answer"))
    drafts, reading = read(session, tmp_path)
    assert [d.line for d in of(drafts, Check)] == [5 if file_there else 4]
    assert reading.problems == []


def test_a_file_beside_the_session_is_found_as_older_versions_wrote_it(tmp_path: Path) -> None:
    working_child().write(tmp_path, "agent-a1.jsonl")
    assert by(read(parent(), tmp_path)[0]) == [("change", "a1"), ("check", "a1")]


def test_a_session_under_another_name_finds_its_children_by_its_id(tmp_path: Path) -> None:
    child_file(tmp_path, "a1", working_child())
    path = parent().write(tmp_path, "copy.jsonl")
    assert by(list(read_session(path))) == [("change", "a1"), ("check", "a1")]


@pytest.mark.parametrize("child", ["a/../../../secret", "../secret", "", ".", "a" * 200, "a\x00b"])
def test_a_childs_id_leads_nowhere_else(tmp_path: Path, child: str) -> None:
    (tmp_path / "s" / "subagents" / "agent-a").mkdir(parents=True)
    (tmp_path / "secret.jsonl").touch()
    (tmp_path / "s" / "subagents" / "agent-.jsonl").touch()
    (tmp_path / "s" / "subagents" / "agent-..jsonl").touch()
    assert file_of(tmp_path / "s.jsonl", "s", child) is None


def test_a_childs_file_read_by_itself_is_a_session_that_no_person_prompted(tmp_path: Path) -> None:
    path = working_child().write(tmp_path, "agent-a1.jsonl")
    reading = read_session(path)
    drafts = list(reading)
    assert [prompt.origin for prompt in prompts(drafts)] == ["host"]
    assert by(drafts) == [("change", None), ("check", None)]
    assert reading.open_run is not None
    assert reading.open_run.final_text == "found it"


def test_what_is_wrong_with_a_childs_file_is_said_once_at_the_sessions_line(tmp_path: Path) -> None:
    own = working_child()
    own.raw("nonsense")
    own.raw("[]")
    child_file(tmp_path, "a1", own)
    _, reading = read(parent(), tmp_path)
    assert [(p.line, p.what) for p in reading.problems] == [
        (3, "in the file of sub-agent a1, line 7: not a JSON object; passed over")
    ]
