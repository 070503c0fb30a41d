"""What a client is told, and how it connects and speaks: by what scylla-driver and this driver have in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.drill.calls import APPEND, INSERT, READ
from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import AddressTranslator

TEXT = {
    READ: "SELECT v FROM points WHERE id = ?",
    INSERT: "INSERT INTO points (id, v) VALUES (?, ?)",
    APPEND: "UPDATE lists SET l = l + ? WHERE k = ?",
}


class Orders(NamedTuple):
    """How to connect, and where to leave the report."""

    driver: str
    report: str
    contact_points: list[str]
    port: int
    keyspace: str
    consistency: str
    timeout: float
    translated: dict[str, str]  # what a node says its address is -> where it is reached
    asyncio: bool
    cycles: int = 0


class Relayed(AddressTranslator):  # type: ignore[misc, unused-ignore]  # Any, where the other driver is installed
    def __init__(self, translated: dict[str, str]) -> None:
        self._translated = translated

    def translate(self, addr: str) -> str:
        return self._translated.get(addr, addr)


def make_cluster(orders: Orders) -> Cluster:
    """With the defaults of the driver, but for the timeout and the consistency."""
    profile = ExecutionProfile(
        consistency_level=ConsistencyLevel.name_to_value[orders.consistency], request_timeout=orders.timeout
    )
    options: dict[str, Any] = {"execution_profiles": {EXEC_PROFILE_DEFAULT: profile}}
    if orders.translated:
        options["address_translator"] = Relayed(orders.translated)
    return Cluster(orders.contact_points, port=orders.port, **options)


def orders_of(path: str) -> Orders:
    return Orders(**json.loads(Path(path).read_text()))


def attempted(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What it returns or raises."""
    try:
        return function(*args, **options)
    except Exception as error:
        return error


def node_of(result: Any) -> int:
    """The number of the node that answered: nodes have addresses that count from 1, relays 100 more."""
    future = getattr(result, "response_future", None)
    host = getattr(future, "coordinator_host", None)
    if host is None:
        return -1
    return int(str(host.address).rpartition(".")[2]) % 10 - 1
