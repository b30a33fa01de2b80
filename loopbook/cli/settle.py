"""``loopbook loop settle | close | acknowledge``: advice for a coordinator that is a shell script.

Theory. Standard output holds what to tell the agent and nothing else, so that
``advice=$(loopbook loop settle "$run")`` is empty where there is nothing to say. That something was
said is no failure: the exit code is 0, and a script under ``set -e`` goes on. Who would rather branch
on the code asks for it with ``--exit-code``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from loopbook.cli.answering import JudgeOption, Timeout, json_object, judge_of
from loopbook.cli.exits import CONTINUE, FOUND, SPOKEN
from loopbook.cli.options import AsJson, LoopId, Session, Store, example
from loopbook.cli.output import complain, one_line, say, say_json
from loopbook.cli.target import chosen, opened, settings_for
from loopbook.errors import InvalidEvent, NothingDecided
from loopbook.limits import SUBAGENT_VARIABLES

if TYPE_CHECKING:
    from loopbook.events import RunSettled
    from loopbook.loop import Loop
    from loopbook.settlement import Advice, CloseAnswer, Settlement, Traced

app = typer.Typer()

ByExitCode = Annotated[
    bool,
    typer.Option(
        "--exit-code",
        help=f"Exit with {SPOKEN} where something was said, {CONTINUE} where the run should go on with it;"
        " else both are 0.",
    ),
]


@app.command(
    epilog=example(
        "loopbook loop settle run-1 --text 'It is done.'",
        "loopbook loop settle run-2 --judge script:answers.jsonl --json",
    )
)
def settle(
    *,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="The run's id: the same run is decided once. - reads a whole run from standard input, as one"
            " JSON object.",
            show_default=False,
        ),
    ],
    stop: Annotated[
        Literal["end", "length", "error", "aborted"],
        typer.Option("--stop", metavar="end|length|error|aborted", help="How the run ended."),
    ] = "end",
    text: Annotated[str, typer.Option("--text", metavar="TEXT", help="What the agent said last.")] = "",
    judge: JudgeOption = "env",
    timeout: Timeout = None,
    exit_code: ByExitCode = False,
    why: Annotated[
        bool,
        typer.Option(
            "--why", help="Say on standard error why nothing was said, or nothing more, and what was closed."
        ),
    ] = False,
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
    as_json: AsJson = False,
) -> None:
    """Record that a run has come to rest, and print what to tell the agent; nothing, if there is nothing.

    A close that was declared and not judged yet is judged here, and may end the loop: --why and --json tell.
    """
    settled = _marked(_from_stdin() if run == "-" else _run(run, stop, text))
    asked = judge_of(judge, store)
    with _loop(store, session, loop) as found:
        came = found.settlement_blocking(settled, judge=asked, timeout=timeout)
        outcome = found.state.life.outcome
    if as_json:
        say_json({"settle": {**_plain(settled.run, came), "closed": outcome is not None, "outcome": outcome}})
    else:
        _say_advice(came.advice)
    if why:
        _say_why(came.trace)
        if outcome is not None:
            complain(closed(found.id, outcome))
    if exit_code and came.advice is not None:
        raise typer.Exit(CONTINUE if came.advice.continues else SPOKEN)


def _run(run: str, stop: Literal["end", "length", "error", "aborted"], text: str) -> RunSettled:
    from loopbook.evidence.redaction import Redactor
    from loopbook.evidence.runs import settle as settled

    return settled([], [], Redactor.of_variables(os.environ), run=run, stop=stop, final_text=text)


def _marked(run: RunSettled) -> RunSettled:
    """The run, marked where this is a sub-agent's shell: nobody advises it."""
    if not any(os.environ.get(name) for name in SUBAGENT_VARIABLES):
        return run
    return run.model_copy(update={"observed": run.observed.model_copy(update={"subagent": True})})


def _from_stdin() -> RunSettled:
    """The run on standard input: the fields of a ``run_settled``, its type may be left out."""
    from loopbook.events import RunSettled, build_event

    fields = json_object(sys.stdin.buffer.read().decode("utf-8-sig", "replace"), "a run is a JSON object")
    if fields.setdefault("type", "run_settled") != "run_settled":
        raise InvalidEvent("only a run_settled can be settled")
    event = build_event(fields)
    assert isinstance(event, RunSettled)
    return event


@contextmanager
def _loop(store: str | None, session: str, loop: str | None) -> Iterator[Loop]:
    """The loop that was named, its runs to be settled as the user's settings have it."""
    from loopbook.own import options

    with opened(store, session) as books:
        books.options = options(settings_for(store))
        yield chosen(books, loop)


def _plain(run: str, came: Settlement) -> dict[str, object]:
    advice = came.advice
    did = "silent" if advice is None else "continue" if advice.continues else "spoken"
    return {
        "run": run,
        "did": did,
        "advice": advice and advice._asdict(),
        "notes": [note._asdict() for note in came.notes],
        "trace": [one._asdict() for one in came.trace],
    }


def closed(loop: str, outcome: str) -> str:
    """That a loop has ended, and how."""
    return f"{loop} is closed: {outcome.replace('_', ' ')}"


def _say_advice(advice: Advice | None) -> None:
    """The words, each line made harmless."""
    if advice is not None:
        for line in advice.text.splitlines():
            say(line)


def _say_why(trace: tuple[Traced, ...]) -> None:
    """The reasons, in sentences."""
    from loopbook.audit.reasons import silence

    for one in trace:
        if one.reason:
            about = f"{one.advisor}, unit {one.unit}" if one.unit else one.advisor
            complain(f"{about}: {one.reason}: {silence(one.reason, one.detail)}")
        elif one.did == "done before":
            complain(f"{one.advisor}: this run has been decided before")


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
    with _loop(store, session, loop) as found:
        answer = found.close_blocking(claim, judge=asked, timeout=timeout)
        if anyway and not answer.closed:
            found.close_anyway()
        outcome = found.state.life.outcome
    if as_json:
        told = {**answer._asdict(), "advice": answer.advice and answer.advice._asdict()}
        del told["later"]
        told["trace"] = [one._asdict() for one in answer.trace]
        say_json({"close": {**told, "closed": outcome is not None, "outcome": outcome}})
    else:
        _say_close(found.id, answer, outcome)
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
            say(f"{found.id} {advice.seq}: {one_line(advice.text)}")


def _must_be_notices(loop: Loop, seqs: list[int]) -> None:
    """Refuse a seq at which nothing was said; what was acknowledged before is no mistake."""
    if not seqs:
        return
    said = {entry.originator_version for entry in loop.entries() if entry.event.type == "noticed"}
    if unknown := [str(seq) for seq in seqs if seq not in said]:
        raise NothingDecided(
            f"{loop.id} has no notice at {', '.join(unknown)}; nothing was acknowledged;"
            " see: loopbook loop status"
        )
