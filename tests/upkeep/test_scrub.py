"""What is scrubbed is gone; what the book means, and that it was scrubbed, stays."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from loopbook.book import CATALOGUE
from loopbook.book.snapshots import pack
from loopbook.books import Books
from loopbook.entry import Draft
from loopbook.errors import CannotScrub
from loopbook.events import (
    BY_TYPE,
    Check,
    LoopClosed,
    Prompted,
    RunSettled,
    Scrubbed,
    Task,
    TodoCompleted,
    TodoOpened,
    Unknown,
)  # fmt: skip
from loopbook.projections import fold
from loopbook.run import Call, Line
from loopbook.sealing import sum_in
from loopbook.store import Stand
from loopbook.upkeep.fsck import Head, fsck
from loopbook.upkeep.importing import import_lines
from loopbook.upkeep.scrub import Asked, Scrubbing, find, scrub
from loopbook.upkeep.standing import SNAPSHOT, Place
from loopbook.upkeep.texts import FIELDS, NAMES, WITHIN, WORDS, models_in, without_texts
from loopbook.upkeep.transfer import everything, write
from tests.book.drafts import NOON, told_nothing
from tests.conftest import PROVE
from tests.strategies_events import histories
from tests.upkeep.world import EVENTS, fill, hands, opened, rows_of

SECRET = 'hunter2"\\é-𝄞'


@pytest.fixture
def books(store_url: str) -> Iterator[Books]:
    with opened(store_url) as there:
        yield there


def scrubbed(
    books: Books, stream: str, seq: int | None = None, text: str | None = None, *, force: bool = False
) -> Scrubbing:
    return scrub(books.book, Asked(stream, seq, text, reason="leaked", force=force), NOON)


# --- texts -----------------------------------------------------------------------------------------


def test_every_field_of_every_event_is_known_to_be_text_or_none() -> None:
    """So that a new field makes somebody decide: texts are named here, the rest in the tables."""
    texts = {
        "anchor", "changed", "children", "claim", "command", "detail", "diff_summary", "error", "final_text",
        "followup", "friction", "head", "input", "intent", "locator", "output_hash", "output_tail", "paths",
        "produced", "question", "revision", "session_file", "subject", "summary", "text", "touched",
        "untracked", "why",
    }  # fmt: skip
    numbers = {
        "aside", "background", "calls_total", "continues", "cost_usd", "deletions", "editor_empty", "exit",
        "exit_code", "grace", "grace_seconds", "idle", "input_tokens", "insertions", "interactive", "judged",
        "latency_ms", "line", "masked", "notice", "ok", "on", "output_chars", "output_tokens", "ran",
        "read_to", "seq", "seqs", "subagent", "timeout_sec", "trigger", "v", "version", "writes", "at",
        "prev", "session", "sum", "sums", "asked",
    }  # fmt: skip
    assert not texts & (WORDS | NAMES | WITHIN)
    assert FIELDS - numbers - {"host_ref"} <= texts | WORDS | NAMES | WITHIN, (
        FIELDS - numbers - (texts | WORDS | NAMES | WITHIN)
    )


def test_objects_within_events_are_looked_into() -> None:
    """All fields that hold models are in the table; what no table knows is text as a whole."""

    def holders(cls: type[BaseModel]) -> Iterator[str]:
        for name, field in cls.model_fields.items():
            for inner in models_in(field.annotation):
                yield name
                yield from holders(inner)

    assert {name for cls in BY_TYPE.values() for name in holders(cls)} == WITHIN | {"children"}
    assert without_texts({"new": {"ref": "x", "due": "2026-01-01"}, "scope": "tests"}) == {
        "new": {"ref": "[scrubbed 1 chars]", "due": "2026-01-01"},
        "scope": "tests",
    }


def test_a_whole_entry_loses_its_texts_and_keeps_the_rest(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    check = Check(command="make", outcome="fail", exit_code=2, scope="build", output_tail="x" * 99, by="me")
    run = RunSettled(
        run="r1",
        final_text="all done",
        lines=(Line(role="user", text="hello"),),
        calls=(Call(ref="c1", tool="Bash", kind="command", input="cat .env", output_tail="KEY"),),
    )
    loop.record(Prompted(prompt="p1", text="log in"), host_ref="r-1")
    loop.record(run, check)
    for seq in (2, 3, 4):
        scrubbed(books, loop.stream, seq, force=True)
    prompt, settled, failed = [entry.event for entry in loop.entries(1)][:3]
    assert prompt == Prompted(prompt="p1", text="[scrubbed 6 chars]")
    assert isinstance(settled, RunSettled)
    assert (settled.final_text, settled.lines[0].text) == ("[scrubbed 8 chars]", "[scrubbed 5 chars]")
    call = settled.calls[0]
    assert (call.ref, call.tool, call.input, call.output_tail) == (
        "c1", "Bash", "[scrubbed 8 chars]", "[scrubbed 3 chars]",
    )  # fmt: skip
    assert failed == check.model_copy(
        update={"command": "[scrubbed 4 chars]", "output_tail": "[scrubbed 99 chars]"}
    )
    assert next(loop.entries(1)).host_ref == "r-1"


def test_unknown_events_lose_every_text(books: Books) -> None:
    books.book.append(
        "guard:p", Draft(Unknown.model_validate({"type": "x", "a": ["s", 1], "b": {"c": "t"}})), after=0
    )
    scrubbed(books, "guard:p", 1)
    first = next(books.book.entries("guard:p")).event
    assert first.model_extra == {"a": ["[scrubbed 1 chars]", 1], "b": {"c": "[scrubbed 1 chars]"}}


# --- what stays ----------------------------------------------------------------------------------


def comes_again(books: Books) -> None:
    """The store is sound, and another one takes all of it."""
    assert fsck(books.book).findings == ()
    out = io.BytesIO()
    write(everything(books.book), out)
    with opened("memory:") as there:
        assert import_lines(there.book, out).problems == ()
        assert fsck(there.book).findings == ()


def alike(old: object, new: object) -> bool:
    """Equal but for texts that were replaced, or cut to another length for it."""
    if isinstance(old, str) and isinstance(new, str):
        return old == new or "[scrubbed " in new or "[scrubbed " in old
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(map(alike, old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(alike(old[name], new[name]) for name in old)
    return old == new


@settings(max_examples=500 if PROVE else 40, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.data())
def test_a_scrubbed_book_means_what_it_meant(history: list[Draft], data: st.DataObject) -> None:
    with opened("memory:") as books:
        loop = books.start("fix", "an intent", id="a")
        books.book.record("loop:a", *history, tell=told_nothing)
        entries = [*loop.entries()]
        seq = data.draw(st.integers(1, len(entries)))
        before = loop.state
        rows = rows_of(books.book)
        try:
            done = scrubbed(books, "loop:a", seq)
        except CannotScrub:
            assert rows_of(books.book) == rows
            return
        assert done == Scrubbing((("loop:a", seq),), ("loop:a",))
        after = [*loop.entries()]
        assert alike(before._replace(version=loop.version), loop.state)
        assert fold(after) == loop.state
        comes_again(books)
        for old, new in zip(entries, after, strict=False):
            assert old[:2] == new[:2]
            assert old[3:8] == new[3:8]
            if old.seq != seq:
                assert old.event == new.event
        (last,) = after[len(entries) :]
        assert last.event == Scrubbed(
            of="loop:a", seqs=(seq,), reason="leaked", before=entries[-1].sum, after=after[-2].sum,
            sums="".join(entry.sum[:12] for entry in entries[seq - 1 :]),
        )  # fmt: skip


def test_a_check_that_another_one_answers_is_not_renamed_by_accident(books: Books) -> None:
    """The command is a text, and says which check it is: whole, it goes only where that is asked for."""
    loop = books.start("fix", "i", id="a")
    fails = Check(command="NAME=hunter2 pytest -k a", outcome="fail", exit_code=1)
    loop.record(fails, Check(command="pytest -k a", outcome="pass", exit_code=0))
    before = rows_of(books.book), loop.state
    with pytest.raises(CannotScrub, match="would mean something else"):
        scrubbed(books, loop.stream, 2)
    assert (rows_of(books.book), loop.state) == before
    scrubbed(books, loop.stream, 2, text="hunter2")
    assert loop.state.work.checks.failing == ()
    scrubbed(books, loop.stream, 2, force=True)
    assert len(loop.state.work.checks.failing) == 1


# --- chains, forks, and what is derived --------------------------------------------------------------


def test_forks_and_the_catalogue_are_anchored_anew_and_say_so(books: Books) -> None:
    fill(books)
    states = {loop: books.book.state(f"loop:{loop}") for loop in ("a", "a-2", "a-3")}
    heads = {loop: books.book.head(f"loop:{loop}") for loop in states}
    done = scrubbed(books, "loop:a", 1)
    assert done.streams == ("loop:a", "loop:a-2", "loop:a-3")
    assert fsck(books.book).findings == ()
    for loop, state in states.items():
        assert alike(state._replace(version=state.version + 1), books.book.state(f"loop:{loop}"))
        *_, last = books.book.entries(f"loop:{loop}")
        assert isinstance(last.event, Scrubbed)
        assert (last.event.of, last.event.seqs, last.event.before) == ("loop:a", (1,), heads[loop][1])
        report = fsck(books.book, [Head(heads[loop][1], f"loop:{loop}")])
        assert (report.findings, len(report.notes)) == ((), 1)
        assert last.event.after in report.notes[0]
    intents = {row.id: row.intent for row in books.list()}
    assert {intents[loop] for loop in states} == {"[scrubbed 22 chars]"}
    assert intents["done"] == "Bump the pin"


def notes_of(books: Books, *heads: str) -> list[str]:
    """What fsck says of some heads, which are no findings."""
    report = fsck(books.book, [Head(head) for head in heads])
    assert report.findings == ()
    return list(report.notes)


def sums(books: Books, stream: str) -> list[str]:
    """The sums of all rows of a stream."""
    return [sum_in(row.state) for row in rows_of(books.book) if row.originator_id == stream]


def test_any_head_noted_before_a_scrub_is_told_with_what_its_entry_has_now(books: Books) -> None:
    """Also where more was written before it was scrubbed, and of forks, sessions and the catalogue."""
    fill(books)
    streams = [name for name in books.book.records.rows.streams() if not name.startswith("once:")]
    before = {name: sums(books, name) for name in streams}
    scrub(books.book, Asked(None, text="tell them"), NOON)
    scrub(books.book, Asked(None, text="Crash on empty"), NOON)
    scrub(books.book, Asked("loop:a", seq=4), NOON)
    for name, heads in before.items():
        now = sums(books, name)
        changed = [(old, new) for old, new in zip(heads, now, strict=False) if old != new]
        notes = notes_of(books, *(old for old, _ in changed))
        for (old, new), note in zip(changed, sorted(notes, key=lambda n: heads.index(n[9:73])), strict=True):
            assert note.startswith(f"the head {old} of {name} is from before texts were scrubbed")
            assert note.endswith(f"now has {new}"), note
    assert len(notes_of(books, *before["loop:a"])) == len(before["loop:a"])


def test_a_head_from_between_two_scrubs_is_told_with_the_sum_that_stands_now(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(Task(text="first secret"), Task(text="second secret"))
    scrubbed(books, loop.stream, 3)
    between = sums(books, loop.stream)
    scrubbed(books, loop.stream, 2)
    now = sums(books, loop.stream)
    assert now[0] == between[0]
    for seq in (2, 3, 4):
        (note,) = notes_of(books, between[seq - 1])
        assert note.endswith(f"seq {seq}, now has {now[seq - 1]}")


def test_a_head_of_what_was_cut_off_or_forged_is_a_finding_after_a_scrub_too(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(Task(text="a secret"))
    scrubbed(books, loop.stream, 2)
    for head in ("0" * 64, sums(books, loop.stream)[1][:11] + "g" * 53):
        (finding,) = fsck(books.book, [Head(head)]).findings
        assert "its end was cut" in finding.what


def test_digits_of_a_former_sum_are_no_text(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(Task(text="a secret"))
    head = loop.book.head(loop.stream)[1]
    scrubbed(books, loop.stream, 2)
    assert [*find(books.book, loop.stream, head[:8])] == []
    loop.record(Task(text=f"the digits {head[:8]}"))
    scrubbed(books, loop.stream, text=head[:8])
    assert len(notes_of(books, head)) == 1


def test_a_fork_from_before_the_entry_is_left_alone(books: Books) -> None:
    books.start("fix", "i", id="a")
    early = books.fork("a", new_id="early")
    rows = [row for row in rows_of(books.book) if row.originator_id == early.stream]
    books.loop("a").record(Task(text="secret"))
    assert scrubbed(books, "loop:a", 2).streams == ("loop:a",)
    assert [row for row in rows_of(books.book) if row.originator_id == early.stream] == rows


def test_an_entry_of_a_parent_is_scrubbed_through_its_fork(books: Books) -> None:
    fill(books)
    assert scrubbed(books, "loop:a-3", 1).entries == (("loop:a", 1),)
    assert fsck(books.book).findings == ()


def test_a_closed_loop_can_be_scrubbed_and_stays_closed(books: Books) -> None:
    loop = books.start("chore", SECRET, id="a")
    loop.record(LoopClosed(outcome="unjudged"))
    scrubbed(books, loop.stream, 1)
    assert loop.state.life.outcome == "unjudged"
    assert books.list()[0].intent == f"[scrubbed {len(SECRET)} chars]"
    assert books.list()[0].outcome == "unjudged"


def test_ids_that_hold_the_text_are_renamed_everywhere_with_their_reservations(books: Books) -> None:
    loop = books.start("fix", "i", id="a")
    loop.record(TodoOpened(todo=f"t-{SECRET}", subject="s"), host_ref=f"ref {SECRET}", session=SECRET)
    loop.record(TodoOpened(todo="t2", subject=SECRET * 2), host_ref=f"plain-{SECRET}")
    scrubbed(books, loop.stream, text=SECRET)
    assert fsck(books.book).findings == ()
    put = f"[scrubbed-{len(SECRET)}-chars]"
    assert list(loop.state.todos) == [f"t-{put}", "t2"]
    loop.record(TodoCompleted(todo=f"t-{put}"))
    with pytest.raises(ValueError, match="used in this book before"):
        loop.record(TodoOpened(todo=f"t-{put}", subject="s"))
    assert loop.record(Task(text="again"), host_ref=f"ref {put}") == ()
    assert not any(
        SECRET[:7].encode() in row.state or SECRET[:7] in row.originator_id for row in rows_of(books.book)
    )


def test_ids_stay_different_ids_whatever_is_taken_out_of_them(books: Books) -> None:
    """Secrets of one length, one after the other, and what looks like the mark of one already."""
    loop = books.start("fix", "i", id="a")
    ids = ["xhunter2", "xswordf1", "x[scrubbed-7-chars-2]", "xpasswd9"]
    loop.record(*(TodoOpened(todo=name, subject="s") for name in ids))
    for secret in ("hunter2", "swordf1", "passwd9", "[scrubbed-7-chars-3]"):
        scrubbed(books, loop.stream, text=secret)
        assert fsck(books.book).findings == ()
    assert list(loop.state.todos) == [
        "x[scrubbed-7-chars]", "x[scrubbed-20-chars]", "x[scrubbed-7-chars-2]", "x[scrubbed-7-chars-4]",
    ]  # fmt: skip
    for name in loop.state.todos:
        with pytest.raises(ValueError, match="is open already"):
            loop.record(TodoOpened(todo=name, subject="s"))
    loop.record(*(TodoCompleted(todo=name) for name in loop.state.todos))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"seq": 9}, "has no text to take out"),
        ({"text": "nowhere"}, "does not hold the text"),
        ({"text": "abc"}, "fewer than 4 characters"),
        ({"text": "loop:a"}, "stands in the name loop:a itself"),
        ({"text": "fail", "force": True}, "also a word of the format"),
        ({"stream": "loop:none", "seq": 1}, "there is no loop:none"),
    ],
)
def test_what_cannot_be_scrubbed_is_told_and_nothing_is_written(
    books: Books, asked: dict[str, object], told: str
) -> None:
    books.start("fix", "i", id="a").record(Check(command="make", outcome="fail"))
    before = rows_of(books.book)
    with pytest.raises(CannotScrub, match=told):
        scrub(books.book, Asked("loop:a")._replace(**asked), NOON)  # type: ignore[arg-type]  # its own fields
    assert rows_of(books.book) == before


def test_find_names_the_entries_that_hold_a_text(books: Books) -> None:
    fill(books)
    books.loop("a-2").record(Task(text=f"with {SECRET}"))
    there = [Place("loop:a", 3, "todo_opened"), Place("loop:a-3", 9, SNAPSHOT)]
    for loop in ("loop:a", "loop:a-2", "loop:a-3"):
        assert [*find(books.book, loop, "tell them")] == there
        assert [*find(books.book, loop, SECRET)] == [Place("loop:a-2", 9, "task")]
    assert [*find(books.book, "loop:done", "tell them")] == []
    assert sorted(find(books.book, None, "tell them")) == there


def test_who_writes_meanwhile_loses_nothing(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading and writing another process appends, and another one forks: all is tried again."""
    with opened(shared_url) as books, opened(shared_url) as other:
        loop = books.start("fix", SECRET, id="a")
        rows, left = books.book.records.rows, [2]
        replace = rows.replace

        def disturbed(*arguments: object) -> None:
            if left[0]:
                left[0] -= 1
                other.loop("a").record(Task(text=f"meanwhile {left[0]}"))
                other.fork("a", 1, new_id=f"fork-{left[0]}")
            replace(*arguments)  # type: ignore[arg-type]  # passed on

        monkeypatch.setattr(rows, "replace", disturbed)
        done = scrubbed(books, loop.stream, 1)
        assert sorted(done.streams) == ["loop:a", "loop:fork-0", "loop:fork-1"]
        assert [entry.event.type for entry in loop.entries()] == ["loop_opened", "task", "task", "scrubbed"]
        assert fsck(books.book).findings == ()
        (entry,) = other.loop("a").record(Task(text="later"))
        assert entry.seq == 5
        assert fsck(other.book).findings == ()


