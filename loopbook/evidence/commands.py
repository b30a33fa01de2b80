"""The checks of a command line, found before anything is known of its result.

``no`` check is said only of what is known to be none; what may run anything is ``unsure``.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, NamedTuple

from loopbook.events import Scope
from loopbook.evidence.runner_table import Runner
from loopbook.evidence.runners import find_runner, only_reads
from loopbook.evidence.shell import parse
from loopbook.evidence.shell_tree import Command, Script, folders
from loopbook.evidence.wrappers import runs_inline_code
from loopbook.evidence.writes import script_may_write

#: What inline code says that starts something else; without it, what it prints is no runner's word.
_STARTS = re.compile(
    r"subprocess|os\.system|popen|pytest\.main|unittest|TextTestRunner|doctest|runpy|execute_from_command_line"
    r"|call_command|child_process|spawn|exec\w{0,8}\(|\bsystem\s?\(|Open3|Deno\.Command|Bun\.\$|node:test"
    r"|run_tests?\b|%x|qx",
    re.IGNORECASE,
)

#: Loops that end when something has passed.
_TRIES = re.compile(r"\bbreak\b|\buntil\s|\bwhile\s{1,4}!")

Sureness = Literal["yes", "no", "unsure"]


class UserCheck(NamedTuple):
    """A command that its user calls a check: ``pattern`` is its first words, ``*`` and ``?`` allowed."""

    pattern: str
    scope: Scope = "tests"


class Rules(NamedTuple):
    """What a user's settings add to the tables."""

    checks: tuple[UserCheck, ...] = ()


DEFAULT = Rules()


class FoundCheck(NamedTuple):
    """A check in a command line: its scope, its text, its row of the table, its place."""

    scope: Scope
    command: str
    runner: Runner | None
    at: int


class CommandReading(NamedTuple):
    """A command line read, before anything is known of its result.

    ``open`` are the places of commands that may be anything and may have run a check; ``retries``: it may try
    again what failed.
    """

    script: Script
    checks: tuple[FoundCheck, ...]
    check: Sureness
    writes: bool
    open: tuple[int, ...] = ()
    retries: bool = False


@lru_cache(maxsize=512)
def read_command(command: str, rules: Rules = DEFAULT) -> CommandReading:
    """Find the checks in a command line.

    >>> read_command("cd web && npm test 2>&1 | tail -5").checks[0].command
    'cd web && npm test'
    >>> read_command("echo npm test").check, read_command("./deploy.sh").check
    ('no', 'unsure')
    """
    script = parse(command)
    if script.broken:
        reads = bool(script.commands) and all(only_reads(c.levels) for c in script.commands)
        return CommandReading(script, (), "unsure", script_may_write(script), () if reads else (-1,))
    checks: list[FoundCheck] = []
    unsure: list[int] = []
    where, _ = folders(script.node)
    for one in script.commands:
        found = _check_of(one, rules, _went(where.get(one.at, "")))
        if isinstance(found, FoundCheck):
            checks.append(found)
        elif not found:
            unsure.append(one.at)
    heard = [at for at in unsure if _may_run(script.commands[at], command)]
    writes = script_may_write(script, [check.at for check in checks])
    sureness: Sureness = "yes" if checks else "unsure" if unsure else "no"
    retries = _TRIES.search(command) is not None
    return CommandReading(script, tuple(checks), sureness, writes, tuple(heard), retries)


def _may_run(one: Command, command: str) -> bool:
    """Whether a closing line may be this command's own: inline code that starts nothing only shows text."""
    return not runs_inline_code(one.words) or _STARTS.search(command) is not None


def _check_of(one: Command, rules: Rules, folder: str) -> FoundCheck | bool:
    """The check a simple command is, or whether it is known to be none."""
    if not one.words:
        return True
    for user in rules.checks:
        if any(_named(user.pattern, " ".join(words)) for words in one.levels):
            return FoundCheck(user.scope, folder + one.text, None, one.at)
    if one.script is not None:
        return True  # what it runs is listed by itself
    found = find_runner(one.levels)
    if isinstance(found, str):
        return found == "no"
    return FoundCheck(found.runner.scope, folder + one.text, found.runner, one.at)


def _named(pattern: str, text: str) -> bool:
    return bool(pattern.strip()) and (fnmatchcase(text, pattern) or fnmatchcase(text, f"{pattern} *"))


def _went(folder: str) -> str:
    """``cd web && `` for a check that ran there, so that its text says where."""
    if not folder:
        return ""
    return f"cd '{folder}' && " if re.search(r"[\s&|;<>]", folder) else f"cd {folder} && "
