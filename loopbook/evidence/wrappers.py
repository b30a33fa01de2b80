"""Programs that run another program: unfolding them, and the bare names of programs."""

from __future__ import annotations

import re

from loopbook.evidence.shell_table import CARRIERS, INLINE_SCRIPTS, INTERPRETERS, WRAPPERS, Wrapper
from loopbook.evidence.shell_tree import Words


def program_of(word: str) -> str:
    """A program's bare name.

    >>> program_of("./node_modules/.bin/jest"), program_of("/usr/bin/python3.12"), program_of("gradlew.bat")
    ('jest', 'python', 'gradle')
    """
    name = re.split(r"[/\\]", word)[-1]
    name = re.sub(r"(?<=\w)@[\w.^~-]{1,40}$", "", name)  # `npx vitest@2`
    name = re.sub(r"\.(?:exe|cmd|bat|ps1)$", "", name, flags=re.IGNORECASE)
    if re.match(r"(?:python|pypy)[\d.]*$|py$", name):
        return "python"
    return {"gradlew": "gradle", "mvnw": "mvn", "mvnd": "mvn", "py.test": "pytest"}.get(name, name)


def unfolded(words: Words) -> tuple[tuple[Words, ...], bool]:
    """The words outside and inside each wrapper, and whether the exit code stays the inner one's.

    >>> unfolded(("env", "A=1", "timeout", "-k", "5", "60", "uv", "run", "pytest", "-q"))[0][-1]
    ('pytest', '-q')
    >>> unfolded(("git", "status"))
    ((('git', 'status'),), True)
    """
    levels = [words]
    exact = True
    while len(levels) < 12 and (step := _unwrapped(levels[-1])) is not None:
        inner, wrapper = step
        levels.append(inner)
        exact = exact and wrapper.exact
    return tuple(levels), exact


def _unwrapped(words: Words) -> tuple[Words, Wrapper] | None:
    if not words:
        return None
    for wrapper in WRAPPERS.get(program_of(words[0]), ()):
        rest = _after(words[1:], wrapper)
        if rest is not None and rest:
            return rest, wrapper
    return None


def _after(words: Words, wrapper: Wrapper) -> Words | None:
    """What a wrapper runs: behind its subcommand, options, assignments and own arguments."""
    wanted = list(wrapper.sub)
    skip = wrapper.skip
    position = 0
    while position < len(words):
        word = words[position]
        if word == wrapper.marker:
            return words[position + 1 :] if not wanted else None
        if wanted and word in wanted[0].split("|"):
            wanted.pop(0)
        elif word in wrapper.takes:
            position += 1
        elif word.startswith("-"):
            if word in wrapper.stops or word == "-":
                return None
        elif wanted:
            return None
        elif skip:
            skip -= 1
        elif not (wrapper.marked or ("=" in word and wrapper.assigns)):
            return words[position:]
        position += 1
    return None


def carried(words: Words) -> Words:
    """What ``find`` or ``ssh`` runs, where it is one plain command; else nothing.

    >>> carried(("ssh", "-p", "22", "host", "tail -5 log")), carried(("ssh", "host", "cd x && pytest"))
    (('tail', '-5', 'log'), ())
    """
    alike = tuple("-exec" if word in ("-execdir", "-ok") else word for word in words[1:])
    inner = _after(alike, CARRIERS[program_of(words[0])]) or ()
    whole = " ".join(inner)
    return inner if len(inner) > 1 else () if re.search(r"[;&|<>`$()\n]", whole) else tuple(whole.split())


def runs_inline_code(words: Words) -> bool:
    """Whether an interpreter is given its code as an argument, or on its standard input.

    >>> runs_inline_code(("python3", "-c", "print(1)")), runs_inline_code(("python", "run_tests.py"))
    (True, False)
    """
    options = INTERPRETERS.get(program_of(words[0])) if words else None
    if options is None:
        return False
    return not options.isdisjoint(words[1:]) or all(word.startswith("-") for word in words[1:])


def inline_script(words: Words) -> str | None:
    """The script in ``bash -c SCRIPT`` (also ``sh -lc``, ``eval``), if it is one.

    >>> inline_script(("bash", "-lc", "npm test; true"))
    'npm test; true'
    """
    if not words or program_of(words[0]) not in INLINE_SCRIPTS:
        return None
    if words[0] == "eval":
        return " ".join(words[1:])
    for position, word in enumerate(words[1:], 1):
        if re.match(r"-[a-z]*c[a-z]*$", word) and position + 1 < len(words):
            return words[position + 1]
        if not word.startswith("-") and word not in ("pipefail", "errexit"):
            return None
    return None
