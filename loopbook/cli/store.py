"""``loopbook store init | check | upgrade``: a store made, looked at, brought up to date."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, Store, example
from loopbook.cli.output import complain, say, say_json, say_rows
from loopbook.cli.target import must_be_there, settings_for

if TYPE_CHECKING:
    from loopbook.store import Facts, StoreURL

app = typer.Typer(help="Stores: made, checked, copied, cleaned.")

#: Reads of which the quickest is told: the first has to open a connection.
READS = 5


@app.command(epilog=example("loopbook store init", "loopbook store init --store sqlite:///team.db"))
def init(store: Store = None) -> None:
    """Make a store, or find that it is there already, and say where it is.

    Its folder must be there; only that of the default store is made.
    """
    from loopbook.settings import make_default_folder
    from loopbook.store import parse_url, schema_of

    named = settings_for(store).store
    make_default_folder(named)
    url = parse_url(named)
    before = schema_of(url)
    facts = _open(url)[0]
    say(f"{url}: {'is there already' if before else 'made'}, schema {facts.schema}")


@app.command(epilog=example("loopbook store check", "loopbook store check --json"))
def check(store: Store = None, as_json: AsJson = False) -> None:
    """Open a store and say what it is: kind, schema, size, how quick, whether it can be written.

    Exit code 1 where it cannot be written now. What is in its books is checked by fsck.
    """
    from loopbook.store import parse_url

    url = parse_url(settings_for(store).store)
    must_be_there(url, store)
    facts, seconds = _open(url)
    said = {
        "url": str(url),
        "kind": url.kind,
        "schema": facts.schema,
        "streams": facts.streams,
        "bytes": facts.bytes,
        "read_ms": round(seconds * 1000, 3),
        "writable": not facts.refusal,
    }
    if as_json:
        say_json({"store": said})
    else:
        say_rows(("what", "value"), said.items())
    if facts.refusal:
        complain(facts.refusal)
        raise typer.Exit(FOUND)


@app.command(epilog=example("loopbook store upgrade"))
def upgrade(store: Store = None) -> None:
    """Bring an older store to this schema: for snapshots, which open long books at once, and for forks.

    Nothing else does it but the first fork. Other machines need a loopbook that knows the new schema
    from then on.
    """
    from loopbook.store import open_records, parse_url

    url = parse_url(settings_for(store).store)
    must_be_there(url, store)
    with closing(open_records(url)) as records:
        before = records.rows.facts().schema
        records.rows.upgrade()
        now = records.rows.facts().schema
    say(f"{url}: " + (f"schema {now} already" if before == now else f"schema {before} is now {now}"))


def _open(url: StoreURL) -> tuple[Facts, float]:
    """What a store says of itself, and the seconds that a trivial read takes."""
    from loopbook.store import open_records

    with closing(open_records(url)) as records:
        took = []
        for _ in range(READS):
            started = time.perf_counter()
            records.rows.taken(["catalogue"])
            took.append(time.perf_counter() - started)
        return records.rows.facts(), min(took)
