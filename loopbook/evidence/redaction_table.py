"""What a secret looks like, as data: token shapes, names that hold secrets, harmless values.

Theory. A row is found by plain text search for one of its ``needles`` (fast, and absent from
most texts); only there is its pattern tried, anchored. So a pattern must be linear from its
anchor: runs are possessive, and what may follow a run is bounded. A pattern's group ``secret``
is what is replaced (the whole match without one). ``mixed`` asks that the secret has a digit or
both cases, which keeps placeholders (``ghp_xxxx``) and hyphenated words (``sk-some-long-name``).
"""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """One kind of token known by its looks."""

    name: str
    needles: tuple[str, ...]
    pattern: str
    mixed: bool = True


# A token begins where no letter, digit, ``_`` or ``-`` stands before it, or right after an escape
# that ends in a letter or digit: ``\n`` inside JSON, ``%3D`` inside a URL.
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_WORD = r"[A-Za-z0-9_-]"
# Glued to a word (``key_AKIA...``, ``run-sk-...``) it is known where its looks leave no doubt: behind a
# ``_`` or ``-`` where no name looks so, behind a letter or digit only by a length or words of its own.
_JOINED = r"(?<=[_-])"


def _shape(name: str, needles: str, pattern: str, *, mixed: bool = True) -> Shape:
    return Shape(name, tuple(needles.split()), pattern, mixed)


SHAPES: tuple[Shape, ...] = (
    Shape(
        "private-key",
        ("-----BEGIN ",),
        (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?P<secret>(?:(?!-----)[\s\S]){16,20000}?(?=-----END )"  # whole,
            r"|(?:(?:\\[nr]|\s){1,8}[A-Za-z0-9+/=]{24,}+)+)"  # or cut off after some lines
        ),
    ),
    _shape(
        "aws-key",
        "AKIA ASIA ABIA ACCA",
        rf"(?:{_EDGE}|(?=A[A-Z]{{3,18}}\d)(?=[A-Z0-9]{{20}}(?![A-Z0-9])))A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16,}}+",
        mixed=False,
    ),
    _shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,}+"),
    _shape("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}+"),
    _shape(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt-",
        rf"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-{_WORD}{{20,}}+",
    ),
    _shape("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", r"xox[abeoprs]-[A-Za-z0-9-]{10,}+"),
    _shape("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}+"),
    _shape(
        "slack-webhook",
        "hooks.slack.com/services/",
        r"hooks\.slack\.com/services/(?P<secret>T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,}+)",
    ),
    _shape("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}+"),
    _shape("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}+"),
    _shape(
        "anthropic-key",
        "sk-ant-",
        rf"(?:{_EDGE}|{_JOINED}|(?=sk-ant-[a-z]{{2,8}}\d\d-))sk-ant-{_WORD}{{16,}}+",
    ),
    _shape(
        "openai-key",
        "sk-",
        rf"(?:{_EDGE}|{_JOINED}(?=sk-(?:(?:proj|svcacct|admin|or-v1)-|[A-Za-z0-9]{{32}}))"
        rf"|(?=sk-{_WORD}{{0,200}}?T3BlbkFJ))sk-{_WORD}{{20,}}+",
    ),
    _shape(
        "google-key", "AIza", rf"(?:{_EDGE}|{_JOINED}|(?=AIza{_WORD}{{35}}(?!{_WORD})))AIza{_WORD}{{35,}}+"
    ),
    _shape(
        "google-token",
        "ya29.",
        rf"(?:{_EDGE}|{_JOINED}|(?=ya29\.[A-Za-z]0{_WORD}{{40}}))ya29\.{_WORD}{{20,}}+",
    ),
    _shape("tavily-key", "tvly-", rf"tvly-{_WORD}{{16,}}+"),
    _shape("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}+"),
    _shape("pypi-token", "pypi-", rf"pypi-{_WORD}{{40,}}+"),
    _shape(
        "huggingface-token",
        "hf_",
        rf"(?:{_EDGE}|{_JOINED}|(?=hf_[A-Za-z0-9]{{34}}(?!{_WORD})))hf_[A-Za-z0-9]{{30,}}+",
    ),
    _shape(
        "jwt",
        "eyJ",
        rf"(?:{_EDGE}|(?=eyJ{_WORD}{{8,200}}+\.eyJ))eyJ{_WORD}{{8,}}+\.{_WORD}{{8,}}+\.{_WORD}{{8,}}+",
    ),
    Shape(
        "authorization",
        ("earer ", "EARER ", "asic ", "ASIC "),
        r"(?:earer|EARER|asic|ASIC)[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
    ),
    Shape(
        "url-password",
        ("://",),
        r"""://[^\s:/?#@"'<>\\]{0,100}:(?P<secret>[^\s/@"'<>\\]{1,300}+)@""",
        mixed=False,
    ),
    Shape(
        "curl-password",
        ("curl ",),
        r"""curl [^\n|;&]{0,200}?(?:-u ?|--user[ =])["']?[^\s:"'$]{1,100}:(?P<secret>[^\s"']{4,200}+)""",
        mixed=False,
    ),
)

