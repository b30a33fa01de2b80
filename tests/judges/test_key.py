"""Where a key is looked for, whom it is sent to, and what a key file must be like."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import anyio
import pytest

from loopbook.errors import InvalidKey, KeyFileRefused
from loopbook.judges import Answer, Failure, telling
from loopbook.judges.system_one import SystemOne
from loopbook.judges.system_one.key import find_key, keep_key, key_file, must_be_own
from tests.judges.conftest import PACKET
from tests.judges.faulty import Faulty

TYPESAFE, OTHER = "https://api.typesafe.ai", "https://judge.example/v1"
posix = pytest.mark.skipif(os.name == "nt", reason="permissions are not bits of a mode there")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own."""
    return {"HOME": str(tmp_path), "APPDATA": str(tmp_path)}


def found(url: str, environ: dict[str, str]) -> tuple[str, str] | None:
    key = find_key(url, environ)
    return None if key is None else (key.reveal(), key.source)


def test_nothing_is_found_where_nothing_is(home: dict[str, str]) -> None:
    assert found(TYPESAFE, home) is None
    assert not key_file(home).parent.exists(), "looking makes nothing"


def test_ones_own_variable_goes_to_whatever_server_is_asked(home: dict[str, str]) -> None:
    environ = {**home, "LOOPBOOK_JUDGE_KEY": " own-key-1 ", "TYPESAFE_API_KEY": "their-key"}
    for url in (TYPESAFE, OTHER):
        assert found(url, environ) == ("own-key-1", "$LOOPBOOK_JUDGE_KEY")


def test_a_typesafe_key_goes_to_typesafe_or_where_its_own_address_says(home: dict[str, str]) -> None:
    environ = {**home, "TYPESAFE_API_KEY": "their-key"}
    assert found(f"{TYPESAFE}/", environ) == ("their-key", "$TYPESAFE_API_KEY")
    assert found(OTHER, environ) is None
    assert found("http://localhost:11434", environ) is None
    environ["TYPESAFE_BASE_URL"] = "https://judge.example"
    assert found(OTHER, environ) == ("their-key", "$TYPESAFE_API_KEY")
    assert found(TYPESAFE, environ) is None
    environ["TYPESAFE_BASE_URL"] = "nonsense"
    assert found(TYPESAFE, environ) is None


def test_a_kept_key_is_its_servers_and_for_its_owners_eyes(home: dict[str, str]) -> None:
    file = keep_key(TYPESAFE, "first-key", home)
    keep_key(OTHER, "second-key", home)
    keep_key(TYPESAFE, "third-key\n", home)
    assert found(TYPESAFE, home) == ("third-key", str(file))
    assert found(OTHER, home) == ("second-key", str(file))
    assert found("https://judge.example:8443", home) is None
    assert [one.name for one in file.parent.iterdir()] == [file.name], "nothing is left beside it"
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o777, 0o620])
def test_a_file_that_others_may_read_is_refused_and_says_how_to_close_it(
    home: dict[str, str], mode: int
) -> None:
    file = keep_key(TYPESAFE, "first-key", home)
    file.chmod(mode)
    for act in (lambda: find_key(TYPESAFE, home), lambda: keep_key(OTHER, "second-key", home)):
        with pytest.raises(KeyFileRefused, match=f"no key was taken.*chmod 600 {file}") as told:
            act()
        assert "first-key" not in str(told.value)
    assert file.read_text() == f"{TYPESAFE} first-key\n"


