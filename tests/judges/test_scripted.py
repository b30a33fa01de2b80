"""The scripted judge says its lines in order and notes what it was asked."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest

from loopbook.advisors.asking import FAILURES
from loopbook.errors import InvalidScript, LoopbookError
from loopbook.judges import Failure, Judge, Likely, Noul, Packet
from loopbook.judges.scripted import Scripted, checked, failing

PACKET = Packet({}, {"done": Noul("Is it?", "yes", "no")})


def test_it_says_its_lines_in_order_and_the_last_one_for_ever() -> None:
    judge = Scripted([{"done": 0.2}, Failure("timeout")])
    answers = [anyio.run(judge.ask, PACKET, 1.0) for _ in range(3)]
    assert not isinstance(answers[0], Failure)
    assert answers[0].values == {"done": Likely(0.2)}
    assert answers[1:] == [Failure("timeout"), Failure("timeout")]
    assert judge.asked == [PACKET] * 3


def test_what_happens_while_it_thinks_happens_first() -> None:
    seen: list[Packet] = []

    async def note(packet: Packet) -> None:
        seen.append(packet)

    judge: Judge = Scripted([{"done": 1}], note)
    anyio.run(judge.ask, PACKET, 1.0)
    assert seen == [PACKET]


def test_a_script_without_a_line_is_refused() -> None:
    with pytest.raises(InvalidScript, match="a script needs a line"):
        Scripted([])


def test_a_failure_of_a_kind_that_is_none_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(InvalidScript, match="line 2: 'tmeout' is no kind of failure: did you mean timeout"):
        Scripted([{"done": 1}, Failure("tmeout")])
    assert issubclass(InvalidScript, ValueError)
    assert issubclass(InvalidScript, LoopbookError)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ({"move": "advance"}, "a script is a list of lines, not dict"),
        (Failure("timeout"), "a script is a list of lines, not Failure"),
        ("abc", "a script is a list of lines, not str"),
        (b"abc", "a script is a list of lines, not bytes"),
        (None, "a script is a list of lines, not None"),
        (5, "a script is a list of lines, not int"),
        ([1], "line 1 is answers or a Failure, not int"),
        ([{"done": 1}, None], "line 2 is answers or a Failure, not None"),
        (["timeout"], "line 1 is answers or a Failure, not str"),
        ([Failure(["timeout"])], "line 1: \"['timeout']\" is no kind of failure"),  # type: ignore[arg-type]  # the claim
        ([Failure(10**5000)], "line 1: 'int' is no kind of failure"),  # type: ignore[arg-type]  # as above
    ],
)
def test_what_is_no_script_is_refused_where_it_is_given(lines: Any, told: str) -> None:
    with pytest.raises(InvalidScript, match=re.escape(told)) as wrong:
        Scripted(lines)
    assert "nothing was asked" in str(wrong.value)


def test_what_cannot_be_awaited_is_refused_where_it_is_given() -> None:
    with pytest.raises(InvalidScript, match="thinking is awaited, not int"):
        Scripted([{"done": 1}], 5)  # type: ignore[arg-type]  # that it may not is the claim


@pytest.mark.parametrize("kind", FAILURES)
def test_every_kind_of_failure_can_be_scripted(kind: str) -> None:
    assert anyio.run(Scripted([failing(kind)]).ask, PACKET, 1.0) == Failure(kind)


def test_a_line_is_held_against_the_questions_where_they_are_known() -> None:
    line = {"done": 0.5}
    assert checked(line, PACKET.questions) == line
    assert checked({"done": None}, PACKET.questions) == {"done": None}
    for wrong in ({"dne": 0.5}, {"done": 2}, {"done": "yes"}, {"done": 10**5000}):
        with pytest.raises(InvalidScript):
            checked(wrong, PACKET.questions)
