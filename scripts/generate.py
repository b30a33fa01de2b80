"""Write what is generated from the code, or check that it is fresh (``--check``, as CI does).

python scripts/generate.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from loopbook.cli.reference import markdown
from loopbook.kinds import Kind, draw, parse, words

ROOT = Path(__file__).resolve().parent.parent


def kinds_page() -> str:
    """``docs/kinds.md``: every built-in kind, its phases, what they need, and a drawing."""
    files = sorted((ROOT / "specs" / "kinds").glob("*.toml"))
    return _KINDS_INTRO + "".join(_kind_section(parse(file.read_text("utf-8"), file.name)) for file in files)


_KINDS_INTRO = """\
# Loop kinds

Generated from `specs/kinds/*.toml` by `scripts/generate.py`; edit those.

A loop kind is data: phases in order, each with needs that evidence meets. The first phase with an unmet
need is `next`. A dotted arrow shows what opens a phase again; a phase with a dashed border is there only
in some loops. `continues` marks the phases to which an advisory lets the run go on.
"""


def _kind_section(kind: Kind) -> str:
    rows = "".join(
        f"| {phase.name} | {'; '.join(map(words, phase.needs))} | {'yes' if phase.continues else ''} |\n"
        for phase in kind.phases
    )
    return (
        f"\n## {kind.name}: {kind.title}\n\n| phase | needs | continues |\n|---|---|---|\n{rows}"
        f"\n```mermaid\n{draw(kind)}\n```\n"
    )


#: Every generated file, by its path from the root, and what makes its text.
OUTPUTS: Mapping[str, Callable[[], str]] = {
    "docs/kinds.md": kinds_page,
    "docs/commands.md": markdown,
}


def main(arguments: list[str]) -> int:
    """Write all outputs, or with ``--check`` name the stale ones and return 1."""
    stale = []
    for name, make in OUTPUTS.items():
        path, text = ROOT / name, make()
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
    if stale and "--check" in arguments:
        print(f"stale: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
