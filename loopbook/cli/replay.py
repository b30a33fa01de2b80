"""``loopbook replay`` and ``loopbook explain``: what was decided, and why, from the book alone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Annotated, cast

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, Store, example
from loopbook.cli.output import say, say_json
from loopbook.cli.reading import OneOf, TheBook, reading

if TYPE_CHECKING:
    from loopbook.audit.explain import Explanation
    from loopbook.audit.replay import Decided, Outcome, Replay
    from loopbook.ledger import Ledger

app = typer.Typer()


@app.command(
    epilog=example(
        "loopbook replay fix-1",
        "loopbook replay books.jsonl --verify",
        "loopbook replay books.jsonl --stream fix-1",
    )
)
def replay(
    *,
    book: TheBook,
    to: Annotated[
        int | None, typer.Option("--to", metavar="SEQ", min=0, help="Only up to this entry; else all.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Tell whether each comes out the same; exit with 1 if one does not."),
    ] = False,
    stream: OneOf = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Decide every decision of a book again, and print where the work stood and what was said.

    The entries before a decision and the answers kept with it are all it takes: nobody is asked, and no
    clock, setting or file of kinds is read. Of an exported file every book is decided again, a fork with
    what it has of its parents; what is damaged in it is told, and ends with 1.
    """
    from loopbook.audit.replay import replay as again

    with reading(book, store, stream) as read:
        came = {ledger.stream: again(ledger.entries(), to=to) for ledger in read.some()}
        chosen = {ledger.stream: _chosen(ledger) for ledger in read.books}
    if as_json:
        say_json({"books": [_plain(name, one) for name, one in came.items()]})
    else:
        for name, one in came.items():
            _say_verified(name, one) if verify else _say_decisions(name, one)
            if chosen[name] and not one.decisions:
                say(f"{name} goes on in {chosen[name]}: see that")
    if read.damaged or (verify and any(one.difference for one in came.values())):
        raise typer.Exit(FOUND)


@app.command(
    epilog=example(
        "loopbook explain fix-1 --last",
        "loopbook explain fix-1 6 --json",
        "loopbook explain books.jsonl --stream fix-1 --last",
    )
)
def explain(
    *,
    book: TheBook,
    seq: Annotated[
        int | None,
        typer.Argument(
            metavar="[SEQ]", min=1, help="The entry of a decision, of a settled run or of a declared close."
        ),
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="The last decision.")] = False,
    stream: OneOf = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Say why something was said or not said at an entry: who was asked, what came back, what had changed.

    Of an exported file that holds a fork and its parents, the fork is meant; of one that holds several
    books, name one.
    """
    from loopbook.audit.explain import explain as why
    from loopbook.audit.explained import lines
    from loopbook.audit.reasons import UNRECORDED

    if (seq is None) is not last:
        raise typer.BadParameter("give the number of an entry, or --last")
    with reading(book, store, stream) as read:
        if read.damaged and not read.books:
            raise typer.Exit(FOUND)
        ledger = read.only()
        found = why(ledger.entries(), seq)
    if as_json:
        say_json({"book": ledger.stream, "decisions": [_as_json(one) for one in found]})
    else:
        for line in chain.from_iterable(map(lines, found)):
            say(line)
        if not found:
            say(f"entry {seq}: {UNRECORDED}")
    if read.damaged:
        raise typer.Exit(FOUND)


def _chosen(ledger: Ledger) -> str | None:
    """The loop that a session has gone on in."""
    from loopbook.events import BookChosen

    if not ledger.stream.startswith("session:"):
        return None
    newest = ledger.book.newest(ledger.stream, "book_chosen")
    return newest.event.book if newest and isinstance(newest.event, BookChosen) else None


# --- printing -----------------------------------------------------------------------------------


def _say_decisions(name: str, came: Replay) -> None:
    """Each decision, and where the work stood."""
    for one in came.decisions:
        about = ", ".join(filter(None, [one.advisor, one.run and f"run {one.run}"])) or "the flow"
        say(f"{one.seq:>5}  {about}, {_stands(one)}: {one.words}")
    say(f"{name}: {_counted(came)}; {_stands_now(came)}")


def _stands(one: Decided) -> str:
    return f"{one.phase.current} > {one.phase.next}" if one.phase.next else "no phase"


def _stands_now(came: Replay) -> str:
    from loopbook.projections import position

    if came.state.life.outcome:
        return f"closed: {came.state.life.outcome.replace('_', ' ')}"
    now = position(came.state)
    missing = f" ({', '.join(now.missing)})" if now.missing else ""
    return f"next: {now.next}{missing}" if now.next else "no loop is open in it"


def _counted(came: Replay) -> str:
    from loopbook.audit.shown import counted

    said = sum(one.said is not None for one in came.decisions)
    return (
        f"{counted(came.version, 'entry', 'entries')}, {counted(len(came.decisions), 'decision')},"
        f" {counted(said, 'notice')}"
    )


#: What a number of decisions came to.
_OUTCOMES: Mapping[Outcome, str] = {
    "same": "the same",
    "differs": "otherwise (the first is above)",
    "other-rules": "otherwise, by rules of another version",
    "scrubbed": "otherwise, since texts before them are gone",
    "unchecked": "not decided again, so nothing is known of these",
}


def _say_verified(name: str, came: Replay) -> None:
    """What came of deciding each again: those that are not the same, and a sum."""
    from loopbook.audit.explained import verdict
    from loopbook.audit.shown import shown

    first = came.difference
    for one in came.decisions:
        if one.verdict.outcome == "same" or (one.verdict.outcome == "differs" and one is not first):
            continue
        run = f", run {shown(one.run, 60)}" if one.run else ""
        say(f"{name} entry {one.seq}{run}:")
        for label, words in verdict(one.verdict):
            say(f"  {label:<10}{words}")
    told = [f"{number} {_OUTCOMES[outcome]}" for outcome, number in came.outcomes.items()]
    say(f"{name}: {_counted(came)}; decided again: {', '.join(told) or 'nothing'}")


def _plain(name: str, came: Replay) -> dict[str, object]:
    first = came.difference
    return {
        "book": name,
        "entries": came.version,
        "agrees": first is None,
        "first_difference": first and first.seq,
        "outcomes": dict(came.outcomes),
        "decisions": [
            {**one._asdict(), "phase": one.phase._asdict(), "verdict": one.verdict._asdict()}
            for one in came.decisions
        ],
    }


def _as_json(one: Explanation) -> dict[str, object]:
    """An explanation with all that is in it as objects."""
    return {name: _objects(value) for name, value in one._asdict().items()}


def _objects(value: object) -> object:
    if hasattr(value, "_asdict"):
        return {name: _objects(inner) for name, inner in cast("dict[str, object]", value._asdict()).items()}
    if isinstance(value, tuple):
        return [_objects(inner) for inner in value]
    return value
