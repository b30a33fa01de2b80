"""Histories for property tests: short lists of events from a pool in which they meet each other.

The pool is made once and small on purpose: two units, two todos, two children, two reviewers, three
commands. So a random history of a dozen events is full of second openings, late reports and answers.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from hypothesis import strategies as st

from loopbook import events as e
from loopbook.entry import Entry
from loopbook.errors import InvalidKind
from loopbook.kinds import Kind, from_definition, parse
from loopbook.run import Call, ChildState, Line, Observed
from tests.projections.books import START, Item, change, check, entries, opened, review

KINDS = ("change", "chore", "fix", "research", "review")
TIERS: tuple[e.Tier, ...] = ("none", "light", "full")

EVIDENCE: tuple[e.Event, ...] = (
    change(),
    change("bounded", resolves=("f1",)),
    change("both", resolves=("f1", "f2")),
    *(
        check(outcome, command)
        for command in ("pytest", "pytest tests/a", "pytest tests/b")
        for outcome in ("pass", "fail", "unknown")
    ),
    check("fail", "ruff check", "lint"),
    check("pass", "ruff check", "lint"),
    check("pass", "make", "build"),
    check("fail", "read it", "manual"),
    review(),
    review("f1"),
    review("f2", "f1", by="r2"),
    review(nits=("f1",)),
    review("f2", tier="full", by="r2"),
    review(tier="full"),
    e.Decision(text="exponential", decided_by="user"),
    e.Decision(text="leave it", decided_by="agent", resolves=("f2",)),
    e.Source(locator="rfc9110", summary="when to retry"),
    e.ChildReported(child="c1", ok=True, summary="fine", friction="no compiler"),
    e.ChildReported(child="c2", ok=False),
)


def _settled(run: str, **states: ChildState) -> e.RunSettled:
    now = START + timedelta(seconds=100)
    calls = (
        Call(ref="1", tool="Bash", kind="command", check="no", writes=True),
        Call(ref="2", tool="Agent", kind="agent", child="c1"),
        Call(ref="3", tool="Bash", kind="command", check="yes", outcome="pass", ran=run != "r2"),
    )
    return e.RunSettled(
        run=run,
        lines=(Line(role="user", text="go on"),),
        calls=calls[: len(states) + 1],
        calls_total=len(states) + 1,
        final_text="All tests pass.",
        observed=Observed(now=now, children=dict(states)),
    )


def _gone(ago: float | None) -> ChildState:
    write = None if ago is None else START + timedelta(seconds=100 - ago)
    return ChildState(state="gone", last_write=write)


OTHERS: tuple[e.Event, ...] = (
    *(
        event
        for todo in ("t1", "t2")
        for event in (
            e.TodoOpened(todo=todo, subject=f"do {todo}"),
            e.TodoOpened(todo=todo, subject=f"do {todo} later", followup="issue 7"),
            e.TodoFollowupSet(todo=todo, followup={"ref": "issue 8"}),
            e.TodoFollowupSet(todo=todo, followup="  "),
            e.TodoCompleted(todo=todo),
            e.TodoDropped(todo=todo, why="not needed"),
        )
    ),
    *(
        event
        for unit in ("a", "b")
        for event in (
            e.UnitAdded(unit=unit, subject=f"module {unit}"),
            e.UnitStarted(unit=unit),
            e.UnitDone(unit=unit),
            e.UnitDropped(unit=unit, why="not needed"),
        )
    ),
    e.ChildLinked(child="c1", host="pi"),
    e.ChildLinked(child="c1", unit="a"),
    e.ChildLinked(child="c2", unit="b", accept=e.Accept(command="pytest", timeout_sec=5)),
    e.ChildDropped(child="c1", why="took too long"),
    e.ChildLost(child="c2"),
    e.Task(text="write the retry"),
    e.Friction(text="flaky network", child="c9"),
    e.Base(text="main"),
    e.Watch(text="ci"),
    e.Unknown(type="from_tomorrow"),
    e.Prompted(prompt="p1", text="add a retry"),
    e.Prompted(prompt="p2", text="next: verify", origin="advisor"),
    _settled("r1"),
    _settled("r2", c1=_gone(None)),
    _settled("r3", c1=_gone(30), c2=_gone(30)),
    _settled("r4", c1=_gone(31), c2=_gone(36)),
    _settled("r5", c1=ChildState(state="out"), c2=_gone(-10)),
    e.Judged(advisor="second_thought", run="r1", read_to=3, input_tokens=300, cost_usd=0.5),
    e.Judged(advisor="second_thought", run="r2", read_to=5, sort="close"),
    e.Noticed(advisor="second_thought", run="r1", key="k1", text="next: verify", continues=True, trigger=2,
              todos=("t1",), units=("a", "b")),
    e.Noticed(advisor="second_thought", run="r2", key="k2", text="thin", sort="close"),
    e.PassedOver(advisor="second_thought", run="r3", reason="nothing-new"),
    e.PassedOver(advisor="completion", run="r3", reason="judge-failed"),
    e.PassedOver(advisor="completion", run="r3", reason="stale", asked=2, output_tokens=20),
    e.PassedOver(advisor="completion", reason="bound"),
    e.SessionAdopted(),
    e.CloseDeclared(claim="The retry is in."),
    e.LoopClosed(outcome="met"),
    e.LoopReopened(),
)  # fmt: skip


def _placed(event: e.Event) -> tuple[Item, ...]:
    own = getattr(event, "unit", None)
    if isinstance(own, str):
        return ((event, own),)
    return (event, (event, "a"), (event, "b"), (event, "nowhere"))


ANYTHING: tuple[Item, ...] = tuple(item for event in (*EVIDENCE, *OTHERS) for item in _placed(event))
_MOSTLY_EVIDENCE: tuple[Item, ...] = (*EVIDENCE, *OTHERS)


_WORDS = st.sampled_from(sorted(e.EVIDENCE))
_WHERE = {
    "check": st.sampled_from(({}, {"outcome": "fail"}, {"scope": ["tests", "lint"]}, {"outcome": ["pass"]})),
    "review": st.sampled_from(({}, {"tier": "full"})),
    "decision": st.sampled_from(({}, {"decided_by": "user"})),
    "child_reported": st.sampled_from(({}, {"ok": False})),
}


@st.composite
def _needs(draw: st.DrawFn) -> dict[str, object]:
    named = draw(st.sampled_from((None, None, None, "verified", "reviewed", "no_open_finding")))
    if named is not None:
        return {"is": named, "missing": f"not {named}"} if named != "no_open_finding" else {"is": named}
    word = draw(_WORDS)
    need: dict[str, object] = {"evidence": word, "where": draw(_WHERE.get(word, st.just({})))}
    if draw(st.booleans()):
        need["after"] = draw(_WORDS)
    return {**need, "missing": f"no {word} {need['where']} after {need.get('after')}"}


@st.composite
def _kind_or_none(draw: st.DrawFn) -> Kind | None:
    phases: list[object] = [
        {"name": f"p{place}", "needs": needs}
        for place, needs in enumerate(draw(st.lists(st.lists(_needs(), min_size=1, max_size=2), max_size=4)))
    ]
    phases.append({"name": "close", "needs": [{"is": "closable"}]})
    try:
        return from_definition({"name": "own", "phase": phases})
    except InvalidKind:
        return None


def kinds() -> st.SearchStrategy[Kind]:
    """Kinds that people might write: any needs in any order, as long as they load."""
    return _kind_or_none().filter(bool).map(lambda kind: cast("Kind", kind))


def openings() -> st.SearchStrategy[e.LoopOpened]:
    """The opening of a loop of a built-in kind or one of ``OWN``, of any tier, or without a definition."""
    return st.sampled_from(_OPENINGS)


def openings_of_any_kind() -> st.SearchStrategy[e.LoopOpened]:
    """The opening of a loop of a kind that nobody has thought of yet; slow to draw."""
    return st.builds(_opened_as, kinds(), st.sampled_from(TIERS))


def _opened_as(kind: Kind, tier: e.Tier) -> e.LoopOpened:
    return e.LoopOpened(kind=kind.name, intent="x", review_tier=tier, definition=kind.definition())


OWN = (
    """
    name = "asked"
    [[phase]]
    name = "ask"
    needs = [{ evidence = "decision", where = { decided_by = "user" }, after = "source", missing = "no yes" }]
    [[phase]]
    name = "send"
    needs = [{ evidence = "child_reported", where = { ok = true }, missing = "no child came back well" }]
    [[phase]]
    name = "close"
    needs = [{ is = "closable" }, { is = "reviewed", missing = "not reviewed" }]
    """,
    """
    name = "reviewed-first"
    [[phase]]
    name = "review"
    needs = [{ is = "reviewed", missing = "not reviewed" }, { is = "no_open_finding" }]
    [[phase]]
    name = "lint"
    needs = [{ evidence = "check", where = { scope = "lint" }, after = "change", missing = "not linted" }]
    [[phase]]
    name = "close"
    needs = [{ is = "closable" }]
    """,
)
_OPENINGS = (
    *(opened(kind, tier=tier) for kind in KINDS for tier in TIERS),
    *(_opened_as(parse(text), tier) for text in OWN for tier in TIERS),
    e.LoopOpened(kind="change", intent="x"),
)


@st.composite
def histories(
    draw: st.DrawFn, of: st.SearchStrategy[e.LoopOpened] | None = None, max_size: int = 25
) -> list[Entry]:
    """A loop's history: anything may happen in it, also what no book would admit."""
    pool = draw(st.sampled_from((ANYTHING, _MOSTLY_EVIDENCE, EVIDENCE)))
    units: list[Item] = [
        e.UnitAdded(unit=name, subject=name) for name in draw(st.sampled_from(("", "a", "ab")))
    ]
    items = draw(st.lists(st.sampled_from(pool), max_size=max_size))
    return entries([draw(openings() if of is None else of), *units, *items])


@st.composite
def odd_histories(draw: st.DrawFn) -> list[Entry]:
    """Like ``histories``, but the loop may be opened late, twice or never."""
    items: list[Item] = draw(st.lists(st.sampled_from(ANYTHING), max_size=20))
    for late in draw(st.lists(openings(), max_size=2)):
        items.insert(draw(st.integers(0, len(items))), late)
    return entries(items)
