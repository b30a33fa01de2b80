"""A settle that is killed at whatever place leaves, once it is settled again, what it would have left."""

from __future__ import annotations

import pytest

from tests.proofs.killed import SITUATIONS, kills


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_killed_settle_leaves_the_same_book_and_at_most_one_delivery_less(
    shared_url: str, situation: str
) -> None:
    peace, *killed = kills(shared_url, situation)
    assert len(killed) >= 4
    for left in killed:
        assert left.entries == peace.entries, left.place
        assert peace.advice - 1 <= left.advice <= peace.advice, left.place
    again = [left.advice for left in killed]
    assert again == sorted(again, reverse=True), "once it was said it is not said again"
