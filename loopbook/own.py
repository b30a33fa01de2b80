"""What a user's settings come to: the books with all of them, who is asked, and how runs are settled.

An edge: settings and environment are read here, and handed on as values.

::

    with own.books() as books:  # the user's store, kinds, checks, review tier, bounds and advisors
        judge = own.judge()  # and the user's judge; nobody without a key
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from loopbook.evidence.redaction import Redactor
from loopbook.limits import Options, Thresholds

if TYPE_CHECKING:
    from loopbook.advisors.shape import Advisor
    from loopbook.books import Books
    from loopbook.judges.system_one import Key, SystemOne
    from loopbook.judges.system_one.closures import Closures
    from loopbook.settings import Settings


def books(
    url: str | None = None,
    *,
    settings: Settings | None = None,
    session: str = "cli",
    host: str = "loopbook",
    settles: bool = True,
) -> Books:
    """The books with all that the user has set, as the command line has them in the current folder.

    ``settings`` are those of the user's file, of the project that the current folder belongs to and of
    the environment, unless others are given; ``url`` outweighs their ``store``. Where nothing
    ``settles``, no advisor is imported. Raises ``InvalidSettings`` and ``StoreError``.

    >>> from loopbook.settings import load_settings
    >>> set_to = load_settings(environ={"HOME": "/nowhere", "LOOPBOOK_REVIEW_TIER": "full"})
    >>> books("memory:", settings=set_to).start("chore", "Tidy up").state.life.review_tier
    'full'
    """
    from loopbook.books import Books

    own = _settled(settings)
    store = own.store if url is None else url
    kept = options(own) if settles else recording(own)
    return Books.open(store, session=session, host=host, kinds_dir=own.kinds_dir, options=kept)


def judge(settings: Settings | None = None, environ: Mapping[str, str] | None = None) -> SystemOne | None:
    """The judge that settings and environment name; nobody where a key is needed and there is none.

    ``settings`` are those that hold in the current folder, unless others are given.
    The key is looked for anew each time something is asked; where a server refuses it, other processes know
    that from the user's data folder. Raises ``UnknownDialect``.
    """
    env = os.environ if environ is None else environ
    found = system_one(_settled(settings), env)
    found.closures = closures(env)
    return found if found.can_ask() else None


def _settled(settings: Settings | None) -> Settings:
    """The settings that are given, else those that hold here. Raises ``InvalidArgument``."""
    from loopbook import given
    from loopbook.settings import Settings, load_settings

    if settings is None:
        return load_settings(Path.cwd())
    if not isinstance(settings, Settings):
        raise given.wrong("settings are loopbook.settings.Settings", settings, "give load_settings(...)")
    return settings


def judge_of(environ: Mapping[str, str], redactor: Redactor | None = None) -> SystemOne | None:
    """The same for the environment alone: no file of settings is read. Raises ``InvalidSettings`` too."""
    from loopbook.settings import load_settings

    found = system_one(load_settings(None, environ, files=False), environ, redactor)
    return found if found.can_ask() else None


def system_one(settings: Settings, environ: Mapping[str, str], redactor: Redactor | None = None) -> SystemOne:
    """The same, whether or not it has what it takes to ask."""
    from loopbook.judges.system_one import Price, SystemOne

    return SystemOne(
        settings.judge_url,
        model=settings.judge_model,
        key=lambda: own_key(settings, environ),
        dialect=settings.judge_dialect,
        allow_http=settings.judge_allow_http,
        price=Price(settings.judge_price, settings.judge_output_price or 0.0),
        redactor=Redactor.of_variables(environ) if redactor is None else redactor,
    )


def closures(environ: Mapping[str, str]) -> Closures:
    """The servers that refused the user's key lately."""
    from loopbook.judges.system_one.closures import Closures
    from loopbook.places import data_folder

    return Closures(data_folder(environ))


def own_key(settings: Settings, environ: Mapping[str, str]) -> Key | None:
    """The user's key for the judge's server. Raises ``InvalidKey`` and ``KeyFileRefused``."""
    from loopbook.judges.system_one.key import find_key

    return find_key(settings.judge_url, environ)


def options(settings: Settings) -> Options:
    """How loops begin, checks are read and runs settled, as the settings have it: for
    ``Books.open(options=...)``. What is left to that is the store and the folder of kinds."""
    return recording(_settled(settings))._replace(
        advisors=advisors(settings),
        timeout=settings.judge_timeout,
        max_continuations=settings.max_continuations,
        cap_usd=settings.judge_cap,
    )


def recording(settings: Settings) -> Options:
    """The part of it that only recording needs: no advisor is imported."""
    checks = settings.checks_in(Path.cwd())
    return Options(
        review_tier=settings.review_tier, checks=tuple((check.command, check.scope) for check in checks)
    )


def advisors(settings: Settings) -> tuple[Advisor, ...]:
    """Those that may speak, in their order."""
    from loopbook.advisors.second_thought import SecondThought

    if not settings.second_thought:
        return ()
    return (
        SecondThought(
            waiting_tools=frozenset(settings.waiting_tools),
            subagent_tools=settings.subagent_tools,
            thresholds=Thresholds(settings.done_threshold, settings.quality_threshold),
        ),
    )
