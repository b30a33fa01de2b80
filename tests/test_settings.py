"""Settings: the later layer wins, a project can only tighten, and a mistake names file, key and remedy."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.advisors.second_thought import SecondThought
from loopbook.errors import InvalidSettings
from loopbook.limits import MAX_CONTINUATIONS, SETTLE_SEC
from loopbook.settings import (
    SETTINGS,
    TIERS,
    UNLIMITED,
    Settings,
    config_folder,
    data_folder,
    load_settings,
    project_file,
)


class Machine:
    """A user's home and a project, each with the settings file it is given."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "work" / "shop"
        self.project.mkdir(parents=True, exist_ok=True)
        self.user_file = self.home / ".config" / "loopbook" / "settings.toml"
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.project_file = self.project / ".loopbook.toml"

    def load(
        self,
        env: dict[str, str] | None = None,
        arguments: dict[str, object] | None = None,
        project: Path | None = None,
    ) -> Settings:
        environ = {"HOME": str(self.home), **(env or {})}
        return load_settings(project or self.project, environ, arguments, platform="linux")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_with_nothing_set_everything_is_its_default(machine: Machine) -> None:
    settings = machine.load()
    assert settings.store == f"sqlite:///{machine.home.as_posix()}/.local/share/loopbook/books.db"
    assert (settings.kinds_dir, settings.review_tier, settings.checks) == (None, "light", ())
    assert set(settings.origins.values()) == {"default"}


def test_a_later_layer_wins_and_each_value_names_its_origin(machine: Machine) -> None:
    machine.user_file.write_text('store = "user.db"\nreview_tier = "none"\n')
    settings = machine.load()
    assert (settings.store, settings.origins["store"]) == ("user.db", str(machine.user_file))

    machine.project_file.write_text('review_tier = "full"\n')
    settings = machine.load()
    assert (settings.review_tier, settings.origins["review_tier"]) == ("full", str(machine.project_file))

    settings = machine.load({"LOOPBOOK_STORE": "env.db", "LOOPBOOK_REVIEW_TIER": "light"})
    assert (settings.store, settings.origins["store"]) == ("env.db", "$LOOPBOOK_STORE")
    assert (settings.review_tier, settings.origins["review_tier"]) == ("light", "$LOOPBOOK_REVIEW_TIER")

    settings = machine.load({"LOOPBOOK_STORE": "env.db"}, {"store": "arg.db", "kinds_dir": None})
    assert (settings.store, settings.origins["store"]) == ("arg.db", "argument")
    assert settings.origins["kinds_dir"] == "default", "an argument that was not given says nothing"


def test_an_empty_variable_is_not_set(machine: Machine) -> None:
    assert machine.load({"LOOPBOOK_STORE": ""}).origins["store"] == "default"


def test_the_nearest_project_file_counts_from_any_folder_below_it(machine: Machine) -> None:
    machine.project_file.write_text('review_tier = "full"\n')
    below = machine.project / "src" / "deep"
    below.mkdir(parents=True)
    assert machine.load(project=below).review_tier == "full"
    (below / ".loopbook.toml").write_text("")
    assert project_file(below) == below / ".loopbook.toml"
    assert machine.load(project=below).review_tier == "light"


def test_without_a_project_no_project_file_is_looked_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.project_file.write_text('review_tier = "full"\n')
    monkeypatch.chdir(machine.project)
    assert load_settings(None, {"HOME": str(machine.home)}, platform="linux").review_tier == "light"


# --- invariant 9: a project's file can only tighten ----------------------------------------

tiers = st.none() | st.sampled_from(TIERS)
allowed = [name for name, row in SETTINGS.items() if row.stricter]
user_only = [name for name, row in SETTINGS.items() if not row.stricter]


def toml(**values: str | None) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items() if value is not None)


@given(layers=st.tuples(tiers, tiers, tiers, tiers), store=st.none() | st.sampled_from(["a.db", "b.db"]))
def test_a_project_never_loosens_what_would_hold_without_it(
    tmp_path_factory: pytest.TempPathFactory, layers: tuple[str | None, ...], store: str | None
) -> None:
    user, project, env, argument = layers
    machine = Machine(tmp_path_factory.getbasetemp() / "layers")
    machine.user_file.write_text(toml(review_tier=user, store=store))
    env_table = {"LOOPBOOK_REVIEW_TIER": env} if env else {}
    machine.project_file.unlink(missing_ok=True)
    without = machine.load(env_table, {"review_tier": argument})
    machine.project_file.write_text(toml(review_tier=project))
    beside = machine.load(env_table, {"review_tier": argument})

    assert TIERS.index(beside.review_tier) >= TIERS.index(without.review_tier)
    assert beside._replace(review_tier="none", origins={}) == without._replace(review_tier="none", origins={})
    if env or argument:
        assert beside.review_tier == (argument or env), "environment and arguments are the user's"
    moved = {name for name in SETTINGS if beside.origins[name] != without.origins[name]}
    assert moved <= {"review_tier"}
    assert (beside.origins["review_tier"] == str(machine.project_file)) == (beside != without)


