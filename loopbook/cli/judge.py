"""``loopbook judge``: asking a judge by hand."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopbook.cli.exits import FOUND
from loopbook.cli.options import AsJson, example
from loopbook.cli.output import EMPTY, complain, say, say_json, say_rows, stdin_text
from loopbook.cli.target import settings_for
from loopbook.errors import InvalidPacket

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopbook.judges import Answer, Failure, Packet
    from loopbook.judges.probing import Spread
    from loopbook.judges.system_one import SystemOne
    from loopbook.judges.system_one.client import Ready

app = typer.Typer(help="The judge: what it is asked, what it answers, its key.")

Packets = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A state and questions as JSON, or - for standard input.", show_default=False
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", min=0.1, help="How long one asking may take; else your settings."
    ),
]


@app.command(epilog=example("loopbook judge ask --show packet.json", "loopbook judge ask packet.json --json"))
def ask(
    file: Packets,
    show: Annotated[
        bool, typer.Option("--show", help="Print what would be sent, as it would be sent, and send nothing.")
    ] = False,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Ask the judge of your settings, and print its answers; exit with 1 where there are none."""
    from loopbook.judges import Failure

    packet = _packet(file)
    judge, seconds = _judge(timeout)
    if show:
        _show(judge, packet, as_json=as_json)
        return
    outcome = _asked(judge, packet, seconds)
    if isinstance(outcome, Failure):
        _say_failure(outcome, as_json=as_json)
        raise typer.Exit(FOUND)
    if as_json:
        say_json(_plain(outcome))
    else:
        say_rows(("question", "answer", "sure", "how likely"), _rows(outcome))


