"""Findings: what reviewers object to and nobody has answered.

Theory. A finding is open from the review that names it as blocker or concern. Two things close it:
a later change or decision that resolves it by id, whoever named it; or a later review by the same
reviewer that no longer names it as one (a nit is never open). Two reviewers who use one id have two
findings, which one ``resolves`` answers together.
"""

from __future__ import annotations

from loopbook.events import Review
from loopbook.projections.state import OpenFinding

Findings = tuple[OpenFinding, ...]


def objections(review: Review) -> dict[str, None]:
    """The ids a review names as blocker or concern, in its order. None of them: it is *clean*.

    >>> from loopbook.events import Finding
    >>> nit = Finding(id="n1", severity="nit", text="naming")
    >>> list(objections(Review(tier="light", reviewer="r", findings=(nit,))))
    []
    """
    return {finding.id: None for finding in review.findings if finding.severity != "nit"}


def reviewed(findings: Findings, review: Review, seq: int) -> Findings:
    """What is open after a review: this reviewer's are those it names, the others' stand."""
    named = objections(review)
    kept = [one for one in findings if one.reviewer != review.reviewer or one.id in named]
    known = {one.id for one in kept if one.reviewer == review.reviewer}
    kept += [OpenFinding(name, review.reviewer, seq) for name in named if name not in known]
    return tuple(kept)


def resolved(findings: Findings, ids: tuple[str, ...]) -> Findings:
    """What is open after a change or decision that resolves ``ids``."""
    return tuple(one for one in findings if one.id not in ids)


def open_ids(findings: Findings) -> tuple[str, ...]:
    """The ids of what is open, oldest first, each once."""
    return tuple(dict.fromkeys(one.id for one in findings))
