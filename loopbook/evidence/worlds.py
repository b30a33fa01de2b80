"""For whom an exit code speaks: the ways a command line can have gone, and which of them fit.

Theory. Of each check in a line we want to know whether it ran and how it ended, and are told one
number: the exit of the whole line. So the line is run in the abstract. A *world* is one way it
can go: each check did not run, succeeded or failed, and the last status is zero, some check's own
code, or another's. A plain command splits a world in two; ``&&``, ``|``, ``set -e`` and the like
say how worlds go on. In the end only the worlds survive that fit the exit code and what the line
printed of it (``echo "exit: $?"``). What all survivors agree on is known; the rest is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from loopbook.evidence.shell_table import word_set
from loopbook.evidence.shell_tree import (
    Branch,
    Chain,
    Command,
    Group,
    Loose,
    Negated,
    Node,
    Pipeline,
    Sequence,
    Words,
    commands,
    places,
)
from loopbook.evidence.wrappers import program_of

#: How a check went in a world.
NOT_RUN, GOOD, BAD = 0, 1, 2
#: A status: zero, a nonzero one that is no check's, or (0 and up) the nonzero one of that check.
ZERO, OTHER = -1, -2

MAX_CHECKS = 4
MAX_PARTS = 4
MAX_WORLDS = 600
#: How many plain echoes are watched, how long their words may be, how many variables may stand in one.
MAX_SHOWN, SHOWN_CHARS, SHOWN_VARIABLES = 6, 160, 3

#: Programs whose status is taken for zero: they do not take the blame for a line.
BLAMELESS = word_set(
    "echo printf true : export set source . cd pushd popd pwd date tail head tee sleep wc sort uniq sed "
    "awk cut "
    "tr tput column unset shopt umask ulimit alias clear trap"
)
#: Options by which a program ends with zero whatever has failed, as patterns of one word.
FORGIVING: Mapping[str, str] = {
    **dict.fromkeys(
        ("make", "gmake", "bmake", "nmake", "mingw32-make"), r"--ignore-errors|-[bBdeknpqrRsStvw]*i\w*"
    ),
    "mvn": r"-fn|--fail-never|-Dmaven\.test\.failure\.ignore(?:=true)?",
    **dict.fromkeys(("ruff", "flake8", "pylint"), r"--exit-zero"),
    "golangci-lint": r"--issues-exit-code=0",
}
#: What a trap that runs at the end is set for, and what it says where it leaves the shell itself.
_ENDINGS = frozenset({"EXIT", "0", "SIGEXIT", "ERR"})
_LEAVES = re.compile(r"\b(?:exit|exec|kill)\b")
_LAST_STATUS = re.compile(r"\$(?:\?|\{\?\})")
_PART_STATUS = re.compile(r"\$\{PIPESTATUS\[(\d)\]\}")
_NAMED_STATUS = re.compile(r"\$(?:\{([A-Za-z_]\w{0,40})\}|([A-Za-z_]\w{0,40}))")
_ANY_STATUS = re.compile(f"{_LAST_STATUS.pattern}|{_PART_STATUS.pattern}|{_NAMED_STATUS.pattern}")


class World(NamedTuple):
    """One way a line can have gone so far.

    ``kept`` are statuses remembered under a name, ``parts`` those of the last pipeline's parts.
    """

    checks: tuple[int, ...]
    status: int = ZERO
    ended: bool = False
    kept: tuple[tuple[str, int], ...] = ()
    parts: tuple[int, ...] = ()

    def keeping(self, name: str, status: int) -> World:
        """The same world, remembering one more status."""
        return self._replace(kept=(*(pair for pair in self.kept if pair[0] != name), (name, status)))


class Shown(NamedTuple):
    """An ``echo`` that tells how the line went: where it stands and how its line is recognised.

    It prints a ``status``, or plain words that are printed only where it is reached.
    """

    at: int
    line: re.Pattern[str]
    status: bool = True

    @property
    def key(self) -> str:
        """Under which a world keeps what was printed here."""
        return f"echo {self.at}"


Worlds = frozenset[World]


class Line:
    """A line to be run in the abstract, with the checks whose ends are wanted (by command place).

    ``parts``: whether it asks how the parts of its pipelines ended (``PIPESTATUS``); ``trapped``: whether
    a trap gives the line a last status of its own.
    """

    def __init__(self, checks: Iterable[int], *, parts: bool = False, trapped: bool = False) -> None:
        self.parts = parts
        self.trapped = trapped
        self.tested = 0
        self.places: Mapping[int, int] = {at: index for index, at in enumerate(checks)}
        self.shown: dict[int, Shown] = {}

    def worlds(self, node: Node) -> Worlds:
        """Every way the line can go."""
        worlds = self.run(node, frozenset({World((NOT_RUN,) * len(self.places))}))
        if not self.trapped:
            return worlds
        return worlds | frozenset(w._replace(status=status) for w in worlds for status in (ZERO, OTHER))

    def run(self, node: Node, worlds: Worlds) -> Worlds:
        """The worlds after a node; those that have ended pass by it."""
        going = frozenset(world for world in worlds if not world.ended)
        after = self._step(node, going) | (worlds - going) if going else worlds
        return after if len(after) <= MAX_WORLDS else self._anything(node, going)

    def _step(self, node: Node, worlds: Worlds) -> Worlds:
        match node:
            case Command():
                return self._command(node, worlds)
            case Sequence():
                return self._sequence(node, worlds)
            case Chain():
                return self._chain(node, worlds)
            case Pipeline():
                return self._pipeline(node, worlds)
            case Negated():
                return frozenset(
                    world._replace(
                        status=OTHER if world.status == ZERO else ZERO, parts=world.parts or (world.status,)
                    )
                    for world in self._tested(node.item, worlds)
                )
            case Group():
                return frozenset(
                    world._replace(ended=False, parts=()) for world in self.run(node.item, worlds)
                )
            case Branch():
                return self._branch(node, worlds)
            case Loose():
                return self._anything(node, worlds)

    def _command(self, node: Command, worlds: Worlds) -> Worlds:
        if node.script is not None:
            tested, self.tested = self.tested, 0  # a shell of its own
            worlds = self.run(node.script, worlds)
            self.tested = tested
            return worlds
        for inner in node.inner:
            worlds = self.run(inner, worlds) if not node.words else self._anything(inner, worlds)
        if not node.words:  # an assignment has the status of what it substitutes, else zero
            return frozenset(
                self._assigned(node, world if node.inner else world._replace(status=ZERO), world)
                for world in worlds
            )
        if node.at in self.places:
            return self._check(node, worlds)
        return frozenset(after._replace(parts=()) for world in worlds for after in self._plain(node, world))

    def _check(self, node: Command, worlds: Worlds) -> Worlds:
        index = self.places[node.at]
        ends = [(GOOD, ZERO), (BAD, index if node.exact else OTHER)]
        if forgiving(node):
            ends.append((BAD, ZERO))
        return frozenset(
            world._replace(
                checks=(*world.checks[:index], how, *world.checks[index + 1 :]), status=status, parts=()
            )
            for world in worlds
            for how, status in ends
        )

    def _plain(self, node: Command, world: World) -> tuple[World, ...]:
        words = node.words
        if words[0] in ("exit", "return"):
            return tuple(world._replace(status=s, ended=True) for s in self._exit(words, world))
        if words[0] == "false":
            return (world._replace(status=OTHER),)
        if words[0] in ("echo", "printf"):
            world = self._showing(node, world)
        if words[0] in BLAMELESS:
            return (world._replace(status=ZERO),)
        return (world._replace(status=ZERO), world._replace(status=OTHER))

    def _exit(self, words: Words, world: World) -> tuple[int, ...]:
        if len(words) == 1:
            return (world.status,)
        known = status_of(words[1], world)
        if known is not None:
            return (known,)
        if words[1].isdecimal():
            return (OTHER if int(words[1][-8:]) % 256 else ZERO,)  # which all the others leave as it is
        return (ZERO, OTHER)

    def _assigned(self, node: Command, world: World, before: World) -> World:
        for pair in node.env:
            name, _, value = pair.partition("=")
            known = status_of(value.strip("\"'"), before)
            if known is not None:
                world = world.keeping(name, known)
        return world._replace(parts=())

    def _showing(self, node: Command, world: World) -> World:
        """Remember what an ``echo`` prints of a status, or that its words were reached."""
        text = " ".join(word for word in node.words[1:] if word not in ("-e", "-n"))
        if not 1 < len(text) <= SHOWN_CHARS or text.count("$") > SHOWN_VARIABLES:
            return world
        for match in _ANY_STATUS.finditer(text):
            known = status_of(match.group(), world)
            if known is not None:
                shown = self.shown.setdefault(node.at, Shown(node.at, _line_pattern(text, match)))
                return world.keeping(shown.key, known)
        if "$" in text or "\\" in text or (node.at not in self.shown and len(self.shown) >= MAX_SHOWN):
            return world
        plain = re.compile(rf"{re.escape(text)}[ \t]*$")
        return world.keeping(self.shown.setdefault(node.at, Shown(node.at, plain, status=False)).key, ZERO)

    def _sequence(self, node: Sequence, worlds: Worlds) -> Worlds:
        for item, strict in zip(node.items, node.strict, strict=True):
            worlds = self.run(item, worlds)
            if not strict or isinstance(item, Negated):
                continue
            ended = frozenset(w._replace(ended=True) for w in worlds if w.status != ZERO)
            # `set -e` passes over what && and || and `if` have tested, shells differ on how deep:
            # there both ways stay open.
            sure = isinstance(item, Command | Pipeline | Group) and not self.tested
            worlds = ended | (frozenset(w for w in worlds if w.status == ZERO or w.ended) if sure else worlds)
        return worlds

    def _tested(self, node: Node, worlds: Worlds) -> Worlds:
        """Run a node whose status is asked for: whether ``set -e`` holds in it is open."""
        self.tested += 1
        try:
            return self.run(node, worlds)
        finally:
            self.tested -= 1

    def _chain(self, node: Chain, worlds: Worlds) -> Worlds:
        links: list[Chain] = []
        first: Node = node
        while isinstance(first, Chain):  # left-nested, and often long
            links.append(first)
            first = first.left
        worlds = self._tested(first, worlds)
        for link in reversed(links):
            goes_on = frozenset(w for w in worlds if not w.ended and (w.status == ZERO) == (link.op == "&&"))
            run = self.run if link is node else self._tested
            worlds = (worlds - goes_on) | run(link.right, goes_on)
        return worlds

    def _pipeline(self, node: Pipeline, worlds: Worlds) -> Worlds:
        return frozenset().union(
            *(
                self._piped(node, frozenset(w for w in worlds if w.status == before), before)
                for before in {w.status for w in worlds}
            )
        )

    def _piped(self, node: Pipeline, worlds: Worlds, before: int) -> Worlds:
        """The pipeline from worlds of one status, which each of its parts sees as ``$?``."""
        # By the status so far (with pipefail the last nonzero one counts, else only the last) and,
        # where the line asks for them, by the parts' own statuses.
        so_far: dict[tuple[int, tuple[int, ...]], set[World]] = {(ZERO, ()): set(worlds)}
        for item in node.items:
            after: dict[tuple[int, tuple[int, ...]], set[World]] = {}
            for (status, parts), going in so_far.items():
                for world in self.run(item, frozenset(w._replace(status=before) for w in going)):
                    counts = world.status != ZERO or not node.pipefail
                    known = (*parts, world.status)[:MAX_PARTS] if self.parts else ()
                    key = (world.status if counts else status, known)
                    after.setdefault(key, set()).add(world._replace(ended=False))
            so_far = after
        return frozenset(
            w._replace(status=status, parts=parts) for (status, parts), ends in so_far.items() for w in ends
        )

    def _branch(self, node: Branch, worlds: Worlds) -> Worlds:
        tested = self._tested(node.condition, worlds)
        yes = frozenset(w for w in tested if not w.ended and w.status == ZERO)
        no = frozenset(w for w in tested if not w.ended and w.status != ZERO)
        other = (
            self.run(node.other, no)
            if node.other is not None
            else frozenset(w._replace(status=ZERO) for w in no)
        )
        return self.run(node.body, yes) | other | (tested - yes - no)

    def _anything(self, node: Node, worlds: Worlds) -> Worlds:
        """What runs elsewhere or any number of times: its checks may have gone any way."""
        zero = isinstance(node, Loose) and node.zero
        for at in places(node):
            if (index := self.places.get(at)) is not None:
                worlds = frozenset(
                    w._replace(checks=(*w.checks[:index], how, *w.checks[index + 1 :]), kept=())
                    for w in worlds
                    for how in (NOT_RUN, GOOD, BAD)
                )
        statuses = (ZERO,) if zero else (ZERO, OTHER)
        after = frozenset(w._replace(status=s, kept=()) for w in worlds for s in statuses)
        if isinstance(node, Loose) and any(one.words[:1] == ("exit",) for one in commands(node)):
            after |= frozenset(w._replace(status=s, ended=True) for w in after for s in (ZERO, OTHER))
        return after


def forgiving(node: Command) -> bool:
    """Whether a command was told to end with zero even where what it runs has failed.

    >>> lines = ("make -ki test", "make test", "make -C i test")
    >>> [forgiving(Command(0, (tuple(line.split()),))) for line in lines]
    [True, False, False]
    """
    return any(
        words
        and (told := FORGIVING.get(program_of(words[0])))
        and any(map(re.compile(told).fullmatch, words))
        for words in node.levels
    )


def own_end(commands: Iterable[Command]) -> bool:
    """Whether a trap may end the line with a status of its own: what it runs leaves the shell by itself.

    >>> [own_end([Command(0, (("trap", what, "EXIT"),))]) for what in ("exit 0", "rm x")]
    [True, False]
    """
    said = [one.words for one in commands if one.words]
    leaves = any(words[0] == "exit" for words in said)  # perhaps in a function that the trap names
    return any(
        words[0] == "trap"
        and not _ENDINGS.isdisjoint(words[2:])
        and (_LEAVES.search(words[1]) is not None or (leaves and words[1].isidentifier()))
        for words in said
    )


def status_of(word: str, world: World) -> int | None:
    """The status that ``$?``, ``${PIPESTATUS[0]}`` or a variable set to one of them stands for.

    >>> status_of("$?", World((), OTHER)) == OTHER, status_of("$HOME", World(()))
    (True, None)
    """
    kept = dict(world.kept)
    if _LAST_STATUS.fullmatch(word):
        return world.status
    if match := _PART_STATUS.fullmatch(word):
        parts = world.parts or (world.status,)
        return parts[int(match[1])] if int(match[1]) < len(parts) else None
    if match := _NAMED_STATUS.fullmatch(word):
        return kept.get(match[1] or match[2])
    return None


def _line_pattern(text: str, match: re.Match[str]) -> re.Pattern[str]:
    """How an echoed status looks in the output: the words as they stand, a number for the variable."""

    def literal(part: str) -> str:
        pieces = re.split(r"\$(?:\{[^}]*\}|\w+|[?!@*#])", part.replace("\\n", ""))
        return "[^\n]{0,80}?".join(re.escape(piece) for piece in pieces)

    before, after = literal(text[: match.start()]), literal(text[match.end() :])
    return re.compile(rf"^{before}(\d{{1,3}}){after}[ \t\r]*$", re.MULTILINE)


def printed(line: Line, output: Iterable[str]) -> list[tuple[Shown, str, int | None]]:
    """What an output shows of the echoes of a line that was run: each with its text and its number.

    Only what is certain: a text that several echoes could have printed, or that stands there more
    often than there are such echoes, tells nothing.
    """
    texts = [
        (text, found) for text in output if (found := [s for s in line.shown.values() if s.line.match(text)])
    ]
    certain: list[tuple[Shown, str, int | None]] = []
    for shown in line.shown.values():
        alike = [one for one in line.shown.values() if one.line.pattern == shown.line.pattern]
        mine = [text for text, found in texts if shown in found]
        if len(mine) != len(alike) or any(len(found) > len(alike) for text, found in texts if shown in found):
            continue
        if shown.status:  # as many lines as echoes of one form: they were printed in order
            text = mine[sorted(one.at for one in alike).index(shown.at)]
            match = shown.line.match(text)
            certain.append((shown, text, int(match[1]) if match else None))
        elif len(alike) == 1:
            certain.append((shown, mine[0], None))
    return certain
