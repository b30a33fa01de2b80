"""What is secret reaches no server, and a key is in one header and nowhere else."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from string import ascii_letters, digits

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from loopbook.books import Books
from loopbook.events import Change, RunSettled
from loopbook.evidence.redaction import Redactor
from loopbook.judges import Answer, Choice, Chosen, Failure, Noul, Packet, Question, Score
from loopbook.judges.system_one import Key, SystemOne
from tests.conftest import PROVE
from tests.judges.conftest import PACKET
from tests.judges.faulty import FAULTS, Faulty

#: Kinds of tokens that the table knows; ``#`` stands for random letters.
SHAPES = ("ghp_" + "#" * 36, "sk-ant-" + "#" * 30, "AKIA" + "A7" * 8, "xoxb-" + "1" * 10 + "-" + "#" * 20)

letters = st.text(ascii_letters + digits, min_size=40, max_size=40).filter(
    lambda some: any(one in digits for one in some) and some.lower() != some
)


@st.composite
def tokens(draw: st.DrawFn) -> str:
    """A token of a known shape."""
    shape, some = draw(st.sampled_from(SHAPES)), iter(draw(letters))
    return "".join(next(some) if char == "#" else char for char in shape)


around = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)


@st.composite
def planted(draw: st.DrawFn) -> tuple[Packet, list[str]]:
    """A packet with secrets in any of its texts: tokens, and the values of the session's own variables."""
    own = draw(
        st.text(ascii_letters + digits + "-_/+é ", min_size=10, max_size=30).map(lambda one: f"Z{one}7")
    )
    secrets = [own, draw(tokens())]

    def text() -> str:
        return f"{draw(around)} {draw(st.sampled_from([*secrets, '']))} {draw(around)}"

    inner: JsonValue = {text(): [text(), {"deep": text()}], "password": draw(st.sampled_from(secrets))}
    state: dict[str, JsonValue] = {"claim": text(), "more": inner, text(): 1}
    questions: dict[str, Question] = {
        f"a{text()}": Noul(text(), text(), text()),
        f"b{text()}": Choice(text(), {f"x{text()}": text(), f"y{text()}": text()}),
        f"c{text()}": Score(text(), (text(), text())),
    }
    return Packet(state, questions), secrets


@settings(
    max_examples=300 if PROVE else 30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=planted())
def test_no_planted_secret_is_in_the_bytes_that_a_server_received(
    faulty: Faulty, drawn: tuple[Packet, list[str]]
) -> None:
    packet, secrets = drawn
    judge = SystemOne(faulty.at("fine"), redactor=Redactor.of_variables({"THE_API_KEY": secrets[0]}))
    outcome = anyio.run(judge.ask, packet, 5)
    raw = faulty.received["fine"][-1].raw
    for secret in secrets:
        for form in (secret, json.dumps(secret)[1:-1]):
            assert form.encode() not in raw
    assert isinstance(outcome, Answer)
    assert set(outcome.values) == set(packet.questions), "answers come back under their own names"
    for value in outcome.values.values():
        if isinstance(value, Chosen):
            assert any(
                value.choice in one.options for one in packet.questions.values() if isinstance(one, Choice)
            )


KEY = "sk-thisIsTheKey-0123456789abcdef"


def test_the_key_is_in_one_header_even_where_the_record_holds_it(faulty: Faulty) -> None:
    key = "quiet-river-lamp"  # which looks like no token
    packet = Packet({"claim": f"the key is {key}", key: 1}, {key: Noul(key, key, "")})
    outcome = anyio.run(SystemOne(faulty.at("fine"), key=key, redactor=Redactor()).ask, packet, 5)
    raw = faulty.received["fine"][-1].raw
    assert raw.count(key.encode()) == 1
    assert f"authorization: Bearer {key}".encode() in raw.replace(b"Authorization", b"authorization")
    assert isinstance(outcome, Answer)
    assert set(outcome.values) == {key}


@pytest.mark.parametrize("name", [name for name in FAULTS if not name.startswith("slow")])
def test_the_key_is_in_no_log_failure_or_book_whatever_happens(
    faulty: Faulty, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = f"{KEY}-{name}"
    judge = SystemOne(faulty.at(name), key=key)
    outcome = anyio.run(judge.ask, PACKET, 0.3)
    books = Books.open("memory:", session="s1")
    loop = books.start("change", "Add a retry")
    loop.record(Change(summary="one", paths=("a.py",)))
    loop.settle_blocking(RunSettled(run="r1"), judge=judge, timeout=0.3)
    told = [repr(outcome), repr(judge), repr(vars(judge)), caplog.text, *map(repr, loop.entries())]
    assert not any(key in one for one in told)
    assert KEY not in " ".join(told)


def test_a_key_shows_where_it_is_from_and_not_what_it_is() -> None:
    key = Key(f" {KEY}\n", "$LOOPBOOK_JUDGE_KEY")
    assert key.reveal() == KEY
    for shown in (repr(key), str(key), f"{key}", repr([key]), repr(SystemOne(key=KEY))):
        assert KEY not in shown
    for clone in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            clone(key)


@pytest.mark.parametrize(
    "wrong", ["qq\nqq", "qq qq", "qqschlüssel-0123456789", "qq" * 3_000, "qq\x00qq", "", "  "]
)
def test_what_could_not_stand_in_a_header_is_refused_without_being_shown(wrong: str) -> None:
    with pytest.raises(ValueError, match="the key from the caller is empty, or holds what no key") as told:
        SystemOne(key=wrong)
    assert "qq" not in "".join(traceback.format_exception(told.value))


def test_a_server_that_gives_everything_back_cannot_have_it_shown(faulty: Faulty) -> None:
    outcome = anyio.run(SystemOne(faulty.at("echo-invalid"), key=KEY).ask, PACKET, 1)
    assert KEY not in repr(outcome)
    assert "422: body.state: no" in repr(outcome)


def test_a_server_that_gives_the_key_back_in_a_good_answer_cannot_have_it_kept(faulty: Faulty) -> None:
    key = "quiet-river-lamp-at-night"  # which looks like no token
    judge = SystemOne(faulty.at("echo-key"), key=key)
    outcome = anyio.run(judge.ask, PACKET, 5)
    assert isinstance(outcome, Answer)
    assert outcome.values.keys() == PACKET.questions.keys()
    assert (outcome.request_id or "").startswith("[redacted secret 25 chars")
    loop = Books.open("memory:", session="s1").start("change", "Add a retry")
    loop.record(Change(summary="one", paths=("a.py",)))
    loop.settle_blocking(RunSettled(run="r1"), judge=judge)
    for told in (repr(outcome), *map(repr, loop.entries())):
        assert "quiet" not in told, "nor a part of it, where a text was cut"


def test_half_a_key_is_in_no_words_that_were_cut(faulty: Faulty) -> None:
    key = "quiet-river-lamp-at-night-" * 4
    outcome = anyio.run(SystemOne(faulty.at("echo-at-the-cut"), key=key).ask, PACKET, 5)
    assert isinstance(outcome, Failure)
    assert "nnn" in outcome.detail
    assert "quiet" not in outcome.detail


def test_a_models_name_that_is_a_secret_is_not_kept_as_the_one_that_was_asked(faulty: Faulty) -> None:
    key = "quiet-river-lamp"
    outcome = anyio.run(SystemOne(faulty.at("fine"), key=key, model=key).ask, PACKET, 5)
    assert isinstance(outcome, Answer)
    assert outcome.model_asked == "[redacted secret 16 chars]"
