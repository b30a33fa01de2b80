"""``loopbook loop close``: a loop is declared done, and that is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.answering import JudgeOption, Timeout, judge_of, settling
from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, LoopId, Session, Store, example
from loopbook.cli.output import say, say_json
from loopbook.cli.sayings import STAYS_DECLARED, SWITCHED_OFF, closed

if TYPE_CHECKING:
    from loopbook.settlement import CloseAnswer

app = typer.Typer()


@app.command(
    epilog=example(
        "loopbook loop close --loop fix-1 --claim 'empty input is answered' --anyway",
        "loopbook loop close --loop fix-1 --judge none --anyway --json",
    )
)
def close(
    *,
    claim: Annotated[
        str, typer.Option("--claim", metavar="TEXT", help="What was reached, in your words.")
    ] = "",
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Close it over whatever is missing or stands against it.")
    ] = False,
    judge: JudgeOption = "env",
    timeout: Timeout = None,
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
    as_json: AsJson = False,
) -> None:
    """Declare a loop done and have that judged; exit with 1 where it stays open, which is then explained."""
    asked = judge_of(judge, store)
    with settling(store, session, loop) as found:
        answer = found.close_blocking(claim, judge=asked, timeout=timeout)
        if anyway and not answer.closed:
            found.close_anyway()
        life = found.state.life
        on = found.options.advisors != ()
    outcome = life.outcome
    if as_json:
        told = {**answer._asdict(), "advice": answer.advice and answer.advice._asdict()}
        del told["later"]
        told["trace"] = [one._asdict() for one in answer.trace]
        ends = {"closed": outcome is not None, "outcome": outcome, "declared": life.declared > 0}
        say_json({"close": {**told, **ends, "second_thought": on}})
    else:
        _say_close(found.id, answer, outcome)
        if not on:
            say(f"not judged: {SWITCHED_OFF}")
        if outcome is None and life.declared:
            say(STAYS_DECLARED)
    if outcome is None:
        raise typer.Exit(FOUND)


def _say_close(loop: str, answer: CloseAnswer, outcome: str | None) -> None:
    from loopbook.audit.reasons import silence

    say(f"{loop} stays open" if outcome is None else closed(loop, outcome))
    for words in answer.missing:
        say(f"missing: {words}")
    for line in answer.text.splitlines():
        say(f"concern: {line}")
    for one in answer.trace:
        if one.reason and not one.judged:
            say(f"not judged: {silence(one.reason, one.detail)}")
