"""Addresses and ports for nodes."""

from __future__ import annotations

import ipaddress
import random
import socket

LOWEST, HIGHEST = 10000, 32000  # below the ports that systems give to clients
ATTEMPTS = 200


class Allocator:
    """Gives every node an address and two ports, all on one given address or each on one of its own."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._random = random.SystemRandom()
        self._net = f"127.{self._random.randint(1, 254)}.{self._random.randint(0, 254)}"
        self._count = 0
        self._ports: tuple[int, int] | None = None

    def next(self) -> tuple[str, tuple[int, int]]:
        """An address, and the port and the shard-aware port there; raises OSError when there is none."""
        for _ in range(ATTEMPTS):
            self._count += 1
            address = self._address or f"{self._net}.{self._count}"
            fixed = self._ports if self._address is None else None
            ports = fixed or self._pair()
            if _free(address, ports):
                if self._address is None:
                    self._ports = ports
                return address, ports
        raise OSError("no free port was found for a simulated node")

    def _pair(self) -> tuple[int, int]:
        first, second = self._random.sample(range(LOWEST, HIGHEST), 2)
        return first, second


def _free(address: str, ports: tuple[int, int]) -> bool:
    for port in ports:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            try:
                sock.bind((address, port))
            except OSError:
                return False
    return True


def packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed
