"""Every name that scylla-driver 3.29.12 lets programs import, and every public attribute of its live objects.

``namespaces.json`` holds facts about that release on Python 3.11: of each module the names that are its own or a
constant, of objects of a connected session the attributes with the type of their values (None where theirs was None,
EXC where reading theirs raised). Intended differences are listed in ``differences.py``.
"""

from __future__ import annotations

import importlib
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cassandra
from cassandra.cluster import Cluster
from cassandra.encoder import Encoder
from cassandra.metadata import Function
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.compat.differences import LIVE

ROOT = Path(__file__).resolve().parents[2]
FACTS: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("namespaces.json").read_text())
IMPORTABLE = {module: " ".join(lines).split() for module, lines in FACTS["importable"].items()}
ATTRIBUTES = {item: dict(fact.split(":") for fact in " ".join(lines).split()) for item, lines in FACTS["live"].items()}


@pytest.mark.parametrize("module", IMPORTABLE)
def test_every_name_is_imported(module: str) -> None:
    found = importlib.import_module(module)
    assert not [name for name in IMPORTABLE[module] if not hasattr(found, name)]


@pytest.mark.parametrize("module", IMPORTABLE)
def test_a_star_imports_them_all(module: str) -> None:
    into: dict[str, Any] = {}
    exec(f"from {module} import *", into)
    assert not set(IMPORTABLE[module]) - set(into)
    exported = importlib.import_module(module).__all__
    assert len(exported) == len(set(exported))


@pytest.mark.parametrize("module", [module for module, names in IMPORTABLE.items() if "log" in names])
def test_modules_have_their_logger(module: str) -> None:
    log = importlib.import_module(module).log
    assert isinstance(log, logging.Logger) and log.name == module


@pytest.mark.parametrize("module", IMPORTABLE)
def test_other_names_are_missing_as_ever(module: str) -> None:
    found = importlib.import_module(module)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'no_such_name'"):
        found.no_such_name  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec(f"from {module} import no_such_name")


def test_compatibility_modules_are_not_imported_before_they_are_used() -> None:
    program = "import sys, cassandra.cluster, cassandra.query, cassandra.concurrent; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    later = {"parsing", "deserializers", "segment", "bytesio", "row_parser", "obj_parser", "driver_config", "datastax"}
    assert not [name for name in loaded if name.startswith("cassandra.") and name.split(".")[1] in {*later, "_compat"}]


def test_the_object_mapper_brings_in_nothing_slow() -> None:
    program = (
        "import sys, cassandra.cluster; had = {*sys.modules}; import cassandra.cqlengine.models;"
        "print(*sys.modules.keys() - had)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"asyncio", "inspect", "ssl", "subprocess"} & {*done.stdout.split()}


@pytest.mark.parametrize("imported", ["cassandra", "cassandra.cluster", "cassandra.util"])
def test_submodules_are_attributes_of_the_package(imported: str) -> None:
    program = f"""
import sys, {imported}
assert cassandra.query.SimpleStatement and cassandra.io.asyncioreactor.AsyncioConnection and cassandra.segment.Segment
assert cassandra.cluster is sys.modules["cassandra.cluster"]
from cassandra import policies
assert policies is cassandra.policies
assert not [name for name in ("no_such_module", "_no_such_module", "__path") if hasattr(cassandra, name)]
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_submodule_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken_by_test.py").write_text("import no_such_dependency")
    monkeypatch.setattr(cassandra, "__path__", [*cassandra.__path__, str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_dependency'"):
        cassandra.broken_by_test  # noqa: B018


@pytest.fixture(scope="module")
def live() -> Iterator[dict[str, Any]]:
    """Objects of a connected session by the names of the facts."""
    with (
        SimulatedCluster() as simulated,
        Cluster(simulated.contact_points, port=simulated.port, metrics_enabled=True) as cluster,
    ):
        session = cluster.connect()
        session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.set_keyspace("k")
        session.execute("CREATE TABLE t (p int PRIMARY KEY, c text)")
        session.execute("CREATE INDEX i ON t (c)")
        session.execute("CREATE TYPE u (a int)")
        prepared = session.prepare("SELECT * FROM t WHERE p = ?")
        bound = prepared.bind([1])
        future = session.execute_async(bound)
        keyspace = cluster.metadata.keyspaces["k"]
        table = keyspace.tables["t"]
        profile = cluster.profile_manager.default
        host = cluster.metadata.all_hosts()[0]
        trace = session.execute("SELECT * FROM t", trace=True).get_query_trace()
        tokens: Any = cluster.metadata.token_map
        metrics: Any = cluster.metrics
        yield {
            "BatchStatement": BatchStatement(),
            "BoundStatement": bound,
            "Cluster": cluster,
            "ColumnMetadata": table.columns["p"],
            "ControlConnection": cluster.control_connection,
            "Encoder": Encoder(),
            "EndPoint": host.endpoint,
            "ExecutionProfile": profile,
            "Host": host,
            "IndexMetadata": table.indexes["i"],
            "KeyspaceMetadata": keyspace,
            "Metadata": cluster.metadata,
            "Metrics": metrics,
            "PreparedStatement": prepared,
            "ProfileManager": cluster.profile_manager,
            "QueryTrace": trace,
            "ResponseFuture": future,
            "ResultSet": future.result(),
            "SerialTablets": cluster.metadata._tablets,
            "Session": session,
            "SimpleStatement": SimpleStatement("SELECT"),
            "Strategy": keyspace.replication_strategy,
            "TableMetadata": table,
            "TimestampGen": cluster.timestamp_generator,
            "Token": tokens.ring[0],
            "TokenMap": tokens,
            "TraceEvent": trace.events[0],
            "UserType": keyspace.user_types["u"],
            "colmeta": prepared.column_metadata[0],
            "endpoint_factory": cluster.endpoint_factory,
            "lbp": profile.load_balancing_policy,
            "pool": next(iter(session.get_pools())),
            "request_timer": metrics.request_timer,
            "stats": metrics.stats,
        }


def live_differences(item: str, found: Any) -> Iterator[tuple[str, str]]:
    for name, kind in ATTRIBUTES[item].items():
        if kind == "EXC":
            assert hasattr(type(found), name)
            continue
        try:
            value = getattr(found, name)
        except AttributeError:
            yield f"{item}.{name}", "missing"
            continue
        if not same_kind(value, kind):
            yield f"{item}.{name}", f"{type(value).__name__} instead of {kind}"


def same_kind(value: Any, kind: str) -> bool:
    if kind in ("object", "NoneType") or value is None:  # a sentinel; none on the one server, or on the other
        return True
    if kind == "callable":
        return callable(value)
    kinds = {base.__name__ for base in type(value).__mro__}
    return kind in kinds or (kind in ("int", "float") and isinstance(value, (int, float)))


@pytest.mark.parametrize("item", [item for item in ATTRIBUTES if item != "Function"])
def test_live_objects_have_every_attribute(live: dict[str, Any], item: str) -> None:
    found = dict(live_differences(item, live[item]))
    listed = {entry for entry in LIVE if entry.startswith(f"{item}.")}
    assert not {name: what for name, what in found.items() if name not in listed}
    assert not listed - set(found), "no longer different"


def test_user_functions_have_every_attribute() -> None:
    function = Function("k", "f", ["int"], ["a"], "int", "java", "return a;", True, False, False, ())
    assert not set(dict(live_differences("Function", function))) - set(LIVE)
