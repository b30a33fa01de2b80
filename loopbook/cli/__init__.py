"""The command line: ``loopbook``.

Theory. A command parses its words, calls what an embedder would call, and prints. Nothing is
decided here. A hook starts the program for each event, so nothing is imported that the one command
called does not use (``rooms``). Every error leaves through ``main`` as one line and a code (``exits``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the program's own) and return its exit code."""
    from loopbook.cli.exits import PIPE, STORE
    from loopbook.cli.output import give_up_streams, prepare_streams

    prepare_streams()
    if argv is None:
        # Pydantic's plug-ins: to look for them is to read the metadata of every installed package,
        # and one that is found would see texts before they are redacted.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        code = _guarded(sys.argv[1:] if argv is None else list(argv))
        sys.stderr.flush()
    except BrokenPipeError:
        code = PIPE
    except OSError:  # standard error cannot be written: nobody can be told why
        code = STORE
    give_up_streams()
    return code


def _guarded(argv: list[str]) -> int:
    """Run it; whatever goes wrong becomes a line and a code, save that nobody reads any more."""
    from loopbook.cli.exits import INTERRUPTED, code_for, explain
    from loopbook.cli.output import complain

    try:
        code = _run(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain("stopped by Ctrl-C; what was already appended is kept; run it again to go on")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the one place where everything else becomes a line
        if os.environ.get("LOOPBOOK_DEBUG"):
            import traceback

            traceback.print_exc()
        complain(explain(error))
        return code_for(error)
    return code


def _run(argv: list[str]) -> int:
    import typer

    from loopbook.cli.app import command_tree
    from loopbook.cli.exits import USAGE
    from loopbook.cli.output import complain

    usage_error: type[Exception] = typer.BadParameter.__bases__[0]
    try:
        command = command_tree()
        with command.make_context("loopbook", argv) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as wrong:
        complain(_usage(wrong))
        return USAGE
    return 0


#: What the parser says of a value, and how a person would say it.
_WORDS = (
    ("Value error, ", ""),
    ("Input should be a valid integer, unable to parse string as an integer", "a whole number is needed"),
    ("Input should be a valid number, unable to parse string as a number", "a number is needed"),
    ("Input should be", "it must be"),
)


def _usage(wrong: Exception) -> str:
    """What typer says of a wrong command line, in the form of all other errors."""
    text = wrong.format_message() if hasattr(wrong, "format_message") else str(wrong)
    for theirs, ours in _WORDS:
        text = text.replace(theirs, ours)
    if getattr(getattr(wrong, "param", None), "multiple", False):
        text = f"{text.rstrip('.')} (for several, repeat the option)"
    context = getattr(wrong, "ctx", None)
    path = context.command_path if context else "loopbook"
    return f"{text[:1].lower()}{text[1:].rstrip('.')}; nothing was done; see: {path} --help"
