"""What the tests of judges share: a packet, and keys."""

from __future__ import annotations

from itertools import count

import pytest

from loopbook.advisors.second_thought.questions import QUESTIONS
from loopbook.judges import Packet

#: What second thought asks, of a small state.
PACKET = Packet({"close_claim": "It is done.", "intent": "Add a retry", "tasks": ["write it"]}, QUESTIONS)

_KEYS = count()


@pytest.fixture
def key() -> str:
    """A key that no other test has: a line that is closed stays closed."""
    return f"key-of-a-test-{next(_KEYS)}"
