"""The command line: ``loopbook``.

Theory. A command parses its words, calls what an embedder would call, and prints. Nothing is
decided here. Each room of commands imports what it needs when it runs, so that ``--help`` and
hooks stay quick. Every error leaves through ``main`` as one line and a code (``exits``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the program's own) and return its exit code."""
    from loopbook.cli.exits import INTERRUPTED, PIPE, code_for, explain
    from loopbook.cli.output import complain, prepare_streams

    prepare_streams()
    try:
        code = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain("stopped by Ctrl-C; what was already appended is kept; run it again to go on")
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_stdout()
        return PIPE
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


def _usage(wrong: Exception) -> str:
    """What typer says of a wrong command line, in the form of all other errors."""
    text = wrong.format_message() if hasattr(wrong, "format_message") else str(wrong)
    context = getattr(wrong, "ctx", None)
    path = context.command_path if context else "loopbook"
    return f"{text[:1].lower()}{text[1:].rstrip('.')}; nothing was done; see: {path} --help"


def _give_up_stdout() -> None:
    """The reader has gone: whatever is still buffered goes nowhere, without a second complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
