"""Servers that judges ask in these tests. All are on this machine, on free ports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.judges import Packet
from tests.judges.faulty import Faulty

#: What second thought asks, of a small state.
PACKET = Packet({"close_claim": "It is done.", "intent": "Add a retry", "tasks": ["write it"]}, QUESTIONS)

_KEYS = count()


@pytest.fixture(scope="session")
def faulty() -> Iterator[Faulty]:
    server = Faulty().start()
    yield server
    server.stop()


@pytest.fixture
def key() -> str:
    """A key that no other test has: a line that is closed stays closed."""
    return f"key-of-a-test-{next(_KEYS)}"
