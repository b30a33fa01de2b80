"""What a user's settings come to: a judge, and how runs are settled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loopbook import own
from loopbook.advisors.second_thought import SecondThought
from loopbook.books import Books
from loopbook.engine import ADVISORS
from loopbook.errors import InvalidSettings
from loopbook.events import Change, Judged, PassedOver, RunSettled
from loopbook.judges.scripted import Scripted
from loopbook.judges.system_one import SystemOne
from loopbook.limits import Options, Thresholds
from loopbook.settings import SETTINGS, Settings, load_settings
from tests.flows import CONTENT


def settings(home: Path, **environ: str) -> Settings:
    return load_settings(None, {"HOME": str(home), **environ}, platform="linux")


def test_with_nothing_set_runs_settle_as_the_program_has_it(tmp_path: Path) -> None:
    options = own.options(settings(tmp_path))
    assert options._replace(advisors=None) == Options()
    assert options.advisors == ADVISORS


def test_every_setting_of_second_thought_arrives_in_it(tmp_path: Path) -> None:
    (tmp_path / ".config" / "loopbook").mkdir(parents=True)
    (tmp_path / ".config" / "loopbook" / "settings.toml").write_text(
        'done_threshold = 0.75\nquality_threshold = 2\nwaiting_tools = ["wait"]\n'
        'subagent_tools = { task = "agent" }\nmax_continuations = "unlimited"\n'
        "judge_cap = 0.5\njudge_timeout = 3\n"
    )
    options = own.options(settings(tmp_path))
    assert (options.timeout, options.max_continuations, options.cap_usd) == (3, None, 0.5)
    assert options.advisors == (
        SecondThought(
            waiting_tools=frozenset({"wait"}),
            subagent_tools={"task": "agent"},
            thresholds=Thresholds(0.75, 2),
        ),
    )


def test_books_settle_as_their_options_have_it() -> None:
    strict = SecondThought(thresholds=SecondThought().thresholds._replace(quality=2.9))
    for options, said in ((Options(), 0), (Options(advisors=(strict,)), 1)):
        loop = Books.open("memory:", options=options).start("change", "Add a retry")
        loop.record(Change(summary="one", paths=("a.py",)))
        loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([{**CONTENT, "quality": 2}]))
        [judged] = [entry.event for entry in loop.entries() if isinstance(entry.event, Judged)]
        assert judged.thresholds["quality"] == (2.9 if said else 1.5)


def test_second_thought_that_is_off_is_not_there_at_all(tmp_path: Path) -> None:
    options = own.options(settings(tmp_path, LOOPBOOK_SECOND_THOUGHT="off"))
    assert options.advisors == ()
    loop = Books.open("memory:", options=options).start("change", "Add a retry")
    loop.record(Change(summary="one", paths=("a.py",)))
    judge = Scripted([CONTENT])
    assert loop.settle_blocking(RunSettled(run="r1"), judge=judge) is None
    assert not judge.asked
    assert not [entry for entry in loop.entries() if isinstance(entry.event, PassedOver | Judged)]


def test_a_bound_of_the_books_holds_in_every_settle() -> None:
    loop = Books.open("memory:", options=Options(max_continuations=0)).start("change", "Add a retry")
    loop.record(Change(summary="one", paths=("a.py",)))
    advice = loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([CONTENT]))
    assert advice is not None
    assert not advice.continues
    loop.record(Change(summary="two", paths=("a.py",)))


def test_without_a_key_there_is_nobody_to_ask(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert own.judge(settings(tmp_path), env) is None
    found = own.judge(settings(tmp_path), {**env, "TYPESAFE_API_KEY": "their-key"})
    assert str(found) == "https://api.typesafe.ai (typesafe) jev-latest"


def test_the_settings_of_the_judge_arrive_in_it(tmp_path: Path) -> None:
    told = settings(
        tmp_path,
        LOOPBOOK_JUDGE_URL="http://judge.example:8080",
        LOOPBOOK_JUDGE_MODEL="m-1",
        LOOPBOOK_JUDGE_DIALECT="llama-cpp",
        LOOPBOOK_JUDGE_ALLOW_HTTP="yes",
        LOOPBOOK_JUDGE_PRICE="0.5",
        LOOPBOOK_JUDGE_OUTPUT_PRICE="2",
    )
    found = own.judge(told, {"HOME": str(tmp_path)})
    assert found is not None
    assert (found.base_url, found.model, found.dialect.name) == (
        "http://judge.example:8080",
        "m-1",
        "llama-cpp",
    )
    assert (found.allow_http, found.price) == (True, (0.5, 2.0))


#: Every variable that says something of the judge itself, with the attribute of it that it sets.
OF_THE_JUDGE = {
    "LOOPBOOK_JUDGE_URL": ("http://judge.example:8080", "base_url"),
    "TYPESAFE_BASE_URL": ("https://gateway.example", "base_url"),
    "LOOPBOOK_JUDGE_MODEL": ("m-1", "model"),
    "LOOPBOOK_JUDGE_DIALECT": ("llama-cpp", "dialect"),
    "LOOPBOOK_JUDGE_ALLOW_HTTP": ("yes", "allow_http"),
    "LOOPBOOK_JUDGE_PRICE": ("0.5", "price"),
    "LOOPBOOK_JUDGE_OUTPUT_PRICE": ("2", "price"),
}


def test_every_variable_of_the_judge_is_known_here() -> None:
    of_settles = {"LOOPBOOK_JUDGE_TIMEOUT", "LOOPBOOK_JUDGE_CAP"}
    names = {
        one for name, row in SETTINGS.items() if name.startswith("judge_") for one in (row.variable, row.weak)
    }
    assert names - {None} == {*OF_THE_JUDGE, *of_settles}


@pytest.mark.parametrize("names", [(), *[(name,) for name in OF_THE_JUDGE], tuple(OF_THE_JUDGE)])
def test_the_judge_of_the_environment_is_that_of_the_settings_where_there_is_no_file(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    env = {"HOME": str(tmp_path), "LOOPBOOK_JUDGE_KEY": "some-key-0123"}
    env |= {name: OF_THE_JUDGE[name][0] for name in names}
    one, other = SystemOne.from_env(env), own.judge(load_settings(None, env, platform="linux"), env)
    assert one is not None
    assert other is not None
    plain = SystemOne(key="some-key-0123")
    for attribute in {attribute for _, attribute in OF_THE_JUDGE.values()}:
        assert getattr(one, attribute) == getattr(other, attribute)
    for name in names:
        attribute = OF_THE_JUDGE[name][1]
        assert getattr(one, attribute) != getattr(plain, attribute)


def test_the_judge_of_the_environment_reads_no_settings_file(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "loopbook" / "settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text('judge_url = "https://file.example"\nnonsense = 1\n')
    found = SystemOne.from_env({"HOME": str(tmp_path), "LOOPBOOK_JUDGE_KEY": "some-key-0123"})
    assert str(found) == "https://api.typesafe.ai (typesafe) jev-latest"


def test_a_variable_that_is_wrong_is_told_by_either(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match=r"\$LOOPBOOK_JUDGE_PRICE: judge_price must be a number"):
        SystemOne.from_env({"HOME": str(tmp_path), "LOOPBOOK_JUDGE_PRICE": "much"})


def test_a_projects_file_can_neither_name_nor_pay_the_judge(tmp_path: Path) -> None:
    for line in ('judge_url = "https://evil.example"', "judge_cap = 100", "judge_allow_http = true"):
        (tmp_path / ".loopbook.toml").write_text(line)
        with pytest.raises(InvalidSettings, match="may not be set by a project"):
            load_settings(tmp_path, {"HOME": str(tmp_path / "home")}, platform="linux")


# --- the books with all of it -------------------------------------------------------------------------


#: Every setting that books hold, as a user's file says it and as it arrives. One that is new belongs
#: here, or to what is not the books'.
OF_THE_BOOKS: dict[str, tuple[str, Callable[[Books], object], object]] = {
    "store": ('"sqlite:///of-the-user.db"', lambda books: Path(books.url).name, "of-the-user.db"),
    "kinds_dir": ('"kinds"', lambda books: "mine" in books.kinds, True),
    "review_tier": ('"full"', lambda books: books.start("chore", "x").state.life.review_tier, "full"),
    "checks": ("", lambda books: books.options.checks, (("./verify-*", "lint"),)),
    "judge_timeout": ("3", lambda books: books.options.timeout, 3),
    "judge_cap": ("0.25", lambda books: books.options.cap_usd, 0.25),
    "second_thought": ("false", lambda books: books.options.advisors, ()),
    "max_continuations": ("1", lambda books: books.options.max_continuations, 1),
}
#: Those of second thought itself arrive with it, and are looked at above.
IN_SECOND_THOUGHT = {"done_threshold", "quality_threshold", "waiting_tools", "subagent_tools"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder of settings, in which they work too."""
    for name in [*os.environ]:
        if name.startswith(("LOOPBOOK_", "XDG_")):
            monkeypatch.delenv(name)
    folder = tmp_path / ".config" / "loopbook"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(folder)
    (folder / "kinds").mkdir()
    (folder / "kinds" / "mine.toml").write_text(
        'name = "mine"\n[[phase]]\nname = "close"\nneeds = [{ is = "closable" }]'
    )
    return folder


