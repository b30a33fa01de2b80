"""Notices: what advisors last judged and said of each subject.

Theory. To say nothing twice one need not remember everything, only the last: per advisor and subject
the last judgment and what it had read, and the last notice of each sort (away from close, at close).
The *ask* of a subject is covered up to the newer of two seqs: what its last judgment read, and the
last notice that named it among the waiting units.
"""

from __future__ import annotations

from loopbook.events import Noticed
from loopbook.projections.state import Heard, Notice, Subject


def judged(about: Subject, advisor: str, seq: int, read_to: int) -> Subject:
    """A subject after a judgment, at ``seq``, that has read the book up to there."""
    before = about.heard.get(advisor, Heard())
    after = before._replace(judged=seq, read_to=read_to, asked=max(before.asked, read_to))
    return about._replace(heard={**about.heard, advisor: after})


def noticed(about: Subject, event: Noticed, seq: int) -> Subject:
    """A subject after a notice about it."""
    notice = Notice(seq, event.key, event.trigger, event.judged, event.continues)
    before = about.heard.get(event.advisor, Heard())
    after = before._replace(close=notice) if event.sort == "close" else before._replace(away=notice)
    return about._replace(heard={**about.heard, event.advisor: after})


def named(about: Subject, advisor: str, seq: int) -> Subject:
    """A subject after a notice that gave it a line among the waiting units."""
    before = about.heard.get(advisor, Heard())
    return about._replace(heard={**about.heard, advisor: before._replace(asked=seq)})
