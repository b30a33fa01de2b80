"""A settle that is killed at whatever place leaves, once it is settled again, what it would have left."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import PROVE
from tests.postgres import Postgres
from tests.proofs.killed import SITUATIONS, Left, kills

CLOSE = "a close is met"


def test_a_settle_killed_anywhere_leaves_the_same_book(tmp_path: Path) -> None:
    _leaves_the_same_book(f"sqlite:///{tmp_path}/books.db", *(SITUATIONS.keys() - {CLOSE}))


def test_a_settle_killed_anywhere_leaves_the_same_book_on_a_server(postgres: Postgres) -> None:
    _leaves_the_same_book(
        postgres.schema(), *(SITUATIONS.keys() - {CLOSE} if PROVE else ("a child is lost",))
    )


def _leaves_the_same_book(url: str, *situations: str) -> None:
    """With at most one delivery less: once it was said it is not said again."""
    for situation, (peace, *killed) in kills(url, situations).items():
        assert len(killed) >= 4
        for left in killed:
            assert left.entries == peace.entries, (situation, left.place)
            assert peace.advice - 1 <= left.advice <= peace.advice, (situation, left.place)
        again = [left.advice for left in killed]
        assert again == sorted(again, reverse=True), situation


def test_a_close_killed_anywhere_is_declared_again_and_closes_once(shared_url: str) -> None:
    peace, *killed = kills(shared_url, [CLOSE])[CLOSE]
    whole = [types(left) for left in (peace, *killed)]
    assert len(killed) >= 4
    for words, left in zip(whole, killed, strict=False):
        declared = words.count("close_declared")
        assert words[:-3] == [*whole[0][:-4], *["close_declared"] * declared], left.place
        assert words[-3:] == ["judged", "passed_over", "loop_closed"], left.place


def types(left: Left) -> list[str]:
    return [str(entry["type"]) for entry in left.entries]
