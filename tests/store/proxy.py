"""A line to the server that can be cut at the worst moment: a TCP proxy of the tests' own."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Literal


class Proxy:
    """Passes bytes on between TCP and the server's socket; ``cut`` says when it stops doing so.

    "answer": the next request reaches the server, its answer nobody. "request": the next request
    reaches nobody. After a cut it passes on again, unless ``gone``: then it takes no connection.
    """

    def __init__(self, folder: str) -> None:
        self._to = f"{folder}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut: Literal["answer", "request"] | None = None
        self.gone = False
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.gone:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._to)
                for ends in ((client, server, "request"), (server, client, "answer")):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, what: str) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if self.cut == what:
                    self.cut = None
                    self.cuts += 1
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()
