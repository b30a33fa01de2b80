"""A deadline holds whatever hangs, a lookup of a name too: what asks is left behind, and nothing waits."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from loopbook.judges import Failure, Packet
from loopbook.judges.system_one import SystemOne, wire
from loopbook.judges.system_one.client import LATE
from tests.conftest import ROOT
from tests.judges.conftest import PACKET
from tests.judges.faulty import HANGING_LOOKUP, HANGS, Faulty

#: A settle, blocking or in an event loop, within a second.
SETTLE = """
import anyio
from loopbook import Books, Change, RunSettled, SystemOne
judge = SystemOne("https://judge.example", key="some-key-0123")
loop = Books.open("memory:", session="s1").start("change", "Add a retry", id="a")
loop.record(Change(summary="one", paths=("a.py",)))
run = RunSettled(run="r1")
if sys.argv[1] == "blocking":
    loop.settle_blocking(run, judge=judge, timeout=1)
else:
    async def settle():
        await loop.settle(run, judge=judge, timeout=1)
    anyio.run(settle)
print(list(loop.entries())[-1].event.detail)
"""
COMMAND = """
from loopbook.cli import main
sys.exit(main(["judge", *sys.argv[1:]]))
"""


def ran(tmp_path: Path, code: str, *argv: str, **more: str) -> tuple[subprocess.CompletedProcess[str], float]:
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", HANGING_LOOKUP + code, *argv],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "LOOPBOOK_JUDGE_KEY": "some-key-0123", **more},
    )
    return done, time.monotonic() - begun


@pytest.mark.parametrize("way", ["blocking", "in a loop"])
def test_a_settle_does_not_wait_for_a_lookup_that_hangs_and_its_process_ends(
    tmp_path: Path, way: str
) -> None:
    done, seconds = ran(tmp_path, SETTLE, way)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "timeout", "")
    assert seconds < HANGS / 2


@pytest.mark.parametrize("proxy", ["", "http://proxy.example:3128"])
@pytest.mark.parametrize("command", ["ask", "probe"])
def test_asking_by_hand_does_not_either_nor_for_the_name_of_a_proxy(
    tmp_path: Path, command: str, proxy: str
) -> None:
    packet = str(ROOT / "examples" / "packet.json")
    times = ("--times", "1") if command == "probe" else ()
    named = {"LOOPBOOK_JUDGE_URL": "https://judge.example", "https_proxy": proxy}
    done, seconds = ran(tmp_path, COMMAND, command, packet, "--json", "--timeout", "1", *times, **named)
    assert done.returncode == 1, done
    told = json.loads(done.stdout)
    assert told.get("failure", {}).get("kind") == "timeout" or told["probe"]["failures"] == {"timeout": 1}
    assert seconds < HANGS / 2


def test_making_the_request_counts_into_the_deadline_too(
    faulty: Faulty, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "request", lambda *_: time.sleep(3))
    begun = time.monotonic()
    outcome = anyio.run(SystemOne(faulty.at("fine"), key=key).ask, PACKET, 0.2)
    assert time.monotonic() - begun < 2
    assert outcome == Failure("timeout", LATE)


def test_who_is_cancelled_leaves_nothing_under_way(faulty: Faulty, key: str) -> None:
    judge = SystemOne(faulty.at("slow-first-byte"), key=key)

    async def cancelled(packet: Packet) -> None:
        with anyio.move_on_after(0.2):
            await judge.ask(packet, 60)

    for _ in range(5):  # more than may be under way at once
        begun = time.monotonic()
        anyio.run(cancelled, PACKET)
        assert time.monotonic() - begun < 10
    ends = time.monotonic() + 10
    while faulty.at_once and time.monotonic() < ends:
        time.sleep(0.02)
    assert not faulty.at_once, "the connections are closed, the turns given back"
