"""What all tests share: sizes of the property tests, and where the real sessions lie."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import replaying
from tests.judges.faulty import faulty
from tests.postgres import postgres, shared_url, store_url

__all__ = ["faulty", "postgres", "shared_url", "store_url"]

ROOT = Path(__file__).resolve().parent.parent
PROVE = bool(os.environ.get("LOOPBOOK_PROVE"))

settings.register_profile(
    "default", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "prove", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("mutants", max_examples=20, deadline=None, derandomize=True, database=None)
settings.load_profile("prove" if PROVE else "default")


def shared_folder() -> Path:
    """The folder of real recorded sessions beside the checkout, or ``$LOOPBOOK_SHARED``."""
    return Path(os.environ.get("LOOPBOOK_SHARED") or ROOT.parent / "shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real sessions that may not be committed; a test that needs them is skipped without them."""
    folder = shared_folder()
    if not (folder / "data").is_dir():
        pytest.skip("the recorded third-party sessions are not on this machine (set LOOPBOOK_SHARED)")
    return folder


@pytest.fixture(autouse=True)
def replayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test's flows have decided is decided again, from its book alone."""
    with replaying.noting(monkeypatch):
        yield


def pytest_sessionstart() -> None:
    """A mutation run begins many sessions in one process: what one has cached, other code has computed."""
    for name, module in [*sys.modules.items()]:
        for value in vars(module).values() if name.startswith("loopbook.") else ():
            clear = getattr(value, "cache_clear", None)
            if callable(clear):
                clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow proofs run under ``make prove`` only."""
    if PROVE:
        return
    for item in items:
        if item.get_closest_marker("prove"):
            item.add_marker(pytest.mark.skip(reason="a slow proof: make prove"))