def write_settings(home: Path) -> None:
    lines = [f"{name} = {text}" for name, (text, _, _) in OF_THE_BOOKS.items() if text]
    lines += ["[[checks]]", f"folder = {str(home)!r}", 'command = "./verify-*"', 'scope = "lint"']
    (home / "settings.toml").write_text("\n".join(lines))


def test_every_setting_of_the_user_is_the_books_or_the_judges() -> None:
    of_the_judge = {name for name in SETTINGS if name.startswith("judge_")} - {"judge_timeout", "judge_cap"}
    assert {*OF_THE_BOOKS, *IN_SECOND_THOUGHT} == set(SETTINGS) - of_the_judge


@pytest.mark.parametrize("name", OF_THE_BOOKS)
def test_the_books_of_the_user_have_every_setting(home: Path, name: str) -> None:
    write_settings(home)
    _, arrived, value = OF_THE_BOOKS[name]
    with own.books(settings=load_settings(home)) as books:
        assert arrived(books) == value


def test_books_that_are_only_opened_have_none_of_it_but_the_store_and_the_kinds(home: Path) -> None:
    write_settings(home)
    with Books.open() as books:
        had = {name for name, (_, arrived, value) in OF_THE_BOOKS.items() if arrived(books) == value}
    assert had == {"store", "kinds_dir"}


