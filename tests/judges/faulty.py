"""A server that answers well, or fails in the one way that the first part of the path names.

It reads a request as HTTP, and writes whatever bytes a fault has for it. What it received is kept.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

import pytest

from loopbook.judges.system_one.transport import trusted

JSON = Mapping[str, object]


class Received(NamedTuple):
    """A request as it came: its bytes, and its body read as JSON."""

    path: str
    raw: bytes
    body: JSON


class Exchange(NamedTuple):
    """One request that a fault answers; ``seen`` counts this fault's requests, from 1."""

    received: Received
    writer: asyncio.StreamWriter
    seen: int
    reader: asyncio.StreamReader

    def send(self, status: str, body: bytes = b"", *headers: str, length: int | None = None) -> None:
        """Write an answer."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)


def good(received: Received, **changed: object) -> bytes:
    """An answer to everything that was asked: the first option, 0.25, the middle."""
    answers = {}
    questions = received.body["questions"]
    assert isinstance(questions, dict)
    for name, question in questions.items():
        kind, criteria = question["type"], question.get("criteria")
        if kind == "noul":
            answers[name] = {"type": "noul", "noul": 0.25}
        elif kind == "choice":
            shares = dict.fromkeys(criteria, 0.0) | {next(iter(criteria)): 1.0}
            answers[name] = {
                "type": "choice",
                "choice": next(iter(criteria)),
                "probabilities": shares,
                "confidence": 1,
            }
        else:
            even = {str(level): 1 / len(criteria) for level in range(len(criteria))}
            answers[name] = {
                "type": "score",
                "score": (len(criteria) - 1) / 2,
                "legend": None,
                "probabilities": even,
            }
    usage = {"input_tokens": 100, "output_tokens": 10}
    return json.dumps({"model": "m-1", "answers": answers, "usage": usage, **changed}).encode()


Fault = Callable[[Exchange], Awaitable[None]]
FAULTS: dict[str, Fault] = {}


def fault(name: str) -> Callable[[Fault], Fault]:
    def keep(one: Fault) -> Fault:
        FAULTS[name] = one
        return one

    return keep


def always(name: str, status: str, body: bytes = b"", *headers: str) -> None:
    async def answer(exchange: Exchange) -> None:
        exchange.send(status, body, *headers)

    FAULTS[name] = answer


@fault("fine")
async def _fine(exchange: Exchange) -> None:
    exchange.send("200 OK", good(exchange.received), "x-typesafe-request-id: req_1")


@fault("thoughtful")
async def _thoughtful(exchange: Exchange) -> None:
    await asyncio.sleep(0.05)
    exchange.send("200 OK", good(exchange.received))


@fault("wrong-content-type")
async def _wrong_content_type(exchange: Exchange) -> None:
    exchange.send("200 OK", good(exchange.received), "Content-Type: text/html; charset=latin-1")


@fault("out-of-range")
async def _out_of_range(exchange: Exchange) -> None:
    told = json.loads(good(exchange.received))
    told["answers"]["done"]["noul"] = 1.7
    told["answers"]["quality"]["score"] = float("nan")
    exchange.send("200 OK", json.dumps(told).encode())


@fault("slow-first-byte")
async def _slow_first_byte(exchange: Exchange) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(exchange.reader.read(), 20)
    exchange.send("200 OK", good(exchange.received))


@fault("slow-drip")
async def _slow_drip(exchange: Exchange) -> None:
    body = good(exchange.received)
    exchange.send("200 OK", b"", length=len(body))
    for byte in body:
        exchange.writer.write(bytes([byte]))
        await exchange.writer.drain()
        await asyncio.sleep(0.05)


@fault("half-closed")
async def _half_closed(exchange: Exchange) -> None:
    exchange.send("200 OK", b'{"answers": ', length=1_000)
    exchange.writer.write_eof()
    await exchange.reader.read()  # until the other side has closed too


@fault("silent-half-closed")
async def _silent_half_closed(exchange: Exchange) -> None:
    exchange.writer.write_eof()
    await exchange.reader.read()  # until the other side has closed too


@fault("truncated")
async def _truncated(exchange: Exchange) -> None:
    body = good(exchange.received)
    exchange.send("200 OK", body[:-20], length=len(body))
    exchange.writer.close()


@fault("chunks-cut-off")
async def _chunks_cut_off(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{'an")
    exchange.writer.close()


@fault("reset")
async def _reset(exchange: Exchange) -> None:
    exchange.writer.transport.abort()


@fault("closed-at-once")
async def _closed_at_once(exchange: Exchange) -> None:
    exchange.writer.close()


@fault("not-http")
async def _not_http(exchange: Exchange) -> None:
    exchange.writer.write(b"220 mail.example ESMTP\r\n\r\n")
    exchange.writer.close()


PIECE = b" " * 65_536


@fault("huge")
async def _huge(exchange: Exchange) -> None:
    body, pieces = good(exchange.received), 150  # about 10 MB
    exchange.send("200 OK", b"", length=len(body) + pieces * len(PIECE))
    for _ in range(pieces):
        exchange.writer.write(PIECE)
        await exchange.writer.drain()
    exchange.writer.write(body)


@fault("endless")
async def _endless(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        exchange.writer.write(b"10000\r\n" + PIECE + b"\r\n")
        await exchange.writer.drain()


def _packed(megabytes: int) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b"0" * 1_000_000) for _ in range(megabytes)) + packer.flush()


BOMB = _packed(100)


@fault("gzip-bomb")
async def _gzip_bomb(exchange: Exchange) -> None:
    exchange.send("200 OK", BOMB, "Content-Encoding: gzip")


@fault("busy-once-then-closed")
async def _busy_once_then_closed(exchange: Exchange) -> None:
    """The connection seems to be kept, and is closed between two requests."""
    if exchange.seen == 1:
        exchange.send("503 Busy", b"", "Retry-After: 0", "Connection: keep-alive")
        await exchange.writer.drain()
        exchange.writer.close()
    else:
        exchange.send("200 OK", good(exchange.received))


@fault("busy-twice")
async def _busy_twice(exchange: Exchange) -> None:
    if exchange.seen < 3:
        exchange.send("529 Overloaded", b"{}", "retry-after-ms: 20")
    else:
        exchange.send("200 OK", good(exchange.received))


@fault("endless-headers")
async def _endless_headers(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        exchange.writer.write(b"x-more: " + b"y" * 8_000 + b"\r\n")
        await exchange.writer.drain()


@fault("informational-for-ever")
async def _informational(exchange: Exchange) -> None:
    while True:
        exchange.writer.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        await exchange.writer.drain()
        await asyncio.sleep(0.01)


@fault("redirect")
async def _redirect(exchange: Exchange) -> None:
    port = exchange.writer.get_extra_info("sockname")[1]
    exchange.send("307 Temporary Redirect", b"", f"Location: http://localhost:{port}/elsewhere/v1/systemone")


@fault("elsewhere")
async def _elsewhere(exchange: Exchange) -> None:
    exchange.send("200 OK", good(exchange.received))


@fault("echo-invalid")
async def _echo_invalid(exchange: Exchange) -> None:
    """A validation error that gives everything back, the key too."""
    text = exchange.received.raw.decode("latin-1")
    detail = [{"loc": ["body", "state"], "msg": "no " + text, "input": exchange.received.body}]
    exchange.send("422 Unprocessable", json.dumps({"detail": detail}).encode())


always("dear-garbage", "200 OK", b'{"model": "m", "usage": {"input_tokens": 9, "cost": 5}}')


@fault("free")
async def _free(exchange: Exchange) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10, "cost": 0}
    exchange.send("200 OK", good(exchange.received, usage=usage))


@fault("half-a-dollar")
async def _half_a_dollar(exchange: Exchange) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10, "cost": 0.5}
    exchange.send("200 OK", good(exchange.received, usage=usage))


@fault("dear-then-fine")
async def _dear_then_fine(exchange: Exchange) -> None:
    if exchange.seen == 1:
        exchange.send("500 Failed", b'{"usage": {"cost": 3}}', "retry-after-ms: 1")
    else:
        exchange.send("200 OK", good(exchange.received, usage={"input_tokens": 100, "cost": 0.25}))


def _key_in(received: Received) -> str:
    """The key that came in the header."""
    found = re.search(rb"(?i)authorization: Bearer (\S+)", received.raw)
    return found[1].decode() if found else "no-key-came"


@fault("echo-key")
async def _echo_key(exchange: Exchange) -> None:
    """A good answer that gives the key back as the model and as the id of the request."""
    key = _key_in(exchange.received)
    name = f"{'m' * 190} {key}"
    exchange.send("200 OK", good(exchange.received, model=name), f"x-request-id: \x1b[0m{key}")


@fault("echo-input")
async def _echo_input(exchange: Exchange) -> None:
    """The input as plain words, in other words each time."""
    words = f"bad input no. {exchange.seen}: {json.dumps(exchange.received.body['state'])}"
    exchange.send("400 Bad Request", json.dumps({"message": words}).encode())


@fault("echo-at-the-cut")
async def _echo_at_the_cut(exchange: Exchange) -> None:
    """Words that are cut in the middle of the key."""
    key = _key_in(exchange.received)
    told = [{"loc": ["body", "state"], "msg": "n" * 180 + key}, {"loc": ["body", key], "msg": "no"}]
    exchange.send("422 Unprocessable", json.dumps({"detail": told}).encode())


always("no-credit", "402 Payment Required", b'{"detail": {"message": "Add credits."}}')
always("overloaded", "529 Overloaded", b'{"detail": "overloaded"}')
always("rate-limit", "429 Too Many", b'{"detail": {"error_type": "rate_limit_error"}}', "Retry-After: 60")
always("html-502", "502 Bad Gateway", b"<html><body>502</body></html>", "Content-Type: text/html")
always("html-200", "200 OK", b"<html>It works!</html>", "Content-Type: text/html")
always("empty", "200 OK")
always("no-content", "204 No Content")
always("array", "200 OK", b"[]")
always("no-answers", "200 OK", b'{"answers": null}')
always("deep", "200 OK", b'{"answers": ' + b"[" * 100_000)
always("not-utf-8", "200 OK", b'{"answers": "\xff\xfe"}')
always("too-long", "400 Bad Request", b'{"detail": {"error_type": "max_tokens_exceeded"}}')
always("payload", "413 Too Large", b"too large")
always("no-model", "404 Not Found", b'{"error": {"message": "no such model"}}')
always("not-a-decision-model", "501 Not Implemented", b'{"error": {"message": "not a decision model"}}')
always("teapot", "418 I'm a teapot")
always("wrong-key", "401 Unauthorized", b'{"detail": {"message": "Cannot authenticate."}}')
always("no-key-given", "403 Forbidden", b'{"detail": {"message": "Must supply an API key!"}}')


class Faulty:
    """The server, under way in a thread of its own; ``received`` holds what came, by fault."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.received: dict[str, list[Received]] = {}
        self.most_at_once = 0
        self.at_once = 0
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def at(self, name: str) -> str:
        """The base URL of a fault."""
        self.received.pop(name, None)
        self.most_at_once = 0
        return f"{self.url}/{name}"

    @property
    def everything(self) -> bytes:
        """All bytes that came."""
        return b"".join(one.raw for several in self.received.values() for one in several)

    def start(self) -> Faulty:
        self._thread.start()
        self._started.wait()
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        )
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                received = await _read(reader)
                name = received.path.split("/")[1]
                several = self.received.setdefault(name, [])
                several.append(received)
                await self._answer(name, Exchange(received, writer, len(several), reader))
                await writer.drain()
        with suppress(OSError):
            writer.close()

    async def _answer(self, name: str, exchange: Exchange) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await FAULTS[name](exchange)
        finally:
            self.at_once -= 1