#: How a name that holds a secret ends: ``API_KEY``, ``clientSecret``, ``db-password``. In lower case
#: with ``_``; in a text ``_`` may also be ``-`` or nothing, and letters of any case.
NAMES: tuple[str, ...] = (
    "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "credentials", "_pass",
    "api_key", "access_key", "secret_key", "private_key", "auth_key", "account_key", "signing_key",
    "encryption_key", "master_key", "subscription_key", "license_key", "authorization",
)  # fmt: skip

#: Names that hold a secret only when the value looks random: caches and tables have keys too.
VAGUE_NAMES: tuple[str, ...] = ("_key", "_auth")

#: Keys of JSON objects that hold a secret besides ``NAMES``.
KEYS: tuple[str, ...] = ("cookie", "set-cookie", "pwd", "pass", "_auth")

#: What may follow before the name ends: ``API_KEY_2``, ``TOKEN_PROD``.
NAME_SUFFIX = r"(?:_?\d{1,2}|_(?:prod|production|dev|staging|base|value|old|new))?"

#: Flags of command lines that take a secret as their next word.
FLAGS: tuple[str, ...] = (
    "--password", "--passwd", "--passphrase", "--token", "--auth-token", "--access-token", "--api-token",
    "--api-key", "--apikey", "--secret", "--client-secret", "--secret-key", "--secret-access-key",
    "--private-key",
)  # fmt: skip

#: Values that stand for a secret, say that there is none, or say what it would be; matched whole.
HARMLESS = "|".join(
    (
        r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+",  # the name of another variable
        r"\$.*",  # $TOKEN, ${TOKEN}, $(cat token), ${{ secrets.TOKEN }}
        r"%\w+%|\{+[^{}]*\}*|<[^<>]*>?|\[[^\[\]]*\]?",  # %TOKEN%, {{token}}, <your key>, [hidden]
        r"(?P<one>[xX*.•#_?-])(?P=one)*|\w{0,12}[-_][xX]{4,}",  # xxxx, ****, ..., sk-xxxxxxxx
        r"\d{1,5}",
        (
            r"(?i:true|false|null|none|nil|undefined|yes|no|on|off|empty|optional|required|redacted|hidden|masked"
            r"|str|string|text|number|bool|boolean|object|bytes|any|basic|bearer|inherit|write|read"
            r"|tokens?|secrets?|passwords?|passwd|pass|pw|keys?|credentials?|same-origin|include|omit"
            r"|option|argument|flag|value|here|instead|placeholder|dummy|fake|todo|tbd)"
        ),
        r"(?i:your[-_ ].*|.*[-_ ]here|example\S{0,20}|change[-_]?me\S{0,8})",
        r"(?:process\.env|os\.environ|import\.meta\.env|env|secrets|vars|settings|config|self|this)[.\[].*",
        r"[a-z+]{2,20}://[^@\s]*",
        r"(?:\.{1,2}|~)/.*|/(?:app|dev|etc|home|mnt|opt|private|proc|root|run|srv|tmp|users|usr|var)/.*",
    )
)

#: Hashes and ids, which vague names hold: git revisions, SHA-1 to SHA-512, UUIDs.
HASHES = r"(?:sha\d{1,3}[:-])?[0-9a-fA-F]{7,128}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

#: The shortest value under a telling name, and the shortest literal, that count as secret.
MIN_VALUE = 4
MIN_LITERAL = 8
