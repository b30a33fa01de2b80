"""The settings files: where they are looked for, and how one is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from loopbook.errors import InvalidSettings
from loopbook.places import config_folder

USER_FILE = "settings.toml"
PROJECT_FILE = ".loopbook.toml"
#: A settings file is a page, not a book: more than this is a mistake or an attack.
MAX_BYTES = 1_000_000


def user_file(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The user's file, there or not."""
    return config_folder(environ, platform) / USER_FILE


def project_file(project: Path | None) -> Path | None:
    """The nearest ``.loopbook.toml``, in the project folder or one of its parents."""
    if project is None:
        return None
    folder = project.resolve()
    return next((f for d in (folder, *folder.parents) if (f := d / PROJECT_FILE).is_file()), None)


def settings_files(
    project: Path | None = None, environ: Mapping[str, str] | None = None, *, platform: str = sys.platform
) -> tuple[tuple[str, Path, bool], ...]:
    """The files that ``load_settings`` looks for: whose, where, and whether it is there."""
    user = user_file(os.environ if environ is None else environ, platform)
    found = project_file(project)
    files = [("user", user, user.is_file())]
    if project is not None:
        files.append(("project", found or project.resolve() / PROJECT_FILE, found is not None))
    return tuple(files)


def toml(file: Path) -> Mapping[str, object]:
    """A settings file's table; a file that is not there is an empty one. Raises ``InvalidSettings``."""
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
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as wrong:
        reason = "nested too deeply" if isinstance(wrong, RecursionError) else wrong
        raise InvalidSettings(
            f"{file} is not TOML ({reason}); no setting was taken; correct the file"
        ) from None
