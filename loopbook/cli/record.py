"""``loopbook loop record``: evidence and notes, by options or as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

import loopbook
from loopbook.cli.drafts import drafts_of
from loopbook.cli.options import LoopId, Resolves, Session, Store, example, not_blank
from loopbook.cli.output import EMPTY, complain, stdin_lines
from loopbook.cli.target import Target, write
from loopbook.cli.writing import Event, writes
from loopbook.errors import InvalidEvent

app = typer.Typer(
    help="Record what was done: evidence that moves a phase, and notes that move none.",
    epilog=example(
        "loopbook loop record change --summary 'retry added' --path client.py",
        """loopbook loop record --json '{"type": "source", "locator": "rfc9110"}'""",
    ),
)
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What it says.", callback=not_blank)]


@app.callback(invoke_without_command=True)
def record(
    *,
    context: typer.Context,
    events: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="JSON",
            help="One event as a JSON object with its type; '-' reads one a line from standard input."
            " It may also hold unit and host_ref. All are written, or none.",
        ),
    ] = None,
    loop: LoopId = None,
    store: Store = None,
    session: Session = "cli",
) -> None:
    """Record what was done: evidence that moves a phase, and notes that move none."""
    if context.invoked_subcommand is not None:
        if events is not None:
            context.fail("Give either --json or a type of event, not both")
        _refuse_early(context)
        return
    if events is None:
        context.fail("Missing the type of event, or --json")
    drafts = drafts_of(stdin_lines() if events == "-" else [(0, events)])
    if not drafts:
        complain(f"{EMPTY}: there was nothing to record; the book is unchanged")
        return
    write(Target(store, loop, session), *drafts)


def _refuse_early(context: typer.Context) -> None:
    """An option in front of the type of event would hold for nothing: it is refused, not dropped."""
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if source is not None and source.name == "COMMANDLINE":
            context.fail(f"{param.opts[0]} stands before {context.invoked_subcommand!r}: give it after")


@writes(app, "change", "loopbook loop record change --summary 'retry added' --path client.py", evidence=True)
def change(
    *,
    summary: Annotated[
        str, typer.Option("--summary", metavar="TEXT", help="What was changed.", callback=not_blank)
    ],
    paths: Annotated[
        list[str] | None, typer.Option("--path", metavar="PATH", help="A file it touched. May be repeated.")
    ] = None,
    diff_summary: Annotated[
        str | None, typer.Option("--diff-summary", metavar="TEXT", help="Such as git diff --stat says it.")
    ] = None,
    revision: Annotated[str | None, typer.Option("--revision", metavar="REV", help="The commit.")] = None,
    resolves: Resolves = None,
) -> Event:
    """Something was written."""
    return loopbook.Change(
        summary=summary, paths=tuple(paths or ()), diff_summary=diff_summary, revision=revision,
        resolves=tuple(resolves or ()),
    )  # fmt: skip


@writes(app, "check", "loopbook loop record check --command 'pytest -q' --exit-code 1", evidence=True)
def check(
    *,
    context: typer.Context,
    command: Annotated[
        str, typer.Option("--command", metavar="TEXT", help="The command that was run.", callback=not_blank)
    ],
    outcome: Annotated[
        Literal["pass", "fail", "unknown"] | None,
        typer.Option(
            "--outcome", metavar="pass|fail|unknown", help="How it ended; else read from the exit code."
        ),
    ] = None,
    exit_code: Annotated[int | None, typer.Option("--exit-code", metavar="N", help="Its exit code.")] = None,
    masked: Annotated[
        bool,
        typer.Option("--masked", help="The exit code is not the check's own, as of a pipe; give --outcome."),
    ] = False,
    scope: Annotated[
        Literal["tests", "build", "lint", "types", "format", "manual"] | None,
        typer.Option(
            "--scope",
            metavar="tests|build|lint|types|format|manual",
            help="What it vouches for; else read from the command, tests where that is not known.",
        ),
    ] = None,
    output_tail: Annotated[
        str | None, typer.Option("--output-tail", metavar="TEXT", help="The end of what it printed.")
    ] = None,
) -> Event:
    """A command that can vouch for the work was run, and how it ended.

    An exit code that is not the check's own, as behind a pipe, tells nothing: then the outcome is unknown,
    save where the runner's closing line stands in --output-tail, or --outcome is given.
    """
    from loopbook.cli.counted import counted

    read = counted(command, exit_code, output_tail or "")
    if outcome is None and (masked or exit_code is None):
        context.fail("Missing option '--outcome'" + ("" if masked else " or '--exit-code'"))
    if not masked and outcome in read.never:
        context.fail(
            f"Exit code {exit_code} and outcome {outcome} contradict each other; give --masked where the"
            " exit code is not the check's own"
        )
    return loopbook.Check(
        command=command, outcome=outcome or read.outcome or "unknown", exit_code=exit_code,
        masked=masked or read.masked, scope=scope or read.scope, output_tail=output_tail,
    )  # fmt: skip


@writes(
    app, "review",
    "loopbook loop record review --tier light --reviewer ada --finding 'f1:concern:retries have no bound'",
    evidence=True,
)  # fmt: skip
def review(
    *,
    tier: Annotated[
        Literal["light", "full"], typer.Option("--tier", metavar="light|full", help="How thorough it was.")
    ],
    reviewer: Annotated[str, typer.Option("--reviewer", metavar="NAME", help="Who read the work.")],
    findings: Annotated[
        list[str] | None,
        typer.Option(
            "--finding",
            metavar="ID:SEVERITY:TEXT",
            help="A finding; its severity is blocker, concern or nit. May be repeated; none at all: clean.",
        ),
    ] = None,
) -> Event:
    """Somebody read the work."""
    return loopbook.Review(tier=tier, reviewer=reviewer, findings=tuple(map(_finding, findings or ())))


def _finding(text: str) -> loopbook.Finding:
    name, severity, words = (part.strip() for part in (*text.split(":", 2), "", "")[:3])
    for known in ("blocker", "concern", "nit"):
        if severity == known and name and words:
            return loopbook.Finding(id=name, severity=known, text=words)
    raise InvalidEvent(
        f"{text!r} is no finding: write it as id:severity:text, severity blocker, concern or nit"
    )


@writes(
    app, "decision", "loopbook loop record decision --text 'exponential backoff' --by user", evidence=True
)  # fmt: skip
def decision(
    *,
    text: Annotated[
        str, typer.Option("--text", metavar="TEXT", help="What was decided.", callback=not_blank)
    ],
    by: Annotated[Literal["user", "agent"], typer.Option("--by", metavar="user|agent", help="Who decided.")],
    question: Annotated[
        str | None, typer.Option("--question", metavar="TEXT", help="What had been asked.")
    ] = None,
    resolves: Resolves = None,
) -> Event:
    """Something was settled."""
    return loopbook.Decision(text=text, decided_by=by, question=question, resolves=tuple(resolves or ()))


@writes(
    app, "source", "loopbook loop record source --locator rfc9110 --summary 'when to retry'", evidence=True
)
def source(
    *,
    locator: Annotated[
        str,
        typer.Option("--locator", metavar="TEXT", help="Its address, path or query.", callback=not_blank),
    ],
    summary: Annotated[str, typer.Option("--summary", metavar="TEXT", help="What it says.")] = "",
) -> Event:
    """Something was consulted."""
    return loopbook.Source(locator=locator, summary=summary)


@writes(app, "prompt", "loopbook loop record prompt --text 'and None as well' --id prompt-2")
def prompt(
    *,
    text: Annotated[str, typer.Option("--text", metavar="TEXT", help="What was said.", callback=not_blank)],
    name: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="An id of your choice; else a new one.")
    ] = None,
) -> Event:
    """A person prompted the agent: as many runs may be continued again as your settings allow."""
    from datetime import UTC, datetime

    from loopbook.ids import sortable_id
    from loopbook.run import PROMPT_CHARS

    return loopbook.Prompted(prompt=name or sortable_id(datetime.now(UTC)), text=text[:PROMPT_CHARS])


@writes(app, "task", "loopbook loop record task 'write the retry'")
def task(text: Text) -> Event:
    """What the agent sets out to do next."""
    return loopbook.Task(text=text)


@writes(app, "base", "loopbook loop record base 'main at 4f2a9c1'")
def base(text: Text) -> Event:
    """What the work is based on."""
    return loopbook.Base(text=text)


@writes(app, "watch", "loopbook loop record watch 'CI run 812'")
def watch(text: Text) -> Event:
    """Something outside is being watched."""
    return loopbook.Watch(text=text)


@writes(app, "friction", "loopbook loop record friction 'no compiler here' --child scout-7")
def friction(
    text: Text,
    child: Annotated[
        str | None, typer.Option("--child", metavar="NAME", help="Whose friction it is, if a child's.")
    ] = None,
) -> Event:
    """What got in the way."""
    return loopbook.Friction(text=text, child=child)
