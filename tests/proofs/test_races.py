"""Processes that settle one book at once repeat nothing, lose nothing, and raise nothing."""

from __future__ import annotations

from itertools import chain

from loopbook.audit.replay import replay
from loopbook.books import Books
from loopbook.events import Noticed
from loopbook.testing.always import broken
from tests.conftest import PROVE
from tests.proofs.fleet import race

PROCESSES, TURNS = (8, 200) if PROVE else (4, 16)


def test_processes_that_settle_one_book_never_repeat_each_other(shared_url: str) -> None:
    with Books.open(shared_url) as books:
        loop = books.start("change", "Add a retry", id="a")
        told = race(shared_url, "a", processes=PROCESSES, turns=TURNS)
        entries = list(loop.entries())
    assert broken(entries) == []
    assert set(replay(entries).outcomes) == {"same"}
    written = {entry.seq: entry.event.type for entry in entries}
    acknowledged = sorted(chain.from_iterable(one.acknowledged for one in told))
    assert len({seq for seq, _ in acknowledged}) == len(acknowledged) == PROCESSES * TURNS
    assert all(written[seq] == word for seq, word in acknowledged)
    notices = [entry.seq for entry in entries if isinstance(entry.event, Noticed)]
    assert len(notices) > TURNS / 4, "they were to speak"
    assert sorted(chain.from_iterable(one.advice for one in told)) == notices, "each is delivered once"
