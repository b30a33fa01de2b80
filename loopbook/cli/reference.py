"""docs/commands.md, written from the commands themselves, so that it cannot say anything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

from loopbook.cli.exits import EXIT_CODES


class Param(Protocol):
    """What is read of an option or argument."""

    name: str
    param_type_name: str
    opts: list[str]
    secondary_opts: list[str]
    metavar: str | None
    help: str | None
    required: bool
    envvar: str | list[str] | None


class Command(Protocol):
    """What is read of a command or group."""

    name: str | None
    help: str | None
    epilog: str | None
    params: list[Param]


class Described(NamedTuple):
    """One command of the tree; ``path`` is what is typed, such as ``loopbook loop start``."""

    path: str
    command: Command
    group: bool

    @property
    def examples(self) -> tuple[str, ...]:
        """The command lines of its epilog."""
        lines = (self.command.epilog or "").splitlines()
        return tuple(line.strip() for line in lines if line.startswith("  loopbook "))


def commands() -> tuple[Described, ...]:
    """Every command and group of ``loopbook``, in the order of the help."""
    from loopbook.cli.app import command_tree

    return tuple(_walk("loopbook", command_tree()))


def _walk(path: str, command: object) -> Iterator[Described]:
    inner = getattr(command, "commands", {})
    yield Described(path, cast("Command", command), bool(inner))
    for name, child in inner.items():
        yield from _walk(f"{path} {name}", child)


def markdown() -> str:
    """The whole of docs/commands.md."""
    parts = ["# Commands\n", "Written from the program's own help; `make docs` writes it anew.\n"]
    parts += [_section(described) for described in commands()]
    parts.append("## Exit codes\n\n| code | meaning |\n|---|---|")
    parts += [f"| {row.code} | {row.meaning} |" for row in EXIT_CODES]
    return "\n".join(parts) + "\n"


def _section(described: Described) -> str:
    params = [param for param in described.command.params if param.name != "help"]
    words = " ".join(_usage(param) for param in params if param.param_type_name == "argument")
    tail = " COMMAND" if described.group else ""
    usage = (
        " ".join(filter(None, [described.path, "[OPTIONS]" if _has_options(params) else "", words])) + tail
    )
    lines = [f"## {described.path}\n", f"{(described.command.help or '').strip()}\n", f"    {usage}\n"]
    if params:
        lines += ["| option or argument | meaning |", "|---|---|"]
        lines += [f"| {_names(param)} | {_meaning(param)} |" for param in params]
        lines.append("")
    if described.examples:
        lines += ["Example:\n", *(f"    {line}" for line in described.examples), ""]
    return "\n".join(lines)


def _has_options(params: list[Param]) -> bool:
    return any(param.param_type_name == "option" for param in params)


def _usage(param: Param) -> str:
    word = param.metavar or param.name.upper()
    return word if param.required else f"[{word}]"


def _names(param: Param) -> str:
    if param.param_type_name == "argument":
        return f"`{_cell(param.metavar or param.name.upper())}`"
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    return f"{names} {_cell(param.metavar)}" if param.metavar else names


def _meaning(param: Param) -> str:
    words = _cell(param.help or "")
    if param.envvar:
        words += f" Variable: `{param.envvar}`."
    return f"{words} Required." if param.required and param.param_type_name == "option" else words


def _cell(text: str) -> str:
    """Text in a cell of a Markdown table, as it stands."""
    return text.replace("|", "\\|").replace("<", "\\<")