@app.command(
    epilog=example("loopbook judge probe packet.json", "loopbook judge probe packet.json --times 3 --json")
)
def probe(
    file: Packets,
    times: Annotated[
        int,
        typer.Option("--times", metavar="N", min=1, max=100, help="How often: so many requests are made."),
    ] = 5,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Ask the same N times and print how much the answers differ. Makes N requests, each at its price."""
    from loopbook.judges import Failure
    from loopbook.judges.probing import failures, spreads

    packet = _packet(file)
    judge, seconds = _judge(timeout)
    ready = judge.ready(packet)
    if isinstance(ready, Failure):  # so would each of the requests
        _say_failure(ready, as_json=as_json)
        raise typer.Exit(FOUND)
    if not as_json:
        say(f"{times} {'requests' if times > 1 else 'request'} to {judge}, one after another")
    outcomes = [_asked(judge, packet, seconds) for _ in range(times)]
    found, failed = spreads(packet, outcomes), failures(outcomes)
    if as_json:
        plain = {name: one._asdict() for name, one in found.items()}
        say_json({"probe": {"requests": times, "failures": failed, "questions": plain}})
    else:
        rows = (_spread_row(name, one, times) for name, one in found.items())
        say_rows(("question", "kind", "answered", "least", "mean", "most", "chosen"), rows)
        for kind, count in failed.items():
            say(f"failed: {kind}, {count} of {times}")
    if failed:
        raise typer.Exit(FOUND)


# --- asking --------------------------------------------------------------------------------------


def _packet(file: str) -> Packet:
    from loopbook.judges.packets import read_packet

    if file != "-":
        return read_packet(Path(file).read_bytes().decode("utf-8-sig", "replace"))
    text = stdin_text()
    if not text.strip():
        raise InvalidPacket(f"{EMPTY}, and a state and questions were to be there; nothing was asked")
    return read_packet(text)


def _judge(timeout: float | None) -> tuple[SystemOne, float]:
    from loopbook.own import system_one

    settings = settings_for(None, judge_timeout=timeout)
    return system_one(settings, os.environ), settings.judge_timeout


def _asked(judge: SystemOne, packet: Packet, seconds: float) -> Answer | Failure:
    import anyio

    from loopbook.judges import Answer
    from loopbook.judges.system_one.address import origin_of
    from loopbook.own import closures

    outcome = anyio.run(judge.ask, packet, seconds)
    if isinstance(outcome, Answer):  # whoever asks by hand asks anyway: what was closed is open again
        closures(os.environ).open(origin_of(judge.base_url))
    return outcome


def _show(judge: SystemOne, packet: Packet, *, as_json: bool) -> None:
    """The request, byte for byte; as JSON also where it would go, and whose key would go with it."""
    from loopbook.judges import Failure

    ready = judge.preview(packet)
    if isinstance(ready, Failure):
        _say_failure(ready, as_json=as_json)
        raise typer.Exit(FOUND)
    if as_json:
        say_json({"request": _request(ready)})
    else:
        sys.stdout.write(ready.request.body.decode("ascii") + "\n")


def _request(ready: Ready) -> dict[str, object]:
    return {
        "method": "POST",
        "url": ready.url,
        "key_from": None if ready.key is None else ready.key.source,
        "bytes": len(ready.request.body),
        "state_was_cut": ready.request.cut,
        "not_asked": dict(ready.request.lost),
        "body": json.loads(ready.request.body),
    }


# --- printing ------------------------------------------------------------------------------------


def _plain(answer: Answer) -> dict[str, object]:
    from loopbook.advisors.asking import to_json

    rest = {name: one for name, one in answer._asdict().items() if name not in ("values", "lost")}
    return {"answer": {"questions": to_json(answer), **rest}}


def _say_failure(failure: Failure, *, as_json: bool) -> None:
    """The kind of a failure, its cause, and what to do where that is known."""
    if as_json:
        took = None if failure.took is None else failure.took._asdict()
        say_json({"failure": {**failure._asdict(), "took": took}})
    else:
        complain(f"{failure.kind}: {_cause(failure)}")


def _cause(failure: Failure) -> str:
    """What the failure of this kind was caused by. Of a kind with several causes its detail names the one."""
    from loopbook.advisors.asking import FAILURES

    if failure.kind == "no-key" and failure.detail:
        return failure.detail
    if failure.kind == "refused-url" and failure.detail:
        return f"judge_url is {failure.detail}; nothing was asked; correct judge_url"
    more = f" ({failure.detail})" if failure.detail else ""
    return f"{FAILURES[failure.kind]}{more}; nothing was kept; see: loopbook judge --help"


def _rows(answer: Answer) -> list[tuple[object, ...]]:
    rows = [(name, *_cells(value)) for name, value in answer.values.items()]
    rows += [(name, "-", "-", f"lost: {why}") for name, why in answer.lost.items()]
    took = f"{answer.latency_ms:.0f} ms" if answer.latency_ms is not None else "-"
    tokens = f"{_or_dash(answer.input_tokens)} in, {_or_dash(answer.output_tokens)} out"
    cost = "-" if answer.cost_usd is None else f"{answer.cost_usd:.6f} US dollars"
    asked = f"asked: {_or_dash(answer.model_asked)}"
    return [
        *rows,
        ("(model)", _or_dash(answer.model_answered), "", asked),
        ("(request)", _or_dash(answer.request_id), "", took),
        ("(tokens)", tokens, "", cost),
    ]


def _cells(value: object) -> tuple[str, str, str]:
    from loopbook.judges import Chosen, Likely, Scored

    match value:
        case Likely(noul=noul):
            return f"{noul:.2f}", "-", "-"
        case Chosen(choice=said, probabilities=shares, confidence=sure):
            return said, _two(sure), _shares(shares.items())
        case Scored(score=score, probabilities=shares, confidence=sure):
            return f"{score:.2f}", _two(sure), _shares(shares.items())
    return "-", "-", "-"


def _shares(shares: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {share:.2f}" for name, share in shares) or "-"


def _spread_row(name: str, one: Spread, times: int) -> tuple[object, ...]:
    chosen = ", ".join(f"{option} {count}" for option, count in one.options.items()) or "-"
    return (
        name,
        one.type,
        f"{one.answers} of {times}",
        _two(one.least),
        _two(one.mean),
        _two(one.most),
        chosen,
    )


def _two(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def _or_dash(value: object) -> object:
    return "-" if value is None else value
