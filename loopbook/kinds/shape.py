"""What a kind is, once it has been read: phases, each with its needs, and the same as JSON."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import JsonValue

Named = Literal["verified", "reviewed", "no_open_finding", "closable"]
Scalar = str | int | bool

#: The last phase of every kind: the loop can be closed when its needs are met.
CLOSE = "close"
#: What ``current`` is while no phase is met; so no phase may be called that.
OPEN = "open"


class Need(NamedTuple):
    """One need of a phase: a match on ``evidence``, or one of the named needs in ``named``.

    ``where`` holds, per field, the values of which one must be there.
    """

    evidence: str | None = None
    where: tuple[tuple[str, tuple[Scalar, ...]], ...] = ()
    after: str | None = None
    named: Named | None = None
    missing: str = ""


class Phase(NamedTuple):
    """A phase; ``continues``: an advisory that leads here lets the run go on."""

    name: str
    needs: tuple[Need, ...]
    continues: bool = False


class Kind(NamedTuple):
    """A loop kind that has been checked."""

    name: str
    title: str
    phases: tuple[Phase, ...]

    def definition(self) -> dict[str, JsonValue]:
        """The kind as JSON, shaped as its TOML: what ``loop_opened`` keeps of it.

        >>> from loopbook.kinds import from_definition, parse
        >>> kind = parse('name = "x"\\n[[phase]]\\nname = "close"\\nneeds = [{ is = "closable" }]')
        >>> kind.definition()
        {'name': 'x', 'title': 'x', 'phase': [{'name': 'close', 'needs': [{'is': 'closable'}]}]}
        >>> from_definition(kind.definition()) == kind
        True
        """
        return {"name": self.name, "title": self.title, "phase": [_phase_json(p) for p in self.phases]}


def _phase_json(phase: Phase) -> dict[str, JsonValue]:
    needs: list[JsonValue] = [_need_json(need) for need in phase.needs]
    table: dict[str, JsonValue] = {"name": phase.name, "needs": needs}
    return {**table, "continues": True} if phase.continues else table


def _need_json(need: Need) -> dict[str, JsonValue]:
    where: dict[str, JsonValue] = {name: list(values) for name, values in need.where}
    table: dict[str, JsonValue] = {"evidence": need.evidence, "is": need.named, "where": where}
    table |= {"after": need.after, "missing": need.missing}
    return {name: value for name, value in table.items() if value}
