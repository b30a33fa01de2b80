"""``loopbook judge``: what would be sent, what comes back, and a key that is typed and never shown."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loopbook.cli.exits import FOUND, STORE, USAGE
from loopbook.judges.system_one import Key
from loopbook.judges.system_one.key import keep_key
from loopbook.judges.system_one.lines import line_of
from loopbook.own import closures
from tests.cli.conftest import Cli
from tests.conftest import ROOT
from tests.judges.faulty import Faulty

KEY = "sk-thisIsTheKey-0123456789abcdef"


@pytest.fixture
def asking(cli: Cli, faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A command line whose judge answers well, in a folder with ``packet.json``."""
    for name in ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", faulty.at("fine"))
    shutil.copy(ROOT / "examples" / "packet.json", cli.folder)
    return cli


# --- asking ----------------------------------------------------------------------------------


def test_an_answer_is_a_row_for_each_question_and_what_it_took(asking: Cli) -> None:
    rows = [line.split("\t") for line in asking.ok("judge", "ask", "packet.json").splitlines()]
    assert rows[:3] == [
        ["supported", "0.25", "-", "-"],
        ["next", "go_on", "1.00", "go_on 1.00, fix 0.00, ask_user 0.00"],
        ["done", "1.00", "0.00", "0 0.33, 1 0.33, 2 0.33"],
    ]
    assert rows[3] == ["(model)", "m-1", "", "asked: jev-latest"]
    assert rows[4][:2] == ["(request)", "req_1"]
    assert rows[5] == ["(tokens)", "100 in, 10 out", "", "-"]


def test_the_same_as_json_with_its_price(asking: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_PRICE", "2.5")
    told = json.loads(
        asking.ok("judge", "ask", "-", "--json", stdin=(asking.folder / "packet.json").read_bytes())
    )
    assert told["version"] == 1
    assert told["answer"]["questions"]["supported"] == {"noul": 0.25}
    assert told["answer"]["cost_usd"] == 0.00025


def test_a_failure_is_one_line_and_the_code_1(
    asking: Cli, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", faulty.at("html-502"))
    line = asking.error(FOUND, "judge", "ask", "packet.json", "--timeout", "0.3")
    assert line.startswith("loopbook: http-server: any other 5xx")
    ran = asking("judge", "ask", "packet.json", "--timeout", "0.3", "--json")
    assert (ran.code, ran.err) == (FOUND, "")
    assert json.loads(ran.out)["failure"]["kind"] == "http-server"


def test_what_would_be_sent_is_shown_byte_for_byte_and_not_sent(
    asking: Cli, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = json.loads((asking.folder / "packet.json").read_text())
    packet["state"]["claim"] = f"the key is {KEY}, the token ghp_{'a1' * 20}"
    (asking.folder / "packet.json").write_text(json.dumps(packet))
    monkeypatch.setenv("LOOPBOOK_JUDGE_KEY", KEY)
    shown = asking.ok("judge", "ask", "--show", "packet.json")
    assert "fine" not in faulty.received
    asking.ok("judge", "ask", "packet.json")
    [received] = faulty.received["fine"]
    assert received.raw.endswith(b"\r\n\r\n" + shown.rstrip("\n").encode())
    assert KEY not in shown
    assert "ghp_" not in shown
    told = json.loads(asking.ok("judge", "ask", "--show", "--json", "packet.json"))["request"]
    assert told["url"] == f"{faulty.url}/fine/v1/systemone"
    assert told["key_from"] == "$LOOPBOOK_JUDGE_KEY"
    assert told["body"] == json.loads(shown)
    assert (told["bytes"], told["state_was_cut"]) == (len(shown) - 1, False)


def test_what_would_be_sent_is_shown_without_a_key_too(asking: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPBOOK_JUDGE_URL")
    assert json.loads(asking.ok("judge", "ask", "--show", "packet.json"))["model"] == "jev-latest"
    assert "no-key" in asking.error(FOUND, "judge", "ask", "packet.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "standard input is empty"),
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is not an object"),
        ("{}", "questions is not an object"),
        ('{"state": {}, "questions": {}}', "questions is empty"),
        ('{"state": {}, "question": {}}', "it has 'question', which is none of questions, state"),
        ('{"state": {}, "questions": {"q": 3}}', "questions.q is not an object"),
    ],
)
def test_a_file_that_is_none_says_what_it_lacks(asking: Cli, faulty: Faulty, text: str, words: str) -> None:
    line = asking.error(USAGE, "judge", "ask", "-", stdin=text)
    assert words in line
    assert "nothing was asked" in line
    assert "fine" not in faulty.received


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"type": "boolean"}, "questions.q.type is none of noul, choice, score"),
        ({"type": "noul", "instructions": None}, "questions.q.instructions is not a text"),
        (
            {"type": "noul", "criteria": {"yes": ""}},
            "questions.q.criteria has 'yes', which is none of false, true",
        ),
        ({"type": "choice", "criteria": ["a"]}, "questions.q.criteria is not an object"),
        ({"type": "choice", "criteria": {"a": 1}}, "questions.q.criteria.a is not a text"),
        ({"type": "score", "criteria": {"0": "a"}}, "questions.q.criteria is not a list of levels"),
        ({"type": "score", "criteria": [1]}, "questions.q.criteria.0 is not a text"),
        (
            {"type": "score", "rubric": []},
            "questions.q has 'rubric', which is none of criteria, instructions, type",
        ),
    ],
)
def test_a_question_that_is_none_names_the_place(
    asking: Cli, question: dict[str, object], words: str
) -> None:
    packet = {"state": {}, "questions": {"q": {"instructions": "?", **question}}}
    assert words in asking.error(USAGE, "judge", "ask", "-", stdin=json.dumps(packet))


