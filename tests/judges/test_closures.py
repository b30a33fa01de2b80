"""A server that refused a key is not asked again with it by the next command either, for a while."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import anyio
import pytest

from loopbook import own
from loopbook.judges import Failure
from loopbook.judges.system_one import SystemOne, lines
from loopbook.judges.system_one.address import origin_of
from loopbook.judges.system_one.closures import CLOSED_SEC, FILE, MOST, Closures
from loopbook.judges.system_one.lines import LineId
from loopbook.places import data_folder
from loopbook.settings import load_settings
from tests.judges.conftest import PACKET
from tests.judges.faulty import Faulty

LINE, OTHER = LineId("https://judge.example", "a" * 64), LineId("https://judge.example", "b" * 64)


def settle(home: Path, url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a new process hears that asks the judge of the settings: a kind of failure, or nothing."""
    monkeypatch.setattr(lines, "_LINES", {})
    env = {"HOME": str(home), "LOOPBOOK_JUDGE_URL": url, "LOOPBOOK_JUDGE_KEY": key}
    judge = own.judge(load_settings(None, env), env)
    assert judge is not None
    outcome = anyio.run(judge.ask, PACKET, 5)
    return outcome.kind if isinstance(outcome, Failure) else ""


@pytest.mark.parametrize("name", ["wrong-key", "no-credit"])
def test_a_key_that_was_refused_is_sent_once_however_many_processes_ask(
    faulty: Faulty, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    url = faulty.at(name)
    heard = [settle(tmp_path, url, key, monkeypatch) for _ in range(3)]
    assert heard[1:] == ["circuit-open", "circuit-open"]
    assert len(faulty.received[name]) == 1
    assert settle(tmp_path, url, f"{key}-another", monkeypatch) == heard[0], "another key is another line"
    file = data_folder({"HOME": str(tmp_path)}) / FILE
    assert key not in file.read_text()
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_fails_otherwise_closes_nothing(
    faulty: Faulty, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settle(tmp_path, faulty.at("no-model"), key, monkeypatch) == "http-not-found"
    assert settle(tmp_path, faulty.at("fine"), key, monkeypatch) == ""
    assert not data_folder({"HOME": str(tmp_path)}).exists()


def test_it_ends_by_itself_and_a_clock_that_is_put_back_makes_it_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Closures(tmp_path).close(LINE, "http-auth")
    assert Closures(tmp_path).kind(LINE) == "http-auth"
    assert Closures(tmp_path).kind(OTHER) == ""
    now = time.time()
    for later in (CLOSED_SEC + 1, -CLOSED_SEC):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        assert Closures(tmp_path).kind(LINE) == ""


def test_a_server_is_opened_for_every_key(tmp_path: Path) -> None:
    elsewhere = LineId("https://elsewhere.example", "")
    for line in (LINE, OTHER, elsewhere):
        Closures(tmp_path).close(line, "http-auth")
    Closures(tmp_path).open(LINE.origin)
    assert [Closures(tmp_path).kind(line) for line in (LINE, OTHER, elsewhere)] == ["", "", "http-auth"]


def test_the_file_does_not_grow(tmp_path: Path) -> None:
    for number in range(2 * MOST):
        Closures(tmp_path).close(LineId(f"https://{number}.example", ""), "http-auth")
    assert len((tmp_path / FILE).read_text().splitlines()) == MOST
    assert Closures(tmp_path).kind(LineId(f"https://{2 * MOST - 1}.example", "")) == "http-auth"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b c",
        "\x00",
        "a b http-auth soon\n",
        "a b http-auth \u00b2\n",
        "\n\n",
        f"a b http-auth {'9' * 5000}\n",
    ],
)
def test_a_file_that_is_none_closes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    (tmp_path / FILE).chmod(0o600)
    assert Closures(tmp_path).kind(LINE) == ""


def test_where_no_file_can_be_written_this_process_knows_until_it_ends_or_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for place in (Closures(tmp_path / "file"), Closures()):
        place.close(LINE, "http-auth")
        assert place.kind(LINE) == "http-auth"
        place.open(LINE.origin)
        assert place.kind(LINE) == ""
    Closures().close(LINE, "http-payment")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + CLOSED_SEC + 1)
    assert Closures().kind(LINE) == ""


def test_a_judge_that_stays_asks_again_once_somebody_has_opened_the_line(faulty: Faulty, key: str) -> None:
    judge = SystemOne(faulty.at("no-credit"), key=key, allow_http=True)
    heard = [anyio.run(judge.ask, PACKET, 5) for _ in range(2)]
    assert [one.kind for one in heard if isinstance(one, Failure)] == ["http-payment", "circuit-open"]
    Closures().open(origin_of(judge.base_url))
    again = anyio.run(judge.ask, PACKET, 5)
    assert isinstance(again, Failure)
    assert again.kind == "http-payment"
