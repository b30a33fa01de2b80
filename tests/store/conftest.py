"""Every kind of store, so that one claim is tested on each."""

from __future__ import annotations

import pytest


@pytest.fixture
def url(store_url: str) -> str:
    """The URL of a fresh store."""
    return store_url
