"""TCP relays in front of the nodes, which lose everything in silence when told to, as a network does.

A relay is at the address of its node plus 100, on the same port. While it is *cut* nothing is passed on and nothing is
closed; a new connection gets no answer either, because the queue of the listener is full. When it is healed,
connections from before come back as TCP's do: with the next retransmission, whose delay doubled with each that was
lost. New ones work at once.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Iterator

CHUNK = 1 << 16
FIRST_RETRY, RETRY_MOST = 0.2, 120.0  # seconds: Linux' retransmission timeout on a short way


def relayed(address: str) -> str:
    """Where the relay of the node at *address* is."""
    front, _, last = address.rpartition(".")
    return f"{front}.{int(last) + 100}"


def retransmitted(cut: float, healed: float) -> float:
    """When the first packet that was lost after *cut* is sent again for the first time after *healed*."""
    delay, at = FIRST_RETRY, cut + FIRST_RETRY
    while at < healed:
        delay = min(delay * 2, RETRY_MOST)
        at += delay
    return at


class Pipe:
    """One direction of a connection."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source, self.target = source, target
        self.resumes = 0.0
        self.other: Pipe | None = None


class Relay:
    """Passes bytes on to *target*, by a thread; a context manager."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self.address = relayed(target[0]), target[1]
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(self.address)
        self._listener.listen(64)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._pipes: set[Pipe] = set()
        self._cut_at = 0.0  # 0: it is whole
        self._fillers: list[socket.socket] = []
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"relay {self.address[0]}", daemon=True)

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped = True
        self._thread.join()
        for pipe in list(self._pipes):
            self._end(pipe)
        for filler in self._fillers:
            filler.close()
        self._listener.close()
        self._selector.close()

    def cut(self) -> None:
        with self._lock:
            self._cut_at = time.monotonic()
            self._selector.unregister(self._listener)
            for pipe in self._pipes:
                self._selector.unregister(pipe.source)
            self._listener.listen(0)
            self._fillers = list(self._filling())

    def heal(self) -> None:
        with self._lock:
            now = time.monotonic()
            again = retransmitted(self._cut_at, now)
            self._cut_at = 0.0
            for filler in self._fillers:
                filler.close()
            self._fillers = []
            self._listener.listen(64)
            self._selector.register(self._listener, selectors.EVENT_READ)
            for pipe in self._pipes:
                pipe.resumes = again

    def _filling(self) -> Iterator[socket.socket]:
        """Connections that the listener does not accept, until the next one gets no answer."""
        while True:
            filler = socket.socket()
            filler.settimeout(0.2)
            try:
                filler.connect(self.address)
            except OSError:
                filler.close()
                return
            yield filler

    # ---- the thread

    def _run(self) -> None:
        while not self._stopped:
            ready = self._selector.select(0.05)
            with self._lock:
                if self._cut_at:
                    continue
                for key, _ in ready:
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.data in self._pipes:
                        self._pass_on(key.data)
                self._resume()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.socket()
        try:
            server.connect(self._target)
        except OSError:
            server.close()
            client.close()
            return
        there, back = Pipe(client, server), Pipe(server, client)
        there.other, back.other = back, there
        for pipe in (there, back):
            pipe.source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pipes.add(pipe)
            self._selector.register(pipe.source, selectors.EVENT_READ, pipe)

    def _resume(self) -> None:
        """Connections whose retransmission is due."""
        now = time.monotonic()
        for pipe in [pipe for pipe in self._pipes if pipe.resumes and pipe.resumes <= now]:
            pipe.resumes = 0.0
            self._selector.register(pipe.source, selectors.EVENT_READ, pipe)

    def _pass_on(self, pipe: Pipe) -> None:
        try:
            data = pipe.source.recv(CHUNK)
            if data:
                pipe.target.sendall(data)
                return
        except OSError:
            pass  # ends as if it had been closed
        self._end(pipe)

    def _end(self, pipe: Pipe) -> None:
        for end in (pipe, pipe.other):
            assert end is not None
            self._pipes.discard(end)
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(end.source)
            end.source.close()


class Network:
    """A relay for each node; a context manager."""

    def __init__(self, nodes: list[tuple[str, int]]) -> None:
        self._stack = contextlib.ExitStack()
        self.relays = [Relay(node) for node in nodes]
        self.translated = {node[0]: relay.address[0] for node, relay in zip(nodes, self.relays, strict=True)}

    def __enter__(self) -> Network:
        for relay in self.relays:
            self._stack.enter_context(relay)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
