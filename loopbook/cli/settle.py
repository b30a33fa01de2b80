"""``loopbook loop settle``: advice for a coordinator that is a shell script.

Theory. Standard output holds what to tell the agent and nothing else, so that
``advice=$(loopbook loop settle "$run")`` is empty where there is nothing to say. That something was
said is no failure: the exit code is 0, and a script under ``set -e`` goes on. Who would rather branch
on the code asks for it with ``--exit-code``. A silence that is not "all is well" (nobody was there to ask,
the loop is closed) is told on standard error, where a person sees it and no agent.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from loopbook.cli.answering import JudgeOption, Timeout, json_object, judge_of, settling
from loopbook.cli.exits import CLOSED, CONTINUE, SPOKEN
from loopbook.cli.options import AsJson, LoopId, Session, Store, example
from loopbook.cli.output import EMPTY, complain, say, say_json, stdin_text
from loopbook.cli.sayings import SWITCHED_OFF, closed, reopening
from loopbook.cli.target import in_store
from loopbook.errors import InvalidEvent
from loopbook.limits import SUBAGENT_VARIABLES

if TYPE_CHECKING:
    from loopbook.events import RunSettled
    from loopbook.settlement import Advice, Settlement, Traced

app = typer.Typer()

ByExitCode = Annotated[
    bool,
    typer.Option(
        "--exit-code",
        help=f"Exit with {SPOKEN} where something was said, {CONTINUE} where the run should go on with it,"
        f" {CLOSED} where this closed the loop; else all are 0.",
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
    context: typer.Context,
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

    A close that was declared and not judged yet is judged here, and may end the loop: --why, --json and
    --exit-code tell. In a loop that is closed already nothing is written, which is told on standard error.
    """
    if run == "-":
        _refuse_beside_stdin(context)
    settled = _marked(_from_stdin() if run == "-" else _run(run, stop, text))
    asked = judge_of(judge, store)
    with settling(store, session, loop) as found:
        before = found.state.life.outcome
        came = found.settlement_blocking(settled, judge=asked, timeout=timeout)
        state = found.state
        on = found.options.advisors != ()
    outcome = state.life.outcome
    if as_json:
        ends = {"closed": outcome is not None, "outcome": outcome, "was_closed": before is not None}
        say_json({"settle": {**_plain(settled.run, came), **ends, "second_thought": on}})
    else:
        _say_advice(came.advice)
        for line in _nothing_was_done(found.id, came, before, tells=judge != "none"):
            complain(in_store(line, store))
    if why:
        for line in _why(found.id, came.trace, state.runs.undelivered):
            complain(in_store(line, store))
        if not on:
            complain(SWITCHED_OFF)
        if outcome is not None and (before is None or as_json):
            complain(closed(found.id, outcome))
    if exit_code:
        _exit(came, ended=before is None and outcome is not None)


def _exit(came: Settlement, *, ended: bool) -> None:
    if ended:
        raise typer.Exit(CLOSED)
    if came.advice is not None:
        raise typer.Exit(CONTINUE if came.advice.continues else SPOKEN)


def _refuse_beside_stdin(context: typer.Context) -> None:
    """A run on standard input says itself how it ended: an option would be dropped."""
    for name, field in (("stop", "stop"), ("text", "final_text")):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            context.fail(f"--{name} stands beside -: the run on standard input says it itself, as {field!r}")


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

    text = stdin_text()
    if not text.strip():
        raise InvalidEvent(f"{EMPTY}, and a run was to be there")
    fields = json_object(text, "a run is a JSON object")
    if fields.setdefault("type", "run_settled") != "run_settled":
        raise InvalidEvent("only a run_settled can be settled")
    event = build_event(fields)
    assert isinstance(event, RunSettled)
    return event


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


def _say_advice(advice: Advice | None) -> None:
    """The words, each line made harmless."""
    if advice is not None:
        for line in advice.text.splitlines():
            say(line)


def _nothing_was_done(loop: str, came: Settlement, before: str | None, *, tells: bool) -> Iterator[str]:
    """A silence that somebody might take for consent: the loop was closed ``before``, or there was nobody
    to ask, which ``tells`` only who expects somebody."""
    if before is not None:
        yield f"{closed(loop, before)}; nothing was written; {reopening(loop)}"
    elif tells and any(one.reason == "no-judge" for one in came.trace):
        yield (
            "there is no judge to ask; the run was recorded and nothing was judged; give one its key with:"
            " loopbook judge key set, or say --judge none"
        )


def _why(loop: str, trace: tuple[Traced, ...], undelivered: tuple[int, ...]) -> Iterator[str]:
    """The reasons, in sentences."""
    from loopbook.audit.reasons import silence

    for one in trace:
        if one.reason:
            about = f"{one.advisor}, unit {one.unit}" if one.unit else one.advisor
            yield f"{about}: {one.reason}: {silence(one.reason, one.detail)}"
        elif one.did == "done before":
            yield f"{one.advisor}: this run has been decided before{_not_handed_on(loop, undelivered)}"


def _not_handed_on(loop: str, seqs: tuple[int, ...]) -> str:
    """What may never have arrived, and where it can be read."""
    if not seqs:
        return ""
    where = shlex.quote(loop)
    told = ", ".join(map(str, seqs))
    return f"; said and not acknowledged: {told}; print it with: loopbook loop undelivered --loop {where}"
