"""A book on each kind of store, and a second one at the same file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loopbook.book import Book
from tests.book.drafts import clock


@pytest.fixture(params=["sqlite", "memory"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/books.db"
    with Book(url, clock=clock) as opened:
        yield opened


@pytest.fixture
def other(book: Book) -> Iterator[Book]:
    """A second book at the same file, as another process would have it."""
    if book.url == "memory:":
        pytest.skip("a store in memory has one book")
    with Book(book.url, clock=clock) as opened:
        yield opened
