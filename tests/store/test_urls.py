"""A store URL names one store, or is refused with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopbook.errors import StoreURLInvalid
from loopbook.store import StoreURL, parse_url, without_password


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
    remedy = r"nothing was opened; write sqlite:///path/to/books\.db(, postgresql://host/books)? or memory:"
    with pytest.raises(StoreURLInvalid, match=remedy) as told:
        parse_url(url)
    assert ("postgresql://" in str(told.value)) == ("sqlite:" not in url and "://" in url)


# --- PostgreSQL -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "server", "schema", "seconds"),
    [
        ("postgresql://host/books", "postgresql://host/books", "public", 5.0),
        ("postgres://me@host:5433/books?sslmode=require", None, "public", 5.0),
        ("postgresql://h/b?schema=team&timeout=30", "postgresql://h/b", "team", 30.0),
        (
            "postgresql://h/b?timeout=0&sslmode=require&schema=a_1",
            "postgresql://h/b?sslmode=require",
            "a_1",
            0.0,
        ),
        ("postgresql://@/b?host=/run/pg", None, "public", 5.0),
        ("postgresql://%2Frun%2Fpg/b", None, "public", 5.0),
        ("postgresql:///?host=h&dbname=b", None, "public", 5.0),
        ("postgresql://a:1,b:2/books?target_session_attrs=read-write", None, "public", 5.0),
        ("postgresql://[::1]:5432/b", None, "public", 5.0),
    ],
)
def test_a_server_is_named_by_one_of_libpqs_urls(
    url: str, server: str | None, schema: str, seconds: float
) -> None:
    read = parse_url(url)
    assert (read.kind, read.server, read.schema, read.busy_seconds) == (
        "postgresql", server or url, schema, seconds,
    )  # fmt: skip
    assert parse_url(str(read)) == read._replace(busy_seconds=5.0)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://", "postgresql://host", "postgresql://host/", "postgresql:///books", "postgresql://:5432/b",
        "postgresql://me:hunter22@/b", "postgresql://me:hunter22@h", "postgresql://me:hunter/22@h",
        "postgresql://me:hunter?2@h/b", "postgresql://me:hunter:2:h/b", "postgresql://me:hunter@22/x@h/b",
        "postgresql://h/b?schema=a-b", "postgresql://h/b?schema=", "postgresql://h/b?schema=a%22;drop",
        "postgresql://h/b?timeout=-1", "postgresql://h/b?timeout=soon", "postgresql://h/b%00",
    ],
)  # fmt: skip
def test_a_server_url_that_is_none_is_refused_and_shows_no_password(url: str) -> None:
    with pytest.raises(StoreURLInvalid, match=r"nothing was opened; write ") as told:
        parse_url(url)
    assert "hunter" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hunter22@h/b", "postgresql://me:***@h/b"),
        ("postgresql://me:hunter22@h:5432/b?schema=s", "postgresql://me:***@h:5432/b?schema=s"),
        ("postgresql://me:hunter@22@h/b", "postgresql://me:***@h/b"),
        ("postgresql://h:5432/b?options=a@b", "postgresql://h:5432/b?options=a@b"),
        ("postgresql://h/b?password=hunter22&sslmode=allow", "postgresql://h/b?password=***&sslmode=allow"),
        ("postgresql://h/b?p%61ssword=hunter22", "postgresql://h/b?p%61ssword=***"),
        ("postgresql://me@h/b?SSLPASSWORD=hunter22", "postgresql://me@h/b?SSLPASSWORD=***"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    read = parse_url(url)
    assert str(read) == without_password(url) == shown
    assert "hunter" not in f"{read!r} {read.server!r} {read._asdict()} {[read]}"


def test_what_is_no_server_url_is_shown_as_it_is() -> None:
    for url in ("memory:", "a/b.db", "sqlite:///x:y@z.db"):
        assert without_password(url) == url
