"""An audit made by hand, with something in every part of it."""

from __future__ import annotations

from datetime import UTC, datetime

from loopbook.audit import model as m

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

FAILURE = "the last test run failed: `python -m unittest`, exit 1, line 31"
FAILED = m.CheckRef(
    command="python -m unittest", outcome="fail", scope="tests", exit_code=1, line=31, by="agent-1"
)


def an_audit(text: str = "All tests pass", *, items: int = 3, left_out: int = 0) -> m.Audit:
    """An audit whose quoted texts are all ``text``."""
    return m.Audit(
        session=m.Session(
            file="s.jsonl", host="claude", session="abc", lines=61, loop="audit-claude-abc", kind="change",
            intent=text, first_at=AT, last_at=AT,
        ),
        notes=(text,),
        timeline=tuple(
            m.Item(what="check", text=text, seq=n, line=n, at=AT, outcome="fail", scope="tests", by="agent-1")
            for n in range(items)
        ),
        timeline_left_out=left_out,
        claims=(
            m.WeighedClaim(
                text=text, category="tests", verdict="contradicted", reason=FAILURE,
                check=FAILED, line=40, seq=9, possibly_stale=True, open=True, partial=True,
            ),
        ),
        open_run=m.OpenRun(run="r2", stop="end", calls=4),
        problems=(m.FileProblem(line=7, text=text),),
        problems_left_out=3,
        summary=m.Summary(
            prompts={"human": 2}, runs={"end": 1}, changes=4,
            checks=(m.CheckCount(scope="tests", passed=1, failed=1, unknown=1, masked=1),),
            reviews=0, sources=1, decisions=0, todos=m.TodoCount(opened=2, completed=1, open=1, loose=1),
            children=m.ChildCount(linked=1, out=1),
            phase=m.PhaseNow(
                current="change", next="verify", missing=("no passing check since the last change",)
            ),
            verify="failing", possibly_stale=True, claims={"contradicted": 1}, problems=4,
        ),
    )  # fmt: skip