# --- bytes -------------------------------------------------------------------------------------------


def forms(text: str) -> list[bytes]:
    """How a text may stand in a file."""
    import json  # noqa: PLC0415 - for this alone

    return [
        text.encode(),
        json.dumps(text)[1:-1].encode(),
        json.dumps(text, ensure_ascii=False)[1:-1].encode(),
    ]


def held(folder: Path, *texts: str) -> list[str]:
    """The files of a folder that hold one of the texts in any form."""
    wanted = [form for text in texts for form in forms(text)]
    return [
        path.name for path in sorted(folder.iterdir()) if any(form in path.read_bytes() for form in wanted)
    ]


def test_after_scrub_and_vacuum_the_text_is_nowhere_in_the_file_or_its_log(tmp_path: Path) -> None:
    big = "QSECRETQ" * 500_000
    url = f"sqlite:///{tmp_path}/books.db"
    with opened(url) as books:
        loop = books.start("fix", f"intent {SECRET}", id="a")
        loop.record(Task(text=f"x {SECRET} y"), host_ref=f"ref-{SECRET}", session=f"by {SECRET}")
        loop.record(TodoOpened(todo=f"todo-{SECRET}", subject="s"))
        loop.record(Task(text=big))
        books.fork("a", new_id="b").record(Task(text="in the fork"))
        books.book.record("session:h:s", Draft(Prompted(prompt="p", text=SECRET)))
        for stream in ("loop:a", "loop:b"):
            place = books.book.place(stream)
            stands = (Stand(stream, place.version, place.sum), *place.forebears)
            books.book.records.rows.snapshot_put(pack(stands, place.state), stands)
        assert held(tmp_path, SECRET) != []
        scrubbed(books, "loop:a", text=SECRET)
        scrubbed(books, "loop:a", 4)
        scrubbed(books, "session:h:s", 1)
        before = sum(path.stat().st_size for path in tmp_path.iterdir())
        books.book.records.rows.vacuum()
        assert held(tmp_path, SECRET, "hunter2", "QSECRETQ") == []
        assert fsck(books.book).findings == ()
    assert held(tmp_path, SECRET, "hunter2", "QSECRETQ") == []
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < before / 10
    with closing(sqlite3.connect(tmp_path / "books.db")) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_on_a_server_no_row_holds_the_text_any_more(books: Books) -> None:
    loop = books.start("fix", f"intent {SECRET}", id="a")
    loop.record(TodoOpened(todo=f"todo-{SECRET}", subject=SECRET))
    place = books.book.place("loop:a")
    books.book.records.rows.snapshot_put(pack((Stand("loop:a", place.version, place.sum),), place.state), ())
    scrubbed(books, "loop:a", text=SECRET)
    books.book.records.rows.vacuum()
    for stored in books.book.records.rows.scan():
        assert not any(form in stored.row.state for form in forms(SECRET))
        assert SECRET not in stored.row.originator_id


def test_a_damaged_book_is_not_scrubbed_into_a_sound_one(tmp_path: Path) -> None:
    """A row that was edited is not sealed anew: damage stays damage."""
    with opened(f"sqlite:///{tmp_path}/b.db") as books, hands(books.url) as by_hand:
        fill(books)
        row = next(row for row in by_hand.rows(EVENTS) if row[:2] == ("loop:a", 3))
        by_hand.remove(EVENTS, row)
        by_hand.put(EVENTS, row._replace(state=row.state.replace(b"tell", b"sell")))
        with pytest.raises(CannotScrub, match="fsck"):
            scrubbed(books, "loop:a", 1)


def test_times_and_clocks_are_the_callers() -> None:
    with opened("memory:") as books:
        books.start("fix", "i", id="a")
        then = datetime.fromisoformat("2027-01-01T00:00:00+00:00")
        scrub(books.book, Asked("loop:a", 1, session="me"), then)
        *_, last = books.book.entries("loop:a")
        assert (last.at, last.session) == (then, "me")
        *_, said = books.book.entries(CATALOGUE)
        assert said.at == then
