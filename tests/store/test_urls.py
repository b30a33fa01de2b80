"""A store URL names one store, or is refused with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopbook.errors import StoreUnavailable, StoreURLInvalid
from loopbook.store import StoreURL, parse_url


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:////var/b.db", "/var/b.db"),
        ("/var/b.db", "/var/b.db"),
        ("sqlite:////var/a%20b.db", "/var/a%20b.db"),
        ("/var/a?b=c.db", "/var/a?b=c.db"),
    ],
)
def test_an_absolute_path_is_taken_as_it_stands(url: str, path: str) -> None:
    assert parse_url(url) == StoreURL(Path(path))


@pytest.mark.parametrize("url", ["sqlite:///some/b.db", "some/b.db"])
def test_a_relative_path_starts_at_the_current_folder_now(url: str) -> None:
    assert parse_url(url).path == Path.cwd() / "some" / "b.db"


def test_a_home_folder_is_found() -> None:
    assert parse_url("~/b.db").path == parse_url("sqlite:///~/b.db").path == Path.home() / "b.db"


def test_options() -> None:
    assert parse_url("sqlite:////b.db?synchronous=full&timeout=2.5") == StoreURL(Path("/b.db"), True, 2.5)


def test_a_url_is_written_as_it_is_read() -> None:
    for url in ("memory:", "sqlite:////var/b.db"):
        assert str(parse_url(url)) == url


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "sqlite://", "sqlite:///", "sqlite://b.db", "sqlite:////b\0.db", "mysql://h/b", "://",
        "sqlite:///:memory:", ":memory:", "sqlite:////b.db?synchronous=off", "sqlite:////b.db?timeout=-1",
        "sqlite:////b.db?timeout=soon", "sqlite:////b.db?timeout=nan", "sqlite:////b.db?cache=shared",
        "sqlite:////b.db?full",
    ],
)  # fmt: skip
def test_what_names_no_store_is_refused_with_the_remedy(url: str) -> None:
    with pytest.raises(
        StoreURLInvalid, match=r"nothing was opened; write sqlite:///path/to/books\.db or memory:"
    ):
        parse_url(url)


@pytest.mark.parametrize("url", ["postgresql://host/books", "postgres://host/books"])
def test_postgresql_is_known_and_the_next_step_named(url: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"loopbook\[postgres\]"):
        parse_url(url)
