"""``loopbook settings show`` tells what is set and shows no secret, wherever one was put by mistake."""

from __future__ import annotations

import json

import pytest

from loopbook.judges.system_one import DIALECTS
from loopbook.kinds_draw import alternatives
from loopbook.settings import SETTINGS
from tests.cli.conftest import Cli

SECRET = "quiet-river-lamp"  # which looks like no token

#: Settings that a variable sets to any text.
TEXTS = [name for name, row in SETTINGS.items() if row.variable and row.read.__name__ in ("text", "folder")]


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("name", TEXTS)
def test_no_setting_shows_the_value_of_a_variable_that_is_secret(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str, form: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    monkeypatch.setenv(SETTINGS[name].variable or "", f"memory:{SECRET}" if name == "store" else SECRET)
    said = cli("settings", "show", *form)
    assert (said.code, SECRET in said.out + said.err) == (0, False)
    assert "[redacted secret 16 chars]" in said.out or name == "judge_url"


def test_lists_and_tables_of_the_users_file_show_none_either(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    file = cli.folder / ".config" / "loopbook" / "settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f'waiting_tools = ["{SECRET}"]\nsubagent_tools = {{ task = "{SECRET}" }}\n'
        f'[[checks]]\nfolder = "{SECRET}"\ncommand = "test --with {SECRET}"\nscope = "tests"\n'
    )
    for form in ((), ("--json",)):
        assert SECRET not in cli.ok("settings", "show", *form)


@pytest.mark.parametrize("url", ["https://judge.example/v1?key=hunter2", "https://ann:hunter2@judge.example"])
def test_an_address_that_is_refused_is_shown_without_what_it_is_refused_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("LOOPBOOK_JUDGE_URL", url)
    told = json.loads(cli.ok("settings", "show", "--json"))["settings"]["judge_url"]["value"]
    assert "judge.example" in told
    for said in (told, cli("settings", "show"), cli("judge", "key", "status"), cli("judge", "key", "set")):
        assert "hunter2" not in str(said)


def test_neither_a_model_nor_a_dialect_that_is_a_secret_is_told(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    monkeypatch.setenv("LOOPBOOK_JUDGE_MODEL", SECRET)
    assert SECRET not in str(cli("judge", "key", "status"))
    monkeypatch.setenv("LOOPBOOK_JUDGE_DIALECT", SECRET)
    for said in (
        cli("judge", "key", "status"),
        cli("judge", "ask", "-", stdin="{}"),
        cli("settings", "show"),
    ):
        assert SECRET not in str(said)


def test_what_the_dialect_may_be_is_named_where_it_is_shown_and_no_page_is_referred_to(cli: Cli) -> None:
    """Whoever has installed the package has none of its pages."""
    told = cli.ok("settings", "show")
    (row,) = [line for line in told.splitlines() if line.startswith("judge_dialect\t")]
    assert row.endswith(f": {alternatives(tuple(one.name for one in DIALECTS))}")
    assert "docs/" not in told
