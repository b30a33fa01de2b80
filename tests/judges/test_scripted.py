"""The scripted judge says its lines in order and notes what it was asked."""

from __future__ import annotations

import anyio
import pytest

from loopbook.judges import Failure, Judge, Likely, Noul, Packet
from loopbook.judges.scripted import Scripted

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
    with pytest.raises(ValueError, match="a script needs a line"):
        Scripted([])
