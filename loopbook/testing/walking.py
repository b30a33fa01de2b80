"""Walking a kind: all its short histories, and whether each can still be brought to its close.

Theory. The letters are steps of a scenario: the evidence that the kind can tell apart, a todo, a child, and
runs that come to rest under a judge that agrees and one that does not. Histories are walked breadth first
from a fresh loop of each review tier, one without units and one with two, and states that are as good as
one (``sameness``) are walked once; so the first offence is a shortest one. In each state

- *nothing starves*: doing what a phase says is missing moves it;
- *no dead end*: doing what is missing, again and again, brings the loop to where it closes;
- *nothing is repeated*: a run that comes to rest again, with no evidence between, is not told the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, get_args

from loopbook.advisors.shape import Advisor
from loopbook.engine import ADVISORS
from loopbook.entry import Draft
from loopbook.errors import Refused
from loopbook.events import (
    ChildLinked,
    ChildReported,
    Event,
    LoopOpened,
    Prompted,
    RunSettled,
    Tier,
    TodoFollowupSet,
    TodoOpened,
    UnitAdded,
    UnitStarted,
)
from loopbook.judges import Answer, Packet, answer_from
from loopbook.kinds import Kind, from_definition
from loopbook.projections import BookState
from loopbook.projections.admission import admit
from loopbook.settlement import Advice, CloseAnswer, Flow, Settlement, close, settle
from loopbook.testing import closing
from loopbook.testing.alphabet import CHANGE, letters
from loopbook.testing.answers import Numbers
from loopbook.testing.sameness import same_as
from loopbook.testing.scenario_model import Head, LoopSpec, Step, step_of
from loopbook.testing.scenario_text import to_yaml
from loopbook.testing.scenario_verbs import Prompt, Settle
from loopbook.testing.sheet import Sheet

#: How judges answer, as ``Numbers`` has it: one that is content, and one that would go back.
MOODS = ((0.0, 0.99), (0.5, 0.0))
#: What a close is answered with, until one is met.
AT_CLOSE = tuple(product((0.0, 0.99), repeat=4))
#: How often what is missing is done, for each phase of a kind, before it is given up.
PATIENCE = 4
INTENT = "Add a retry"


class Offence(NamedTuple):
    """What must not be, and the shortest way there, as a scenario."""

    what: str
    scenario: str

    def __str__(self) -> str:
        return f"{self.what}\n\n{self.scenario}"


class Walked(NamedTuple):
    """A kind that was walked: in how many states, and the first of them that must not be."""

    kind: Kind
    states: int
    offence: Offence | None = None


class Letter(NamedTuple):
    """An event, of a unit or not; or a run that comes to rest, and the numbers of its judge."""

    event: Event | None = None
    unit: str | None = None
    mood: tuple[float, ...] = ()


class Place(NamedTuple):
    """Where a walk has come to: a loop's tier, whether it has units, its sheet, the steps so far, and what
    was said since the last evidence."""

    tier: Tier
    several: bool
    sheet: Sheet
    steps: tuple[Step, ...] = ()
    said: Advice | None = None


def walk(
    kind: Kind,
    *,
    depth: int = 3,
    alphabet: Iterable[Event] | None = None,
    advisors: Sequence[Advisor] = ADVISORS,
) -> Walked:
    """Walk all histories of a kind of up to ``depth`` letters; ``alphabet`` is the evidence among them.

    Twelve times the states with each letter more: two are walked in a second, three in ten. Raises
    ``InvalidKind`` for a kind that does not hold together.

    >>> from loopbook.kinds_at_hand import load_kinds
    >>> walk(load_kinds()["chore"], depth=1).offence is None
    True
    """
    from_definition(kind.definition())
    walker = Walker(kind, tuple(letters(kind) if alphabet is None else alphabet), advisors)
    return Walked(kind, *walker.walk(depth))


class _Repeated(Exception):
    """Raised where somebody says the same again."""

    def __init__(self, what: str, place: Place) -> None:
        super().__init__(what)
        self.what = what
        self.place = place


class Walker:
    """A walk under way."""

    def __init__(self, kind: Kind, evidence: Sequence[Event], advisors: Sequence[Advisor]) -> None:
        self.kind = kind
        self.evidence = evidence
        self.advisors = advisors
        self._seen: set[Hashable] = set()
        self._closing: set[Hashable] = set()

    def walk(self, depth: int) -> tuple[int, Offence | None]:
        """How many states there are, and the first that must not be."""
        places = [*self._starts()]
        for left in range(depth, -1, -1):
            places = [place for place in places if self._is_new(place)]
            for place in places:
                if what := self._stuck(place.sheet):
                    return len(self._seen), self._told(what, place)
            if left:
                try:
                    places = [after for place in places for after in self._after(place)]
                except _Repeated as repeated:
                    return len(self._seen), self._told(repeated.what, repeated.place)
        return len(self._seen), None

    # --- walking ----------------------------------------------------------------------------

    def _starts(self) -> Iterator[Place]:
        """A fresh loop of each tier, without units and with two."""
        added = [UnitAdded(unit=name, subject=f"part {name}") for name in "ab"]
        started = [UnitStarted(unit=name) for name in "ab"]
        for tier, several in (*((tier, False) for tier in get_args(Tier)), ("light", True)):
            opened = LoopOpened(
                kind=self.kind.name, intent=INTENT, review_tier=tier, definition=self.kind.definition()
            )
            place = Place(tier, several, Sheet().add(opened))
            for event in (*added, *started) if several else ():
                place = self._taken(place, Letter(event)) or place
            yield place

    def _is_new(self, place: Place) -> bool:
        key = same_as(place.sheet.state), place.said and place.said.text
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _after(self, place: Place) -> Iterator[Place]:
        for letter in self._letters(place):
            after = self._taken(place, letter)
            if after is not None:
                yield after

    def _letters(self, place: Place) -> Iterator[Letter]:
        unit = "a" if place.several else None
        yield from (Letter(event, unit) for event in self.evidence)
        if place.several:
            yield Letter(CHANGE)
        yield Letter(TodoOpened(todo="t1", subject="do it"))
        yield Letter(TodoFollowupSet(todo="t1", followup="issue 7"))
        yield Letter(ChildLinked(child="c1", unit=unit))
        yield Letter(ChildReported(child="c1", ok=True, summary="done"))
        yield Letter(Prompted(prompt="p", text="go on"))
        yield from (Letter(mood=mood) for mood in MOODS)

    def _taken(self, place: Place, letter: Letter) -> Place | None:
        """The place after a letter; nothing where the book would refuse it."""
        event, unit = letter.event, letter.unit
        if event is None:
            return self._settled(place, letter.mood)
        try:
            admit(place.sheet.state, event, unit)
        except Refused:
            return None
        said = place.said if isinstance(event, Prompted) else None
        steps = (*place.steps, _step(event, unit))
        return place._replace(sheet=place.sheet.add(event, unit), steps=steps, said=said)

    def _settled(self, place: Place, mood: tuple[float, ...]) -> Place:
        """The place after a run has come to rest. Raises ``_Repeated``."""
        run, answers, before = f"r{len(place.steps) + 1}", Numbers(mood), place.said

        def flow(now: BookState) -> Flow[Settlement]:
            return settle(now, Draft(RunSettled(run=run)), self.advisors)

        came, sheet = place.sheet.drive(flow, _says(answers))
        step, said = Step("settle", Settle(run=run, judge=answers.as_judge())), came.advice
        after = place._replace(sheet=sheet, steps=(*place.steps, step), said=said or before)
        if (
            before is not None
            and said is not None
            and (before.advisor, before.text) == (said.advisor, said.text)
        ):
            raise _Repeated(f"{said.advisor} says twice, with no evidence between: {said.text!r}", after)
        return after

    # --- looking ----------------------------------------------------------------------------

    def _stuck(self, sheet: Sheet) -> str | None:
        """Why a loop cannot be brought to its close by doing what is missing."""
        trail: list[Hashable] = []
        for _ in range(PATIENCE * len(self.kind.phases)):
            key = same_as(sheet.state)
            if key in self._closing:
                break
            trail.append(key)
            found = closing.lack(sheet.state)
            if found is None:
                if why := self._not_closed(sheet):
                    return why
                break
            sheet = closing.do(sheet, found)
            if not closing.moved(sheet, found):
                return f"starved: what {found} misses has been done, and it stands where it stood"
        else:
            return (
                f"a dead end: what was missing has been done again and again, and it still stands at {found}"
            )
        self._closing.update(trail)
        return None

    def _not_closed(self, sheet: Sheet) -> str | None:
        """Why a loop that misses nothing is not closed, whatever a judge answers."""

        def flow(now: BookState) -> Flow[CloseAnswer]:
            return close(now, "It is done.", self.advisors)

        for numbers in AT_CLOSE:
            answer, _ = sheet.drive(flow, _says(Numbers(numbers)))
            if answer.closed:
                return None
        return f"a dead end: nothing is missing, and whatever is answered it is not closed: {answer.text}"

    def _told(self, what: str, place: Place) -> Offence:
        head = Head(
            scenario="what the walk found",
            loop=LoopSpec(kind=self.kind.name, intent=INTENT, review_tier=place.tier),
            steps=[],
        )
        return Offence(what, to_yaml(head, place.steps))


def _says(answers: Numbers) -> Callable[[Packet], Answer]:
    return lambda packet: answer_from(packet.questions, answers(packet))


def _step(event: Event, unit: str | None) -> Step:
    """The step that writes an event."""
    return Step("prompt", Prompt(text=event.text)) if isinstance(event, Prompted) else step_of(event, unit)
