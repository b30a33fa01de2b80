"""When a later check is the same as an earlier one, or the whole of which it was a part.

Theory. A check's identity is what it runs and on what: program, selectors, folder. How it is run
(wrappers, verbosity, pipes, a job count) is left out. A later result answers an earlier one when
it covers it: same program and scope, and every narrowing of the later run is also one of the
earlier. Two decisions are ours and may err, so they are said here:

- *Folders.* A run with no ``cd`` may stand anywhere, the project's root or where the shell was
  left, so it answers the run of any folder. ``cd web && npm test`` answers ``cd /repo/web && npm
  test`` but not ``npm test``: a relative folder is a part. An absolute one is taken for the root.
- *Names.* ``npm test`` runs the project's JavaScript tests and ``tox`` its Python tests, so the
  whole of them answers a runner of that family. ``make test`` may run anything: it answers parts
  (``pytest tests/a.py``) but no whole of another name.

Read in the fold of every check, so there is no grammar here, and answers are cached.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from loopbook.events import Scope
from loopbook.evidence.runners import Found, find_runner, options_of
from loopbook.evidence.shell_tree import Words
from loopbook.evidence.wrappers import program_of, unfolded

#: No identity looks at more of a command than this.
MAX_CHARS = 2_000


class CheckId(NamedTuple):
    """What a check is. ``selectors`` narrow it: paths and names, and options as ``-k expr``.

    ``family`` is the runners' whose tests it can include; ``named`` that its program is a name a
    project gave (``script test``, ``make test``).
    """

    scope: Scope
    program: str
    selectors: tuple[str, ...] = ()
    folder: str | None = None
    family: str = ""
    named: bool = False


_TOKEN = re.compile(
    r"\s+|(\d?>>?&?\d?|&>>?|<{1,3})\s*|(&&|\|\|?&?|[;&\n])|((?:\"[^\"]*\"|'[^']*'|\\.|[^\s\"'\\;&|<>])+)|.",
    re.DOTALL,
)
_WHOLE = frozenset({".", "./", "./...", "...", "//...", "all", "run", "*", "--", "watch"})
#: Folders that hold all tests there are: a run of one of them leaves none out.
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing", "t"})
_NAMED = frozenset({"script", "project script", "make", "tox", "nox", "hatch test"})


@lru_cache(maxsize=4096)
def identify(command: str, scope: Scope) -> CheckId:
    """A check's identity from its text; never raises.

    >>> identify("uv run pytest -q -x tests/a.py 2>&1 | tail -3", "tests")
    CheckId(scope='tests', program='pytest', selectors=('tests/a.py',), folder=None, family='py', named=False)
    >>> identify("npm t", "tests").program == identify("npm run test", "tests").program
    True
    """
    folder, pieces = _pieces(command[:MAX_CHARS])
    best: CheckId | None = None
    for words in pieces:
        levels, _ = unfolded(words)
        found = find_runner(levels)
        if isinstance(found, Found):
            one = _of_found(found, scope, folder)
            if found.runner.scope == scope:
                return one
            best = best or one
    if best is not None:
        return best
    words = pieces[0] if pieces else ()
    inner = unfolded(words)[0][-1]
    named = (program_of(inner[0]), *inner[1:]) if inner else ()
    return CheckId(scope, " ".join(named), (), folder)


def _pieces(command: str) -> tuple[str | None, list[Words]]:
    """The folder gone to, and the words of each simple command; quotes off, redirections left out."""
    folder: str | None = None
    pieces: list[Words] = []
    words: list[str] = []
    skip = False
    for match in (*_TOKEN.finditer(command), None):
        redirect, stop, word = match.groups() if match is not None else (None, ";", None)
        if redirect is not None:
            skip = not redirect[-1].isdigit()
        elif stop is not None and words:
            if words[0] == "cd" and len(words) == 2:
                folder = _joined(folder, words[1])
            else:
                pieces.append(_without_assignments(words))
            words = []
        elif word is not None:
            if not skip:
                words.append(re.sub(r"[\"']|\\(?=.)", "", word))
            skip = False
    return folder, [piece for piece in pieces if piece]


def _joined(before: str | None, folder: str) -> str:
    folder = folder.rstrip("/") or "/"
    return folder if before is None or folder.startswith(("/", "~", "$")) else f"{before}/{folder}"


def _without_assignments(words: list[str]) -> Words:
    start = 0
    while start < len(words) and re.match(r"[A-Za-z_]\w*=", words[start]):
        start += 1
    return tuple(words[start:])


def _of_found(found: Found, scope: Scope, folder: str | None) -> CheckId:
    program = found.program.split(" ")[0]
    options = options_of("npm" if program == "script" else program)
    selectors: list[str] = []
    args = iter(found.rest)
    for arg in args:
        name, equals, value = arg.partition("=")
        if arg.startswith("-") and arg not in _WHOLE:
            if name in options.selects:
                selectors.append(f"{name} {value if equals else next(args, '')}")
            elif name in options.narrows:
                selectors.append(name)
            elif name in options.values and not equals:
                next(args, None)
        elif arg not in _WHOLE and not arg.startswith("+"):
            selectors.append(_tidy_path(arg))
    kind = found.runner.family
    return CheckId(
        scope, found.program, tuple(sorted(set(selectors))), folder, kind, found.runner.name in _NAMED
    )


def _tidy_path(path: str) -> str:
    path = path.removeprefix("./")
    return path.removesuffix("/...").rstrip("/") or path


@lru_cache(maxsize=8192)
def answers(later: CheckId, earlier: CheckId) -> bool:
    """Whether a later run covers an earlier one: the same check, or a whole of which it was a part.

    >>> whole, part = identify("pytest", "tests"), identify("pytest tests/a.py::test_x", "tests")
    >>> answers(whole, part), answers(part, whole), answers(identify("pytest tests/", "tests"), part)
    (True, False, True)
    """
    if later.scope != earlier.scope or not _folder_covers(later.folder, earlier.folder):
        return False
    if later.program != earlier.program:
        return _name_covers(later, earlier)
    options = [s for s in later.selectors if s.startswith("-")]
    places = [s for s in later.selectors if not s.startswith("-")]
    if any(option not in earlier.selectors for option in options):
        return False
    narrowed = [s for s in earlier.selectors if not s.startswith("-")]
    return not places or (bool(narrowed) and all(any(_within(n, p) for p in places) for n in narrowed))


def narrowed(check: CheckId) -> bool:
    """Whether a run looks at some only: at files or names, or at those of a sort.

    >>> narrowed(identify("pytest -q tests/", "tests")), narrowed(identify("pytest tests/a.py", "tests"))
    (False, True)
    """
    return not _TEST_FOLDERS.issuperset(check.selectors)


def _name_covers(later: CheckId, earlier: CheckId) -> bool:
    """A project's own name for its checks (``npm test``, ``make test``) over a runner's call."""
    if not later.named or later.selectors or earlier.named:
        return False
    if re.search(r"[:._-]", later.program.split(" ")[-1]):  # `npm run test:unit` is a part itself
        return False
    if later.family:
        return later.family == earlier.family
    return bool(earlier.selectors)


def _folder_covers(later: str | None, earlier: str | None) -> bool:
    if later is None:
        return True
    if earlier is None:
        return later.startswith(("/", "~", "$"))
    return (
        _within(earlier, later) or f"/{earlier}".endswith(f"/{later}") or f"/{later}".endswith(f"/{earlier}")
    )


def _within(part: str, whole: str) -> bool:
    """Whether a path, node id or module is the other one or lies in it."""
    return part == whole or (part.startswith(whole) and part[len(whole)] in "/:#[.")
