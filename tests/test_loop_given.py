"""What a caller gives that cannot be taken: it is refused in one sentence, and the book is as it was."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopbook import Books, Change, Check, Loop, Prompted, RunSettled, Scripted, own
from loopbook.advisors.asking import Answer, Failure, Packet
from loopbook.book import Book
from loopbook.engine import ADVISORS
from loopbook.entry import Draft
from loopbook.errors import (
    CannotFork,
    InvalidArgument,
    InvalidEvent,
    InvalidTimeout,
    LoopbookError,
    Stale,
    StoreURLInvalid,
)
from loopbook.events import Event
from loopbook.ledger import Ledger
from loopbook.limits import Options
from tests.flows import CONTENT

RUN = RunSettled(run="r1")
JUDGE = Scripted([CONTENT])

#: A number that no float holds.
HUGE = pytest.param(10**400, id="huge")

Call = Callable[[Loop, Any], object]


@pytest.fixture
def loop() -> Loop:
    loop = Books.open("memory:", session="s1").start("change", "Add a retry", id="a")
    loop.record(Change(summary="one", paths=("a.py",)))
    return loop


def refused(loop: Loop, call: Callable[[], object], kind: type[LoopbookError]) -> str:
    """The sentence of an error, with which nothing has happened to the book."""
    before = list(loop.entries())
    with pytest.raises(kind) as told:
        _done(call)
    assert list(loop.entries()) == before
    words = str(told.value)
    assert "\n" not in words
    assert "pydantic" not in words
    assert "nothing was written" in words
    return words


class Half:
    """Decides, and has neither a name nor a policy to be kept with that."""

    def gate(self) -> None: ...

    decide = gate


def _done(call: Callable[[], object]) -> None:
    made = call()
    if inspect.iscoroutine(made):
        anyio.run(functools.partial(_awaited, made))


async def _awaited(made: Any) -> object:
    return await made


#: Every call that takes keywords for settling, with what else it needs.
SETTLES: dict[str, Call] = {
    "settle": lambda loop, more: loop.settle(RUN, **more),
    "settlement": lambda loop, more: loop.settlement(RUN, **more),
    "settle_blocking": lambda loop, more: loop.settle_blocking(RUN, **more),
    "settlement_blocking": lambda loop, more: loop.settlement_blocking(RUN, **more),
    "settling": lambda loop, more: loop.settling(RUN, **more),
}
DELIVERS: dict[str, Call] = {
    "delivering": lambda loop, more: loop.delivering(None, **more),  # type: ignore[arg-type]  # never reached
    "deliver": lambda loop, more: loop.deliver(None, judge=None, **more),  # type: ignore[arg-type]  # as above
    "deliver_blocking": lambda loop, more: loop.deliver_blocking(None, judge=None, **more),  # type: ignore[arg-type]  # as above
}


@pytest.mark.parametrize("name", [*SETTLES, *DELIVERS])
@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("jugde", "judge"), ("max_continuation", "max_continuations"), ("seesion", "session")],
)
def test_a_misspelled_keyword_is_refused_before_anything_is_written(
    loop: Loop, name: str, wrong: str, meant: str
) -> None:
    call = {**SETTLES, **DELIVERS}[name]
    told = refused(loop, lambda: call(loop, {wrong: JUDGE}), InvalidArgument)
    assert told.startswith(f"there is no keyword {wrong!r};")
    assert told.endswith(f"did you mean {meant!r}?")


def test_a_keyword_that_is_like_none_is_told_those_that_there_are(loop: Loop) -> None:
    told = refused(loop, lambda: SETTLES["settle"](loop, {"xyz": 1}), InvalidArgument)
    assert "there are: advisors, idle, judge, max_continuations, session, timeout" in told


def test_the_keywords_that_there_are_are_taken(loop: Loop) -> None:
    more = {"session": "s2", "idle": lambda: True, "max_continuations": None, "advisors": ADVISORS}
    assert loop.settle_blocking(RUN, judge=JUDGE, timeout=3, **more) is not None  # type: ignore[arg-type]  # as given


@pytest.mark.parametrize("name", [*SETTLES])
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"idle": 5}, "idle is asked each time, not an int"),
        ({"max_continuations": "8"}, "max_continuations is a whole number, not a str"),
        ({"max_continuations": True}, "max_continuations is a whole number, not a bool"),
        ({"advisors": 5}, "an advisor has a gate and a decide, not an int"),
        ({"advisors": [5]}, "an advisor has a gate and a decide, not an int"),
        ({"advisors": [type(ADVISORS[0])]}, "not the class SecondThought"),
        ({"advisors": [Half()]}, "a Half is no advisor without name"),
        ({"advisors": iter(ADVISORS)}, "advisors are a sequence"),
        ({"session": 5}, "a session is a text, not an int"),
    ],
)
def test_a_keyword_of_another_type_is_refused(
    loop: Loop, name: str, more: dict[str, object], told: str
) -> None:
    assert told in refused(loop, lambda: SETTLES[name](loop, more), InvalidArgument)


# --- judges ---------------------------------------------------------------------------------------


class Plainly:
    """Answers without awaiting: no judge."""

    def ask(self, _packet: Packet, _deadline: float) -> Answer | Failure:
        return Failure("timeout")


#: Every call that takes a judge, with what else it needs.
JUDGED: dict[str, Call] = {
    **{
        name: functools.partial(lambda call, loop, judge: call(loop, {"judge": judge}), SETTLES[name])
        for name in SETTLES
        if name != "settling"
    },
    "close": lambda loop, judge: loop.close("done", judge=judge),
    "close_blocking": lambda loop, judge: loop.close_blocking("done", judge=judge),
    "deliver": lambda loop, judge: loop.deliver(None, judge=judge),  # type: ignore[arg-type]  # never reached
    "deliver_blocking": lambda loop, judge: loop.deliver_blocking(None, judge=judge),  # type: ignore[arg-type]  # as above
}


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize(
    "wrong", ["typesafe", lambda _packet: None, Plainly(), Scripted, object(), {"move": "advance"}, True]
)
def test_what_has_not_the_shape_of_a_judge_is_refused(loop: Loop, name: str, wrong: object) -> None:
    told = refused(loop, lambda: JUDGED[name](loop, wrong), InvalidArgument)
    assert told.startswith("a judge has an async ask(packet, deadline), not ")


def wrapped(ask: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(ask)
    def outer(*args: object) -> object:
        return ask(*args)

    return outer


class Asking:
    """A call of it is awaited."""

    async def __call__(self, packet: Packet, deadline: float) -> Answer | Failure:
        return await JUDGE.ask(packet, deadline)


@pytest.mark.parametrize("ask", [JUDGE.ask, wrapped(JUDGE.ask), functools.partial(JUDGE.ask), Asking()])
def test_whoever_is_awaited_is_a_judge_however_it_is_made(loop: Loop, ask: object) -> None:
    judge = type("Mine", (), {"ask": staticmethod(ask) if inspect.isfunction(ask) else ask})()
    assert loop.settle_blocking(RUN, judge=judge) is not None


# --- events and runs --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SETTLES])
@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("run-1", "a str"),
        (None, "None"),
        ({"run": "r1"}, "a dict"),
        (Change(summary="x"), "a Change"),
        (Draft("run-1"), "a str"),  # type: ignore[arg-type]  # that it may not is the claim
        (RunSettled, "the class RunSettled"),
    ],
)
def test_a_run_is_a_settled_run(loop: Loop, name: str, wrong: object, what: str) -> None:
    told = refused(loop, lambda: getattr(loop, name)(wrong), InvalidArgument)
    assert told.startswith(f"a settled run is needed, not {what};")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"type": "change", "summary": "x"}, "a dict is no event: loopbook.events.build_event makes one"),
        ([Change(summary="x")], "a list is no event: give each as an argument of its own"),
        ("ran the tests", "a str is no event"),
        (None, "None is no event"),
        (Change, "the class Change is no event"),
        (Draft({}), "a dict is no event"),  # type: ignore[arg-type]  # that it may not is the claim
        (Draft(Change(summary="x"), unit=5), "unit is a text, not an int"),  # type: ignore[arg-type]  # as above
        (Draft(Change(summary="x"), at="now"), "at is a datetime, not a str"),  # type: ignore[arg-type]  # as above
    ],
)
def test_what_is_no_event_is_not_recorded_nor_what_stands_beside_it(
    loop: Loop, wrong: Any, told: str
) -> None:
    good: Event = Change(summary="good")
    for call in (
        lambda: loop.record(good, wrong),
        lambda: loop.append(good, wrong, after=loop.version),
    ):
        assert refused(loop, call, InvalidEvent).startswith(told)


def test_what_is_no_draft_is_not_fed(loop: Loop) -> None:
    told = refused(loop, lambda: loop.feed([Change(summary="x")]), InvalidEvent)  # type: ignore[list-item]  # as above
    assert told.startswith("a Change is no draft of an event")


@pytest.mark.parametrize("more", [{"unit": 5}, {"host_ref": 5}, {"session": 5}])
def test_what_the_envelope_says_is_text(loop: Loop, more: dict[str, Any]) -> None:
    told = refused(loop, lambda: loop.record(Change(summary="x"), **more), LoopbookError)
    assert "is a text, not an int" in told


@pytest.mark.parametrize("wrong", [5, None, "advice", "an entry", Change(summary="x")])
def test_what_is_acknowledged_is_an_advice(loop: Loop, wrong: Any) -> None:
    loop.settle_blocking(RUN, judge=JUDGE)
    (advice,) = loop.undelivered()
    wrong = next(loop.entries()) if wrong == "an entry" else wrong  # which has a seq too
    told = refused(loop, lambda: loop.acknowledge(advice, wrong), InvalidArgument)
    assert told.startswith("an advice is acknowledged, not ")
    assert loop.undelivered() == (advice,)


@pytest.mark.parametrize("wrong", [5, None, "later"])
def test_what_is_delivered_was_put_off(loop: Loop, wrong: Any) -> None:
    told = refused(loop, lambda: loop.deliver_blocking(wrong, judge=JUDGE), InvalidArgument)
    assert told.startswith("what was put off is delivered, not ")


def test_a_claim_is_a_text(loop: Loop) -> None:
    told = refused(loop, lambda: loop.close_blocking(5), InvalidArgument)  # type: ignore[arg-type]  # as above
    assert told.startswith("a claim is a text, not an int;")


@pytest.mark.parametrize("timeout", ["8", [], True, float("nan"), 601, -float("inf"), HUGE])
def test_a_time_to_ask_within_is_a_number_of_seconds(loop: Loop, timeout: Any) -> None:
    refused(loop, lambda: loop.settle_blocking(RUN, judge=JUDGE, timeout=timeout), InvalidTimeout)
    refused(loop, lambda: loop.close_blocking(judge=JUDGE, timeout=timeout), InvalidTimeout)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: Prompted(text="fix it"), "Prompted: prompt is missing;"),  # type: ignore[call-arg]  # as above
        (Check, "Check: command, outcome are missing;"),
        (
            lambda: Check(command="pytest", outcome="ok"),  # type: ignore[arg-type]  # as above
            "Check: outcome: Input should be 'pass', 'fail' or 'unknown';",
        ),
        (lambda: RunSettled(run=5), "RunSettled: run: Input should be a valid string;"),  # type: ignore[arg-type]  # as above
    ],
)
def test_a_wrong_value_of_an_event_is_told_in_one_sentence(
    loop: Loop, build: Callable[[], Event], told: str
) -> None:
    assert refused(loop, build, InvalidEvent).startswith(told)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (Change(summary="x").model_copy(update={"summary": 5}), "change: summary: Input should be a valid"),
        (Change.model_construct(), "change: summary is missing"),  # type: ignore[call-arg]  # that it may not is the claim
        (
            Check(command="x", outcome="pass").model_copy(update={"outcome": "ok"}),
            "check: outcome: Input should be 'pass', 'fail' or 'unknown'",
        ),
        (Change(summary="x").model_copy(update={"mood": object()}), "'change' cannot be written as JSON"),
    ],
)
def test_an_event_that_was_made_past_its_checks_is_told_the_same_way(
    loop: Loop, event: Event, told: str
) -> None:
    assert refused(loop, lambda: loop.record(Change(summary="good"), event), InvalidEvent).startswith(told)


@pytest.mark.parametrize(
    ("args", "more", "kind", "told"),
    [
        (("fix", ""), {}, InvalidEvent, "the intent is blank"),
        (("fix", " \n"), {}, InvalidEvent, "the intent is blank"),
        (("fix", 7), {}, InvalidArgument, "an intent is a text, not an int"),
        ((5, "x"), {}, InvalidArgument, "a kind is a name or a Kind, not an int"),
        ((["fix"], "x"), {}, InvalidArgument, "a kind is a name or a Kind, not a list"),
        (("fix", "x"), {"review_tier": "max"}, InvalidEvent, "LoopOpened: review_tier: Input should be"),
        (("fix", "x"), {"anchor": 5}, InvalidEvent, "LoopOpened: anchor: Input should be a valid string"),
        (("fix", "x"), {"id": 5}, InvalidArgument, "an id is a text, not an int"),
        (("fix", "x"), {"session": 5}, InvalidArgument, "a session is a text, not an int"),
    ],
)
def test_what_a_loop_cannot_be_started_with_starts_none(
    args: tuple[Any, Any], more: dict[str, Any], kind: type[LoopbookError], told: str
) -> None:
    books = Books.open("memory:", session="s1")
    loop = books.start("chore", "Tidy up", id="a")
    assert refused(loop, lambda: books.start(*args, **more), kind).startswith(told)
    assert [row.id for row in books.list()] == ["a"]


@pytest.mark.parametrize(
    "call",
    [
        lambda books: books.loop(5),
        lambda books: books.adopt(None),
        lambda books: books.fork("a", "1"),
        lambda books: books.fork("a", 1.0),
        lambda books: books.current(5),
        lambda books: books.own(5),
        lambda _: Books.open(5),  # type: ignore[arg-type]  # that it may not is the claim
        lambda _: Books.open("memory:", session=5),  # type: ignore[arg-type]  # as above
        lambda _: Books.open("memory:", options={"timeout": 3}),  # type: ignore[arg-type]  # as above
        lambda books: books.loop("a").entries(None),
        lambda books: books.loop("a").entries("x"),
        lambda books: books.loop("a").entries(1.0),
        lambda books: books.loop("a").entries(0, "x"),
        lambda books: books.loop("a").follow("x"),
        lambda books: books.loop("a").follow_async(None),
        lambda books: books.loop("a").append(Change(summary="x"), after="1"),
        lambda _: Books.open("memory:", kinds_dir="kinds"),  # type: ignore[arg-type]  # as above
        lambda _: Books.open("memory:", clock=5),  # type: ignore[arg-type]  # as above
        lambda _: Books.open("memory:", new_id="a"),  # type: ignore[arg-type]  # as above
        lambda _: Books.open("memory:", redactor="word"),  # type: ignore[arg-type]  # as above
        lambda _: own.books("memory:", settings=1),  # type: ignore[arg-type]  # as above
        lambda _: own.judge(1),  # type: ignore[arg-type]  # as above
        lambda _: own.options(1),  # type: ignore[arg-type]  # as above
    ],
)
def test_books_are_asked_in_the_types_they_take(call: Callable[[Any], object]) -> None:
    books = Books.open("memory:", session="s1")
    loop = books.start("chore", "Tidy up", id="a")
    refused(loop, lambda: call(books), InvalidArgument)
    assert [row.id for row in books.list()] == ["a"]


def test_less_than_nothing_is_no_time_to_ask_however_much_less(loop: Loop) -> None:
    judge = Scripted([CONTENT])
    assert loop.settle_blocking(RUN, judge=judge, timeout=-(10**400)) is None
    assert not judge.asked


@pytest.mark.parametrize("timeout", ["x", True, float("nan")])
def test_one_waits_for_a_number_of_seconds(loop: Loop, timeout: Any) -> None:
    refused(loop, lambda: loop.follow(timeout=timeout), InvalidTimeout)
    refused(loop, lambda: loop.follow_async(timeout=timeout), InvalidTimeout)


def test_a_version_or_a_limit_of_any_size_is_looked_for(loop: Loop) -> None:
    every = list(loop.entries())
    assert list(loop.entries(10**400)) == list(loop.follow(10**400, -(10**400))) == []
    assert list(loop.entries(-(10**400), 10**400)) == every


def test_a_version_of_any_size_is_refused_like_one_that_is_not_there() -> None:
    books = Books.open("memory:", session="s1")
    loop = books.start("chore", "Tidy up", id="a")
    for version in (10**5000, -(10**5000)):
        with pytest.raises(CannotFork):
            books.fork("a", version)
        with pytest.raises(Stale):
            loop.append(Change(summary="x"), after=version)
    assert loop.version == 1


def test_half_of_a_character_names_no_store() -> None:
    for url in ("\ud800", "sqlite:///\ud800", "postgresql://me:secret@host/\ud800"):
        with pytest.raises(StoreURLInvalid, match="it holds half of a character") as wrong:
            Books.open(url)
        assert "secret" not in str(wrong.value)


WRONG_OPTIONS = [
    (Options(advisors=ADVISORS[0]), "advisors are a sequence, not a SecondThought"),  # type: ignore[arg-type]  # as above
    (Options(advisors=("x",)), "an advisor has a gate and a decide, not a str"),  # type: ignore[arg-type]  # as above
    (Options(advisors=[type(ADVISORS[0])]), "not the class SecondThought"),  # type: ignore[list-item]  # as above
    (Options(max_continuations="8"), "max_continuations is a whole number, not a str"),  # type: ignore[arg-type]  # as above
    (Options(cap_usd="1"), "cap_usd is US dollars, not a str"),  # type: ignore[arg-type]  # as above
    (Options(cap_usd=float("nan")), "cap_usd is US dollars, not nan"),
    (Options(cap_usd=-1), "cap_usd is US dollars, not less than nothing"),
    (Options(cap_usd=10**400), "cap_usd is US dollars, not so many"),
    (Options(cap_usd=True), "cap_usd is US dollars, not a bool"),
    (Options(review_tier="max"), "review_tier is not 'max'"),  # type: ignore[arg-type]  # as above
    (Options(review_tier=[]), "review_tier is not a list"),  # type: ignore[arg-type]  # as above
    (Options(checks="./verify"), "checks are a sequence, not a str"),  # type: ignore[arg-type]  # as above
    (Options(checks=("./verify",)), "a check of your own is a command with its scope"),  # type: ignore[arg-type]  # as above
    (Options(checks=(("./verify", "test"),)), "a check's scope is not 'test'"),  # type: ignore[arg-type]  # as above
]


@pytest.mark.parametrize(("options", "told"), WRONG_OPTIONS)
def test_options_are_looked_at_where_they_are_given(tmp_path: Path, options: Options, told: str) -> None:
    url = f"sqlite:///{tmp_path}/books.db"
    with pytest.raises(InvalidArgument, match=re.escape(told)) as wrong:
        Books.open(url, options=options)
    assert "nothing was written" in str(wrong.value)
    assert not [*tmp_path.iterdir()]
    book = Book("memory:")
    with pytest.raises(InvalidArgument, match=re.escape(told)):
        Ledger(book, "session:cli:s1", "s1", options)


@pytest.mark.parametrize("timeout", ["8", None, float("nan"), HUGE])
def test_a_usual_time_to_ask_within_is_looked_at_there_too(timeout: Any) -> None:
    with pytest.raises(InvalidTimeout):
        Books.open("memory:", options=Options(timeout=timeout))
