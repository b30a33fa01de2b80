"""Doing something apart: in a thread and an event loop that can be left behind.

Theory. An event loop keeps a deadline only where it awaits. The system looks a name up in a call that
nobody can end, and a usual loop waits for the thread that is in it: when it closes, and once more when
the process ends. So an ask has a thread of its own that nobody waits for longer than its deadline, and
a loop that looks names up in threads of that kind too. Whoever is cancelled cancels it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Coroutine
from threading import Event, Thread
from typing import TypeVar

import anyio

T = TypeVar("T")

#: How often it is looked whether it is done, in seconds.
LOOK_SEC = 0.005


async def apart(act: Callable[[], Coroutine[object, object, T]], seconds: float) -> T | None:
    """What it comes to; nothing where that is not known within so many seconds. From any event loop."""
    ends = time.monotonic() + seconds
    ended, came = Event(), list[T]()
    thread = Thread(target=lambda: came.extend(_run(act, ended)), daemon=True)
    thread.start()
    try:
        while thread.is_alive() and time.monotonic() < ends:
            await anyio.sleep(LOOK_SEC)
    finally:
        ended.set()
    return came[0] if came else None


def _run(act: Callable[[], Coroutine[object, object, T]], ended: Event) -> list[T]:
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(_until(act, ended))


async def _until(act: Callable[[], Coroutine[object, object, T]], ended: Event) -> list[T]:
    """What it comes to, unless its end is wished for before."""
    task = asyncio.create_task(act())
    while not task.done() and not ended.is_set():
        await asyncio.wait({task}, timeout=LOOK_SEC)
    task.cancel()
    await asyncio.wait({task})
    return [] if task.cancelled() else [task.result()]


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that waits for no lookup once it is closed."""

    async def getaddrinfo(  # type: ignore[no-untyped-def] # as the class it stands in for has it
        self,
        host,
        port,
        *,
        family=0,
        type=0,  # noqa: A002
        proto=0,
        flags=0,
    ):
        return await _looked_up(lambda: socket.getaddrinfo(host, port, family, type, proto, flags))


async def _looked_up(lookup: Callable[[], T]) -> T:
    """What a call comes to that blocks for as long as it likes."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[T] = loop.create_future()

    def tell(act: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(lambda: None if came.done() else act())

    def look() -> None:
        try:
            found = lookup()
        except Exception as wrong:  # noqa: BLE001 - it is raised where it is waited for
            tell(lambda wrong=wrong: came.set_exception(wrong))  # type: ignore[misc] # bound here and now
        else:
            tell(lambda: came.set_result(found))

    Thread(target=look, daemon=True).start()
    return await came
