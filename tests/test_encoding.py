"""Entries become bytes and back, whoever wrote them, and nobody edits them unseen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from loopbook import encoding as encoding_module
from loopbook.book.streams import What
from loopbook.encoding import UPCASTS, decode, encode, encode_and_read, encode_reserved, written
from loopbook.entry import Entry, utc
from loopbook.errors import DamagedEntry, InvalidEvent
from loopbook.events import (
    BY_TYPE,
    Change,
    ChildLinked,
    Event,
    Reserved,
    RunSettled,
    Task,
    UnitAdded,
    Unknown,
)
from loopbook.run import Call
from loopbook.sealing import holds, sum_in
from tests.conftest import PROVE
from tests.strategies_events import (
    clean_texts,
    counts,
    events,
    events_of_a_newer_writer,
    models,
    times,
    unknown_events,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DIGESTS = st.sampled_from(["", "a" * 64, hashlib.sha256(b"x").hexdigest()])


SOME = st.none() | clean_texts
LINES = st.none() | counts
VERSIONS = st.integers(1, 2**62)
ANY_EVENT = st.one_of(events(), unknown_events(), events_of_a_newer_writer())


@st.composite
def entries(draw: st.DrawFn, of: st.SearchStrategy[Event] = ANY_EVENT) -> Entry:
    event = draw(of)
    unit = draw(SOME)
    if "unit" in type(event).model_fields:  # the two share it
        unit = getattr(event, "unit", None)
    return Entry(
        draw(clean_texts),
        draw(VERSIONS),
        event,
        utc(draw(times)),
        draw(clean_texts),
        unit,
        draw(SOME),
        draw(LINES),
        draw(DIGESTS),
    )


def read(entry: Entry, state: bytes | None = None) -> Entry:
    where = entry.originator_id, entry.originator_version, entry.event.type
    return decode(*where, encode(entry) if state is None else state)


# --- there and back -----------------------------------------------------------------------


BY_NAME = {name: entries(cast("st.SearchStrategy[Event]", models(cls))) for name, cls in BY_TYPE.items()}


@pytest.mark.parametrize("name", BY_TYPE)
@settings(max_examples=1_000 if PROVE else 6)
@given(data=st.data())
def test_every_type_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    entry = data.draw(BY_NAME[name])
    assert read(entry)._replace(sum="") == entry


@given(entries())
def test_what_comes_back_is_written_as_the_same_bytes(entry: Entry) -> None:
    """So unknown types, unknown fields and nested ones are kept exactly."""
    state = encode(entry)
    assert encode(read(entry, state)) == state


@given(entries())
def test_a_state_is_one_json_object_of_the_documented_members(entry: Entry) -> None:
    state = json.loads(encode(entry))
    optional = {name for name in ("unit", "host_ref", "line") if getattr(entry, name) is not None}
    own = set(entry.event.model_dump(mode="json")) - {"type", "unit"}
    assert set(state) == {"at", "session", "v", "prev", "sum"} | optional | own
    assert [*state][-1] == "sum"


def test_types_and_fields_of_a_newer_writer_are_kept_nested_ones_too() -> None:
    call = {"ref": "c1", "tool": "Bash", "sandbox": {"net": False}}
    settled = RunSettled.model_validate({"run": "r1", "mood": "calm", "calls": [call]})
    back = read(Entry("loop:a", 1, settled, NOON)).event
    assert isinstance(back, RunSettled)
    assert back.model_extra == {"mood": "calm"}
    assert back.calls[0].model_extra == {"sandbox": {"net": False}}
    verdict = Unknown.model_validate({"type": "verdict", "weights": [1, {"a": None}]})
    assert read(Entry("loop:a", 1, verdict, NOON)).event == verdict


def test_a_unit_is_stored_once_and_read_in_both_places() -> None:
    state = encode(Entry("loop:a", 1, UnitAdded(unit="u", subject="s"), NOON, unit="u"))
    assert state.count(b'"unit"') == 1
    back = decode("loop:a", 1, "unit_added", state)
    assert back.unit == "u"
    assert back.event == UnitAdded(unit="u", subject="s")
    unbound = decode("loop:a", 1, "child_linked", encode(Entry("loop:a", 1, ChildLinked(child="c"), NOON)))
    assert unbound.unit is None
    assert unbound.event == ChildLinked(child="c")


@given(entries())
def test_times_are_utc(entry: Entry) -> None:
    state = encode(entry)
    assert json.loads(state)["at"].endswith("Z")
    assert read(entry, state).at.tzinfo is UTC


def test_a_time_that_does_not_say_where_is_refused() -> None:
    with pytest.raises(InvalidEvent, match="no time zone"):
        utc(datetime(2026, 1, 1))  # noqa: DTZ001 - the point of the test


def test_a_time_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(InvalidEvent, match="1 to 9999"):
        utc(datetime.fromisoformat("0001-01-01T00:00:00+05:00"))


# --- what cannot be written ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["at", "session", "host_ref", "line", "prev", "sum", "unit"])
def test_an_unknown_event_may_not_say_what_the_envelope_says(name: str) -> None:
    event = Unknown.model_validate({"type": "verdict", name: "x"})
    with pytest.raises(InvalidEvent, match=name):
        encode(Entry("loop:a", 1, event, NOON))


@pytest.mark.parametrize(
    "event",
    [
        Task(text="\ud800"),
        Task.model_construct(text=5),  # type: ignore[arg-type]  # what a careless caller might do
        Unknown.model_validate({"type": "verdict", "what": object()}),
    ],
    ids=["surrogate", "wrong type", "no JSON"],
)
def test_what_json_cannot_hold_is_refused(event: Event) -> None:
    with pytest.raises(InvalidEvent):
        encode(Entry("loop:a", 1, event, NOON))


# --- the shorter ways ------------------------------------------------------------------------------

_ODD = [True, 1, "1", 1.5, float("nan"), b"x", ["a"], {"a"}, ("a",), {}, None, object()]


def _unvalidated(event: Event, place: int, odd: object) -> Event:
    """An event that went past validation: one of its fields holds what it may not, or barely may."""
    names = [name for name in type(event).model_fields if name not in {"type", "unit"}] or ["new"]
    return event.model_copy(update={names[place % len(names)]: odd})


ODD_EVENTS = st.builds(_unvalidated, events(), st.integers(0, 20), st.sampled_from(_ODD))


def outcome(write: Callable[[], tuple[bytes, Entry]]) -> object:
    try:
        state, back = write()
    except (InvalidEvent, DamagedEntry) as wrong:
        return type(wrong), str(wrong)
    return state, repr(back._replace(at=back.at.replace(fold=0)))  # which the text of a time does not tell


@given(entries(st.one_of(ANY_EVENT, ODD_EVENTS)))
def test_writing_and_reading_at_once_is_writing_and_then_reading(entry: Entry) -> None:
    """Whatever is given: the same bytes and the same entry, or the same refusal."""

    def one_after_the_other() -> tuple[bytes, Entry]:
        state = encode(entry)
        return state, read(entry, state)

    assert outcome(lambda: encode_and_read(entry, written(entry.event))) == outcome(one_after_the_other)
    assert outcome(lambda: encode_and_read(entry)) == outcome(one_after_the_other)


@given(
    entries(), st.sampled_from(["host_ref", "todo", "unit", "finding"]), st.from_regex("once:[a-z:é]{0,9}")
)
def test_a_reservation_is_written_as_any_entry_is(entry: Entry, what: What, name: str) -> None:
    reserved = Reserved(what=what, stream=entry.originator_id, seq=entry.originator_version)
    written = encode_reserved(entry, name, what)
    assert written == encode(Entry(name, 1, reserved, entry.at, entry.session))


@given(entries(), st.data())
def test_reading_at_once_is_reading_with_care(entry: Entry, data: st.DataObject) -> None:
    """Of what we wrote, and of what others made of it: values swapped, members gone, doubled or added."""
    state = encode(entry)
    fields = json.loads(state)
    for _ in range(data.draw(st.integers(0, 2))):
        name = data.draw(st.sampled_from([*fields]))
        fields[name] = data.draw(
            st.sampled_from([None, 1, "1", 1.5, True, [], {}, "2026-01-01", fields[name]])
        )
    if gone := data.draw(st.none() | st.sampled_from([*fields])):
        del fields[gone]
    members = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items()]
    members += data.draw(st.lists(st.sampled_from(members), max_size=1)) if members else []
    members += data.draw(
        st.lists(st.sampled_from(['"at": 5', '"x": NaN', '"v": 2', '"unit": "u"', '"x": 1']), max_size=1)
    )
    for one in (state, ("{" + ", ".join(members) + "}").encode()):
        where = entry.originator_id, entry.originator_version, entry.event.type
        assert said(lambda: decode(*where, one)) == said(lambda: encoding_module._read_with_care(*where, one))  # noqa: B023


def said(read: Callable[[], Entry]) -> object:
    try:
        entry = read()
    except DamagedEntry as wrong:
        return str(wrong)
    return repr(entry), sorted(entry.event.model_fields_set)


# --- older and newer shapes --------------------------------------------------------------------


def test_no_step_of_an_upcast_is_missing() -> None:
    needed = {(name, v) for name, cls in BY_TYPE.items() for v in range(1, cls.VERSION)}
    assert set(UPCASTS) == needed


def test_an_old_shape_is_upcast_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def split(fields: dict[str, object]) -> dict[str, object]:
        return {"paths": str(fields.pop("path")).split(":"), **fields}

    def name(fields: dict[str, object]) -> dict[str, object]:
        return {"summary": fields.pop("text"), **fields}

    old = encode(
        Entry("loop:a", 1, Unknown.model_validate({"type": "change", "path": "a:b", "text": "t"}), NOON)
    )
    monkeypatch.setattr(encoding_module, "UPCASTS", {("change", 1): split, ("change", 2): name})
    monkeypatch.setattr(Change, "VERSION", 3)
    assert decode("loop:a", 1, "change", old).event == Change(summary="t", paths=("a", "b"))


def state_of(**fields: object) -> bytes:
    return json.dumps({"at": "2026-01-01T00:00:00Z", "session": "s", "v": 1, **fields}).encode()


def test_a_newer_shape_that_fits_is_read_and_stays_what_it_was() -> None:
    newer = decode("loop:a", 1, "change", state_of(v=7, summary="s", weather="fine"))
    assert isinstance(newer.event, Change)
    assert newer.event.summary == "s"
    assert json.loads(encode(newer))["v"] == 7


def test_a_newer_shape_that_does_not_fit_is_unknown_and_stays_what_it_was() -> None:
    newer = decode("loop:a", 1, "change", state_of(v=2, summary=["s"]))
    assert type(newer.event) is Unknown
    assert newer.event.type == "change"
    assert json.loads(encode(newer)) | {"sum": ""} == json.loads(state_of(v=2, prev="", summary=["s"])) | {
        "sum": ""
    }


def test_a_newer_version_of_an_unknown_type_stays_what_it_was() -> None:
    assert json.loads(encode(decode("loop:a", 1, "verdict", state_of(v=4))))["v"] == 4


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        b"", b"{", b"[]", b"null", b"7", b'"x"', b"{}", b"\xff\xfe", b"[" * 10_000,
        state_of(text="x", at="noon"), state_of(text="x", at=5), state_of(text="x", session=None),
        state_of(text="x", v="1"), state_of(text="x", v=0), state_of(text="x", v=True),
        state_of(text="x", line="1"),
        state_of(text="x", unit=3), state_of(text="x", host_ref=[]), state_of(text="x", prev=1),
        state_of(text=3), state_of(),
    ],
)  # fmt: skip
def test_a_row_that_is_no_entry_is_named(state: bytes) -> None:
    with pytest.raises(DamagedEntry, match=r"loop:a seq 17 cannot be read"):
        decode("loop:a", 17, "task", state)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_entry_or_damaged_and_nothing_else(state: bytes) -> None:
    with suppress(DamagedEntry):
        decode("loop:a", 1, "task", state)


@given(entries(), st.data())
def test_any_flipped_bit_shows(entry: Entry, data: st.DataObject) -> None:
    state = encode(entry)
    where = entry.originator_id, entry.originator_version, entry.event.type
    assert holds(*where, state)
    place = data.draw(st.integers(0, len(state) - 1))
    edited = bytearray(state)
    edited[place] ^= 1 << data.draw(st.integers(0, 7))
    assert not holds(*where, bytes(edited))


@given(entries())
def test_a_row_moved_to_another_stream_version_or_topic_shows(entry: Entry) -> None:
    state = encode(entry)
    stream, version, topic = entry.originator_id, entry.originator_version, entry.event.type
    assert not holds(stream + "1", version, topic, state)
    assert not holds(stream, version + 1, topic, state)
    assert not holds(stream, version, topic + "1", state)


def test_a_row_cannot_be_passed_off_as_another_by_moving_a_border() -> None:
    """``net`` says how long each part is, so no two rows are the same to the hash."""
    task = Entry("loop:a", 12, Task(text="x"), NOON)
    assert not holds("loop:a1", 2, "task", encode(task))


@given(entries())
def test_another_tool_verifies_the_sum_from_the_documentation_alone(entry: Entry) -> None:
    state = encode(entry)
    start = state.rindex(b',"sum":"')
    net = b""
    for text in (entry.originator_id, str(entry.originator_version), entry.event.type):
        net += str(len(text.encode())).encode() + b":" + text.encode() + b","
    expected = hashlib.sha256(net + state[:start]).hexdigest()
    assert json.loads(state)["sum"] == expected == sum_in(state) == read(entry, state).sum


def test_the_sum_stands_on_the_one_before_it() -> None:
    first = encode(Entry("loop:a", 2, Task(text="x"), NOON, prev="a" * 64))
    second = encode(Entry("loop:a", 2, Task(text="x"), NOON, prev="b" * 64))
    assert sum_in(first) != sum_in(second)


def test_models_keep_unknown_fields_or_reading_would_lose_them() -> None:
    classes: list[type[BaseModel]] = [*BY_TYPE.values(), Unknown, Call]
    assert all(cls.model_config["extra"] == "allow" for cls in classes)
