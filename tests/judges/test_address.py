"""Which addresses are asked, what each known server takes, and where an answer's server is found."""

from __future__ import annotations

from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.errors import UnknownDialect
from loopbook.judges import Failure
from loopbook.judges.system_one import DIALECTS, Dialect, SystemOne
from loopbook.judges.system_one.address import Refused, checked, is_loopback, origin_of, shown
from loopbook.judges.system_one.client import Ready
from loopbook.judges.system_one.dialects import BY_NAME, dialect_of
from tests.judges.conftest import PACKET


@pytest.mark.parametrize(
    "url",
    [
        "http://judge.example", "http://10.0.0.7:8080", "http://0.0.0.0", "http://127.1", "http://2130706433",
        "http://localhost.example", "http://127.0.0.1.example", "http://[::ffff:10.0.0.1]", "HTTP://judge.example",
        "http://judge.localhost", "http://localhost.", "http://[::127.0.0.1]",
    ],
)  # fmt: skip
def test_plain_http_goes_to_this_machine_alone_unless_it_is_allowed(url: str) -> None:
    with pytest.raises(Refused, match="plain http"):
        checked(url)
    assert checked(url, allow_http=True) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11434",
        "http://127.0.0.1",
        "http://127.8.0.1:80",
        "http://[::1]:8080",
        "https://a.b",
        "http://[::ffff:127.0.0.1]:80",
        "http://LOCALHOST",
    ],
)
def test_this_machine_and_tls_are_fine(url: str) -> None:
    assert checked(f"{url}/") == url


@pytest.mark.parametrize(
    "url",
    [
        "", "judge", "judge.example", "ftp://judge.example", "file:///etc/passwd", "https://", "https:judge",
        "https://ann:pw@judge.example", "https://ann@judge.example", "https://judge.example?key=1",
        "https://judge.example#x", "https://judge.example/?", "https://judge.example:port",
        "https://judge.example:99999", "https://judge.example:0", "https://[::1", "https://judge .example",
        "https://judge.example\n", "https://judge.example\\@evil.example", "https://\u202ejudge.example",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused_and_never_asked(url: str) -> None:
    with pytest.raises(Refused):
        checked(url, allow_http=True)
    outcome = anyio.run(SystemOne(url, key="some-key-0123", allow_http=True).ask, PACKET, 1)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "refused-url"
    assert "pw@" not in repr(outcome)


@pytest.mark.parametrize(
    ("url", "as_shown"),
    [
        ("https://judge.example/v1/@cf", "https://judge.example/v1/@cf"),
        ("https://judge.example/v1?key=hunter2", "https://judge.example/v1?***"),
        ("https://judge.example/v1#hunter2", "https://judge.example/v1#***"),
        ("https://ann:hunter2@judge.example", "https://***@judge.example"),
        ("https://ann:hunter2@judge.example/?a=1", "https://***@judge.example/?***"),
        ("https://ann:hunter2?hunter2#@hunter2@judge.example", "https://***"),
        ("https://judge.example?key=me@hunter2", "https://***"),
        ("ann:hunter2@judge.example", "***@judge.example"),
    ],
)
def test_of_an_address_that_is_refused_no_user_and_no_query_is_shown(url: str, as_shown: str) -> None:
    assert shown(url) == as_shown
    assert "hunter2" not in repr(SystemOne(url))


@given(st.text(max_size=30) | st.text(max_size=20).map(lambda some: f"https://{some}"))
def test_whatever_is_set_as_an_address_is_an_address_or_refused(url: str) -> None:
    try:
        base = checked(url)
    except Refused:
        return
    parts = urlsplit(base)
    assert parts.scheme == "https" or is_loopback(parts.hostname or "")
    assert "@" not in parts.netloc
    assert origin_of(url).startswith(("https://", "http://"))


def test_a_key_belongs_to_scheme_host_and_port() -> None:
    assert (
        origin_of("https://Judge.Example:443/a/b")
        == origin_of("https://judge.example")
        == "https://judge.example"
    )
    assert origin_of("https://judge.example:8443") == "https://judge.example:8443"
    assert origin_of("http://[::1]:80/x") == "http://[::1]"


# --- dialects ------------------------------------------------------------------------------


def endpoint(judge: SystemOne) -> str:
    ready = judge.ready(PACKET)
    assert isinstance(ready, Ready), ready
    return ready.url


@pytest.mark.parametrize("row", DIALECTS, ids=lambda row: row.name)
def test_every_row_holds_together(row: Dialect) -> None:
    dialect = BY_NAME[row.name]
    assert dialect is row
    assert dialect.title
    assert dialect.path.startswith("/")
    assert dialect.options > 1
    assert dialect.levels > 1
    assert dialect.questions is None or dialect.questions > 0
    assert dialect.request_id == dialect.request_id.lower()
    assert "{" not in dialect.path or dialect.model, "a path that holds the model needs one"
    if dialect.name != "compatible":
        assert dialect_of(checked(dialect.base)) is dialect or dialect.by_name
        keyed = SystemOne(dialect.base, key="some-key-0123", dialect=dialect.name)
        assert endpoint(keyed).startswith(dialect.base)


def test_names_are_used_once() -> None:
    assert len(BY_NAME) == len(DIALECTS)


@pytest.mark.parametrize(
    ("url", "name", "asked"),
    [
        ("https://api.typesafe.ai", None, "https://api.typesafe.ai/v1/systemone"),
        ("https://api.typesafe.ai/v1/systemone/", None, "https://api.typesafe.ai/v1/systemone"),
        ("https://openrouter.ai/api", None, "https://openrouter.ai/api/v1/systemone"),
        ("https://openrouter.ai/api", "openrouter-decisions", "https://openrouter.ai/api/alpha/decisions"),
        ("https://ai-gateway.vercel.sh/typesafe", None, "https://ai-gateway.vercel.sh/typesafe/v1/systemone"),
        (
            "https://api.cloudflare.com/client/v4/accounts/a1",
            None,
            "https://api.cloudflare.com/client/v4/accounts/a1/ai/run/@cf/cloudflare/clef",
        ),
        ("http://[::1]:11434", None, "http://[::1]:11434/v1/systemone"),
        ("http://localhost:8080", "llama-cpp", "http://localhost:8080/v1/systemone"),
        ("https://judge.example/llm", None, "https://judge.example/llm/v1/systemone"),
    ],
)
def test_each_dialect_is_asked_where_it_listens(url: str, name: str | None, asked: str) -> None:
    assert endpoint(SystemOne(url, key="some-key-0123", dialect=name)) == asked


def test_a_models_name_cannot_leave_its_place_in_a_path() -> None:
    judge = SystemOne(
        "https://api.cloudflare.com/client/v4/accounts/a1", key="some-key-0123", model="../x?y#z"
    )
    assert endpoint(judge).endswith("/ai/run/../x%3Fy%23z")


def test_an_unknown_dialect_is_a_mistake_that_names_those_there_are() -> None:
    with pytest.raises(UnknownDialect, match=r"dialect is none that there is.*ollama") as told:
        SystemOne(dialect="olama-hunter2")
    assert "hunter2" not in str(told.value), "it may be anything that was put in the wrong place"


@pytest.mark.parametrize("row", [row for row in DIALECTS if row.keyed], ids=lambda row: row.name)
def test_a_server_that_needs_a_key_is_not_asked_without_one(row: Dialect) -> None:
    outcome = anyio.run(SystemOne(row.base, dialect=row.name).ask, PACKET, 1)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "no-key"
    assert "loopbook judge key set" in outcome.detail
