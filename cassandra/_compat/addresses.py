"""Resolution of contact points, under scylla-driver's names (L6)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from cassandra._base.real import socket


def _addrinfo_or_none(contact_point: str, port: int) -> list[Any] | None:
    """Return the result of ``socket.getaddrinfo``; None if the name is not found."""
    try:
        return socket.getaddrinfo(contact_point, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
    except socket.gaierror:
        return None


def _addrinfo_to_ip_strings(addrinfo: Iterable[Any]) -> list[tuple[str, int]]:
    """Return address and port of each entry."""
    return [(str(entry[4][0]), int(entry[4][1])) for entry in addrinfo]


def _resolve_contact_points_to_string_map(contact_points: Iterable[tuple[str, int]]) -> OrderedDict[str, Any]:
    """Return addresses and ports by ``name:port``; None for a name that is not found."""
    found: OrderedDict[str, Any] = OrderedDict()
    for name, port in contact_points:
        addresses = _addrinfo_or_none(name, port)
        found[f"{name}:{port}"] = None if addresses is None else _addrinfo_to_ip_strings(addresses)
    return found
