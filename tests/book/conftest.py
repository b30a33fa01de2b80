"""A book on each kind of store, and a second one at the same store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loopbook.book import Book
from tests.book.drafts import clock


@pytest.fixture
def book(store_url: str) -> Iterator[Book]:
    with Book(store_url, clock=clock) as opened:
        yield opened


@pytest.fixture
def other(book: Book) -> Iterator[Book]:
    """A second book at the same store, as another process would have it."""
    if book.url == "memory:":
        pytest.skip("a store in memory has one book")
    with Book(book.url, clock=clock) as opened:
        yield opened