#: Per setting that a project may set: values, the loosest first, and how a file writes one.
FROM_LOOSE_TO_STRICT: dict[str, list[object]] = {
    "review_tier": ["none", "light", "full"],
    "second_thought": [True, False],
    "done_threshold": [0.0, 0.25, 0.5, 1.0],
    "quality_threshold": [0.0, 1.5, 3.0],
    "max_continuations": [UNLIMITED, 8, 2, 0],
}


@pytest.mark.parametrize("name", allowed)
def test_of_two_values_a_project_can_only_bring_the_stricter_one(machine: Machine, name: str) -> None:
    if name not in FROM_LOOSE_TO_STRICT:
        return  # the two below: tools are added, none is taken away
    values = FROM_LOOSE_TO_STRICT[name]
    for (i, user), (j, project) in product(enumerate(values), repeat=2):
        machine.user_file.write_text(f"{name} = {json.dumps(user)}\n")
        machine.project_file.write_text(f"{name} = {json.dumps(project)}\n")
        settings = machine.load()
        expected = values[max(i, j)]
        assert getattr(settings, name) == (None if expected == UNLIMITED else expected)
        origin = machine.project_file if j > i else machine.user_file
        assert settings.origins[name] == str(origin)


def test_a_project_names_further_tools_that_quiet_and_takes_none_away(machine: Machine) -> None:
    machine.user_file.write_text('waiting_tools = ["wait"]\nsubagent_tools = { task = "agent" }\n')
    machine.project_file.write_text(
        'waiting_tools = ["sleep", "wait"]\nsubagent_tools = { task = "other", crew = "name" }\n'
    )
    settings = machine.load()
    assert settings.waiting_tools == ("wait", "sleep")
    assert settings.subagent_tools == {"task": "agent", "crew": "name"}


def test_every_setting_that_a_project_may_set_is_tried_here() -> None:
    assert {*FROM_LOOSE_TO_STRICT, "waiting_tools", "subagent_tools"} == set(allowed)


@pytest.mark.parametrize("name", user_only)
def test_what_only_the_user_may_choose_is_an_error_in_a_project(machine: Machine, name: str) -> None:
    machine.project_file.write_text(f'{name} = "x"\n')
    with pytest.raises(InvalidSettings) as told:
        machine.load()
    message = str(told.value)
    assert str(machine.project_file) in message
    assert name in message
    assert str(machine.user_file) in message, "the remedy names where it may stand"
    assert "no setting was taken" in message


def test_store_check_commands_and_judge_are_the_users_alone() -> None:
    assert {"store", "kinds_dir", "checks"} <= set(user_only)
    assert {name for name in SETTINGS if name.startswith("judge_")} <= set(user_only)


# --- mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stor = 'x'", ["unknown setting 'stor'", "did you mean store?"]),
        ("colour = 'x'", ["unknown setting 'colour'", "there is: store"]),
        ("store = 3", ["store must be a non-empty text"]),
        ("store = ''", ["store must be a non-empty text"]),
        ("review_tier = 'heavy'", ["review_tier must be one of none, light, full"]),
        ("review_tier = 1", ["review_tier must be one of none, light, full"]),
        ("kinds_dir = []", ["kinds_dir must be a non-empty text"]),
        ("checks = 3", ["checks must be tables [[checks]]"]),
        ("[[checks]]\nfolder = '.'", ["exactly folder, command and scope"]),
        ("[[checks]]\nfolder='.'\ncommand='x'\nscope='soup'", ["scope is one of tests, build"]),
        ("[[checks]]\nfolder='.'\ncommand=''\nscope='tests'", ["checks must be a non-empty text"]),
        ("judge_timeout = 0", ["judge_timeout must be a number from 0.1 to 600"]),
        ("judge_timeout = true", ["judge_timeout must be a number from 0.1 to 600"]),
        ("judge_cap = nan", ["judge_cap must be a number from 0 to 1e+06"]),
        ("judge_price = 'much'", ["judge_price must be a number"]),
        ("judge_allow_http = 'perhaps'", ["judge_allow_http must be true or false"]),
        ("second_thought = 3", ["second_thought must be true or false"]),
        ("done_threshold = 1.5", ["done_threshold must be a number from 0 to 1"]),
        ("max_continuations = 2.5", ["max_continuations must be a whole number from 0 to 1000, or"]),
        ("waiting_tools = 'wait'", ["waiting_tools must be a list of names"]),
        ("subagent_tools = ['task']", ["subagent_tools must be a table"]),
        ("store = ", ["is not TOML"]),
        ("\ud800".encode("utf-8", "surrogatepass"), ["is not TOML"]),
        ("a=" + "[" * 50_000, ["is not TOML"]),
        ("#" * 1_000_001, ["larger than 1 MB"]),
    ],
)
def test_a_mistake_in_the_users_file_names_file_key_and_remedy(
    machine: Machine, text: str | bytes, words: list[str]
) -> None:
    machine.user_file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidSettings) as told:
        machine.load()
    for word in [str(machine.user_file), "no setting was taken", *words]:
        assert word in str(told.value)


