"""What a caller gives a book, looked at before anything is written.

Theory. A type checker sees most of these mistakes, and whoever runs none makes them all the same: a
keyword with a letter out of place, a judge that is a name, a run that is its id. Past this door nobody
looks again, so each is refused here in one sentence. Shapes are looked for, not classes: a judge or an
advisor is anybody's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from math import inf, isnan
from pathlib import Path
from typing import cast, get_args

from loopbook.entry import Draft
from loopbook.errors import InvalidArgument, InvalidEvent, InvalidTimeout
from loopbook.events import Event, RunSettled, Scope, Tier
from loopbook.evidence.redaction import Redactor
from loopbook.limits import MAX_SEC, Options

#: More entries than this no store numbers; a whole number over the other is not written out.
HIGHEST = 2**63 - 1
_TELLABLE = 1e15


def named(value: object) -> str:
    """A value as a sentence names it: what it is, and nothing of what it holds.

    >>> named([1]), named(None), named(Event)
    ('a list', 'None', 'the class Event')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"


def wrong(what: str, value: object, remedy: str) -> InvalidArgument:
    """The error for an argument that is something else than it should be."""
    return InvalidArgument(f"{what}, not {named(value)}; nothing was written; {remedy}")


def keywords(given: Mapping[str, object], known: Collection[str]) -> None:
    """Raise ``InvalidArgument`` for a keyword that nobody knows: Python does not look at ``**more``.

    >>> keywords({"jugde": 1}, ("session", "advisors"))
    Traceback (most recent call last):
    loopbook.errors.InvalidArgument: there is no keyword 'jugde'; nothing was written; did you mean 'judge'?
    """
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            every = {*known, "judge", "timeout"}  # which those take who hand on to it
            close = get_close_matches(name, every, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(sorted(every))}"
            raise InvalidArgument(f"there is no keyword {name!r}; nothing was written; {remedy}")


def text(what: str, value: object) -> None:
    """Raise ``InvalidArgument`` for what is no text."""
    if not isinstance(value, str):
        raise wrong(f"{what} is a text", value, "give a str")


