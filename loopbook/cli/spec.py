"""``loopbook spec``: scenario files, run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import example
from loopbook.cli.output import say

app = typer.Typer(help="Scenario files: the executable specification.")


@app.command("run", epilog=example("loopbook spec run specs/scenarios"))
def run(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Scenario files, or folders of them.")
    ],
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="A store to run them in; else each has one in memory."),
    ] = None,
    driver: Annotated[
        Literal["async", "blocking", "host"],
        typer.Option("--as", metavar="async|blocking|host", help="Which driver of the flow settles runs."),
    ] = "async",
) -> None:
    """Run every scenario and print the first difference of each that fails."""
    from loopbook.testing.scenario_file import find_files, read_scenarios
    from loopbook.testing.scenarios import run_scenario

    scenarios = [scenario for file in find_files(paths) for scenario in read_scenarios(file)]
    failed = 0
    for scenario in scenarios:
        found = run_scenario(scenario, store, driver).difference
        say(f"{'FAIL' if found else 'ok  '} {scenario.name}")
        if found:
            failed += 1
            say(f"     {scenario.file}:{found.line}: {found}")
    say(f"{len(scenarios)} scenarios: {len(scenarios) - failed} pass, {failed} fail")
    if failed:
        raise typer.Exit(FOUND)
