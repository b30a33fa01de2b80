"""Commands that write one event: what they have in common, said once.

Theory. Such a command is a function from its own options to the event. Behind them stand the options
that say where the event goes; they are added when the command is made, and the event is written here.
Nobody needs events to ask for help: whoever makes one names it as ``loopbook.Change``, which is
imported then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING

from loopbook.cli.options import LoopId, Ref, Session, Store, Unit, example
from loopbook.cli.target import Target, write

if TYPE_CHECKING:
    import typer

    from loopbook.events import Event
else:
    Event = object  # its import is most of what a command line costs

__all__ = ["Event", "writes"]

Maker = Callable[..., Event]

#: The options behind a command's own, each with its default.
WHERE: Mapping[str, tuple[object, str | None]] = {
    "loop": (LoopId, None),
    "store": (Store, None),
    "session": (Session, "cli"),
}
#: The same of evidence, which may belong to a unit and be known by an id of its host's own.
WHERE_EVIDENCE = {"unit": (Unit, None), "ref": (Ref, None), **WHERE}


def writes(app: typer.Typer, name: str, *examples: str, evidence: bool = False) -> Callable[[Maker], Maker]:
    """Make of a function from options to an event the command ``name``, which writes that event."""

    def register(maker: Maker) -> Maker:
        app.command(name, epilog=example(*examples))(_Writing(maker, WHERE_EVIDENCE if evidence else WHERE))
        return maker

    return register


class _Writing:
    """The command itself."""

    def __init__(self, maker: Maker, where: Mapping[str, tuple[object, str | None]]) -> None:
        update_wrapper(self, maker)
        self.__annotations__ = {}  # all there is to know is in the signature
        self._maker, self._where = maker, where

    @property
    def __signature__(self) -> Signature:
        own = signature(self._maker, eval_str=True).parameters.values()
        return Signature(
            [param.replace(kind=Parameter.KEYWORD_ONLY) for param in own]
            + [
                Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option)
                for name, (option, default) in self._where.items()
            ]
        )

    def __call__(self, **given: str | None) -> None:
        from loopbook.entry import Draft

        where = {name: given.pop(name) for name in self._where}
        target = Target(where["store"], where["loop"], where["session"] or "")
        write(target, Draft(self._maker(**given), unit=where.get("unit"), host_ref=where.get("ref")))
