"""What a check that somebody records is counted as, with the user's own checks in this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from loopbook.cli.target import settings_for

if TYPE_CHECKING:
    from loopbook.evidence.by_hand import Counted


def counted(command: str, exit_code: int | None, output: str) -> Counted:
    """Read a command line that is said to be a check, with its exit code and the end of its output."""
    from loopbook.evidence import by_hand

    return by_hand.counted(command, exit_code, output, settings_for(None).rules_for(Path.cwd()))
