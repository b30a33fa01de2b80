"""One HTTP request, and nothing of it left over.

Theory. Each ask has a client of its own, closed at its end: nothing is shared between event loops or
threads, and no socket stays open. Redirects are not followed. An answer is read as it comes, unpacked
by nobody, and no further than an answer can be. What goes wrong is a ``Failure``; of an error only its
class is told, because a library's words may quote what was sent.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from loopbook import __version__
from loopbook.advisors.asking import Cost, Failure
from loopbook.judges.system_one.address import is_loopback
from loopbook.judges.system_one.key import Key
from loopbook.judges.system_one.parsing import Reply

if TYPE_CHECKING:
    import ssl

    import httpx

#: The largest answer, and the largest refusal that is looked into, in bytes.
ANSWER_BYTES, REFUSAL_BYTES = 1_000_000, 64_000
_ASKING = ContextVar("asking", default=False)


@cache
def trusted() -> ssl.SSLContext:
    """Certificates are checked; whose are good, the system or ``SSL_CERT_FILE`` says. Made once: it is
    the dear part of a client, and holds no connection."""
    import httpx  # noqa: PLC0415 - a hook that asks nobody must not pay for it

    return httpx.create_ssl_context(trust_env=True)


def client_for(url: str) -> httpx.AsyncClient | Failure:
    """A client for one ask."""
    import httpx  # noqa: PLC0415 - as above

    try:
        return httpx.AsyncClient(
            verify=trusted(),
            trust_env=_may_be_proxied(url),
            follow_redirects=False,
            timeout=None,  # the deadline of the whole ask ends it
            headers={"accept": "application/json", "accept-encoding": "identity"},
        )
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as wrong:
        kind = "tls" if isinstance(wrong, OSError) else "connect"
        return Failure(
            kind, f"the proxy or certificates of the environment cannot be used ({type(wrong).__name__})"
        )


def _may_be_proxied(url: str) -> bool:
    """Whether variables that name a proxy count: over TLS alone, where it sees the host and nothing else,
    and never for this machine. A ``.netrc`` is never read."""
    parts = urlsplit(url)
    return parts.scheme == "https" and not is_loopback(parts.hostname or "")


async def sent(client: httpx.AsyncClient, url: str, body: bytes, key: Key | None) -> Reply | Failure:
    """Make the request once, and read what comes, but no more than an answer can be."""
    import httpx  # noqa: PLC0415 - as above

    _hush()
    headers = {"content-type": "application/json", "user-agent": f"loopbook/{__version__}"}
    if key is not None:
        headers["authorization"] = f"Bearer {key.reveal()}"
    begun, asking = False, _ASKING.set(True)
    try:
        async with client.stream("POST", url, content=body, headers=headers) as response:
            begun = True
            read = await _body(response)
    except httpx.InvalidURL:
        return Failure("refused-url", "not a URL")
    except (httpx.HTTPError, OSError) as wrong:
        return _broken(wrong, begun=begun)
    finally:
        _ASKING.reset(asking)
    if read is None:
        return Failure("too-large", f"more than {ANSWER_BYTES} bytes", Cost())
    return Reply(response.status_code, {name.lower(): one for name, one in response.headers.items()}, read)


@cache
def _hush() -> None:
    """What the library logs of a connection when debugging is on holds a server's headers, and may hold the
    key: of an ask it logs nothing, of what others send with it as before."""
    for name in ("connection", "http11", "proxy", "socks"):
        logging.getLogger(f"httpcore.{name}").addFilter(lambda _record: not _ASKING.get())


async def _body(response: httpx.Response) -> bytes | None:
    """The bytes as they come, unpacked by nobody; nothing where an answer is too large."""
    answers = 200 <= response.status_code < 300
    most = ANSWER_BYTES if answers else REFUSAL_BYTES
    parts, size = [], 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > most:
            return None if answers else b""
    return b"".join(parts)


def _broken(wrong: Exception, *, begun: bool) -> Failure:
    """What a connection that failed comes to, and whether the request may have arrived. Of the error only
    its class is told."""
    import ssl  # noqa: PLC0415 - as above

    import httpx  # noqa: PLC0415 - as above

    name = type(wrong).__name__
    if begun:
        return Failure("cut-off", name, Cost())
    cause: BaseException | None = wrong
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return Failure("tls", type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    if isinstance(wrong, httpx.RemoteProtocolError) and "disconnected" not in str(wrong):
        return Failure("garbage", "it is not HTTP", Cost())
    never = isinstance(
        wrong, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError | httpx.UnsupportedProtocol
    )
    return Failure("connect", name, None if never else Cost())
