"""Verdicts: a claim held against the record of what was run.

Theory. *Supported*: a known pass of what is claimed stands since the last change, and nothing of
it failed. *Contradicted*: its newest known result since the last change failed, or a failure of
the same runner has not been answered. *Unbacked*: since the last change surely no check was run.
Everything else is *unknown*: a result that could not be read, a failure that may be about other
things than a partial claim, a pass of some where all are spoken of, a command nobody recognised.
An unknown outcome never votes, so no claim is contradicted by one and none is supported. When in
doubt the verdict is unknown, for a true claim must never be contradicted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from loopbook.events import Scope
from loopbook.evidence.claims import Claim
from loopbook.evidence.identity import identify, narrowed
from loopbook.evidence.phrases import Category
from loopbook.evidence.record import Ran, Record
from loopbook.evidence.text import one_line

Word = Literal["supported", "contradicted", "unbacked", "unknown"]


class Verdict(NamedTuple):
    """What the record says of a claim, why, and the check it rests on, if one."""

    verdict: Word
    reason: str
    ran: Ran | None = None


#: What each category of claim is about.
SCOPES: Mapping[Category, tuple[Scope, ...]] = {
    "tests": ("tests",),
    "build": ("build",),
    "lint": ("lint",),
    "types": ("types",),
    "format": ("format",),
    "checks": ("tests", "build", "lint", "types", "format"),
}
#: Whose pass supports a claim of a category that has no result of its own: people say "lint" of type
#: errors, and a compiler's type check is its compilation. A failure there contradicts nothing.
ALSO_SUPPORTED_BY: Mapping[Category, tuple[Scope, ...]] = {"lint": ("types",), "build": ("types",)}
#: Runners of languages that compile before they test: their tests ran, so it was built; and where a
#: compiler checks types, it was built, so the types hold.
COMPILING = frozenset(
    {
        "go test",
        "cargo test",
        "cargo nextest",
        "maven",
        "gradle",
        "sbt",
        "dotnet test",
        "mix test",
        "swift test",
    }
    | {
        "bazel test",
        "zig test",
        "haskell",
        "dune test",
        "dart test",
        "ctest",
        "meson test",
        "forge",
        "rebar3",
    }
)
TYPED = frozenset(
    {"go build", "cargo build", "maven build", "gradle build", "jvm build", "dotnet build", "swift build"}
    | {"zig build", "haskell build", "dune build", "c build", "forge build"}
) | (COMPILING - {"mix test", "rebar3", "bazel test"})

_NOUNS: Mapping[Scope, str] = {
    "tests": "test run",
    "build": "build",
    "lint": "lint run",
    "types": "type check",
    "format": "format check",
    "manual": "check",
}
_COMMAND_CHARS = 80
_WORD = re.compile(r"[a-z0-9]{1,60}")
#: Words of commands and paths that tell nothing about which tests are meant.
_NAMELESS = frozenset(
    {"test", "spec", "src", "lib", "run", "npm", "new", "the", "existing", "all", "tsx", "jsx"}
)


def weigh(claim: Claim, record: Record) -> Verdict:
    """What the record says of the claim.

    >>> failed = Ran("tests", "npm test", "fail", exit_code=1, line=812)
    >>> record = Record(failing=(failed,), newest={"tests": failed}, surely_no_check=False)
    >>> weigh(Claim("All tests pass.", "tests"), record).reason
    'the last test run failed: `npm test`, exit 1, line 812'
    >>> weigh(Claim("All tests pass.", "tests"), Record(last_change=4, last_change_line=7)).reason
    'no check was run since the last change, line 7'
    """
    scopes = SCOPES[claim.category]
    failing = _failing(record, scopes)
    passing = _newest(ran for scope, ran in record.passing.items() if scope in scopes)
    if failing:
        return _with_failures(claim, record, failing, passing)
    passing = passing or _stand_in(claim.category, record)
    if passing and claim.universal:
        return _of_all(record, scopes, passing)
    return _supported(record, passing) if passing else _without_results(record, scopes)


def _with_failures(claim: Claim, record: Record, failing: tuple[Ran, ...], passing: Ran | None) -> Verdict:
    """Something of what is claimed failed and was not answered."""
    newest = failing[-1]
    if claim.hedged:
        return Verdict("unknown", f"{_told(newest)} failed; the claim leaves room for it", newest)
    if claim.subject:
        return _of_a_part(claim, record, failing, passing)
    if claim.partial and passing and passing.seq > newest.seq:
        return _supported(record, passing)  # "all 12 tests pass": those of the newest run
    for ran in reversed(failing):
        passed = record.passing.get(ran.scope)
        if passed is None or ran.seq > passed.seq:
            return _contradicted(record, ran, last=True)
        if ran.runner == passed.runner:
            return _contradicted(record, ran, last=False)
    return Verdict("unknown", f"{_told(newest)} failed and was not run again; another check passed", newest)


def _of_a_part(claim: Claim, record: Record, failing: tuple[Ran, ...], passing: Ran | None) -> Verdict:
    """Of a claim about some of them only a check that names these can tell."""
    about = [ran for ran in failing if _names(ran.command, claim.subject)]
    passed = passing if passing and _names(passing.command, claim.subject) else None
    if about and (passed is None or about[-1].seq > passed.seq):
        return _contradicted(record, about[-1], last=about[-1] is failing[-1])
    if passed:
        return _supported(record, passed)
    return Verdict("unknown", f"{_told(failing[-1])} failed, perhaps for other reasons", failing[-1])


def _of_all(record: Record, scopes: tuple[Scope, ...], passing: Ran) -> Verdict:
    """A claim about all there are is not borne out by tests of which only some were run."""
    tests = record.passing.get("tests") if "tests" in scopes else None
    if tests is None or not narrowed(identify(tests.command, "tests")):
        return _supported(record, passing)
    if record.whole is None:
        reason = f"of all tests only a part is known to have passed: {_told(tests)}{_place(tests)}"
        return Verdict("unknown", reason, tests)
    return _supported(record, record.whole if passing is tests else passing)


def _without_results(record: Record, scopes: tuple[Scope, ...]) -> Verdict:
    """Nothing known was run since the last change."""
    unread = _newest(ran for scope, ran in record.newest.items() if scope in scopes)
    if unread:
        return Verdict("unknown", f"the outcome of {_told(unread)} could not be read", unread)
    before = _newest(ran for scope, ran in record.before.items() if scope in scopes)
    earlier = f"; {_told(before)} {_ended(before)} before it" if before else ""
    since = " since the last change" if record.last_change is not None else ""
    place = f", line {record.last_change_line}" if since and record.last_change_line is not None else ""
    if record.surely_no_check and not record.newest:
        return Verdict("unbacked", f"no check was run{since}{place}{earlier}", before)
    nouns = " or ".join(_NOUNS[scope] for scope in scopes)
    return Verdict("unknown", f"no {nouns} is known{since}{place}{earlier}", before)


def _failing(record: Record, scopes: tuple[Scope, ...]) -> tuple[Ran, ...]:
    """The unanswered failures of these scopes, in the order of the book."""
    last = {ran for scope, ran in record.newest.items() if scope in scopes and ran.outcome == "fail"}
    known = {ran for ran in record.failing if ran.scope in scopes and ran.outcome == "fail"}
    return tuple(sorted(last | known, key=lambda ran: ran.seq))


def _stand_in(category: Category, record: Record) -> Ran | None:
    """A pass of another scope that supports the claim where no pass of its own does."""
    for scope, ran in record.passing.items():
        compiled = (category == "build" and scope == "tests" and ran.runner in COMPILING) or (
            category == "types" and scope in ("tests", "build") and ran.runner in TYPED
        )
        if (compiled or scope in ALSO_SUPPORTED_BY.get(category, ())) and not _failing(record, (scope,)):
            return ran
    return None


def _newest(runs: Iterable[Ran]) -> Ran | None:
    return max(runs, key=lambda ran: ran.seq, default=None)


def _names(command: str, subject: tuple[str, ...]) -> bool:
    """Whether the command names what the claim is about, in singular or plural."""
    return not _telling(subject).isdisjoint(_telling((command,)))


def _telling(texts: tuple[str, ...]) -> set[str]:
    words = (word.rstrip("s") for text in texts for word in _WORD.findall(text.lower()))
    return {word for word in words if len(word) >= 3 and word not in _NAMELESS}


def _supported(record: Record, ran: Ran) -> Verdict:
    stale = "; files may have been written since" if record.possibly_stale else ""
    return Verdict("supported", f"{_told(ran)} passed{_place(ran)}{stale}", ran)


def _contradicted(record: Record, ran: Ran, *, last: bool) -> Verdict:
    exit_code = f", exit {ran.exit_code}" if ran.exit_code is not None else ""
    if not last:
        reason = f"{_told(ran)} failed{exit_code}{_place(ran)}, and has not passed since"
        return Verdict("contradicted", reason, ran)
    newest = record.newest.get(ran.scope)
    unread = " with a known outcome" if newest and newest.outcome == "unknown" else ""
    reason = f"the last {_NOUNS[ran.scope]}{unread} failed: {_told(ran)}{exit_code}{_place(ran)}"
    return Verdict("contradicted", reason, ran)


def _told(ran: Ran) -> str:
    return f"`{one_line(ran.command, _COMMAND_CHARS)}`"


def _ended(ran: Ran) -> str:
    return {"pass": "passed", "fail": "failed", "unknown": "was run"}[ran.outcome]


def _place(ran: Ran) -> str:
    if ran.line is not None:
        return f", line {ran.line}"
    return f", entry {ran.seq}" if ran.seq else ""
