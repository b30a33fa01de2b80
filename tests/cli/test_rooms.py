"""The smaller rooms: kinds, spec, settings."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from loopbook.cli.exits import FOUND, USAGE
from loopbook.projections import verification
from loopbook.settings import SETTINGS, config_folder
from loopbook.testing import parse_scenarios
from tests.cli.conftest import Cli
from tests.conftest import ROOT

BUILT_IN = ["change", "chore", "fix", "research", "review"]


# --- kinds -------------------------------------------------------------------------------------


def test_kinds_are_listed_one_a_line(cli: Cli) -> None:
    rows = [line.split("\t") for line in cli.ok("kinds", "list").splitlines()]
    assert [row[0] for row in rows] == BUILT_IN
    assert rows[2] == ["fix", "Fix a defect", "reproduce → change → verify → review → fix → close"]


def test_kinds_as_json_are_their_definitions(cli: Cli) -> None:
    told = json.loads(cli.ok("kinds", "list", "--json"))
    assert told["version"] == 1
    assert [kind["name"] for kind in told["kinds"]] == BUILT_IN
    assert told["kinds"][1]["phase"][-1]["name"] == "close"


def test_every_built_in_kind_checks(cli: Cli) -> None:
    out = cli.ok("kinds", "check", str(ROOT / "specs" / "kinds"))
    assert out.count("ok  ") == len(BUILT_IN)


def test_a_wrong_kind_is_told_with_its_remedy_and_the_others_are_still_checked(cli: Cli) -> None:
    (cli.folder / "a.toml").write_text('name = 3\n[[phase]]\nname = "close"\nneeds = [{ is = "closable" }]\n')
    (cli.folder / "b.toml").write_bytes(b"\xff")
    shutil.copy(ROOT / "specs" / "kinds" / "fix.toml", cli.folder / "c.toml")
    ran = cli("kinds", "check", "a.toml", "b.toml", "c.toml")
    assert (ran.code, ran.err) == (FOUND, "")
    first, second, third = ran.out.splitlines()
    assert first.startswith("FAIL a.toml: name: ")
    assert second.startswith("FAIL b.toml: not UTF-8")
    assert third == "ok   c.toml: fix"


@pytest.mark.parametrize("prefix", ["", "0x"])
def test_a_number_that_python_cannot_write_out_is_a_mistake_like_any_other(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    (cli.folder / "kinds").mkdir()
    (cli.folder / "kinds" / "a.toml").write_text(f"name = {prefix}{'7' * 5000}\n")
    ran = cli("kinds", "check", "kinds/a.toml")
    assert (ran.code, ran.err) == (FOUND, "")
    assert ran.out.startswith("FAIL kinds/a.toml: ")
    monkeypatch.setenv("LOOPBOOK_KINDS_DIR", "kinds")
    assert "a number" in cli.error(USAGE, "kinds", "list")


def test_every_mistake_of_a_kind_is_told_in_one_go_and_a_line_each(cli: Cli) -> None:
    (cli.folder / "a.toml").write_text('nam = "x"\n[[phase]]\nname = "work"\nneeds = [{ is = "done" }]\n')
    ran = cli("kinds", "check", "a.toml")
    assert (ran.code, ran.err) == (FOUND, "")
    assert [line.partition(";")[0] for line in ran.out.splitlines()] == [
        "FAIL a.toml: nam: unknown key",
        "FAIL a.toml: name: missing",
        "FAIL a.toml: phase[0].needs[0].is: no need is called 'done'",
        "FAIL a.toml: phase[0]: the last phase must be `close`",
    ]


def test_a_kind_is_walked_too(cli: Cli) -> None:
    shutil.copy(ROOT / "specs" / "kinds" / "chore.toml", cli.folder / "c.toml")
    out = cli.ok("kinds", "check", "--walk", "1", "c.toml")
    assert out == "ok   c.toml: chore; 61 states were walked, and each can be closed\n"


def test_what_a_walk_finds_is_told_with_its_scenario(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "specs" / "kinds" / "chore.toml", cli.folder / "c.toml")
    monkeypatch.setattr(verification, "verified", lambda _: False)
    monkeypatch.setattr(verification, "missing", lambda _, words: (words,))
    ran = cli("kinds", "check", "--walk", "1", "c.toml")
    assert (ran.code, ran.err) == (FOUND, "")
    first, *scenario = ran.out.splitlines()
    assert first.startswith("FAIL c.toml: starved: what the loop at verify (")
    assert parse_scenarios("\n".join(scenario), "found.yaml")


def test_a_folder_without_a_kind_is_not_called_checked(cli: Cli) -> None:
    (cli.folder / "empty").mkdir()
    told = cli.error(USAGE, "kinds", "check", "empty")
    assert told == "loopbook: empty holds no kind file; nothing was checked; name a .toml file\n"


def test_a_kind_is_drawn_by_name_or_from_a_file(cli: Cli) -> None:
    by_name = cli.ok("kinds", "draw", "fix")
    assert "reproduce" in by_name
    shutil.copy(ROOT / "specs" / "kinds" / "fix.toml", cli.folder / "c.toml")
    assert cli.ok("kinds", "draw", "c.toml") == by_name


# --- spec run ----------------------------------------------------------------------------------

PASSES = (
    "scenario: it passes\nloop: {kind: fix, intent: i}\nsteps:\n- reload: true\n  expect: {verify: none}\n"
)
FAILS = "scenario: it fails\nloop: {kind: fix, intent: i}\nsteps:\n- wait: 1\n  expect: {verify: stale}\n"


def test_a_line_for_each_scenario_and_a_sum(cli: Cli) -> None:
    (cli.folder / "a.yaml").write_text(PASSES)
    assert cli.ok("spec", "run", "a.yaml") == "ok   it passes\n1 scenarios: 1 pass, 0 fail\n"


def test_one_that_fails_names_its_first_difference_and_the_code_is_1(cli: Cli) -> None:
    (cli.folder / "a.yaml").write_text(f"{FAILS}---\n{PASSES}")
    ran = cli("spec", "run", ".")
    assert (ran.code, ran.err) == (FOUND, "")
    assert ran.out.splitlines() == [
        "FAIL it fails",
        "     a.yaml:4: wait: verify: expected 'stale', seen 'none'",
        "ok   it passes",
        "2 scenarios: 1 pass, 1 fail",
    ]


@pytest.mark.parametrize("driver", ["async", "blocking", "host"])
def test_every_driver_is_taken(cli: Cli, driver: str) -> None:
    (cli.folder / "a.yaml").write_text(PASSES)
    cli.ok("spec", "run", "a.yaml", "--as", driver)


def test_scenarios_can_run_in_a_store_that_keeps_their_books(cli: Cli) -> None:
    (cli.folder / "a.yaml").write_text(f"{PASSES}---\n{PASSES}")
    cli.ok("spec", "run", "a.yaml", "--store", cli.store)
    assert len(cli.ok("loop", "list").splitlines()) == 2


def test_a_wrong_file_runs_nothing_of_the_others(cli: Cli) -> None:
    (cli.folder / "a.yaml").write_text(PASSES)
    (cli.folder / "b.yaml").write_text(f"{PASSES}---\nscenario: s\nstep: []\n")
    line = cli.error(USAGE, "spec", "run", "a.yaml", "b.yaml")
    assert "b.yaml:8: unknown key 'step'" in line or "b.yaml:7: the key 'steps' is missing" in line


def test_without_the_yaml_library_one_line_names_the_extra(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "a.yaml").write_text(PASSES)
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert "pip install 'loopbook[testing]'" in cli.error(USAGE, "spec", "run", "a.yaml")


# --- settings show -------------------------------------------------------------------------------


def test_settings_name_the_origin_of_every_value(cli: Cli) -> None:
    (cli.folder / ".loopbook.toml").write_text('review_tier = "full"\n')
    rows = {line.split("\t")[0]: line.split("\t")[1:3] for line in cli.ok("settings", "show").splitlines()}
    assert rows == {
        **{name: rows[name] for name in SETTINGS},
        "store": [cli.store, "$LOOPBOOK_STORE"],
        "kinds_dir": ["-", "default"],
        "review_tier": ["full", str(cli.folder / ".loopbook.toml")],
        "checks": ["-", "default"],
        "judge_allow_http": ["false", "default"],
        "max_continuations": ["8", "default"],
        "waiting_tools": ["LoopCreate; MonitorCreate; goal_wait", "default"],
        "subagent_tools": ["subagent: child", "default"],
        "(user file)": [str(config_folder(os.environ) / "settings.toml"), "not there"],
        "(project file)": [str(cli.folder / ".loopbook.toml"), "read"],
    }
    assert "argument" in cli.ok("settings", "show", "--store", "x.db")


def test_a_password_in_the_judges_address_is_not_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", "https://ann:hunter2hunter2@judge.example")
    assert "hunter2" not in cli.ok("settings", "show") + cli.ok("settings", "show", "--json")


def test_on_a_terminal_no_path_is_cut(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    assert "…" not in cli.ok("settings", "show")


def test_settings_as_json(cli: Cli) -> None:
    config = cli.folder / ".config" / "loopbook"
    config.mkdir(parents=True)
    (config / "settings.toml").write_text('[[checks]]\nfolder = "~/w"\ncommand = "./v"\nscope = "build"\n')
    told = json.loads(cli.ok("settings", "show", "--json"))
    assert told["version"] == 1
    assert [(file["whose"], file["there"]) for file in told["files"]] == [
        ("user", sys.platform == "linux"),
        ("project", False),
    ]
    if sys.platform == "linux":
        check = {"folder": str((cli.folder / "w").resolve()), "command": "./v", "scope": "build"}
        assert told["settings"]["checks"] == {"value": [check], "from": str(config / "settings.toml")}
        assert "./v (build) in " in cli.ok("settings", "show")


def test_the_settings_of_another_project_can_be_asked_for(cli: Cli) -> None:
    (cli.folder / "shop").mkdir()
    (cli.folder / "shop" / ".loopbook.toml").write_text('review_tier = "full"\n')
    assert "\tlight\t" in cli.ok("settings", "show")
    assert "\tfull\t" in cli.ok("settings", "show", "--project", "shop")
