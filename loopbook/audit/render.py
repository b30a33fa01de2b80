"""An audit as text: for a terminal, a pipe, a log, with or without colours.

Colour only repeats what the words say. On a terminal long lines wrap under their own column; in
a pipe every line of the timeline stays one line. Whatever comes out of a session file passes
through ``visible`` on its way to the console, and never through rich's markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice

from rich.console import Console
from rich.text import Text

from loopbook.audit.model import (
    FIRST_ITEMS,
    Audit,
    CheckCount,
    ChildCount,
    FileProblem,
    Item,
    Session,
    Summary,
    TodoCount,
    WeighedClaim,
)
from loopbook.audit.shown import counted, quoted, shown, visible

STYLES: Mapping[str, str] = {
    "fail": "red", "contradicted": "bold red", "unbacked": "yellow", "supported": "green", "pass": "green",
    "prompt": "bold", "phase": "cyan", "claim": "bold",
}  # fmt: skip

#: What the marks beside claims and checks say; each is explained where it occurs.
LEGEND: Mapping[str, str] = {
    "exit code masked": "the exit code is not the check's own, as of a pipe; what its runner printed tells",
    "possibly stale": "a command that may have written files ran after the last pass",
    "run not settled": "the session ends before this run has come to rest",
    "of a part": "what was claimed is of some tests or files only",
}
#: Equal problems of so many lines are listed by line.
LINES_NAMED = 5

#: Columns of a line of the timeline: file line, time, what.
_LINE, _TIME, _WHAT = 7, 8, 9
_LABEL = 11


class Page:
    """Writes an audit to a console, part by part, so that a timeline of any length can pass."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._day = ""
        self._marks: set[str] = set()

    def head(self, session: Session, notes: Iterable[str] = ()) -> None:
        """What was read and which book it went into."""
        self._pair("session", f"{session.session} ({session.host})")
        self._pair("file", f"{session.file}, {counted(session.lines, 'line')}{_span(session)}")
        self._pair("loop", f"{session.loop}, kind {session.kind}{_kept(session)}")
        self._pair("intent", shown(session.intent, 400) or "(no prompt)")
        for note in notes:
            self._pair("note", note, "yellow")

    def timeline(self, items: Iterable[Item], left_out: int = 0) -> None:
        """The lines of the timeline, with a mark where some were left out; nothing where there are none."""
        rest = iter(items)
        if (first := next(rest, None)) is None:
            return
        self._title("timeline")
        rest = chain((first,), rest)
        for item in islice(rest, FIRST_ITEMS if left_out else None):
            self._item(item)
        if left_out:
            indent = " " * (_LINE + _TIME + 4)
            self._hang(indent, f"… {left_out} lines left out (--full prints all)", "dim")
        for item in rest:
            self._item(item)

    def rest(self, audit: Audit) -> None:
        """Everything after the timeline: claims, problems of the file, summary."""
        self._title("claims")
        if not audit.claims:
            self._hang("  ", "none found in the runs' final texts")
        for claim in audit.claims:
            self._claim(claim)
        if audit.claims_left_out:
            self._hang("  ", f"… {audit.claims_left_out} more left out", "dim")
        if audit.problems:
            self._title("problems of the file")
            self._problems(audit.problems, audit.problems_left_out)
        if self._marks:
            self._title("marks")
        for mark, meaning in LEGEND.items():
            if mark in self._marks:
                self._hang("  ", f"{mark}: {meaning}", "dim")
        self._title("summary")
        for label, text in summary_lines(audit):
            self._pair(label, text)

    def _item(self, item: Item) -> None:
        at = item.at.astimezone(UTC) if item.at else None
        if at and (day := f"{at:%Y-%m-%d}") != self._day:
            self._day = day
            self._hang(" " * (_LINE + 2), day, "dim")
        line = "" if item.line is None else str(item.line)
        time = f"{at:%H:%M:%S}" if at else ""
        by = f" [{item.by}]" if item.by else ""
        stale = " (possibly stale)" if item.possibly_stale else ""
        self._marks |= {"exit code masked"} if item.masked else set()
        self._marks |= {"possibly stale"} if stale else set()
        prefix = Text.assemble(
            (f"{line:>{_LINE}}  {time:{_TIME}}  ", "dim"), (f"{item.what:{_WHAT}}", STYLES.get(item.what, ""))
        )
        style = STYLES.get(item.outcome or item.verdict or "", "")
        self._hang(prefix, f"{item.text}{by}{stale}", style)

    def _claim(self, claim: WeighedClaim) -> None:
        prefix = Text.assemble("  ", (f"{claim.verdict:14}", STYLES.get(claim.verdict, "")))
        marks = _marks(claim)
        self._marks.update(marks)
        said = f"said {quoted(claim.text, 300)} ({', '.join((claim.category, *marks))})"
        self._hang(prefix, f"{_where(claim.line)}{said}")
        self._hang(" " * len(prefix), claim.reason)

    def _problems(self, problems: Iterable[FileProblem], left_out: int) -> None:
        equal: dict[str, list[int | None]] = {}
        for problem in problems:
            equal.setdefault(problem.text, []).append(problem.line)
        for text, lines in equal.items():
            self._hang("  ", f"{_places(lines)}{text}")
        if left_out:
            self._hang("  ", f"… {left_out} more left out", "dim")

    def _title(self, words: str) -> None:
        self._console.print()
        self._console.print(Text(words, "bold"), soft_wrap=True)

    def _pair(self, label: str, text: str, style: str = "") -> None:
        self._hang(Text(f"{label:{_LABEL}}", "dim"), text, style)

    def _hang(self, prefix: str | Text, body: str, style: str = "") -> None:
        first = prefix if isinstance(prefix, Text) else Text(prefix)
        text = Text(visible(body), style)
        room = self._console.width - first.cell_len
        fits = not self._console.is_terminal or room < 20
        for place, line in enumerate([text] if fits else text.wrap(self._console, room)):
            lead = Text(" " * first.cell_len) if place else first
            self._console.print(Text.assemble(lead, line), soft_wrap=True)


