"""What is compared: the workloads, and for each driver the client process that runs it and the calls that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from benchmarks import peers
from benchmarks.measure import FASTCQL, Driver

SCYLLA, CASSANDRA, ACSYLLA = peers.SCYLLA.name, peers.CASSANDRA.name, peers.ACSYLLA.name
SCYLLA_RS, SCYLLAPY = peers.SCYLLA_RS.name, peers.SCYLLAPY.name
#: in the order of tables and pictures
DRIVERS = (FASTCQL, SCYLLA, CASSANDRA, ACSYLLA, SCYLLA_RS, SCYLLAPY)
RECORDED, REAL = "recorded", "cassandra"  # servers
MANY, SOME, FEW = "5000", "1000", "500"  # requests of a sample, as fast as the driver is
ROWS = 5000

#: Makes the client process for the server at ``host:port``.
Program = Callable[[str], Driver]


class Entry(NamedTuple):
    """How one driver does a workload: the client of :data:`PROGRAMS` and the name of its figure; what an application
    calls, as reStructuredText."""

    client: str
    name: str
    call: str


class Workload(NamedTuple):
    title: str
    group: str
    measures: tuple[str, ...]
    entries: Mapping[str, Entry]
    server: str = RECORDED
    #: items of one execution: their rate and their CPU are reported
    per: int = 1
    item: str = "requests"


def _program(module: str, *arguments: str, peer: peers.Peer | None = None) -> Program:
    def made(server: str) -> Driver:
        return Driver(module, tuple(argument.replace("SERVER", server) for argument in arguments), peer)

    return made


#: by driver and client
PROGRAMS: Mapping[tuple[str, str], Program] = {
    (FASTCQL, "requests"): _program("requests", "SERVER", MANY),
    (SCYLLA, "requests"): _program("requests", "SERVER", FEW, peer=peers.SCYLLA),
    (CASSANDRA, "requests"): _program("requests", "SERVER", FEW, peer=peers.CASSANDRA),
    (FASTCQL, "tasks"): _program("fastcql_tasks", "SERVER", "asyncio", MANY),
    (SCYLLA, "tasks"): _program("callback_tasks", "SERVER", "asyncio", FEW, peer=peers.SCYLLA),
    (CASSANDRA, "tasks"): _program("callback_tasks", "SERVER", "asyncio", FEW, peer=peers.CASSANDRA),
    (ACSYLLA, "tasks"): _program("acsylla_tasks", "SERVER", "asyncio", MANY, peer=peers.ACSYLLA),
    (SCYLLA_RS, "tasks"): _program("scylla_rs_tasks", "SERVER", "asyncio", MANY, peer=peers.SCYLLA_RS),
    (SCYLLAPY, "tasks"): _program("scyllapy_tasks", "SERVER", "asyncio", SOME, peer=peers.SCYLLAPY),
    (FASTCQL, "rows"): _program("pages", "SERVER"),
    (SCYLLA, "rows"): _program("pages", "SERVER", peer=peers.SCYLLA),
    (CASSANDRA, "rows"): _program("pages", "SERVER", peer=peers.CASSANDRA),
    (ACSYLLA, "rows"): _program("acsylla_pages", "SERVER", peer=peers.ACSYLLA),
    (SCYLLA_RS, "rows"): _program("scylla_rs_pages", "SERVER", peer=peers.SCYLLA_RS),
    (SCYLLAPY, "rows"): _program("scyllapy_pages", "SERVER", peer=peers.SCYLLAPY),
    (FASTCQL, "frames"): _program("dataframes", "SERVER", "columns"),
    (SCYLLA, "frames"): _program("dataframes", "SERVER", "arrays", peer=peers.SCYLLA_PANDAS),
    (CASSANDRA, "frames"): _program("dataframes", "SERVER", "rows", peer=peers.CASSANDRA_PANDAS),
    (ACSYLLA, "frames"): _program("acsylla_pages", "SERVER", "frames", peer=peers.ACSYLLA_PANDAS),
    (SCYLLA_RS, "frames"): _program("scylla_rs_pages", "SERVER", "frames", peer=peers.SCYLLA_RS_PANDAS),
    (SCYLLAPY, "frames"): _program("scyllapy_pages", "SERVER", "frames", peer=peers.SCYLLAPY_PANDAS),
    (FASTCQL, "first"): _program("first", "shared", "SERVER"),
    (SCYLLA, "first"): _program("first", "shared", "SERVER", peer=peers.SCYLLA),
    (CASSANDRA, "first"): _program("first", "shared", "SERVER", peer=peers.CASSANDRA),
    (ACSYLLA, "first"): _program("first", "acsylla", "SERVER", peer=peers.ACSYLLA),
    (SCYLLA_RS, "first"): _program("first", "scylla_rs", "SERVER", peer=peers.SCYLLA_RS),
    (SCYLLAPY, "first"): _program("first", "scyllapy", "SERVER", peer=peers.SCYLLAPY),
}

RATES = "rate", "cpu"
LATENCIES = *RATES, "p50", "p95", "p99"


def _entries(
    client: str, name: str, calls: Mapping[str, str], names: Mapping[str, str] | None = None
) -> dict[str, Entry]:
    """*names* are the figures of clients that report another one than *name*, by driver."""
    return {driver: Entry(client, (names or {}).get(driver, name), call) for driver, call in calls.items()}


def _sync(kind: str) -> dict[str, Entry]:
    reads = kind == "read"
    shared = f"``session.execute(prepared, values){'.one()' if reads else ''}``"
    theirs = (
        f"``session.execute(prepared, values).result()``{', the first of ``iter_current_page()``' if reads else ''}"
    )
    found = _entries("requests", kind, dict.fromkeys((FASTCQL, SCYLLA, CASSANDRA), shared))
    return {**found, SCYLLA_RS: Entry("tasks", f"sync {kind}", theirs)}


def _concurrent(kind: str) -> dict[str, Entry]:
    one = ", ``.one()`` of each result" if kind == "read" else ""
    call = f"``execute_concurrent_with_args(session, prepared, many, concurrency=100)``{one}"
    return _entries("requests", f"concurrent {kind}", dict.fromkeys((FASTCQL, SCYLLA, CASSANDRA), call))


def _awaited(name: str) -> dict[str, Entry]:
    reads = name.endswith("read")
    future = "a future of the event loop that callbacks of ``session.execute_async(prepared, values)`` end"
    theirs = "``await session.execute(prepared, values)``"
    calls = {
        FASTCQL: "``await session.execute_async(prepared, values)``" + (", ``.one()``" if reads else ""),
        SCYLLA: future,
        CASSANDRA: future,
        ACSYLLA: "``await session.execute(prepared.bind(values))``" + (", ``.first().as_dict()``" if reads else ""),
        SCYLLA_RS: theirs + (", the first of ``iter_current_page()``" if reads else ""),
        SCYLLAPY: theirs + (", ``.first()``" if reads else ""),
    }
    return _entries("tasks", name, calls)


def _rows(page: str) -> dict[str, Entry]:
    calls = {
        **dict.fromkeys((FASTCQL, SCYLLA, CASSANDRA), "``list(session.execute(prepared))``: named tuples"),
        ACSYLLA: "``row.as_dict()`` of all rows",
        SCYLLA_RS: "``list(session.execute(prepared).result().iter_current_page())``: dicts",
        SCYLLAPY: "``(await session.execute(prepared)).all()``: dicts",
    }
    return _entries("rows", page, calls, {ACSYLLA: f"{page} as_dict"})


def _frames(page: str) -> dict[str, Entry]:
    calls = {
        FASTCQL: "``session.execute(prepared).to_pandas()``",
        SCYLLA: "``DataFrame(…)`` of the arrays of ``NumpyProtocolHandler``",
        CASSANDRA: "``DataFrame(…)`` of tuples",  # its NumpyProtocolHandler gives nothing
        ACSYLLA: "``DataFrame(…)`` of tuples",
        SCYLLA_RS: "``DataFrame(…)`` of dicts",
        SCYLLAPY: "``DataFrame(…)`` of dicts",
    }
    return _entries("frames", f"{page} frame", calls)


def _first(name: str) -> dict[str, Entry]:
    if name == "import":
        calls = dict.fromkeys((FASTCQL, SCYLLA, CASSANDRA), "``import cassandra.cluster``")
        calls[ACSYLLA] = "``import acsylla``"
        calls[SCYLLA_RS] = "``import scylla.session_builder``"
        calls[SCYLLAPY] = "``import scyllapy``"
    else:
        calls = dict.fromkeys((FASTCQL, SCYLLA, CASSANDRA), "``Cluster(…).connect()``, prepare, execute")
        calls[ACSYLLA] = "``create_cluster(…, use_schema=False)``, ``create_session()``, prepare, execute"
        calls[SCYLLA_RS] = "``SessionBuilder()….connect()``, prepare, execute"
        calls[SCYLLAPY] = "``Scylla(…).startup()``, prepare, execute"
    return _entries("first", name, calls)


def _requests(server: str) -> dict[str, Workload]:
    end = "" if server == RECORDED else "-cassandra"
    group = "requests" if server == RECORDED else "cassandra"
    works = {
        "sync-read": Workload("Synchronous read", group, LATENCIES, _sync("read")),
        "sync-insert": Workload("Synchronous INSERT", group, LATENCIES, _sync("insert")),
        "concurrent-read": Workload("execute_concurrent, reads", group, RATES, _concurrent("read")),
        "concurrent-insert": Workload("execute_concurrent, INSERTs", group, RATES, _concurrent("insert")),
        "asyncio-read": Workload("asyncio, 100 tasks, reads", group, LATENCIES, _awaited("concurrent read")),
        "asyncio-insert": Workload("asyncio, 100 tasks, INSERTs", group, LATENCIES, _awaited("concurrent insert")),
        "asyncio-one-read": Workload("asyncio, one task, reads", group, LATENCIES, _awaited("read")),
    }
    return {f"{key}{end}": work._replace(server=server) for key, work in works.items()}


WIDE, NARROW = "7 columns of mixed types", "4 columns"
WORKLOADS: Mapping[str, Workload] = {
    **_requests(RECORDED),
    "rows": Workload(f"Rows as objects, {WIDE}", "rows", RATES, _rows("pages7"), per=ROWS, item="rows"),
    "rows-narrow": Workload(f"Rows as objects, {NARROW}", "rows", RATES, _rows("pages4"), per=ROWS, item="rows"),
    "frame": Workload(f"Rows as a DataFrame, {WIDE}", "rows", RATES, _frames("pages7"), per=ROWS, item="rows"),
    "frame-narrow": Workload(f"Rows as a DataFrame, {NARROW}", "rows", RATES, _frames("pages4"), per=ROWS, item="rows"),
    "import": Workload("Import", "start", ("cpu",), _first("import")),
    "first": Workload("Connect and first request", "start", ("wall", "cpu"), _first("first")),
    "memory": Workload("Memory after the first request", "start", ("bytes",), _first("resident")),
    **_requests(REAL),
}

#: Reads a measure from the figures of a client process: they, the name in them, and the items of an execution.
Read = Callable[[Mapping[str, float], str, int], float]
MEASURES: Mapping[str, Read] = {
    "rate": lambda found, name, per: per / found[f"{name} median wall"],
    "cpu": lambda found, name, per: found[name] / per,
    "p50": lambda found, name, per: found[f"{name} p50"],
    "p95": lambda found, name, per: found[f"{name} p95"],
    "p99": lambda found, name, per: found[f"{name} p99"],
    "wall": lambda found, name, per: found[f"{name} wall"],
    "bytes": lambda found, name, per: found[name],
}
MORE_IS_BETTER = frozenset({"rate"})


def programs(server: str) -> dict[tuple[str, str], Program]:
    """The client processes that the workloads of *server* need."""
    wanted = {
        (driver, entry.client)
        for workload in WORKLOADS.values()
        if workload.server == server
        for driver, entry in workload.entries.items()
    }
    return {key: program for key, program in PROGRAMS.items() if key in wanted}