def test_a_mistake_in_a_variable_names_the_variable(machine: Machine) -> None:
    with pytest.raises(InvalidSettings, match=r"\$LOOPBOOK_REVIEW_TIER: review_tier must be one of"):
        machine.load({"LOOPBOOK_REVIEW_TIER": "heavy"})


def test_an_unknown_key_in_a_project_is_answered_with_what_may_stand_there(machine: Machine) -> None:
    machine.project_file.write_text("reviewtier = 'full'\n")
    with pytest.raises(InvalidSettings, match="did you mean review_tier"):
        machine.load()


def test_what_is_no_file_is_no_project_file(machine: Machine) -> None:
    machine.project_file.mkdir()
    assert project_file(machine.project) is None


def test_a_settings_file_that_cannot_be_read_is_told(machine: Machine) -> None:
    machine.user_file.mkdir()
    with pytest.raises(InvalidSettings, match="cannot be read"):
        machine.load()


# --- values -----------------------------------------------------------------------------------


def test_folders_start_from_home_or_from_where_they_are_written(machine: Machine) -> None:
    machine.user_file.write_text('kinds_dir = "~/kinds"\n')
    assert machine.load().kinds_dir == machine.home / "kinds"
    machine.user_file.write_text('kinds_dir = "kinds"\n')
    assert machine.load().kinds_dir == machine.user_file.parent / "kinds"
    assert machine.load({"LOOPBOOK_KINDS_DIR": "k"}).kinds_dir == Path.cwd() / "k"


def test_numbers_and_truths_are_read_from_variables_too(machine: Machine) -> None:
    settings = machine.load(
        {
            "LOOPBOOK_JUDGE_TIMEOUT": "2.5",
            "LOOPBOOK_JUDGE_ALLOW_HTTP": "Yes",
            "LOOPBOOK_SECOND_THOUGHT": "off",
            "LOOPBOOK_MAX_CONTINUATIONS": "unlimited",
        }
    )
    assert (settings.judge_timeout, settings.judge_allow_http, settings.second_thought) == (2.5, True, False)
    assert settings.max_continuations is None
    assert machine.load({"LOOPBOOK_MAX_CONTINUATIONS": "3"}).max_continuations == 3


def test_the_address_that_goes_with_a_typesafe_key_counts_where_nobody_says_otherwise(
    machine: Machine,
) -> None:
    theirs = {"TYPESAFE_BASE_URL": "https://gateway.example"}
    assert machine.load().judge_url == "https://api.typesafe.ai"
    settings = machine.load(theirs)
    assert (settings.judge_url, settings.origins["judge_url"]) == (
        "https://gateway.example",
        "$TYPESAFE_BASE_URL",
    )
    machine.user_file.write_text('judge_url = "http://localhost:11434"\n')
    assert machine.load(theirs).judge_url == "http://localhost:11434"


def test_the_defaults_are_those_of_the_program(machine: Machine) -> None:
    settings, own = machine.load(), SecondThought()
    assert (settings.done_threshold, settings.quality_threshold) == own.thresholds
    assert set(settings.waiting_tools) == own.waiting_tools
    assert settings.subagent_tools == own.subagent_tools
    assert (settings.judge_timeout, settings.max_continuations) == (SETTLE_SEC, MAX_CONTINUATIONS)


def test_a_check_command_holds_in_its_folder_and_below_and_nowhere_else(machine: Machine) -> None:
    machine.user_file.write_text(
        f'[[checks]]\nfolder = "{machine.project.as_posix()}"\ncommand = "./verify"\nscope = "tests"\n'
    )
    settings = machine.load()
    for folder in (machine.project, machine.project / "not-there" / "yet"):
        (check,) = settings.rules_for(folder).checks
        assert (check.pattern, check.scope) == ("./verify", "tests")
    for folder in (machine.project.parent, machine.project.with_name("shopping"), Path("\0")):
        assert settings.rules_for(folder).checks == ()


@pytest.mark.parametrize(
    ("platform", "environ", "config", "data"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config", "/h/.local/share"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}, "/c", "/d"),
        (
            "linux",
            {"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "d"},
            "/h/.config",
            "/h/.local/share",
        ),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support", "/h/Library/Application Support"),
        ("win32", {"USERPROFILE": "/u", "APPDATA": "/u/R", "LOCALAPPDATA": "/u/L"}, "/u/R", "/u/L"),
    ],
)
def test_each_system_keeps_its_files_where_its_users_look(
    platform: str, environ: dict[str, str], config: str, data: str
) -> None:
    assert config_folder(environ, platform) == Path(config) / "loopbook"
    assert data_folder(environ, platform) == Path(data) / "loopbook"
