"""Which commands may write files of the working folder.

Only a mark: such a command makes an earlier pass possibly stale and moves nothing. So the table
is generous where in doubt (``cp``, ``npm install``), and still silent on what plainly writes
nothing (``ls``, ``mkdir``, ``2>/dev/null``).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from loopbook.evidence.shell import parse
from loopbook.evidence.shell_table import FILE_WRITERS, FIXERS, FORMATTERS, WRITING_SUBCOMMANDS, word_set
from loopbook.evidence.shell_tree import Command, Script, Words, scratch
from loopbook.evidence.wrappers import program_of

#: With these a formatter or patcher only looks.
_LOOKS = word_set(
    "--check --check-only --dry-run --diff --list-different -l -c --help --version --test --lint "
    "--verify-no-changes "
    "--check-formatted --set-exit-if-changed -n --stat --output=none -d --cached --staged --soft --list"
)
#: Script and target names that say they rewrite files.
_REWRITES = re.compile(
    r"(?:.{0,60}[:._-])?(?:fix|format|fmt|prettier|write|codegen|generate|gen|migrate)(?:[:._-](?!check)[\w:.-]{1,60})?"
)
_RUNS_NAMES = word_set("npm pnpm yarn bun make just task rake poe invoke deno turbo nx hatch pdm composer")
_GIT_LOOKS = {"stash": frozenset({"list", "show"}), "submodule": frozenset({"status"})}


def may_write(command: Command) -> bool:
    """Whether a simple command may write files, by its redirections or by what it is.

    >>> [may_write(parse(c).commands[0]) for c in ("sed -i s/a/b/ f", "git stash pop", "ls > /dev/null")]
    [True, True, False]
    """
    return any(redirect.writes for redirect in command.redirects) or any(
        _writes(words) for words in command.levels if words
    )


def script_may_write(script: Script, checks: Collection[int] = ()) -> bool:
    """Whether anything in a line may write files, the output of its checks (``pytest > log``) aside.

    ``checks`` are the places of the commands that check.
    """
    logs = {redirect for at in checks for redirect in script.commands[at].redirects}
    return any(redirect.writes for redirect in script.redirects if redirect not in logs) or any(
        _writes(words) for one in script.commands for words in one.levels if words
    )


def line_may_write(line: str) -> bool:
    """Whether a command line may write files.

    >>> line_may_write("cat <<EOF > a.py\\nx\\nEOF"), line_may_write("echo 'a > b'")
    (True, False)
    """
    return script_may_write(parse(line))


def _writes(words: Words) -> bool:
    program, args = program_of(words[0]), words[1:]
    names = {arg.split("=")[0] for arg in args}
    first = next((arg for arg in args if not arg.startswith(("-", "+"))), "")
    if program in FIXERS and _fixes(FIXERS[program], names):
        return True
    if program in FORMATTERS and (not FORMATTERS[program] or first in FORMATTERS[program]):
        return not _LOOKS & names
    if first in WRITING_SUBCOMMANDS.get(program, frozenset()):
        return not _only_looks(program, first, args)
    if program in _RUNS_NAMES and any(_REWRITES.fullmatch(arg) for arg in args[:2]):
        return True
    if program in FILE_WRITERS and scratch(args[-1] if args else ""):
        return False
    return program in FILE_WRITERS and not _LOOKS & {"--dry-run", "--help", "--version"} & names


def _fixes(options: frozenset[str], names: set[str]) -> bool:
    """An option of the table, also with a suffix in one word (``-i.bak``, ``-pi.orig``)."""
    return any(
        name in options or (re.match(r"-p?i", name) and not name.startswith("--") and "-i" in options)
        for name in names
    )


def _only_looks(program: str, first: str, args: Words) -> bool:
    if program == "git":
        following = next((arg for arg in args[args.index(first) + 1 :] if not arg.startswith("-")), "")
        if first in _GIT_LOOKS:
            return following in _GIT_LOOKS[first]
        if first == "checkout" and "-b" in args:
            return True
        return bool({"--stat", "--check", "--soft", "--dry-run", "-n", "--cached", "--abort"} & set(args))
    return program == "gh" and "checkout" not in args