async def _read(reader: asyncio.StreamReader) -> Received:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    sizes = [line.partition(":")[2] for line in lines if line.lower().startswith("content-length:")]
    body = await reader.readexactly(int(sizes[0]) if sizes else 0)
    return Received(lines[0].split()[1], head + body, json.loads(body or b"{}"))


@pytest.fixture(scope="session")
def faulty() -> Iterator[Faulty]:
    """The server, for all tests of a session."""
    trusted()  # what the first ask of a process takes longer is no fault of a server
    server = Faulty().start()
    yield server
    server.stop()


@contextmanager
def babbling(first: bytes) -> Iterator[int]:
    """The port of a server that says ``first`` to whoever connects, and no more."""

    async def say(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        with suppress(OSError):
            await writer.drain()
        await asyncio.sleep(20)

    loop, started = asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []

    def run() -> None:
        server = loop.run_until_complete(asyncio.start_server(say, "127.0.0.1", 0))
        ports.append(server.sockets[0].getsockname()[1])
        started.set()
        loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait()
    yield ports[0]
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


#: How a program begins in which every lookup of a name takes ``HANGS`` seconds.
HANGS = 20
HANGING_LOOKUP = f"""
import socket, sys, time

def hang(*given, **named):
    time.sleep({HANGS})
    raise OSError("no such name")
socket.getaddrinfo = hang
"""
