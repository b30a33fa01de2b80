"""The servers that are known, as data: where each takes questions, and in what it differs.

Theory. All of them take the same questions and give the same answers; a *dialect* is the rest: the
path, limits, whether a key is needed, and what an answer is wrapped in. Which one is spoken is told
by the host of the base URL, or by name. A server that no row knows is asked in the plainest way.

Errors need no column: wherever a server puts its words (``error``, ``message``, ``detail``, ``errors``),
``parsing.words_of`` finds them.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from loopbook.errors import UnknownDialect
from loopbook.judges.system_one.address import is_loopback
from loopbook.limits import JUDGE_URL

PATH = "/v1/systemone"


class Dialect(NamedTuple):
    """One row.

    ``base`` is the URL to set, ``path`` what follows it (``{model}`` in it is the model's name).
    ``model`` is asked where nobody names one (``None``: the field is left out). ``keyed``: it answers
    nobody without a key. ``options`` of a choice, ``levels`` of a score and ``questions`` of a request
    are the most it takes. ``wrapped_in`` is the field that holds the answer, if it is not the body
    itself; ``request_id`` the header, or ``body:`` field, with the server's id of the request.
    ``by_name``: its host does not tell it.
    """

    name: str
    title: str
    base: str
    path: str = PATH
    model: str | None = None
    keyed: bool = True
    options: int = 255
    levels: int = 10
    questions: int | None = None
    wrapped_in: str | None = None
    request_id: str = "x-typesafe-request-id"
    by_name: bool = False


DIALECTS: tuple[Dialect, ...] = (
    Dialect("typesafe", "TypeSafe", JUDGE_URL, model="jev-latest"),
    Dialect(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api",
        model="~typesafe/jev-latest",
        request_id="body:id",
    ),
    Dialect(
        "openrouter-decisions",
        "OpenRouter, decisions",
        "https://openrouter.ai/api",
        path="/alpha/decisions",
        model="~typesafe/jev-latest",
        request_id="body:id",
        by_name=True,
    ),
    Dialect("vercel", "Vercel AI Gateway", "https://ai-gateway.vercel.sh/typesafe", model="typesafe-ai/jev"),
    Dialect("ngrok", "ngrok AI Gateway", "https://gateway.ngrok.ai", model="jev-latest"),
    Dialect(
        "cloudflare",
        "Cloudflare Workers AI",
        "https://api.cloudflare.com/client/v4/accounts/ACCOUNT",
        path="/ai/run/{model}",
        model="@cf/cloudflare/clef",
        questions=64,
        wrapped_in="result",
        request_id="cf-ray",
    ),
    Dialect("fireworks", "Fireworks", "https://api.fireworks.ai/inference", options=208),
    Dialect("ollama", "Ollama", "http://localhost:11434", keyed=False, options=26, questions=64),
    Dialect("llama-cpp", "llama.cpp", "http://localhost:8080", keyed=False, by_name=True),
    Dialect("vllm", "vLLM", "http://localhost:8000", keyed=False, request_id="body:id", by_name=True),
    Dialect("sglang", "SGLang", "http://localhost:30000", keyed=False, by_name=True),
    Dialect(
        "compatible", "any other server", "its URL", model="jev-latest", keyed=False, by_name=True
    ),
)  # fmt: skip

BY_NAME = {row.name: row for row in DIALECTS}


def dialect_of(base_url: str, name: str | None = None) -> Dialect:
    """The dialect of that name, else that of the URL's host. Raises ``UnknownDialect`` for a name.

    >>> dialect_of("http://127.0.0.1:11434").name, dialect_of("https://judge.example").name
    ('ollama', 'compatible')
    """
    if name is not None:
        if name not in BY_NAME:
            raise UnknownDialect(
                f"the dialect is none that there is; nothing was asked; there are: {', '.join(BY_NAME)}"
            )
        return BY_NAME[name]
    place = _place(base_url)
    for row in DIALECTS:
        if not row.by_name and place == _place(row.base):
            return row
    return BY_NAME["compatible"]


def _place(url: str) -> tuple[str, int | None] | None:
    """Host and port; this machine has one name."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    return ("localhost" if is_loopback(host) else host), port or {"http": 80, "https": 443}.get(parts.scheme)
