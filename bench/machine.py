"""The machine that the figures are of."""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path
from statistics import median
from time import perf_counter


def described(folder: Path) -> str:
    """Processor, cores, versions, how long the disk takes to have something for good, how busy it is."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    system = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, load {load}"
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"{_processor()}, {system}\n{versions}, disk sync {_disk_sync(folder) * 1e3:.2f} ms"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _disk_sync(folder: Path) -> float:
    """The median time until the disk has a written page."""
    times = []
    with (folder / "sync").open("wb") as file:
        for _ in range(20):
            file.write(b"x" * 4096)
            file.flush()
            start = perf_counter()
            os.fsync(file.fileno())
            times.append(perf_counter() - start)
    return median(times)
