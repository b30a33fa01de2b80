"""What is sent: small enough, sound JSON, in the order given, and only what the server takes."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.judges import Choice, Failure, Noul, Packet, Score
from loopbook.judges.system_one.dialects import BY_NAME
from loopbook.judges.system_one.fitting import DEPTH, REQUEST_BYTES, STATE_BYTES, fitted, sound, written
from loopbook.judges.system_one.wire import Request, request
from tests.conftest import PROVE
from tests.growth import assert_linear

PLAIN = BY_NAME["compatible"]
ONE = {"done": Noul("Is it?", "it is", "it is not")}


def made(packet: Packet, dialect: str = "compatible") -> Request:
    asked = request(packet, BY_NAME[dialect], "m", ())
    assert isinstance(asked, Request)
    return asked


def body(packet: Packet, dialect: str = "compatible") -> dict[str, dict[str, JsonValue]]:
    told: dict[str, dict[str, JsonValue]] = json.loads(made(packet, dialect).body)
    return told


# --- the questions ----------------------------------------------------------------------------


def test_every_kind_of_question_is_written_as_the_interface_has_it() -> None:
    packet = Packet(
        {"claim": "done"},
        {
            "move": Choice("Which?", {"on": "go on", "back": ""}),
            "done": Noul("Is it?", "it is", ""),
            "bare": Noul("Is it?", "", ""),
            "far": Score("How far?", ("none", "all")),
        },
    )
    assert body(packet) == {
        "model": "m",
        "state": {"claim": "done"},
        "questions": {
            "move": {"type": "choice", "instructions": "Which?", "criteria": {"on": "go on", "back": None}},
            "done": {"type": "noul", "instructions": "Is it?", "criteria": {"true": "it is"}},
            "bare": {"type": "noul", "instructions": "Is it?"},
            "far": {"type": "score", "instructions": "How far?", "criteria": ["none", "all"]},
        },
    }


def test_state_and_questions_keep_their_order() -> None:
    told = body(Packet({"z": 1, "a": 2, "m": 3}, QUESTIONS))
    assert list(told["state"]) == ["z", "a", "m"]
    assert list(told["questions"]) == list(QUESTIONS)


def test_a_server_that_names_its_own_model_is_sent_none() -> None:
    asked = request(Packet({}, ONE), PLAIN, None, ())
    assert isinstance(asked, Request)
    assert "model" not in json.loads(asked.body)


def test_what_the_server_cannot_take_is_lost_and_the_rest_is_asked() -> None:
    many = Choice("Which?", {f"o{i}": "" for i in range(27)})
    packet = Packet(
        {}, {"many": many, **ONE, "one": Choice("Which?", {"a": ""}), "far": Score("?", ("x",) * 11)}
    )
    asked = made(packet, "ollama")
    assert asked.lost == {
        "many": "more options than the server takes",
        "one": "nothing to choose from",
        "far": "more levels than the server takes",
    }
    assert list(asked.asked) == ["done"]
    crowd = made(Packet({}, {f"q{i}": ONE["done"] for i in range(70)}), "cloudflare")
    assert len(crowd.asked) == 64
    assert set(crowd.lost.values()) == {"more questions than the server takes"}


def test_where_nothing_can_be_asked_that_is_a_failure() -> None:
    assert request(Packet({}, {}), PLAIN, "m", ()) == Failure("unaskable", "there is no question")
    only = Packet({}, {"none": Choice("Which?", {})})
    assert request(only, PLAIN, "m", ()) == Failure("unaskable", "nothing to choose from")
    long = request(Packet({"a": 1}, {"q": Noul("x" * 40_000, "", "")}), PLAIN, "m", ())
    assert isinstance(long, Failure)
    assert long.kind == "unaskable"


def test_a_blank_name_gets_another_one_and_none_is_used_twice() -> None:
    asked = made(Packet({}, {"": ONE["done"], "q1": ONE["done"], " ": ONE["done"]}))
    assert len(asked.asked) == 3
    assert {one.name for one in asked.asked.values()} == {"", "q1", " "}
    assert all(sent.strip() for sent in asked.asked)


def test_many_questions_leave_less_room_for_the_state() -> None:
    many = {f"q{place}": Noul("x" * 1_000, "", "") for place in range(50)}
    told = made(Packet({"a": "y" * 20_000, "b": ["z" * 50] * 200}, many))
    assert told.cut
    assert len(told.asked) == 50
    assert len(told.body) <= 60_000 == REQUEST_BYTES
    assert STATE_BYTES == 30_000


# --- the state fits, and says what it lacks ----------------------------------------------------

texts = st.text(st.characters() | st.sampled_from("\ud800é😀\x00\n"), max_size=40)
states = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | texts | texts.map(lambda one: one * 400),
        lambda inner: st.lists(inner, max_size=20) | st.dictionaries(texts, inner, max_size=5),
        max_leaves=25,
    ),
    max_size=6,
)


@settings(max_examples=300 if PROVE else 25)
@given(state=states, factor=st.sampled_from([1, 30]), question=texts)
def test_whatever_the_state_the_request_is_ascii_json_within_its_bounds(
    state: dict[str, JsonValue], factor: int, question: str
) -> None:
    large: Mapping[str, JsonValue] = {key: [value] * factor for key, value in state.items()}
    told = made(Packet(large, {"q": Noul(question, question, "")}))
    assert told.body.isascii()
    assert len(told.body) <= REQUEST_BYTES
    read = json.loads(told.body, parse_constant=pytest.fail)
    longest = max(len(written({name: one})) for name, one in read["questions"].items())
    assert len(written(read["state"])) + longest <= STATE_BYTES
    assert not told.cut or b"left out" in written(read["state"])


@settings(max_examples=300 if PROVE else 25)
@given(state=states, room=st.integers(0, 3_000))
def test_a_state_is_as_it_was_or_says_what_is_left_out(state: dict[str, JsonValue], room: int) -> None:
    whole = sound(state)
    assert isinstance(whole, dict)
    small = fitted(whole, room)
    if small is None:
        assert room < 200, "marks alone take no more"
    elif small != whole:
        assert len(written(small)) <= room < len(written(whole))
        assert b"left out" in written(small)
    else:
        assert len(written(whole)) <= room


def test_what_is_read_first_is_cut_last_and_lists_lose_their_oldest() -> None:
    state: dict[str, JsonValue] = {
        "claim": "c" * 1_000,
        "tasks": [f"task {i}" for i in range(1_000)],
        "notes": "n" * 5_000,
    }
    small = fitted(state, 6_000)
    assert small is not None
    assert small["claim"] == state["claim"]
    tasks = small["tasks"]
    assert isinstance(tasks, list)
    assert str(tasks[0]).endswith("items left out ...]")
    assert tasks[-1] == "task 999"
    assert "characters left out" in str(small["notes"])


def test_at_last_whole_fields_go_and_leave_their_size() -> None:
    small = fitted({"first": "x", **{f"f{i}": {"a": ["y" * 30] * 9} for i in range(40)}}, 1_500)
    assert small is not None
    assert small["first"] == "x"
    assert "[left out: 312 bytes]" in small.values()
    tiny = fitted({f"f{i}": "y" for i in range(1_000)}, 200)
    assert tiny is not None
    assert str(tiny["[left out]"]).endswith("more fields")


def nested(levels: int) -> JsonValue:
    value: JsonValue = "deep"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [DEPTH - 2, DEPTH - 1, DEPTH, 100_000])
def test_nesting_has_a_bound(levels: int) -> None:
    told = made(Packet({"a": nested(levels)}, ONE)).body
    assert told.count(b"[") <= DEPTH
    assert (b"nested too deeply" in told) == (levels > DEPTH - 1)


def test_what_strict_readers_refuse_is_taken_out() -> None:
    told = body(Packet({"\ud800": "\udfff", "n": float("nan"), "i": float("-inf"), "big": 10**5_000}, ONE))
    assert told["state"] == {
        "\ufffd": "\ufffd",
        "n": "NaN",
        "i": "-inf",
        "big": "[left out: a number of 16610 bits]",
    }


def test_fitting_takes_time_in_proportion() -> None:
    def state(size: int) -> dict[str, JsonValue]:
        return {f"k{i}": ["word " * 20] * 10 for i in range(size // 1_000)}

    assert_linear(state, lambda one: fitted(one, STATE_BYTES), 1_000_000)


def test_a_state_of_many_fields_is_fitted_in_time_that_grows_with_them_alone() -> None:
    assert_linear(
        lambda size: {f"field-{size}-{n}": "word " * 6 for n in range(size)},
        lambda state: fitted(state, 20_000),
        6_000,
    )
