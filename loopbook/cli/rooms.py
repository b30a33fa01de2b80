"""Rooms of commands, each imported and made when it is called.

Theory. A hook starts the program for each event, so a command line pays for its own command and for
no other. A *room* is a Typer app in a module of its own. Its row in ``ROOMS`` says where; the module
is imported when something in the room is called or its help is asked for, and of its commands only
the one that is called is made. Help and the page of commands ask for all, and so make all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_command_name, get_group

if TYPE_CHECKING:
    from typer import Typer
    from typer._click.core import Command, Context, Parameter  # which have no public name
    from typer.models import CommandInfo

#: Every room, and every command outside a room: what is typed, and the ``module:name`` of its Typer app.
#: An app that has a command of the row's own last word stands for that command alone.
ROOMS: Mapping[str, str] = {
    "audit": "loopbook.cli.audit:app",
    "replay": "loopbook.cli.replay:app",
    "explain": "loopbook.cli.replay:app",
    "loop": "loopbook.cli.loop:app",
    "loop settle": "loopbook.cli.settle:app",
    "loop close": "loopbook.cli.closing:app",
    "loop undelivered": "loopbook.cli.handing:app",
    "loop acknowledge": "loopbook.cli.handing:app",
    "loop record": "loopbook.cli.record:app",
    "loop todo": "loopbook.cli.parts:todo_app",
    "loop unit": "loopbook.cli.parts:unit_app",
    "loop child": "loopbook.cli.parts:child_app",
    "judge": "loopbook.cli.judge:app",
    "judge key": "loopbook.cli.keys:app",
    "store": "loopbook.cli.store:app",
    "store fsck": "loopbook.cli.upkeep:app",
    "store export": "loopbook.cli.upkeep:app",
    "store import": "loopbook.cli.upkeep:app",
    "store forget": "loopbook.cli.upkeep:app",
    "store vacuum": "loopbook.cli.upkeep:app",
    "store scrub": "loopbook.cli.scrub:app",
    "kinds": "loopbook.cli.kinds:app",
    "spec": "loopbook.cli.spec:app",
    "settings": "loopbook.cli.settings:app",
}


class _Made(Mapping[str, "Command"]):
    """Commands by name, each made when it is first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Command]]) -> None:
        self._makers = makers
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class _Command(TyperCommand):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _lean(super().get_params(ctx))


class _Room(TyperGroup):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _lean(super().get_params(ctx))


class Program(_Room):
    """The group that all the others are in."""

    def __init__(self, **given: Any) -> None:  # what typer gives a group
        super().__init__(**given)
        self.commands = _commands("", ())


def _lean(params: list[Parameter]) -> list[Parameter]:
    """Options that are not converted where they are not given.

    Typer makes a pydantic validator for each option that a command line could have had: more work than
    all the rest of reading one.
    """
    for param in params:
        if "process_value" not in vars(param):
            vars(param)["process_value"] = partial(_processed, param, param.process_value)
    return params


def _processed(
    param: Parameter, process: Callable[[Context, object], object], ctx: Context, value: object
) -> object:
    if value is not None or param.required:
        return process(ctx, value)
    nothing = () if param.nargs == -1 or getattr(param, "multiple", False) else None
    return nothing if param.callback is None else param.callback(ctx, param, nothing)


def _commands(path: str, own: Iterable[CommandInfo]) -> dict[str, Command]:
    """What there is in a room: its own commands in the order of its module, then the rooms in it."""
    makers: dict[str, Callable[[], Command]] = {_name(info): partial(_command, info) for info in own}
    for row, where in ROOMS.items():
        above, _, name = row.rpartition(" ")
        if above == path:
            makers[name] = partial(_found, row, name, where)
    return cast("dict[str, Command]", _Made(makers))  # nobody adds to it


def _found(path: str, name: str, where: str) -> Command:
    """What a row stands for: a whole room, or a command."""
    module, _, attribute = where.partition(":")
    app: Typer = getattr(import_module(module), attribute)
    for info in app.registered_commands:
        if _name(info) == name:
            return _command(info)
    return _room(path, name, app)


def _room(path: str, name: str, app: Typer) -> TyperGroup:
    bare, bare.info = copy(app), copy(app.info)
    bare.registered_commands, bare.rich_markup_mode = [], None
    bare.info.cls, bare.info.name = _Room, name
    room = get_group(bare)
    room.commands = _commands(path, app.registered_commands)
    return room


def _command(info: CommandInfo) -> Command:
    lean = copy(info)
    lean.cls = _Command
    return get_command_from_info(lean, pretty_exceptions_short=False, rich_markup_mode=None)


def _name(info: CommandInfo) -> str:
    return info.name or get_command_name(cast("Callable[..., object]", info.callback).__name__)