def test_a_state_is_an_object(asking: Cli) -> None:
    packet = {"state": ["a"], "questions": {"q": {"type": "noul", "instructions": "?"}}}
    assert "state is not an object" in asking.error(USAGE, "judge", "ask", "-", stdin=json.dumps(packet))


def test_a_file_that_is_not_there_is_told(asking: Cli) -> None:
    assert "none.json: no such file" in asking.error(STORE, "judge", "ask", "none.json")


def test_an_unknown_dialect_is_told(asking: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_DIALECT", "olama")
    assert "there are: typesafe, " in asking.error(USAGE, "judge", "ask", "packet.json")


@pytest.mark.parametrize("name", ["echo-key", "echo-at-the-cut", "echo-invalid"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_key_that_a_server_gives_back_is_not_printed(
    asking: Cli, faulty: Faulty, monkeypatch: pytest.MonkeyPatch, name: str, form: tuple[str, ...]
) -> None:
    key = "quiet-river-lamp-at-night"  # which looks like no token
    file = keep_key(faulty.url, key, os.environ)
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", faulty.at(name))
    said = asking("judge", "ask", "packet.json", *form)
    assert key.encode() in faulty.received[name][-1].raw, f"it came from {file}"
    assert "quiet" not in said.out + said.err


def test_asking_by_hand_asks_anyway_and_an_answer_opens_what_was_closed(
    asking: Cli, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = line_of(faulty.url, Key(KEY, "the test"))[0]
    closures(os.environ).close(line, "http-payment")
    monkeypatch.setenv("LOOPBOOK_JUDGE_KEY", KEY)
    asking.ok("judge", "ask", "packet.json")
    assert closures(os.environ).kind(line) == ""


# --- probing -----------------------------------------------------------------------------------


def test_a_probe_says_how_many_requests_it_makes_and_makes_as_many(asking: Cli, faulty: Faulty) -> None:
    lines = asking.ok("judge", "probe", "packet.json", "--times", "3").splitlines()
    assert lines[0].startswith("3 requests to http://127.0.0.1")
    assert lines[1].split("\t") == ["supported", "noul", "3 of 3", "0.25", "0.25", "0.25", "-"]
    assert lines[2].split("\t") == ["next", "choice", "3 of 3", "1.00", "1.00", "1.00", "go_on 3"]
    assert len(faulty.received["fine"]) == 3


def test_a_probe_counts_failures_and_ends_with_1(
    asking: Cli, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", faulty.at("no-model"))
    ran = asking("judge", "probe", "packet.json", "--times", "2")
    assert (ran.code, ran.out.splitlines()[-1]) == (FOUND, "failed: http-not-found, 2 of 2")
    ran = asking("judge", "probe", "packet.json", "--times", "2", "--json")
    told = json.loads(ran.out)["probe"]
    assert (told["requests"], told["failures"]) == (2, {"http-not-found": 2})
    assert told["questions"]["done"]["answers"] == 0


def test_a_probe_that_cannot_ask_stops_before_the_first_request_with_the_remedy(
    asking: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOPBOOK_JUDGE_URL")
    cause = "no-key: https://api.typesafe.ai needs a key, and there is none; nothing was asked"
    for command in ("probe", "ask"):
        line = asking.error(FOUND, "judge", command, "packet.json")
        assert cause in line
        assert line.endswith("; give it one with: loopbook judge key set\n")
        assert "may be read" not in line, "there is one cause"
    ran = asking("judge", "probe", "packet.json", "--json")
    assert (ran.code, json.loads(ran.out)["failure"]["kind"]) == (FOUND, "no-key")
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", "http://judge.example")
    line = asking.error(FOUND, "judge", "probe", "packet.json")
    assert "refused-url: judge_url is plain http to another machine" in line
    assert "not a URL" not in line


# --- the key -----------------------------------------------------------------------------------


def status(cli: Cli, *, there: bool) -> dict[str, str]:
    ran = cli("judge", "key", "status")
    assert ran.code == (0 if there else FOUND)
    return dict(line.split("\t") for line in ran.out.splitlines())


def test_where_the_key_is_from_is_told_and_never_the_key(
    asking: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOPBOOK_JUDGE_URL")
    assert status(asking, there=False)["key_from"] == "-"
    monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
    told = status(asking, there=True)
    assert told == {
        "judge": "https://api.typesafe.ai (typesafe) jev-latest",
        "needs_key": "yes",
        "key_from": "$TYPESAFE_API_KEY",
    }
    plain = json.loads(asking.ok("judge", "key", "status", "--json"))
    assert plain["key"]["key_from"] == "$TYPESAFE_API_KEY"
    monkeypatch.delenv("TYPESAFE_API_KEY")
    assert status(asking, there=False)["key_from"] == "-", "it is looked for each time"


@pytest.mark.skipif(os.name == "nt", reason="permissions are not bits of a mode there")
def test_a_key_file_that_others_may_read_is_refused(asking: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPBOOK_JUDGE_URL")
    file = asking.folder / ".config" / "loopbook" / "judge-keys"
    file.parent.mkdir(parents=True)
    file.write_text(f"https://api.typesafe.ai {KEY}\n")
    file.chmod(0o644)
    line = asking.error(STORE, "judge", "key", "status")
    assert f"close it with: chmod 600 {file}" in line
    line = asking("judge", "ask", "packet.json").err.splitlines()[-1]
    assert line.startswith(f"loopbook: no-key: {file} may be read by others than its owner; ")
    assert "there is none" not in line
    file.chmod(0o600)
    assert status(asking, there=True)["key_from"] == str(file)


def test_the_status_of_the_key_says_where_the_address_is_refused(
    asking: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", "http://judge.example")
    monkeypatch.setenv("LOOPBOOK_JUDGE_KEY", KEY)
    assert status(asking, there=False)["refused"].startswith("plain http to another machine")
    told = json.loads(asking("judge", "key", "status", "--json").out)["key"]
    assert told["refused"].startswith("plain http to another machine")
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", "https://judge.example")
    assert "refused" not in status(asking, there=True)


def test_a_key_is_not_taken_from_a_pipe(asking: Cli) -> None:
    line = asking.error(USAGE, "judge", "key", "set", stdin=f"{KEY}\n")
    assert "a key is typed on a terminal" in line
    assert KEY not in line
    assert not (asking.folder / ".config").exists()


@pytest.mark.skipif(os.name == "nt", reason="there are no such terminals there")
def test_a_key_that_is_typed_is_kept_for_its_server_and_never_shown(asking: Cli, faulty: Faulty) -> None:
    line = line_of(faulty.url, Key("former-key", "the test"))[0]
    closures(os.environ).close(line, "http-auth")
    shown = typed(asking.folder, f"{KEY}\n")
    assert f"key for {faulty.url}: " in shown
    assert KEY not in shown
    file = asking.folder / ".config" / "loopbook" / "judge-keys"
    assert f"is kept in {file}" in shown
    assert closures(os.environ).kind(line) == "", "what the former key had closed is open"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    asking.ok("judge", "ask", "packet.json")
    assert f"Bearer {KEY}".encode() in faulty.received["fine"][-1].raw


@pytest.mark.skipif(os.name == "nt", reason="there are no such terminals there")
def test_a_key_that_is_none_is_not_kept(asking: Cli) -> None:
    shown = typed(asking.folder, "two words\n")
    assert "the key from what was typed is empty, or holds what no key holds" in shown
    assert "two words" not in shown
    assert not (asking.folder / ".config" / "loopbook" / "judge-keys").exists()


def typed(home: Path, keys: str) -> str:
    """What a terminal shows where somebody runs ``judge key set`` and types this."""
    ours, theirs = pty.openpty()
    code = "import sys; from loopbook.cli import main; sys.exit(main(['judge', 'key', 'set']))"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=home,
        start_new_session=True,
    ) as program:
        os.close(theirs)
        shown, ends, sent = b"", time.monotonic() + 60, False
        while time.monotonic() < ends:
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    shown += os.read(ours, 4096)
                except OSError:
                    break
            if b": " in shown and not sent:
                time.sleep(0.1)  # until the terminal hides what is typed
                os.write(ours, keys.encode())
                sent = True
            elif program.poll() is not None:
                break
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")
