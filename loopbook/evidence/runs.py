"""What is kept of a call, a prompt and a run: within bounds, and without secrets.

Theory. Every text takes one way into a book: made valid UTF-8, redacted *whole*, and only then
cut, because half a secret has no shape. The bounds are those of ``loopbook.run``; what a run keeps
depends on them and not on the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from pydantic import JsonValue

from loopbook.events import Origin, Outcome, Prompted, RunSettled
from loopbook.evidence.artifacts import named, produced, touched
from loopbook.evidence.calls import ToolCall
from loopbook.evidence.outcomes import CommandOutcome
from loopbook.evidence.redaction import Redactor
from loopbook.evidence.shapes import list_of, text_of
from loopbook.evidence.text import MARK_ROOM, clean, digest16, head, head_tail, one_line, tail, tidy_output
from loopbook.run import (
    CALLS,
    FINAL_TEXT_CHARS,
    INPUT_CHARS,
    LINES,
    LINES_CHARS,
    OUTPUT_TAIL_CHARS,
    PROMPT_CHARS,
    Call,
    Line,
    Observed,
    Stop,
)

#: Bounds of our own: ids and names, paths, an error's words, and what is shown of a tool's arguments.
ID_CHARS = 200
PATH_CHARS = 1_000
ERROR_CHARS = 300
ARGUMENT_CHARS = 300
ARGUMENT_ITEMS = 20
ARGUMENT_DEPTH = 3
#: Each line of a run may keep this much, whatever its newer neighbours need.
LINE_SHARE = LINES_CHARS // LINES

#: A call with such a result did nothing.
NOT_RUN = frozenset({"refused", "never_ran", "interrupted"})
#: Where hosts put a command.
COMMAND_KEYS = ("command", "cmd", "script")


class Safe(NamedTuple):
    """Makes texts fit to be kept. Redaction comes before any cut.

    >>> Safe(Redactor(["s3cret-word"])).line("the\\ns3cret-word", 30)
    'the [redacted secret 11 chars]'
    """

    redactor: Redactor

    def text(self, text: str) -> str:
        """Valid and without secrets, at full length."""
        return self.redactor.text(clean(text))

    def line(self, text: str, n: int) -> str:
        """On one line; looked at a second time, because a secret may have been broken by escapes."""
        whole = self.text(text)
        line = one_line(whole, len(whole) + 1)
        return one_line(line if line == whole else self.text(line), n)

    def output(self, text: str) -> str:
        """A command's output, tidied."""
        return self.text(tidy_output(text))

    def path(self, path: str) -> str:
        """A file's path."""
        return head(self.text(path), PATH_CHARS)

    def name(self, name: str) -> str:
        """An id or name. One that is a secret itself is replaced by a digest, so that names stay apart.

        >>> Safe(Redactor(["s3cret-word"])).name("s3cret-word")
        'id-6556e59b7e927cef'
        """
        whole = clean(name)
        return head(whole, ID_CHARS) if self.redactor.text(whole) is whole else f"id-{digest16(whole)}"


def ran(call: ToolCall) -> bool:
    """Whether a call ran: it has a result, and that is no refusal.

    >>> ran(ToolCall("c1", "Bash", "command", {}))
    False
    """
    return call.result is not None and call.result.status not in NOT_RUN


def command_of(args: Mapping[str, object]) -> str:
    """The command line of a call: a text, or the words of an argument list.

    >>> command_of({"command": ["bash", "-lc", "npm test"]}), command_of({"cmd": "ls"}), command_of({})
    ('npm test', 'ls', '')
    """
    words = [word for word in list_of(args, *COMMAND_KEYS) or () if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words) or text_of(args, *COMMAND_KEYS)


def keep(
    call: ToolCall, safe: Safe, *, outcome: CommandOutcome | None = None, child: str | None = None
) -> Call:
    """What a run keeps of one call. ``outcome`` is how its command ended, ``child`` whom it sent out.

    >>> from loopbook.evidence.calls import CallResult
    >>> call = ToolCall("c1", "Bash", "command", {"command": "ls"}, CallResult("ok", "a\\n"))
    >>> kept = keep(call, Safe(Redactor()))
    >>> kept.input, kept.output_tail, kept.output_chars
    ('ls', 'a', 2)
    """
    result, did_run = call.result, ran(call)
    text = result.text if result and did_run and call.kind in ("command", "output") else ""
    output = safe.output(text)
    failed = result is not None and result.status not in ("ok", "background")
    return Call(
        ref=safe.name(call.ref),
        tool=safe.line(call.tool, ID_CHARS),
        kind=call.kind,
        input=_input(call, safe),
        outcome=_combined(outcome) if did_run else None,
        exit_code=result.exit_code if result and did_run else None,
        check=outcome.check if outcome and did_run else None,
        masked=bool(outcome and outcome.masked),
        writes=bool(outcome and outcome.writes),
        ran=did_run,
        output_tail=tail(output, OUTPUT_TAIL_CHARS),
        output_chars=len(text),
        output_hash=digest16(output) if output else "",
        error=safe.line(result.text, ERROR_CHARS) if result and failed else None,
        produced=tuple(map(safe.path, produced(call))),
        touched=tuple(map(safe.path, touched(call))),
        child=child,
        by=safe.name(call.by) if call.by else None,
        line=call.line,
    )


