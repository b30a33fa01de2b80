"""Which commands check, and what a runner's own closing lines say.

Theory. A simple command is a *check* when a row of ``runner_table`` fits its words, *no check*
when it is known to be none (a reader of text, ``git``, ``npm install``, any ``--help``), and
*unsure* otherwise: a script may run anything. A closing line is a runner's word on its own run;
a failing line outweighs a passing one, and one that counts nothing says that nothing was tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal, NamedTuple

from loopbook.events import Scope
from loopbook.evidence.closing_table import CLOSINGS, Closing
from loopbook.evidence.runner_table import NAMES, NEVER, OPTIONS, RUNNERS, Options, Runner
from loopbook.evidence.shell_table import (
    CARRIERS,
    FORMATTERS,
    MAY_CHECK,
    NO_CHECK_MODULES,
    NO_CHECK_SUBCOMMANDS,
    NO_CHECKS,
    PLAIN_WRAPPERS,
    READERS,
)
from loopbook.evidence.shell_tree import Words
from loopbook.evidence.text import compiled, tidy_output
from loopbook.evidence.wrappers import carried, program_of

Verdict = Literal["pass", "fail", "nothing"]

#: How much of an output is searched for closing lines, from each end; how long a line may be.
HEAD_CHARS, TAIL_CHARS, LINE_CHARS = 16_000, 48_000, 500
HEAD_LINES, TAIL_LINES = 200, 800
#: An unrecognised program is a check when a closing line stands among the last lines with text.
LAST_LINES = 12

_SCRIPTS = frozenset({"npm", "pnpm", "yarn", "bun"})
_BIN_CALLERS = frozenset({"yarn", "pnpm"})
_RUNTIMES = frozenset({"node", "deno", "bun", "c8"})
_BARE_RUNS = frozenset({"rake", "gradle", "mvn", "make", "mix", "rails", "swift"})
#: Scripts that are sourced for what they set, not for what they do.
_SETTING = re.compile(
    r"(?:\S{0,200}/)?(?:activate[\w.]{0,10}|\S{0,40}(?:env|rc|profile)(?:\.\w{1,6}){0,2}|\.env\S{0,40}"
    r"|(?:nvm|asdf|sdkman-init|conda|mise|cargo)\.sh|\S{0,40}completion\S{0,40})"
)
#: Among how many arguments a subcommand is looked for: `docker compose -f x.yml run`.
_EARLY = 3
_SHORT = {"t": "test", "tst": "test"}


class Found(NamedTuple):
    """A check that was recognised: its row, its name without what varies, and the other words."""

    runner: Runner
    program: str
    rest: Words


def find_runner(levels: tuple[Words, ...]) -> Found | Literal["no", "unsure"]:
    """The runner that a command calls, tried from inside its wrappers outwards.

    >>> find_runner((("npx", "vitest", "run"), ("vitest", "run"))).program
    'vitest'
    >>> find_runner((("npm", "run", "test:unit", "--", "-t", "x"),)).program
    'script test:unit'
    >>> find_runner((("pytest", "--collect-only"),)), find_runner((("./deploy.sh",),))
    ('no', 'unsure')
    """
    for words in reversed(levels):
        found = _match(words) if words else None
        if found is not None:
            return found
    return "no" if _known_none(levels) else "unsure"


def only_reads(levels: tuple[Words, ...]) -> bool:
    """Whether a command only shows or shapes text.

    >>> only_reads((("tail", "-5", "log"),)), only_reads((("./tail", "-5"),))
    (True, False)
    """
    return _plain(levels) and program_of(levels[-1][0]) in READERS


def _plain(levels: tuple[Words, ...]) -> bool:
    """Whether the innermost program is the one everybody knows by that name, not a project's own."""
    if not levels[-1] or any(program_of(words[0]) not in PLAIN_WRAPPERS for words in levels[:-1]):
        return False
    word = levels[-1][0]
    return "/" not in word or re.match(r"/(?:usr/|usr/local/|opt/homebrew/)?s?bin/[\w.-]+$", word) is not None


def _known_none(levels: tuple[Words, ...]) -> bool:
    words = levels[-1]
    if not words or words[1:2] in (("--version",), ("--help",), ("-h",)) or "--help" in words:
        return True
    program = program_of(words[0])
    places = _positionals(program, words[1:])
    first = places[0][1] if places else ""
    if program in FORMATTERS and (not FORMATTERS[program] or first in FORMATTERS[program]):
        return True
    if program in NO_CHECK_SUBCOMMANDS:
        return (not places and program not in _BARE_RUNS) or first in NO_CHECK_SUBCOMMANDS[program]
    if len(levels) > 1 and program_of(levels[-2][0]) == "python":
        return words[0] in NO_CHECK_MODULES
    return _plain(levels) and _plainly_none(program, words, places)


