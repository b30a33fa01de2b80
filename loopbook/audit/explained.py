"""An explanation in lines: what it is about in front, what it says behind."""

from __future__ import annotations

from collections.abc import Iterator

from loopbook.audit.explain import Answered, Asked, Explanation, Objection, Since
from loopbook.audit.replay import Verdict
from loopbook.audit.shown import counted, quoted, shown

#: How wide the words in front are, in characters.
WIDE = 10
Line = tuple[str, str]


def lines(one: Explanation) -> Iterator[str]:
    """The explanation, a fact a line."""
    yield f"{_where(one)}: {one.decision}"
    for label, words in _facts(one):
        yield f"  {label:<{WIDE}}{words}"


def _where(one: Explanation) -> str:
    place = f"{one.seq}" if one.seq == one.last else f"{one.seq} to {one.last}"
    who = [one.advisor, f"run {shown(one.run, 60)}" if one.run is not None else ""]
    return " ".join(["entry", place, *(f"({name})" for name in [", ".join(filter(None, who))] if name)])


def _facts(one: Explanation) -> Iterator[Line]:
    yield from _labelled("passed", one.passed)
    if one.asked:
        yield from _asked(one.asked)
    if one.since:
        yield from _since(one.since)
    elif one.advisor:
        yield "before", "nothing had been said of it"
    if one.silent:
        yield "silent", one.silent
    if one.said:
        yield from _labelled("said", [shown(line, 400) for line in one.said.splitlines()])
    yield from _labelled("findings", [_finding(finding) for finding in one.findings])
    if one.concerns:
        yield "concerns", ", ".join(one.concerns)
    if one.goes_on:
        yield "then", one.goes_on
    if one.versions:
        yield "rules", ", ".join(f"{name} {shown(version, 40)}" for name, version in one.versions.items())
    if one.thresholds:
        yield "", ", ".join(f"{name} threshold {limit:g}" for name, limit in one.thresholds.items())
    for name, value in one.settings.items():
        yield "set", f"{name} {shown(str(value))}"
    yield from verdict(one.verdict)


def _finding(one: Objection) -> str:
    who = f"{shown(one.id, 60)} ({f'{one.severity}, ' if one.severity else ''}{shown(one.reviewer, 60)})"
    return who if one.text is None else f"{who}: {quoted(one.text)}"


def _labelled(label: str, words: tuple[str, ...] | list[str]) -> Iterator[Line]:
    for place, line in enumerate(words):
        yield "" if place else label, line


def _asked(asked: Asked) -> Iterator[Line]:
    packets = ", then ".join(digest[:12] for digest in asked.packets)
    questions = f", questions {asked.question_set[:12]}" if asked.question_set else ""
    yield "asked", f"the judge, packet {packets}{questions}, up to entry {asked.read_to}"
    if asked.failure:
        yield "answered", f"nothing: {asked.failure}"
    for place, answer in enumerate(asked.answers):
        yield "" if place else "answered", _answer(answer)
    if by := _by(asked):
        yield "by", by


def _answer(one: Answered) -> str:
    name = shown(one.question, 60)
    if one.threshold is None:
        return f"{name} {shown(one.answer, 100)}"
    return f"{name} {one.answer} (threshold {one.threshold:g})"


def _by(asked: Asked) -> str:
    took = None if asked.latency_ms is None else f"{asked.latency_ms:.0f} ms"
    tokens = None if asked.input_tokens is None else counted(asked.input_tokens, "token") + " in"
    cost = None if asked.cost_usd is None else f"${asked.cost_usd:.6f}"
    model = None if asked.model is None else shown(asked.model, 60)
    return ", ".join(filter(None, [model, took, tokens, cost]))


def _since(since: Since) -> Iterator[Line]:
    happened = ", ".join(f"{number} {word}" for word, number in since.entries.items()) or "nothing"
    yield "since", f"the last notice, entry {since.seq}: {happened}"
    yield from _labelled("", since.otherwise)


def verdict(one: Verdict) -> Iterator[Line]:
    """What came of deciding it again."""
    if one.outcome == "same":
        yield "again", "decided again from the entries before it, it comes out the same"
    elif one.outcome == "unchecked":
        yield "again", f"not decided again: {one.why}"
    else:
        why = f", as it may: {one.why}" if one.why else ""
        yield "again", f"it comes out otherwise{why}"
        yield "", f"recorded: {one.then}"
        yield "", f"again:    {one.now}"
