"""Settings: what may be set, where, and who wins.

Theory. Five layers, the later wins: defaults, the user's file, the project's file, environment,
arguments. The project's file comes with somebody else's checkout, so it is not trusted: a
setting says how a project's value *joins* the one before it (``stricter``), and one that has no
such join may not stand there at all. So a project can only tighten, whatever it says, and the
store, the folder of kinds, the commands that count as checks, and the judge with its key are the
user's alone. Every value keeps its origin, so that ``loopbook settings show`` can say who decided.

Only the edges read settings; the pure part is handed values (``loopbook.own``).
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from loopbook.errors import InvalidSettings
from loopbook.places import config_folder, data_folder, home_folder, make_default_folder
from loopbook.settings.files import project_file, settings_files, toml, user_file
from loopbook.settings.readers import TIERS, UNLIMITED, FolderCheck, Place
from loopbook.settings.table import SETTINGS, Setting

if TYPE_CHECKING:
    from loopbook.events import Tier
    from loopbook.evidence.outcomes import Rules

__all__ = [
    "SETTINGS", "TIERS", "UNLIMITED", "FolderCheck", "Place", "Setting", "Settings",
    "config_folder", "data_folder", "load_settings", "make_default_folder", "project_file", "settings_files",
]  # fmt: skip


class Settings(NamedTuple):
    """The settled values, named as in ``SETTINGS``, which says what each is; ``origins`` names, per
    setting, a file, a variable, or *default*/*argument*."""

    store: str
    kinds_dir: Path | None
    review_tier: Tier
    checks: tuple[FolderCheck, ...]
    judge_url: str
    judge_model: str | None
    judge_dialect: str | None
    judge_timeout: float
    judge_allow_http: bool
    judge_price: float | None
    judge_output_price: float | None
    judge_cap: float | None
    second_thought: bool
    done_threshold: float
    quality_threshold: float
    max_continuations: int | None
    waiting_tools: tuple[str, ...]
    subagent_tools: Mapping[str, str]
    origins: Mapping[str, str]

    def rules_for(self, folder: Path) -> Rules:
        """The user's check commands that hold in ``folder``, as the evidence reader takes them."""
        from loopbook.evidence.outcomes import Rules, UserCheck

        return Rules(tuple(UserCheck(check.command, check.scope) for check in self.checks_in(folder)))

    def checks_in(self, folder: Path) -> tuple[FolderCheck, ...]:
        """The user's check commands that hold in ``folder``."""
        try:
            here = folder.resolve()
        except (OSError, ValueError, RuntimeError):  # the folder may come from a hostile session file
            return ()
        return tuple(check for check in self.checks if here.is_relative_to(check.folder))


def load_settings(
    project: Path | None = None,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[str, object] | None = None,
    *,
    files: bool = True,
    platform: str = sys.platform,
) -> Settings:
    """Settle every setting for a project folder (``None``: no project's file is looked for).

    ``arguments`` hold what the caller was given by hand; ``None`` in it means not given. Without ``files``
    no file is read, the user's neither. Raises
    ``InvalidSettings`` that names file (or variable) and key for anything unknown or wrong.

    >>> load_settings(environ={"HOME": "/nowhere", "LOOPBOOK_STORE": "sqlite:///a.db"}).store
    'sqlite:///a.db'
    """
    env = os.environ if environ is None else environ
    home, here = home_folder(env), Path.cwd()
    user = user_file(env, platform)
    settled = _Settled({name: row.default(env, platform) for name, row in SETTINGS.items()})
    for name, row in SETTINGS.items():
        if row.weak and (raw := env.get(row.weak)):
            settled.take({name: raw}, Place(f"${row.weak}", here, home))
    settled.take(toml(user) if files else {}, Place(str(user), user.parent, home))
    if files and (file := project_file(project)):
        settled.tighten(_allowed(toml(file), file, user), Place(str(file), file.parent, home))
    for name, row in SETTINGS.items():
        if row.variable and (raw := env.get(row.variable)):
            settled.take({name: raw}, Place(f"${row.variable}", here, home))
    given = {name: raw for name, raw in (arguments or {}).items() if raw is not None}
    settled.take(given, Place("argument", here, home))
    return Settings._make([*(settled.values[name] for name in Settings._fields[:-1]), settled.origins])


class _Settled:
    """The values as they stand after the layers taken so far."""

    def __init__(self, defaults: dict[str, object]) -> None:
        self.values = defaults
        self.origins = dict.fromkeys(defaults, "default")

    def take(self, table: Mapping[str, object], place: Place) -> None:
        """A layer that wins over all before it."""
        for name, raw in table.items():
            self.values[name], self.origins[name] = _read(name, raw, place), place.origin

    def tighten(self, table: Mapping[str, object], place: Place) -> None:
        """A layer that counts only as far as it is stricter."""
        for name, raw in table.items():
            stricter = cast("Callable[[object, object], object]", SETTINGS[name].stricter)
            joined = stricter(self.values[name], _read(name, raw, place))
            if joined != self.values[name]:
                self.values[name], self.origins[name] = joined, place.origin


def _read(name: str, raw: object, place: Place) -> object:
    row = SETTINGS.get(name)
    if row is None:
        raise InvalidSettings(_unknown(name, place.origin, SETTINGS))
    try:
        return row.read(raw, place)
    except ValueError as wrong:
        raise InvalidSettings(
            f"{place.origin}: {name} must be {wrong}; no setting was taken; correct {name} there"
        ) from None


def _allowed(table: Mapping[str, object], file: Path, user: Path) -> Mapping[str, object]:
    may = [name for name, row in SETTINGS.items() if row.stricter]
    for name in table:
        if name not in SETTINGS:
            raise InvalidSettings(_unknown(name, str(file), may))
        if name not in may:
            raise InvalidSettings(
                f"{file}: {name} may not be set by a project; no setting was taken;"
                f" move it to {user} (a project may set: {', '.join(may)})"
            )
    return table


def _unknown(name: str, origin: str, names: Mapping[str, object] | Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"there is: {', '.join(names)}"
    return f"{origin}: unknown setting {name!r}; no setting was taken; {remedy}"