def _plainly_none(program: str, words: Words, places: list[tuple[int, str]]) -> bool:
    """Whether a program everybody knows checks nothing, called like this."""
    if program in READERS:
        return True
    if program in CARRIERS and (inner := carried(words)):
        return program_of(inner[0]) in READERS
    if program in ("source", "."):
        return bool(places) and _SETTING.fullmatch(places[0][1]) is not None
    risky = MAY_CHECK.get(program, frozenset())
    said = {word for _, word in places[:_EARLY]} | {word for word in words if word.startswith("-")}
    return program in NO_CHECKS and risky.isdisjoint(said)


# --- call patterns ------------------------------------------------------------------------------


class _Call(NamedTuple):
    runner: Runner
    tokens: Words


@cache
def _calls() -> Mapping[str, tuple[_Call, ...]]:
    found: dict[str, list[_Call]] = {}
    for runner in RUNNERS:
        for call in runner.calls:
            programs, *tokens = call.split()
            for program in programs.split("|"):
                found.setdefault(program, []).append(_Call(runner, tuple(tokens)))
    return {program: tuple(calls) for program, calls in found.items()}


@cache
def _binaries() -> frozenset[str]:
    """Programs that JavaScript's package managers run by name."""
    return frozenset(
        program
        for program, calls in _calls().items()
        if calls[0].runner.family == "js" and calls[0].runner.name != "script" and program not in _RUNTIMES
    )


def options_of(program: str) -> Options:
    """What is known of a program's options."""
    return OPTIONS.get(program) or OPTIONS[""]


def _positionals(program: str, args: Words) -> list[tuple[int, str]]:
    """The arguments that are no options, no option's value and no assignment, with their places."""
    options = options_of(program)
    found: list[tuple[int, str]] = []
    skip = False
    for place, word in enumerate(args):
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in options.values or word in options.selects
        elif not re.match(r"[A-Za-z_]\w{0,60}=|\+(?:nightly|stable|beta|\d)", word):
            found.append((place, word))
    return found


def _match(words: Words) -> Found | Literal["no"] | None:
    """The first row that fits; "no" when one does but with an option by which nothing is checked."""
    program, args = program_of(words[0]), words[1:]
    calls = _calls().get(program)
    if calls is None:
        return None
    positionals = _positionals(program, args)
    if program in _BIN_CALLERS and positionals and positionals[0][1] in _binaries():
        return _match(args[positionals[0][0] :])  # `yarn jest` runs jest
    early = {word for _, word in positionals[:2]}
    names = {part for arg in args if arg.startswith("-") for part in (arg, arg.split("=")[0])}
    none: Literal["no"] | None = None
    for runner, tokens in calls:
        used = _used(tokens, args, positionals)
        if used is None:
            continue
        if (early | names) & (runner.unless | NEVER):
            none = "no"  # by this row; `mvn install -DskipTests` still builds by a later one
        else:
            return _found(runner, program, args, used, any(token.startswith("@") for token in tokens))
    return none


def _used(tokens: Words, args: Words, positionals: list[tuple[int, str]]) -> tuple[int, ...] | None:
    """The places of the arguments that a call pattern names, or ``None`` when it does not fit."""
    used: list[int] = []
    ahead = iter(positionals)
    for token in tokens:
        if token == ".":
            if positionals:
                return None
        elif token.startswith("@"):
            place = next((place for place, word in _anywhere(token, args, positionals)), None)
            if place is None:
                return None
            used.append(place)
        elif token.startswith("-"):
            if not _has_option(token, args):
                return None
        else:
            place, word = next(ahead, (-1, ""))
            if place < 0 or not _fits(token, word):
                return None
            used.append(place)
    return tuple(used)


