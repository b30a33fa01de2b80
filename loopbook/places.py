"""Where a user's files lie: settings, key and books, as each system has it.

Only the environment and the system's name decide, so both may be given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


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
    if store == default_store(env):
        make_own_folder(data_folder(env))


def make_own_folder(own: Path) -> None:
    """Make a folder and those it lies in, for their owner alone. Raises ``OSError``."""
    for folder in reversed([own, *own.parents]):
        if not folder.exists():
            folder.mkdir(0o700, exist_ok=True)
