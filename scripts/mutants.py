"""Change the rules one small piece at a time, and see whether a test notices.

python scripts/mutants.py [PATTERN...]      such as 'loopbook.settlement*'

The tool (mutmut, its settings in pyproject.toml) writes its mutants beside the sources and imports these by
their place, so it works in a copy, ``build/mutants``, in which the links are folders. What it has found there
is kept, so that a second run only looks at what was changed since. Mutants that ``docs/mutants.md`` explains
are not told again; any other that no test notices is, and then the exit code is 1.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "mutants"
PAGE = ROOT / "docs" / "mutants.md"
#: What stands in the place of the links.
FOLDERS = {"projections": "loopbook/projections", "specs/kinds": "loopbook/specs/kinds"}
#: A mutant that no test has noticed, as the tool keeps it.
SURVIVED = 0

Change = frozenset[str]


def explained(page: str) -> set[Change]:
    """The changes that a page explains: each is lines of a diff block, up to the next empty one.

    >>> explained("```diff\\n- a\\n+ b\\n\\n- c\\n```") == {frozenset({"- a", "+ b"}), frozenset({"- c"})}
    True
    """
    blocks = re.findall(r"^```diff\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return {change(part) for block in blocks for part in re.split(r"\n\s*\n", block)}


def change(diff: str) -> Change:
    """The lines that a diff takes away and adds, whatever their indent."""
    lines = [line for line in diff.splitlines() if line[:1] in ("-", "+") and line[:3] not in ("---", "+++")]
    return frozenset(f"{line[0]} {line[1:].strip()}" for line in lines)


def copy() -> None:
    """Bring the copy up to date; what the tool keeps in it stays."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    sources = [name for name in filter(None, listed.stdout.split("\0")) if (ROOT / name).is_file()]
    wanted: dict[Path, Path] = {}
    for name in sources:
        places = [
            f"{link}{name.removeprefix(folder)}"
            for folder, link in FOLDERS.items()
            if name.startswith(f"{folder}/")
        ]
        wanted |= {COPY / place: ROOT / name for place in (name, *places)}
    for folder in {name.split("/")[0] for name in sources if "/" in name}:
        for gone in {path for path in (COPY / folder).rglob("*.py") if path.is_file()} - {*wanted}:
            gone.unlink()
    for target, source in wanted.items():
        if not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def survivors(patterns: list[str]) -> Iterator[str]:
    """The names of mutants that no test has noticed."""
    for kept in sorted((COPY / "mutants").rglob("*.meta")):
        for name, code in json.loads(kept.read_text("utf-8"))["exit_code_by_key"].items():
            if code == SURVIVED and (not patterns or any(fnmatch(name, pattern) for pattern in patterns)):
                yield name


def mutmut(*words: str) -> str:
    """What the tool prints."""
    ran = subprocess.run(
        [sys.executable, "-m", "mutmut", *words], cwd=COPY, check=False, capture_output=True, text=True
    )
    return ran.stdout


def main(patterns: list[str]) -> int:
    """Run, and tell what nobody has explained."""
    copy()
    (COPY / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)  # which test looks at what
    before = [*survivors(patterns)]  # a test that is new may notice them
    for chosen in ([before] if before else []) + [patterns]:
        subprocess.run([sys.executable, "-m", "mutmut", "run", *chosen], cwd=COPY, check=True)
    known, told = explained(PAGE.read_text("utf-8")), 0
    for name in survivors(patterns):
        diff = mutmut("show", name)
        if change(diff) not in known:
            told += 1
            print(f"\n{diff.strip()}")
    print(f"\n{told} mutants that no test notices and {PAGE.relative_to(ROOT)} does not explain")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
