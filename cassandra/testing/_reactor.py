"""The thread that owns all state of a simulated cluster: sockets, timers, tables. No locks are needed.

Addresses and ports of nodes are allocated here.
"""

from __future__ import annotations

import contextlib
import heapq
import ipaddress
import itertools
import logging
import random
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

log = logging.getLogger("cassandra.testing")
T = TypeVar("T")
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Timer:
    """A delayed call."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        self.action = None


class Reactor:
    """An event loop on its own thread; other threads use :meth:`call`."""

    def __init__(self, name: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._selector.register(self._wake_in, READ, self._drain)
        self._calls: deque[Callable[[], object]] = deque()
        self._timers: list[tuple[float, int, Timer]] = []
        self._number = itertools.count()
        self._state = threading.Lock()  # guards _running against calls while the thread ends
        self._running = True
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    # -- for any thread

    def call(self, action: Callable[[], T]) -> T:
        """Run *action* on the thread; return its result, or raise its exception."""
        if threading.current_thread() is self._thread:
            return action()
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(action())
            except BaseException as error:
                future.set_exception(error)

        self.post(run)
        return future.result()

    def post(self, action: Callable[[], object]) -> None:
        """Run *action* on the thread soon."""
        with self._state:
            if not self._running:
                raise RuntimeError("the simulated cluster is closed")
            self._calls.append(action)
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full of wake-ups already
            self._wake_out.send(b"\0")

    def close(self) -> None:
        """End the thread. Idempotent."""
        with self._state:
            if not self._running:
                return
            self._running = False
        self._wake()
        self._thread.join()
        self._selector.close()
        self._wake_in.close()
        self._wake_out.close()

    # -- for its own thread

    def watch(self, sock: socket.socket, events: int, action: Callable[[int], None]) -> None:
        """Call *action* with the events when *sock* is ready; zero events end the watch."""
        known = sock in self._selector.get_map()
        if not events:
            if known:
                self._selector.unregister(sock)
        elif known:
            self._selector.modify(sock, events, action)
        else:
            self._selector.register(sock, events, action)

    def later(self, seconds: float, action: Callable[[], object]) -> Timer:
        timer = Timer(action)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._number), timer))
        return timer

    def _drain(self, events: int) -> None:
        try:
            while self._wake_in.recv(4096):
                pass
        except BlockingIOError:
            pass

    def _loop(self) -> None:
        while self._running or self._calls:
            for key, events in self._selector.select(self._timeout()):
                self._run(key.data, events)
            while self._calls:
                self._run(self._calls.popleft())
            while self._timers and self._timers[0][0] <= time.monotonic():
                timer = heapq.heappop(self._timers)[2]
                if timer.action is not None:
                    self._run(timer.action)

    def _timeout(self) -> float | None:
        if self._calls:
            return 0
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    @staticmethod
    def _run(action: Callable[..., Any], *arguments: object) -> None:
        try:
            action(*arguments)
        except Exception:
            log.exception("The simulated cluster failed in %r", action)


# ---- addresses and ports

LOWEST, HIGHEST = 10000, 32000  # below the ephemeral ports of systems
ATTEMPTS = 200


class Ports(NamedTuple):
    """Ports of a node; if it uses only TLS or none, the two ports of a kind are equal."""

    plain: int
    shard_aware: int
    tls: int
    shard_aware_tls: int


class Allocator:
    """Gives every node an address and ports, all on one given address or each on one of its own."""

    def __init__(self, address: str | None, separate_tls: bool) -> None:
        self._address = address
        self._separate_tls = separate_tls
        self._random = random.SystemRandom()
        self._net = self._random.randint(1, 254), self._random.randint(0, 255)
        self._count = 0
        self._ports: Ports | None = None

    def next(self) -> tuple[str, Ports]:
        """Return an address and ports that are free there; raise OSError if none are free."""
        for _ in range(ATTEMPTS):
            address = self._address or self._next_address()
            fixed = self._ports if self._address is None else None
            ports = fixed or self._sample()
            if _free(address, ports):
                if self._address is None:
                    self._ports = ports
                return address, ports
        raise OSError("no free port found for a simulated node")

    def _next_address(self) -> str:
        """Return the next one of a network of 65,024 addresses."""
        subnet, last = divmod(self._count, 254)
        self._count += 1
        return f"127.{self._net[0]}.{(self._net[1] + subnet) % 256}.{last + 1}"

    def _sample(self) -> Ports:
        numbers = self._random.sample(range(LOWEST, HIGHEST), 4 if self._separate_tls else 2)
        return Ports(*(numbers if self._separate_tls else numbers * 2))


def _free(address: str, ports: Ports) -> bool:
    for port in set(ports):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            try:
                sock.bind((address, port))
            except OSError:
                return False
    return True


def packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed
