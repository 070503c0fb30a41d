"""Addresses and ports for nodes."""

from __future__ import annotations

import ipaddress
import random
import socket
from typing import NamedTuple

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
        self._net = f"127.{self._random.randint(1, 254)}.{self._random.randint(0, 254)}"
        self._count = 0
        self._ports: Ports | None = None

    def next(self) -> tuple[str, Ports]:
        """Return an address and ports that are free there; raise OSError if none are free."""
        for _ in range(ATTEMPTS):
            self._count += 1
            address = self._address or f"{self._net}.{self._count}"
            fixed = self._ports if self._address is None else None
            ports = fixed or self._sample()
            if _free(address, ports):
                if self._address is None:
                    self._ports = ports
                return address, ports
        raise OSError("no free port found for a simulated node")

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