def prompted(prompt: str, text: str, redactor: Redactor, *, origin: Origin = "human") -> Prompted:
    """A prompt as it is kept.

    >>> len(prompted("p1", "x" * 9_000, Redactor()).text)
    8000
    """
    safe = Safe(redactor)
    return Prompted(prompt=safe.name(prompt), text=head(safe.text(text), PROMPT_CHARS), origin=origin)


def settle(
    calls: Sequence[Call],
    lines: Sequence[Line],
    redactor: Redactor,
    *,
    run: str,
    prompt: str | None = None,
    final_text: str = "",
    calls_total: int | None = None,
    path: Iterable[str] = (),
    stop: Stop = "end",
    interactive: bool = True,
    observed: Observed | None = None,
) -> RunSettled:
    """A run come to rest, within the bounds; ``calls`` and ``lines`` oldest first, the newest are kept.

    ``calls`` come from ``observe`` and are redacted already; the texts are raw. A reader that
    keeps only the newest calls itself says how many there were in ``calls_total``.

    >>> settled = settle([Call(ref=str(n), tool="Read") for n in range(300)], [], Redactor(), run="r1")
    >>> len(settled.calls), settled.calls_total, settled.calls[-1].ref
    (200, 300, '299')
    """
    safe = Safe(redactor)
    return RunSettled(
        run=safe.name(run),
        prompt=None if prompt is None else safe.name(prompt),
        path=tuple(map(safe.name, path)),
        stop=stop,
        interactive=interactive,
        final_text=head_tail(safe.text(final_text), FINAL_TEXT_CHARS),
        lines=_fit([(line, safe.text(line.text)) for line in lines[-LINES:]]),
        calls=tuple(calls[-CALLS:]),
        calls_total=len(calls) if calls_total is None else calls_total,
        observed=observed or Observed(),
    )


def _fit(lines: Sequence[tuple[Line, str]]) -> tuple[Line, ...]:
    """The lines cut so that together they fit; the newest take what the older ones leave."""
    room = LINES_CHARS
    fitted = []
    for at in range(len(lines) - 1, -1, -1):
        reserved = sum(min(LINE_SHARE, len(text)) for _, text in lines[:at])
        line, text = lines[at]
        fits = room - reserved
        cut = text if len(text) <= fits else head_tail(text, (fits - MARK_ROOM) // 2)
        room -= len(cut)
        fitted.append(line.model_copy(update={"text": cut}))
    return tuple(reversed(fitted))


def _combined(outcome: CommandOutcome | None) -> Outcome | None:
    """How the checks of a command ended together; ``None`` when there is none in it."""
    found = {check.outcome for check in outcome.checks} if outcome else set()
    if outcome and outcome.check == "yes" and not found:
        return "unknown"
    for worst in ("fail", "unknown", "pass"):
        if worst in found:
            return worst
    return None


def _input(call: ToolCall, safe: Safe) -> str:
    """A command's own words; of an edit or a write the paths alone; else its arguments in brief."""
    if call.kind == "command":
        return head(safe.text(command_of(call.input)), INPUT_CHARS)
    if call.kind in ("edit", "write"):
        return head("\n".join(map(safe.path, named(call))), INPUT_CHARS)
    shaped = safe.redactor.value(_shaped(call.input, ARGUMENT_DEPTH))
    return head(clean(json.dumps(_cut(shaped), ensure_ascii=False)), INPUT_CHARS) if shaped else ""


def _shaped(value: object, depth: int) -> JsonValue:
    """An argument as JSON of few items and little depth; its texts are still whole."""
    if isinstance(value, str | bool | float | None):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else "[a long number]"
    if isinstance(value, Mapping):
        kept = islice(value.items(), ARGUMENT_ITEMS if depth else 0)
        return {str(key): _shaped(item, depth - 1) for key, item in kept}
    if isinstance(value, list | tuple):
        return [_shaped(item, depth - 1) for item in value[: ARGUMENT_ITEMS if depth else 0]]
    return f"[{type(value).__name__}]"


def _cut(value: JsonValue) -> JsonValue:
    """The same with short texts."""
    if isinstance(value, str):
        return head(value, ARGUMENT_CHARS)
    if isinstance(value, dict):
        return {head(key, ARGUMENT_CHARS): _cut(item) for key, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, list) else value
