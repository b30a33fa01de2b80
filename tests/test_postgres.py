"""The server of the tests and of the bench: it ends with whoever started it, however that one ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, cast

import pytest

from tests.conftest import ROOT
from tests.postgres import Postgres

STARTER = """
from tests.postgres import Postgres
server = Postgres()
print(server.folder, server.keeper, flush=True)
input()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes as on POSIX")
@pytest.mark.parametrize("whom", ["all that belongs to it", "the server's keeper"])
def test_a_server_ends_with_whoever_started_it(postgres: Postgres, whom: str) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        folder, keeper = cast("IO[str]", starter.stdout).readline().split()
        assert folder != postgres.folder
        assert Path(folder, "postmaster.pid").exists()
        if whom == "the server's keeper":
            os.kill(int(keeper), signal.SIGTERM)
        else:
            os.killpg(starter.pid, signal.SIGKILL)
        until = time.monotonic() + 60
        while Path(folder).exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(folder).exists()
    finally:
        starter.kill()
        starter.communicate()
