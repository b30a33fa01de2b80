"""What loopbook is proved with, for your own kinds and advisors too.

``book_machine`` makes a hypothesis state machine over books, ``walk`` goes through all short histories of a
kind, ``broken`` looks through any book for what must not be, and ``run_scenario`` runs scenario files. See
``docs/testing.md``. Names are imported when they are first used: only the machine needs hypothesis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopbook.errors import MissingExtra

if TYPE_CHECKING:
    from loopbook.testing.alphabet import letters as letters
    from loopbook.testing.always import Always as Always
    from loopbook.testing.always import broken as broken
    from loopbook.testing.machine import BookMachine as BookMachine
    from loopbook.testing.machine import book_machine as book_machine
    from loopbook.testing.scenario_file import parse_scenarios as parse_scenarios
    from loopbook.testing.scenario_file import read_scenarios as read_scenarios
    from loopbook.testing.scenarios import run_scenario as run_scenario
    from loopbook.testing.sheet import Sheet as Sheet
    from loopbook.testing.walking import Offence as Offence
    from loopbook.testing.walking import Walked as Walked
    from loopbook.testing.walking import walk as walk

_WHERE = {
    "Always": "always",
    "BookMachine": "machine",
    "Offence": "walking",
    "Sheet": "sheet",
    "Walked": "walking",
    "book_machine": "machine",
    "broken": "always",
    "letters": "alphabet",
    "parse_scenarios": "scenario_file",
    "read_scenarios": "scenario_file",
    "run_scenario": "scenarios",
    "walk": "walking",
}

__all__ = [
    "Always", "BookMachine", "Offence", "Sheet", "Walked", "book_machine", "broken", "letters",
    "parse_scenarios", "read_scenarios", "run_scenario", "walk",
]  # fmt: skip


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not missing.name.startswith("hypothesis"):
            raise
        raise MissingExtra(
            f"{name} needs hypothesis, which is not installed; nothing was run;"
            " install it with: pip install 'loopbook[testing]'"
        ) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