def _marks(claim: WeighedClaim) -> tuple[str, ...]:
    check = claim.check
    marks = (
        ("run not settled", claim.open),
        ("of a part", claim.partial),
        ("possibly stale", claim.possibly_stale),
        ("exit code masked", check is not None and check.masked),
        (f"run by {check.by}" if check else "", check is not None and check.by is not None),
    )
    return tuple(words for words, holds in marks if holds)


def _places(lines: Sequence[int | None]) -> str:
    """Where one problem occurs.

    >>> _places([7]), _places([1, 2, 3, 4, 5, 6, 7])
    ('line 7: ', 'lines 1, 2, 3, 4, 5 and 2 more: ')
    """
    if len(lines) == 1:
        return _where(lines[0])
    named = ", ".join(str(line) for line in lines[:LINES_NAMED])
    more = f" and {len(lines) - LINES_NAMED} more" if len(lines) > LINES_NAMED else ""
    return f"lines {named}{more}: "


def _where(line: int | None) -> str:
    return "" if line is None else f"line {line}: "


def _span(session: Session) -> str:
    if session.first_at is None or session.last_at is None:
        return ""
    return f", {_minute(session.first_at)} to {_minute(session.last_at)} UTC"


def _minute(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def _kept(session: Session) -> str:
    return f", kept in {session.store}" if session.store else ", not kept (--store URL keeps it)"


def summary_lines(audit: Audit) -> Iterable[tuple[str, str]]:
    """The summary, label by label."""
    summary = audit.summary
    yield "prompts", _counts(summary.prompts)
    yield "runs", _runs(audit)
    yield "changes", str(summary.changes)
    yield "checks", _checks(summary)
    yield "sources", str(summary.sources)
    yield "decisions", str(summary.decisions)
    yield "reviews", str(summary.reviews)
    yield "todos", _todos(summary.todos)
    yield "children", _children(summary.children)
    if summary.phase:
        missing = f" ({', '.join(summary.phase.missing)})" if summary.phase.missing else ""
        yield "phase", f"{summary.phase.current}; next: {summary.phase.next}{missing}"
    stale = "; possibly stale: a command that may write files ran after the last pass"
    yield "verify", summary.verify + (stale if summary.possibly_stale else "")
    yield "claims", _counts(summary.claims)
    yield "problems", str(summary.problems)


def _todos(todos: TodoCount) -> str:
    if not todos.opened:
        return "0"
    told = _counts({"opened": todos.opened, "completed": todos.completed, "dropped": todos.dropped})
    loose = f", {todos.loose} of them without a follow-up" if todos.loose else ""
    return f"{told}; {todos.open} open at the end{loose}"


def _children(children: ChildCount) -> str:
    sent = {"sent out": children.linked, "reported": children.reported, "dropped": children.dropped}
    told = _counts({**sent, "lost": children.lost})
    return told if told == "0" else f"{told}; {children.out} out at the end"


def _counts(counts: Mapping[str, int]) -> str:
    """``3 human, 1 host``; ``0`` for nothing."""
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "0"


def _runs(audit: Audit) -> str:
    words = {"end": "came to rest", "length": "cut by length", "error": "failed", "aborted": "interrupted"}
    told = _counts({words.get(stop, stop): number for stop, number in audit.summary.runs.items()})
    run = audit.open_run
    if run is None:
        return told
    still = f"1 open, {counted(run.calls, 'call')} so far"
    return still if told == "0" else f"{told}; {still}"


def _checks(summary: Summary) -> str:
    return "; ".join(_scope(count) for count in summary.checks) or "0"


def _scope(count: CheckCount) -> str:
    told = _counts({"passed": count.passed, "failed": count.failed, "unknown": count.unknown})
    masked = f" ({count.masked} masked)" if count.masked else ""
    return f"{count.scope}: {told}{masked}"