def test_the_variables_of_the_user_hold_and_a_url_outweighs_their_store(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBOOK_MAX_CONTINUATIONS", "0")
    monkeypatch.setenv("LOOPBOOK_REVIEW_TIER", "full")
    with own.books(f"sqlite:///{home}/mine.db", session="s1") as books:
        assert Path(books.url).name == "mine.db"
        loop = books.start("change", "Add a retry")
        loop.record(Change(summary="one", paths=("a.py",)))
        advice = loop.settle_blocking(RunSettled(run="r1"), judge=Scripted([CONTENT]))
        assert advice is not None
        assert not advice.continues
        assert (loop.state.life.review_tier, loop.state.life.session) == ("full", "s1")


def test_the_users_judge_is_that_of_the_file_and_the_variables(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "settings.toml").write_text('judge_url = "http://127.0.0.1:9"\njudge_model = "m-1"\n')
    monkeypatch.setenv("LOOPBOOK_JUDGE_MODEL", "m-2")
    monkeypatch.setenv("LOOPBOOK_JUDGE_KEY", "some-key-0123")
    found = own.judge()
    assert found is not None
    assert (found.base_url, found.model) == ("http://127.0.0.1:9", "m-2")


def test_the_projects_file_counts_where_one_works(home: Path) -> None:
    (home / ".loopbook.toml").write_text("max_continuations = 2")
    with own.books("memory:") as books:
        assert books.options.max_continuations == 2


def test_a_tier_that_is_given_outweighs_the_users(home: Path) -> None:
    write_settings(home)
    with own.books("memory:") as books:
        assert books.start("chore", "x", review_tier="none").state.life.review_tier == "none"


def test_books_that_settle_nothing_import_no_advisor(home: Path) -> None:
    write_settings(home)
    code = (
        "import sys; from loopbook import own; own.books('memory:', settles=False).start('chore', 'x');"
        " print([name for name in sys.modules if name.startswith('loopbook.advisors')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
