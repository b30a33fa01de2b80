"""Secrets never get through, everything else does, and doing it twice changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from loopbook.evidence import redaction_table as table
from loopbook.evidence.redaction import MANY, Redactor, is_secret_name
from loopbook.evidence.text import compiled
from tests.growth import assert_linear

# Made up here, at run time, so that the repository holds nothing that looks like a token.
ALNUM = "a1B2c3D4e5F6g7H8i9J0" * 4
EXAMPLES: dict[str, list[str]] = {
    "private-key": [
        "-----BEGIN " + "RSA PRIVATE KEY-----\n" + f"{ALNUM}\n{ALNUM}==\n" + "-----END RSA PRIVATE KEY-----",
        "-----BEGIN " + "OPENSSH PRIVATE KEY-----\\n" + f"{ALNUM}\\n{ALNUM}",
    ],
    "aws-key": [p + "IA" + "Q7" * 8 for p in ("AK", "AS")],
    "github-token": [
        *(f"gh{c}_" + ALNUM[:36] for c in "pousr"),
        "github" + "_pat_" + ALNUM[:22] + "_" + ALNUM[:50],
    ],
    "gitlab-token": ["gl" + "pat-" + ALNUM[:20]],
    "slack-token": ["xo" + "xb-123456-" + ALNUM[:24], "xa" + "pp-1-" + ALNUM[:30]],
    "slack-webhook": ["https://hooks.slack.com/services/" + "T0A1B2C3D/B0A1B2C3D/" + ALNUM[:24]],
    "stripe-key": ["sk" + "_live_" + ALNUM[:24], "rk" + "_test_" + ALNUM[:24], "wh" + "sec_" + ALNUM[:32]],
    "openai-key": ["s" + "k-" + ALNUM[:48], "s" + "k-proj-" + ALNUM[:48], "s" + "k-or-v1-" + ALNUM[:64]],
    "anthropic-key": ["s" + "k-ant-api03-" + ALNUM + "-_x"],
    "google-key": ["AI" + "za" + ALNUM[:35]],
    "google-token": ["ya" + "29." + ALNUM[:60]],
    "tavily-key": ["tv" + "ly-dev-" + ALNUM[:32]],
    "npm-token": ["np" + "m_" + ALNUM[:36]],
    "pypi-token": ["py" + "pi-AgEIcHlwaS5vcmc" + ALNUM],
    "huggingface-token": ["h" + "f_" + ALNUM[:34]],
    "jwt": ["ey" + "J" + ALNUM[:20] + ".ey" + "J" + ALNUM[:40] + "." + ALNUM[:43]],
    "authorization": ["Bearer " + ALNUM[:24], "Authorization: Basic " + ALNUM[:24] + "=="],
    "url-password": ["postgresql://ann:" + "s3cr3t!" + "@db.test/x"],
    "curl-password": ["curl -s -u ann:" + "swordfish https://api.test"],
}
#: What each example's secret part is, where the mark does not take all of it.
PLAIN = [(name, example) for name, examples in EXAMPLES.items() for example in examples]

#: Nothing here is a secret; all of it is near one.
HARMLESS = [
    "TOKEN=$TOKEN run",
    'API_KEY="${API_KEY}"',
    "token: ${{ secrets.NPM_TOKEN }}",
    "API_KEY=<your key>",
    'api_key = "xxxxxxxx"',
    "PASSWORD=",
    "PASSWORD=********",
    '"token": true',
    '"token": "true"',
    "token: null",
    'password = os.environ["DB_PASSWORD"]',
    "const token = process.env.API_TOKEN",
    "apiKey: process.env.KEY,",
    "max_tokens=4096",
    '"input_tokens": 123456',
    "tokenizer = load()",
    "token = parser.next_token()",
    "def login(password: str, token: str | None = None) -> Token:",
    "password=password, token=self.token)",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:" + "0a" * 32,
    "request 123e4567-e89b-12d3-a456-426614174000 done",
    "cache_key=" + "9f" * 20,
    "primary_key = user_identifier",
    "https://example.test:8443/a@b",
    "git@github.com:a/b.git",
    "https://user@host/x",
    "postgres://u:$PW@h/d",
    "sk-learn-estimator-checks-for-everyone",
    "risk-assessment-of-many-things",
    "risk-assessment-2024-of-many-things",
    "x-sk-learn-estimator-checks-2024-for-everyone",
    "disk-ant-colony-optimisation-run-2024",
    "task-0123456789abcdef0123456789abcdef01234567",
    "task-admin-panel-configuration-2024-Q3",
    "CZECHOSLOVAKIAINTERNATIONALUNION",
    "SOUTH_ASIAPACIFICREGIONALOFFICES",
    "MALAYSIA7AKIAB2" + "C3D4" * 8,  # too long for a key
    "surveyJsonParser.configuration.valueProvider",
    "priya29.configuration_of_Something_2024",
    "shelf_hf_" + "a" * 34,
    "AIza" + "-",
    "npm_config_registry_for_everything_here",
    "the bearer of this letter is authorised",
    "Authorization: see the chapter on tokens",
    "basic authentication only",
    "TOKEN_FILE=/run/secrets/token",
    "PASSWORD_LENGTH=12",
    "--password-file x.txt",
    "--token $TOKEN",
    "-----BEGIN PUBLIC KEY-----",
    "the header '-----BEGIN PRIVATE KEY-----' is looked for",
    "DB_PASS=$DB_PASS",
    "--- PASS: TestThing (0.00s)",
    "key=value",
    '{"key": "some-identifier-2024-Abc"}',
    "Secret Santa: bring gifts",
    'f"Bearer {token}"',
    "secret: your-secret-here",
    "TOKEN=GITHUB_TOKEN",
    "PRIVATE_KEY=~/.ssh/id_ed25519",
]


def test_every_row_of_the_table_has_an_example_here() -> None:
    assert {shape.name for shape in table.SHAPES} == set(EXAMPLES)


@pytest.mark.parametrize(("name", "example"), PLAIN)
@pytest.mark.parametrize(
    "around",
    ["{}", "see {} there", 'x="{}"', "line\n{}\nline", "({})", '{{"a": "{}"}}', "key_{}", "run-{}", "a--{}"],
)
def test_a_token_is_known_by_its_shape_wherever_it_stands(name: str, example: str, around: str) -> None:
    text = around.format(example)
    redacted = Redactor().text(text)
    assert f"[redacted {name} " in redacted
    assert ALNUM[:12] not in redacted
    assert "swordfish" not in redacted
    assert "s3cr3t" not in redacted


GLUED = [
    "s" + "k-ant-api03-" + "aB3x" * 22 + "-AA",
    "AKIA" + "IOSFODNN7EXAMPL3",
    "AI" + "za" + ALNUM[:35],
    "ya" + "29.a0" + ALNUM[:60],
    "h" + "f_" + ALNUM[:34],
    "s" + "k-proj-" + ALNUM[:20] + "T3BlbkFJ" + ALNUM[:20],
    "ey" + "J" + ALNUM[:20] + ".ey" + "J" + ALNUM[:40] + "." + ALNUM[:43],
    "gh" + "p_" + ALNUM[:36],
]


@pytest.mark.parametrize("token", GLUED)
@pytest.mark.parametrize("before", ["key", "KEY", "run-", "key_", "7", "a1", "_", "\u00e9"])
def test_a_token_of_unmistakable_looks_is_known_glued_to_a_word(token: str, before: str) -> None:
    redacted = Redactor().text(f"{before}{token} there")
    assert redacted.startswith(f"{before}[redacted ")
    assert redacted.endswith(f" {len(token)} chars] there")


@pytest.mark.parametrize("escape", [r"\n", r"\t", "%3D", "%20"])
def test_a_token_is_known_right_after_an_escape(escape: str) -> None:
    for _, plain in PLAIN:
        assert ALNUM[:12] not in Redactor().text("x" + escape + plain)


@pytest.mark.parametrize("row", table.SHAPES, ids=lambda row: row.name)
def test_each_needle_begins_or_lies_in_what_its_pattern_matches(row: table.Shape) -> None:
    hits = [e for e in EXAMPLES[row.name] if any(n in e for n in row.needles)]
    assert hits
    assert any(compiled(row.pattern).match(e, e.find(n)) for e in hits for n in row.needles if n in e)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_the_same_object_afterwards(text: str) -> None:
    assert Redactor().text(text) is text


NAMED = [
    "API_KEY={}",
    "export API_KEY={}",
    'export GITHUB_TOKEN="{}"',
    "DB_PASSWORD='{}'",
    "OPENAI_API_KEY: '{}'",
    '{{"api_key": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    "password = '{}'",
    'client_secret := "{}"',
    "dbPassword: '{}'",
    "login --password {}",
    "login --token={}",
    "deploy --api-key '{}'",
    "X-Api-Key: '{}'",
    "https://x.test/?access_token={}",
    "user=ann&password={}&x=1",
    "MY_SECRET_ACCESS_KEY={}",
    "AUTH_TOKEN_2={}",
    "PASSWORD_PROD={}",
    "secret => '{}'",
    "Authorization: Bearer {}",
    'headers["Authorization"] = "Basic {}"',
    "DB_PASS={}",
    "aws_secret_access_key='{}'",
    "//registry.test/:_authToken='{}'",
    "APIKEY={}",
    "CREDENTIALS={}",
    "Passphrase: '{}'",
]


@pytest.mark.parametrize("line", NAMED)
@pytest.mark.parametrize("value", ["swordfish", "hunter2", "Tr0ub4dor&3"[:9], "0123456789abcdef"])
def test_a_value_is_secret_because_its_name_says_so(line: str, value: str) -> None:
    redacted = Redactor().text(line.format(value))
    assert value not in redacted
    assert redacted.count("[redacted ") == 1


def test_bare_values_in_code_and_prose_must_look_like_a_secret() -> None:
    assert Redactor().text("password: hunter2x") != "password: hunter2x"
    assert Redactor().text("password: swordfish") == "password: swordfish"


def test_a_vague_name_needs_a_random_value() -> None:
    assert ALNUM[:24] not in Redactor().text(f"ROUTER_KEY={ALNUM[:24]}")
    assert Redactor().text("sort_key=created_at_then_by_name") == "sort_key=created_at_then_by_name"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("token", True),
        ("GITHUB_TOKEN", True),
        ("apiKey", True),
        ("x-api-key", True),
        ("Authorization", True),
        ("db.password", True),
        ("credentials", True),
        ("SMTP_PASS", True),
        ("API_KEY_2", True),
        ("privateKey", True),
        ("tokens", False),
        ("max_tokens", False),
        ("token_url", False),
        ("key", False),
        ("path", False),
        ("pass", False),
        ("monkey", False),
        ("passwordHint", False),
        ("", False),
        ("tests_passed", False),
    ],
)
def test_names_that_hold_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


LITERALS = st.text(min_size=8, max_size=30).filter(lambda s: "redacted" not in s and len(s.strip()) >= 8)


@given(LITERALS, st.text(max_size=30), st.text(max_size=30))
def test_a_literal_is_gone_in_every_spelling(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    for form in (
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(secret)[1:-1])[1:-1],
        quote(secret, safe=""),
        quote_plus(secret),
    ):
        redacted = redactor.text(f"{before} {form} {after}")
        assert form not in redacted
        assert "[redacted secret " in redacted or "[redacted " in redacted


@pytest.mark.parametrize("secret", ["", "abc", "1234567", "true"])
def test_literals_under_eight_characters_are_ignored(secret: str) -> None:
    assert Redactor([secret]).text("abc 1234567 true") == "abc 1234567 true"


def test_the_longest_of_overlapping_secrets_is_replaced_once() -> None:
    assert Redactor(["abcdefgh", "abcdefgh-ijkl"]).text("<abcdefgh-ijkl>") == "<[redacted secret 13 chars]>"


def test_a_literal_is_not_looked_for_in_marks() -> None:
    assert Redactor(["redacted secret"]).text("[redacted secret 9 chars]") == "[redacted secret 9 chars]"


def test_the_redactor_does_not_print_what_it_hides() -> None:
    assert "swordfish" not in repr(Redactor(["swordfish"])) + str(Redactor(["swordfish"]))


def test_a_token_that_only_stands_free_behind_a_mark_goes_too() -> None:
    token = EXAMPLES["aws-key"][0]
    assert Redactor(["swordfish"]).text("swordfish" + token) == (
        f"[redacted secret 9 chars][redacted aws-key {len(token)} chars]"
    )


SNIPPETS = st.sampled_from(
    [
        *HARMLESS,
        *(e for _, e in PLAIN),
        *(line.format("hunter2") for line in NAMED),
        "token=",
        "password: ",
        "sk-",
        "eyJ",
        "://",
        "AKIA",
        "[redacted ",
        "[redacted jwt 9 chars]",
        "\\",
        '"',
        "'",
        "=",
        "\ud83d",
        "\x00",
        "swordfish",
        ALNUM,
    ]
)
HOSTILE = st.lists(SNIPPETS | st.text(max_size=5), max_size=12).flatmap(
    lambda parts: st.sampled_from(["", " ", "\n"]).map(lambda glue: glue.join(parts))
)


@given(HOSTILE)
@example("run" + "hf_a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7" * 9)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    redactor = Redactor(["swordfish", 'with "quotes"', "hunter2hunter2"])
    once = redactor.text(text)
    assert redactor.text(once) is once
    assert len(once) <= 12 * len(text) + 12


@given(st.text(alphabet="abcdefgh XYZ0123456789.,;()[]{}<>\n/_-\ud83d\u00e9", max_size=300))
def test_text_with_no_telling_word_is_never_altered(text: str) -> None:
    assert Redactor(["swordfish"]).text(text) is text


JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | SNIPPETS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["token", "a", "password", "b"]) | SNIPPETS, inner, max_size=4)
    ),
    max_leaves=12,
)


def shape_of(value: JsonValue) -> object:
    """The structure with texts and keys blanked."""
    if isinstance(value, dict):
        return [shape_of(inner) for inner in value.values()]
    if isinstance(value, list):
        return tuple(shape_of(inner) for inner in value)
    return "" if isinstance(value, str) else value


@given(JSON)
@example({"token": "https://x.test/?access_token=hunter2"})
@example({"token": "secret://hunter2x"})  # harmless as it stands, and not with the mark in it
def test_a_json_value_keeps_its_structure_and_twice_is_once(value: JsonValue) -> None:
    redactor = Redactor(["swordfish"])
    once = redactor.value(value)
    assert shape_of(once) == shape_of(value)
    assert redactor.value(once) == once
    assert "swordfish" not in json.dumps(once)


def test_texts_under_secret_keys_go_as_a_whole_and_the_rest_stays() -> None:
    value: JsonValue = {
        "token": "plain words",
        "tokens": 5,
        "apiKeys": ["kept"],
        "credentials": ["one-two-three", {"user": "ann", "password": "abcd"}],
        "token_type": "bearer",
        "password": 7,
        "secret": "$SECRET",
    }
    assert Redactor().value(value) == {
        "token": "[redacted named-value 11 chars]",
        "tokens": 5,
        "apiKeys": ["kept"],
        "credentials": [
            "[redacted named-value 13 chars]",
            {"user": "ann", "password": "[redacted named-value 4 chars]"},
        ],
        "token_type": "bearer",
        "password": 7,
        "secret": "$SECRET",
    }


def test_keys_that_are_secrets_are_redacted_and_none_is_lost() -> None:
    redacted = Redactor(["swordfish", "hunter2hunter"]).value(
        {"swordfish": 1, "swordfis": 2, "x swordfish": 3}
    )
    assert redacted == {"[redacted secret 9 chars]": 1, "swordfis": 2, "x [redacted secret 9 chars]": 3}
    twins = Redactor(["swordfish", "fishsword"]).value({"swordfish": 1, "fishsword": 2})
    assert isinstance(twins, dict)
    assert list(twins.values()) == [1, 2]


def test_nesting_of_any_depth_is_safe() -> None:
    value: JsonValue = "swordfish"
    for _ in range(50_000):
        value = [value]
    redacted = Redactor(["swordfish"]).value(value)
    while isinstance(redacted, list):
        (redacted,) = redacted
    assert redacted == "[redacted secret 9 chars]"


def repeated(unit: str, size: int) -> str:
    return unit * (size // len(unit))


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "key",
        "sk-",
        "sk-ant-",
        "sk-ant-api03-",
        "sk-proj-",
        "_sk-",
        "eyJ-",
        "eyJaaaaaaaa_",
        "eyJaaaaaaaa.eyJ",
        "ASIA7",
        "AIza",
        "hf_",
        "ya29.a0",
        "eyJa.",
        "AKIA",
        "token=$",
        "token='$",
        "token: '",
        '"token": "',
        'password=\\"',
        "--token ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\n" + "A" * 30,
        "://a:",
        "curl ",
        "curl -u",
        "Bearer ",
        "[redacted ",
        "[redacted jwt 9 chars]",
        "\\",
        "=",
        "token",
        "\ud83dtoken:",
    ],
)
def test_the_time_for_anything_grows_with_its_length_alone(unit: str) -> None:
    assert_linear(lambda size: repeated(unit, size), Redactor(["swordfish"]).text, 100_000)


@pytest.mark.prove
@pytest.mark.parametrize(
    "unit",
    ["a", "token='$", 'password=\\"', "curl ", "word and another, ", "ghp_" + "x1" * 20, "auth: ",
     'PASSWD="', "token=a1b2c3d4 ", "://a:b@", "Token= a1"],
)  # fmt: skip
def test_so_it_does_up_to_four_megabytes(unit: str) -> None:
    assert_linear(lambda size: repeated(unit, size), Redactor(["swordfish"]).text, 4_000_000)


def test_a_text_of_very_many_secrets_is_one_secret() -> None:
    many = "TOKEN=a1b2c3d4\n" * (MANY + 1)
    assert Redactor().text(many) == f"[redacted secret {len(many)} chars]"
    assert Redactor().text(many[15:]).count("TOKEN=[redacted named-value 8 chars]\n") == MANY


def test_each_secret_is_gone_from_four_megabytes_of_log() -> None:
    secrets = [e for _, e in PLAIN]
    log = "\n".join(
        f"line {i} nothing to see " + (secrets[i // 1000 % len(secrets)] if i % 1000 == 0 else "")
        for i in range(160_000)
    )
    redacted = Redactor().text(log)
    assert ALNUM[:12] not in redacted
    assert redacted.count("\nline ") == 159_999


@pytest.mark.parametrize("work", [Redactor().text, lambda s: str(Redactor().value(s))])
def test_hostile_text_never_raises(work: Callable[[str], str]) -> None:
    for text in (
        "\ud83d\ude00",
        "\x00",
        "\ufeff",
        "token=\ud83d",
        "'" * 1000,
        "\\" * 1000,
        "token=\\",
        "://:@",
    ):
        work(text)
