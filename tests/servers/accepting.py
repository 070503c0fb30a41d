"""Listeners of an asyncio loop: a connection is a task from the moment it is accepted.

So that one whose TLS handshake has not ended, or whose first step has not run, is cut and closed with the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Listener:
    """Calls *handle* for each connection to ``port`` of *host*. Belongs to the loop that it was made on.

    A connection is closed when *handle* has returned, has raised OSError or was cancelled.
    """

    def __init__(self, host: str, handle: Handle, tls: ssl.SSLContext | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._handle = handle
        self._tls = tls
        self._connections: set[asyncio.Task[None]] = set()
        self._socket = socket.create_server((host, 0))
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._accept)
        self.port: int = self._socket.getsockname()[1]

    def cut(self) -> None:
        """Cancel all connections."""
        for connection in self._connections:
            connection.cancel()

    async def close(self) -> None:
        """Accept no more, cut what there is, wait until it has ended."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()
        self.cut()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self) -> None:
        try:
            accepted, _ = self._socket.accept()
        except OSError:  # it went away between the event and now
            return
        accepted.setblocking(False)
        connection = self._loop.create_task(self._serve(accepted))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)
        connection.add_done_callback(lambda _: accepted.close())  # also if it was cancelled before its first step

    async def _serve(self, accepted: socket.socket) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        opening = self._loop.create_task(self._loop.connect_accepted_socket(lambda: protocol, accepted, ssl=self._tls))
        with contextlib.suppress(OSError):  # a handshake that fails is one, too
            try:
                transport, _ = await asyncio.shield(opening)
            except asyncio.CancelledError:
                # a transport whose opening is cancelled between two steps of its handshake is not closed by asyncio
                with contextlib.suppress(OSError):
                    accepted.shutdown(socket.SHUT_RDWR)
                while not opening.done():  # soon: its peer is gone
                    with contextlib.suppress(asyncio.CancelledError):  # cut once more
                        await asyncio.wait({opening})
                if opening.exception() is None:
                    opening.result()[0].abort()
                raise
            writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
            try:
                await self._handle(reader, writer)
            finally:
                writer.transport.abort()
