"""Showing a kind: its needs in words and its phases as a drawing, both made from the data.

Imported by ``loopbook.kinds``, which is where others find these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopbook.kinds import Kind, Named, Need


def alternatives(words: tuple[object, ...]) -> str:
    """Words of which one will do.

    >>> alternatives(("tests", "build", "manual"))
    'tests, build or manual'
    """
    *most, last = map(str, words)
    return f"{', '.join(most)} or {last}" if most else last


def words(need: Need) -> str:
    """A need in words, as ``kinds list`` and the drawing say it.

    >>> from loopbook.kinds import Need
    >>> words(Need("check", (("outcome", ("fail",)), ("scope", ("tests", "manual"))), after="change"))
    'one check with outcome fail, scope tests or manual, after the last change'
    """
    if need.named:
        return _NAMED_WORDS[need.named]
    where = ", ".join(f"{field} {alternatives(values)}" for field, values in need.where)
    after = f", after the last {need.after}" if need.after else ""
    return f"one {need.evidence}{' with ' if where else ''}{where}{after}"


_NAMED_WORDS: Mapping[Named, str] = {
    "verified": "verified since the last change",
    "reviewed": "reviewed since the last change (unless review_tier is none)",
    "no_open_finding": "no open finding (there only while one is open)",
    "closable": "units, children and todos settled",
}

#: What opens a phase with this need again.
_REOPENS: Mapping[Named, tuple[str, ...]] = {
    "verified": ("a later change", "a failing check"),
    "reviewed": ("a later change",),
}


def draw(kind: Kind) -> str:
    """The kind as a Mermaid flowchart: its phases in order, and what leads back (dotted).

    >>> from loopbook.kinds import parse
    >>> print(draw(parse('name = "x"\\n[[phase]]\\nname = "close"\\nneeds = [{ is = "closable" }]')))
    flowchart LR
        open([open]) --> p0["<b>close</b><br/>units, children and todos settled"]
    """
    lines = ["flowchart LR"]
    before = "open([open])"
    for place, phase in enumerate(kind.phases):
        text = "<br/>".join(_escaped(words(need)) for need in phase.needs)
        lines.append(f'    {before} --> p{place}["<b>{phase.name}</b><br/>{text}"]')
        before = f"p{place}"
    back: dict[str, int] = {}
    for place, phase in enumerate(kind.phases):
        for need in phase.needs:
            for event in _REOPENS.get(need.named, ()) if need.named else _later(need):
                back.setdefault(event, place)
    lines += [f'    {before} -. "{event}" .-> p{place}' for event, place in back.items()]
    optional = [f"p{n}" for n, phase in enumerate(kind.phases) if all(map(_conditional, phase.needs))]
    if optional:
        lines += ["    classDef optional stroke-dasharray: 4", f"    class {','.join(optional)} optional"]
    return "\n".join(lines)


def _later(need: Need) -> tuple[str, ...]:
    return (f"a later {need.after}",) if need.after else ()


def _conditional(need: Need) -> bool:
    return need.named in ("reviewed", "no_open_finding")


def _escaped(text: str) -> str:
    for sign, code in (("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(sign, code)
    return text
