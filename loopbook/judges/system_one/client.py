"""Asking a server: one request for all questions of a packet, within one deadline."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote

import anyio

from loopbook.advisors.asking import FAILURES, Answer, Cost, Failure, Packet
from loopbook.errors import InvalidKey, KeyFileRefused
from loopbook.evidence.redaction import Redactor
from loopbook.judges.system_one import wire
from loopbook.judges.system_one.address import Refused, checked, origin_of, shown
from loopbook.judges.system_one.closures import Closures
from loopbook.judges.system_one.dialects import Dialect, dialect_of
from loopbook.judges.system_one.key import Key
from loopbook.judges.system_one.lines import Line, LineId, line_of
from loopbook.judges.system_one.parsing import Reply, logged, understood
from loopbook.judges.system_one.prices import Bill, Price
from loopbook.judges.system_one.retries import BACKOFF_SEC, LEAST_SEC, pause_before_next
from loopbook.judges.system_one.transport import client_for, sent
from loopbook.judges.telling import tell_once
from loopbook.limits import JUDGE_URL

#: What is kept back of a deadline to close the connection in, in seconds.
CLOSING_SEC = 0.05
LATE = "no whole answer came in time"
#: Failures after which a line is closed, and what a person can do about each.
CLOSING: Mapping[str, str] = {
    "http-auth": "give it another key: loopbook judge key set",
    "http-payment": "see to its account, or choose another judge_url",
}


class Ready(NamedTuple):
    """A request with everything it takes, before it is made; ``refused_key`` says why a key that is there
    may not be used."""

    url: str
    request: wire.Request
    model: str | None
    key: Key | None
    redactors: tuple[Redactor, ...]
    line_id: LineId
    line: Line
    refused_key: str = ""


class SystemOne:
    """A judge behind a System One server.

    ``key`` is the key itself, or where to look for it each time; without one only servers that need none
    are asked. ``dialect`` is a name of ``DIALECTS`` where the address does not tell. ``redactor`` hides
    secrets before anything is sent (default: the values of this process's variables whose names say that
    they are secret); the key itself is hidden in any case. ``closures`` keep for other processes that a
    server has refused a key (default: this process alone knows). It may be asked from any thread and event
    loop, and holds no connection between two asks.

    >>> judge = SystemOne("http://localhost:11434", model="nimble")
    >>> judge
    <SystemOne http://localhost:11434 (ollama) nimble>
    """

    def __init__(
        self,
        base_url: str = JUDGE_URL,
        *,
        model: str | None = None,
        key: str | Callable[[], Key | None] | None = None,
        dialect: str | None = None,
        allow_http: bool = False,
        price: Price | None = None,
        redactor: Redactor | None = None,
        closures: Closures | None = None,
    ) -> None:
        """Raises ``UnknownDialect``, and ``InvalidKey`` for a key that could not be sent."""
        self.base_url = base_url
        self.dialect: Dialect = dialect_of(base_url, dialect)
        self.model = model or self.dialect.model
        self.allow_http = allow_http
        self.price = price or Price()
        given = Key(key, "the caller") if isinstance(key, str) else None
        self._find_key: Callable[[], Key | None] = key if callable(key) else lambda: given
        self.closures = closures or Closures()
        self._redactor = Redactor.of_variables(os.environ) if redactor is None else redactor

    @staticmethod
    def from_env(
        environ: Mapping[str, str] | None = None, *, redactor: Redactor | None = None
    ) -> SystemOne | None:
        """The judge that the environment names, its key from there or from the user's key file; nobody
        where a key is needed and there is none.

        Its variables are those of the settings (docs/judge.md); no settings file is read, that is for
        ``loopbook.own.judge``. Raises ``InvalidSettings`` and ``UnknownDialect``.

        >>> SystemOne.from_env({"HOME": "/nowhere", "LOOPBOOK_JUDGE_URL": "http://localhost:11434"})
        <SystemOne http://localhost:11434 (ollama)>
        """
        from loopbook.own import judge_of  # noqa: PLC0415 - an edge: nothing else here knows settings

        return judge_of(os.environ if environ is None else environ, redactor)

    def __repr__(self) -> str:
        return f"<SystemOne {self}>"

    def __str__(self) -> str:
        """Who is asked, for a person; no secret of the variables is shown, nor a password in the address."""
        asked = f"{shown(self.base_url)} ({self.dialect.name}){f' {self.model}' if self.model else ''}"
        return self._redactor.text(asked)

    def can_ask(self) -> bool:
        """Whether there is what it takes. A key that is there and cannot be used counts: it is told then."""
        try:
            return not self.dialect.keyed or self._find_key() is not None
        except (InvalidKey, KeyFileRefused):
            return True

    def preview(self, packet: Packet) -> Ready | Failure:
        """The request that would ask a packet, key or not. Nothing is sent."""
        try:
            base, origin = checked(self.base_url, allow_http=self.allow_http), origin_of(self.base_url)
        except Refused as why:
            return Failure("refused-url", str(why))
        try:
            key, refused = self._find_key(), ""
        except (InvalidKey, KeyFileRefused) as why:
            key, refused = None, str(why)
        redactors = (self._redactor, *([Redactor([key.reveal()])] if key else []))
        made = wire.request(packet, self.dialect, self.model, redactors)
        if isinstance(made, Failure):
            return made
        url = _endpoint(base, self)
        return Ready(url, made, self.model, key, redactors, *line_of(origin, key), refused)

    def ready(self, packet: Packet) -> Ready | Failure:
        """The same, or why it cannot be made."""
        ready = self.preview(packet)
        if isinstance(ready, Failure):
            return ready
        if ready.refused_key:
            tell_once((*ready.line_id, "no-key"), ready.refused_key)
            return Failure("no-key", ready.refused_key)
        if ready.key is None and self.dialect.keyed:
            needs = f"{ready.line_id.origin} needs a key, and there is none"
            return Failure("no-key", f"{needs}; nothing was asked; give it one with: loopbook judge key set")
        return ready

    async def ask(self, packet: Packet, deadline: float) -> Answer | Failure:
        """Ask all questions of a packet at once; never raises, and takes no longer than ``deadline``
        seconds, retries and waiting for a turn included."""
        from loopbook.judges.system_one.apart import apart  # noqa: PLC0415 - an event loop is for who asks

        bill, closing = Bill(self.price), min(CLOSING_SEC, deadline / 10)
        try:
            outcome = await apart(lambda: self._ask(packet, deadline - closing, bill), deadline - closing / 2)
        except Exception as wrong:  # noqa: BLE001 - no thread was to be had, say
            return Failure("error", type(wrong).__name__)
        return Failure("timeout", LATE, bill.total()) if outcome is None else outcome

    async def _ask(self, packet: Packet, deadline: float, bill: Bill) -> Answer | Failure:
        begun = time.monotonic()
        try:
            ready = self.ready(packet)
            if isinstance(ready, Failure):
                return ready
            outcome = await self._within(ready, begun + deadline, bill)
        except Exception as wrong:  # noqa: BLE001 - a library's fault is a failure, not the caller's
            return Failure("error", type(wrong).__name__, bill.total())
        return self._finished(ready, outcome, bill.total(), time.monotonic() - begun)

    async def _within(self, ready: Ready, ends: float, bill: Bill) -> Answer | Failure:
        """Ask when it is this one's turn, up to a moment of the monotonic clock."""
        with anyio.move_on_after(ends - time.monotonic()):
            async with ready.line.turn():
                return await _asked(self, ready, ends, bill)
        return Failure("timeout", LATE)

    def _finished(
        self, ready: Ready, outcome: Answer | Failure, took: Cost | None, seconds: float
    ) -> Answer | Failure:
        if isinstance(outcome, Failure):
            return outcome._replace(took=took)
        cost = None if took is None else took.cost_usd
        asked = None if self.model is None else wire.hider(ready.redactors)(self.model)
        return outcome._replace(model_asked=asked, latency_ms=round(seconds * 1000, 3), cost_usd=cost)