def whole(what: str, value: object, remedy: str) -> None:
    """Raise ``InvalidArgument`` for what is no whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(f"{what} is a whole number", value, remedy)


def asked(judge: object) -> bool:
    """Whether there is a judge to ask. Raises ``InvalidArgument`` for what has not the shape of one.

    >>> asked(None)
    False
    >>> asked("typesafe")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    loopbook.errors.InvalidArgument: a judge has an async ask(packet, deadline), not a str; nothing was ...
    """
    if judge is None:
        return False
    if isinstance(judge, type) or not _awaits(getattr(judge, "ask", None)):
        remedy = "give SystemOne.from_env(), a judge of your own, or None"
        raise wrong("a judge has an async ask(packet, deadline)", judge, remedy)
    return True


def _awaits(ask: object) -> bool:
    """Whether a call of it is awaited: a coroutine function, or what wraps one."""
    from inspect import iscoroutinefunction, unwrap

    return callable(ask) and any(
        iscoroutinefunction(one)
        for one in (ask, unwrap(ask), getattr(ask, "__call__", None))  # noqa: B004 - the method itself is looked at
    )


def options(value: object) -> Options:
    """Options whose every field is what it must be; the program's own for ``None``.

    Raises ``InvalidArgument`` and ``InvalidTimeout``.

    >>> options(Options(review_tier="max"))
    Traceback (most recent call last):
    loopbook.errors.InvalidArgument: review_tier is not 'max'; nothing was written; take none, light, full
    """
    if value is None:
        return Options()
    if not isinstance(value, Options):
        raise wrong("options are loopbook.Options", value, "give Options(...)")
    how(value._asdict())
    _asking(value.timeout)
    _dollars(value.cap_usd)
    _one_of("review_tier", value.review_tier, get_args(Tier))
    _checks(value.checks)
    return value


def _dollars(cap: object) -> None:
    if cap is None:
        return
    if isinstance(cap, bool) or not isinstance(cap, int | float):
        told = named(cap)
    elif 0 <= cap <= _TELLABLE:
        return
    else:
        told = f"{cap:g}" if isinstance(cap, float) else "less than nothing" if cap < 0 else "so many"
    raise InvalidArgument(
        f"cap_usd is US dollars, not {told}; nothing was written; give a number from 0, or None for no cap"
    )


def _checks(given: object) -> None:
    remedy = 'give pairs such as ("./verify-all", "tests")'
    if isinstance(given, str) or not isinstance(given, Collection):
        raise wrong("checks are a sequence", given, remedy)
    for one in given:
        if (
            not isinstance(one, tuple | list)
            or len(one) != 2
            or not all(isinstance(part, str) for part in one)
        ):
            raise wrong("a check of your own is a command with its scope", one, remedy)
        _one_of("a check's scope", one[1], get_args(Scope))


def _one_of(what: str, value: object, words: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in words:
        told = f"{value[:40]!r}" if isinstance(value, str) else named(value)
        raise InvalidArgument(f"{what} is not {told}; nothing was written; take {', '.join(words)}")


def version(value: object, what: str = "a version", remedy: str = "give the seq of an entry") -> int:
    """A whole number as a store can look for it. Raises ``InvalidArgument``.

    >>> version(10**5000) == HIGHEST, version(-1)
    (True, -1)
    """
    whole(what, value, remedy)
    return max(-1, min(cast("int", value), HIGHEST))


def how(more: Mapping[str, object]) -> None:
    """Raise ``InvalidArgument`` for a way to settle that is none: of ``settling`` and ``delivering``."""
    idle, most = more.get("idle"), more.get("max_continuations")
    if idle is not None and not callable(idle):
        raise wrong("idle is asked each time", idle, "give a function without arguments, or None")
    if most is not None:
        whole("max_continuations", most, "give an int, or None for however many")
    advisors = more.get("advisors")
    if advisors is None:
        return
    for one in advisors if isinstance(advisors, Iterable) else (advisors,):
        _advisor(one)
    if not isinstance(advisors, Collection):
        raise wrong("advisors are a sequence", advisors, "give a tuple or a list of them")


def _advisor(one: object) -> None:
    if isinstance(one, type) or not all(callable(getattr(one, name, None)) for name in ("gate", "decide")):
        raise wrong("an advisor has a gate and a decide", one, "give a sequence of advisors")
    for name in ("name", "takes_turn", "policy"):
        if not hasattr(one, name):
            remedy = "see loopbook.advisors.shape.Advisor"
            raise InvalidArgument(f"{named(one)} is no advisor without {name}; nothing was written; {remedy}")


def opening(kinds_dir: object, clock: object, new_id: object, redactor: object) -> None:
    """Raise ``InvalidArgument`` for what books cannot be opened with."""
    if not isinstance(kinds_dir, Path | None):
        raise wrong("kinds_dir is a pathlib.Path", kinds_dir, "give a Path, or None for the user's setting")
    if not callable(clock):
        raise wrong("a clock is asked each time", clock, "give a function that returns a datetime")
    if new_id is not None and not callable(new_id):
        raise wrong("new_id is asked for each loop", new_id, "give a function that returns an id")
    if not isinstance(redactor, Redactor | None):
        raise wrong("a redactor is a Redactor", redactor, "give Redactor(secrets)")


def seconds(timeout: object, usual: float) -> float:
    """The seconds to ask within, ``usual`` where nobody says; none are left where they are less than
    nothing. Raises ``InvalidTimeout``."""
    return _asking(usual if timeout is None else timeout)


def _asking(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        told = named(value)
    elif -inf < value <= MAX_SEC:
        return max(value, 0)
    else:
        told = f"{value:g} seconds" if abs(value) <= _TELLABLE or isinstance(value, float) else "so long"
    raise InvalidTimeout(
        f"nobody can be asked within {told}; nothing was written; give seconds, at most {MAX_SEC:g}"
    )


def wait(timeout: object) -> float | None:
    """Seconds to wait for something new; ``None``: for ever. Raises ``InvalidTimeout``."""
    if timeout is None:
        return None
    none = isinstance(timeout, float) and isnan(timeout)
    if none or isinstance(timeout, bool) or not isinstance(timeout, int | float):
        told = "nan" if none else named(timeout)
        raise InvalidTimeout(
            f"nobody can wait for {told}; nothing was written; give seconds, or None to wait for ever"
        )
    return inf if timeout > _TELLABLE else max(0.0, timeout)


# --- events ------------------------------------------------------------------------------------


def run(settled: object) -> Draft:
    """A settled run as a draft that a book takes once. Raises ``InvalidArgument``."""
    draft = settled if isinstance(settled, Draft) else None
    event = settled if draft is None else draft.event
    if not isinstance(event, RunSettled):
        remedy = 'give RunSettled(run="...") with an id of your choice'
        raise wrong("a settled run is needed", event, remedy)
    draft = draft or Draft(event)
    look_at(draft)
    return draft if draft.host_ref is not None else draft._replace(host_ref=f"settled:{event.run}")


def drafts(events: Iterable[object], unit: str | None, host_ref: str | None) -> list[Draft]:
    """Events as drafts, where they are of one. Raises ``InvalidEvent`` and ``InvalidArgument``."""
    made = [event if isinstance(event, Draft) else Draft(_event(event)) for event in events]
    refs: list[str | None] = [host_ref] * len(made)
    if host_ref is not None and len(made) > 1:
        refs = [f"{host_ref}#{n}" for n in range(1, len(made) + 1)]
    whole = [
        draft._replace(
            unit=unit if draft.unit is None else draft.unit,
            host_ref=ref if draft.host_ref is None else draft.host_ref,
        )
        for draft, ref in zip(made, refs, strict=True)
    ]
    for draft in whole:
        look_at(draft)
    return whole


def look_at(draft: object) -> None:
    """Raise for what is no draft of an event."""
    if not isinstance(draft, Draft):
        raise InvalidEvent(f"{named(draft)} is no draft of an event")
    _event(draft.event)
    for what in ("unit", "host_ref", "session"):
        value = getattr(draft, what)
        if value is not None and not isinstance(value, str):
            raise InvalidEvent(f"{what} is a text, not {named(value)}", (what,))
    if draft.at is not None and not isinstance(draft.at, datetime):
        raise InvalidEvent(f"at is a datetime, not {named(draft.at)}", ("at",))


def _event(given: object) -> Event:
    if isinstance(given, Event):
        return given
    hint = ""
    if isinstance(given, Mapping):
        hint = ": loopbook.events.build_event makes one of it"
    elif isinstance(given, list | tuple):
        hint = ": give each as an argument of its own, record(*events)"
    raise InvalidEvent(f"{named(given)} is no event{hint}")
