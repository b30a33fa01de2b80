"""``loopbook loop undelivered | acknowledge``: advice that was said, and whether it reached the agent."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.options import AsJson, LoopId, Reader, Session, Store, example
from loopbook.cli.output import say, say_json
from loopbook.cli.sayings import headed
from loopbook.cli.target import chosen, opened
from loopbook.errors import NothingDecided

if TYPE_CHECKING:
    from loopbook.loop import Loop

app = typer.Typer()


@app.command(epilog=example("loopbook loop undelivered", "loopbook loop undelivered --loop fix-1 --json"))
def undelivered(
    loop: LoopId = None, store: Store = None, session: Reader = "cli", as_json: AsJson = False
) -> None:
    """Print the advice that nobody has acknowledged, as it was said, oldest first; nothing, if there is none.

    An empty line stands between two. It changes nothing: acknowledge what was handed to the agent.
    """
    with opened(store, session) as books:
        found = chosen(books, loop).undelivered()
    if as_json:
        say_json({"undelivered": [advice._asdict() for advice in found]})
        return
    for place, advice in enumerate(found):
        for line in ([""] if place else []) + advice.text.splitlines():
            say(line)


@app.command(epilog=example("loopbook loop acknowledge --loop fix-1", "loopbook loop acknowledge --json"))
def acknowledge(
    *,
    seqs: Annotated[
        list[int] | None,
        typer.Argument(metavar="[SEQ]...", help="The notices handed to the agent; else all that are open."),
    ] = None,
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
    as_json: AsJson = False,
) -> None:
    """Say that advice was handed to the agent, so that a restart does not list it as undelivered."""
    with opened(store, session) as books:
        found = chosen(books, loop)
        known = {advice.seq: advice for advice in found.undelivered()}
        _must_be_notices(found, [seq for seq in seqs or () if seq not in known])
        told = [known[seq] for seq in seqs or known if seq in known]
        found.acknowledge(*told)
    if as_json:
        say_json({"acknowledged": [advice.seq for advice in told]})
    else:
        for advice in told:
            for line in headed(f"{found.id} {advice.seq}: ", advice.text):
                say(line)


def _must_be_notices(loop: Loop, seqs: list[int]) -> None:
    """Refuse a seq at which nothing was said; what was acknowledged before is no mistake."""
    if not seqs:
        return
    said = {entry.originator_version for entry in loop.entries() if entry.event.type == "noticed"}
    if unknown := [str(seq) for seq in seqs if seq not in said]:
        raise NothingDecided(
            f"{loop.id} has no notice at {', '.join(unknown)}; nothing was acknowledged;"
            f" see: loopbook loop status --loop {shlex.quote(loop.id)}"
        )