def _endpoint(base: str, judge: SystemOne) -> str:
    path = judge.dialect.path.format(model=quote(judge.model or "", safe="@/~"))
    return base if base.endswith(path) else base + path


async def _asked(judge: SystemOne, ready: Ready, ends: float, bill: Bill) -> Answer | Failure:
    """Ask, and ask again where that may help and there is time."""
    if closed := judge.closures.kind(ready.line_id):
        return Failure("circuit-open", f"{ready.line_id.origin}: {FAILURES.get(closed, closed)}")
    client = client_for(ready.url)
    if isinstance(client, Failure):
        return client
    hide = wire.hider(ready.redactors)
    async with client:
        for wait in (*BACKOFF_SEC, None):
            bill.begin(len(ready.request.body))
            reply = await sent(client, ready.url, ready.request.body, ready.key)
            if isinstance(reply, Failure):
                outcome: Answer | Failure = reply
            else:
                outcome = understood(reply, ready.request, judge.dialect, hide)
                _note(judge, ready, reply, outcome)
            bill.end(_took(outcome))
            pause = None if wait is None else pause_before_next(reply, wait)
            if pause is None or time.monotonic() + pause + LEAST_SEC > ends:
                return outcome
            await anyio.sleep(pause)
    raise AssertionError("the last try returns")


def _took(outcome: Answer | Failure) -> Cost | None:
    """What the server tells that a request took."""
    if isinstance(outcome, Failure):
        return outcome.took
    return Cost(outcome.input_tokens, outcome.output_tokens, outcome.cost_usd)


def _note(judge: SystemOne, ready: Ready, reply: Reply, outcome: Answer | Failure) -> None:
    """Close the line where the server will have none of it, and tell a person, once."""
    if not isinstance(outcome, Failure):
        return
    origin, kind = ready.line_id.origin, outcome.kind
    if kind in CLOSING:
        judge.closures.close(ready.line_id, kind)
        tell_once(
            (*ready.line_id, kind),
            f"{origin}: {FAILURES[kind]}; books are kept and it is not asked again; {CLOSING[kind]}",
        )
    elif kind == "http-invalid":
        tell_once((*ready.line_id, kind), f"{origin} calls a request wrong ({logged(reply)}); books are kept")
