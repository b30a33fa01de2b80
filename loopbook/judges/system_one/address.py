"""Which addresses may be asked: a key and a record are sent there.

Theory. Over TLS anybody may be asked whom the user names; in clear only this machine itself, unless
the user says so. What stands in a URL besides scheme, host, port and path is refused: a password
there would be sent, and kept, wherever the URL is. A name below ``localhost`` is no machine's own: not
every resolver takes it for this one.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit


class Refused(ValueError):
    """Raised inside the judge for an address that may not be asked; says why, in a few words."""


def checked(base_url: str, *, allow_http: bool = False) -> str:
    """The base URL without a slash at its end. Raises ``Refused``.

    >>> checked("https://judge.example/v1/")
    'https://judge.example/v1'
    """
    parts = _split(base_url)
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname or ""):
        raise Refused("plain http to another machine: use https, or allow it with judge_allow_http")
    return base_url.rstrip("/")


def origin_of(base_url: str) -> str:
    """Scheme, host and port: what a key belongs to. Raises ``Refused``.

    >>> origin_of("HTTPS://Judge.Example:443/v1")
    'https://judge.example'
    """
    parts = _split(base_url)
    host = parts.hostname or ""
    usual = {"http": 80, "https": 443}[parts.scheme]
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: by number, or the one name that is.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "localhost.example", "127.1")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    mapped = number.ipv4_mapped if isinstance(number, IPv6Address) else None
    return (mapped or number).is_loopback


def shown(base_url: str) -> str:
    """The URL as it may be shown: where it is refused, without user, password, query and fragment.

    >>> shown("https://ann:pw@judge.example/v1?key=1"), shown("https://judge.example/v1")
    ('https://***@judge.example/v1?***', 'https://judge.example/v1')
    """
    try:
        _split(base_url)
    except Refused:
        return _bare(base_url)
    return base_url


def _bare(url: str) -> str:
    """By its marks alone; nothing of it where a password may hold them."""
    scheme, mark, rest = url.rpartition("://") if url.count("://") == 1 else ("", "", url)
    user, at, rest = rest.rpartition("@")
    if "?" in user or "#" in user:
        return f"{scheme}{mark}***"
    place, *more = re.split("([?#])", rest, maxsplit=1)
    return f"{scheme}{mark}{'***@' if at else ''}{place}{f'{more[0]}***' if more else ''}"


def _split(base_url: str) -> SplitResult:
    if not base_url.isprintable() or " " in base_url or "\\" in base_url:
        raise Refused("not a URL")
    try:
        parts = urlsplit(base_url)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        raise Refused("not a URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_one:
        raise Refused("not an http or https URL with a host")
    if parts.username is not None or parts.password is not None:
        raise Refused("a URL with a user or password in it: give the key as a key")
    if parts.query or parts.fragment or base_url.rstrip()[-1:] in ("?", "#"):
        raise Refused("a URL with a query or fragment")
    return parts