def _anywhere(token: str, args: Words, positionals: list[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    wanted = token[1:]
    among = list(enumerate(args)) if wanted.startswith("-") else positionals
    return ((place, word) for place, word in among if _fits(wanted, word))


def _fits(token: str, word: str) -> bool:
    if token.startswith("{"):
        return any(_name(part).fullmatch(word) is not None for part in token.split("|"))
    return token == "*" or _word(token).fullmatch(word) is not None


def _name(token: str) -> re.Pattern[str]:
    return compiled(NAMES[token.strip("{}")])


@cache
def _word(token: str) -> re.Pattern[str]:
    return re.compile(
        f"(?:{token})" if re.search(r"[\\(\[]", token) else "|".join(map(re.escape, token.split("|")))
    )


def _has_option(token: str, args: Words) -> bool:
    names, _, value = token.partition(":")
    wanted = names.split("|")
    for place, arg in enumerate(args):
        name, _, given = arg.partition("=")
        if name in wanted and (
            not value or _fits(value, given or (args[place + 1] if place + 1 < len(args) else ""))
        ):
            return True
    return False


def _found(runner: Runner, program: str, args: Words, used: tuple[int, ...], goals: bool) -> Found:
    named = [_SHORT.get(args[place], args[place]) for place in used]
    rest = [arg for place, arg in enumerate(args) if place not in used]
    if runner.name == "script" and (program in _SCRIPTS or program == "deno"):
        named = ["script", *(word for word in named if word not in ("run", "run-script", "task"))]
    else:
        named = [program, *named]
    if goals and program == "gradle" and ":" in named[-1]:  # `:app:test` is `test` of a part
        module, _, named[-1] = named[-1].rpartition(":")
        rest.append(module)
    elif goals:  # other targets beside the one that checks do not narrow it
        kept = {place for place, _ in _positionals(program, tuple(rest))}
        rest = [arg for place, arg in enumerate(rest) if place not in kept]
    return Found(runner, " ".join(named), tuple(rest))


# --- closing lines ----------------------------------------------------------------------------------


class Closed(NamedTuple):
    """A closing line in an output: whose it is, what it says, where and how it stands."""

    row: Closing
    verdict: Verdict
    at: int
    text: str


def output_lines(text: str) -> tuple[str, ...]:
    """The lines of an output that are searched: of a long one the head and the tail, tidied."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:]
    lines = tidy_output(text).split("\n")
    if len(lines) > HEAD_LINES + TAIL_LINES:
        lines = lines[:HEAD_LINES] + lines[-TAIL_LINES:]
    return tuple(line[:LINE_CHARS] for line in lines)


def rows_for(runner: Runner | None, scope: Scope) -> tuple[Closing, ...]:
    """The closing rows that speak for a runner; for names that may stand for anything, all of the scope."""
    return _rows(("*",) if runner is None else runner.closing or (runner.name,), scope)


@cache
def _rows(names: tuple[str, ...], scope: Scope) -> tuple[Closing, ...]:
    if "*" in names:
        return tuple(row for row in CLOSINGS if row.scope == scope or row.name in ("make", "script"))
    return tuple(row for row in CLOSINGS if row.name in names)


def is_closing(row: Closing, line: str) -> bool:
    """Whether a row knows a line by itself."""
    return compiled(row.line).match(line) is not None


def closed(lines: tuple[str, ...], rows: tuple[Closing, ...], start: int = 0) -> tuple[Closed, ...]:
    """The closing lines of these rows, in order.

    >>> [(c.row.name, c.verdict) for c in closed(("== 1 failed, 2 passed in 0.1s ==",), CLOSINGS)]
    [('pytest', 'fail')]
    """
    found: list[Closed] = []
    before = ""
    ready = [(row, compiled(row.line), compiled(row.after or "")) for row in rows]
    for at, line in enumerate(lines):
        if at >= start and line:
            found += (
                Closed(row, verdict_of(row, line), at, line)
                for row, pattern, after in ready
                if pattern.match(line) and after.match(before)
            )
        before = line or before
    return tuple(found)


def verdict_of(row: Closing, line: str) -> Verdict:
    """What one closing line says."""
    if compiled(row.failed).search(line):
        return "fail"
    nothing = compiled(row.nothing).search(line) or not compiled(row.passed).search(line)
    return "nothing" if nothing else "pass"


def together(found: Iterable[Closed]) -> Verdict | None:
    """What several closing lines of one run say: a failure outweighs a pass, a pass an empty part."""
    said = {one.verdict for one in found}
    return next((v for v in ("fail", "pass", "nothing") if v in said), None)


def last_start(lines: tuple[str, ...]) -> int:
    """Where the last lines with text begin."""
    seen = 0
    for at in range(len(lines) - 1, -1, -1):
        seen += bool(lines[at].strip())
        if seen == LAST_LINES:
            return at
    return 0
