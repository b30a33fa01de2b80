"""What the requests of one ask cost: told by the server, or by the user's price, whichever is more.

Theory. A cap holds if nothing that may have been paid for goes uncounted. So a request counts from when it
may have arrived, whatever comes of it; one that the server turned away does not. A server may tell less
than it takes, and nothing where its answer is lost: then a token that was sent is no less than a byte.
"""

from __future__ import annotations

from typing import NamedTuple

from loopbook.advisors.asking import Answer, Cost, cost_of


class Price(NamedTuple):
    """US dollars for a million tokens; what is not known is not guessed."""

    input: float | None = None
    output: float = 0.0

    def of(self, took: Answer | Cost) -> float | None:
        """What tokens cost, where they are known.

        >>> Price(input=0.5).of(Answer({}, input_tokens=2_000_000, output_tokens=5))
        1.0
        """
        if self.input is None or (took.input_tokens is None and self.input):
            return None
        if self.output and took.output_tokens is None:
            return None
        return ((took.input_tokens or 0) * self.input + (took.output_tokens or 0) * self.output) / 1_000_000

    def at_most(self, took: Cost, size: int) -> float | None:
        """What a request of so many bytes cost: what is told of it or what its tokens cost, whichever is
        more; where nothing tells its tokens, no more than one a byte.

        >>> Price(0.5).at_most(Cost(cost_usd=0.0), 2_000_000), Price().at_most(Cost(), 9)
        (1.0, None)
        """
        sent = took if took.input_tokens is not None else took._replace(input_tokens=size)
        known = [one for one in (self.of(sent), took.cost_usd) if one is not None]
        return max(known, default=None)


class Bill:
    """What the requests of one ask took so far; it may be read from another thread at any moment."""

    def __init__(self, price: Price) -> None:
        self._price = price
        self._took: list[Cost] = []
        self._size = 0

    def begin(self, size: int) -> None:
        """A request of so many bytes is about to be sent: from now on it counts."""
        self._size = size
        self._took.append(Cost())

    def end(self, took: Cost | None) -> None:
        """What the last one took; ``None``: it does not count."""
        self._took[-1:] = [] if took is None else [took]

    def total(self) -> Cost | None:
        """What all of them took, in US dollars what they may have; ``None`` where none counts."""
        took = [
            Answer({}, **one._replace(cost_usd=self._price.at_most(one, self._size))._asdict())
            for one in [*self._took]
        ]
        return cost_of(took) if took else None
