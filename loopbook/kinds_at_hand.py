"""The loop kinds at hand: those that come with the package, and a user's own, read from their files."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from shlex import quote

from loopbook.errors import InvalidKind
from loopbook.kinds import Kind, parse


def load_kinds(folder: Path | None = None) -> dict[str, Kind]:
    """The built-in kinds and those of a user's folder, by name; the user's win.

    Raises ``InvalidKind``, naming the file, for the first one that does not hold together, and for a
    folder that is not there: else a slip in its name would pass for a folder without kinds.

    >>> sorted(load_kinds())
    ['change', 'chore', 'fix', 'research', 'review']
    """
    built_in = files("loopbook").joinpath("specs", "kinds")
    texts = [(item.name, item.read_bytes()) for item in built_in.iterdir() if item.name.endswith(".toml")]
    if folder is not None:
        if not folder.is_dir():
            raise InvalidKind(
                f"kinds_dir {folder} is not there; nothing was done; make it, or correct kinds_dir"
            )
        try:
            texts += [(str(path), path.read_bytes()) for path in sorted(folder.glob("*.toml"))]
        except OSError as wrong:
            raise InvalidKind(
                f"{folder}: cannot be read ({wrong.strerror}); nothing was written; check the folder"
            ) from None
    kinds: dict[str, Kind] = {}
    for where, raw in texts:
        try:
            kind = parse(raw.decode("utf-8-sig"), where)
        except UnicodeDecodeError:
            raise InvalidKind(f"{where}: not UTF-8; nothing was written; save the file as UTF-8") from None
        except InvalidKind as first:
            raise InvalidKind(
                f"{first}; nothing was written;"
                f" for all that is wrong with it: loopbook kinds check {quote(where)}"
            ) from None
        kinds[kind.name] = kind
    return kinds
