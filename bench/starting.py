"""Starting: what an import and a command cost beyond a bare Python; and auditing a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from bench.timing import Row, Sizes, compared, in_turn, seconds
from loopbook.audit.session import audit_session

ROOT = Path(__file__).resolve().parent.parent


def cpu(command: Sequence[str], folder: Path) -> float:
    """The seconds of processor time, user and system, that a process takes."""
    environment = {**os.environ, "LOOPBOOK_STORE": f"sqlite:///{folder}/started.db", "HOME": str(folder)}
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=folder)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _started(what: str, code: str, folder: Path, sizes: Sizes, bar_ms: float | None = None) -> Row:
    bare = [sys.executable, "-c", "pass"]
    ours, reference = in_turn(
        lambda: cpu([sys.executable, "-c", code], folder), lambda: cpu(bare, folder), sizes.starts
    )
    more = (ours - reference) * 1e3
    said = f"{ours * 1e3:.0f} ms", f"{reference * 1e3:.0f} ms", f"+{max(more, 0):.0f} ms"
    return Row(what, *said) if bar_ms is None else Row(what, *said, f"<= +{bar_ms:g} ms", more <= bar_ms)


def _command(*words: str) -> str:
    return f"import sys; sys.argv = {['loopbook', *words]!r}; from loopbook.cli import main; sys.exit(main())"


def _audited(folder: Path, session: Path, sizes: Sizes) -> Row:
    copy = folder / "session.jsonl"
    copy.write_bytes(session.read_bytes())
    lines = copy.read_bytes().splitlines()
    megabytes = copy.stat().st_size / 1e6

    def parsed() -> float:
        return seconds(lambda: [json.loads(line) for line in lines])

    ours, floor = in_turn(lambda: seconds(lambda: audit_session(copy)), parsed, min(sizes.rounds, 5))
    what = f"audit of {megabytes:.1f} MB, each MB; json.loads of its lines"
    return compared(what, ours / megabytes, floor / megabytes, None)


def largest_session() -> Path:
    """The largest recorded session at hand: a real one, or the demo's."""
    shared = Path(os.environ.get("LOOPBOOK_SHARED") or ROOT.parent / "shared") / "data" / "transcripts"
    found = [*shared.glob("*.jsonl"), *(ROOT / "examples" / "sessions").glob("*.jsonl")]
    return max(found, key=lambda path: path.stat().st_size)


#: What a command cannot do without, and not a line of ours.
LIBRARIES = (
    "import typer, eventsourcing.application, eventsourcing.sqlite; from pydantic import BaseModel, Field"
)


def _against(what: str, codes: tuple[str, str], folder: Path, sizes: Sizes, bar: float) -> Row:
    """A whole process against another one that does the least of it."""
    ours, floor = ([sys.executable, "-c", code] for code in codes)
    times = in_turn(lambda: cpu(ours, folder), lambda: cpu(floor, folder), sizes.starts)
    return compared(what, *times, bar)


def rows(folder: Path, sizes: Sizes, session: Path) -> Iterator[Row]:
    """The rows of the table."""
    yield _started("import loopbook; bare Python", "import loopbook", folder, sizes, 5)
    yield _started("import loopbook.events", "import loopbook.events", folder, sizes)
    yield _started("import loopbook.Books", "from loopbook import Books", folder, sizes)
    yield _started("loopbook --help", _command("--help"), folder, sizes)
    version = _command("--version"), "import typer"
    yield _against("loopbook --version; import typer", version, folder, sizes, 1.5)
    cpu([sys.executable, "-c", _command("loop", "start", "--kind", "fix", "--intent", "bench")], folder)
    record = _command("loop", "record", "task", "look"), LIBRARIES
    yield _against("loopbook loop record; its libraries imported", record, folder, sizes, 2)
    yield _audited(folder, session, sizes)
