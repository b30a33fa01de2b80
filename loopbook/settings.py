"""Settings: what may be set, where, and who wins.

Theory. Five layers, the later wins: defaults, the user's file, the project's file, environment,
arguments. The project's file comes with somebody else's checkout, so it is not trusted: a
setting says how a project's value *joins* the one before it (``stricter``), and one that has no
such join may not stand there at all. So a project can only tighten, whatever it says, and the
store, the folder of kinds and the commands that count as checks are the user's alone. Every
value keeps its origin, so that ``loopbook settings show`` can say who decided.

Only the edges read settings; the pure part is handed values.
"""

from __future__ import annotations

import difflib
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from loopbook.errors import InvalidSettings

if TYPE_CHECKING:
    from loopbook.events import Scope, Tier
    from loopbook.evidence.outcomes import Rules

USER_FILE = "settings.toml"
PROJECT_FILE = ".loopbook.toml"
#: A settings file is a page, not a book: more than this is a mistake or an attack.
MAX_BYTES = 1_000_000
TIERS: tuple[Tier, ...] = ("none", "light", "full")


class FolderCheck(NamedTuple):
    """A command that counts as a check of ``scope`` in ``folder`` and below it."""

    folder: Path
    command: str
    scope: Scope


class Settings(NamedTuple):
    """The settled values, and where each comes from.

    ``store`` is a store URL; ``kinds_dir`` a folder of further loop kinds; ``review_tier`` the
    least review that a loop opened from the command line asks for; ``checks`` the user's own
    check commands. ``origins`` names, per setting, a file, a variable, or *default*/*argument*.
    """

    store: str
    kinds_dir: Path | None
    review_tier: Tier
    checks: tuple[FolderCheck, ...]
    origins: Mapping[str, str]

    def rules_for(self, folder: Path) -> Rules:
        """The user's check commands that hold in ``folder``, as the evidence reader takes them."""
        from loopbook.evidence.outcomes import Rules, UserCheck

        try:
            here = folder.resolve()
        except (OSError, ValueError, RuntimeError):  # the folder may come from a hostile session file
            return Rules()
        return Rules(
            checks=tuple(
                UserCheck(check.command, check.scope)
                for check in self.checks
                if here.is_relative_to(check.folder)
            )
        )


class Place(NamedTuple):
    """Where a value stands: ``base`` is what a relative path there starts from."""

    origin: str
    base: Path
    home: Path


class Setting(NamedTuple):
    """One row of the table. ``read`` checks a raw value or raises ``ValueError`` with what it must be."""

    meaning: str
    read: Callable[[object, Place], object]
    variable: str | None = None
    stricter: Callable[[object, object], object] | None = None


def _text(raw: object, _place: Place) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise ValueError("a non-empty text")
    return raw


def _folder(raw: object, place: Place) -> Path:
    path = _text(raw, place)
    if path == "~" or path.startswith(("~/", "~\\")):
        return place.home / path[2:]
    return place.base / path


def _tier(raw: object, _place: Place) -> Tier:
    for tier in TIERS:
        if raw == tier:
            return tier
    raise ValueError("one of none, light, full")


def _stricter_tier(before: object, project: object) -> object:
    return max(cast("Tier", before), cast("Tier", project), key=TIERS.index)


def _scopes() -> tuple[str, ...]:
    from loopbook.events import Scope  # only where checks are set: events cost an import of pydantic

    return get_args(Scope)


def _checks(raw: object, place: Place) -> tuple[FolderCheck, ...]:
    if not isinstance(raw, list):
        raise ValueError("tables [[checks]] with folder, command and scope")
    return tuple(_check(row, place) for row in raw)


def _check(row: object, place: Place) -> FolderCheck:
    if not isinstance(row, dict) or set(row) != {"folder", "command", "scope"}:
        raise ValueError("tables [[checks]] with exactly folder, command and scope")
    if row["scope"] not in _scopes():
        raise ValueError(f"tables [[checks]] whose scope is one of {', '.join(_scopes())}")
    folder = _folder(row["folder"], place).resolve()
    return FolderCheck(folder, _text(row["command"], place), cast("Scope", row["scope"]))


#: Everything that can be set. A row without ``stricter`` may not stand in a project's file.
SETTINGS: Mapping[str, Setting] = {
    "store": Setting("URL of the store that keeps the books", _text, "LOOPBOOK_STORE"),
    "kinds_dir": Setting("folder with your own loop kinds (*.toml)", _folder, "LOOPBOOK_KINDS_DIR"),
    "review_tier": Setting(
        "least review a new loop asks for: none, light or full", _tier, "LOOPBOOK_REVIEW_TIER", _stricter_tier
    ),
    "checks": Setting("commands that count as checks, each with its folder and scope", _checks),
}


