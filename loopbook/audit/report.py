"""From the entries of a book to an audit: one pass, bounded, nothing read but the entries.

Theory. The fold is the only source of what holds (phases, verify state, open todos, the record a
claim is held against); this file adds what the fold forgets on purpose: counts of what is over,
and the lines of the timeline. A claim is weighed against the state at the end of its run, not
against what came later. The open last run is weighed against a scratch state, as if it
had settled where the file ends; the book's own state is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loopbook import events as e
from loopbook.audit.bounded import FirstAndLast
from loopbook.audit.items import item_of
from loopbook.audit.model import (
    CLAIMS,
    FIRST_ITEMS,
    LAST_ITEMS,
    PROBLEMS,
    Audit,
    CheckRef,
    FileProblem,
    Item,
    OpenRun,
    Session,
    WeighedClaim,
)  # fmt: skip
from loopbook.audit.shown import counted, quoted
from loopbook.audit.tally import Tally, phase_now
from loopbook.entry import Entry
from loopbook.evidence.claims import find_claims
from loopbook.evidence.record import Ran, Record
from loopbook.evidence.verdicts import weigh
from loopbook.projections import EMPTY, BookState, evolve, record_of


class Report:
    """Takes a book's entries in order and tells the timeline line by line.

    ``lines`` is to be read to its end before ``audit`` is asked.
    """

    def __init__(self, open_run: e.RunSettled | None = None, open_line: int | None = None) -> None:
        self.state: BookState = EMPTY
        self._open_run = open_run
        self._open_line = open_line
        self._tally = Tally()
        self._timeline: FirstAndLast[Item] = FirstAndLast(FIRST_ITEMS, LAST_ITEMS)
        self._against: FirstAndLast[WeighedClaim] = FirstAndLast(CLAIMS // 2, CLAIMS // 2)
        self._claims: FirstAndLast[WeighedClaim] = FirstAndLast(CLAIMS // 2, CLAIMS // 2)

    def lines(self, entries: Iterable[Entry]) -> Iterator[Item]:
        """The timeline: each entry's line, then what follows from it (a phase, weighed claims)."""
        last: Entry | None = None
        for entry in entries:
            for item in self._take(entry):
                self._timeline.add(item)
                yield item
            last = entry
        for item in self._take_open(last):
            self._timeline.add(item)
            yield item

    def audit(
        self, session: Session, notes: Sequence[str] = (), problems: Sequence[FileProblem] = (), more: int = 0
    ) -> Audit:
        """The audit of what was taken; ``more`` is how many problems are not among ``problems``."""
        claims = sorted((*self._against.kept, *self._claims.kept), key=lambda claim: (claim.open, claim.seq))
        left_out = max(0, len(problems) - PROBLEMS)
        return Audit(
            session=session,
            notes=tuple(notes),
            timeline=self._timeline.kept,
            timeline_left_out=self._timeline.left_out,
            claims=tuple(claims),
            claims_left_out=self._against.left_out + self._claims.left_out,
            open_run=self._told_open(),
            problems=tuple(problems[:PROBLEMS]),
            problems_left_out=left_out + more,
            summary=self._tally.summary(self.state, len(problems) + more),
        )

    def _take(self, entry: Entry) -> Iterator[Item]:
        before, event = self.state, entry.event
        self.state = evolve(before, entry)
        self._tally.event(event)
        if isinstance(event, e.RunSettled):
            yield from self._run(event, entry, record_of(self.state))
        elif not isinstance(event, e.LoopOpened):  # the head of the audit says it
            yield item_of(entry, before)
        if (item := _phase_item(before, self.state, entry)) is not None:
            yield item

    def _take_open(self, last: Entry | None) -> Iterator[Item]:
        run = self._open_run
        if run is None or last is None:
            return
        # The fold takes it as if it had settled here, in a state that nobody keeps.
        at = run.observed.now or last.at
        scratch = Entry(last.originator_id, last.seq + 1, run, at, last.session, line=self._open_line)
        yield from self._run(run, scratch, record_of(evolve(self.state, scratch)), still_open=True)

    def _run(
        self, run: e.RunSettled, entry: Entry, record: Record, *, still_open: bool = False
    ) -> Iterator[Item]:
        """A run's line, and one for each claim in its final text, weighed against ``record``."""
        seq = None if still_open else entry.seq
        marks: dict[str, object] = {"seq": seq, "possibly_stale": record.possibly_stale}
        if still_open:
            marks["text"] = f"not settled, {counted(run.calls_total, 'call')} so far"
        yield item_of(entry).model_copy(update=marks)
        for claim in find_claims(run.final_text):
            verdict = weigh(claim, record)
            weighed = WeighedClaim(
                text=claim.text,
                category=claim.category,
                partial=claim.partial,
                verdict=verdict.verdict,
                reason=verdict.reason,
                check=_check_ref(verdict.ran),
                possibly_stale=record.possibly_stale,
                open=still_open,
                run=run.run,
                seq=seq,
                line=entry.line,
            )
            self._tally.verdict(weighed.verdict)
            (self._against if weighed.verdict == "contradicted" else self._claims).add(weighed)
            yield _claim_item(weighed, entry)

    def _told_open(self) -> OpenRun | None:
        run = self._open_run
        if run is None:
            return None
        return OpenRun(run=run.run, stop=run.stop, calls=run.calls_total, line=self._open_line)


def _phase_item(before: BookState, after: BookState, entry: Entry) -> Item | None:
    """A line where what is next has changed; where a loop begins says nothing."""
    was, now = phase_now(before), phase_now(after)
    if was is None or now is None or was.next == now.next:
        return None
    missing = f" ({', '.join(now.missing)})" if now.missing else ""
    return Item(what="phase", text=f"next: {now.next}{missing}", seq=entry.seq, line=entry.line, at=entry.at)


def _claim_item(claim: WeighedClaim, entry: Entry) -> Item:
    return Item(
        what="claim",
        text=f"{claim.verdict}, {claim.category}: {quoted(claim.text)}",
        seq=claim.seq,
        line=claim.line,
        at=entry.at,
        verdict=claim.verdict,
        possibly_stale=claim.possibly_stale,
    )


def _check_ref(ran: Ran | None) -> CheckRef | None:
    if ran is None:
        return None
    return CheckRef(
        command=ran.command,
        outcome=ran.outcome,
        scope=ran.scope,
        exit_code=ran.exit_code,
        masked=ran.masked,
        line=ran.line,
        by=ran.by,
    )
