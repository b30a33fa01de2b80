"""A model that says what a script tells it, for driving the real program offline.

It answers ``POST /v1/messages`` on 127.0.0.1 with the next reply of a script, streamed as the
program expects it. A reply is a list of blocks: ``{"text": ...}`` or ``{"tool": name, "input": {...}}``.
A conversation whose first message holds a marker takes its replies from that marker's own script,
so a sub-agent can be scripted beside its parent.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Block = Mapping[str, object]
Reply = Sequence[Block]

SILENT: Reply = ({"text": "Nothing more to do."},)


class Scripts:
    """The replies still to give: those of the main conversation, and one script per marker."""

    def __init__(self, main: Sequence[Reply], marked: Mapping[str, Sequence[Reply]]) -> None:
        self._main = iter(main)
        self._marked = {marker: iter(replies) for marker, replies in marked.items()}
        self._lock = threading.Lock()
        self.numbers = itertools.count(1)

    def next_reply(self, request: Mapping[str, object]) -> Reply:
        """The next reply of the script this request belongs to."""
        if not request.get("tools"):
            return SILENT  # a side question of the program, such as a title for the session
        messages = request.get("messages")
        opening = json.dumps(messages[:1]) if isinstance(messages, list) else ""
        script = next((s for marker, s in self._marked.items() if marker in opening), self._main)
        with self._lock:
            return next(script, SILENT)


def message(reply: Reply, number: int, model: object) -> dict[str, object]:
    """The whole answer as one message object."""
    content: list[dict[str, object]] = []
    for place, block in enumerate(reply):
        if "tool" in block:
            use = {"type": "tool_use", "id": f"toolu_demo{number:04d}{place}", "name": block["tool"]}
            content.append({**use, "input": block["input"]})
        else:
            content.append({"type": "text", "text": block["text"]})
    stop = "tool_use" if any(part["type"] == "tool_use" for part in content) else "end_turn"
    usage = {"input_tokens": 100, "output_tokens": 20}
    return {
        "id": f"msg_demo{number:04d}", "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def stream(whole: Mapping[str, object]) -> bytes:
    """The same answer as server-sent events."""
    content = whole["content"]
    assert isinstance(content, list)
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    ]
    for index, part in enumerate(content):
        if part["type"] == "text":
            start, delta = {**part, "text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            start = {**part, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}})
    events.append({"type": "message_stop"})
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


class Handler(BaseHTTPRequestHandler):
    """One request: the next reply, an empty answer for anything that is not a message."""

    protocol_version = "HTTP/1.1"
    scripts: Scripts

    def log_message(self, *_args: object, **_named: object) -> None:
        """Say nothing: the recorder's own output is the log."""

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        """The program asks whether anybody is there."""
        self._send(200, b"")

    def do_GET(self) -> None:
        """Nothing is served but messages."""
        self._send(404, b"{}")

    def do_POST(self) -> None:
        """Count tokens, or answer a message."""
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            return self._send(200, b'{"input_tokens": 100}')
        if "/v1/messages" not in self.path:
            return self._send(200, b"{}")
        whole = message(self.scripts.next_reply(request), next(self.scripts.numbers), request.get("model"))
        if request.get("stream"):
            return self._send(200, stream(whole), "text/event-stream")
        return self._send(200, json.dumps(whole).encode())


def serve(scripts: Scripts) -> ThreadingHTTPServer:
    """Start answering on a free port of 127.0.0.1; ``server_address[1]`` is the port."""
    handler = type("ScriptedHandler", (Handler,), {"scripts": scripts})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
