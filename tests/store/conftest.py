"""Both kinds of store, so that one claim is tested on each."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh store."""
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/books.db"
