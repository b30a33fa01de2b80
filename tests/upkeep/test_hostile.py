"""Whatever stands in a file that is imported: what is wrong is told by its line, the rest goes on."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopbook.books import Books
from loopbook.store import Row
from loopbook.upkeep.fsck import fsck
from loopbook.upkeep.importing import Imported, import_lines
from loopbook.upkeep.transfer import everything, write
from tests.conftest import PROVE
from tests.postgres import Postgres
from tests.upkeep.hostile import chained, changes, export
from tests.upkeep.world import fill, opened


@cache
def rows() -> tuple[Row, ...]:
    """What an export of a store with something of everything holds."""
    with opened("memory:") as books:
        fill(books)
        return tuple(everything(books.book))


def brought(books: Books, text: bytes) -> Imported:
    return import_lines(books.book, io.BytesIO(text))


def streams(of: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in of:
        found.setdefault(row.originator_id, []).append(row)
    return found


def forged(place: int, change: Callable[[Row], Row], *, chain: bool) -> list[Row]:
    """All rows with one of them changed, and those after it chained to it."""
    done = list(rows())
    done[place] = change(done[place])
    if not chain:
        return done
    try:
        return [row for stream in streams(done).values() for row in chained(stream)]
    except ValueError:
        return done


def check(url: str, changed: list[Row]) -> Imported:
    with opened(url) as books:
        imported = brought(books, export(changed))
        assert fsck(books.book).findings == ()
        assert all(problem.line is not None for problem in imported.problems)
        told = " ".join(problem.what for problem in imported.problems)
        for stream, theirs in streams(list(rows())).items():
            if streams(changed).get(stream) == theirs and stream not in told:
                assert imported.streams[stream] == len(theirs)
        out = io.BytesIO()
        assert write(everything(books.book), out).damaged == ()
        with opened("memory:") as again:
            assert brought(again, out.getvalue()).problems == ()
        return imported


HOSTILE = settings(
    max_examples=3_000 if PROVE else 150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@HOSTILE
@given(st.integers(0, 10**6), changes(), st.booleans())
def test_no_line_ends_the_import_and_what_was_written_is_sound(
    place: int, change: Callable[[Row], Row], chain: bool
) -> None:
    check("memory:", forged(place % len(rows()), change, chain=chain))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_no_line_ends_the_import_into_a_file_or_a_server(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    names = iter(range(10**6))

    def url() -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/{next(names)}.db"
        server: Postgres = request.getfixturevalue("postgres")
        return server.schema()

    @settings(HOSTILE, max_examples=400 if PROVE else 15)
    @given(st.integers(0, 10**6), changes(), st.booleans())
    def holds_for(place: int, change: Callable[[Row], Row], chain: bool) -> None:
        check(url(), forged(place % len(rows()), change, chain=chain))

    holds_for()