def load_settings(
    project: Path | None = None,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[str, object] | None = None,
    *,
    platform: str = sys.platform,
) -> Settings:
    """Settle every setting for a project folder (``None``: no project's file is looked for).

    ``arguments`` hold what the caller was given by hand; ``None`` in it means not given. Raises
    ``InvalidSettings`` that names file (or variable) and key for anything unknown or wrong.

    >>> load_settings(environ={"HOME": "/nowhere", "LOOPBOOK_STORE": "sqlite:///a.db"}).store
    'sqlite:///a.db'
    """
    env = os.environ if environ is None else environ
    home, here = home_folder(env), Path.cwd()
    user = config_folder(env, platform) / USER_FILE
    settled = _Settled(
        {"store": default_store(env, platform), "kinds_dir": None, "review_tier": "light", "checks": ()}
    )
    settled.take(_toml(user), Place(str(user), user.parent, home))
    if file := project_file(project):
        settled.tighten(_allowed(_toml(file), file, user), Place(str(file), file.parent, home))
    for name, row in SETTINGS.items():
        if row.variable and (raw := env.get(row.variable)):
            settled.take({name: raw}, Place(f"${row.variable}", here, home))
    given = {name: raw for name, raw in (arguments or {}).items() if raw is not None}
    settled.take(given, Place("argument", here, home))
    return settled.settings()


def settings_files(
    project: Path | None = None, environ: Mapping[str, str] | None = None, *, platform: str = sys.platform
) -> tuple[tuple[str, Path, bool], ...]:
    """The files that ``load_settings`` looks for: whose, where, and whether it is there."""
    env = os.environ if environ is None else environ
    user = config_folder(env, platform) / USER_FILE
    found = project_file(project)
    files = [("user", user, user.is_file())]
    if project is not None:
        files.append(("project", found or project.resolve() / PROJECT_FILE, found is not None))
    return tuple(files)


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

    def settings(self) -> Settings:
        """The end of it."""
        return Settings(
            store=cast("str", self.values["store"]),
            kinds_dir=cast("Path | None", self.values["kinds_dir"]),
            review_tier=cast("Tier", self.values["review_tier"]),
            checks=cast("tuple[FolderCheck, ...]", self.values["checks"]),
            origins=self.origins,
        )


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


def _toml(file: Path) -> Mapping[str, object]:
    """A settings file's table; a file that is not there is an empty one."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as wrong:
        raise InvalidSettings(
            f"{file} cannot be read ({wrong.strerror}); no setting was taken; make it readable or remove it"
        ) from None
    if len(data) > MAX_BYTES:
        raise InvalidSettings(f"{file} is larger than 1 MB; no setting was taken; shorten or remove it")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as wrong:
        reason = "nested too deeply" if isinstance(wrong, RecursionError) else wrong
        raise InvalidSettings(
            f"{file} is not TOML ({reason}); no setting was taken; correct the file"
        ) from None


# --- where things lie ---------------------------------------------------------------


def project_file(project: Path | None) -> Path | None:
    """The nearest ``.loopbook.toml``, in the project folder or one of its parents."""
    if project is None:
        return None
    folder = project.resolve()
    return next((f for d in (folder, *folder.parents) if (f := d / PROJECT_FILE).is_file()), None)


def home_folder(environ: Mapping[str, str]) -> Path:
    """The user's home: ``HOME`` (``USERPROFILE`` on Windows), else what the system knows."""
    named = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(named) if named else Path.home()


def config_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the user's ``settings.toml`` lies.

    >>> config_folder({"HOME": "/home/ada"}, "linux").as_posix()
    '/home/ada/.config/loopbook'
    """
    return _own_folder(environ, platform, "XDG_CONFIG_HOME", ".config", "APPDATA")


def data_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the books lie unless somebody says otherwise.

    >>> data_folder({"HOME": "/Users/ada"}, "darwin").as_posix()
    '/Users/ada/Library/Application Support/loopbook'
    """
    return _own_folder(environ, platform, "XDG_DATA_HOME", ".local/share", "LOCALAPPDATA")


def _own_folder(environ: Mapping[str, str], platform: str, xdg: str, unix: str, windows: str) -> Path:
    home = home_folder(environ)
    if platform == "darwin":
        return home / "Library" / "Application Support" / "loopbook"
    if platform == "win32":
        named = environ.get(windows)
        return (Path(named) if named else home / "AppData") / "loopbook"
    named = environ.get(xdg, "")
    # The XDG rules say that a relative path there is to be ignored.
    return (Path(named) if named.startswith("/") else home / unix) / "loopbook"


def default_store(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """The store when nobody chose one: ``books.db`` in the user's data folder."""
    return "sqlite:///" + (data_folder(environ, platform) / "books.db").as_posix()


def make_default_folder(store: str, environ: Mapping[str, str] | None = None) -> None:
    """Make the folder of the default store, for its owner alone; that of a named store must be there.

    Else a slip in a store's name would leave folders behind. Raises ``OSError``.
    """
    env = os.environ if environ is None else environ
    if store != default_store(env):
        return
    own = data_folder(env)
    for folder in reversed([own, *own.parents]):
        if not folder.exists():
            folder.mkdir(0o700, exist_ok=True)