@posix
def test_a_file_of_another_user_is_refused_but_roots(
    home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns it can read it, whatever its mode says, and has chosen what is sent where."""
    file = keep_key(TYPESAFE, "first-key", home)
    real = os.fstat

    def owned_by(owner: int) -> None:
        def fstat(fd: int) -> os.stat_result:
            fields = list(real(fd))
            fields[stat.ST_UID] = owner
            return os.stat_result(fields)

        monkeypatch.setattr(os, "fstat", fstat)
        monkeypatch.setattr(os, "geteuid", lambda: 1234)

    owned_by(4321)
    with pytest.raises(KeyFileRefused, match="no key was taken"):
        find_key(TYPESAFE, home)
    with pytest.raises(KeyFileRefused):
        keep_key(OTHER, "second-key", home)
    for owner in (1234, 0):
        owned_by(owner)
        assert found(TYPESAFE, home) == ("first-key", str(file))


def owned(owner: int, mode: int) -> os.stat_result:
    """What a system says of a file with this owner and mode."""
    return os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(("owner", "mode"), [(4321, 0o100600), (4321, 0o100644), (0, 0o100640)])
def test_a_file_of_another_user_is_said_to_be_his_and_no_chmod_is_advised(owner: int, mode: int) -> None:
    """Only its owner may chmod it; whoever has the folder may remove it and begin a new one."""
    with pytest.raises(KeyFileRefused) as told:
        must_be_own(Path("keys"), owned(owner, mode), 1234)
    assert str(told.value) == (
        f"keys belongs to another user (uid {owner}, you are 1234); no key was taken; remove it and use:"
        " loopbook judge key set, or have root give it to you: chown 1234 keys"
    )


def test_a_file_of_ones_own_is_asked_for_its_mode_and_a_closed_one_of_root_for_nothing() -> None:
    for owner in (1234, 0):
        must_be_own(Path("keys"), owned(owner, 0o100600), 1234)
    with pytest.raises(KeyFileRefused, match="close it with: chmod 600 keys"):
        must_be_own(Path("keys"), owned(1234, 0o100640), 1234)


@posix
def test_such_a_file_is_a_failure_of_its_kind_and_told_once(
    home: dict[str, str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "_TOLD", set())  # another test may have heard it
    keep_key(TYPESAFE, "first-key", home).chmod(0o644)
    judge = SystemOne.from_env(home)
    assert judge is not None, "there is a key, so a person should hear of it"
    for _ in range(2):
        outcome = anyio.run(judge.ask, PACKET, 10)
        assert isinstance(outcome, Failure)
        assert outcome.kind == "no-key"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("text", ["first-key\n", f"{TYPESAFE} a b\n", f"{TYPESAFE} first-key\n\x00\n"])
def test_a_file_of_another_form_is_refused_without_being_shown(home: dict[str, str], text: str) -> None:
    file = keep_key(TYPESAFE, "first-key", home)
    file.write_text(text)
    with pytest.raises(KeyFileRefused, match="has a line that is not a server and its key") as told:
        find_key(TYPESAFE, home)
    assert "first-key" not in str(told.value)
    assert file.read_text() == text


def test_a_folder_in_its_place_is_refused(home: dict[str, str]) -> None:
    key_file(home).mkdir(parents=True)
    with pytest.raises(KeyFileRefused, match="cannot be read"):
        find_key(TYPESAFE, home)


@pytest.mark.parametrize("url", ["nonsense", "https://a:b@judge.example"])
def test_no_key_is_kept_for_what_is_no_address(home: dict[str, str], url: str) -> None:
    with pytest.raises(InvalidKey, match="no key was kept"):
        keep_key(url, "first-key", home)
    assert not key_file(home).exists()


def test_a_key_that_is_none_is_not_kept(home: dict[str, str]) -> None:
    for wrong in ("", " ", "two words", "line\nbreak"):
        with pytest.raises(InvalidKey):
            keep_key(TYPESAFE, wrong, home)
    assert not key_file(home).exists()


def test_a_key_is_looked_for_each_time(home: dict[str, str], faulty: Faulty) -> None:
    environ = {**home, "LOOPBOOK_JUDGE_URL": faulty.at("fine")}
    judge = SystemOne.from_env(environ)
    assert judge is not None
    for key in ("first-key", "second-key"):
        keep_key(faulty.url, key, environ)
        assert isinstance(anyio.run(judge.ask, PACKET, 5), Answer)
    sent = [one.raw for one in faulty.received["fine"]]
    assert [b"Bearer first-key" in raw for raw in sent] == [True, False]
    assert b"Bearer second-key" in sent[1]


# --- from the environment ---------------------------------------------------------------------


def test_without_a_key_there_is_no_judge_where_one_is_needed(home: dict[str, str]) -> None:
    assert SystemOne.from_env(home) is None
    assert repr(SystemOne.from_env({**home, "LOOPBOOK_JUDGE_URL": "http://localhost:11434"})) == (
        "<SystemOne http://localhost:11434 (ollama)>"
    )
    told = {**home, "TYPESAFE_API_KEY": "their-key", "LOOPBOOK_JUDGE_MODEL": "jev-1.13.0"}
    assert repr(SystemOne.from_env(told)) == "<SystemOne https://api.typesafe.ai (typesafe) jev-1.13.0>"


def test_the_environment_names_the_dialect_too(home: dict[str, str]) -> None:
    told = {**home, "LOOPBOOK_JUDGE_URL": "http://localhost:8080", "LOOPBOOK_JUDGE_DIALECT": "llama-cpp"}
    judge = SystemOne.from_env(told)
    assert judge is not None
    assert judge.dialect.name == "llama-cpp"
