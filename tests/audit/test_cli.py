"""``loopbook audit``: what it prints, and the code it ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from loopbook.audit.model import FIRST_ITEMS, LAST_ITEMS, Audit
from loopbook.books import Books
from loopbook.cli import audit as command
from loopbook.cli import main
from tests.conftest import ROOT
from tests.transcripts.records import Session

FALSE = str(ROOT / "examples" / "sessions" / "false-claim.jsonl")
HONEST = str(ROOT / "examples" / "sessions" / "honest.jsonl")


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those that a test makes."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def a_long_session(folder: Path) -> Path:
    session = Session()
    for number in range(FIRST_ITEMS + LAST_ITEMS):
        session.user(f"prompt {number}")
        session.says("done")
        session.stops()
    return session.write(folder)


def test_the_false_claim_is_named_with_command_exit_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", FALSE]) == 0
    text = capsys.readouterr().out
    assert 'contradicted  line 32: said "All tests pass, and pages.py needs no change."' in text
    assert "the last test run failed: `python3 -m unittest -v`, exit 1, line 28" in text


def test_of_the_honest_twin_nothing_is_said_against_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", HONEST, "--fail-on", "contradicted", "--fail-on", "unbacked"]) == 0
    shown = capsys.readouterr()
    assert "contradicted" not in shown.out
    assert shown.err == ""


def test_json_is_the_audit_as_versioned_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", FALSE, "--json"]) == 0
    told = Audit.model_validate_json(capsys.readouterr().out)
    assert told.version == 1
    assert {claim.verdict for claim in told.claims} == {"contradicted"}


# --- exit codes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([FALSE, "--fail-on", "contradicted"], 1, "2 claims contradicted;"),
        ([FALSE, "--fail-on", "unbacked"], 0, ""),
        ([HONEST, "--fail-on", "problems"], 0, ""),
        ([HONEST, "--fail-on", "poetry"], 2, "poetry"),
        ([HONEST, "--kind", "poem"], 2, "there is no kind 'poem'"),
        (["no-such-file.jsonl"], 3, "cannot be read"),
        ([HONEST, "--store", "elsewhere://x"], 3, "elsewhere"),
        ([], 2, "FILE"),
    ],
)
def test_the_code_tells_how_it_ended_and_an_error_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert main(["audit", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == (1 if said else 0)


def test_a_problem_of_the_file_can_be_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session()
    session.user("go")
    session.raw('{"type":"us')
    assert main(["audit", str(session.write(tmp_path)), "--fail-on", "problems"]) == 1
    assert "1 problem of the file" in capsys.readouterr().err


def test_a_book_begun_from_another_file_is_the_callers_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path.as_posix()}/books.db"
    session = Session()
    session.user("one")
    path = str(session.write(tmp_path))
    assert main(["audit", path, "--store", store]) == 0
    session.lines.insert(0, '{"type":"summary","summary":"x"}')
    session.write(tmp_path)
    assert main(["audit", path, "--store", store]) == 2
    assert "was begun from another file" in capsys.readouterr().err


# --- options --------------------------------------------------------------------------------


def test_store_keeps_the_book(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path.as_posix()}/books.db"
    assert main(["audit", FALSE, "--store", store]) == 0
    with Books.open(store) as books:
        [row] = books.list()
        assert row.id.startswith("audit-claude-code-")


def test_full_prints_every_line_where_else_some_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(a_long_session(tmp_path))
    total = 2 * (FIRST_ITEMS + LAST_ITEMS)
    left_out = total - FIRST_ITEMS - LAST_ITEMS
    main(["audit", path])
    assert f"… {left_out} lines left out" in capsys.readouterr().out
    main(["audit", path, "--full"])
    text = capsys.readouterr().out
    assert "left out" not in text
    assert all(f'"prompt {number}"' in text for number in range(total // 2))
    main(["audit", path, "--full", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (len(told["timeline"]), told["timeline_left_out"]) == (total, 0)


def test_full_and_bounded_say_the_same_of_a_short_session(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ([], ["--json"]):
        main(["audit", FALSE, *form])
        bounded = capsys.readouterr().out
        main(["audit", FALSE, "--full", *form])
        assert capsys.readouterr().out == bounded


def test_no_timeline_leaves_it_out_and_json_says_how_long_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    main(["audit", FALSE, "--no-timeline"])
    text = capsys.readouterr().out
    assert "came to rest" not in text.partition("summary")[0]
    main(["audit", FALSE, "--no-timeline", "--full", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["timeline"] == []
    assert told["timeline_left_out"] > 0


def test_a_check_named_in_the_users_settings_counts_in_its_project_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session()  # its records say that it ran in /home/dev/project
    session.user("go")
    session.runs("./verify-all", "b1", "fine")
    session.says("All tests pass.")
    path = str(session.write(tmp_path))
    config = tmp_path / "config" / "loopbook" / "settings.toml"
    config.parent.mkdir(parents=True)
    for folder, checks in (("/home/dev/project", 1), ("/home/dev/other", 0)):
        config.write_text(f'[[checks]]\nfolder = "{folder}"\ncommand = "./verify-all"\nscope = "tests"\n')
        assert main(["audit", path, "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["summary"]["checks"]) == checks


@pytest.mark.parametrize(
    ("terminal", "size", "shown"), [(True, 1, True), (False, 1, False), (True, 10**9, False)]
)
def test_a_long_file_shows_progress_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    size: int,
    shown: bool,
) -> None:
    monkeypatch.setattr(command, "LONG_FILE", size)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    main(["audit", HONEST])
    output = capsys.readouterr()
    assert ("reading" in output.err) is shown
    assert "reading" not in output.out.partition("timeline")[0]


def test_text_holds_in_an_encoding_that_lacks_its_characters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = Session()
    session.user("prüfe \u202e das 日本")
    path = session.write(tmp_path)
    environ = {"PYTHONIOENCODING": "ascii", "PATH": "", "HOME": str(tmp_path)}
    code = "import sys; from loopbook.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", str(path)], env=environ, capture_output=True, check=True
    )
    assert b"pr\\xfcfe \\u202e das" in done.stdout
